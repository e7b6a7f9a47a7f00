"""What an answer says about the asked thing, and what it says about others.

A goal tells its thing from others of its kind by constraints: the number of an order, a month, a name, "the forum food", a rank, "the
most", "closed". An answer need not repeat them. A clause that names something else in the place of a constraint ("the forum books", "in
May 2018", "the oldest") speaks of something else: it neither answers nor contradicts the answer, and is left out before the comparison.
"""

from collections.abc import Sequence
from dataclasses import replace

from webarena_gym.answers.attributes import (
    another,
    joins_unknown_name,
    one_of_joined,
    other_degree,
    other_most,
    other_number,
    other_rank,
    other_side,
)
from webarena_gym.answers.clauses import clauses_of, fields_of, is_claim, labels_are_things, points_back
from webarena_gym.answers.lexicon import FUNCTION, word_set
from webarena_gym.answers.scopes import Known, negated
from webarena_gym.answers.sentences import Sentence
from webarena_gym.answers.things import compared_with, other_mark, other_name, other_noun, other_quotation, other_title
from webarena_gym.answers.topic import Topic, is_mentioned

_DONE = word_set("success successful succeeded done ok finished")  # what an answer says of its own work
_SHORT = 8  # tokens of a field that names a thing
_RELATIVE = word_set("which who that whose")


def without_other_records(
    said: Sequence[Sentence], topic: Topic, known: Known, kinds: frozenset[str]
) -> tuple[list[Sentence], str]:
    """Return the sentences without the records of something else, and what the last of those is of."""
    is_named = any(is_mentioned(token, topic) for sentence in said for token in sentence.tokens)
    kept: list[Sentence] = []
    other = ""
    for sentence in said:
        clause = list(range(len(sentence.tokens)))
        if sentence.kind == "row" and not labels_are_things(sentence.tokens, fields_of(sentence.tokens)):
            why = _identity(sentence, clause, topic, known, kinds) or ("" if is_named else other_title(sentence, topic, known))
            if why and _is_field_of_record(sentence):
                return [each for each in said if each.kind != "row"], why
            if not why and not _is_field_of_record(sentence):
                why = other_name(sentence, clause, topic, known, kinds, is_named=is_named)
            if why:
                other = why
                continue
        kept.append(sentence)
    return kept, other


def other_field(said: Sequence[Sentence], topic: Topic, known: Known, kinds: frozenset[str]) -> str:
    """Return the other thing that a short field beside a marked answer names: {"order": "258", "answer": "$5.00"}; empty without one."""
    for sentence in said:
        is_alone = sum(each.at == sentence.at for each in said[: _SHORT * _SHORT]) == 1
        if sentence.kind == "row" and is_alone and len(sentence.tokens) <= _SHORT and sentence.tokens[-1].norm not in _DONE:
            why = _identity(sentence, range(len(sentence.tokens)), topic, known, kinds)
            if why:
                return why
    return ""


def about_asked(said: Sequence[Sentence], topic: Topic, known: Known, kinds: frozenset[str]) -> tuple[list[Sentence], str]:
    """Return the sentences without the clauses that speak of something else, and what the last of those speaks of."""
    found: list[Sentence] = []
    other = ""
    is_named = any(is_mentioned(token, topic) for sentence in said for token in sentence.tokens)
    for sentence in said:
        if sentence.is_question or any(token.norm == "=" for token in sentence.tokens):
            found.append(sentence)
            continue
        kept: list[int] = []
        before = prior = ""
        for clause in clauses_of(sentence, kinds, topic):
            why = _identity(sentence, clause, topic, known, kinds)
            if why and sentence.kind == "row" and _is_field_of_record(sentence):
                return [each for each in said if each.kind != "row"], why
            why = why or _attribute(sentence, clause, topic, known, kinds, is_named=is_named)
            if not why and before and sentence.tokens[clause[0]].norm in _RELATIVE:
                why = before
            prior, before = before, why or compared_with(sentence, clause)
            if why:
                other = why
                if not prior and points_back(sentence, clause):
                    kept, found = [], []
            else:
                kept += clause
        if len(kept) == len(sentence.tokens):
            found.append(sentence)
        elif kept:
            tokens = [sentence.tokens[index] for index in sorted(kept)]
            if any(token.kind != "mark" for token in tokens):
                found.append(replace(sentence, tokens=tokens, depths=[]))
    return found, other


def _is_field_of_record(sentence: Sentence) -> bool:
    """Whether a row is one field, whose value says what the whole record is about."""
    norms = [token.norm for token in sentence.tokens]
    return ";" not in norms and ":" in norms[1:5]


def _identity(sentence: Sentence, clause: Sequence[int], topic: Topic, known: Known, kinds: frozenset[str]) -> str:
    """Return which other thing a clause names as what it is about, empty when it names none."""
    tokens = [sentence.tokens[index] for index in clause]
    if all(token.kind in ("ref", "mark") for token in tokens) or (
        sentence.kind == "item" and not any(is_claim(token, kinds) for token in tokens)
    ):
        return ""
    return other_mark(tokens, topic, kinds) or other_noun(tokens, topic, known, is_row=sentence.kind == "row")


def _attribute(
    sentence: Sentence, clause: Sequence[int], topic: Topic, known: Known, kinds: frozenset[str], *, is_named: bool
) -> str:
    """Return what else than the goal asks a clause says of a thing, empty when it says nothing else."""
    tokens = [sentence.tokens[index] for index in clause]
    if topic.is_closed:
        return other_name(sentence, clause, topic, known, kinds, is_named=is_named)
    if not any(token.kind not in ("mark", "ref") and token.norm not in FUNCTION - topic.ranked for token in tokens):
        return ""
    flags = negated(sentence)
    denied = [flags[index] for index in clause]
    return (
        other_number(tokens, topic)
        or other_rank(tokens, topic)
        or other_degree(tokens, denied, topic, is_row=sentence.kind == "row")
        or other_side(tokens, denied, topic, is_row=sentence.kind == "row")
        or other_most(tokens, topic)
        or one_of_joined(tokens, topic, has_other=joins_unknown_name(tokens, known))
        or another(tokens, topic)
        or other_name(sentence, clause, topic, known, kinds, is_named=is_named)
        or ("" if is_named else other_quotation(tokens, topic, known, kinds))
    )
