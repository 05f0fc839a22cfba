"""The world that the scaler lives in, played on loopback: API server, target operator, engines, load."""
