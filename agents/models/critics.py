"""Critics: value models that estimate the probability of success of an episode from the policy's inputs so far.

A critic is trained with the binary cross-entropy of the outcome, like the value functions of DigiRL (arXiv 2406.11896) and WebRL (arXiv
2411.02337). Each kind of policy has its own value network. That of a language model is a copy of the initial policy with a linear head on
the hidden state of the last token. The papers use other models: DigiRL a RoBERTa, WebRL a model as large as the policy with a small
network as the head.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import torch
from torch import Tensor, nn

from agents.data.prompts import PromptEncoder
from agents.data.trajectories import Ids, Sample, Trajectory
from agents.models.batches import PackedBatch, batch_hidden, pack
from agents.models.pointer.goals import words_of

_BUCKETS = 2**15
_WIDTH, _HIDDEN, _BAGS_PER_STATE = 32, 64, 5
_LONG_EPISODE = 10.0  # steps, the unit of progress
_STATES_PER_PASS = 256

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Critic:
    """Estimates the probability of success of states. Before training it is one half for every state.

    Args:
        network: Value network.
        rate: Learning rate.
        epochs: Passes over the states of one call of `fit`.
        minibatch: Number of states in one optimizer step.

    """

    def __init__(
        self, network: "LanguageValueNetwork | WordsValueNetwork", *, rate: float = 3e-4, epochs: int = 1, minibatch: int = 64
    ) -> None:
        self._epochs, self._minibatch = epochs, minibatch
        self._network: Any = network
        self._parameters = [parameter for part in network.parts.values() for parameter in part.parameters()]
        for parameter in self._parameters:
            parameter.requires_grad = True
        self._optimizer = torch.optim.AdamW(self._parameters, rate, weight_decay=0.0)

    @torch.no_grad()
    def values(self, states: Sequence[Any]) -> list[float]:
        """Return the probability of success of each state, in order."""
        values = [0.0] * len(states)
        for batch in self._network.pack(states):
            for index, value in zip(batch.samples, self._network.logits(batch).sigmoid().tolist(), strict=True):
                values[index] = value
        return values

    def fit(self, states: Sequence[Any], outcomes: Sequence[float], rng: Random) -> float:
        """Train on states and their outcomes (0 to 1), and return the mean cross-entropy in the first epoch.

        The cross-entropy of each minibatch is computed before its optimizer step.
        """
        total = 0.0
        for epoch in range(self._epochs):
            order = rng.sample(range(len(states)), len(states))
            for start in range(0, len(order), self._minibatch):
                indices = order[start : start + self._minibatch]
                summed_loss = 0.0
                for batch in self._network.pack([states[index] for index in indices]):
                    logits_S = self._network.logits(batch)
                    targets_S = torch.tensor([outcomes[indices[sample]] for sample in batch.samples], device=logits_S.device)
                    loss = nn.functional.binary_cross_entropy_with_logits(logits_S, targets_S, reduction="sum") / len(indices)
                    loss.backward()
                    summed_loss += loss.item()
                nn.utils.clip_grad_norm_(self._parameters, 1.0)
                self._optimizer.step()
                self._optimizer.zero_grad()
                total += summed_loss * len(indices) * (epoch == 0)
        return total / max(len(states), 1)

    def state_dict(self) -> dict[str, Any]:
        parts = {name: part.state_dict() for name, part in self._network.parts.items()}
        return {**parts, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name, part in self._network.parts.items():
            part.load_state_dict(state_dict[name])
        self._optimizer.load_state_dict(state_dict["optimizer"])


class LanguageValueNetwork:
    """A copy of a language model with a linear head. A state is a sequence of token ids."""

    def __init__(self, model: "PreTrainedModel", *, tokens_per_pass: int = 16_384) -> None:
        self._tokens_per_pass = tokens_per_pass
        self._model = deepcopy(model)
        self._head = create_head(model.config.get_text_config().hidden_size).to(model.device)
        self.parts = {"body": self._model.base_model, "head": self._head}

    def pack(self, states: Sequence[Ids]) -> Sequence[PackedBatch]:
        """Return packed batches of at most `tokens_per_pass` tokens, or of one longer state."""
        # The first response token is predicted from the last prompt token, whose hidden state the head reads.
        samples = [Sample(state, (0,)) for state in states]
        return pack(samples, self._tokens_per_pass, pad_id=self._model.config.pad_token_id or 0, model=self._model)

    def logits(self, batch: PackedBatch) -> Tensor:
        """Return the logit of success of each state, shape (S,)."""
        hidden = batch_hidden(self._model, batch)
        rows, columns, predictors = (part.to(hidden.device) for part in (batch.rows, batch.columns, batch.predictors))
        logits: Tensor = self._head(hidden[rows, columns][predictors])[:, 0]
        return logits


def create_head(width: int) -> nn.Linear:
    """Return a linear head with zero parameters, which predicts a probability of one half for every input."""
    head = nn.Linear(width, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


@dataclass(frozen=True)
class LanguageModelCritics:
    """Creates critics of a language model and their states, which are token ids."""

    _initial_model: "Callable[[], PreTrainedModel]"
    _encoder: PromptEncoder
    _tokens_per_pass: int

    def create(self, **options: Any) -> Critic:
        """Return a new critic, which starts from the policy's initial parameters. `options` are keywords of `Critic`."""
        return Critic(LanguageValueNetwork(self._initial_model(), tokens_per_pass=self._tokens_per_pass), **options)

    def step_states(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        """Return the prompt of each step of all trajectories, in order."""
        return [step.prompt_ids for item in trajectories for step in item.steps]

    def goal_states(self, goals: Sequence[str]) -> list[Any]:
        """Return a prompt with the goal as its only message, for each goal."""
        return self._encoder.encode_all([[{"role": "user", "content": goal}] for goal in goals])

    def episode_states(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        """Return the last prompt of each trajectory, followed by its response."""
        return [item.steps[-1].prompt_ids + item.steps[-1].response_ids for item in trajectories]


class WordState(NamedTuple):
    """A state of a `WordsValueNetwork`: the goal, the current page, and the replies so far."""

    goal: str
    page: str = ""
    replies: tuple[str, ...] = ()


class _WordBags(NamedTuple):
    """S states as bags of hashed words, five consecutive bags for each state, and the progress of each episode in steps / 10.

    `samples` are the indices of the states. `words` are the hashes of all bags, concatenated, and `offsets` (5 S,) the start of each bag.
    """

    samples: tuple[int, ...]
    words: Tensor
    offsets: Tensor
    progress: Tensor


class WordsValueNetwork:
    """A small network over five bags of hashed words: goal, page, words in both, last reply, and all replies."""

    def __init__(self, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._words = nn.EmbeddingBag(_BUCKETS, _WIDTH, mode="sum")
            nn.init.normal_(self._words.weight, std=0.5)
            self._body = nn.Sequential(
                nn.Linear(_BAGS_PER_STATE * _WIDTH + 1, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU()
            )
            self._head = create_head(_HIDDEN)
        self.parts = {"words": self._words, "body": self._body, "head": self._head}

    def pack(self, states: Sequence[WordState]) -> Sequence[_WordBags]:
        """Return batches of at most 256 states."""
        return [
            _pack_bags(states, range(start, min(start + _STATES_PER_PASS, len(states))))
            for start in range(0, len(states), _STATES_PER_PASS)
        ]

    def logits(self, batch: _WordBags) -> Tensor:
        """Return the logit of success of each state, shape (S,)."""
        counts = torch.diff(batch.offsets, append=torch.tensor([len(batch.words)]))
        bags = self._words(batch.words, batch.offsets) * counts.clamp(min=1).float().rsqrt()[:, None]
        features = torch.cat([bags.view(len(batch.samples), -1), batch.progress[:, None]], 1)
        logits: Tensor = self._head(self._body(features))[:, 0]
        return logits


@dataclass(frozen=True)
class PointerCritics:
    """Creates critics of a pointer network and their states, which are words of the goal, the page and earlier replies."""

    _seed: int

    def create(self, **options: Any) -> Critic:
        return Critic(WordsValueNetwork(self._seed), **options)

    def step_states(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        return [
            WordState(item.goal, step.page, tuple(earlier.reply for earlier in item.steps[:number]))
            for item in trajectories
            for number, step in enumerate(item.steps)
        ]

    def goal_states(self, goals: Sequence[str]) -> list[Any]:
        return [WordState(goal) for goal in goals]

    def episode_states(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        return [WordState(item.goal, item.steps[-1].page, tuple(step.reply for step in item.steps)) for item in trajectories]


@lru_cache(maxsize=4_096)
def _word_hashes(text: str) -> tuple[int, ...]:
    return tuple(sorted({crc32(word.encode()) % _BUCKETS for word in words_of(text)}))


def _pack_bags(states: Sequence[WordState], samples: range) -> _WordBags:
    bags: list[tuple[int, ...]] = []
    for index in samples:
        goal, page = _word_hashes(states[index].goal), _word_hashes(states[index].page)
        replies = [_word_hashes(reply) for reply in states[index].replies]
        common = set(page).intersection(goal)
        earlier = sorted({word for reply in replies for word in reply})
        bags += [goal, page, tuple(sorted(common)), replies[-1] if replies else (), tuple(earlier)]
    lengths = torch.tensor([len(bag) for bag in bags])
    progress = torch.tensor([min(len(states[index].replies) / _LONG_EPISODE, 3.0) for index in samples])
    words = torch.tensor([word for bag in bags for word in bag], dtype=torch.int64)
    return _WordBags(tuple(samples), words, lengths.cumsum(0) - lengths, progress)


def accuracy(values: Sequence[float], outcomes: Sequence[float]) -> float:
    """Return the fraction of values that are on the same side of one half as their outcomes, or 1 if there are no values.

    >>> accuracy([0.9, 0.2, 0.5], [1.0, 1.0, 1.0])
    0.6666666666666666
    """
    correct = sum((value >= 0.5) == (outcome >= 0.5) for value, outcome in zip(values, outcomes, strict=True))
    return correct / len(outcomes) if outcomes else 1.0


Critics = LanguageModelCritics | PointerCritics
"""The critics of a kind of policy.

`create` returns a critic. `step_states`, `goal_states` and `episode_states` return the inputs of its value network.
"""
