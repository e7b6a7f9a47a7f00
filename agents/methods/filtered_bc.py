"""Filtered behaviour cloning (BC): imitate only successful episodes.

After Pan et al., arXiv 2404.06474, the baseline of WebRL (arXiv 2411.02337) and WebAgent-R1. Here it is online: successes of all updates
are stored in a replay buffer, and each update draws as many of them as it has played episodes. DigiRL's variant keeps the tenth of
episodes with the highest reward instead.
"""

from collections.abc import Sequence
from random import Random

from agents.grpo import Method
from agents.methods.replay import Replay, imitation_loss, valid_trajectories
from agents.rollouts.curriculum import Curriculum, Group
from agents.training.credit import TrainedStep, weight_steps
from agents.training.settings import FilteredBCSettings
from webarena_gym.tasks import Task


class FilteredBC(Method):
    """Imitates successful episodes of all updates."""

    title = "filtered BC"
    loss = staticmethod(imitation_loss)

    def __init__(self, args: FilteredBCSettings, tasks: Sequence[Task], *_: object) -> None:
        self.draw = Curriculum(tasks, args.seed).draw
        self.successes = Replay(args.replay)
        self.state_dict, self.load_state_dict = self.successes.state_dict, self.successes.load_state_dict

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps of successful episodes with equal weights, and metrics."""
        new = valid_trajectories(groups)
        self.successes.add(item for item in new if item.reward == 1)
        batch = self.successes.draw(len(new), rng)
        return weight_steps([(batch, [1.0 for item in batch for _ in item.steps])]), {"imitated": len(batch)}
