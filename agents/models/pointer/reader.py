"""Candidates as arrays: the texts around each of them, and numbers that say what it has to do with the goal and with what was done.

Texts are interned once each, so a row of candidates is a row of text ids; what is known of a page alone, and of a page and a goal, is
kept for when they come again.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence, Sized
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy
from numpy.typing import NDArray

from agents.data.workflows import deed_of, names_of
from agents.models.pointer.computing import computed_pieces, pieces_across
from agents.models.pointer.goals import MATCH, Goal, around_name, around_text, match_of, read_goal, shape_of, words_of
from agents.models.pointer.memory import StepMemory
from agents.models.pointer.pages import (
    EXTREMES,
    WANTED,
    Control,
    Floats,
    Ids,
    Piece,
    beside_line,
    extremes_of,
    page_pieces,
    presence_of,
    read_page,
    tables_of,
    wanted_of,
)  # fmt: skip
from webarena_gym.actions import Action, Kind

KINDS = (
    "link", "button", "box", "type", "search", "area", "option", "done", "n/a", "answer", "back", "up", "down", "tab",
)  # fmt: skip
SOURCES = (
    "goal", "page", "memory", "field", "constant", "count", "sum", "list", "difference", "sum of two", "count over pages", "end",
)  # fmt: skip
CONSTANTS = (
    "N/A", "Yes", "No", ", ", "; ", "\n", " ", "/", " > ", "- ", "\n- ", ": ", " near ", " in ", " and ", "README.md", "List of ",
)  # fmt: skip
JOINERS = frozenset(text for text in CONSTANTS if not text.isalpha() and text not in ("N/A", "README.md", "List of "))
RANKS = 7
ACT_SLOTS, ACT_NUMBERS = 9, len(KINDS) + 4 * MATCH + 4 + EXTREMES + WANTED + 14 + RANKS
PIECE_SLOTS, PIECE_NUMBERS = 8, len(SOURCES) + 4 + EXTREMES + WANTED + 2 * MATCH + 4 * 3 + 15
CONTEXT_SLOTS, CONTEXT_NUMBERS = 9, 16
_MATCHED = [0, 3, 1, 4, 5, 6]  # the slots of a piece that are compared with the goal
_KIND_PLACES = {kind: place for place, kind in enumerate(KINDS)}
_SOURCE_PLACES = {source: place for place, source in enumerate(SOURCES)}
_LONGEST_OWN = 120  # characters of a piece whose words are read
_LARGEST_MEMORY = 1_500  # pieces of earlier pages
_LARGEST_PAGE = 500  # of them of one page
_ADDRESSES = 3  # the first pieces of each page, which are of its address
_OLDEST = 14  # pages that are remembered
_MOST_TEXTS = 300_000  # that a reader keeps before another takes its place
_MOST_MATCHES = 200_000  # of texts with goals, that are kept
_WORDS = {
    "option": "select {argument} in {label}", "type": "type into {label}", "search": "search in {label}", "area": "write into {label}",
    "done": "exit without an answer", "n/a": "exit with N/A", "answer": "exit with an answer", "back": "go back", "up": "scroll up",
    "down": "scroll down", "tab": "switch to tab {argument}",
}  # fmt: skip
T = TypeVar("T")


class Act(NamedTuple):
    """Something that can be done; where it takes a text, that is chosen next."""

    kind: str
    address: str = ""
    label: str = ""
    argument: str = ""

    @property
    def takes_text(self) -> bool:
        """True for an act whose text is built next."""
        return self.kind in ("type", "search", "area", "answer")


class Rows(NamedTuple):
    """Candidates as arrays: text ids (N, slots) and numbers (N, features)."""

    slots: Ids
    numbers: Floats


def uses_of(control: Control) -> list[tuple[str, str, bool]]:
    """Return the ways of using a control: kind, argument, and whether it is so already."""
    if control.use == "select":
        return [("option", *option) for option in control.options]
    if control.use == "text":
        return [("type", "", False), ("search", "", False)]
    if control.use == "area":
        return [("area", "", False)]
    return [(control.use, "", control.is_on)]


def make_action(act: Act, argument: str) -> Action:
    """Return the action of an act, with this text where it takes one."""
    if act.kind in ("done", "n/a", "answer"):
        return Action(Kind.EXIT, argument="N/A" if act.kind == "n/a" else argument)
    if act.kind in ("type", "area"):
        return Action(Kind.TYPE, act.address, argument)
    if act.kind == "search":
        return Action(Kind.SEARCH, act.address, argument)
    if act.kind == "option":
        return Action(Kind.SELECT, act.address, act.argument)
    if act.kind == "tab":
        return Action(Kind.SWITCH_TAB, argument=act.argument)
    plain = {"back": Kind.GO_BACKWARD, "up": Kind.SCROLL_UP, "down": Kind.SCROLL_DOWN}
    return Action(plain[act.kind]) if act.kind in plain else Action(Kind.CLICK, act.address)


def in_words(act: Act) -> str:
    """Return what an act does, for people.

    >>> in_words(Act("option", "7", "Size", "Large"))
    'select Large in Size'
    """
    return _WORDS.get(act.kind, "click {label}").format(label=act.label, argument=act.argument)


def action_of(act: Act) -> tuple[Action, str]:
    """Return the action of an act, with any text where it takes one, and the label of its element."""
    return make_action(act, act.kind if act.takes_text else ""), act.label


class StringTable:
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
    """Return the distinct numbers, all below `limit`, in the order of their first appearance, and the place of each among them."""
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


class _Frame(NamedTuple):
    """Arrays of the candidates of a page that do not depend on the goal."""

    slots: Ids
    numbers: Floats
    lines: Ids  # the line of each, -1 for none
    extremes: Floats  # by line
    ranks: Ids  # of acts, among those that are alike


class Reader:
    """Makes arrays of pages, goals and histories, and keeps what comes again: arrays of at most `kept_mb` megabytes.

    Beside them it keeps texts, which grow with what is read (`renewed` says when they are too many), and how some 200,000 of them
    stand in goals.
    """

    def __init__(self, kept_mb: float = 256, memory: StepMemory | None = None) -> None:
        self.texts = StringTable()
        self.memory = memory  # what questions recall steps of
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
        return self if len(self.texts.known) < _MOST_TEXTS else Reader(self._kept_mb, self.memory)

    # What can be done.

    def acts(self, goal_text: str, text: str) -> tuple[tuple[Act, ...], Rows]:
        """Return the acts that a page offers, and their rows; the last numbers of each row are left for its history."""
        return self._rows(("acts", goal_text, text), lambda: self._make_acts(goal_text, text))

    def offered(self, goal_text: str, text: str) -> Ids:
        """Return what the acts of a page do, as ids of the memory."""
        memory = self.memory
        assert memory is not None
        names, acts = names_of(goal_text), self.acts(goal_text, text)[0]
        return self._rows(("offered", goal_text, text), lambda: memory.offered(deed_of(*action_of(act), names) for act in acts))

    def _make_acts(self, goal_text: str, text: str) -> tuple[tuple[Act, ...], Rows]:
        acts, frame = self._pages(("acts", text), lambda: self._act_frame(text))
        goal = read_goal(goal_text)
        slots = frame.slots.copy()
        labels, lines, above, below = self.match(goal, slots[:, [0, 1, 7, 8]].T)
        known = self.texts.known
        for column, place, around in ((5, 0, around_text), (6, 1, around_name)):
            unique, inverse = distinct(slots[:, place], len(known))
            slots[:, column] = numpy.array(self.texts.all(around(goal, known[number]) for number in unique), numpy.int32)[
                inverse
            ]
        best = numpy.stack([labels[:, 0], labels[:, 5], lines[:, 5], labels[:, 1]], axis=1)
        best = ((best >= best.max(0) - 1e-6) & (best > 0)).astype(numpy.float32)
        extremes = _take(frame.extremes, frame.lines)
        wanted = _take(wanted_of(goal, read_page(text)), frame.lines)
        ranks = (frame.ranks[:, None] == numpy.arange(1, RANKS)).astype(numpy.float32)
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
                beside[control.line] = beside_line(page, control.line)
            for kind, argument, is_so in uses_of(control):
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
            self._line_extremes(text),
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
        made = [
            self._rows(("pieces", goal_text, text), partial(self._page_rows, goal_text, text)) for text in (newest, *earlier)
        ]
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
        seen = tuple(reversed([newest, *earlier]))
        for own, rows in (
            self._rows(("field", goal_text, field), lambda: self._field_rows(goal_text, field)),
            self._rows(("across", goal_text, seen), lambda: self._piece_rows(goal_text, pieces_across(goal_text, seen)[:60])),
        ):
            found += own
            blocks.append(rows)
            places = numpy.full(len(own), -9, numpy.int32)
            spans = read_goal(goal_text).spans
            if len(own) == len(spans) + len(CONSTANTS):
                places[: len(spans)] = [span.place for span in spans]
            lines.append(places)
            pages.append(numpy.full(len(own), -9, numpy.int32))
        return found, _stacked(*blocks), numpy.concatenate(lines), numpy.concatenate(pages)

    def _page_rows(self, goal_text: str, text: str) -> tuple[list[str], Rows, Ids]:
        """Return the pieces of a page and what is computed from it, their rows, and the line of each."""
        goal = read_goal(goal_text)
        own, frame = self._pages(("pieces", text), lambda: self._piece_frame(page_pieces(text), text))
        rows = self._with_goal(goal, frame, wanted_of(goal, read_page(text)))
        computed, more = self._piece_frame(computed_pieces(goal_text, text), text)
        extra = self._with_goal(goal, more)
        return own + computed, _stacked(rows, extra), numpy.concatenate([frame.lines, more.lines])

    def _field_rows(self, goal_text: str, field: str) -> tuple[list[str], Rows]:
        """Return spans of the goal and constants, and their rows for a field."""
        own, rows, beside = self._rows(("goal", goal_text), lambda: self._goal_rows(goal_text))
        wanted, numbers = set(words_of(field)), rows.numbers.copy()
        for place, (before, after) in enumerate(beside):
            numbers[place, -12] = float(not wanted.isdisjoint(before))
            numbers[place, -11] = float(not wanted.isdisjoint(after))
        return own, Rows(rows.slots, numbers)

    def _goal_rows(self, goal_text: str) -> tuple[list[str], Rows, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
        """Return spans of the goal and constants, their rows without a field, and the words before and after each span."""
        goal = read_goal(goal_text)
        pieces = [Piece(span.text, "goal", span.way, span.before, span.after) for span in goal.spans]
        own, rows = self._piece_rows(goal_text, [*pieces, *(Piece(text, "constant", "constant") for text in CONSTANTS)])
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

    def _piece_rows(self, goal_text: str, pieces: Sequence[Piece]) -> tuple[list[str], Rows]:
        """Return the texts and rows of pieces that are of no page."""
        own, frame = self._piece_frame(pieces, "")
        return own, self._with_goal(read_goal(goal_text), frame)

    def _piece_frame(self, pieces: Sequence[Piece], text: str) -> tuple[list[str], _Frame]:
        count, number_of = len(pieces), self.texts.all
        marks: dict[tuple[str, str, str], int] = {}
        kinds: list[int] = []
        for piece in pieces:
            named = (piece.source, piece.way, shape_of(piece.text))
            if named not in marks:
                marks[named] = self.texts("".join(f" #{part.replace(' ', '_')}" for part in named).strip())
            kinds.append(marks[named])
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
        extremes = self._line_extremes(text) if text else numpy.zeros((0, EXTREMES), numpy.float32)
        return texts, _Frame(slots, numbers, lines, extremes, lines)

    def _with_goal(self, goal: Goal, frame: _Frame, wanted: Floats | None = None) -> Rows:
        wanted = numpy.zeros((0, WANTED), numpy.float32) if wanted is None else wanted
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
        for number in unique.tolist():
            if number not in known:
                known[number] = match_of(goal, self.texts.known[number])
        self.matched += len(known) - before
        table = numpy.array([known[number] for number in unique.tolist()], numpy.float32).reshape(-1, MATCH)
        return table[inverse.reshape(ids.shape)]

    def _line_extremes(self, text: str) -> Floats:
        return self._pages(("extremes", text), lambda: extremes_of(read_page(text), tables_of(text)))

    def goal_presence(self, goal_text: str, text: str) -> tuple[float, float, float, float]:
        """Return how much of the goal stands on a page: of its names, of these in one line, whether a whole name, and a quotation."""
        return self._rows(("presence", goal_text, text), lambda: presence_of(read_goal(goal_text), read_page(text)))


class SharedReader:
    """The reader of a policy and of the learner in its process, so that a page is read once."""

    def __init__(self) -> None:
        self.current = Reader()

    def use(self, memory: StepMemory | None) -> None:
        """Let questions recall steps of a memory from now on, or none."""
        if self.current.memory is not memory:
            self.current = Reader(memory=memory)

    def renew(self) -> None:
        """Replace a reader that keeps very many texts. Whoever still uses it keeps it."""
        self.current = self.current.renewed()


def _stacked(*blocks: Rows) -> Rows:
    return Rows(numpy.concatenate([rows.slots for rows in blocks]), numpy.concatenate([rows.numbers for rows in blocks]))


def _take(table: Floats, lines: Ids) -> Floats:
    """Return the rows of a table by line; zeros for -1."""
    if not len(table):
        return numpy.zeros((len(lines), table.shape[1]), numpy.float32)
    found = table[numpy.maximum(lines, 0)]
    found[lines < 0] = 0
    return found
