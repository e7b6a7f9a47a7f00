"""Filtered behaviour cloning: imitate the episodes that succeeded, and nothing else.

After Pan et al., arXiv 2404.06474, as WebRL (arXiv 2411.02337) and WebAgent-R1 compare with it. Here it is online: successes of
all updates are kept, and each update draws as many of them as it has played episodes. DigiRL's version keeps the tenth of
highest reward instead.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from agents.methods.replay import Replay, imitation_loss, played
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.rollouts import TrainedStep, weighted
from agents.training.settings import FilteredBCSettings
from webarena_gym.tasks import Task


class FilteredBC:
    """Imitates successes, new and old ones alike."""

    title = "filtered BC"
    loss = staticmethod(imitation_loss)

    def __init__(self, args: FilteredBCSettings, tasks: Sequence[Task], *_: Any) -> None:
        self.draw = Curriculum(tasks, args.seed).draw
        self.successes = Replay(args.replay)
        self.state_dict, self.load_state_dict = self.successes.state_dict, self.successes.load_state_dict

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps of successes, all with the same weight."""
        new = played(groups)
        self.successes.add(item for item in new if item.reward == 1)
        drawn = self.successes.draw(len(new), rng)
        return weighted([(drawn, [1.0 for item in drawn for _ in item.steps])]), {"imitated": len(drawn)}
