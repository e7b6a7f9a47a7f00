"""Candidates as arrays: the texts around each of them, and numbers that say what it has to do with the goal and with what was done.

Texts are interned once each, so a row of candidates is a row of text ids; what is known of a page alone, and of a page and a goal, is
kept for when they come again.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence, Sized
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy
from numpy.typing import NDArray

from agents.models.pointer.goals import Goal, date_of, read_goal, words_of
from agents.models.pointer.pages import Control, Page, read_page
from agents.models.pointer.pieces import (
    Piece,
    Table,
    amount_of,
    computed_pieces,
    page_pieces,
    pieces_across,
    shape_of,
    tables_of,
)

Floats = NDArray[numpy.float32]
Ids = NDArray[numpy.int32]
T = TypeVar("T")

KINDS = (
    "link", "button", "box", "type", "search", "area", "option", "done", "n/a", "answer", "back", "up", "down", "tab",
)  # fmt: skip
SOURCES = (
    "goal", "page", "memory", "field", "constant", "count", "sum", "list", "difference", "sum of two", "count over pages", "end",
)  # fmt: skip
CONSTANTS = (
    "N/A",
    "Yes",
    "No",
    ", ",
    "; ",
    "\n",
    " ",
    "/",
    " > ",
    "- ",
    "\n- ",
    ": ",
    " near ",
    " in ",
    " and ",
    "README.md",
    "List of ",
)
JOINERS = frozenset(text for text in CONSTANTS if not text.isalpha() and text not in ("N/A", "README.md", "List of "))

_MATCH = 8
_EXTREMES = 18
_WANTED = 9
_RANKS = 7
ACT_SLOTS, ACT_NUMBERS = 9, len(KINDS) + 4 * _MATCH + 4 + _EXTREMES + _WANTED + 14 + _RANKS
PIECE_SLOTS, PIECE_NUMBERS = 8, len(SOURCES) + 4 + _EXTREMES + _WANTED + 2 * _MATCH + 4 * 3 + 15
CONTEXT_SLOTS, CONTEXT_NUMBERS = 9, 16
_MATCHED = [0, 3, 1, 4, 5, 6]  # the slots of a piece that are compared with the goal
_NO_MATCH = (0.0,) * _MATCH
_KIND_PLACES = {kind: place for place, kind in enumerate(KINDS)}
_SOURCE_PLACES = {source: place for place, source in enumerate(SOURCES)}
_LONGEST_OWN = 120  # characters of a piece whose words are read
_MONEY = re.compile(r"\$(\d[\d,]*(?:\.\d\d)?)")
_COUNT = re.compile(r"\d\.\d \((\d+)\)")  # of ratings
_POINTS = re.compile(r"(-?(?<!\d)\d+) points?\b")
_LONGEST_LINE = 160  # characters of a line beside a control's own
_LARGEST_MEMORY = 1_500  # pieces of earlier pages
_LARGEST_PAGE = 500  # of them of one page
_ADDRESSES = 3  # the first pieces of each page, which are of its address
_OLDEST = 14  # pages that are remembered


class Texts:
    """Numbers for texts: each text has one, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.known: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        """Return the number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.known)
            self.known.append(text)
        return number

    def all(self, texts: Iterable[str]) -> list[int]:
        """Return the numbers of texts."""
        known = self._numbers.get
        return [self(text) if (number := known(text)) is None else number for text in texts]


def distinct(numbers: NDArray[Any], limit: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the distinct numbers in the order of their first appearance, and the place of each number among them.

    All numbers are less than `limit`.
    """
    place = numpy.empty(limit, numpy.int64)  # only what the numbers name is written and read
    order = numpy.arange(len(numbers))
    place[numbers[::-1]] = order[::-1]  # of equal indices, the last assignment remains
    unique = numbers[place[numbers] == order]
    place[unique] = order[: len(unique)]
    return unique.astype(numpy.int64), place[numbers]


class Cache:
    """The newest values of functions, by key, of at most so many megabytes together."""

    def __init__(self, megabytes: float) -> None:
        self._values: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._most = int(megabytes * 1e6)
        self.size = 0  # bytes, as `_size_of` estimates them

    def __len__(self) -> int:
        return len(self._values)

    def __call__(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value of the key, made if it is not kept."""
        kept = self._values.get(key)
        if kept is not None:
            self._values.move_to_end(key)
            found: T = kept[0]
            return found
        made = make()
        size = _size_of(made) + _size_of(key)
        self._values[key] = made, size
        self.size += size
        while self.size > self._most and self._values:
            self.size -= self._values.popitem(last=False)[1][1]
        return made


def _size_of(value: Any) -> int:
    """Return about how many bytes a value takes: its arrays and texts, and an allowance for each other object."""
    if isinstance(value, numpy.ndarray):
        return int(value.nbytes) + 120
    if isinstance(value, str):
        return len(value) + 60
    if isinstance(value, tuple) and len(value) < 12:
        return 60 + sum(map(_size_of, value))
    return 60 + 100 * len(value) if isinstance(value, Sized) else 60


class Act(NamedTuple):
    """Something that can be done; where it takes a text, that is chosen next."""

    kind: str
    address: str = ""
    label: str = ""
    argument: str = ""

    @property
    def takes_text(self) -> bool:
        """Whether a text is to be built for it."""
        return self.kind in ("type", "search", "area", "answer")


class Rows(NamedTuple):
    """Candidates as arrays: text ids (N, slots) and numbers (N, features)."""

    slots: Ids
    numbers: Floats


class _Frame(NamedTuple):
    """What is known of the candidates of a page without a goal."""

    slots: Ids
    numbers: Floats
    lines: Ids  # the line of each, -1 for none
    extremes: Floats  # by line
    ranks: Ids  # of acts, among those that are alike


_MOST_TEXTS = 300_000  # that a reader keeps before another takes its place
_MOST_MATCHES = 200_000  # of texts with goals, that are kept


class Reader:
    """Makes arrays of pages, goals and histories, and keeps what comes again: arrays of at most `kept_mb` megabytes.

    Beside them it keeps texts, which grow with what is read (`renewed` says when they are too many), and how some 200,000 of them
    stand in goals.
    """

    def __init__(self, kept_mb: float = 256) -> None:
        self.texts = Texts()
        self.questions = Cache(kept_mb / 2)  # of sessions, by what was seen and done before
        self.matched = 0  # texts of `_matches`
        self._kept_mb = kept_mb
        self._pages = Cache(kept_mb / 8)  # what is known of a page alone
        self._rows = Cache(kept_mb * 3 / 8)  # what is known of a page and a goal
        self._matches: dict[str, dict[int, tuple[float, ...]]] = {}  # by goal and text

    @property
    def kept(self) -> int:
        """About how many bytes the arrays take that are kept."""
        return self.questions.size + self._pages.size + self._rows.size

    def renewed(self) -> "Reader":
        """Return the reader, or a new one if this one keeps very many texts. What is read does not depend on it."""
        return self if len(self.texts.known) < _MOST_TEXTS else Reader(self._kept_mb)

    # What can be done.

    def acts(self, goal_text: str, text: str) -> tuple[tuple[Act, ...], Rows]:
        """Return the acts that a page offers, and their rows; the last numbers of each row are left for its history."""
        return self._rows(("acts", goal_text, text), lambda: self._make_acts(goal_text, text))

    def _make_acts(self, goal_text: str, text: str) -> tuple[tuple[Act, ...], Rows]:
        acts, frame = self._pages(("acts", text), lambda: self._act_frame(text))
        goal = read_goal(goal_text)
        slots = frame.slots.copy()
        labels, lines, above, below = self.match(goal, slots[:, [0, 1, 7, 8]].T)
        known = self.texts.known
        for column, place, around in ((5, 0, _around), (6, 1, _around_name)):
            unique, inverse = distinct(slots[:, place], len(known))
            slots[:, column] = numpy.array(self.texts.all(around(goal, known[number]) for number in unique), numpy.int32)[
                inverse
            ]
        best = numpy.stack(
            [
                (labels[:, 0] >= labels[:, 0].max() - 1e-6) & (labels[:, 0] > 0),
                (labels[:, 5] >= labels[:, 5].max() - 1e-6) & (labels[:, 5] > 0),
                (lines[:, 5] >= lines[:, 5].max() - 1e-6) & (lines[:, 5] > 0),
                (labels[:, 1] >= labels[:, 1].max() - 1e-6) & (labels[:, 1] > 0),
            ],
            axis=1,
        ).astype(numpy.float32)
        extremes = _take(frame.extremes, frame.lines)
        wanted = _take(self._wanted(goal, text), frame.lines)
        ranks = (frame.ranks[:, None] == numpy.arange(1, _RANKS)).astype(numpy.float32)
        is_ranked = (frame.ranks == goal.ordinal)[:, None].astype(numpy.float32)
        history = numpy.zeros((len(acts), 8), numpy.float32)
        parts = [frame.numbers, labels, lines, above, below, best, extremes, wanted, ranks, is_ranked, history]
        return acts, Rows(slots, numpy.concatenate(parts, axis=1))

    def _act_frame(self, text: str) -> tuple[tuple[Act, ...], _Frame]:
        page = read_page(text)
        acts: list[Act] = []
        rows: list[tuple[str, ...]] = []
        numbers: list[tuple[float, ...]] = []
        lines: list[int] = []
        ranked: list[int] = []
        seen: Counter[tuple[str, str]] = Counter()
        ranks: Counter[str] = Counter()
        alikes: Counter[tuple[str, str | bool]] = Counter()
        labels = Counter(control.label for control in page.controls)
        beside: dict[int, tuple[str, str]] = {}
        field_number = 0
        for number_of, control in enumerate(page.controls):
            if control.is_disabled:
                continue
            line = page.lines[control.line]
            if control.line not in beside:
                beside[control.line] = _beside(page, control.line)
            for kind, argument, is_so in _uses_of(control):
                seen[kind, control.label] += 1
                ranks[kind] += 1
                acts.append(Act(kind, control.address, control.label, argument))
                named, other = (argument, control.label) if kind == "option" else (control.label, control.value[:100])
                rows.append((named, line.text, line.heading, other, f"#{kind} {named}", "", "", *beside[control.line]))
                alike = (kind, named.partition(" ")[0] if kind == "button" else line.first_control == number_of)
                alikes[alike] += 1
                ranked.append(alikes[alike])
                again, rank = 1 / seen[kind, control.label], 1 / ranks[kind]
                numbers.append((is_so, bool(control.value), again, rank, 1 / labels[control.label], field_number / 10))
                lines.append(control.line)
            field_number += control.use in ("text", "area")
        extra = [Act("done"), Act("n/a"), Act("answer"), Act("back")]
        extra += [Act("up")] * page.has_above + [Act("down")] * page.has_below
        extra += [
            Act("tab", label=title, argument=str(number)) for number, (title, active) in enumerate(page.tabs) if not active
        ]
        acts += extra
        rows += [(act.label, "", "", act.argument, f"#{act.kind} {act.label}", "", "", "", "") for act in extra]
        numbers += [(0.0, 0.0, 1.0, 1.0, 1.0, 0.0)] * len(extra)
        lines += [-1] * len(extra)
        ranked += [0] * len(extra)
        kinds = numpy.array([_KIND_PLACES[act.kind] for act in acts])
        is_kind = (kinds[:, None] == numpy.arange(len(KINDS))).astype(numpy.float32)
        return tuple(acts), _Frame(
            numpy.array(self.texts.all(chain.from_iterable(rows)), numpy.int32).reshape(-1, ACT_SLOTS),
            numpy.concatenate([is_kind, numpy.array(numbers, numpy.float32)], axis=1),
            numpy.array(lines, numpy.int32),
            self._extremes(text),
            numpy.array(ranked, numpy.int32),
        )

    # What a text may be made of.

    def pieces(self, goal_text: str, texts: Sequence[str], field: str) -> tuple[list[str], Rows, Ids, Ids]:
        """Return the pieces for a field: texts, rows, and the line and page of each; `texts` are the episode's pages, newest last.

        The last numbers of each row are left for what has been chosen so far.
        """
        newest = texts[-1]
        earlier = list(dict.fromkeys(text for text in reversed(texts) if text != newest))[: _OLDEST - 1]
        found: list[str] = []
        blocks: list[Rows] = []
        lines: list[Ids] = []
        pages: list[Ids] = []
        room = _LARGEST_MEMORY
        made = [self._page_rows(goal_text, text) for text in (newest, *earlier)]
        known = numpy.zeros(len(self.texts.known), bool)  # whether a line was read on a newer page
        for age, (own, rows, places) in enumerate(made):
            if age:
                ids = rows.slots[:, 3]
                keep = (ids == 0) | ~known[ids]
                keep[:_ADDRESSES] = True
                chosen = numpy.flatnonzero(keep)[: _ADDRESSES + min(room, _LARGEST_PAGE)]
                room -= len(chosen) - _ADDRESSES
                numbers = rows.numbers[chosen]
                is_page = numbers[:, _SOURCE_PLACES["page"]]
                numbers[:, _SOURCE_PLACES["memory"]] = is_page
                numbers[:, _SOURCE_PLACES["page"]] = 0
                numbers[:, len(SOURCES)] = age / _OLDEST
                found += [own[place] for place in chosen.tolist()]
                rows, places = Rows(rows.slots[chosen], numbers), places[chosen]  # noqa: PLW2901 - those that are kept
            else:
                found += own
            known[rows.slots[:, 3]] = True
            blocks.append(rows)
            lines.append(places)
            pages.append(numpy.full(len(places), age, numpy.int32))
        for own, rows in (
            self._goal_and_constants(goal_text, field),
            self._across(goal_text, tuple(reversed([newest, *earlier]))),
        ):
            found += own
            blocks.append(rows)
            places = numpy.full(len(own), -9, numpy.int32)
            spans = read_goal(goal_text).spans
            if len(own) == len(spans) + len(CONSTANTS):
                places[: len(spans)] = [span.place for span in spans]
            lines.append(places)
            pages.append(numpy.full(len(own), -9, numpy.int32))
        slots = numpy.concatenate([rows.slots for rows in blocks])
        numbers = numpy.concatenate([rows.numbers for rows in blocks])
        return found, Rows(slots, numbers), numpy.concatenate(lines), numpy.concatenate(pages)

    def _page_rows(self, goal_text: str, text: str) -> tuple[list[str], Rows, Ids]:
        return self._rows(("pieces", goal_text, text), lambda: self._make_page_rows(goal_text, text))

    def _make_page_rows(self, goal_text: str, text: str) -> tuple[list[str], Rows, Ids]:
        goal = read_goal(goal_text)
        own, frame = self._pages(("pieces", text), lambda: self._piece_frame(page_pieces(text), text))
        rows = self._with_goal(goal, frame, self._wanted(goal, text))
        computed = computed_pieces(goal_text, text)
        _, more = self._piece_frame(computed, text)
        extra = self._with_goal(goal, more, numpy.zeros((0, _WANTED), numpy.float32))
        return (
            [*own, *(piece.text for piece in computed)],
            Rows(numpy.concatenate([rows.slots, extra.slots]), numpy.concatenate([rows.numbers, extra.numbers])),
            numpy.concatenate([frame.lines, more.lines]),
        )

    def _goal_and_constants(self, goal_text: str, field: str) -> tuple[list[str], Rows]:
        return self._rows(("field", goal_text, field), lambda: self._make_field_rows(goal_text, field))

    def _make_field_rows(self, goal_text: str, field: str) -> tuple[list[str], Rows]:
        own, rows, beside = self._rows(("goal", goal_text), lambda: self._make_goal_rows(goal_text))
        wanted, numbers = set(words_of(field)), rows.numbers.copy()
        for place, (before, after) in enumerate(beside):
            numbers[place, -12] = float(not wanted.isdisjoint(before))
            numbers[place, -11] = float(not wanted.isdisjoint(after))
        return own, Rows(rows.slots, numbers)

    def _make_goal_rows(self, goal_text: str) -> tuple[list[str], Rows, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
        """Return spans of the goal and constants, their rows without a field, and the words before and after each span."""
        goal = read_goal(goal_text)
        pieces = [Piece(span.text, "goal", span.way, span.before, span.after) for span in goal.spans]
        own, frame = self._piece_frame((*pieces, *(Piece(text, "constant", "constant") for text in CONSTANTS)), "")
        rows = self._with_goal(goal, frame, numpy.zeros((0, _WANTED), numpy.float32))
        numbers = rows.numbers
        beside: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for place, span in enumerate(goal.spans):
            beside.append((words_of(goal.text[max(0, span.place - 40) : span.place])[-4:], words_of(span.after)))
            inside = words_of(span.text)
            numbers[place, -10] = span.place / max(len(goal.text), 1)
            end = span.place + len(span.text)
            following = goal.text[end : end + 4].strip(" ,")
            numbers[place, -9] = float(bool(following[:1].isupper() or following[:1].isdigit()))
            preceding = goal.text[: span.place].split()[-1:]
            numbers[place, -8] = float(bool(preceding and preceding[0][:1].isupper() and span.place > len(preceding[0]) + 1))
            numbers[place, -7] = sum(word in goal.names for word in inside) / max(len(inside), 1)
            numbers[place, -13] = float((span.place, end) in goal.runs)
            numbers[place, -14] = float(any(start == span.place for start, _ in goal.runs))
            numbers[place, -15] = float(any(stop == end for _, stop in goal.runs))
            numbers[place, -6] = float(end < len(goal.text) and goal.text[end] in '.?!",;:')
        return own, rows, beside

    def _across(self, goal_text: str, texts: tuple[str, ...]) -> tuple[list[str], Rows]:
        return self._rows(("across", goal_text, texts), lambda: self._make_across(goal_text, texts))

    def _make_across(self, goal_text: str, texts: tuple[str, ...]) -> tuple[list[str], Rows]:
        pieces = pieces_across(goal_text, texts)[:60]
        own, frame = self._piece_frame(pieces, "")
        return own, self._with_goal(read_goal(goal_text), frame, numpy.zeros((0, _WANTED), numpy.float32))

    def _piece_frame(self, pieces: Sequence[Piece], text: str) -> tuple[list[str], _Frame]:
        count, number_of = len(pieces), self.texts.all
        marks: dict[tuple[str, str, str], int] = {}
        kinds: list[int] = []
        for piece in pieces:
            named = (piece.source, piece.way, shape_of(piece.text))
            mark = marks.get(named)
            if mark is None:
                mark = marks[named] = self.texts(_mark_of(*named))
            kinds.append(mark)
        texts = [piece.text for piece in pieces]
        slots = numpy.zeros((count, PIECE_SLOTS), numpy.int32)
        slots[:, 0] = number_of(text if len(text) < _LONGEST_OWN else "" for text in texts)
        for place, column in enumerate(("left", "right", "line", "above", "heading", "column"), 1):
            slots[:, place] = number_of(map(attrgetter(column), pieces))
        slots[:, 7] = kinds
        numbers = numpy.zeros((count, len(SOURCES) + 4), numpy.float32)
        sources = [_SOURCE_PLACES["list" if piece.source.startswith("list") else piece.source] for piece in pieces]
        numbers[numpy.arange(count), sources] = 1.0
        numbers[:, -3] = numpy.minimum([len(text) for text in texts], 80) / 80
        numbers[:, -2] = numpy.minimum([text.count(" ") + 1 for text in texts], 12) / 12
        numbers[:, -1] = [piece.way == "whole" for piece in pieces]
        lines = numpy.array([piece.number for piece in pieces], numpy.int32)
        extremes = self._extremes(text) if text else numpy.zeros((0, _EXTREMES), numpy.float32)
        return texts, _Frame(slots, numbers, lines, extremes, lines)

    def _with_goal(self, goal: Goal, frame: _Frame, wanted: Floats) -> Rows:
        slots = frame.slots
        own, line, *others = self.match(goal, slots[:, _MATCHED].T)
        parts = [frame.numbers, _take(frame.extremes, frame.lines), _take(wanted, frame.lines), own, line]
        parts += [other[:, :3] for other in others]
        parts.append(numpy.zeros((len(slots), 15), numpy.float32))
        return Rows(slots, numpy.concatenate(parts, axis=1))

    # What texts have to do with the goal.

    def match(self, goal: Goal, ids: Ids) -> Floats:
        """Return for each text id, of any shape, how its words stand in the goal."""
        if self.matched > _MOST_MATCHES:
            self._matches.clear()
            self.matched = 0
        known = self._matches.setdefault(goal.text, {})
        before = len(known)
        unique, inverse = distinct(ids.ravel(), len(self.texts.known))
        rows = []
        for number in unique.tolist():
            found = known.get(number)
            if found is None:
                found = known[number] = _match(goal, self.texts.known[number])
            rows.append(found)
        self.matched += len(known) - before
        table = numpy.array(rows, numpy.float32).reshape(-1, _MATCH)
        return table[inverse.reshape(ids.shape)]

    def _extremes(self, text: str) -> Floats:
        return self._pages(("extremes", text), lambda: _extremes(read_page(text), tables_of(text)))

    def _wanted(self, goal: Goal, text: str) -> Floats:
        """Return for each line of a page whether its dates and amounts are those of the goal."""
        page = read_page(text)
        table = numpy.zeros((len(page.lines), _WANTED), numpy.float32)
        named: list[tuple[float, int]] = []
        largest = max(goal.numbers, default=0.0)
        best: tuple[float, int] | None = None
        first_month = True
        for number, line in enumerate(page.lines):
            date = date_of(line.text) if goal.months or goal.days else None
            if date:
                table[number, 0] = date[:2] in goal.months
                table[number, 1] = date in goal.days
                if date[:2] in goal.months and first_month:
                    table[number, 2], first_month = 1.0, False
            at = line.text.rfind("$")
            amount = amount_of(line.text[at:].split(" ")[0]) if at >= 0 else None
            if amount is not None and goal.names and not goal.names.isdisjoint(words_of(line.text)):
                named.append((amount, number))
            if amount is not None and largest:
                table[number, 3] = amount <= largest
                table[number, 4] = amount in goal.numbers
                if amount <= largest and (best is None or amount > best[0]):
                    best = (amount, number)
            if line.is_row and goal.numbers:
                cells = [amount_of(segment.text) for segment in line.segments if segment.column >= 0]
                table[number, 5] = any(cell is not None and cell in goal.numbers for cell in cells)
        if best:
            table[best[1], 6] = 1.0
        if named:
            for amount, number in named:
                table[number, 7] = float(amount == max(named)[0])
                table[number, 8] = float(amount == min(named)[0])
        return table

    def goal_presence(self, goal_text: str, text: str) -> tuple[float, float, float, float]:
        """Return how much of the goal stands on a page: of its names, of these in one line, whether a whole name, and a quotation."""
        return self._rows(("presence", goal_text, text), lambda: _presence(read_goal(goal_text), read_page(text)))


class SharedReader:
    """The reader of a policy and of the learner in its process, so that a page is read once."""

    def __init__(self) -> None:
        self.current = Reader()

    def renew(self) -> None:
        """Replace a reader that keeps very many texts. Whoever still uses it keeps it."""
        self.current = self.current.renewed()


def _presence(goal: Goal, page: Page) -> tuple[float, float, float, float]:
    seen: set[str] = set()
    most = 0
    for line in page.lines:
        own = goal.names.intersection(words_of(line.text))
        seen |= own
        most = max(most, len(own))
    names = [goal.text[start:end] for start, end in goal.runs if end - start > 6]
    count = max(len(goal.names), 1)
    return (
        len(seen) / count,
        most / count,
        float(any(name in line.text for line in page.lines for name in names)),
        float(any(quotation in line.text for quotation in goal.quotations for line in page.lines)),
    )


def _beside(page: Page, number: int) -> tuple[str, str]:
    """Return the texts of the line above a line and of the four below."""
    above = page.lines[number - 1].text if number else ""
    below = " ".join(line.text for line in page.lines[number + 1 : number + 5])
    return above[:_LONGEST_LINE], below[: 2 * _LONGEST_LINE]


def _mark_of(source: str, way: str, shape: str) -> str:
    """Return the marks of a piece: its source, how it was cut out, and what it looks like."""
    return f"#{source} #{way} #{shape}".replace(" #", "#").replace(" ", "_").replace("#", " #").strip()


def _uses_of(control: Control) -> list[tuple[str, str, bool]]:
    """Return the ways of using a control: kind, argument, and whether it is so already."""
    if control.use == "select":
        return [("option", option.text, option.chosen) for option in control.options]
    if control.use == "text":
        return [("type", "", False), ("search", "", False)]
    if control.use == "area":
        return [("area", "", False)]
    return [(control.use, "", control.is_on)]


def _take(table: Floats, lines: Ids) -> Floats:
    """Return the rows of a table by line; zeros for -1."""
    if not len(table):
        return numpy.zeros((len(lines), table.shape[1]), numpy.float32)
    found = table[numpy.maximum(lines, 0)]
    found[lines < 0] = 0
    return found


def _match(goal: Goal, text: str) -> tuple[float, ...]:
    words = words_of(text)
    if goal.words.isdisjoint(words):
        return _NO_MATCH
    own = set(words)
    common = own & goal.words
    named = own & goal.names
    phrase = f" {' '.join(words)} "
    is_in = phrase in goal.lowered
    return (
        len(common) / len(own),
        len(named) / max(len(goal.names), 1),
        float(is_in),
        float(is_in and len(words) > 1),
        min(len(named), 4) / 4,
        2 * len(common) / (len(own) + len(goal.words)),
        float(text in goal.quotations),
        float(bool(named) and any(f" {name} " in phrase for name in goal.names_as_said)),
    )


def _around(goal: Goal, text: str) -> str:
    """Return the words of the goal before and after a text, where it stands in it."""
    plain = " ".join(words_of(text))
    at = goal.lowered.find(f" {plain} ") if plain else -1
    if at < 0:
        return ""
    before, after = goal.lowered[:at].split()[-2:], goal.lowered[at + len(plain) + 1 :].split()[:1]
    return " ".join(["#before_" + word for word in before] + ["#after_" + word for word in after])


def _around_name(goal: Goal, line: str) -> str:
    """Return the words of the goal before the longest of its names that stands in a line."""
    plain = f" {' '.join(words_of(line))} "
    found = max((name for name in goal.names_as_said if f" {name} " in plain), key=len, default="")
    return _around(goal, found)


def _extremes(page: Page, tables: Sequence[Table]) -> Floats:
    """Return for each line of a page its place among the rows of its table, and where its amounts are the largest or smallest."""
    table = numpy.zeros((max(len(page.lines), 1), _EXTREMES), numpy.float32)
    for each in tables:
        numbers = [row.number for row in each.rows]
        count = len(numbers)
        for place, number in enumerate(numbers):
            if place < 5:
                table[number, place] = 1.0
            table[number, 5] = float(place == count - 1)
            table[number, 6] = min(count, 20) / 20
        if count < 2:
            continue
        figures: list[list[float | None]] = [
            [
                amount_of(row.cells[column]) if column < len(row.cells) and row.cells[column][:1] in "$0123456789-(" else None
                for row in each.rows
            ]
            for column in range(len(each.columns))
        ]
        is_first = True
        for amounts in figures:
            known = [amount for amount in amounts if amount is not None]
            if len(known) < count or len(set(known)) < 2:
                continue
            largest, smallest = max(known), min(known)
            for number, amount in zip(numbers, known, strict=True):
                at = 7 if is_first else 9
                table[number, at] = max(table[number, at], float(amount == largest))
                table[number, at + 1] = max(table[number, at + 1], float(amount == smallest))
            is_first = False
        dates = [next((date for cell in row.cells if (date := date_of(cell))), None) for row in each.rows]
        told = [date for date in dates if date]
        if told:
            newest, oldest = max(told), min(told)
            for number, date in zip(numbers, dates, strict=True):
                table[number, 11] = float(date == newest)
                table[number, 12] = float(date == oldest)
    for at, pattern in ((13, _MONEY), (15, _COUNT), (16, _POINTS)):
        found: list[tuple[float, int]] = []
        for number, line in enumerate(page.lines):
            if line.controls and " - $" not in line.text and (match := pattern.search(line.text)):
                found.append((float(match[1].replace(",", "")), number))
        if len(found) > 1:
            largest, smallest = max(found)[0], min(found)[0]
            for amount, number in found:
                table[number, at] = float(amount == largest)
                if at == 13:
                    table[number, 14] = float(amount == smallest)
    return table
