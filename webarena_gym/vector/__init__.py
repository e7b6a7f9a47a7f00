"""A Gymnasium vector env over many envs in worker processes, with synchronous and asynchronous steps."""

from webarena_gym.vector.envs import Result as Result
from webarena_gym.vector.envs import WebArenaLiteVector as WebArenaLiteVector
from webarena_gym.vector.failures import INFRASTRUCTURE_ERRORS as INFRASTRUCTURE_ERRORS
from webarena_gym.vector.failures import ResetMonitor as ResetMonitor
