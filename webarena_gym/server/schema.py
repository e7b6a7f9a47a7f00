"""Names of `webarena_gym.arena.schema` under the former name of the package."""

from webarena_gym.arena.schema import ENV_SETTINGS as ENV_SETTINGS
from webarena_gym.arena.schema import Limits as Limits
