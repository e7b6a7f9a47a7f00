"""Training on rollouts that are played meanwhile or elsewhere: a stream of groups, envs and engine as actors on a Ray cluster, a sharded learner.

The package can be imported without Ray; its modules `envs` and `engines` need it.
"""

from dataclasses import dataclass

from agents.settings import MayChange


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Lag of rollouts behind the model, and their place: the options that `agents.grpo` itself does without."""

    staleness: MayChange[int] = 0
    """updates that a group's oldest reply may lie behind the model that learns from it; older groups are dropped"""
    overlap: MayChange[bool] = False
    """collect the next batch while the model learns, with a copy of the parameters; needs a staleness of 1 or more"""
    workers: MayChange[int] = 0
    """processes that share the envs; 0: they are in this one"""
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
