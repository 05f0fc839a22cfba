"""Engine texts to counters, counters to role readings: pure, exact, and without a clock."""
