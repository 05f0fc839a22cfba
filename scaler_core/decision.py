"""The whole pass: `decide(snapshot, memory) -> (decision, memory)`."""
