"""The parts of a sentence between its commas, conjunctions and marks."""

from collections.abc import Sequence

from webarena_gym.answers.scopes import is_dash
from webarena_gym.answers.sentences import Sentence, Token

SEPARATORS = frozenset(",;|/&+:>=")
JOINING = frozenset(("and", "or", "nor", "plus", "vs", "versus"))


class Chunk:
    """A part of a sentence between two separators."""

    def __init__(self, start: int, separator: str) -> None:
        self.start = start
        self.end = start
        self.separator = separator

    def __len__(self) -> int:
        return self.end - self.start


def chunks(sentence: Sentence) -> list[Chunk]:
    """Part a sentence at its separators; parentheses belong to none."""
    found: list[Chunk] = []
    current = Chunk(0, "")
    tokens = sentence.tokens
    quotes = [index for index, token in enumerate(tokens) if token.norm == '"']
    quoted = {index for first, last in zip(quotes[::2], quotes[1::2], strict=False) for index in range(first, last)}
    for index, token in enumerate(tokens):
        is_separator = index not in quoted and (
            (token.kind == "mark" and token.norm in SEPARATORS) or token.norm in JOINING or is_dash(sentence, index)
        )
        if sentence.depths[index] and token.norm not in ("(", "["):
            continue
        if token.norm in ("(", "["):
            is_separator = True
        if is_separator and len(current) == 0 and current.separator and token.norm in JOINING:
            current = Chunk(index + 1, token.norm)  # ", or" is one separator
        elif is_separator:
            current.end = index
            found.append(current)
            current = Chunk(index + 1, token.norm)
        elif index in (current.start, current.end):
            current.end = index + 1
    current.end = len(tokens)
    found.append(current)
    return found


def norms_of(tokens: Sequence[Token], part: Chunk) -> str:
    """Return the words of a part, normalised."""
    return " ".join(token.norm for token in tokens[part.start : part.end] if token.kind == "word")


def text_of(tokens: Sequence[Token], start: int, end: int) -> str:
    """Return some tokens as they were said, cut at 80 characters."""
    return " ".join(token.text for token in tokens[start:end])[:80]
