"""The product at work in one command: a story in five acts on an embedded cluster."""
