"""Checks that an answer stands on a page that the solution saw, or is a declared computation over values that do.

An answer is taken to pieces, such as the names of a list. A piece stands on a page as a text, or by its value where the page
writes an amount, a number, a date, a distance or a duration in another way. What stands nowhere must be computed: the task says
how and from what (`Task.grounds`), the operands must stand on pages, and the operation is done again.
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

_SAID = ("Yes", "No", "N/A")  # answers that pages give in other words
_TOLERANCE = 1e-6
_BETWEEN_ITEMS = re.compile(r", (?!\d{4}\b)(?:and )?| and ")
_MARKS = " .!?,;:\"'`*"

Value = tuple[str, float]
"""A kind, and a number of that kind."""


class Sightings:
    """The texts that were seen along a solution."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._shown: list[str] = []
        self._values: set[Value] = set()
        self.looks = 0
        self.addresses: set[str] = set()
        self.pictures: set[str] = set()  # by their addresses

    def add(self, page: Page, shown: str = "") -> None:
        """Take in a page: what a person reads on it, and what an agent is `shown` of it, by default its beginning."""
        self.looks += 1
        self.addresses.add(page.url)
        self.pictures.update(image.get("src", "") for image in page.root.iter("img"))
        observation = shown or observe(page).text
        text = f"{visible_text(page.root)}\n{observation}"
        self._shown.append(plain(observation))
        self._texts.append(f" {plain(text)} ")
        self._values.update(values(text))

    def has(self, piece: str) -> bool:
        """Say whether a piece of an answer stands on one of the pages, as a text or by its value."""
        value = value_of(piece)
        if value is not None and value in self._values:
            return True
        return not _COUNT.fullmatch(piece.strip()) and self.has_text(piece)  # the 7 of "7.5" and of "May 7" is not 7

    def has_text(self, text: str) -> bool:
        """Say whether a text stands on one of the pages, as whole words."""
        return _stands(text, self._texts)

    def has_shown(self, text: str) -> bool:
        """Say whether a text stands in one of the observations, as whole words. Observations cut what is very long."""
        return _stands(text, self._shown)


def _stands(text: str, texts: Iterable[str]) -> bool:
    wanted = plain(text)
    pattern = re.compile(rf"(?<![^\W_]){re.escape(wanted)}(?![^\W_])")
    return bool(wanted) and any(wanted in text and pattern.search(text) for text in texts)


def plain(text: str) -> str:
    """Return a text in lower case with single blanks."""
    return " ".join(text.lower().split())


def values(text: str) -> Iterator[Value]:
    """Yield the values that a text states."""
    for number in _NUMBER.finditer(_NAMED_DAY.sub(r" \3 ", text)):  # a day is no number, its year is
        yield "number", round(float(number[1].replace(",", "") + (number[2] or "")), 6)
    for measure in _MEASURE.finditer(text):
        yield _in_base_unit(measure)
    end, added = -1, 0.0
    for measure in _MEASURE.finditer(text):  # 1 h 20 min is one duration
        kind, amount = _in_base_unit(measure)
        if end >= 0 and kind == "s" and not text[end : measure.start()].strip(" ,"):
            added += amount
            yield "s", added
        else:
            added = amount
        end = measure.end() if kind == "s" else -1
    for found in _NAMED_DAY.finditer(text):
        yield from _day(int(found[3]), _MONTHS.index(found[1].lower()) + 1, int(found[2]))
    for found in _DAY.finditer(text):
        if found[1]:
            yield from _day(int(found[1]), int(found[2]), int(found[3]))
        else:
            yield from _day(int(found[6]) + (2000 if len(found[6]) == 2 else 0), int(found[4]), int(found[5]))


def _in_base_unit(measure: re.Match[str]) -> Value:
    kind, factor = _IN_UNIT[measure[2]]
    return kind, round(float(measure[1].replace(",", "")) * factor, 3)


def _day(year: int, month: int, day: int) -> Iterator[Value]:
    try:
        yield "date", float(date(year, month, day).toordinal())
    except ValueError:
        return


def value_of(piece: str) -> Value | None:
    """Return the value that a piece of an answer is, and nothing else."""
    piece = piece.strip().rstrip(".")
    found = list(values(piece))
    if _NUMBER.fullmatch(piece) or _NAMED_DAY.fullmatch(piece) or _DAY.fullmatch(piece):
        return found[-1] if found else None
    return found[-1] if found and not _MEASURE.sub("", piece).strip(" ,") else None


def pieces(answer: str, intent: str) -> list[str]:
    """Return the pieces of an answer, without the labels that the intent prescribes.

    >>> pieces("car: 5 min; foot: 33 min", "Answer as car: 1 min; foot: 2 min"), pieces("Ann Lee > Bo", "")
    (['5 min', '33 min'], ['Ann Lee', 'Bo'])
    """
    items = re.split(r"\s?[;\n]\s?", answer) if ";" in answer or "\n" in answer else _BETWEEN_ITEMS.split(answer)
    found = []
    for part in (part.strip() for item in items for part in item.split(" > ")):
        label, colon, rest = part.partition(": ")  # a label that the intent has is left out, another is a piece of its own
        found += [part] if not colon else [rest] if plain(label) in plain(intent) else [label, rest]
    return [piece for piece in found if piece.strip(_MARKS)]


def groundless(task: Task, sightings: Sightings) -> list[str]:
    """Return what of a task's answer stands nowhere and follows from nothing, with what is wrong with it."""
    references: Mapping[str, Any] = (task.eval.get("reference_answers") or {}) if "string_match" in task.eval_types else {}
    wanted = (value for name, value in references.items() if name != "must_exclude")
    return [
        problem
        for text in (text for value in wanted for text in ([value] if isinstance(value, str) else value))
        if not any(not list(_groundless(choice, task, sightings)) for choice in text.split(" |OR| "))
        for problem in _groundless(text.split(" |OR| ")[0], task, sightings)
    ]


def _groundless(answer: str, task: Task, sightings: Sightings) -> Iterator[str]:
    if answer not in task.grounds and answer not in _SAID and sightings.has(answer):
        return
    parts = [answer] if answer in task.grounds else pieces(answer, task.intent)
    for piece in parts:
        ground = task.grounds.get(piece)
        if ground is not None:
            yield from (f"{piece!r}: {problem}" for problem in _shaky(piece, ground, sightings, task.intent))
        elif piece in _SAID:
            yield f"{piece!r} has no declared ground"
        elif not sightings.has(piece):
            yield f"{piece!r} stands on no page and is not declared to be computed"


def _shaky(piece: str, ground: Ground, sightings: Sightings, intent: str) -> Iterator[str]:
    """Yield what is wrong with a declared ground."""
    if ground.operation == "pictured":  # which other pictures prove (see `told`)
        hidden = [name for name in ground.operands if f"/pictures/{name}.png" not in sightings.pictures]
        yield from (f"the picture {name} is on no page" for name in hidden or ([] if ground.operands else ["of nothing"]))
        return
    lacks = ground.operation == "lacks"
    operands = (*ground.operands, *(() if lacks else ground.away))
    unseen = [operand for operand in operands if not sightings.has(operand)]
    seen = [text for text in ground.away if lacks and sightings.has_text(text)]
    if unseen:
        yield f"the operand {unseen[0]!r} of its {ground.operation} stands on no page"
    elif seen:
        yield f"a page has {seen[0]!r}, which must not be there"
    elif not _follows(piece, ground, intent):
        yield f"is not the {ground.operation} of {list(operands)}"


def _follows(piece: str, ground: Ground, intent: str) -> bool:
    """Do an operation again, and say whether it gives the piece of the answer."""
    if ground.operation in ("says", "lacks"):
        return piece in _SAID and bool(ground.operands)
    if ground.operation == "joined":
        rest = reduce(lambda text, operand: text.replace(plain(operand), " "), ground.operands, plain(piece))
        return bool(ground.operands) and all(word in plain(intent).split() for word in rest.split())
    wanted = value_of(piece)
    if ground.operation == "count":
        return wanted == ("number", len({plain(operand) for operand in ground.operands}))
    added, taken = ([value_of(operand) for operand in side] for side in (ground.operands, ground.away))
    if wanted is None or any(value is None or value[0] != wanted[0] for value in (*added, *taken)):
        return False
    result = sum(value[1] for value in added if value) - sum(value[1] for value in taken if value)
    return abs((abs(result) if ground.operation == "difference" else result) - wanted[1]) < _TOLERANCE
