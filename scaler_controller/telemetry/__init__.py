"""Definitions of metrics, and logs."""
