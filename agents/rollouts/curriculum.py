"""The curriculum: which task comes next, by how well the model does on tasks of its kind."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from agents.rollouts.groups import Group
from webarena_gym.tasks import Task

_LEAST_CHANCE = 0.03  # of a template that always succeeds or always fails; 0.25 is that of one in the middle


class Curriculum:
    """Draws tasks for groups, the template first.

    With `seek_mixed`, templates near a success of one half come more often: the rewards of a group of which half succeed have the
    largest variance, rate * (1 - rate), and groups of equal rewards give no advantages. `rates` is each template's running success, for
    a run that goes on. It is a mean over its groups, and later a moving one, in which the newest group counts 1 / `memory`.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        seek_mixed: bool,
        seed: int,
        rates: Mapping[str, float] | None = None,
        memory: int = 2,
    ) -> None:
        if not tasks:
            raise ValueError("there are no tasks; expected one or more")
        self._by_template: dict[str, list[Task]] = {}
        for task in tasks:
            self._by_template.setdefault(_template(task), []).append(task)
        self._seek_mixed = seek_mixed
        self._seed = seed
        self._memory = memory
        self.rates = dict(rates or {})
        self._visits = dict.fromkeys(self.rates, memory)  # groups of each template, at most `memory`

    def draw(self, number: int) -> Task:
        """Return the task of a group. It follows from the run's seed, the group's number and the rates as they are."""
        rng = Random(f"{self._seed}/{number}")
        rates = [self.rates.get(name, 0.5) for name in self._by_template]
        chances = [rate * (1 - rate) + _LEAST_CHANCE if self._seek_mixed else 1.0 for rate in rates]
        (name,) = rng.choices(list(self._by_template), chances)
        return rng.choice(self._by_template[name])

    def note(self, groups: Sequence[Group]) -> None:
        """Move each template's running success towards that of its newest group."""
        for group in groups:
            if group.valid:
                name = _template(group.task)
                mean = sum(item.reward for item in group.valid) / len(group.valid)
                self._visits[name] = min(self._visits.get(name, 0) + 1, self._memory)
                self.rates[name] = self.rates.get(name, mean) + (mean - self.rates.get(name, mean)) / self._visits[name]

    def state_dict(self) -> dict[str, dict[str, Any]]:
        """Return the running success of each template, and of how many groups it is, at most `memory`."""
        return {"rates": dict(self.rates), "visits": dict(self._visits)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from what `state_dict` returned. A state without visits is one of a moving mean that is well under way."""
        self.rates = dict(state_dict["rates"])
        self._visits = dict(state_dict.get("visits", dict.fromkeys(self.rates, self._memory)))


def _template(task: Task) -> str:
    return task.template or task.task_id
