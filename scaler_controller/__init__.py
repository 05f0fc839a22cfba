"""The process that observes, decides and commits."""
