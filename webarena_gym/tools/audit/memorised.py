"""Measures how much of a split is rewarded for answers that were learned from other worlds, without opening a page.

For each wording of a goal, the memoriser learns the constant answer that is right most often in all worlds but one, and gives it
in the world that was left out. It reads no slot of the goal and no page.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from webarena_gym.env import WebArenaLite
from webarena_gym.errors import TaskError
from webarena_gym.evaluators import is_right_answer
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tools.audit.replays import earns, exit_with

BOUND = 0.02
"""The largest share of a split that a memoriser may be rewarded for."""
_CANDIDATES = 5  # most frequent answers of a wording that are tried in all its tasks


@dataclass
class Memorised:
    """The tasks of some worlds, and those that are rewarded for a memorised answer, by template."""

    worlds: int
    tasks: Counter[str] = field(default_factory=Counter)
    rewarded: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The share of tasks that are rewarded, from 0 to 1."""
        return self.rewarded.total() / self.tasks.total()

    def lines(self) -> list[str]:
        """Return a summary, and a line for each template of which a task is rewarded, the most rewarded first."""
        summary = (
            f"memorised: {self.rewarded.total()} of {self.tasks.total()} tasks ({self.share:.1%}) are rewarded for the best constant"
            f" answer of their wording in the other worlds, of {self.worlds}"
        )
        most = self.rewarded.most_common()
        return [summary, *(f"  {name}: {count} of {self.tasks[name]}" for name, count in most)]


def memorised(tasks: Sequence[Task], variation: Variation = "content") -> Memorised:
    """Give every task the constant answer that is best for its wording in the other worlds, and count the rewards.

    An answer that is right by the task's check of answers is given in an episode, where the task's other checks must pass as well.
    Raises TaskError for tasks of a single world.
    """
    worlds = {task.world_seed for task in tasks}
    if len(worlds) < 2:
        raise TaskError(f"the tasks are of {len(worlds)} world; a memoriser learns from others: expected two worlds or more")
    result = Memorised(len(worlds), Counter(task.template for task in tasks))
    of_wording: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if "string_match" in task.eval_types:
            of_wording[task.intent_template or task.intent].append(task)
    with WebArenaLite(tasks=tasks, variation=variation, max_steps=1) as env:
        for alike in of_wording.values():
            answers = Counter(_answer(task) for task in alike).most_common(_CANDIDATES)
            right = {answer: [is_right_answer(task.eval, task.intent, answer) for task in alike] for answer, _ in answers}
            for index, task in enumerate(alike):
                known = [place for place, other in enumerate(alike) if other.world_seed != task.world_seed]
                best = max(right, key=lambda answer: sum(right[answer][place] for place in known))
                if known and right[best][index] and earns(env, task, exit_with(best)):
                    result.rewarded[task.template] += 1
    return result


def _answer(task: Task) -> str:
    """Return the answer of a task's solution."""
    return task.solution[-1].action.argument or ""
