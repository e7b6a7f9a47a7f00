"""Vocabularies: the tokens of a tokenizer as the bytes that they add to a text."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from agents.data.tokens import Ids
from agents.models.small import WORD

MARK = ord(WORD)
"""The byte of the house's tokenizer that is written as a blank after a letter or digit, and else as nothing."""

_TRIED = 'do(action="Type", argument="5 Größen, \\"naïve\\" 日本", element="Add to Cart [2]")'
_BLANK = "\u2581"  # SentencePiece's


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
        kinds = {part["type"] for part in _parts(decoder)}
        added = tokenizer.added_tokens_decoder
        special = set(tokenizer.all_special_ids) | {token for token, content in added.items() if content.special}
        ids: dict[bytes, list[int]] = defaultdict(list)
        by_id: dict[int, bytes] = {}
        for content, token in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
            if token in added:
                written = content.encode()
            elif "ByteLevel" in kinds:
                written = _bytes_of(content)
            else:
                written = _byte_fallback(content) or content.replace(_BLANK, " ").encode()
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


def _parts(decoder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a decoder's description and those of its parts."""
    yield decoder if decoder else {"type": ""}
    for part in decoder.get("decoders", ()):
        yield from _parts(part)


def _byte_fallback(content: str) -> bytes:
    """Return the byte of a token such as <0x0A>; else nothing."""
    if len(content) == 6 and content.startswith("<0x") and content.endswith(">"):
        return bytes((int(content[3:5], 16),))
    return b""


def _byte_characters() -> dict[str, int]:
    """Return the characters that stand for bytes in byte-level vocabularies (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + number): byte for number, byte in enumerate(others)}


_CHARACTERS = _byte_characters()


def _bytes_of(content: str) -> bytes:
    """Return the bytes of a token of a byte-level vocabulary."""
    return bytes(_CHARACTERS[character] for character in content) if set(content) <= _CHARACTERS.keys() else content.encode()


def _unmarked(spelled: bytes) -> bytes:
    """Return a text as decoding writes it: marks are blanks after letters and digits, and else nothing."""
    written = ""
    for character in spelled.decode(errors="replace"):
        if character != WORD:
            written += character
        elif written[-1:].isalnum():
            written += " "
    return written.encode()
