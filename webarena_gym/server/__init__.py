"""Former name of `webarena_gym.arena`."""
