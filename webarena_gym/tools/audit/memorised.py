"""Measures the share of a split that is rewarded for answers memorised from other worlds, without opening a page.

For each wording of a goal, the memoriser learns the constant answer that is right most often in all worlds except one, and submits it
in the held-out world. It uses neither the slots of the goal nor any page.
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
"""The largest share of tasks, from 0 to 1, that memorised answers may solve in an accepted split."""
_CANDIDATES = 5  # the most frequent answers of a wording, each tried in all its tasks


@dataclass
class MemorisationResult:
    """Counts of tasks, and of tasks rewarded for a memorised answer, by template."""

    worlds: int
    tasks: Counter[str] = field(default_factory=Counter)
    rewarded: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The share of rewarded tasks, from 0 to 1."""
        return self.rewarded.total() / self.tasks.total()

    def lines(self) -> list[str]:
        """Return a summary, and a line for each template with a rewarded task, in descending order of rewards."""
        summary = (
            f"memorised: {self.rewarded.total()} of {self.tasks.total()} tasks ({self.share:.1%}) are rewarded for the best constant"
            f" answer of their wording in the other worlds, of {self.worlds}"
        )
        most = self.rewarded.most_common()
        return [summary, *(f"  {name}: {count} of {self.tasks[name]}" for name, count in most)]


def score_memorised_answers(tasks: Sequence[Task], variation: Variation = "content") -> MemorisationResult:
    """Answer each task with the constant that is right most often for its wording in the other worlds, and count the rewards.

    If the task's answer check accepts the constant, an episode submits it, since the task's other checks must pass too.
    Raises TaskError for tasks of a single world.
    """
    worlds = {task.world_seed for task in tasks}
    if len(worlds) < 2:
        raise TaskError(f"the tasks are of {len(worlds)} world; answers are memorised from other worlds: expected at least two")
    result = MemorisationResult(len(worlds), Counter(task.template for task in tasks))
    of_wording: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if "string_match" in task.eval_types:
            of_wording[task.intent_template or task.intent].append(task)
    with WebArenaLite(tasks=tasks, variation=variation, max_steps=1) as env:
        for group in of_wording.values():
            answers = Counter(_answer(task) for task in group).most_common(_CANDIDATES)
            right = {answer: [is_right_answer(task.eval, task.intent, answer) for task in group] for answer, _ in answers}
            for index, task in enumerate(group):
                training = [number for number, other in enumerate(group) if other.world_seed != task.world_seed]
                best = max(right, key=lambda answer: sum(right[answer][number] for number in training))
                if training and right[best][index] and earns(env, task, exit_with(best)):
                    result.rewarded[task.template] += 1
    return result


def _answer(task: Task) -> str:
    """Return the answer submitted by a task's solution."""
    return task.solution[-1].action.argument or ""
