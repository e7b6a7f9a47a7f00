"""Users' web applications as environments: their descriptions, their processes, and a copy of their state for each episode."""
