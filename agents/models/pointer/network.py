"""The network: one score for each candidate of each question, from the texts around it, its numbers and its context.

Its batches, its checkpoints, and ensembles of networks are here, too.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.models.checkpoints import find_model
from agents.models.ensembles import EnsembleWeights
from agents.models.pointer.decoding import ACT, JOIN, PIECE, Choice, Question
from agents.models.pointer.goals import words_of
from agents.models.pointer.labels import LABELS, Labels
from agents.models.pointer.memory import MemoryRead, StepMemory, load_memory
from agents.models.pointer.reader import (
    ACT_NUMBERS,
    ACT_SLOTS,
    CONTEXT_NUMBERS,
    CONTEXT_SLOTS,
    PIECE_NUMBERS,
    PIECE_SLOTS,
    Reader,
    StringTable,
    distinct,
)  # fmt: skip

UNKNOWN = ("<name>", "<number>")
WEIGHTS, RECORD, MEMORY = "pointer.safetensors", "pointer.json", "memory.json"


class Vocabulary:
    """The words that the network knows, and the ids of the texts of a reader."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        self._texts: WeakKeyDictionary[StringTable, _Encoded] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: StringTable, wanted: NDArray[numpy.int64]) -> tuple[Tensor, Tensor]:
        """Return word ids of the wanted texts one after another, and where each begins."""
        encoded = self._texts.setdefault(texts, _Encoded())
        ids = self._ids.get
        for text in texts.known[encoded.count :]:
            words = [self.id_of(token) if (found := ids(token)) is None else found for token in tokens_of(text)]
            encoded.add([word for word in words if word >= 0])
        flat, offsets = encoded.take(wanted)
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


class _Encoded:
    """Word ids of texts one after another, in arrays that grow by doubling."""

    def __init__(self) -> None:
        self.count = 0
        self._words = numpy.zeros(1_024, numpy.int32)
        self._starts = numpy.zeros(1_024, numpy.int64)  # of each text, and where the last one ends

    def add(self, words: Sequence[int]) -> None:
        """Add the next text."""
        start = int(self._starts[self.count])
        end = start + len(words)
        while end > len(self._words):
            self._words = numpy.concatenate([self._words, numpy.zeros_like(self._words)])
        if self.count + 2 > len(self._starts):
            self._starts = numpy.concatenate([self._starts, numpy.zeros_like(self._starts)])
        self._words[start:end] = words
        self.count += 1
        self._starts[self.count] = end

    def take(self, wanted: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Return the word ids of the wanted texts one after another, and where each begins."""
        starts = self._starts[wanted]
        lengths = self._starts[wanted + 1] - starts
        ends = lengths.cumsum()
        offsets = ends - lengths
        places = numpy.arange(ends[-1] if len(ends) else 0) + (starts - offsets).repeat(lengths)
        return self._words[places].astype(numpy.int64), offsets


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

    def logprobs_of(self, questions: Tensor, places: Tensor, temperature: float = 1.0) -> Tensor:
        """Return the log-probabilities of candidates by the number of their question and their place in it, shape (N,)."""
        lengths = torch.tensor(self.lengths)
        owners = torch.arange(len(lengths)).repeat_interleave(lengths)
        values = self.values.double() / temperature  # many small probabilities are added one after another
        largest = values.detach().new_full((len(lengths),), -torch.inf).scatter_reduce(0, owners, values.detach(), "amax")
        sums = torch.zeros_like(largest).index_add(0, owners, (values - largest[owners]).exp())
        starts = lengths.cumsum(0) - lengths
        return (values[starts[questions] + places] - (largest + sums.log())[questions]).float()


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
    """Scores candidates of questions of one stage. What else was read changes no score: texts are computed in the questions' order."""

    def __init__(self, vocabulary: int, width: int = 48, hidden: int = 96, dropout: float = 0.0, scale: float = 0.5) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary, width, mode="sum")
        nn.init.normal_(self.embedding.weight, std=scale)
        sizes = {ACT: (ACT_SLOTS, ACT_NUMBERS), PIECE: (PIECE_SLOTS, PIECE_NUMBERS), JOIN: (PIECE_SLOTS, PIECE_NUMBERS)}
        self.scorers = nn.ModuleList(_Scorer(*sizes[stage], width, hidden, dropout) for stage in (ACT, PIECE, JOIN))
        self.width, self.hidden = width, hidden
        self.dropout = nn.Dropout(dropout)
        self.memory: StepMemory | None = None
        self.labels: Labels | None = None  # of training pages, for `label_reader`
        self.read: MemoryRead | None = None

    def remember(self, memory: StepMemory) -> None:
        """Read from this memory from now on, with a new read if there is none. Questions must be made by a reader with the memory."""
        self.memory, self.read = memory, self.read or MemoryRead()

    def forward(self, questions: Sequence[Question], texts: StringTable, vocabulary: Vocabulary) -> Scores:
        """Return the scores of all candidates of questions of one stage."""
        slots = numpy.concatenate([question.rows.slots for question in questions])
        numbers = torch.from_numpy(numpy.concatenate([question.rows.numbers for question in questions])).float()
        lengths = tuple(len(question.rows.slots) for question in questions)
        shared = numpy.stack([question.context.slots for question in questions])
        wanted, named = distinct(numpy.concatenate([shared.ravel(), slots.ravel()]), len(texts.known))
        flat, offsets = vocabulary.encode(texts, wanted)
        counts = torch.diff(offsets, append=torch.tensor([len(flat)]))
        embedded = self.embedding(flat, offsets) * counts.clamp(min=1).float().rsqrt()[:, None]
        embedded = self.dropout(embedded)
        contexts = embedded[torch.from_numpy(named[: shared.size])].view(len(questions), -1)
        contexts = torch.cat([contexts, torch.from_numpy(numpy.stack([question.context.numbers for question in questions]))], 1)
        owners = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
        columns = named[shared.size :].reshape(slots.shape).T
        parts = [tuple(map(torch.from_numpy, distinct(column, len(wanted)))) for column in columns]
        values = self.scorers[questions[0].stage](embedded, parts, numbers, contexts, owners)
        if self.read is not None and questions[0].stage == ACT:
            recalled = [question.recalled for question in questions if question.recalled is not None]
            if len(recalled) < len(questions):
                raise ValueError("a question recalls nothing; expected one of a reader with the network's memory")
            values = values + self.read(recalled, owners)
        return Scores(values, lengths)

    def save_pretrained(self, folder: Path) -> None:
        """Write the parameters into a folder, in which `Vocabulary.save_pretrained` writes the words."""
        save_file({name: value.contiguous() for name, value in self.state_dict().items()}, folder / WEIGHTS)
        if self.memory is not None:
            self.memory.save(folder / MEMORY)
        if self.labels is not None:
            (folder / LABELS).write_text(json.dumps(self.labels, ensure_ascii=False), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ChoiceBatch:
    """N choices, ordered by sample. `samples` are the indices of the samples in that order, `lengths` how many choices each has."""

    choices: tuple[Choice, ...]
    samples: tuple[int, ...]
    lengths: tuple[int, ...]
    reader: Reader


def pack_choices(
    choices_S: Sequence[Sequence[Choice]], samples: Sequence[int], most: int, reader: Reader
) -> Iterator[ChoiceBatch]:
    """Yield batches of whole samples, of at most `most` candidates or one sample; those of a question that is asked again count once."""
    start, room = 0, most
    known = set[int]()
    for end, own in enumerate([*choices_S, ()]):
        counts = {id(choice.question): len(choice.question.rows.slots) for choice in own}
        added = sum(count for key, count in counts.items() if key not in known)
        if end > start and (added > room or end == len(choices_S)):
            members = choices_S[start:end]
            flat = tuple(choice for each in members for choice in each)
            yield ChoiceBatch(flat, tuple(samples[start:end]), tuple(map(len, members)), reader)
            start, room, added = end, most, sum(counts.values())
            known.clear()
        room -= added
        known.update(counts)


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


def load_pointer(source: str | Path) -> tuple[PointerNetwork, Vocabulary]:
    """Return the network of a folder or of a run's newest checkpoint, ready to be used, and its words. Dropout is 0."""
    folder = Path(find_model(source))
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    parameters = load_file(folder / WEIGHTS)
    _, width, hidden = parameters["scorers.0.slots"].shape
    network = PointerNetwork(len(record["words"]), width, hidden)
    if (folder / MEMORY).is_file():
        network.remember(load_memory(folder / MEMORY))
    if (folder / LABELS).is_file():
        network.labels = json.loads((folder / LABELS).read_text(encoding="utf-8"))
    network.load_state_dict(parameters)
    network.eval()
    return network, Vocabulary(record["words"])


class PointerEnsemble(nn.Module):
    """Networks, each with words of its own, whose scores are the logarithm of their mean probabilities.

    All of them are asked the same question, so the mean is one over the same candidates (Boltzmann addition, as LLM-Ens calls it).
    """

    def __init__(self, members: Sequence[tuple[PointerNetwork, Vocabulary]], weights: EnsembleWeights) -> None:
        super().__init__()
        if any(network.memory is not None for network, _ in members):
            raise ValueError("a member reads a memory of steps; expected networks without memory in an ensemble")
        self.networks = nn.ModuleList(network for network, _ in members)
        self._vocabularies = [vocabulary for _, vocabulary in members]
        self._weights = weights

    def forward(self, questions: Sequence[Question], texts: StringTable, vocabulary: Vocabulary) -> Scores:  # noqa: ARG002 - each has its own
        """Return the logarithm of the weighted mean of the networks' probabilities, for questions of one stage."""
        scored = [
            network(questions, texts, own).logprobs() for network, own in zip(self.networks, self._vocabularies, strict=True)
        ]
        found = []
        for number, question in enumerate(questions):
            host = texts.known[int(question.context.slots[1])].rpartition("#host_")[2]  # of the page, as the context names it
            voices = torch.tensor(self._weights.for_situation(host))
            logprobs = torch.stack([own[number] for own in scored])
            found.append((logprobs + (voices / voices.sum()).log()[:, None]).logsumexp(0))
        return Scores(torch.cat(found), tuple(map(len, found)))
