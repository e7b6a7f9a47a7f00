"""Constrained decoding: replies that are well-formed actions on the page, as an automaton over the tokens of a tokenizer.

A language becomes a nondeterministic automaton over the bytes of its texts, whose states are places in one buffer. Its size is that of
the texts. Sets of places are made only where a reply leads. A token is allowed if its bytes lead to a set that is not empty,
so that a text has all its tokenisations, and a token may cover the end of a label and what stands behind it. The tokens that are
allowed in a state are found by going through the beginnings of tokens, so one state takes time in proportion to its places, times the
length of the longest token.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from agents.data.prompts import THINKING, PromptEncoder, Style
from agents.data.trajectories import Ids
from agents.models.small import WORD
from agents.rollouts.languages import Choice, Language, Listing, Node, Spans, language_of, regex, words

MARK = ord(WORD)
"""The byte of the house's tokenizer that is written as a blank after a letter or digit, and else as nothing."""

_TRIED = 'do(action="Type", argument="5 Größen, \\"naïve\\" 日本", element="Add to Cart [2]")'
_META_BLANK = "\u2581"  # SentencePiece's
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # a token of a byte, in its vocabularies
_BLANK = ord(" ")
# Byte-level vocabularies write some bytes as themselves, and the others as further characters (GPT-2's table).
_PLAIN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_CHARACTERS = {chr(byte): byte for byte in _PLAIN} | {
    chr(0x100 + number): byte for number, byte in enumerate(byte for byte in range(0x100) if byte not in _PLAIN)
}
_END = 0  # the byte after each text, which no token matches
_CONTINUES = 0x80  # the bytes of a character after its first are 0x80 to 0xBF
_KEPT = 128  # automata of pages, of some megabytes each


class Vocabulary(NamedTuple):
    """The tokens that can be part of a reply; special tokens, and those that add nothing, are left out."""

    ids: dict[bytes, Ids]  # by the bytes that the tokens add; several may add the same
    prefixes: frozenset[bytes]  # all beginnings of these bytes, themselves included
    lead: str  # what the tokens of a reply spell before it, which decoding removes
    has_marks: bool  # whether `MARK` has its meaning
    has_all_bytes: bool  # whether every byte is a token

    @classmethod
    def of(cls, tokenizer: Any) -> "Vocabulary":
        """Return the vocabulary of a byte-level or SentencePiece tokenizer of transformers.

        Raises ValueError for a tokenizer whose tokens are not parts of the text that they stand for.
        """
        name = type(tokenizer).__name__
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"the tokenizer {name} is a slow one, whose tokens cannot be read; expected a fast tokenizer")
        decoder = json.loads(tokenizer.backend_tokenizer.to_str())["decoder"] or {}
        kinds = _kinds(decoder)
        added = tokenizer.added_tokens_decoder
        special = set(tokenizer.all_special_ids) | {token for token, content in added.items() if content.special}
        ids: dict[bytes, list[int]] = defaultdict(list)
        by_id: dict[int, bytes] = {}
        for content, token in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
            if token in added:
                written = content.encode()
            elif "ByteLevel" in kinds:
                is_spelled = set(content) <= _CHARACTERS.keys()
                written = bytes(map(_CHARACTERS.__getitem__, content)) if is_spelled else content.encode()
            elif byte := _BYTE.fullmatch(content):
                written = bytes((int(byte[1], 16),))
            else:
                written = content.replace(_META_BLANK, " ").encode()
            by_id[token] = written
            if written and token not in special:
                ids[written].append(token)
        has_marks = json.dumps(WORD)[1:-1] in json.dumps(decoder)
        tried_text = _TRIED
        tried = tokenizer(tried_text, add_special_tokens=False)["input_ids"]
        if tokenizer.unk_token_id in tried:
            tried_text = "".join(filter(str.isascii, _TRIED))
            tried = tokenizer(tried_text, add_special_tokens=False)["input_ids"]
        spelled = b"".join(by_id.get(token, b"?") for token in tried)
        found = (_unmarked(spelled) if has_marks else spelled).decode(errors="replace")
        lead = found.removesuffix(tried_text)
        if not found.endswith(tried_text) or lead.strip() or tokenizer.decode(tried) != tried_text:
            raise ValueError(f"the tokens of {name} spell {found[:80]!r}; expected the text that they were made of")
        prefixes = frozenset(written[:end] for written in ids for end in range(1, len(written) + 1))
        has_all_bytes = all(bytes((byte,)) in ids for byte in range(1, 256))
        return cls({written: tuple(tokens) for written, tokens in ids.items()}, prefixes, lead, has_marks, has_all_bytes)

    def can_spell(self, text: str) -> bool:
        """Return whether every character of a text is a token, or made of tokens of one byte."""
        if "\0" in text or (self.has_marks and WORD in text):
            return False
        return self.has_all_bytes or all(
            character.encode() in self.ids or all(bytes((byte,)) in self.ids for byte in character.encode())
            for character in set(text)
        )


def _kinds(decoder: Mapping[str, Any]) -> set[str]:
    """Return the types of a decoder and of its parts."""
    return {decoder.get("type", "")}.union(*map(_kinds, decoder.get("decoders", ())))


def _unmarked(spelled: bytes) -> bytes:
    """Return a text as decoding writes it: marks are blanks after letters and digits, and else nothing."""
    written = ""
    for character in spelled.decode(errors="replace"):
        if character != WORD:
            written += character
        elif written[-1:].isalnum():
            written += " "
    return written.encode()


class Position(NamedTuple):
    """The state of an automaton after some bytes of a reply."""

    places: tuple[int, ...]  # in the buffer, in ascending order
    follows_word: bool = False  # whether the last character is a letter or a digit
    follows_mark: bool = False  # whether the last byte was a mark that is written as nothing, behind which there must be a text


class State:
    """The state of an automaton after some tokens of a reply, with the tokens that may come next."""

    def __init__(self, automaton: "Constraint", position: Position) -> None:
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


class Constraint:
    """The language that a reply is to be of, as an automaton over tokens and as a regular expression, both made when they are used.

    `stop_ids` are the tokens that may end a reply.
    """

    def __init__(self, language: Language, vocabulary: Vocabulary, stop_ids: frozenset[int]) -> None:
        self._language, self._vocabulary, self._stop_ids = language, vocabulary, stop_ids
        self._buffer = bytearray()
        # where one goes on, without a byte, from the place that a byte has led to
        self._follow: dict[int, tuple[int, ...]] = {}
        # the beginnings of the items of lists, by the place that stands for all of them
        self._hubs: dict[int, tuple[int, ...]] = {}
        self._final = self._add(b"")
        self._states: dict[Position, State] = {}

    @cached_property
    def start(self) -> State:
        """The state before the first token."""
        entries = self._sequence((self._vocabulary.lead, *self._language), (self._final,))
        return self.state(Position(self._closed((), entries)))

    @cached_property
    def regex(self) -> str:
        """A regular expression that the whole reply matches, for servers that decode by one."""
        return regex(self._language)

    def state(self, position: Position) -> State:
        """Return the state of a position, which is kept."""
        return self._states.setdefault(position, State(self, position))

    def path(self, response_ids: Ids) -> list[State]:
        """Return the state before each token of a response. Raises ValueError for a token that is not allowed."""
        state: State | None = self.start
        states = []
        for number, token in enumerate(response_ids):
            if state is None:
                raise ValueError(f"a response of {len(response_ids)} tokens has a stop token in place {number - 1}")
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


class Constraints:
    """Makes the constraints of the replies of one tokenizer: `on(goal, page)`. Equal goals and pages have equal constraints.

    Raises ValueError for a tokenizer that cannot be constrained.
    """

    def __init__(self, encoder: PromptEncoder) -> None:
        vocabulary, stop_ids = Vocabulary.of(encoder.tokenizer), encoder.stop_ids

        @lru_cache(maxsize=_KEPT)
        def on(goal: str, page: str) -> Constraint:
            return Constraint(language_of(goal, page), vocabulary, stop_ids)

        self.on = on


def create_constraints(encoder: PromptEncoder, *, constrained: bool, system: Style) -> Constraints | None:
    """Return what constrains replies where they are to be. Raises ValueError where they cannot be: with thoughts before the action."""
    if constrained and system in THINKING:
        raise ValueError("constrained replies are actions alone, and system is 'think'; expected 'none', 'act' or 'env'")
    return Constraints(encoder) if constrained else None
