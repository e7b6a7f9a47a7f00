"""Behaviour cloning of a pointing network: an expert's steps as decisions, and the loss of imitating them."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from agents.data.demonstrations import Demonstration
from agents.models.pointer.features import Reader, Rows
from agents.models.pointer.network import UNKNOWN, PointerNetwork, Vocabulary, tokens_of
from agents.models.pointer.sessions import Decision, Question, Session, demonstrate
from webarena_gym.actions import Dialect


class Imitation(NamedTuple):
    """A decision to imitate: the question with a sample of its wrong candidates, which stand last."""

    question: Question
    right: int  # so many candidates, the first, are right
    wrong_weight: float  # each wrong one stands for so many
    world: str  # of the task
    kind: str = ""  # the template, for reports


@dataclass(frozen=True, kw_only=True)
class CloneSettings:
    """How a pointing network is cloned."""

    epochs: float = 6.0
    """passes over the decisions"""
    batch: int = 64
    """decisions in one update"""
    learning_rate: float = 4e-3
    """of AdamW at the start; it falls in a line to a thirtieth"""
    weight_decay: float = 0.05
    """of AdamW"""
    dropout: float = 0.1
    """part of the units that are left out while training"""
    width: int = 48
    """of the embedding of a word"""
    hidden: int = 96
    """units of a hidden layer"""
    kept_wrong: int = 500
    """wrong candidates that are kept of a decision"""
    wrong: int = 150
    """of them that one update looks at, drawn anew each time"""
    threads: int = 1
    """CPU threads"""
    seed: int = 0
    """of the weights and the order of the data"""


def decisions_of(episode: Sequence[Demonstration], reader: Reader, dialect: Dialect) -> tuple[list[Decision], bool]:
    """Return the decisions of an episode up to the first action that no choices make, and whether there is none such."""
    found: list[Decision] = []
    session: Session | None = None
    for step in episode:
        newest = step.messages[-1]["content"].partition("\n\n")[2] if len(step.messages) > 1 else ""
        if session is None:
            head, _, rest = step.messages[0]["content"].partition("\n\n")
            session = Session(reader, head.removeprefix("Task Instruction: "))
            newest = newest or rest.partition("\n\n")[2]
        decisions, is_whole = demonstrate(session, newest, dialect.parse(step.reply), has_error=False)
        found += decisions
        if not is_whole:
            return found, False
    return found, True


def clone(
    imitations: Sequence[Imitation],
    reader: Reader,
    settings: CloneSettings,
    on_update: Callable[[float, float], object] = lambda *_: None,
) -> tuple[PointerNetwork, Vocabulary]:
    """Return a network that imitates, and its words. `on_update` is told the part that is done and the loss."""
    torch.manual_seed(settings.seed)
    order_rng, rng = random.Random(settings.seed), numpy.random.default_rng(settings.seed)
    vocabulary = build_vocabulary(reader, imitations)
    network = PointerNetwork(len(vocabulary), settings.width, settings.hidden, settings.dropout)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, betas=(0.9, 0.99), weight_decay=settings.weight_decay
    )
    total = max(1, int(settings.epochs * len(imitations) / settings.batch))
    order: list[int] = []
    for update in range(total):
        if len(order) < settings.batch:
            order += order_rng.sample(range(len(imitations)), len(imitations))
        part = [thinned(imitations[place], settings.wrong, rng) for place in order[: settings.batch]]
        del order[: settings.batch]
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * min(1.0, (update + 1) / 20) * max(0.03, 1 - update / total)
        loss = -imitation_logprobs(network, reader, vocabulary, part).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        on_update((update + 1) / total, loss.item())
    network.eval()
    return network, vocabulary


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


def accuracy(
    network: PointerNetwork, reader: Reader, vocabulary: Vocabulary, items: Iterable[Imitation]
) -> dict[int, list[bool]]:
    """Return by stage whether the best candidate of each item is a right one."""
    found: dict[int, list[bool]] = {0: [], 1: [], 2: []}
    known = list(items)
    with torch.no_grad():
        for stage, known_right in found.items():
            own = [item for item in known if item.question.stage == stage]
            for start in range(0, len(own), 128):
                part = own[start : start + 128]
                scores = network([item.question for item in part], reader.texts, vocabulary)
                for item, values in zip(part, scores.values.split(scores.lengths), strict=True):
                    known_right.append(int(values.argmax()) < item.right)
    return found
