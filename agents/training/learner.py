"""The learner: a model and its optimizer, which take updates on training batches, in one process or in several ranks."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import torch

from agents.models.adapters import adapt, is_adapted
from agents.models.batches import Sharing
from agents.rollouts.players import Players
from agents.settings import MayChange
from agents.training import losses
from agents.training.batch import TrainingBatch
from agents.training.distributed import ALONE, Ranks, Weights, shard_like, whole
from agents.training.families import ModelFamily
from agents.training.gradients import Gradients, OwnGradients, PlayersGradients
from agents.training.language_models import LanguageModels
from agents.training.objectives import Objective

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class UpdateSettings:
    """How the model is updated on a training batch."""

    epochs: int = 1
    """passes over a batch of rollouts"""
    minibatches: int = 1
    """updates in one pass"""
    learning_rate: float = 3e-4
    """learning rate of the first update"""
    schedule: Literal["constant", "linear"] = "constant"
    """keep the learning rate, or let it fall to 0 over the training"""
    adam_beta2: float = 0.95
    """AdamW's second beta"""
    weight_decay: float = 0.0
    """AdamW's weight decay"""
    max_grad_norm: float = 1.0
    """gradients are scaled down to this norm"""
    tokens_per_pass: MayChange[int] = 16_384
    """tokens in one forward pass, padding included; of a pointing network, candidates"""
    sharing: MayChange[Sharing] = "auto"
    """compute what samples share once: wherever that is cheaper, never (rows), or always (tree)"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """of the training's forward and backward passes; weights, gradients and optimizer stay float32"""
    gradient_checkpointing: MayChange[bool] = False
    """compute the layers again in the backward pass instead of keeping them: slower, in less memory"""
    average: float = 0.0
    """decay of a running mean of the parameters, which is saved and used instead of them; 0: the parameters themselves"""
    lora_rank: int = 0
    """train low-rank adapters of this rank instead of the weights; 0: the weights"""

    def __post_init__(self) -> None:
        if not 0 <= self.average < 1:
            raise ValueError(f"average is {self.average}; expected at least 0 and less than 1")


def checkpoint_activations(model: "PreTrainedModel") -> None:
    """Let a model compute activations again in the backward pass instead of keeping them."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable  # its older name
    enable({"use_reentrant": False})


class Learner:
    """A model and its optimizer, which take updates on training batches.

    It descends the `objective`. `temperature` is that of the sampling, at which log-probabilities are computed. `reference` is the
    frozen model that an objective with a KL term needs. `family` says what log-probabilities are; by default, a language model's.

    With several ranks, each has a learner with a shard of the parameters and of the optimizer's state, and trains on its part of
    the samples; all methods must then be called in every rank, with the same arguments. The result is that of one process. `model`
    is the whole model with its present parameters, in rank 0, and `result` the one to use: with `average` set, a copy with the mean
    of the parameters after each training batch, in which the newest count most.
    """

    def __init__(
        self,
        model: Any,
        settings: UpdateSettings,
        objective: Objective,
        *,
        temperature: float = 1.0,
        reference: Any = None,
        ranks: Ranks = ALONE,
        family: ModelFamily | None = None,
    ) -> None:
        if objective.needs_reference and reference is None:
            raise ValueError("the objective has a KL term and there is no reference model; expected one")
        if settings.lora_rank:
            adapt(model, settings.lora_rank)
        elif is_adapted(model):
            raise ValueError("the model has adapters, which learn on with --lora-rank, their rank; expected it, not 0")
        if settings.gradient_checkpointing:
            checkpoint_activations(model)
        dtype = getattr(torch, settings.dtype)
        self.model = deepcopy(model) if ranks.count > 1 and ranks.is_main else model
        self._weights = Weights(model, ranks, dtype)
        if not self._weights.trained:
            raise ValueError("the model has no trainable weights")
        if settings.average and ranks.count > 1:
            raise ValueError(f"average is {settings.average}; expected 0 with {ranks.count} ranks")
        self.result = deepcopy(model) if settings.average else self.model
        self._averaged = 0  # training batches
        self._has_reference = reference is not None
        self.optimizer = torch.optim.AdamW(
            self._weights.trained, settings.learning_rate, betas=(0.9, settings.adam_beta2), weight_decay=settings.weight_decay
        )
        self._settings = settings
        self._objective = objective
        self._ranks = ranks
        self._gradients: Gradients = OwnGradients(
            self._weights,
            family or LanguageModels(),
            objective,
            temperature=temperature,
            tokens_per_pass=settings.tokens_per_pass,
            sharing=settings.sharing,
            reference=None if reference is None else Weights(reference, ranks, dtype),
            ranks=ranks,
        )

    def divide(self, players: Players) -> None:
        """Let processes that play compute the gradients from now on, each those of some groups."""
        self._gradients = PlayersGradients(players, self.model)

    def learn(self, training_batch: TrainingBatch, rng: Random, progress: float = 0.0) -> dict[str, float]:
        """Take all updates on one training batch and return their metrics; `rng` draws its minibatches.

        `progress` is the part of the training that is done, from 0 to 1, for the learning rate's schedule.
        """
        metrics = self._learn(training_batch, rng, progress)
        if self.result is not self.model:
            self._average()
        return metrics

    def _learn(self, training_batch: TrainingBatch, rng: Random, progress: float) -> dict[str, float]:
        part = 1 - progress if self._settings.schedule == "linear" else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = self._settings.learning_rate * part
        if not self._has_reference:
            # Nothing pulls at a sample that has no advantage: it need not be computed.
            training_batch = training_batch.only(
                [index for index, advantage in enumerate(training_batch.advantages) if advantage]
            )
        self._weights.train()
        if not training_batch.samples:
            return {}
        count = len(training_batch.samples)
        orders = [rng.sample(range(count), count) for _ in range(self._settings.epochs)]
        minibatches = [
            order[part :: self._settings.minibatches] for order in orders for part in range(self._settings.minibatches)
        ]
        minibatches = [indices for indices in minibatches if indices]
        metrics: dict[str, float] = {}
        self._gradients.take(training_batch, minibatches)
        if self._objective.recomputes:
            computed, sampled = (
                torch.tensor([value for values in each for value in values])
                for each in (self._gradients.recompute(), training_batch.sampled_logprobs)
            )
            metrics = {f"mismatch_{name}": value for name, value in losses.mismatch(computed, sampled)._asdict().items()}
        updates = [
            self._update(indices, sum(len(training_batch.samples[index].response_ids) for index in indices))
            for indices in minibatches
        ]
        self._gradients.release()
        if self._ranks.count > 1:
            self._weights.copy_to(self.model if self._ranks.is_main else None)
        return metrics | {name: sum(update[name] for update in updates) / len(updates) for name in updates[0]}

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's whole state, which any number of ranks can load; with averaging, also the parameters themselves."""
        state = self.optimizer.state_dict()
        full = {index: {name: whole(value).cpu() for name, value in own.items()} for index, own in state["state"].items()}
        own = {"trained": self.model.state_dict(), "averaged": self._averaged} if self.result is not self.model else {}
        return state | {"state": full, **own}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned. The weights come with the model, which is the average where there is one."""
        if self.result is not self.model:
            self.model.load_state_dict(state_dict["trained"])
            self._averaged = state_dict["averaged"]
            state_dict = {name: value for name, value in state_dict.items() if name not in ("trained", "averaged")}
        saved = state_dict["state"]
        own = {
            # The number of steps is a scalar, and not parted.
            index: {name: shard_like(value, model) if value.dim() else value for name, value in saved[index].items()}
            for index, model in enumerate(self._weights.trained)
            if index in saved
        }
        self.optimizer.load_state_dict(state_dict | {"state": own})

    def _update(self, indices: Sequence[int], tokens: int) -> dict[str, float]:
        """Take one update on these samples, which have so many tokens, and return their metrics, however they are packed."""
        values = self._gradients.add(indices, self._settings.minibatches)
        norm = whole(torch.nn.utils.clip_grad_norm_(self._weights.trained, self._settings.max_grad_norm))
        self.optimizer.step()
        self.optimizer.zero_grad()
        means = {name: values[name] / tokens for name in ("clipped", "kl")}
        return values | means | {"grad_norm": norm.item()}

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged parameters towards the present ones: fast at first, so that the beginning is soon forgotten."""
        self._averaged += 1
        decay = min(self._settings.average, self._averaged / (self._averaged + 9))
        for mean, parameter in zip(self.result.parameters(), self.model.parameters(), strict=True):
            mean.lerp_(parameter, 1 - decay)
