"""Reading engines over HTTP."""
