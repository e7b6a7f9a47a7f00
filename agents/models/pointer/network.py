"""The network: one score for each candidate of each question, from the texts around it, its numbers and what the question is about."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from agents.models.pointer.features import (
    ACT_NUMBERS,
    ACT_SLOTS,
    CONTEXT_NUMBERS,
    CONTEXT_SLOTS,
    PIECE_NUMBERS,
    PIECE_SLOTS,
    Texts,
)
from agents.models.pointer.goals import words_of
from agents.models.pointer.sessions import ACT, JOIN, PIECE, Question

UNKNOWN = ("<name>", "<number>")
WEIGHTS, RECORD = "pointer.safetensors", "pointer.json"


class Vocabulary:
    """The words that the network knows, and the ids of the texts of a reader."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        self._texts: WeakKeyDictionary[Texts, list[NDArray[numpy.int64]]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: Texts, wanted: NDArray[numpy.int64]) -> tuple[Tensor, Tensor]:
        """Return word ids of the wanted texts one after another, and where each begins."""
        encoded = self._texts.setdefault(texts, [])
        for text in texts.known[len(encoded) :]:
            encoded.append(numpy.array([found for token in tokens_of(text) if (found := self.id_of(token)) >= 0], numpy.int64))
        parts = [encoded[number] for number in wanted]
        lengths = numpy.fromiter(map(len, parts), numpy.int64, len(parts))
        offsets = numpy.zeros(len(parts), numpy.int64)
        numpy.cumsum(lengths[:-1], out=offsets[1:])
        flat = numpy.concatenate(parts) if parts else numpy.zeros(0, numpy.int64)
        return torch.from_numpy(flat), torch.from_numpy(offsets)

    def id_of(self, token: str) -> int:
        """Return the id of a word, -1 for a mark that is not known; other words that are not known are names or numbers."""
        found = self._ids.get(token, -1)
        if found < 0 and not token.startswith("#") and "\x03" not in token:
            return self._ids["<number>" if token[:1].isdigit() else "<name>"]
        return found

    def save_pretrained(self, folder: Path) -> None:
        """Write the words into a folder, in which `PointerNetwork.save_pretrained` writes the parameters."""
        (folder / RECORD).write_text(json.dumps({"words": self.words}, ensure_ascii=False), encoding="utf-8")


def tokens_of(text: str) -> list[str]:
    """Return the words and marks ("#...") of a text; one that begins with a control character gives pairs of words, too."""
    if text.startswith("\x02"):
        words = words_of(text[1:])
        return [*words, *(f"{one}\x03{other}" for one, other in pairwise(words))]
    if "#" not in text:
        return list(words_of(text))
    found: list[str] = []
    for part in text.split(" "):
        found += [part] if part.startswith("#") else words_of(part)
    return found


class Scores(NamedTuple):
    """The scores of the candidates of several questions, one after another."""

    values: Tensor
    lengths: tuple[int, ...]

    def logprobs(self, temperature: float = 1.0) -> list[Tensor]:
        """Return the log-probabilities of each question's candidates."""
        return [(part / temperature).log_softmax(0) for part in self.values.split(self.lengths)]


class _Scorer(nn.Module):
    def __init__(self, slots: int, numbers: int, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.slots = nn.Parameter(torch.randn(slots, width, hidden) * (slots * width) ** -0.5)
        self.numbers = nn.Linear(numbers, hidden)
        self.context = nn.Sequential(
            nn.Linear(CONTEXT_SLOTS * width + CONTEXT_NUMBERS, hidden), nn.ReLU(), nn.Linear(hidden, 2 * hidden)
        )
        self.hidden = nn.Linear(hidden, hidden)
        self.score = nn.Linear(hidden, 1)

    def forward(
        self, embedded: Tensor, slots: Sequence[tuple[Tensor, Tensor]], numbers: Tensor, contexts: Tensor, owners: Tensor
    ) -> Tensor:
        # The sum over slots of the projected texts: each distinct text of a slot is projected once, then rows are gathered.
        table = torch.cat([embedded[unique] @ weight for weight, (unique, _) in zip(self.slots, slots, strict=True)])
        places, start = [], 0
        for unique, inverse in slots:
            places.append(inverse + start)
            start += len(unique)
        own = self.numbers(numbers) + nn.functional.embedding_bag(torch.stack(places, 1), table, mode="sum")
        shift, gain = self.context(contexts).chunk(2, -1)
        hidden = self.dropout(torch.relu(own * (1 + gain[owners]) + shift[owners]))
        hidden = hidden + torch.relu(self.hidden(hidden))
        scores: Tensor = self.score(hidden)[:, 0]
        return scores


class PointerNetwork(nn.Module):
    """Scores candidates. `forward` takes questions of one stage.

    Texts are computed in the order in which the questions name them, so that the scores do not depend on what else was read.
    """

    def __init__(self, vocabulary: int, width: int = 48, hidden: int = 96, dropout: float = 0.0, scale: float = 0.5) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary, width, mode="sum")
        nn.init.normal_(self.embedding.weight, std=scale)
        sizes: Mapping[int, tuple[int, int]] = {
            ACT: (ACT_SLOTS, ACT_NUMBERS),
            PIECE: (PIECE_SLOTS, PIECE_NUMBERS),
            JOIN: (PIECE_SLOTS, PIECE_NUMBERS),
        }
        self.scorers = nn.ModuleList(_Scorer(*sizes[stage], width, hidden, dropout) for stage in (ACT, PIECE, JOIN))
        self.width, self.hidden = width, hidden
        self.dropout = nn.Dropout(dropout)

    def forward(self, questions: Sequence[Question], texts: Texts, vocabulary: Vocabulary) -> Scores:
        """Return the scores of all candidates of questions of one stage."""
        slots = numpy.concatenate([question.rows.slots for question in questions])
        numbers = torch.from_numpy(numpy.concatenate([question.rows.numbers for question in questions])).float()
        lengths = tuple(len(question.rows.slots) for question in questions)
        shared = numpy.stack([question.context.slots for question in questions])
        place = numpy.full(len(texts.known), -1, numpy.int64)
        wanted = _distinct(numpy.concatenate([shared.ravel(), slots.ravel()]), place)
        flat, offsets = vocabulary.encode(texts, wanted)
        counts = torch.diff(offsets, append=torch.tensor([len(flat)]))
        embedded = self.embedding(flat, offsets) * counts.clamp(min=1).float().rsqrt()[:, None]
        embedded = self.dropout(embedded)
        contexts = embedded[torch.from_numpy(place[shared])].flatten(1)
        contexts = torch.cat([contexts, torch.from_numpy(numpy.stack([question.context.numbers for question in questions]))], 1)
        owners = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
        parts = []
        for column in range(slots.shape[1]):
            where = numpy.full(len(place), -1, numpy.int64)
            unique = _distinct(slots[:, column], where)
            parts.append((torch.from_numpy(place[unique]), torch.from_numpy(where[slots[:, column]])))
        return Scores(self.scorers[questions[0].stage](embedded, parts, numbers, contexts, owners), lengths)

    def save_pretrained(self, folder: Path) -> None:
        """Write the parameters into a folder, in which `Vocabulary.save_pretrained` writes the words."""
        save_file({name: value.contiguous() for name, value in self.state_dict().items()}, folder / WEIGHTS)


def _distinct(numbers: NDArray[numpy.int32], place: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    """Return the distinct numbers in the order of their first appearance, and write the place of each into `place`."""
    place[numbers[::-1]] = numpy.arange(len(numbers) - 1, -1, -1)  # of equal indices, the last assignment remains
    unique = numpy.flatnonzero(place >= 0)
    unique = unique[place[unique].argsort()]
    place[unique] = numpy.arange(len(unique))
    return unique
