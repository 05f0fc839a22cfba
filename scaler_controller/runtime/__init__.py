"""Work queue, backoff, store: pure machines with thin shells."""
