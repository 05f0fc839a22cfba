"""Typed models and pure decision code shared by every process: no I/O, no clock, no logger, no Kubernetes client."""
