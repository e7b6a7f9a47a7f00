"""Asynchronous and distributed training: a stream of rollout groups, envs and engines in Ray actors, and a sharded learner.

The package can be imported without Ray. Its modules `envs` and `engines` require Ray.
"""

from dataclasses import dataclass

from agents.settings import MayChange


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Options of asynchronous and distributed rollouts, which `agents.grpo` does not have."""

    staleness: MayChange[int] = 0
    """maximum number of updates between the parameters of a group's oldest reply and those that are trained; older groups are dropped"""
    overlap: MayChange[bool] = False
    """collect the next batch during an update, with a copy of the parameters; requires staleness of at least 1"""
    workers: MayChange[int] = 0
    """processes that run the envs; 0: the training process runs them"""
    cluster: MayChange[str] = ""
    """Ray cluster to train on: an address, auto (the cluster of this machine) or local (start one); by default none"""
    learners: MayChange[int] = 1
    """cluster: processes that train the sharded model"""
    learner_restarts: MayChange[int] = 0
    """cluster: maximum number of restarts from the newest checkpoint after a learner was lost"""
    env_workers: MayChange[int] = 1
    """cluster: actors that run the envs, with one CPU each"""
    env_resource: MayChange[str] = ""
    """cluster: a Ray resource that nodes of envs must have, one unit per actor; by default none"""
    gpus: MayChange[bool] = False
    """cluster: give the engine and each learner a GPU"""

    @property
    def cpus(self) -> int:
        """The number of Ray CPUs: one for each learner, each actor with envs, and the engine."""
        return self.learners + self.env_workers + 1
