"""Wordings: right and wrong ways of saying an answer, as data, to hold the judge of answers against.

A wording is a Jinja template over one task, kept by the task's template, so that it can be written out in any world. The two
halves were written by different people, neither of whom had read the judge (`webarena_gym.answers`): "development" may be looked at while
the judge is changed, "held_out" may not. `docs/wordings.md` says what a wording may use.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from jinja2 import StrictUndefined, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from webarena_gym.errors import TaskError, WebArenaGymError
from webarena_gym.tasks.task import Task

Half = Literal["development", "held_out"]
HALVES: tuple[Half, ...] = get_args(Half)

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_UNITS = {"d": 1440, "h": 60, "min": 1}
_PARTS = re.compile(r"(?<!\d)(\d+)\s*(d|h|min)\b")
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_DATES = (r"(?P<Y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})", r"(?P<b>[A-Z][a-z]+) (?P<d>\d{1,2}), (?P<Y>\d{4})")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class Wording(NamedTuple):
    """One way of saying the answer of one task: who should accept it, its kind, and the words."""

    is_right: bool
    category: str
    text: str


class Skip(WebArenaGymError):  # noqa: N818 - not an error: the wording is about something that this task does not have
    """A wording does not apply to a task."""


def wordings_of(task: Task, half: Half, other: str | None = None) -> Iterator[Wording]:
    """Yield the wordings of a half that apply to a task; `other` is the answer of another draw of its template.

    A wrong wording is left out where it comes out as the right answer, or as a right wording.
    Raises TaskError for a wording that cannot be written out.
    """
    if not task.template:
        return
    variables = _variables(task, other)
    said: list[Wording] = []
    for is_right, category, source in _corpus(half).get(task.template, ()):
        try:
            said.append(Wording(is_right, category, _environment().from_string(source).render(variables).strip()))
        except (Skip, UndefinedError, IndexError, ZeroDivisionError):
            continue
        except (SecurityError, TypeError, ValueError) as error:
            raise TaskError(f"{task.task_id}: the {half} wording {source!r} cannot be written out: {error}") from error
    right = {_plain(text) for text in str(variables["answer"]).split(" |OR| ")} | {
        _plain(each.text) for each in said if each.is_right
    }
    yield from (each for each in said if each.is_right or _plain(each.text) not in right)


def _plain(text: str) -> str:
    """A text as it is compared with others: without case, and without marks around it."""
    return " ".join(text.casefold().split()).strip(" .!*`\"'")


def answer_of(task: Task) -> str | None:
    """Return the reference answer of a task that asks for one, None for other tasks."""
    references = (task.eval.get("reference_answers") or {}).values()
    values = next(iter(references), None)
    return ", ".join(values) if isinstance(values, list) else values


def read_wordings(path: Path) -> dict[str, list[tuple[bool, str, str]]]:
    """Return the wordings of a file by template, as (is right, category, Jinja source). Raises TaskError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            template: [(key == "right", category, text) for key in ("right", "wrong") for category, text in groups[key]]
            for template, groups in content.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(
            f'{path.name} holds no wordings: expected {{template: {{"right": [[category, text]], "wrong": ...}}}}: {error}'
        ) from error


@cache
def _corpus(half: Half) -> Mapping[str, list[tuple[bool, str, str]]]:
    merged: dict[str, list[tuple[bool, str, str]]] = {}
    for path in sorted((Path(__file__).parent / half).glob("*.json")):
        for template, wordings in read_wordings(path).items():
            merged.setdefault(template, []).extend(wordings)
    return merged


def _variables(task: Task, other: str | None) -> dict[str, Any]:
    answer = answer_of(task)
    if answer is None:
        raise TaskError(f"{task.task_id} asks for no answer, so it has no wordings")
    wrong = [text for text in task.wrong_answers if text != answer]
    variables: dict[str, Any] = {
        "answer": answer,
        "items": items(answer),
        "slots": dict(task.instantiation_dict),
        "goal": task.intent,
        "wrong": wrong,
    }
    return variables if other is None else variables | {"other": other}


def items(text: Any) -> list[str]:
    """Return the parts of a list as references write it: with semicolons, else with commas."""
    separator = ";" if ";" in str(text) else r",(?!\d)"
    return [part.strip() for part in re.split(separator, str(text)) if part.strip()]


def number(text: Any) -> float | int:
    """Return the first number of a text, or skip the wording."""
    found = _NUMBER.search(str(text))
    if found is None:
        raise Skip
    value = float(found.group().replace(",", ""))
    return int(value) if value.is_integer() else value


def words(value: Any) -> str:
    """Return a number up to twelve as a word, or skip the wording."""
    count = number(value)
    if not 0 <= count < len(_WORDS) or count != int(count):
        raise Skip
    return _WORDS[int(count)]


def minutes(text: Any) -> int:
    """Return a duration such as "1h 4min" in minutes, or skip the wording."""
    parts = _PARTS.findall(str(text))
    if not parts:
        raise Skip
    return sum(int(value) * _UNITS[unit] for value, unit in parts)


def on(text: Any, style: str = "%B %d, %Y") -> str:
    """Return the date in a text in the style of strftime, with %e for a day without its zero; or skip the wording."""
    for pattern in _DATES:
        found = re.search(pattern, str(text))
        if found:
            parts = found.groupdict()
            month = int(parts["m"]) if "m" in parts else _MONTHS.index(parts["b"][:3]) + 1
            day = date(int(parts["Y"]), month, int(parts["d"]))
            return day.strftime(style.replace("%e", str(day.day)))
    raise Skip


def series(values: Iterable[str], last: str = " and ") -> str:
    """Return values as "a, b and c"; `last` stands before the last of three or more."""
    *others, final = values
    return (last if len(others) > 1 else " and ").join([", ".join(others), final]) if others else final


def oxford(values: Iterable[str]) -> str:
    """Return values as "a, b, and c"."""
    return series(values, ", and ")


def skip() -> str:
    """Leave the wording out."""
    raise Skip


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=False)
    environment.globals = {"skip": skip}
    environment.filters |= {
        "number": number,
        "spelled": words,
        "minutes": minutes,
        "on": on,
        "items": items,
        "money": lambda value: f"${number(value):,.2f}",
        "quoted": lambda value: json.dumps(value, ensure_ascii=False),
        "lines": "\n".join,
        "bullets": lambda values: "\n".join(f"- {value}" for value in values),
        "numbered": lambda values: "\n".join(f"{place}. {value}" for place, value in enumerate(values, 1)),
        "oxford": oxford,
        "series": series,
    }
    return environment
