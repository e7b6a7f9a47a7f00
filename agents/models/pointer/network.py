"""The pointer network, which scores each candidate of a question by its texts, its numbers and its context.

This module also contains its vocabulary, batches of choices, checkpoint loading, and ensembles of networks.
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
from agents.models.pointer.decoding import ACTION, JOIN, PIECE, Choice, Question
from agents.models.pointer.goals import words_of
from agents.models.pointer.labels import LABELS, Labels
from agents.models.pointer.memory import MemoryRead, StepMemory, load_memory
from agents.models.pointer.reader import (
    ACTION_NUMBERS,
    ACTION_SLOTS,
    CONTEXT_NUMBERS,
    CONTEXT_SLOTS,
    PIECE_NUMBERS,
    PIECE_SLOTS,
    Reader,
    StringTable,
    unique_in_order,
)  # fmt: skip

UNKNOWN_WORDS = ("<name>", "<number>")
WEIGHTS_FILE, RECORD_FILE, MEMORY_FILE = "pointer.safetensors", "pointer.json", "memory.json"


class Vocabulary:
    """The network's words, and the word ids of the texts of readers.

    Args:
        words: The words, including both `UNKNOWN_WORDS`. The id of a word is its index.

    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        self._texts: WeakKeyDictionary[StringTable, _EncodedTexts] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: StringTable, text_ids: NDArray[numpy.int64]) -> tuple[Tensor, Tensor]:
        """Return the concatenated word ids of texts, and the offset of each text, shape (T,).

        Args:
            texts: The string table of a reader. Its new texts are encoded and cached.
            text_ids: Ids of T texts in the table.

        """
        encoded = self._texts.setdefault(texts, _EncodedTexts())
        get_id = self._ids.get
        for text in texts.strings[encoded.count :]:
            words = [self.id_of(token) if (word_id := get_id(token)) is None else word_id for token in tokenize(text)]
            encoded.add([word for word in words if word >= 0])
        flat, offsets = encoded.take(text_ids)
        return torch.from_numpy(flat), torch.from_numpy(offsets)

    def id_of(self, token: str) -> int:
        """Return the id of a token.

        An unknown word has the id of "<number>" if it starts with a digit and of "<name>" otherwise. An unknown mark ("#...") or pair of
        words has the id -1.
        """
        word_id = self._ids.get(token, -1)
        if word_id < 0 and not token.startswith("#") and "\x03" not in token:
            return self._ids["<number>" if token[:1].isdigit() else "<name>"]
        return word_id

    def save_pretrained(self, folder: Path) -> None:
        """Write the words to a folder. `PointerNetwork.save_pretrained` writes the parameters to the same folder."""
        (folder / RECORD_FILE).write_text(json.dumps({"words": self.words}, ensure_ascii=False), encoding="utf-8")


class _EncodedTexts:
    """Concatenated word ids of texts, in arrays that grow by doubling."""

    def __init__(self) -> None:
        self.count = 0
        self._words = numpy.zeros(1_024, numpy.int32)
        self._starts = numpy.zeros(1_024, numpy.int64)  # start of each text, and the end of the last one

    def add(self, words: Sequence[int]) -> None:
        """Append the word ids of the next text."""
        start = int(self._starts[self.count])
        end = start + len(words)
        while end > len(self._words):
            self._words = numpy.concatenate([self._words, numpy.zeros_like(self._words)])
        if self.count + 2 > len(self._starts):
            self._starts = numpy.concatenate([self._starts, numpy.zeros_like(self._starts)])
        self._words[start:end] = words
        self.count += 1
        self._starts[self.count] = end

    def take(self, text_ids: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Return the concatenated word ids of texts, and the offset of each text."""
        starts = self._starts[text_ids]
        lengths = self._starts[text_ids + 1] - starts
        ends = lengths.cumsum()
        offsets = ends - lengths
        positions = numpy.arange(ends[-1] if len(ends) else 0) + (starts - offsets).repeat(lengths)
        return self._words[positions].astype(numpy.int64), offsets


def tokenize(text: str) -> list[str]:
    r"""Return the words and marks ("#...") of a text. A text that starts with "\x02" is a goal; its pairs of adjacent words are appended."""
    if text.startswith("\x02"):
        words = words_of(text[1:])
        return [*words, *(f"{first}\x03{second}" for first, second in pairwise(words))]
    if "#" not in text:
        return list(words_of(text))
    tokens: list[str] = []
    for part in text.split(" "):
        tokens += [part] if part.startswith("#") else words_of(part)
    return tokens


class Scores(NamedTuple):
    """The concatenated scores of the N candidates of Q questions."""

    values: Tensor  # (N,)
    lengths: tuple[int, ...]  # number of candidates of each question

    def logprobs(self, temperature: float = 1.0) -> list[Tensor]:
        """Return the log-probabilities of each question's candidates at a sampling temperature."""
        return [(part / temperature).log_softmax(0) for part in self.values.split(self.lengths)]

    def candidate_logprobs(self, questions: Tensor, indices: Tensor, temperature: float = 1.0) -> Tensor:
        """Return the log-probabilities of C candidates, shape (C,), float32.

        Args:
            questions: Index of each candidate's question, shape (C,).
            indices: Index of each candidate within its question, shape (C,).
            temperature: Sampling temperature.

        """
        lengths = torch.tensor(self.lengths)
        owners = torch.arange(len(lengths)).repeat_interleave(lengths)
        values = self.values.double() / temperature  # sums of many small probabilities need float64
        largest = values.detach().new_full((len(lengths),), -torch.inf).scatter_reduce(0, owners, values.detach(), "amax")
        sums = torch.zeros_like(largest).index_add(0, owners, (values - largest[owners]).exp())
        starts = lengths.cumsum(0) - lengths
        return (values[starts[questions] + indices] - (largest + sums.log())[questions]).float()


class _Scorer(nn.Module):
    """Scores the candidates of one stage."""

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
        # A candidate's texts are projected by slot and summed. Each distinct text of a slot is projected once, then rows are gathered.
        table = torch.cat([embedded[unique] @ weight for weight, (unique, _) in zip(self.slots, slots, strict=True)])
        positions, start = [], 0
        for unique, inverse in slots:
            positions.append(inverse + start)
            start += len(unique)
        candidates = self.numbers(numbers) + nn.functional.embedding_bag(torch.stack(positions, 1), table, mode="sum")
        shift, gain = self.context(contexts).chunk(2, -1)
        hidden = self.dropout(torch.relu(candidates * (1 + gain[owners]) + shift[owners]))
        hidden = hidden + torch.relu(self.hidden(hidden))
        scores: Tensor = self.score(hidden)[:, 0]
        return scores


class PointerNetwork(nn.Module):
    """Scores the candidates of questions of one stage.

    Texts are embedded in order of their first use by the questions, so that scores do not depend on other texts in the string table.

    Args:
        vocabulary: Number of words.
        width: Width of word embeddings.
        hidden: Width of hidden layers.
        dropout: Dropout rate.
        scale: Standard deviation of the initial embeddings.

    """

    def __init__(self, vocabulary: int, width: int = 48, hidden: int = 96, dropout: float = 0.0, scale: float = 0.5) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary, width, mode="sum")
        nn.init.normal_(self.embedding.weight, std=scale)
        sizes = {
            ACTION: (ACTION_SLOTS, ACTION_NUMBERS),
            PIECE: (PIECE_SLOTS, PIECE_NUMBERS),
            JOIN: (PIECE_SLOTS, PIECE_NUMBERS),
        }
        self.scorers = nn.ModuleList(_Scorer(*sizes[stage], width, hidden, dropout) for stage in (ACTION, PIECE, JOIN))
        self.width, self.hidden = width, hidden
        self.dropout = nn.Dropout(dropout)
        self.memory: StepMemory | None = None
        self.labels: Labels | None = None  # of training pages, for `create_label_matcher`
        self.read: MemoryRead | None = None

    def set_memory(self, memory: StepMemory) -> None:
        """Set the memory whose retrieved steps are scored by `read`, which is created if it is None.

        Questions must come from a reader with the same memory.
        """
        self.memory, self.read = memory, self.read or MemoryRead()

    def forward(self, questions: Sequence[Question], texts: StringTable, vocabulary: Vocabulary) -> Scores:
        """Return the scores of all candidates of questions, which must have the same stage.

        Args:
            questions: Q questions of one stage.
            texts: String table of the questions' reader.
            vocabulary: The network's words.

        Raises:
            ValueError: The network has a memory, but a question has no retrieval.

        """
        slots = numpy.concatenate([question.rows.slots for question in questions])
        numbers = torch.from_numpy(numpy.concatenate([question.rows.numbers for question in questions])).float()
        lengths = tuple(len(question.rows.slots) for question in questions)
        context_slots = numpy.stack([question.context.slots for question in questions])
        text_ids, positions = unique_in_order(numpy.concatenate([context_slots.ravel(), slots.ravel()]), len(texts.strings))
        word_ids, offsets = vocabulary.encode(texts, text_ids)
        counts = torch.diff(offsets, append=torch.tensor([len(word_ids)]))
        embedded = self.embedding(word_ids, offsets) * counts.clamp(min=1).float().rsqrt()[:, None]
        embedded = self.dropout(embedded)
        contexts = embedded[torch.from_numpy(positions[: context_slots.size])].view(len(questions), -1)
        contexts = torch.cat([contexts, torch.from_numpy(numpy.stack([question.context.numbers for question in questions]))], 1)
        owners = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
        columns = positions[context_slots.size :].reshape(slots.shape).T
        parts = [tuple(map(torch.from_numpy, unique_in_order(column, len(text_ids)))) for column in columns]
        values = self.scorers[questions[0].stage](embedded, parts, numbers, contexts, owners)
        if self.read is not None and questions[0].stage == ACTION:
            retrievals = [question.retrieval for question in questions if question.retrieval is not None]
            if len(retrievals) < len(questions):
                raise ValueError("a question has no retrieval; expected questions of a reader with the network's memory")
            values = values + self.read(retrievals, owners)
        return Scores(values, lengths)

    def save_pretrained(self, folder: Path) -> None:
        """Write the parameters, memory and labels to a folder. `Vocabulary.save_pretrained` writes the words to the same folder."""
        save_file({name: value.contiguous() for name, value in self.state_dict().items()}, folder / WEIGHTS_FILE)
        if self.memory is not None:
            self.memory.save(folder / MEMORY_FILE)
        if self.labels is not None:
            (folder / LABELS).write_text(json.dumps(self.labels, ensure_ascii=False), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ChoiceBatch:
    """N choices, ordered by sample. `samples` are the indices of the samples in that order, and `lengths` their numbers of choices."""

    choices: tuple[Choice, ...]
    samples: tuple[int, ...]
    lengths: tuple[int, ...]
    reader: Reader


def pack_choices(
    choices_S: Sequence[Sequence[Choice]], samples: Sequence[int], max_candidates: int, reader: Reader
) -> Iterator[ChoiceBatch]:
    """Yield batches of consecutive whole samples.

    Args:
        choices_S: The choices of each of S samples.
        samples: The index of each sample.
        max_candidates: Largest number of candidates in a batch, unless it has only one sample. The candidates of a question are counted
            once, even if several choices answer it.
        reader: The reader that the questions come from.

    """
    start, remaining = 0, max_candidates
    known_questions = set[int]()
    for end, sample_choices in enumerate([*choices_S, ()]):
        counts = {id(choice.question): len(choice.question.rows.slots) for choice in sample_choices}
        added = sum(count for key, count in counts.items() if key not in known_questions)
        if end > start and (added > remaining or end == len(choices_S)):
            batch_choices = choices_S[start:end]
            flat = tuple(choice for sample in batch_choices for choice in sample)
            yield ChoiceBatch(flat, tuple(samples[start:end]), tuple(map(len, batch_choices)), reader)
            start, remaining, added = end, max_candidates, sum(counts.values())
            known_questions.clear()
        remaining -= added
        known_questions.update(counts)


def choice_logprobs(network: PointerNetwork, batch: ChoiceBatch, vocabulary: Vocabulary, temperature: float = 1.0) -> Tensor:
    """Return the log-probability of each choice of a batch, shape (N,). A question that several choices answer is scored once."""
    order: list[int] = []
    logprobs: list[Tensor] = []
    for stage in range(len(network.scorers)):
        stage_indices = [index for index, choice in enumerate(batch.choices) if choice.question.stage == stage]
        if stage_indices:
            questions = {id(batch.choices[index].question): batch.choices[index].question for index in stage_indices}
            positions = {key: position for position, key in enumerate(questions)}
            scores = network(list(questions.values()), batch.reader.texts, vocabulary)
            question_indices = torch.tensor([positions[id(batch.choices[index].question)] for index in stage_indices])
            candidate_indices = torch.tensor([batch.choices[index].candidate_index for index in stage_indices])
            logprobs.append(scores.candidate_logprobs(question_indices, candidate_indices, temperature))
            order += stage_indices
    return torch.cat(logprobs)[torch.tensor(order).argsort()]


def load_pointer(source: str | Path) -> tuple[PointerNetwork, Vocabulary]:
    """Return the network and vocabulary of a model folder or a run's newest checkpoint. The network is in eval mode, without dropout."""
    folder = Path(find_model(source))
    record = json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
    parameters = load_file(folder / WEIGHTS_FILE)
    _, width, hidden = parameters["scorers.0.slots"].shape
    network = PointerNetwork(len(record["words"]), width, hidden)
    if (folder / MEMORY_FILE).is_file():
        network.set_memory(load_memory(folder / MEMORY_FILE))
    if (folder / LABELS).is_file():
        network.labels = json.loads((folder / LABELS).read_text(encoding="utf-8"))
    network.load_state_dict(parameters)
    network.eval()
    return network, Vocabulary(record["words"])


class PointerEnsemble(nn.Module):
    """An ensemble of pointer networks, whose scores are the logarithm of their weighted mean probabilities.

    All networks score the same candidates, so their probabilities can be averaged ("Boltzmann addition" in LLM-Ens, arXiv 2505.15306).

    Args:
        members: Networks without memory, each with its vocabulary.
        weights: Weight of each network by site.

    """

    def __init__(self, members: Sequence[tuple[PointerNetwork, Vocabulary]], weights: EnsembleWeights) -> None:
        super().__init__()
        if any(network.memory is not None for network, _ in members):
            raise ValueError("a member of the ensemble has a memory of steps; expected networks without memory")
        self.networks = nn.ModuleList(network for network, _ in members)
        self._vocabularies = [vocabulary for _, vocabulary in members]
        self._weights = weights

    def forward(self, questions: Sequence[Question], texts: StringTable, vocabulary: Vocabulary) -> Scores:  # noqa: ARG002 - each network has its own
        """Return the logarithm of the weighted mean of the networks' probabilities, for questions of one stage.

        `vocabulary` is ignored; it makes the signature that of `PointerNetwork`.
        """
        scored = [
            network(questions, texts, own_vocabulary).logprobs()
            for network, own_vocabulary in zip(self.networks, self._vocabularies, strict=True)
        ]
        ensemble_logprobs = []
        for number, question in enumerate(questions):
            host = texts.strings[int(question.context.slots[1])].rpartition("#host_")[
                2
            ]  # host of the page, a mark in the context's texts
            weights = torch.tensor(self._weights.for_situation(host))
            logprobs = torch.stack([network_logprobs[number] for network_logprobs in scored])
            ensemble_logprobs.append((logprobs + (weights / weights.sum()).log()[:, None]).logsumexp(0))
        return Scores(torch.cat(ensemble_logprobs), tuple(map(len, ensemble_logprobs)))
