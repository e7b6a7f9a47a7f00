"""Checks that the pages visited by a solution contain its answer, or the operands of a declared computation of it.

An answer is split into pieces, such as the names of a list. A page contains a piece as text, or as a value if it writes the amount,
number, date, distance or duration in another format. Any other piece must be computed: the task declares the operation and its operands
(`Task.grounds`), the pages must contain the operands, and the operation is repeated here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import reduce
from typing import Any

from webarena_gym.observation import observe, visible_text
from webarena_gym.pages.page import Page
from webarena_gym.tasks import Task
from webarena_gym.tasks.grounds import Ground

_NUMBER = re.compile(r"(?<![\w.,/:-])-?\$?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w]|[.,/:-]\d)")
_COUNT = re.compile(r"0|[1-9]\d{0,8}")
_MEASURE = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s?(km|m|d|h|min|s)\b")
_IN_UNIT = {"km": ("m", 1000.0), "m": ("m", 1.0), "d": ("s", 86400.0), "h": ("s", 3600.0), "min": ("s", 60.0), "s": ("s", 1.0)}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED_DAY = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2}),? (\d{4})\b", re.IGNORECASE)
_DAY = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")

_WORD_ANSWERS = ("Yes", "No", "N/A")  # answers that pages give in other words
_TOLERANCE = 1e-6
_BETWEEN_ITEMS = re.compile(r", (?!\d{4}\b)(?:and )?| and ")
_MARKS = " .!?,;:\"'`*"

Value = tuple[str, float]
"""A kind ("number", "m", "s" or "date") and a number in the base unit of that kind."""


class ObservedText:
    """The texts of the pages that a solution visits."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._observations: list[str] = []
        self._values: set[Value] = set()
        self.page_count = 0
        self.urls: set[str] = set()
        self.pictures: set[str] = set()  # values of src

    def add(self, page: Page, observation: str = "") -> None:
        """Add the visible text of a page and the agent's `observation` of it, by default that of the first window."""
        self.page_count += 1
        self.urls.add(page.url)
        self.pictures.update(image.get("src", "") for image in page.root.iter("img"))
        observation = observation or observe(page).text
        text = f"{visible_text(page.root)}\n{observation}"
        self._observations.append(plain(observation))
        self._texts.append(f" {plain(text)} ")
        self._values.update(values(text))

    def has(self, piece: str) -> bool:
        """Return True if one of the pages contains a piece of an answer, as text or as a value."""
        value = value_of(piece)
        if value is not None and value in self._values:
            return True
        return not _COUNT.fullmatch(piece.strip()) and self.has_text(piece)  # the 7 of "7.5" and of "May 7" is not 7

    def has_text(self, text: str) -> bool:
        """Return True if one of the pages contains a text as whole words."""
        return _contains(text, self._texts)

    def was_observed(self, text: str) -> bool:
        """Return True if one of the observations contains a text as whole words. Observations truncate very long texts."""
        return _contains(text, self._observations)


def _contains(text: str, texts: Iterable[str]) -> bool:
    words = plain(text)
    pattern = re.compile(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])")
    return bool(words) and any(words in text and pattern.search(text) for text in texts)


def plain(text: str) -> str:
    """Return a text in lower case with single blanks."""
    return " ".join(text.lower().split())


def values(text: str) -> Iterator[Value]:
    """Yield the values that a text contains."""
    for number in _NUMBER.finditer(_NAMED_DAY.sub(r" \3 ", text)):  # a day is no number, its year is
        yield "number", round(float(number[1].replace(",", "") + (number[2] or "")), 6)
    for measure in _MEASURE.finditer(text):
        yield _in_base_unit(measure)
    end, total = -1, 0.0
    for measure in _MEASURE.finditer(text):  # 1 h 20 min is one duration
        kind, amount = _in_base_unit(measure)
        if end >= 0 and kind == "s" and not text[end : measure.start()].strip(" ,"):
            total += amount
            yield "s", total
        else:
            total = amount
        end = measure.end() if kind == "s" else -1
    for match in _NAMED_DAY.finditer(text):
        yield from _day(int(match[3]), _MONTHS.index(match[1].lower()) + 1, int(match[2]))
    for match in _DAY.finditer(text):
        if match[1]:
            yield from _day(int(match[1]), int(match[2]), int(match[3]))
        else:
            yield from _day(int(match[6]) + (2000 if len(match[6]) == 2 else 0), int(match[4]), int(match[5]))


def _in_base_unit(measure: re.Match[str]) -> Value:
    kind, factor = _IN_UNIT[measure[2]]
    return kind, round(float(measure[1].replace(",", "")) * factor, 3)


def _day(year: int, month: int, day: int) -> Iterator[Value]:
    try:
        yield "date", float(date(year, month, day).toordinal())
    except ValueError:
        return


def value_of(piece: str) -> Value | None:
    """Return the value of a piece of an answer that consists of one value, otherwise None."""
    piece = piece.strip().rstrip(".")
    matches = list(values(piece))
    if _NUMBER.fullmatch(piece) or _NAMED_DAY.fullmatch(piece) or _DAY.fullmatch(piece):
        return matches[-1] if matches else None
    return matches[-1] if matches and not _MEASURE.sub("", piece).strip(" ,") else None


def pieces(answer: str, intent: str) -> list[str]:
    """Return the pieces of an answer, without the labels that the intent prescribes.

    >>> pieces("car: 5 min; foot: 33 min", "Answer as car: 1 min; foot: 2 min"), pieces("Ann Lee > Bo", "")
    (['5 min', '33 min'], ['Ann Lee', 'Bo'])
    """
    items = re.split(r"\s?[;\n]\s?", answer) if ";" in answer or "\n" in answer else _BETWEEN_ITEMS.split(answer)
    parts = []
    for part in (part.strip() for item in items for part in item.split(" > ")):
        label, colon, rest = part.partition(": ")  # a label from the intent is omitted, any other label is a separate piece
        parts += [part] if not colon else [rest] if plain(label) in plain(intent) else [label, rest]
    return [piece for piece in parts if piece.strip(_MARKS)]


def unsupported_answers(task: Task, observed: ObservedText) -> list[str]:
    """Return a problem for each piece of a task's answer that no page contains and that no declared ground explains."""
    references: Mapping[str, Any] = (task.eval.get("reference_answers") or {}) if "string_match" in task.eval_types else {}
    required = (value for name, value in references.items() if name != "must_exclude")
    return [
        problem
        for text in (text for value in required for text in ([value] if isinstance(value, str) else value))
        if not any(not list(_unsupported_pieces(choice, task, observed)) for choice in text.split(" |OR| "))
        for problem in _unsupported_pieces(text.split(" |OR| ")[0], task, observed)
    ]


def _unsupported_pieces(answer: str, task: Task, observed: ObservedText) -> Iterator[str]:
    if answer not in task.grounds and answer not in _WORD_ANSWERS and observed.has(answer):
        return
    parts = [answer] if answer in task.grounds else pieces(answer, task.intent)
    for piece in parts:
        ground = task.grounds.get(piece)
        if ground is not None:
            yield from (f"{piece!r}: {problem}" for problem in _ground_problems(piece, ground, observed, task.intent))
        elif piece in _WORD_ANSWERS:
            yield f"{piece!r} has no entry in the task's grounds, which must explain each yes, no and N/A"
        elif not observed.has(piece):
            yield f"{piece!r} is on no page of the solution, and the task's grounds do not declare its computation"


def _ground_problems(piece: str, ground: Ground, observed: ObservedText, intent: str) -> Iterator[str]:
    """Yield the problems of a declared ground."""
    if ground.operation == "pictured":  # `picture_problems` proves it with other pictures
        hidden = [name for name in ground.operands if f"/pictures/{name}.png" not in observed.pictures]
        if not ground.operands:
            yield "its operation 'pictured' names no picture"
        yield from (f"the picture {name} is on no page of the solution" for name in hidden)
        return
    lacks = ground.operation == "lacks"
    operands = (*ground.operands, *(() if lacks else ground.away))
    unseen = [operand for operand in operands if not observed.has(operand)]
    forbidden = [text for text in ground.away if lacks and observed.has_text(text)]
    if unseen:
        yield f"the operand {unseen[0]!r} of its operation {ground.operation!r} is on no page of the solution"
    elif forbidden:
        yield f"a page of the solution has {forbidden[0]!r}, which its operation 'lacks' excludes"
    elif not _is_derived(piece, ground, intent):
        yield f"is not the result of its operation {ground.operation!r} on {list(operands)}"


def _is_derived(piece: str, ground: Ground, intent: str) -> bool:
    """Repeat an operation and return True if its result is the piece of the answer."""
    if ground.operation in ("says", "lacks"):
        return piece in _WORD_ANSWERS and bool(ground.operands)
    if ground.operation == "joined":
        rest = reduce(lambda text, operand: text.replace(plain(operand), " "), ground.operands, plain(piece))
        return bool(ground.operands) and all(word in plain(intent).split() for word in rest.split())
    expected = value_of(piece)
    if ground.operation == "count":
        return expected == ("number", len({plain(operand) for operand in ground.operands}))
    addends, subtrahends = ([value_of(operand) for operand in side] for side in (ground.operands, ground.away))
    if expected is None or any(value is None or value[0] != expected[0] for value in (*addends, *subtrahends)):
        return False
    result = sum(value[1] for value in addends if value) - sum(value[1] for value in subtrahends if value)
    return abs((abs(result) if ground.operation == "difference" else result) - expected[1]) < _TOLERANCE
