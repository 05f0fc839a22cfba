"""The I/O shell of one pass: observe, commit, publish."""
