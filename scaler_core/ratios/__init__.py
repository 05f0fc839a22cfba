"""Exact ratio bands over integer vectors."""
