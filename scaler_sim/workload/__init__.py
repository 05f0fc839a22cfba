"""Request load: the benchmark's closed loop, recorded traces in an open loop, and what their clients measured."""
