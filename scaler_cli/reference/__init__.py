"""Reference pages of the documentation, rendered from the code that they describe; `generate` writes them."""
