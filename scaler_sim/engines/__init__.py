"""Simulated engines: a discrete-event model of LLM serving and its `/metrics` texts.

The model is pure: time goes in by `Timeline.advance`, so the same engines run on an accelerated wall clock and in a
simulation that never sleeps. Constants are calibrated on the tables of the scaling benchmark (Qwen3-8B on one H100).
"""
