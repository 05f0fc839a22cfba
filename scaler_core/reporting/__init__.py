"""What a pass tells people: conditions, status, events."""
