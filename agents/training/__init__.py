"""Training: batches of samples, losses, the learner, several ranks, the loop and its metrics."""
