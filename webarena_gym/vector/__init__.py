"""Many envs in worker processes, as one vector env of Gymnasium, in lock-step or as they come."""

from webarena_gym.vector.envs import WebArenaLiteVector as WebArenaLiteVector
