"""Batches of choices of a pointing network, for one forward pass."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from agents.models.pointer.features import Reader
from agents.models.pointer.network import PointerNetwork, Vocabulary
from agents.models.pointer.recall import Choice


@dataclass(frozen=True, slots=True)
class ChoiceBatch:
    """N choices, ordered by sample. `samples` are the indices of the samples in that order, `lengths` how many choices each has."""

    choices: tuple[Choice, ...]
    samples: tuple[int, ...]
    lengths: tuple[int, ...]
    reader: Reader

    def spread(self, values_S: Sequence[float]) -> Tensor:
        """Return one value per choice, shape (N,), from one value for each sample of the list that was packed."""
        values = torch.tensor([values_S[index] for index in self.samples], dtype=torch.float32)
        return values.repeat_interleave(torch.tensor(self.lengths))


def pack_choices(
    choices_S: Sequence[Sequence[Choice]], samples: Sequence[int], most: int, reader: Reader
) -> Iterator[ChoiceBatch]:
    """Yield batches of whole samples, of at most `most` candidates each or of one sample; `samples` numbers them.

    The candidates of a question that several choices answer count once.
    """
    start, room = 0, most
    known = set[int]()
    for end, own in enumerate(choices_S):
        if end > start and _count(own, known) > room:
            yield _batch(choices_S[start:end], samples[start:end], reader)
            start, room = end, most
            known.clear()
        room -= _count(own, known)
        known.update(id(choice.question) for choice in own)
    if start < len(choices_S):
        yield _batch(choices_S[start:], samples[start:], reader)


def choice_logprobs(network: PointerNetwork, batch: ChoiceBatch, vocabulary: Vocabulary, temperature: float = 1.0) -> Tensor:
    """Return the log-probability of each choice, shape (N,). A question that several choices answer is scored once."""
    order: list[int] = []
    found: list[Tensor] = []
    for stage in range(len(network.scorers)):
        own = [place for place, choice in enumerate(batch.choices) if choice.question.stage == stage]
        if own:
            distinct = {id(batch.choices[place].question): batch.choices[place].question for place in own}
            numbers = {key: number for number, key in enumerate(distinct)}
            scores = network(list(distinct.values()), batch.reader.texts, vocabulary)
            asked = torch.tensor([numbers[id(batch.choices[place].question)] for place in own])
            taken = torch.tensor([batch.choices[place].place for place in own])
            found.append(scores.logprobs_of(asked, taken, temperature))
            order += own
    return torch.cat(found)[torch.tensor(order).argsort()]


def _count(choices: Sequence[Choice], known: Collection[int]) -> int:
    """Return how many candidates the questions have that are not known, by their ids."""
    rows = {id(choice.question): len(choice.question.rows.slots) for choice in choices}
    return sum(count for key, count in rows.items() if key not in known)


def _batch(choices_S: Sequence[Sequence[Choice]], samples: Sequence[int], reader: Reader) -> ChoiceBatch:
    flat = tuple(choice for own in choices_S for choice in own)
    return ChoiceBatch(flat, tuple(samples), tuple(map(len, choices_S)), reader)
