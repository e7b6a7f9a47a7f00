"""The learner: a model and its optimizer, which take updates on training batches, in one process or in several ranks."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agents.models.adapters import adapt, is_adapted
from agents.models.batches import Sharing
from agents.settings import MayChange
from agents.training import losses
from agents.training.batch import TrainingBatch
from agents.training.distributed import ALONE, Ranks, Weights, shard_like, whole
from agents.training.families import ModelFamily, Pass
from agents.training.language_models import LanguageModels
from agents.training.objectives import Objective, Tokens


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


def checkpoint_activations(model: PreTrainedModel) -> None:
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
        self._reference = None if reference is None else Weights(reference, ranks, dtype)
        self.optimizer = torch.optim.AdamW(
            self._weights.trained, settings.learning_rate, betas=(0.9, settings.adam_beta2), weight_decay=settings.weight_decay
        )
        self._settings = settings
        self._objective = objective
        self._temperature = temperature
        self._ranks = ranks
        self._family = family or LanguageModels()

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
        if self._reference is None:
            # Nothing pulls at a sample that has no advantage: it need not be computed.
            training_batch = training_batch.only(
                [index for index, advantage in enumerate(training_batch.advantages) if advantage]
            )
        self._weights.train()
        if not training_batch.samples:
            return {}
        metrics: dict[str, float] = {}
        if self._objective.recomputes:
            training_batch, gap = self._recompute(training_batch)
            metrics = {f"mismatch_{name}": value for name, value in gap._asdict().items()}
        updates = []
        for _ in range(self._settings.epochs):
            order = rng.sample(range(len(training_batch.samples)), len(training_batch.samples))
            for part in range(self._settings.minibatches):
                if indices := order[part :: self._settings.minibatches]:
                    updates.append(self._update(training_batch.only(indices)))
        self._family.forget()
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

    def _update(self, training_batch: TrainingBatch) -> dict[str, float]:
        """Take one update and return its metrics, which are those of its tokens, however they are packed."""
        values = {"loss": 0.0, "clipped": 0.0, "kl": 0.0, "logprob_gap": 0.0}
        tokens = sum(len(sample.response_ids) for sample in training_batch.samples)
        for batch, is_idle in self._passes(training_batch):
            logprobs = self._logprobs(self._weights, batch)
            sampled, old = (
                _gather(batch, each).to(logprobs.device)
                for each in (training_batch.sampled_logprobs, training_batch.old_logprobs)
            )
            tokens_of_pass = Tokens(
                logprobs,
                sampled,
                old,
                batch.spread(training_batch.advantages).to(logprobs.device),
                batch.spread(training_batch.weights).to(logprobs.device),
                self._reference_logprobs(batch),
                batch.lengths,
            )
            result = self._objective.loss(tokens_of_pass)
            weight = 0.0 if is_idle else 1.0
            # Times the number of ranks, as the gradient is their mean, and the weights of the tokens already make it whole.
            (result.loss * weight * self._settings.minibatches * self._ranks.count).backward()
            share = weight * len(logprobs) / tokens
            values["loss"] += weight * result.loss.item()
            values["clipped"] += result.clipped_fraction * share
            values["kl"] += result.kl * share
            values["logprob_gap"] = max(values["logprob_gap"], losses.mismatch(logprobs, sampled).largest)
        norm = whole(torch.nn.utils.clip_grad_norm_(self._weights.trained, self._settings.max_grad_norm))
        self.optimizer.step()
        self.optimizer.zero_grad()
        parts = self._ranks.gather([values])
        summed = {name: sum(part[name] for part in parts) for name in values}
        return summed | {"logprob_gap": max(part["logprob_gap"] for part in parts), "grad_norm": norm.item()}

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged parameters towards the present ones: fast at first, so that the beginning is soon forgotten."""
        self._averaged += 1
        decay = min(self._settings.average, self._averaged / (self._averaged + 9))
        for mean, parameter in zip(self.result.parameters(), self.model.parameters(), strict=True):
            mean.lerp_(parameter, 1 - decay)

    @torch.no_grad()
    def _recompute(self, training_batch: TrainingBatch) -> tuple[TrainingBatch, losses.Mismatch]:
        """Return the training_batch with the model's own log-probabilities as the old ones, and how far they lie from the sampler's."""
        old: dict[int, tuple[float, ...]] = {}
        for batch, _ in self._passes(training_batch):
            for index, part in zip(batch.samples, self._logprobs(self._weights, batch).split(batch.lengths), strict=True):
                old[index] = tuple(part.tolist())
        old = dict(item for part in self._ranks.gather([old]) for item in part.items())
        training_batch = training_batch._replace(old_logprobs=[old[index] for index in range(len(old))])
        computed, sampled = (
            torch.tensor([value for values in each for value in values])
            for each in (training_batch.old_logprobs, training_batch.sampled_logprobs)
        )
        return training_batch, losses.mismatch(computed, sampled)

    def _passes(self, training_batch: TrainingBatch) -> list[tuple[Pass, bool]]:
        """Return this rank's batches, and whether each is idle: only there because all ranks must take equally many passes."""
        own = self._pack(training_batch, self._ranks.part(training_batch.samples))
        passes = max(self._ranks.gather([len(own)]))
        idle = self._pack(training_batch, [0]) if passes > len(own) else []
        return [(batch, False) for batch in own] + [(batch, True) for batch in idle] * (passes - len(own))

    def _pack(self, training_batch: TrainingBatch, indices: Sequence[int]) -> Sequence[Pass]:
        tokens, sharing = self._settings.tokens_per_pass, self._settings.sharing
        return self._family.pack(self.model, training_batch, indices, tokens, sharing)

    @torch.no_grad()
    def _reference_logprobs(self, batch: Pass) -> Tensor | None:
        return None if self._reference is None else self._logprobs(self._reference, batch)

    def _logprobs(self, weights: Weights, batch: Pass) -> Tensor:
        logprobs: Tensor = weights(self._family.logprobs, batch, temperature=self._temperature)
        return logprobs


def _gather(batch: Pass, values_S: Sequence[Sequence[float]]) -> Tensor:
    """Return the values of a batch's tokens, shape (N,), from those of all samples."""
    return torch.tensor([value for index in batch.samples for value in values_S[index]])
