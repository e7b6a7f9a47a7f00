"""Tasks without a site."""

from webarena_gym.tasks import Task
from webarena_gym.tasks.template import end_task


def task(block, solution=(), wrong=(), template="", task_id="t"):
    return Task(
        task_id, ("shopping",), "__SHOPPING__", "x", block,
        world_seed=0, template=template, solution=tuple(solution) or (end_task(),), wrong_answers=wrong,
    )  # fmt: skip
