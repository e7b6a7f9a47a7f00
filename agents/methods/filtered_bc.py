"""Filtered behaviour cloning: imitate the episodes that succeeded, and nothing else.

After Pan et al., arXiv 2404.06474, as WebRL (arXiv 2411.02337) and WebAgent-R1 compare with it. Here it is online: successes of
all updates are kept, and each update draws as many of them as it has played episodes. DigiRL's version keeps the tenth of
highest reward instead.
"""

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from agents.methods.method import Resources, batch_of_steps, played
from agents.methods.replay import Replay, ReplaySettings
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import RolloutBatch
from agents.training.batch import TrainingBatch
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class FilteredBCSettings(ReplaySettings):
    """Filtered behaviour cloning: imitate the episodes that succeeded."""

    name: ClassVar[str] = "filtered_bc"
    title: ClassVar[str] = "filtered BC"

    def create(self, resources: Resources) -> "FilteredBC":
        """Return the method as it begins."""
        return FilteredBC(self, resources)


class FilteredBC:
    """Imitates successes, new and old ones alike."""

    def __init__(self, settings: ReplaySettings, resources: Resources) -> None:
        self._curriculum = Curriculum(resources.tasks, seek_mixed=False, seed=resources.seed)
        self._successes = Replay(settings.replay)

    def draw_task(self, number: int) -> Task:
        """Return any task."""
        return self._curriculum.draw(number)

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Return the steps of successes, all with the same weight."""
        new = played(rollouts)
        self._successes.add(item for item in new if item.reward == 1)
        drawn = self._successes.draw(len(new), rng)
        return batch_of_steps(drawn, [[1.0] * len(item.steps) for item in drawn]), {"imitated": len(drawn)}

    def state_dict(self) -> dict[str, Any]:
        """Return the successes."""
        return self._successes.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self._successes.load_state_dict(state_dict)
