"""Groups of rollouts, and the curriculum: the task of each group, by how well the model does on tasks of its kind, and earlier successes."""

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


class RolloutError(WorkerError):
    """No rollout of a whole batch could be played to its end, so training would learn nothing."""


_LEAST_CHANCE = 0.03  # is added, so that a template that always succeeds or always fails is tried again
_KEPT = 16  # tasks of each template of which the newest success is kept


def mixed_chance(rate: float) -> float:
    """Return how likely a template of that success is drawn, in proportion: the variance of its rewards, and a little."""
    return rate * (1 - rate) + _LEAST_CHANCE


class Curriculum:
    """Draws tasks for groups, the template first, and keeps successes.

    With `seek_mixed`, templates near a success of one half come more often: the rewards of a group of which half succeed have the
    largest variance, rate * (1 - rate), and groups of equal rewards give no advantages. `rates` is each template's running success: a
    mean over its groups, and later a moving one, in which the newest group counts 1 / `memory`.
    """

    def __init__(self, tasks: Sequence[Task], seed: int, *, seek_mixed: bool = False, memory: int = 2) -> None:
        if not tasks:
            raise ValueError("there are no tasks; expected one or more")
        self._by_template: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            self._by_template[_template(task)].append(task)
        self._seed, self._memory, self._seek_mixed = seed, memory, seek_mixed
        self.rates: dict[str, float] = {}
        self._visits: dict[str, int] = {}  # groups of each template, at most `memory`
        self._successes: dict[str, dict[str, Trajectory]] = defaultdict(dict)  # by template and task, the newest last

    def draw(self, number: int) -> Task:
        """Return the task of a group. It follows from the run's seed, the group's number and the rates as they are."""
        rng = Random(f"{self._seed}/{number}")
        rates = [self.rates.get(name, 0.5) for name in self._by_template]
        chances = [mixed_chance(rate) if self._seek_mixed else 1.0 for rate in rates]
        (name,) = rng.choices(list(self._by_template), chances)
        return rng.choice(self._by_template[name])

    def note(self, groups: Sequence[Group]) -> None:
        """Move each template's running success towards that of its newest group."""
        for group in groups:
            if group.valid:
                mean, name = fmean(item.reward for item in group.valid), _template(group.task)
                self._visits[name] = min(self._visits.get(name, 0) + 1, self._memory)
                self.rates[name] = self.rates.get(name, mean) + (mean - self.rates.get(name, mean)) / self._visits[name]

    def keep(self, groups: Sequence[Group]) -> None:
        """Keep the shortest success of each group, the newest of each task, of at most 16 tasks of each template."""
        for group in groups:
            if best := [item for item in group.valid if item.reward == 1]:
                own = self._successes[_template(group.task)]
                own.pop(group.task.task_id, None)  # so that the new one goes behind the others
                own[group.task.task_id] = min(best, key=lambda item: len(item.steps))
                if len(own) > _KEPT:
                    own.pop(next(iter(own)))

    def replay(self, count: int, rng: Random) -> list[tuple[Trajectory, float]]:
        """Return the successes of so many draws, each once, with the advantage that is left to be gained on their template.

        The advantage is that of self-imitation (Oh et al., arXiv 1806.05635, equation 2), max(R - V, 0), where R is 1 and V the
        running success of the template. Templates are drawn with it as their chance.
        """
        names = [name for name, own in self._successes.items() if own and self.rates[name] < 1]
        drawn = rng.choices(names, [1 - self.rates[name] for name in names], k=count) if names else []
        pairs = [(rng.choice(list(self._successes[name].values())), 1 - self.rates[name]) for name in drawn]
        return list({id(item): (item, advantage) for item, advantage in pairs}.values())

    def state_dict(self) -> dict[str, Any]:
        """Return the running success of each template, of how many groups it is, and the successes."""
        kept = {name: [asdict(item) for item in own.values()] for name, own in self._successes.items()}
        return {"rates": dict(self.rates), "visits": dict(self._visits), "successes": kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self.rates, self._visits = dict(state["rates"]), dict(state["visits"])
        for name, records in state["successes"].items():
            self._successes[name] = {item.task_id: item for item in map(from_record, records)}


def _template(task: Task) -> str:
    return task.template or task.task_id
