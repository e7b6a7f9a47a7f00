"""Groups of rollouts, and the curriculum, which draws the task of each group by success rates and stores successful rollouts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory, from_record
from webarena_gym.errors import WorkerError
from webarena_gym.tasks import Task


class Group(NamedTuple):
    """All rollouts of one task from one seed.

    Attributes:
        number: number of the group in the training, from 0.
        task: the task of all rollouts.
        trajectories: the rollouts.
        max_steps: their step limit; None for that of the env.

    """

    number: int
    task: Task
    trajectories: list[Trajectory]
    max_steps: int | None = None

    @property
    def valid(self) -> list[Trajectory]:
        """The rollouts whose infrastructure did not fail."""
        return [trajectory for trajectory in self.trajectories if trajectory.ending != "failed"]

    @property
    def has_equal_rewards(self) -> bool:
        """True if all rewards are equal, so that group-relative advantages are 0."""
        return len({trajectory.reward for trajectory in self.valid}) < 2

    def is_stale(self, version: int, staleness: int) -> bool:
        """True if a rollout has replies of a policy more than `staleness` updates older than `version`."""
        return any(trajectory.policy_version < version - staleness for trajectory in self.valid)


class RolloutError(WorkerError):
    """All rollouts of a batch failed because of the infrastructure, so there is nothing to train on."""


_MIN_WEIGHT = 0.03  # added to each weight, so that templates that always succeed or always fail are drawn again
_MAX_SUCCESSES = 16  # stored successes of each template, of different tasks


def sampling_weight(rate: float) -> float:
    """Return the sampling weight of a template with a success rate: the variance of its rewards, rate * (1 - rate), plus 0.03."""
    return rate * (1 - rate) + _MIN_WEIGHT


class Curriculum:
    """Draws the task of each group by drawing a template and then one of its tasks, and stores successful rollouts.

    `rates` is the running success rate of each template: the mean over its first `memory` groups, and then an exponential moving average
    in which the newest group has the weight 1 / `memory`.

    Args:
        tasks: The tasks.
        seed: Seed of the run.
        seek_mixed: Draw templates with success rates near one half more often. Rewards of their groups have the largest variance,
            rate * (1 - rate), and groups with equal rewards have no advantages. Otherwise templates are drawn uniformly.
        memory: Number of groups in a success rate.

    """

    def __init__(self, tasks: Sequence[Task], seed: int, *, seek_mixed: bool = False, memory: int = 2) -> None:
        if not tasks:
            raise ValueError("the curriculum has no tasks; expected at least one")
        self._by_template: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            self._by_template[_template_name(task)].append(task)
        self._seed, self._memory, self._seek_mixed = seed, memory, seek_mixed
        self.rates: dict[str, float] = {}
        self._visits: dict[str, int] = {}  # number of groups of each template, at most `memory`
        self._successes: dict[str, dict[str, Trajectory]] = defaultdict(dict)  # by template and task, newest last

    def draw(self, number: int) -> Task:
        """Return the task of a group. It depends only on the run's seed, the group's number, and the current rates."""
        rng = Random(f"{self._seed}/{number}")
        rates = [self.rates.get(name, 0.5) for name in self._by_template]
        weights = [sampling_weight(rate) if self._seek_mixed else 1.0 for rate in rates]
        (name,) = rng.choices(list(self._by_template), weights)
        return rng.choice(self._by_template[name])

    def update_rates(self, groups: Sequence[Group]) -> None:
        """Update the success rate of each group's template."""
        for group in groups:
            if group.valid:
                mean, name = fmean(item.reward for item in group.valid), _template_name(group.task)
                self._visits[name] = min(self._visits.get(name, 0) + 1, self._memory)
                self.rates[name] = self.rates.get(name, mean) + (mean - self.rates.get(name, mean)) / self._visits[name]

    def store_successes(self, groups: Sequence[Group]) -> None:
        """Store the shortest success of each group, one per task, for at most 16 tasks of each template."""
        for group in groups:
            if successful := [item for item in group.valid if item.reward == 1]:
                successes = self._successes[_template_name(group.task)]
                successes.pop(group.task.task_id, None)  # so that the new entry becomes the last one
                successes[group.task.task_id] = min(successful, key=lambda item: len(item.steps))
                if len(successes) > _MAX_SUCCESSES:
                    successes.pop(next(iter(successes)))

    def replay(self, count: int, rng: Random) -> list[tuple[Trajectory, float]]:
        """Return stored successes with their advantages, from `count` draws without duplicates.

        The advantage is that of self-imitation learning (Oh et al., arXiv 1806.05635, equation 2), max(R - V, 0), where R is 1 and V is the
        success rate of the template. Templates are drawn in proportion to it.
        """
        names = [name for name, successes in self._successes.items() if successes and self.rates[name] < 1]
        drawn = rng.choices(names, [1 - self.rates[name] for name in names], k=count) if names else []
        pairs = [(rng.choice(list(self._successes[name].values())), 1 - self.rates[name]) for name in drawn]
        return list({id(item): (item, advantage) for item, advantage in pairs}.values())

    def state_dict(self) -> dict[str, Any]:
        """Return the success rates, the numbers of groups that they are computed from, and the stored successes."""
        successes = {name: [asdict(item) for item in successes.values()] for name, successes in self._successes.items()}
        return {"rates": dict(self.rates), "visits": dict(self._visits), "successes": successes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state dict."""
        self.rates, self._visits = dict(state["rates"]), dict(state["visits"])
        for name, records in state["successes"].items():
            self._successes[name] = {item.task_id: item for item in map(from_record, records)}


def _template_name(task: Task) -> str:
    return task.template or task.task_id
