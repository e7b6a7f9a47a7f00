"""Feature arrays of candidates: ids of the texts around each candidate, and numeric features of its relation to goal and history.

Each text has one id in a `StringTable`, so the texts of a candidate are a row of ids, one in each slot. Features that depend only on a page,
or only on a page and a goal, are cached.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy
from numpy.typing import NDArray

from agents.data.workflows import names_of, workflow_step
from agents.models.pointer.computing import computed_pieces, multi_page_pieces
from agents.models.pointer.goals import (
    MATCH_FEATURES,
    Goal,
    context_words,
    match_features,
    name_context,
    parse_goal,
    shape_of,
    words_of,
)
from agents.models.pointer.memory import StepMemory
from agents.models.pointer.pages import (
    EXTREME_FEATURES,
    GOAL_VALUE_FEATURES,
    Control,
    Floats,
    Ids,
    Piece,
    adjacent_lines,
    extreme_features,
    goal_presence_features,
    goal_value_features,
    page_pieces,
    parse_page,
    tables_of,
)  # fmt: skip
from webarena_gym.actions import Action, Kind

KINDS = (
    "link", "button", "box", "type", "search", "area", "option", "done", "n/a", "answer", "back", "up", "down", "tab",
)  # fmt: skip
"""Kinds of candidate actions."""
SOURCES = (
    "goal", "page", "memory", "field", "constant", "count", "sum", "list", "difference", "sum of two", "count over pages", "end",
)  # fmt: skip
"""Sources of pieces."""
CONSTANTS = (
    "N/A", "Yes", "No", ", ", "; ", "\n", " ", "/", " > ", "- ", "\n- ", ": ", " near ", " in ", " and ", "README.md", "List of ",
)  # fmt: skip
"""Pieces that are available on every page."""
JOINERS = frozenset(text for text in CONSTANTS if not text.isalpha() and text not in ("N/A", "README.md", "List of "))
"""Constants that may join two pieces."""
RANK_FEATURES = 7
# Number of text slots and of numeric features of a candidate action, a piece, and a context.
ACTION_SLOTS = 9
ACTION_NUMBERS = len(KINDS) + 4 * MATCH_FEATURES + 4 + EXTREME_FEATURES + GOAL_VALUE_FEATURES + 14 + RANK_FEATURES
PIECE_SLOTS, PIECE_NUMBERS = 8, len(SOURCES) + 4 + EXTREME_FEATURES + GOAL_VALUE_FEATURES + 2 * MATCH_FEATURES + 4 * 3 + 15
CONTEXT_SLOTS, CONTEXT_NUMBERS = 9, 16
_MATCHED_SLOTS = [0, 3, 1, 4, 5, 6]  # slots of a piece whose texts are compared with the goal
_KIND_INDEX = {kind: index for index, kind in enumerate(KINDS)}
_SOURCE_INDEX = {source: index for index, source in enumerate(SOURCES)}
_MAX_READ_LENGTH = 120  # characters; the words of longer pieces are ignored
_MAX_EARLIER_PIECES = 1_500  # pieces of all earlier pages together
_MAX_PIECES_PER_PAGE = 500  # pieces of one earlier page
_URL_PIECES = 3  # number of first pieces of each page, which come from its URL
_MAX_PAGES = 14  # newest pages of an episode that pieces are taken from
_MAX_TEXTS = 300_000  # texts in a reader before a new one replaces it
_MAX_MATCHES = 200_000  # cached features of texts matched with goals
_DESCRIPTIONS = {
    "option": "select {argument} in {label}", "type": "type into {label}", "search": "search in {label}", "area": "write into {label}",
    "done": "exit without an answer", "n/a": "exit with N/A", "answer": "exit with an answer", "back": "go back", "up": "scroll up",
    "down": "scroll down", "tab": "switch to tab {argument}",
}  # fmt: skip
T = TypeVar("T")


class CandidateAction(NamedTuple):
    """An action that may be chosen on a page. Its text, if it takes one, is chosen afterwards."""

    kind: str
    element: str = ""
    label: str = ""
    argument: str = ""

    @property
    def takes_text(self) -> bool:
        """True for an action whose text is chosen afterwards."""
        return self.kind in ("type", "search", "area", "answer")


class FeatureRows(NamedTuple):
    """Candidates as arrays: text ids (N, slots) and numbers (N, features)."""

    slots: Ids
    numbers: Floats


def control_uses(control: Control) -> list[tuple[str, str, bool]]:
    """Return the possible uses of a control, each as (kind, argument, whether the control already has this state)."""
    if control.use == "select":
        return [("option", *option) for option in control.options]
    if control.use == "text":
        return [("type", "", False), ("search", "", False)]
    if control.use == "area":
        return [("area", "", False)]
    return [(control.use, "", control.is_checked)]


def make_action(candidate: CandidateAction, argument: str) -> Action:
    """Return the action of a candidate. `argument` is its text if it takes one, and is ignored otherwise."""
    if candidate.kind in ("done", "n/a", "answer"):
        return Action(Kind.EXIT, argument="N/A" if candidate.kind == "n/a" else argument)
    if candidate.kind in ("type", "area"):
        return Action(Kind.TYPE, candidate.element, argument)
    if candidate.kind == "search":
        return Action(Kind.SEARCH, candidate.element, argument)
    if candidate.kind == "option":
        return Action(Kind.SELECT, candidate.element, candidate.argument)
    if candidate.kind == "tab":
        return Action(Kind.SWITCH_TAB, argument=candidate.argument)
    plain = {"back": Kind.GO_BACKWARD, "up": Kind.SCROLL_UP, "down": Kind.SCROLL_DOWN}
    return Action(plain[candidate.kind]) if candidate.kind in plain else Action(Kind.CLICK, candidate.element)


def describe_action(candidate: CandidateAction) -> str:
    """Return a description of a candidate for people.

    >>> describe_action(CandidateAction("option", "7", "Size", "Large"))
    'select Large in Size'
    """
    return _DESCRIPTIONS.get(candidate.kind, "click {label}").format(label=candidate.label, argument=candidate.argument)


def action_and_label(candidate: CandidateAction) -> tuple[Action, str]:
    """Return the action of a candidate, with a placeholder as its text if it takes one, and the label of its element."""
    return make_action(candidate, candidate.kind if candidate.takes_text else ""), candidate.label


class StringTable:
    """Ids of texts, assigned in the order of first use. The empty text has the id 0."""

    def __init__(self) -> None:
        self.strings: list[str] = [""]
        self._ids: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        """Return the id of a text."""
        string_id = self._ids.get(text)
        if string_id is None:
            string_id = self._ids[text] = len(self.strings)
            self.strings.append(text)
        return string_id

    def ids_of(self, texts: Iterable[str]) -> list[int]:
        """Return the ids of texts."""
        get_id = self._ids.get
        return [self(text) if (string_id := get_id(text)) is None else string_id for text in texts]


def unique_in_order(numbers: NDArray[Any], limit: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the unique values of `numbers` in order of first appearance, and the index of each number among them.

    Like `numpy.unique` with `return_inverse`, in linear time. All numbers are at least 0 and below `limit`.
    """
    positions = numpy.empty(limit, numpy.int64)  # only entries at `numbers` are written and read
    order = numpy.arange(len(numbers))
    positions[numbers[::-1]] = order[::-1]  # reversed, since the last assignment to an index remains
    unique = numbers[positions[numbers] == order]
    positions[unique] = order[: len(unique)]
    return unique.astype(numpy.int64), positions[numbers]


class Cache:
    """A least-recently-used cache of function results, limited by their estimated size in megabytes."""

    def __init__(self, megabytes: float) -> None:
        self._values: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._max_bytes = int(megabytes * 1e6)
        self.size = 0  # bytes, as `_estimate_size` estimates them

    def __len__(self) -> int:
        return len(self._values)

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key, or call `make` and cache its result."""
        entry = self._values.get(key)
        if entry is not None:
            self._values.move_to_end(key)
            value: T = entry[0]
            return value
        value = make()
        size = _estimate_size(value) + _estimate_size(key)
        self._values[key] = value, size
        self.size += size
        while self.size > self._max_bytes and self._values:
            self.size -= self._values.popitem(last=False)[1][1]
        return value


def _estimate_size(value: object) -> int:
    """Return the estimated size of a value in bytes: its arrays and texts, and an allowance for each other object."""
    if isinstance(value, numpy.ndarray):
        return int(value.nbytes) + 120
    if isinstance(value, str):
        return len(value) + 60
    if isinstance(value, tuple) and len(value) < 12:
        return 60 + sum(map(_estimate_size, value))
    return 60 + 100 * len(value) if isinstance(value, Sized) else 60


class _GoalFreeFeatures(NamedTuple):
    """Features of the N candidates of a page that do not depend on the goal."""

    slots: Ids  # (N, slots)
    numbers: Floats  # (N, features)
    lines: Ids  # (N,): index of the candidate's line, or -1
    extremes: Floats  # (lines, EXTREME_FEATURES)
    ranks: Ids  # (N,): rank of a candidate action among similar ones of the page


class Reader:
    """Extracts the features of candidates from pages, goals and histories, and caches them.

    Texts are stored without a limit; call `successor` between episodes to replace a reader that stores too many. Up to about 200,000
    matches of texts with goals are cached.

    Args:
        cache_mb: Size limit of the cached arrays in megabytes.
        memory: Memory from which questions retrieve steps.

    """

    def __init__(self, cache_mb: float = 256, memory: StepMemory | None = None) -> None:
        self.texts = StringTable()
        self.memory = memory
        self.questions = Cache(cache_mb / 2)  # questions of sessions, by a digest of their history
        self.match_count = 0  # entries of `_matches`
        self._cache_mb = cache_mb
        self._pages = Cache(cache_mb / 8)  # features that depend only on a page
        self._rows = Cache(cache_mb * 3 / 8)  # features that depend only on a page and a goal
        self._matches: dict[str, dict[int, tuple[float, ...]]] = {}  # match features by goal and text id

    @property
    def cached_bytes(self) -> int:
        """Estimated size of the cached arrays in bytes."""
        return self.questions.size + self._pages.size + self._rows.size

    def successor(self) -> "Reader":
        """Return this reader, or a new empty one if this one stores 300,000 texts or more. Features do not depend on the choice."""
        return self if len(self.texts.strings) < _MAX_TEXTS else Reader(self._cache_mb, self.memory)

    # Candidate actions.

    def candidates(self, goal_text: str, text: str) -> tuple[tuple[CandidateAction, ...], FeatureRows]:
        """Return the candidate actions of a page and their feature rows. The last 8 numbers of each row are reserved for its history."""
        return self._rows(("acts", goal_text, text), lambda: self._compute_candidates(goal_text, text))

    def candidate_ids(self, goal_text: str, text: str) -> Ids:
        """Return the memory's ids of the candidate actions of a page, shape (N, MATCH_KINDS)."""
        memory = self.memory
        assert memory is not None
        names, candidates = names_of(goal_text), self.candidates(goal_text, text)[0]
        return self._rows(
            ("offered", goal_text, text),
            lambda: memory.candidate_ids(workflow_step(*action_and_label(candidate), names) for candidate in candidates),
        )

    def _compute_candidates(self, goal_text: str, text: str) -> tuple[tuple[CandidateAction, ...], FeatureRows]:
        candidates, features = self._pages(("acts", text), lambda: self._page_candidates(text))
        goal = parse_goal(goal_text)
        slots = features.slots.copy()
        labels, lines, above, below = self.match(goal, slots[:, [0, 1, 7, 8]].T)
        strings = self.texts.strings
        for column, slot, context in ((5, 0, context_words), (6, 1, name_context)):
            unique, inverse = unique_in_order(slots[:, slot], len(strings))
            slots[:, column] = numpy.array(
                self.texts.ids_of(context(goal, strings[string_id]) for string_id in unique), numpy.int32
            )[inverse]
        is_best = numpy.stack([labels[:, 0], labels[:, 5], lines[:, 5], labels[:, 1]], axis=1)
        is_best = ((is_best >= is_best.max(0) - 1e-6) & (is_best > 0)).astype(numpy.float32)
        extremes = _take_lines(features.extremes, features.lines)
        goal_values = _take_lines(goal_value_features(goal, parse_page(text)), features.lines)
        ranks = (features.ranks[:, None] == numpy.arange(1, RANK_FEATURES)).astype(numpy.float32)
        is_ranked = (features.ranks == goal.ordinal)[:, None].astype(numpy.float32)
        history = numpy.zeros((len(candidates), 8), numpy.float32)
        parts = [features.numbers, labels, lines, above, below, is_best, extremes, goal_values, ranks, is_ranked, history]
        return candidates, FeatureRows(slots, numpy.concatenate(parts, axis=1))

    def _page_candidates(self, text: str) -> tuple[tuple[CandidateAction, ...], _GoalFreeFeatures]:
        page = parse_page(text)
        candidates: list[CandidateAction] = []
        rows: list[tuple[str, ...]] = []
        numbers: list[tuple[float, ...]] = []
        lines: list[int] = []
        group_ranks: list[int] = []
        label_counts: Counter[tuple[str, str]] = Counter()
        kind_counts: Counter[str] = Counter()
        group_counts: Counter[tuple[str, str | bool]] = Counter()
        labels = Counter(control.label for control in page.controls)
        adjacent: dict[int, tuple[str, str]] = {}
        field_number = 0
        for control_index, control in enumerate(page.controls):
            if control.is_disabled:
                continue
            line = page.lines[control.line]
            if control.line not in adjacent:
                adjacent[control.line] = adjacent_lines(page, control.line)
            for kind, argument, is_done in control_uses(control):
                label_counts[kind, control.label] += 1
                kind_counts[kind] += 1
                candidates.append(CandidateAction(kind, control.element, control.label, argument))
                name, detail = (argument, control.label) if kind == "option" else (control.label, control.value[:100])
                rows.append((name, line.text, line.heading, detail, f"#{kind} {name}", "", "", *adjacent[control.line]))
                group = (kind, name.partition(" ")[0] if kind == "button" else line.first_control == control_index)
                group_counts[group] += 1
                group_ranks.append(group_counts[group])
                label_rank, kind_rank = 1 / label_counts[kind, control.label], 1 / kind_counts[kind]
                numbers.append(
                    (is_done, bool(control.value), label_rank, kind_rank, 1 / labels[control.label], field_number / 10)
                )
                lines.append(control.line)
            field_number += control.use in ("text", "area")
        page_candidates = [CandidateAction("done"), CandidateAction("n/a"), CandidateAction("answer"), CandidateAction("back")]
        page_candidates += [CandidateAction("up")] * page.has_above + [CandidateAction("down")] * page.has_below
        page_candidates += [
            CandidateAction("tab", label=title, argument=str(number))
            for number, (title, active) in enumerate(page.tabs)
            if not active
        ]
        candidates += page_candidates
        rows += [
            (candidate.label, "", "", candidate.argument, f"#{candidate.kind} {candidate.label}", "", "", "", "")
            for candidate in page_candidates
        ]
        numbers += [(0.0, 0.0, 1.0, 1.0, 1.0, 0.0)] * len(page_candidates)
        lines += [-1] * len(page_candidates)
        group_ranks += [0] * len(page_candidates)
        kinds = numpy.array([_KIND_INDEX[candidate.kind] for candidate in candidates])
        is_kind = (kinds[:, None] == numpy.arange(len(KINDS))).astype(numpy.float32)
        return tuple(candidates), _GoalFreeFeatures(
            numpy.array(self.texts.ids_of(chain.from_iterable(rows)), numpy.int32).reshape(-1, ACTION_SLOTS),
            numpy.concatenate([is_kind, numpy.array(numbers, numpy.float32)], axis=1),
            numpy.array(lines, numpy.int32),
            self._line_extremes(text),
            numpy.array(group_ranks, numpy.int32),
        )

    # Pieces of texts.

    def pieces(self, goal_text: str, pages: Sequence[str], field: str) -> tuple[list[str], FeatureRows, Ids, Ids]:
        """Return the N pieces that a text may consist of.

        Args:
            goal_text: Goal of the episode.
            pages: Texts of the episode's pages, newest last.
            field: Label of the field that the text is for.

        Returns:
            The texts of the pieces, their feature rows, and, as arrays of shape (N,), their line and page indices. Pages are counted
            from the newest; other pieces have the page -9, and spans of the goal their start index as the line. The last numbers of each row are reserved for the pieces chosen so far.

        """
        newest = pages[-1]
        earlier = list(dict.fromkeys(text for text in reversed(pages) if text != newest))[: _MAX_PAGES - 1]
        texts: list[str] = []
        blocks: list[FeatureRows] = []
        lines: list[Ids] = []
        piece_pages: list[Ids] = []
        remaining = _MAX_EARLIER_PIECES
        page_rows = [
            self._rows(("pieces", goal_text, text), partial(self._page_rows, goal_text, text)) for text in (newest, *earlier)
        ]
        is_known = numpy.zeros(len(self.texts.strings), bool)  # text ids of lines on newer pages
        for age, (page_texts, rows, line_indices) in enumerate(page_rows):
            if age:
                ids = rows.slots[:, 3]
                keep = (ids == 0) | ~is_known[ids]
                keep[:_URL_PIECES] = True
                chosen = numpy.flatnonzero(keep)[: _URL_PIECES + min(remaining, _MAX_PIECES_PER_PAGE)]
                remaining -= len(chosen) - _URL_PIECES
                numbers = rows.numbers[chosen]
                is_page = numbers[:, _SOURCE_INDEX["page"]]
                numbers[:, _SOURCE_INDEX["memory"]] = is_page
                numbers[:, _SOURCE_INDEX["page"]] = 0
                numbers[:, len(SOURCES)] = age / _MAX_PAGES
                texts += [page_texts[index] for index in chosen.tolist()]
                rows, line_indices = FeatureRows(rows.slots[chosen], numbers), line_indices[chosen]  # noqa: PLW2901 - the subset that is kept
            else:
                texts += page_texts
            is_known[rows.slots[:, 3]] = True
            blocks.append(rows)
            lines.append(line_indices)
            piece_pages.append(numpy.full(len(line_indices), age, numpy.int32))
        oldest_first = tuple(reversed([newest, *earlier]))
        for page_texts, rows in (
            self._rows(("field", goal_text, field), lambda: self._field_rows(goal_text, field)),
            self._rows(
                ("across", goal_text, oldest_first),
                lambda: self._piece_rows(goal_text, multi_page_pieces(goal_text, oldest_first)[:60]),
            ),
        ):
            texts += page_texts
            blocks.append(rows)
            line_indices = numpy.full(len(page_texts), -9, numpy.int32)
            spans = parse_goal(goal_text).spans
            if len(page_texts) == len(spans) + len(CONSTANTS):
                line_indices[: len(spans)] = [span.start for span in spans]
            lines.append(line_indices)
            piece_pages.append(numpy.full(len(page_texts), -9, numpy.int32))
        return texts, _concatenate(*blocks), numpy.concatenate(lines), numpy.concatenate(piece_pages)

    def _page_rows(self, goal_text: str, page_text: str) -> tuple[list[str], FeatureRows, Ids]:
        """Return the texts of a page's extracted and computed pieces, their feature rows, and their line indices."""
        goal = parse_goal(goal_text)
        page_texts, features = self._pages(
            ("pieces", page_text), lambda: self._piece_features(page_pieces(page_text), page_text)
        )
        rows = self._add_goal_features(goal, features, goal_value_features(goal, parse_page(page_text)))
        computed_texts, computed_features = self._piece_features(computed_pieces(goal_text, page_text), page_text)
        computed_rows = self._add_goal_features(goal, computed_features)
        return (
            page_texts + computed_texts,
            _concatenate(rows, computed_rows),
            numpy.concatenate([features.lines, computed_features.lines]),
        )

    def _field_rows(self, goal_text: str, field: str) -> tuple[list[str], FeatureRows]:
        """Return the texts of goal spans and constants, and their feature rows for a field."""
        texts, rows, context = self._rows(("goal", goal_text), lambda: self._goal_rows(goal_text))
        field_words, numbers = set(words_of(field)), rows.numbers.copy()
        for index, (before, after) in enumerate(context):
            numbers[index, -12] = float(not field_words.isdisjoint(before))
            numbers[index, -11] = float(not field_words.isdisjoint(after))
        return texts, FeatureRows(rows.slots, numbers)

    def _goal_rows(self, goal_text: str) -> tuple[list[str], FeatureRows, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
        """Return the texts of goal spans and constants, their feature rows without a field, and the words before and after each span."""
        goal = parse_goal(goal_text)
        pieces = [Piece(span.text, "goal", span.form, span.before, span.after) for span in goal.spans]
        texts, rows = self._piece_rows(goal_text, [*pieces, *(Piece(text, "constant", "constant") for text in CONSTANTS)])
        numbers = rows.numbers
        context: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for index, span in enumerate(goal.spans):
            context.append((words_of(goal.text[max(0, span.start - 40) : span.start])[-4:], words_of(span.after)))
            words = words_of(span.text)
            numbers[index, -10] = span.start / max(len(goal.text), 1)
            end = span.start + len(span.text)
            next_text = goal.text[end : end + 4].strip(" ,")
            numbers[index, -9] = float(bool(next_text[:1].isupper() or next_text[:1].isdigit()))
            previous_words = goal.text[: span.start].split()[-1:]
            numbers[index, -8] = float(
                bool(previous_words and previous_words[0][:1].isupper() and span.start > len(previous_words[0]) + 1)
            )
            numbers[index, -7] = sum(word in goal.names for word in words) / max(len(words), 1)
            numbers[index, -13] = float((span.start, end) in goal.runs)
            numbers[index, -14] = float(any(start == span.start for start, _ in goal.runs))
            numbers[index, -15] = float(any(stop == end for _, stop in goal.runs))
            numbers[index, -6] = float(end < len(goal.text) and goal.text[end] in '.?!",;:')
        return texts, rows, context

    def _piece_rows(self, goal_text: str, pieces: Sequence[Piece]) -> tuple[list[str], FeatureRows]:
        """Return the texts and feature rows of pieces that do not belong to a page."""
        texts, features = self._piece_features(pieces, "")
        return texts, self._add_goal_features(parse_goal(goal_text), features)

    def _piece_features(self, pieces: Sequence[Piece], text: str) -> tuple[list[str], _GoalFreeFeatures]:
        count, ids_of = len(pieces), self.texts.ids_of
        label_ids: dict[tuple[str, str, str], int] = {}
        labels: list[int] = []
        for piece in pieces:
            label = (piece.source, piece.form, shape_of(piece.text))
            if label not in label_ids:
                label_ids[label] = self.texts("".join(f" #{part.replace(' ', '_')}" for part in label).strip())
            labels.append(label_ids[label])
        texts = [piece.text for piece in pieces]
        slots = numpy.zeros((count, PIECE_SLOTS), numpy.int32)
        slots[:, 0] = ids_of(text if len(text) < _MAX_READ_LENGTH else "" for text in texts)
        for slot, column in enumerate(("left", "right", "line", "above", "heading", "column"), 1):
            slots[:, slot] = ids_of(map(attrgetter(column), pieces))
        slots[:, 7] = labels
        numbers = numpy.zeros((count, len(SOURCES) + 4), numpy.float32)
        sources = [_SOURCE_INDEX["list" if piece.source.startswith("list") else piece.source] for piece in pieces]
        numbers[numpy.arange(count), sources] = 1.0
        numbers[:, -3] = numpy.minimum([len(text) for text in texts], 80) / 80
        numbers[:, -2] = numpy.minimum([text.count(" ") + 1 for text in texts], 12) / 12
        numbers[:, -1] = [piece.form == "whole" for piece in pieces]
        lines = numpy.array([piece.line_index for piece in pieces], numpy.int32)
        extremes = self._line_extremes(text) if text else numpy.zeros((0, EXTREME_FEATURES), numpy.float32)
        return texts, _GoalFreeFeatures(slots, numbers, lines, extremes, lines)

    def _add_goal_features(self, goal: Goal, features: _GoalFreeFeatures, goal_values: Floats | None = None) -> FeatureRows:
        goal_values = numpy.zeros((0, GOAL_VALUE_FEATURES), numpy.float32) if goal_values is None else goal_values
        slots = features.slots
        text_matches, line_matches, *context_matches = self.match(goal, slots[:, _MATCHED_SLOTS].T)
        parts = [
            features.numbers,
            _take_lines(features.extremes, features.lines),
            _take_lines(goal_values, features.lines),
            text_matches,
            line_matches,
        ]
        parts += [matches[:, :3] for matches in context_matches]
        parts.append(numpy.zeros((len(slots), 15), numpy.float32))
        return FeatureRows(slots, numpy.concatenate(parts, axis=1))

    # Features of texts and goals.

    def match(self, goal: Goal, ids: Ids) -> Floats:
        """Return the match features of texts and a goal; `ids` may have any shape S, and the result has shape (*S, MATCH_FEATURES)."""
        if self.match_count > _MAX_MATCHES:
            self._matches.clear()
            self.match_count = 0
        matches = self._matches.setdefault(goal.text, {})
        old_count = len(matches)
        unique, inverse = unique_in_order(ids.ravel(), len(self.texts.strings))
        for string_id in unique.tolist():
            if string_id not in matches:
                matches[string_id] = match_features(goal, self.texts.strings[string_id])
        self.match_count += len(matches) - old_count
        table = numpy.array([matches[string_id] for string_id in unique.tolist()], numpy.float32).reshape(-1, MATCH_FEATURES)
        return table[inverse.reshape(ids.shape)]

    def _line_extremes(self, text: str) -> Floats:
        return self._pages(("extremes", text), lambda: extreme_features(parse_page(text), tables_of(text)))

    def goal_presence(self, goal_text: str, text: str) -> tuple[float, float, float, float]:
        """Return the cached result of `goal_presence_features`."""
        return self._rows(
            ("presence", goal_text, text), lambda: goal_presence_features(parse_goal(goal_text), parse_page(text))
        )


class SharedReader:
    """The reader that a policy shares with the learner in its process, so that the features of a page are computed once."""

    def __init__(self) -> None:
        self.current = Reader()

    def set_memory(self, memory: StepMemory | None) -> None:
        """Set the memory from which questions retrieve steps, or disable retrieval with None."""
        if self.current.memory is not memory:
            self.current = Reader(memory=memory)

    def limit_texts(self) -> None:
        """Replace a reader that stores too many texts. Sessions of the old reader continue to use it."""
        self.current = self.current.successor()


def _concatenate(*blocks: FeatureRows) -> FeatureRows:
    return FeatureRows(numpy.concatenate([rows.slots for rows in blocks]), numpy.concatenate([rows.numbers for rows in blocks]))


def _take_lines(table: Floats, lines: Ids) -> Floats:
    """Return the rows of `table` at indices `lines`, and zeros for the index -1."""
    if not len(table):
        return numpy.zeros((len(lines), table.shape[1]), numpy.float32)
    rows = table[numpy.maximum(lines, 0)]
    rows[lines < 0] = 0
    return rows
