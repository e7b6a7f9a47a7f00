"""Training past one machine, on a Ray cluster: envs and the engine as actors on any node, the learner in several processes.

Importing this package needs no Ray; connecting to a cluster does.
"""

from dataclasses import dataclass

from agents.settings import MayChange


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Which Ray cluster to train on, and what is given of it."""

    cluster: MayChange[str] = ""
    """Ray cluster to train on: its address, auto for the one that runs here, local to start one here; else this process alone"""
    learners: MayChange[int] = 1
    """cluster: processes that train the model together"""
    learner_restarts: MayChange[int] = 0
    """cluster: how often to go on from the newest checkpoint after a learner was lost"""
    env_workers: MayChange[int] = 1
    """cluster: processes that share the envs, with a CPU each"""
    env_resource: MayChange[str] = ""
    """cluster: envs are put on nodes with this resource of Ray, one unit for each process; by default on any"""
    gpus: MayChange[bool] = False
    """cluster: give the engine and each learner a GPU"""

    @property
    def cpus(self) -> int:
        """How many CPUs of Ray it takes: one for each learner, each process of envs, and the engine."""
        return self.learners + self.env_workers + 1
