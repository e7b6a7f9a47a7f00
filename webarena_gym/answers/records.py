"""The fields of records: JSON, YAML, XML, tables. Which of them claim what was asked, and which tell something else.

A field's label says what its value is. Where one field has the wanted value, the fields whose labels fit the goal less tell other
things of the same record: the price beside the name that was asked for. One whose label fits as well or better is a rival.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from webarena_gym.answers.lexicon import FIELDS, FUNCTION, word_set
from webarena_gym.answers.references import Part
from webarena_gym.answers.scopes import Known
from webarena_gym.answers.sentences import Sentence, stem

_LONGEST_LABEL = 8  # tokens
_OTHER = word_set("other others another next previous excluded before after second")
_GENERIC = word_set("name title value result answer count total number amount text full")


class _Field(NamedTuple):
    sentence: int
    start: int
    value: int
    end: int


def without_other_fields(said: Sequence[Sentence], parts: Sequence[Part], known: Known) -> list[Sentence]:
    """Return the sentences without the fields of records that tell something else than the fields with the wanted values."""
    fields = [each for number, sentence in enumerate(said) if sentence.kind == "row" for each in _fields(sentence, number)]
    if len(fields) < 2:
        return list(said)
    holds = [_parts_in(each, said, parts) for each in fields]
    scores = [_score(each, said, known) for each in fields]
    best = [
        max((score for score, held in zip(scores, holds, strict=True) if place in held and score is not None), default=None)
        for place in range(len(parts))
    ]
    found = [score for score in best if score is not None]
    if not found:
        return list(said)
    least = min(found)
    dropped: dict[int, set[int]] = {}
    for each, score, held in zip(fields, scores, holds, strict=True):
        if not held and score is not None and score < least:
            dropped.setdefault(each.sentence, set()).update(range(each.start, each.end))
    kept: list[Sentence] = []
    for number, sentence in enumerate(said):
        tokens = [token for index, token in enumerate(sentence.tokens) if index not in dropped.get(number, ())]
        if any(token.kind != "mark" for token in tokens):
            kept.append(replace(sentence, tokens=tokens, depths=[]) if number in dropped else sentence)
    return kept


def _fields(sentence: Sentence, number: int) -> Iterator[_Field]:
    """The fields of a row: from a semicolon to the next, with a label before a colon."""
    tokens = sentence.tokens
    start = 0
    for end in [*(index for index, token in enumerate(tokens) if token.norm == ";"), len(tokens)]:
        colon = next((index for index in range(start, min(end, start + _LONGEST_LABEL)) if tokens[index].norm == ":"), -1)
        if colon > start:
            yield _Field(number, start, colon + 1, end)
        start = end


def _parts_in(each: _Field, said: Sequence[Sentence], parts: Sequence[Part]) -> set[int]:
    """Which of the wanted parts the value of a field has."""
    held: set[int] = set()
    for token in said[each.sentence].tokens[each.value : each.end]:
        for place, part in enumerate(parts):
            if part.value is None:
                if token.kind == "ref" and token.ref // 2 == place:
                    held.add(place)
            elif (token.value is not None and token.value.amount in (part.value.amount, *_bare(part))) or (
                part.kind == "code" and token.text.lstrip("0#") == str(part.value.amount).lstrip("0")
            ):
                held.add(place)
    return held


def _bare(part: Part) -> Iterator[float]:
    """The number that stands for a part's value without its unit."""
    if part.value is not None and part.scale and isinstance(part.value.amount, float | int):
        yield round(float(part.value.amount) / part.scale, 6)


def _score(each: _Field, said: Sequence[Sentence], known: Known) -> float | None:
    """How well a label fits the goal: words of the goal speak for it, others against; None for a label of grammar alone."""
    words = [
        token.norm
        for token in said[each.sentence].tokens[each.start : each.value]
        if token.kind in ("word", "echo", "ref", "value") and (token.norm not in FUNCTION or token.norm in _OTHER)
    ]
    if not words:
        return None
    score = 0.0
    for word in words:
        if word in _OTHER:
            score -= 2
        elif known.asks(word):
            score += 1
        elif known.like(word):
            score += 0.5
        elif word not in _GENERIC:
            score -= 0.5 if word in FIELDS or stem(word) in FIELDS else 1
    return score
