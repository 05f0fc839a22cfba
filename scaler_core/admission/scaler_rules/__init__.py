"""The rules of a scaler's document, one module a subject."""
