"""Readings to recommendations."""
