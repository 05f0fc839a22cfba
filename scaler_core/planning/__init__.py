"""Recommendations to a plan: bounds, windows, guards, pacing, ratios."""
