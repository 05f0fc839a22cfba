"""The values that the stages of one pass hand to each other."""
