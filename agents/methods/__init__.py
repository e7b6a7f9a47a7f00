"""Methods of reinforcement beside `agents.grpo`, one file each: how rollouts become steps to train on, with which loss, and what else is trained."""
