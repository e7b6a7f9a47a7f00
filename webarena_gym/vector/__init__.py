"""Many envs in worker processes, as one vector env of Gymnasium, in lock-step or as they come."""

from webarena_gym.vector.envs import WebArenaLiteVector as WebArenaLiteVector
from webarena_gym.vector.episodes import Result as Result
from webarena_gym.vector.workers import INFRASTRUCTURE_ERRORS as INFRASTRUCTURE_ERRORS
