"""Training on a Ray cluster: envs and engine as actors on any node, and a distributed learner.

This package can be imported without Ray; its modules `envs` and `engines` need it.
"""

from dataclasses import dataclass

from agents.settings import MayChange


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Which Ray cluster to train on, and which of its resources to use."""

    cluster: MayChange[str] = ""
    """Ray cluster to train on: its address, auto for the one on this machine, local to start one; by default none"""
    learners: MayChange[int] = 1
    """cluster: processes that train the model together"""
    learner_restarts: MayChange[int] = 0
    """cluster: how often to resume from the newest checkpoint after a learner was lost"""
    env_workers: MayChange[int] = 1
    """cluster: actors that run the envs, with one CPU each"""
    env_resource: MayChange[str] = ""
    """cluster: a Ray resource that nodes with envs must have, one unit per actor; by default none"""
    gpus: MayChange[bool] = False
    """cluster: give the engine and each learner a GPU"""

    @property
    def cpus(self) -> int:
        """The number of Ray CPUs: one for each learner, each actor with envs, and the engine."""
        return self.learners + self.env_workers + 1
