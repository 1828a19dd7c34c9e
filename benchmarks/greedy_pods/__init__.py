"""What one greedy pod costs the others on a live agent: `rows` has the pods, `report` the table."""
