"""The process that defaults, validates and fences; it judges and never writes."""
