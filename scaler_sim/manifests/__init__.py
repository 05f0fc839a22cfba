"""Definitions of the scaler's neighbours, for clusters where nobody else installs them."""
