"""Variants of a task's answer: the right value in every notation, and attacks on the judge built from right and wrong values."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from string import Template as Text
from typing import Any

from webarena_gym.answers import is_not_available
from webarena_gym.answers.values import kind_of, read
from webarena_gym.applications.application import Application
from webarena_gym.evaluators import is_right_answer
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation
from webarena_gym.suite import draw, templates, templates_of
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import Template
from webarena_gym.tools.audit.replays import AuditFindings

_OTHERS = (2, 12)  # draws searched for another truth: few first, then more


def alternative_draw(task: Task, variation: Variation = "content", application: Application | None = None) -> Task | None:
    """Return another draw of the task's template in its world, with another truth; None if there is none."""
    return next(alternative_draws(task, variation, application), None)


def alternative_draws(task: Task, variation: Variation = "content", application: Application | None = None) -> Iterator[Task]:
    """Yield other draws of the task's template in its world, each with another truth."""
    settings = variation, task.scale, application
    if task.template not in _templates(application) or task.world_seed is None:
        return
    truths = [_truth(task)]
    for count in _OTHERS:
        for other in _draws(task.template, task.world_seed, count, *settings):
            if _truth(other) not in truths:
                truths.append(_truth(other))
                yield other


def other_answers(task: Task, variation: Variation = "content", application: Application | None = None) -> list[str]:
    """Return the answers of other draws of the task's template in its world."""
    is_drawn = task.template in _templates(application) and task.world_seed is not None
    if not is_drawn or not task.eval.get("reference_answers"):
        return []
    drawn = _draws(task.template, task.world_seed or 0, _OTHERS[-1], variation, task.scale, application)
    answers = [other.eval["reference_answers"].get("fuzzy_match") for other in drawn if other.eval.get("reference_answers")]
    return [answer for answer in dict.fromkeys(answers) if isinstance(answer, str)]


@lru_cache(maxsize=512)
def _draws(
    template: str, world_seed: int, count: int, variation: Variation, scale: Scale, application: Application | None
) -> list[Task]:
    return draw([template], world_seed=world_seed, count=count, variation=variation, scale=scale, application=application)


def _templates(application: Application | None) -> Mapping[str, Template]:
    return templates_of(application) if application else templates()


def _truth(task: Task) -> dict[str, Any]:
    return {key: value for key, value in task.eval.items() if key != "asked"}


JOINTS = tuple(
    line.replace("\\n", "\n").replace("\\t", "\t")
    for line in (Path(__file__).parent / "joints.txt").read_text(encoding="utf-8").splitlines()
)
"""Wrong answers that contain a right value a, some with another value b, as templates of `string.Template`."""

_SCALES = (
    "${a} k", "${a}k", "${a} thousand", "${a} million", "${a} hundred", "${a} dozen", "${a} percent", "${a}%", "half of ${a}", "twice ${a}",
    "${a} each", "${a} per day", "${a} a day", "${a} bn",
)  # fmt: skip
_LIMIT = 12  # wrong values for one task
EXAMPLE = re.compile(r'\b(?:form|format|like) "([^"]+)"')
"""An example of the form of an answer in a goal."""

_END_OF_NAME = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+ ([A-Z][a-z]+ [A-Z][a-z]+)\b")


def right_forms(answer: str) -> Iterator[str]:
    """Yield each notation of a right answer that the prompt allows, without duplicates.

    >>> list(right_forms("5 min"))[-2:]
    ['**Answer:** 0 hours and 5 minutes', 'The answer is 0 hours and 5 minutes.']
    """
    yielded: set[str] = set()
    items = [item.strip() for item in answer.split(";")]
    if len(items) == 1:
        notations = list(_notations(answer))
    else:
        notations = ["; ".join(items), "\n".join(items), "\n".join(f"- {item}" for item in items), json.dumps(items)]
        notations.append("\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1)))
        notations.append(f"{'; '.join(items[:-1])} and {items[-1]}")
        notations += [", ".join(items)] if not any("," in item for item in items) else []
    for notation in notations:
        wrapped = [
            notation, f"I have looked at both.\nAnswer: {notation}", json.dumps({"answer": notation}), f"\\boxed{{{notation}}}",
        ]  # fmt: skip
        if "\n" not in notation and notation[:1] not in "[{":
            wrapped += [
                f"{notation}.", f'"{notation}"', f"**{notation}**", f"`{notation}`", f" {notation} \n", f"**Answer:** {notation}",
                f"The answer is {notation}.",
            ]  # fmt: skip
        for text in wrapped:
            if text not in yielded:
                yielded.add(text)
                yield text


def _notations(answer: str) -> Iterator[str]:
    yield answer
    kind = kind_of(answer)
    amount = None if kind == "text" else read(kind, answer)
    if amount is None:
        yield from () if is_not_available(answer) else (answer.upper(), answer.lower()) if answer.isascii() else ()
    elif kind == "money" and isinstance(amount, tuple):
        amount = amount[1]
        yield from (f"${amount:.2f}", f"USD {amount:.2f}", f"{amount:.2f} dollars", f"${amount:,.2f}")
    elif kind == "number" and isinstance(amount, float):
        is_whole = amount == int(amount) and not answer.startswith("0") and amount < 1e9
        yield from (f"{int(amount)}", f"{int(amount):,}") if is_whole else ()
    elif kind == "date" and isinstance(amount, tuple):
        year, month, day = map(int, amount)
        name = "January February March April May June July August September October November December".split()[month - 1]  # noqa: SIM905
        yield from (f"{year:04}-{month:02}-{day:02}", f"{month}/{day}/{year}")
        yield from (f"{name} {day}, {year}", f"{day} {name} {year}", f"{name[:3]} {day}, {year}")
    elif kind == "duration" and isinstance(amount, float) and amount % 60 == 0 and amount < 86400:
        hours, minutes = divmod(int(amount) // 60, 60)
        yield from (f"{int(amount) // 60} minutes", f"{int(amount) // 60} min")
        yield from (f"{hours} h {minutes} min", f"{hours} hours and {minutes} minutes")
    elif kind == "distance" and isinstance(amount, float):
        yield from (f"{amount:g} m" if amount < 1e6 else answer, f"{amount / 1000:.6g} km", f"{amount / 1000:.6g} kilometers")


def attacks(task: Task, right: str, wrong: list[str]) -> Iterator[str]:
    """Yield answers that contain the right one or a wrong one and must not be rewarded."""
    items = [item.strip() for item in right.split(";")]
    is_polar = right.lower() in ("yes", "no")
    for value in wrong:
        yield value
        for joint in JOINTS:
            if "${b}" in joint and value.lower() not in right.lower() and right.lower() not in value.lower():
                yield _fill(joint, right, value)
                yield _fill(joint, value, right)
    for joint in JOINTS:
        if "${b}" not in joint and not is_polar and not is_not_available(right):
            yield _fill(joint, right, "")
    if re.fullmatch(r"\$?[\d,]+(?:\.\d+)?", right):
        yield from (_fill(scale, right, "") for scale in _SCALES)
    if len(items) > 1 and not all(": " in item for item in items):
        others = [value for value in wrong if value.lower() not in right.lower() and ";" not in value]
        yield "; ".join(items[:-1])
        yield "; ".join(items[1:])
        yield " ".join(items)
        yield from ("; ".join([*items, other]) for other in others)
        yield from ("; ".join([other, *items[1:]]) for other in others)
        yield from (f"{'; '.join(items)}, except {items[0]}", f"{'; '.join(items)}, but not {items[-1]}")
    yield from EXAMPLE.findall(task.intent)
    yield task.intent
    yield f"{task.intent} {right}?"


def _fill(joint: str, right: str, other: str) -> str:
    return Text(joint).substitute(a=right, b=other)


def _number(text: str) -> float | None:
    """Return the number that a whole text represents, None for other texts."""
    bare = text.replace("`", "").removeprefix("$")
    return float(bare) if re.fullmatch(r"\d{1,20}(\.\d{1,20})?", bare) else None


def try_answers(task: Task, others: list[str], findings: AuditFindings) -> None:
    """Judge the right answer in every notation, and attacks built from it and from the answers of `others`, and count the results."""
    references = (task.eval.get("reference_answers") or {}).get("fuzzy_match")
    if references is None:
        return
    right = (references if isinstance(references, str) else "; ".join(references)).split(" |OR| ")[0]
    wrong = [
        text for text in dict.fromkeys([*task.wrong_answers, *others]) if not is_right_answer(task.eval, task.intent, text)
    ]
    dice = Random(task.task_id)
    # The end of a longer name in the goal, such as the street of an address, may be the answer of another draw.
    is_text = "text" in task.eval.get("asked", {}).get("type", "")
    pieces = _END_OF_NAME.findall(task.intent) if is_text and not is_not_available(right) else []
    pieces = [piece for piece in pieces if not is_right_answer(task.eval, task.intent, piece)]
    for text in right_forms(right):
        findings.right_answers += 1
        if not is_right_answer(task.eval, task.intent, text):
            findings.right_refused.append(f"{task.task_id}: {text!r}")
    for text in attacks(task, right, dice.sample(wrong, min(_LIMIT, len(wrong))) + dice.sample(pieces, min(2, len(pieces)))):
        if _number(text) is not None and _number(text) == _number(right):  # "0" and "1" concatenated are 1
            continue
        findings.attacks += 1
        if is_right_answer(task.eval, task.intent, text):
            findings.attacks_rewarded.append(f"{task.task_id}: {text!r}")
