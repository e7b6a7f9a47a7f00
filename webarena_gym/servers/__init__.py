"""Former names of `webarena_gym.logins` and `webarena_gym.evaluators.helpers`."""
