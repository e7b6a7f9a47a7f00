"""Filtered behaviour cloning: imitate the episodes that succeeded, and nothing else.

After Pan et al., arXiv 2404.06474, as WebRL (arXiv 2411.02337) and WebAgent-R1 compare with it. Here it is online: successes of
all updates are kept, and each update draws as many of them as it has played episodes. DigiRL's version keeps the tenth of
highest reward instead.
"""

from random import Random
from typing import Any

from agents.methods.method import Teaching, imitate, make_lesson, played
from agents.methods.replay import Replay, ReplaySettings
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import Batch
from agents.training.learner import Tokens
from agents.training.losses import ClippedLoss
from webarena_gym.tasks import Task


class FilteredCloning:
    """Imitates successes, new and old ones alike."""

    def __init__(self, settings: ReplaySettings, curriculum: Curriculum) -> None:
        self._curriculum = curriculum
        self._successes = Replay(settings.replay)

    def draw_task(self, number: int) -> Task:
        """Return any task."""
        return self._curriculum.draw(number)

    def teach(self, batch: Batch, rng: Random) -> Teaching:
        """Return the steps of successes, all with the same weight."""
        new = played(batch)
        self._successes.add(item for item in new if item.reward == 1)
        drawn = self._successes.draw(len(new), rng)
        return Teaching(make_lesson(drawn, [[1.0] * len(item.steps) for item in drawn]), {"imitated": len(drawn)})

    def loss(self, tokens: Tokens) -> ClippedLoss:
        """Return the negative log-likelihood."""
        return imitate(tokens)

    def state_dict(self) -> dict[str, Any]:
        """Return the successes."""
        return self._successes.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self._successes.load_state_dict(state_dict)
