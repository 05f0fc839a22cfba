"""Engine texts to readings of roles."""
