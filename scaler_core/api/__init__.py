"""Wire models: what is stored in the API server, typed."""
