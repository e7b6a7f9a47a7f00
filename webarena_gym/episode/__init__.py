"""One task under way: what the agent is shown and told, what its replies do, and its snapshots."""
