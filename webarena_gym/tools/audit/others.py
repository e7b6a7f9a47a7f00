"""Other draws of a task's template, with other truths."""

from functools import lru_cache
from typing import Any

from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task, draw, templates

_OTHERS = (2, 12)  # draws of a template that are looked at for one with another truth: few, then more


def another(task: Task, variation: Variation = "content") -> Task | None:
    """Return another draw of the task's template in its world, with another truth; None when there is none."""
    if task.template not in templates() or task.world_seed is None:
        return None
    drawn = (other for count in _OTHERS for other in _draws(task.template, task.world_seed, count, variation, task.scale))
    return next((other for other in drawn if _truth(other) != _truth(task)), None)


def other_answers(task: Task, variation: Variation = "content") -> list[str]:
    """Return the answers of other draws of the task's template in its world."""
    if task.template not in templates() or task.world_seed is None or not task.eval.get("reference_answers"):
        return []
    drawn = _draws(task.template, task.world_seed, _OTHERS[-1], variation, task.scale)
    found = [other.eval["reference_answers"].get("fuzzy_match") for other in drawn if other.eval.get("reference_answers")]
    return [each for each in dict.fromkeys(found) if isinstance(each, str)]


@lru_cache(maxsize=512)
def _draws(template: str, world_seed: int, count: int, variation: Variation, scale: Scale) -> list[Task]:
    return draw([template], world_seed=world_seed, count=count, variation=variation, scale=scale)


def _truth(task: Task) -> dict[str, Any]:
    """What a task checks, without what its answer may mention."""
    return {key: value for key, value in task.eval.items() if key != "asked"}
