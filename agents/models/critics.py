"""Critics: value models that estimate from what a policy has seen the probability that the episode succeeds.

A critic is trained with the binary cross-entropy of the outcome, as the value functions of DigiRL (arXiv 2406.11896) and WebRL (arXiv
2411.02337). Its value network is one for each kind of policy. That of a language model is a copy of the first policy with a linear head on
the hidden state of the last token. The papers use other models: DigiRL a RoBERTa, WebRL a model as large as the policy with a small
network as the head.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from agents.data.prompts import PromptEncoder
from agents.data.tokens import Ids, Sample
from agents.data.trajectories import Trajectory
from agents.models.batches import PackedBatch, batch_hidden, pack

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class CriticSettings:
    """How value functions and reward models are trained."""

    critic_learning_rate: float = 3e-4
    """learning rate of critics"""
    critic_epochs: int = 1
    """passes of a critic over what it is given for an update"""
    critic_minibatch: int = 64
    """states in one update of a critic"""


class Pass(Protocol):
    """States for one forward pass."""

    @property
    def samples(self) -> tuple[int, ...]:
        """The indices of the states among those that were packed."""


class ValueNetwork(Protocol):
    """What a critic computes; a module with parts that are trained and saved by name."""

    parts: dict[str, nn.Module]

    def pack(self, states: Sequence[Any]) -> Sequence[Pass]:
        """Return passes that hold all states."""
        ...

    def logits(self, batch: Any) -> Tensor:
        """Return the logit of success of each state of a pass, shape (S,)."""
        ...


class Critic:
    """Estimates the probability of success of states. Before training it is one half for every state."""

    def __init__(self, network: ValueNetwork, settings: CriticSettings) -> None:
        self._settings = settings
        self._network = network
        self._parameters = [parameter for part in network.parts.values() for parameter in part.parameters()]
        for parameter in self._parameters:
            parameter.requires_grad = True
        self._optimizer = torch.optim.AdamW(self._parameters, settings.critic_learning_rate, weight_decay=0.0)

    @torch.no_grad()
    def values(self, states: Sequence[Any]) -> list[float]:
        """Return the probability of success of each state, in order."""
        values = [0.0] * len(states)
        for batch in self._network.pack(states):
            for index, value in zip(batch.samples, self._network.logits(batch).sigmoid().tolist(), strict=True):
                values[index] = value
        return values

    def fit(self, states: Sequence[Any], outcomes: Sequence[float], rng: Random) -> float:
        """Train on states and their outcomes (0 to 1), and return the mean cross-entropy of the states before their updates."""
        total = 0.0
        for epoch in range(self._settings.critic_epochs):
            order = rng.sample(range(len(states)), len(states))
            for start in range(0, len(order), self._settings.critic_minibatch):
                indices = order[start : start + self._settings.critic_minibatch]
                loss = self._update([states[index] for index in indices], [outcomes[index] for index in indices])
                total += loss * len(indices) * (epoch == 0)
        return total / max(len(states), 1)

    def state_dict(self) -> dict[str, Any]:
        """Return the parameters and the optimizer's state."""
        parts = {name: part.state_dict() for name, part in self._network.parts.items()}
        return {**parts, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a value of `state_dict`."""
        for name, part in self._network.parts.items():
            part.load_state_dict(state_dict[name])
        self._optimizer.load_state_dict(state_dict["optimizer"])

    def _update(self, states: Sequence[Any], outcomes: Sequence[float]) -> float:
        """Take one update and return the loss before it."""
        total = 0.0
        for batch in self._network.pack(states):
            logits_S = self._network.logits(batch)
            targets_S = torch.tensor([outcomes[index] for index in batch.samples], device=logits_S.device)
            loss = nn.functional.binary_cross_entropy_with_logits(logits_S, targets_S, reduction="sum") / len(states)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return total


class LanguageValueNetwork:
    """A copy of a language model with a linear head. States are token ids."""

    def __init__(self, model: "PreTrainedModel", *, tokens_per_pass: int = 16_384) -> None:
        self._tokens_per_pass = tokens_per_pass
        self._model = deepcopy(model)
        self._head = new_head(model.config.get_text_config().hidden_size).to(model.device)
        self.parts = {"body": self._model.base_model, "head": self._head}

    def pack(self, states: Sequence[Ids]) -> Sequence[PackedBatch]:
        """Return packed batches of at most `tokens_per_pass` tokens, or of one state."""
        # The first response token is predicted from the last prompt token, whose hidden state the head reads.
        samples = [Sample(state, (0,)) for state in states]
        return pack(samples, self._tokens_per_pass, pad_id=self._model.config.pad_token_id or 0, model=self._model)

    def logits(self, batch: PackedBatch) -> Tensor:
        """Return the logit of success of each state, shape (S,)."""
        hidden = batch_hidden(self._model, batch)
        device = hidden.device
        states = hidden[batch.rows.to(device), batch.columns.to(device)][batch.predictors.to(device)]
        logits: Tensor = self._head(states)[:, 0]
        return logits


def new_head(width: int) -> nn.Linear:
    """Return a linear head that says one half of everything."""
    head = nn.Linear(width, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


class Critics(Protocol):
    """Makes the critics for a kind of policy, and says what they read: their states."""

    def create(self, settings: CriticSettings) -> Critic:
        """Return a new critic."""
        ...

    def steps(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        """Return the states that all steps were taken in, trajectory after trajectory."""
        ...

    def goals(self, goals: Sequence[str]) -> list[Any]:
        """Return each goal as a state, without a page."""
        ...

    def episodes(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        """Return the state at the end of each trajectory, which has a step: the goal, all replies and the last page."""
        ...


class LanguageModelCritics:
    """Critics of a language model, which read token ids: the prompts of steps, and the last with its reply."""

    def __init__(self, initial_model: "Callable[[], PreTrainedModel]", encoder: PromptEncoder, tokens_per_pass: int) -> None:
        self._initial_model = initial_model
        self._encoder = encoder
        self._tokens_per_pass = tokens_per_pass

    def create(self, settings: CriticSettings) -> Critic:
        """Return a new critic, which begins with the parameters that the policy began with."""
        return Critic(LanguageValueNetwork(self._initial_model(), tokens_per_pass=self._tokens_per_pass), settings)

    def steps(self, trajectories: Sequence[Trajectory]) -> list[Ids]:
        """Return the prompts of all steps."""
        return [step.prompt_ids for item in trajectories for step in item.steps]

    def goals(self, goals: Sequence[str]) -> list[Ids]:
        """Return each goal as a prompt of its own."""
        return self._encoder.encode_all([[{"role": "user", "content": goal}] for goal in goals])

    def episodes(self, trajectories: Sequence[Trajectory]) -> list[Ids]:
        """Return the last prompt of each trajectory with its response."""
        return [item.steps[-1].prompt_ids + item.steps[-1].response_ids for item in trajectories]


def accuracy(values: Sequence[float], outcomes: Sequence[float]) -> float:
    """Return the fraction of values that are on the same side of one half as their outcomes; 1 if there are none.

    >>> accuracy([0.9, 0.2, 0.5], [1.0, 1.0, 1.0])
    0.6666666666666666
    """
    right = sum((value >= 0.5) == (outcome >= 0.5) for value, outcome in zip(values, outcomes, strict=True))
    return right / len(outcomes) if outcomes else 1.0
