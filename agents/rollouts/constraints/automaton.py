"""Automata over tokens: which tokens may come next in a reply that is to be of a language.

A language becomes a nondeterministic automaton over the bytes of its texts, whose states are places in one buffer. Its size is that of
the texts. Sets of places are made only where a reply leads. A token is allowed if its bytes lead to a set that is not empty,
so that a text has all its tokenisations, and a token may cover the end of a label and what stands behind it. The tokens that are
allowed in a state are found by going through the beginnings of tokens, so one state takes time in proportion to its places, times the
length of the longest token.
"""

import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from agents.data.tokens import Ids
from agents.rollouts.constraints.language import Choice, Language, Listing, Node, Spans, words
from agents.rollouts.constraints.vocabulary import MARK, Vocabulary

_BLANK = ord(" ")
_END = 0  # the byte after each text, which no token matches
_CONTINUES = 0x80  # the bytes of a character after its first are 0x80 to 0xBF


class Position(NamedTuple):
    """Where the bytes of a reply have led."""

    places: tuple[int, ...]  # in the buffer, in ascending order
    follows_word: bool = False  # whether the last character is a letter or a digit
    follows_mark: bool = False  # whether the last byte was a mark that is written as nothing, behind which there must be a text


class State:
    """Where the tokens of a reply have led, and which may come next."""

    def __init__(self, automaton: "Automaton", position: Position) -> None:
        self._automaton, self._position = automaton, position

    @cached_property
    def allowed(self) -> Tensor:
        """The tokens that may come next, in ascending order, shape (A,). A stop token ends the reply."""
        with torch.inference_mode(mode=False):  # the learner uses what the sampler asked for
            return torch.tensor(sorted(self._next), dtype=torch.int64)

    def after(self, token: int) -> "State | None":
        """Return the state after an allowed token; None if it ends the reply. Raises ValueError for a token that is not allowed."""
        if token not in self._next:
            raise ValueError(f"token {token} is not one of the {len(self._next)} that are allowed")
        position = self._next[token]
        return None if position is None else self._automaton.state(position)

    @cached_property
    def _next(self) -> dict[int, Position | None]:
        return self._automaton.find_next(self._position)


class Automaton:
    """The allowed tokens of a language. `stop_ids` are the tokens that may end a reply."""

    def __init__(self, language: Language, vocabulary: Vocabulary, stop_ids: frozenset[int]) -> None:
        self._vocabulary, self._stop_ids = vocabulary, stop_ids
        self._buffer = bytearray()
        self._follow: dict[
            int, tuple[int, ...]
        ] = {}  # where one goes on, without a byte, from the place that a byte has led to
        self._hubs: dict[
            int, tuple[int, ...]
        ] = {}  # the beginnings of the items of lists, by the place that stands for all of them
        self._final = self._add(b"")
        self._states: dict[Position, State] = {}
        entries = self._sequence((vocabulary.lead, *language), (self._final,))
        self.start = self.state(Position(self._closed((), entries)))

    def state(self, position: Position) -> State:
        """Return the state of a position, which is kept."""
        if position not in self._states:
            self._states[position] = State(self, position)
        return self._states[position]

    def path(self, response_ids: Ids) -> list[State]:
        """Return the state before each token of a response. Raises ValueError for a token that is not allowed."""
        state: State | None = self.start
        states = []
        for number, token in enumerate(response_ids):
            if state is None:
                raise ValueError(
                    f"a response of {len(response_ids)} tokens has a stop token in place {number - 1}; expected it at the end"
                )
            states.append(state)
            state = state.after(token)
        return states

    def find_next(self, position: Position) -> dict[int, Position | None]:
        """Return the positions after each token that may come next."""
        ids, prefixes, has_marks = self._vocabulary.ids, self._vocabulary.prefixes, self._vocabulary.has_marks
        is_final = self._final in position.places and not position.follows_mark
        found: dict[int, Position | None] = dict.fromkeys(self._stop_ids) if is_final else {}
        pending: list[tuple[bytes, Position]] = [(b"", position)]
        while pending:
            before, at = pending.pop()
            reached: dict[int, list[int]] = {}
            for place in at.places:
                byte = self._buffer[place]
                if byte != _END and (byte == _BLANK or before + bytes((byte,)) in prefixes):
                    reached.setdefault(byte, []).append(place + 1)
            spelled = [
                (before + bytes((byte,)), Position(self._closed(places), self._ends_word(places[0])))
                for byte, places in reached.items()
            ]
            if has_marks and not at.follows_mark and not any(self._buffer[place] & 0xC0 == _CONTINUES for place in at.places):
                marked = before + bytes((MARK,))
                if not at.follows_word and at.places != (self._final,):
                    spelled.append((marked, at._replace(follows_mark=True)))
                elif at.follows_word and _BLANK in reached:
                    spelled.append((marked, Position(self._closed(reached[_BLANK]))))
            for written, after in spelled:
                if written in prefixes:
                    found.update(dict.fromkeys(ids.get(written, ()), after))
                    pending.append((written, after))
        return found

    def _closed(self, places: Iterable[int], begun: Iterable[int] = ()) -> tuple[int, ...]:
        """Return the places that bytes have led to, those that are begun at, and all that can be reached from them without a byte.

        A word may end where the next begins, so what follows a word is reached by its last byte only.
        """
        arrived = set(places)
        pending = {*begun, *(place for each in arrived for place in self._follow.get(each, ()))}
        found = arrived | pending | {place for each in pending for place in self._hubs.get(each, ())}
        return tuple(sorted(place for place in found if self._buffer[place] != _END or place == self._final))

    def _ends_word(self, place: int) -> bool:
        """Return whether the character before a place is a letter or a digit, as marks take it."""
        if not self._vocabulary.has_marks:
            return False
        if self._buffer[place - 1] < _CONTINUES:
            return chr(self._buffer[place - 1]).isalnum()
        read = bytes(self._buffer[max(0, place - 4) : place]).decode(errors="ignore")
        return unicodedata.category(read[-1:] or " ")[0] in "LN"

    # The buffer.

    def _add(self, text: bytes) -> int:
        """Put a text down, and return the place behind it."""
        self._buffer += text
        self._buffer.append(_END)
        return len(self._buffer) - 1

    def _sequence(self, parts: Language, follow: tuple[int, ...]) -> tuple[int, ...]:
        """Put the parts down and return where the sequence begins; `follow` is where it goes on."""
        for part in reversed(parts):
            follow = self._part(part, follow)
        return follow

    def _part(self, part: Node, follow: tuple[int, ...]) -> tuple[int, ...]:
        match part:
            case str():
                return self._text(part, follow)
            case Choice(branches):
                return tuple(place for branch in branches for place in self._sequence(branch, follow))
            case Spans(texts):
                return tuple(place for text in texts for place in self._spans(text, follow))
            case Listing(item, joints):
                hub = self._add(b"")
                behind = tuple(place for joint in joints for place in self._text(joint, (hub,)))
                self._hubs[hub] = self._part(item, follow + behind)
                return (hub,)

    def _text(self, text: str, follow: tuple[int, ...]) -> tuple[int, ...]:
        if not text:
            return follow
        if not self._vocabulary.can_spell(text):
            return ()
        start = len(self._buffer)
        self._follow[self._add(text.encode())] = follow
        return (start,)

    def _spans(self, text: str, follow: tuple[int, ...]) -> list[int]:
        entries: list[int] = []
        last = 0  # where the word before ends
        for first, end in words(text):
            word, gap = text[first:end], text[last:first]
            if not self._vocabulary.can_spell(word):
                continue
            if entries and self._vocabulary.can_spell(gap):  # a gap may hold words that cannot be spelled
                self._buffer += gap.encode()
            elif entries:
                self._add(b"")
            entries.append(len(self._buffer))
            self._buffer += word.encode()
            self._follow[len(self._buffer)] = follow
            last = end
        self._add(b"")
        return entries
