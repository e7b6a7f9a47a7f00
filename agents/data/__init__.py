"""Training data: token ids, prompts, trajectories, demonstrations and their thoughts."""
