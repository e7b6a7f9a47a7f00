"""What is learned from: token ids, prompts, trajectories, demonstrations and their thoughts."""
