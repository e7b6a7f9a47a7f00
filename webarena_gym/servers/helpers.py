"""Former name of `webarena_gym.evaluators.helpers`."""

from webarena_gym.evaluators.helpers import HELPERS as HELPERS
