"""Batches of choices of a pointing network, for one forward pass."""

from collections.abc import Iterator, Sequence
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
    """Yield batches of whole samples, of at most `most` candidates each or of one sample; `samples` numbers them."""
    start, room = 0, most
    for end, own in enumerate(choices_S):
        count = sum(len(choice.question.rows.slots) for choice in own)
        if end > start and count > room:
            yield _batch(choices_S[start:end], samples[start:end], reader)
            start, room = end, most
        room -= count
    if start < len(choices_S):
        yield _batch(choices_S[start:], samples[start:], reader)


def choice_logprobs(network: PointerNetwork, batch: ChoiceBatch, vocabulary: Vocabulary, temperature: float = 1.0) -> Tensor:
    """Return the log-probability of each choice, shape (N,)."""
    order: list[int] = []
    found: list[Tensor] = []
    for stage in range(len(network.scorers)):
        own = [place for place, choice in enumerate(batch.choices) if choice.question.stage == stage]
        if own:
            scores = network([batch.choices[place].question for place in own], batch.reader.texts, vocabulary)
            logprobs = scores.logprobs(temperature)
            found += [values[batch.choices[place].place] for place, values in zip(own, logprobs, strict=True)]
            order += own
    return torch.stack(found)[torch.tensor(order).argsort()]


def _batch(choices_S: Sequence[Sequence[Choice]], samples: Sequence[int], reader: Reader) -> ChoiceBatch:
    flat = tuple(choice for own in choices_S for choice in own)
    return ChoiceBatch(flat, tuple(samples), tuple(map(len, choices_S)), reader)
