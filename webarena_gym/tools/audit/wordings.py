"""Counts the right wordings of answers that the judge accepts, and the wrong ones that it refuses, in each half of the corpus."""

from webarena_gym.evaluators import is_right_answer
from webarena_gym.tasks import Task
from webarena_gym.tasks.wordings import HALVES, answer_of, wordings_of
from webarena_gym.tools.audit.findings import Findings


def try_wordings(task: Task, other: Task | None, findings: Findings) -> None:
    """Judge all wordings of a task's answer, and count them. `other` is another draw of its template, for wordings that need one."""
    if answer_of(task) is None:
        return
    for half in HALVES:
        for wording in wordings_of(task, half, None if other is None else answer_of(other)):
            findings.count_wording(half == "held_out", wording.is_right, is_right_answer(task.eval, task.intent, wording.text))
