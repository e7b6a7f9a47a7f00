"""A Gymnasium vector env of many envs in worker processes, stepped in lock-step or asynchronously."""

from webarena_gym.vector.envs import Result as Result
from webarena_gym.vector.envs import WebArenaLiteVector as WebArenaLiteVector
from webarena_gym.vector.pool import INFRASTRUCTURE_ERRORS as INFRASTRUCTURE_ERRORS
