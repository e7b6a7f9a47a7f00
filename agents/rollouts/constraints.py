"""Constrained decoding: limits replies to well-formed actions on the page, by an automaton over the tokens of a tokenizer.

A language (see `languages`) is compiled to a nondeterministic finite automaton (NFA) over bytes. The NFA's states are indices into
one buffer that holds the texts, so its size is that of the texts. Sets of NFA states are computed on demand, along the sampled reply.

A token is allowed if its bytes lead to a non-empty set. Hence every tokenization of a text is allowed, and a token may extend over the end of
a label. The allowed tokens are found by walking the prefixes of all tokens, so the time is proportional to the number of NFA states in
the set times the length of the longest token.
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
from agents.models.small import WORD_MARK
from agents.rollouts.languages import Alternatives, Language, Node, SeparatedList, Spans, action_language, regex, word_spans

MARK = ord(WORD_MARK)
"""The word mark of `agents.models.small`. Decoding turns it into a space after a letter or digit, and removes it elsewhere."""

_SAMPLE_TEXT = 'do(action="Type", argument="5 Größen, \\"naïve\\" 日本", element="Add to Cart [2]")'
_SENTENCEPIECE_SPACE = "\u2581"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # a token of one byte in SentencePiece vocabularies
_SPACE = ord(" ")
# Byte-level vocabularies represent printable bytes by themselves, and others by characters from 0x100 on (GPT-2's table).
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_CHARACTERS = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(0x100 + number): byte for number, byte in enumerate(byte for byte in range(0x100) if byte not in _PRINTABLE)
}
_END_BYTE = 0  # terminates each text in the buffer; no token contains it
_CONTINUATION_BYTE = 0x80  # in UTF-8, all bytes of a character except the first are 0x80 to 0xBF
_MAX_CACHED = 128  # automata, of some megabytes each


class TokenVocabulary(NamedTuple):
    """The tokens of a tokenizer that can be part of a reply, without special tokens and empty tokens."""

    ids: dict[bytes, Ids]  # token ids by the bytes that they decode to
    prefixes: frozenset[bytes]  # all non-empty prefixes of these bytes
    lead: str  # text that encoding adds before a reply and decoding removes
    has_marks: bool  # whether the tokenizer uses `MARK`
    has_all_bytes: bool  # whether every byte has a token

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, stop_ids: frozenset[int] = frozenset()) -> "TokenVocabulary":
        """Return the vocabulary of a byte-level or SentencePiece tokenizer of transformers, without the stop tokens.

        Raises:
            ValueError: The tokenizer is not a fast one, or the concatenated tokens of a text are not the text.

        """
        class_name = type(tokenizer).__name__
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(
                f"the tokenizer {class_name} is a slow one, without access to its tokens; expected a fast tokenizer"
            )
        decoder = json.loads(tokenizer.backend_tokenizer.to_str())["decoder"] or {}
        decoder_types = _decoder_types(decoder)
        added_tokens = tokenizer.added_tokens_decoder
        special = (
            stop_ids
            | set(tokenizer.all_special_ids)
            | {token for token, token_text in added_tokens.items() if token_text.special}
        )
        ids: dict[bytes, list[int]] = defaultdict(list)
        bytes_by_id: dict[int, bytes] = {}
        for token_text, token in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
            if token in added_tokens:
                token_bytes = token_text.encode()
            elif "ByteLevel" in decoder_types:
                is_byte_level = set(token_text) <= _CHARACTERS.keys()
                token_bytes = bytes(map(_CHARACTERS.__getitem__, token_text)) if is_byte_level else token_text.encode()
            elif byte := _BYTE.fullmatch(token_text):
                token_bytes = bytes((int(byte[1], 16),))
            else:
                token_bytes = token_text.replace(_SENTENCEPIECE_SPACE, " ").encode()
            bytes_by_id[token] = token_bytes
            if token_bytes and token not in special:
                ids[token_bytes].append(token)
        has_marks = json.dumps(WORD_MARK)[1:-1] in json.dumps(decoder)
        sample = _SAMPLE_TEXT
        sample_ids = tokenizer(sample, add_special_tokens=False)["input_ids"]
        if tokenizer.unk_token_id in sample_ids:
            sample = "".join(filter(str.isascii, _SAMPLE_TEXT))
            sample_ids = tokenizer(sample, add_special_tokens=False)["input_ids"]
        sample_bytes = b"".join(bytes_by_id.get(token, b"?") for token in sample_ids)
        decoded = (_decode_marks(sample_bytes) if has_marks else sample_bytes).decode(errors="replace")
        lead = decoded.removesuffix(sample)
        if not decoded.endswith(sample) or lead.strip() or tokenizer.decode(sample_ids) != sample:
            raise ValueError(
                f"the concatenated tokens of {class_name} are {decoded[:80]!r}; expected the encoded text, {sample[:80]!r}"
            )
        prefixes = frozenset(token_bytes[:end] for token_bytes in ids for end in range(1, len(token_bytes) + 1))
        has_all_bytes = all(bytes((byte,)) in ids for byte in range(1, 256))
        return cls(
            {token_bytes: tuple(tokens) for token_bytes, tokens in ids.items()}, prefixes, lead, has_marks, has_all_bytes
        )

    def can_spell(self, text: str) -> bool:
        """Return True if every character of a text has a token or can be composed of byte tokens."""
        if "\0" in text or (self.has_marks and WORD_MARK in text):
            return False
        return self.has_all_bytes or all(
            character.encode() in self.ids or all(bytes((byte,)) in self.ids for byte in character.encode())
            for character in set(text)
        )


def _decoder_types(decoder: Mapping[str, Any]) -> set[str]:
    return {decoder.get("type", "")}.union(*map(_decoder_types, decoder.get("decoders", ())))


def _decode_marks(encoded: bytes) -> bytes:
    """Return a text with its word marks decoded: a space after letters and digits, and nothing elsewhere."""
    text = ""
    for character in encoded.decode(errors="replace"):
        if character != WORD_MARK:
            text += character
        elif text[-1:].isalnum():
            text += " "
    return text.encode()


class AutomatonPosition(NamedTuple):
    """The set of NFA states after some bytes of a reply."""

    indices: tuple[int, ...]  # NFA states, as indices into the buffer in ascending order
    follows_word: bool = False  # whether the last character is a letter or a digit
    follows_mark: bool = False  # whether the last byte is a mark that decodes to nothing, which a text must follow


class ConstraintState:
    """The state of a constraint after some tokens of a reply, with the tokens allowed next."""

    def __init__(self, automaton: "Constraint", position: AutomatonPosition) -> None:
        self._automaton, self._position = automaton, position

    @cached_property
    def allowed_ids(self) -> Tensor:
        """The ids of the tokens allowed next, in ascending order, shape (A,). A stop token ends the reply."""
        with torch.inference_mode(mode=False):  # the learner reuses the tensor that the sampler created
            return torch.tensor(sorted(self._next), dtype=torch.int64)

    def advance(self, token: int) -> "ConstraintState | None":
        """Return the state after an allowed token, or None if it ends the reply. Raises ValueError if the token is not allowed."""
        if token not in self._next:
            raise ValueError(f"token {token} is not allowed; expected one of {len(self._next)} other tokens")
        position = self._next[token]
        return None if position is None else self._automaton.state(position)

    @cached_property
    def _next(self) -> dict[int, AutomatonPosition | None]:
        return self._automaton.next_positions(self._position)


class Constraint:
    """A constraint on replies, as an automaton over tokens and as a regular expression. Both are created on first use.

    Args:
        language: Language of the allowed replies.
        vocabulary: Tokens of the tokenizer.
        stop_ids: Ids of the tokens that may end a reply.

    """

    def __init__(self, language: Language, vocabulary: TokenVocabulary, stop_ids: frozenset[int]) -> None:
        self._language, self._vocabulary, self._stop_ids = language, vocabulary, stop_ids
        self._buffer = bytearray()
        # epsilon transitions from the end of a text or word
        self._continuations: dict[int, tuple[int, ...]] = {}
        # epsilon transitions from the index that represents a list to the starts of its items
        self._list_entries: dict[int, tuple[int, ...]] = {}
        self._final = self._append_text(b"")
        self._states: dict[AutomatonPosition, ConstraintState] = {}

    @cached_property
    def start(self) -> ConstraintState:
        """The state before the first token."""
        entries = self._compile_sequence((self._vocabulary.lead, *self._language), (self._final,))
        return self.state(AutomatonPosition(self._epsilon_closure((), entries)))

    @cached_property
    def regex(self) -> str:
        """A regular expression that matches whole replies, for servers with structured outputs."""
        return regex(self._language)

    def state(self, position: AutomatonPosition) -> ConstraintState:
        """Return the cached state of a position."""
        return self._states.setdefault(position, ConstraintState(self, position))

    def response_states(self, response_ids: Ids) -> list[ConstraintState]:
        """Return the state before each token of a response. Raises ValueError if a token is not allowed."""
        state: ConstraintState | None = self.start
        states = []
        for index, token in enumerate(response_ids):
            if state is None:
                raise ValueError(
                    f"a response of {len(response_ids)} tokens has a stop token at index {index - 1}; expected it at the end"
                )
            states.append(state)
            state = state.advance(token)
        return states

    def next_positions(self, position: AutomatonPosition) -> dict[int, AutomatonPosition | None]:
        """Return the position after each allowed token, or None after a stop token."""
        ids, prefixes, has_marks = self._vocabulary.ids, self._vocabulary.prefixes, self._vocabulary.has_marks
        is_final = self._final in position.indices and not position.follows_mark
        next_by_token: dict[int, AutomatonPosition | None] = dict.fromkeys(self._stop_ids) if is_final else {}
        pending: list[tuple[bytes, AutomatonPosition]] = [(b"", position)]
        while pending:
            prefix, current = pending.pop()
            by_byte: dict[int, list[int]] = {}
            for index in current.indices:
                byte = self._buffer[index]
                if byte != _END_BYTE and (byte == _SPACE or prefix + bytes((byte,)) in prefixes):
                    by_byte.setdefault(byte, []).append(index + 1)
            extensions = [
                (prefix + bytes((byte,)), AutomatonPosition(self._epsilon_closure(indices), self._ends_word(indices[0])))
                for byte, indices in by_byte.items()
            ]
            if (
                has_marks
                and not current.follows_mark
                and not any(self._buffer[index] & 0xC0 == _CONTINUATION_BYTE for index in current.indices)
            ):
                marked_prefix = prefix + bytes((MARK,))
                if not current.follows_word and current.indices != (self._final,):
                    extensions.append((marked_prefix, current._replace(follows_mark=True)))
                elif current.follows_word and _SPACE in by_byte:
                    extensions.append((marked_prefix, AutomatonPosition(self._epsilon_closure(by_byte[_SPACE]))))
            for extended, following in extensions:
                if extended in prefixes:
                    next_by_token.update(dict.fromkeys(ids.get(extended, ()), following))
                    pending.append((extended, following))
        return next_by_token

    def _epsilon_closure(self, indices: Iterable[int], entries: Iterable[int] = ()) -> tuple[int, ...]:
        """Return the NFA states reached by a byte (`indices`), entered without a byte (`entries`), and reachable from these by epsilon.

        A word may end where the next one starts. Therefore only indices reached by a byte have the continuations of a word.
        """
        reached = set(indices)
        entered = {*entries, *(index for reached_index in reached for index in self._continuations.get(reached_index, ()))}
        closure = (
            reached | entered | {index for reached_index in entered for index in self._list_entries.get(reached_index, ())}
        )
        return tuple(sorted(index for index in closure if self._buffer[index] != _END_BYTE or index == self._final))

    def _ends_word(self, index: int) -> bool:
        """Return True if the tokenizer uses marks and the character before an index is a letter or digit."""
        if not self._vocabulary.has_marks:
            return False
        if self._buffer[index - 1] < _CONTINUATION_BYTE:
            return chr(self._buffer[index - 1]).isalnum()
        text = bytes(self._buffer[max(0, index - 4) : index]).decode(errors="ignore")
        return unicodedata.category(text[-1:] or " ")[0] in "LN"

    # Compilation of the language into the buffer.

    def _append_text(self, text: bytes) -> int:
        """Append a text to the buffer, and return the index after it."""
        self._buffer += text
        self._buffer.append(_END_BYTE)
        return len(self._buffer) - 1

    def _compile_sequence(self, parts: Language, follow: tuple[int, ...]) -> tuple[int, ...]:
        """Append a sequence to the buffer, and return its start indices. `follow` are the start indices of its continuation."""
        for part in reversed(parts):
            follow = self._compile_node(part, follow)
        return follow

    def _compile_node(self, part: Node, follow: tuple[int, ...]) -> tuple[int, ...]:
        match part:
            case str():
                return self._compile_text(part, follow)
            case Alternatives(branches):
                return tuple(index for branch in branches for index in self._compile_sequence(branch, follow))
            case Spans(texts):
                return tuple(index for text in texts for index in self._compile_spans(text, follow))
            case SeparatedList(item, joints):
                list_index = self._append_text(b"")
                after_joint = tuple(index for joint in joints for index in self._compile_text(joint, (list_index,)))
                self._list_entries[list_index] = self._compile_node(item, follow + after_joint)
                return (list_index,)

    def _compile_text(self, text: str, follow: tuple[int, ...]) -> tuple[int, ...]:
        if not text:
            return follow
        if not self._vocabulary.can_spell(text):
            return ()
        start = len(self._buffer)
        self._continuations[self._append_text(text.encode())] = follow
        return (start,)

    def _compile_spans(self, text: str, follow: tuple[int, ...]) -> list[int]:
        entries: list[int] = []
        previous_end = 0  # end of the previous word
        for word_start, end in word_spans(text):
            word, separator = text[word_start:end], text[previous_end:word_start]
            if not self._vocabulary.can_spell(word):
                continue
            if entries and self._vocabulary.can_spell(separator):  # a separator may contain skipped words
                self._buffer += separator.encode()
            elif entries:
                self._append_text(b"")
            entries.append(len(self._buffer))
            self._buffer += word.encode()
            self._continuations[len(self._buffer)] = follow
            previous_end = end
        self._append_text(b"")
        return entries


class Constraints:
    """Creates the constraints for one tokenizer: `for_page(goal, page)` returns the cached constraint of a goal and a page.

    Raises ValueError if the tokenizer is not supported; see `TokenVocabulary.from_tokenizer`.
    """

    def __init__(self, encoder: PromptEncoder) -> None:
        stop_ids = encoder.stop_ids
        vocabulary = TokenVocabulary.from_tokenizer(encoder.tokenizer, stop_ids)

        @lru_cache(maxsize=_MAX_CACHED)
        def for_page(goal: str, page: str) -> Constraint:
            return Constraint(action_language(goal, page), vocabulary, stop_ids)

        self.for_page = for_page


def create_constraints(encoder: PromptEncoder, *, constrained: bool, system: Style) -> Constraints | None:
    """Return the constraints of replies, or None if `constrained` is False.

    Raises ValueError if `system` asks for thoughts before the action, since constrained replies consist of an action only.
    """
    if constrained and system in THINKING:
        raise ValueError(
            f"system is {system!r}, which asks for thoughts, but constrained replies are actions only; expected 'none', 'act' or 'env'"
        )
    return Constraints(encoder) if constrained else None
