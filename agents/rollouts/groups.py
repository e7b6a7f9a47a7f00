"""Groups of rollouts, which are compared with each other."""

from typing import NamedTuple

from agents.data.trajectories import Trajectory
from webarena_gym.tasks import Task


class Group(NamedTuple):
    """All rollouts of one task from one seed, with the step limit that they were given, if it was another than the env's."""

    number: int
    task: Task
    trajectories: list[Trajectory]
    max_steps: int | None = None

    @property
    def valid(self) -> list[Trajectory]:
        """The rollouts that did not break through no fault of the policy."""
        return [trajectory for trajectory in self.trajectories if trajectory.ending != "failed"]

    @property
    def is_equal(self) -> bool:
        """True if all rewards are equal, so that there is nothing to compare."""
        return len({trajectory.reward for trajectory in self.valid}) < 2

    def is_stale(self, version: int, staleness: int) -> bool:
        """True if some reply is older than `staleness` updates before this version."""
        return any(trajectory.policy_version < version - staleness for trajectory in self.valid)


class RolloutError(Exception):
    """No rollout of a whole batch could be played to its end, so training would learn nothing."""
