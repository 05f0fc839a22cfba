"""The `mds` command."""
