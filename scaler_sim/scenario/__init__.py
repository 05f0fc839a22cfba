"""A whole world in one place: API server, operator, engines, and both product processes as children.

The demo, the end-to-end tests and the crash tests play in it; the API server is embedded or a given one.
"""
