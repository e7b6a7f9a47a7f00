"""Asynchronous and distributed training: a stream of rollout groups, envs and engines in Ray actors, and a sharded learner.

The package can be imported without Ray. Its modules `envs` and `engines` require Ray.
"""

from agents.training.settings import StreamSettings

__all__ = ["StreamSettings"]
