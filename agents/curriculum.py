"""The curriculum: which task comes next, by how much groups of its kind have taught."""

from collections.abc import Mapping, Sequence
from random import Random

from agents.groups import Group
from webarena_gym.tasks import Task

_LARGEST = 0.25  # variance of rewards: of a group of which half succeed
_LEAST_CHANCE = 0.03  # of a template whose groups are all equal


class Curriculum:
    """Draws tasks for groups, the template first.

    With `seek_mixed`, templates whose groups are mixed come more often: a group teaches by what its rollouts differ in, so a template's
    chance grows with the variance of rewards *within* its groups, rate * (1 - rate) each. A template of which some tasks always
    succeed and the others always fail teaches nothing, though its success is middling. `spreads` is each template's running
    variance, for a run that goes on.
    """

    def __init__(
        self, tasks: Sequence[Task], *, seek_mixed: bool, seed: int, spreads: Mapping[str, float] | None = None
    ) -> None:
        self._by_template: dict[str, list[Task]] = {}
        for task in tasks:
            self._by_template.setdefault(_template(task), []).append(task)
        self._seek_mixed = seek_mixed
        self._seed = seed
        self.spreads = dict(spreads or {})

    def draw(self, number: int) -> Task:
        """Return the task of a group. It follows from the run's seed, the group's number and the spreads as they are."""
        rng = Random(f"{self._seed}/{number}")
        spreads = [self.spreads.get(name, _LARGEST) for name in self._by_template]
        chances = [spread + _LEAST_CHANCE if self._seek_mixed else 1.0 for spread in spreads]
        (name,) = rng.choices(list(self._by_template), chances)
        return rng.choice(self._by_template[name])

    def note(self, groups: Sequence[Group]) -> None:
        """Move each template's running variance halfway towards that of its newest group."""
        for group in groups:
            if group.valid:
                name = _template(group.task)
                rate = sum(item.reward for item in group.valid) / len(group.valid)
                self.spreads[name] = 0.5 * self.spreads.get(name, _LARGEST) + 0.5 * rate * (1 - rate)


def _template(task: Task) -> str:
    return task.template or task.task_id
