"""What spans passes: binding, intent, cohort, retirement, rebalance."""
