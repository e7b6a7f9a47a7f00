"""Behaviour cloning of a pointing network: an expert's steps as decisions, and the loss of imitating them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from agents.models.pointer.decoding import Decision, Question
from agents.models.pointer.network import UNKNOWN, PointerNetwork, Vocabulary, tokens_of
from agents.models.pointer.reader import Reader, Rows


class Imitation(NamedTuple):
    """A decision to imitate: the question with a sample of its wrong candidates, which stand last."""

    question: Question
    right: int  # so many candidates, the first, are right
    wrong_weight: float  # each wrong one stands for so many
    world: str  # of the task
    kind: str = ""  # the template, for reports


def sample_wrong(decision: Decision, most: int, rng: numpy.random.Generator, world: str, kind: str = "") -> Imitation:
    """Return the decision with at most so many wrong candidates, drawn alike."""
    question, right = decision
    count = len(question.rows.slots)
    is_right = numpy.zeros(count, bool)
    is_right[list(right)] = True
    wrong = numpy.flatnonzero(~is_right)
    weight = 1.0
    if len(wrong) > most:
        weight = len(wrong) / most
        wrong = rng.choice(wrong, most, replace=False)
    chosen = numpy.concatenate([numpy.array(right, numpy.int64), wrong])
    rows = Rows(question.rows.slots[chosen], question.rows.numbers[chosen].astype(numpy.float16))
    return Imitation(Question(question.stage, question.context, rows, ()), len(right), weight, world, kind)


def thinned(item: Imitation, most: int, rng: numpy.random.Generator) -> Imitation:
    """Return the item with at most so many of its wrong candidates, drawn anew."""
    rows, right = item.question.rows, item.right
    wrong = len(rows.slots) - right
    if wrong <= most:
        return item
    chosen = numpy.concatenate([numpy.arange(right), right + rng.choice(wrong, most, replace=False)])
    rows = Rows(rows.slots[chosen], rows.numbers[chosen])
    return item._replace(question=item.question._replace(rows=rows), wrong_weight=item.wrong_weight * wrong / most)


def build_vocabulary(reader: Reader, imitations: Sequence[Imitation]) -> Vocabulary:
    """Return the marks of the imitations, and the words that stand in more than one world, so that no world's names are among them."""
    worlds: dict[int, set[str]] = {}
    for item in imitations:
        for number in {*item.question.rows.slots.ravel().tolist(), *item.question.context.slots.tolist()}:
            worlds.setdefault(number, set()).add(item.world)
    of_words: dict[str, set[str]] = {}
    for number, found in worlds.items():
        for token in tokens_of(reader.texts.known[number]):
            of_words.setdefault(token, set()).update(found)
    least = min(2, len({item.world for item in imitations}))
    words = sorted(token for token, found in of_words.items() if len(found) >= least)
    return Vocabulary([*UNKNOWN, *(word for word in words if word not in UNKNOWN)])


def imitation_logprobs(network: PointerNetwork, reader: Reader, vocabulary: Vocabulary, items: Sequence[Imitation]) -> Tensor:
    """Return the log-probability that each item's choice is right, shape (N,), in no particular order."""
    found = []
    for stage in (0, 1, 2):
        own = [item for item in items if item.question.stage == stage]
        if not own:
            continue
        scores = network([item.question for item in own], reader.texts, vocabulary)
        for item, values in zip(own, scores.values.split(scores.lengths), strict=True):
            right = values[: item.right].logsumexp(0)
            if len(values) > item.right:
                wrong = values[item.right :].logsumexp(0) + float(numpy.log(item.wrong_weight))
                found.append(right - torch.logaddexp(right, wrong))
            else:
                found.append(right - right)
    return torch.stack(found)
