"""End-to-end tests: the real processes against a real control plane."""
