"""Critics: value models that estimate from a prompt the probability that the episode succeeds.

A critic is a copy of the first policy with a linear head on the hidden state of the last token. It is trained with the binary
cross-entropy of the outcome, as the value functions of DigiRL (arXiv 2406.11896) and WebRL (arXiv 2411.02337). The papers use other
models: DigiRL a RoBERTa, WebRL a model as large as the policy with a small network as the head.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from agents.data.tokens import Ids, Sample
from agents.models.batches import PackedBatch, batch_hidden, pack


@dataclass(frozen=True, kw_only=True)
class CriticSettings:
    """How value functions and reward models are trained."""

    critic_learning_rate: float = 3e-4
    """learning rate of critics"""
    critic_epochs: int = 1
    """passes of a critic over what it is given for an update"""
    critic_minibatch: int = 64
    """texts in one update of a critic"""


class Critic:
    """Estimates the probability of success from token ids. Before training it is one half for every text."""

    def __init__(self, model: PreTrainedModel, settings: CriticSettings, *, tokens_per_pass: int = 16_384) -> None:
        self._settings = settings
        self._tokens_per_pass = tokens_per_pass
        self._model = deepcopy(model)
        self._head = nn.Linear(model.config.get_text_config().hidden_size, 1, device=model.device)
        nn.init.zeros_(self._head.weight)
        nn.init.zeros_(self._head.bias)
        self._parameters = [*self._model.base_model.parameters(), *self._head.parameters()]
        for parameter in self._parameters:
            parameter.requires_grad = True
        self._optimizer = torch.optim.AdamW(self._parameters, settings.critic_learning_rate, weight_decay=0.0)

    @torch.no_grad()
    def values(self, texts: Sequence[Ids]) -> list[float]:
        """Return the probability of success of each text, in order."""
        values = [0.0] * len(texts)
        for batch in self._pack(texts):
            for index, value in zip(batch.samples, self._logits(batch).sigmoid().tolist(), strict=True):
                values[index] = value
        return values

    def fit(self, texts: Sequence[Ids], outcomes: Sequence[float], rng: Random) -> float:
        """Train on texts and their outcomes (0 to 1), and return the mean cross-entropy of the texts before their updates."""
        total = 0.0
        for epoch in range(self._settings.critic_epochs):
            order = rng.sample(range(len(texts)), len(texts))
            for start in range(0, len(order), self._settings.critic_minibatch):
                indices = order[start : start + self._settings.critic_minibatch]
                loss = self._update([texts[index] for index in indices], [outcomes[index] for index in indices])
                total += loss * len(indices) * (epoch == 0)
        return total / max(len(texts), 1)

    def state_dict(self) -> dict[str, Any]:
        """Return the parameters and the optimizer's state."""
        body, head = self._model.base_model.state_dict(), self._head.state_dict()
        return {"body": body, "head": head, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a value of `state_dict`."""
        self._model.base_model.load_state_dict(state_dict["body"])
        self._head.load_state_dict(state_dict["head"])
        self._optimizer.load_state_dict(state_dict["optimizer"])

    def _update(self, texts: Sequence[Ids], outcomes: Sequence[float]) -> float:
        """Take one update and return the loss before it."""
        total = 0.0
        for batch in self._pack(texts):
            logits_S = self._logits(batch)
            targets_S = torch.tensor([outcomes[index] for index in batch.samples], device=logits_S.device)
            loss = nn.functional.binary_cross_entropy_with_logits(logits_S, targets_S, reduction="sum") / len(texts)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return total

    def _pack(self, texts: Sequence[Ids]) -> list[PackedBatch]:
        # The first response token is predicted from the last prompt token, whose hidden state the head reads.
        samples = [Sample(text, (0,)) for text in texts]
        return pack(samples, self._tokens_per_pass, pad_id=self._model.config.pad_token_id or 0, model=self._model)

    def _logits(self, batch: PackedBatch) -> Tensor:
        """Return the logit of success of each sample, shape (S,)."""
        hidden = batch_hidden(self._model, batch)
        device = hidden.device
        states = hidden[batch.rows.to(device), batch.columns.to(device)][batch.predictors.to(device)]
        logits: Tensor = self._head(states)[:, 0]
        return logits


def accuracy(values: Sequence[float], outcomes: Sequence[float]) -> float:
    """Return the fraction of values that are on the same side of one half as their outcomes; 1 if there are none.

    >>> accuracy([0.9, 0.2, 0.5], [1.0, 1.0, 1.0])
    0.6666666666666666
    """
    right = sum((value >= 0.5) == (outcome >= 0.5) for value, outcome in zip(values, outcomes, strict=True))
    return right / len(outcomes) if outcomes else 1.0
