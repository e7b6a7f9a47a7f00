"""The learner: a model and its optimizer, which take updates on lessons; in one process, or in several that share the work."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agents.data.tokens import Sample
from agents.models.adapters import adapt, is_adapted
from agents.models.batches import PackedBatch, Sharing, batch_logprobs, pack
from agents.training import losses
from agents.training.batch import Lesson
from agents.training.distributed import ALONE, Ranks, Weights, shard_like, whole


@dataclass(frozen=True, kw_only=True)
class UpdateSettings:
    """How a model is updated on a lesson."""

    temperature: float = 1.0
    """of sampling; the trainer computes its log-probabilities at the same"""
    clip_low: float = 0.2
    """how far a token's probability ratio may fall before it is clipped"""
    clip_high: float = 0.28
    """how far it may rise"""
    ratio: Literal["token", "sequence"] = "token"
    """the probability ratio that is clipped: each token's, or one for the whole response (GSPO)"""
    old_logprobs: Literal["sampled", "recomputed"] = "sampled"
    """what the ratio is taken to: the sampler's log-probabilities, or the trainer's own before the updates of a batch"""
    correction: losses.Correction = "none"
    """importance weights for a sampler that is not the trainer: per token, cut at the cap; or of the response, dropped past it"""
    correction_cap: float = 2.0
    """the largest importance weight"""
    kl_weight: float = 0.0
    """weight of the KL divergence to the first model; 0 needs no reference model"""
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
    tokens_per_pass: int = 16_384
    """tokens in one forward pass, padding included"""
    sharing: Sharing = "auto"
    """compute what samples share once: wherever that is cheaper, never (rows), or always (tree)"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """of the training's forward and backward passes; weights, gradients and optimizer stay float32"""
    gradient_checkpointing: bool = False
    """compute the layers again in the backward pass instead of keeping them: slower, in less memory"""
    lora_rank: int = 0
    """train low-rank adapters of this rank instead of the weights; 0: the weights"""


class Tokens(NamedTuple):
    """What the loss of a pass is made of: values of its N response tokens, sample after sample."""

    logprobs: Tensor  # (N,), of the model as it is; these alone carry gradients
    sampled: Tensor  # (N,), the sampler's log-probabilities
    old: Tensor  # (N,), those that ratios are taken to
    advantages: Tensor  # (N,)
    weights: Tensor  # (N,)
    reference: Tensor | None  # (N,), the log-probabilities of the reference model, if there is one
    lengths: tuple[int, ...]  # of the samples, which sum to N


Objective = Callable[[Tokens], losses.ClippedLoss]


def checkpoint_activations(model: PreTrainedModel) -> None:
    """Let a model compute activations again in the backward pass instead of keeping them."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable  # its older name
    enable({"use_reentrant": False})


class Learner:
    """A model that learns from lessons. `reference` is the frozen model that the KL term holds on to.

    What it descends is the clipped loss of the settings, or another `objective`.

    With several ranks, each has a learner with a shard of the weights and of the optimizer's state, and trains on its part of the
    samples; all methods must then be called in every rank, with the same arguments. The result is that of one process. `model`
    is the whole model with the weights of today, in the rank that leads.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        settings: UpdateSettings,
        reference: PreTrainedModel | None = None,
        ranks: Ranks = ALONE,
        objective: Objective | None = None,
    ) -> None:
        if settings.kl_weight and reference is None:
            raise ValueError(f"kl_weight is {settings.kl_weight} and there is no reference model; expected one")
        if settings.correction != "none" and settings.old_logprobs == "sampled":
            raise ValueError(f"correction is {settings.correction!r} and old_logprobs 'sampled'; expected 'recomputed'")
        if settings.lora_rank:
            adapt(model, settings.lora_rank)
        elif is_adapted(model):
            raise ValueError("the model has adapters, which learn on with --lora-rank, their rank; expected it, not 0")
        if settings.gradient_checkpointing:
            checkpoint_activations(model)
        dtype = getattr(torch, settings.dtype)
        self.model = deepcopy(model) if ranks.count > 1 and ranks.leads else model
        self._weights = Weights(model, ranks, dtype)
        if not self._weights.trained:
            raise ValueError("the model has no trainable weights")
        self._reference = None if reference is None else Weights(reference, ranks, dtype)
        self.optimizer = torch.optim.AdamW(
            self._weights.trained, settings.learning_rate, betas=(0.9, settings.adam_beta2), weight_decay=settings.weight_decay
        )
        self._settings = settings
        self._ranks = ranks
        self._objective = objective or self._clipped

    def learn(self, lesson: Lesson, rng: Random, progress: float = 0.0) -> dict[str, float]:
        """Take all updates on one lesson and return their metrics; `rng` parts it into minibatches.

        `progress` is the part of the training that is done, from 0 to 1, for the learning rate's schedule.
        """
        part = 1 - progress if self._settings.schedule == "linear" else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = self._settings.learning_rate * part
        if not self._settings.kl_weight:
            # Nothing pulls at a sample that has no advantage: it need not be computed.
            lesson = lesson.only([index for index, advantage in enumerate(lesson.advantages) if advantage])
        self._weights.train()
        if not lesson.samples:
            return {}
        metrics: dict[str, float] = {}
        if self._settings.old_logprobs == "recomputed":
            lesson, gap = self._recompute(lesson)
            metrics = {f"mismatch_{name}": value for name, value in gap._asdict().items()}
        updates = []
        for _ in range(self._settings.epochs):
            order = rng.sample(range(len(lesson.samples)), len(lesson.samples))
            for part in range(self._settings.minibatches):
                if indices := order[part :: self._settings.minibatches]:
                    updates.append(self._update(lesson.only(indices)))
        if self._ranks.count > 1:
            self._weights.copy_to(self.model if self._ranks.leads else None)
        return metrics | {name: sum(update[name] for update in updates) / len(updates) for name in updates[0]}

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's whole state, which any number of ranks can load."""
        state = self.optimizer.state_dict()
        full = {index: {name: whole(value).cpu() for name, value in own.items()} for index, own in state["state"].items()}
        return state | {"state": full}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned. The weights come with the model."""
        saved = state_dict["state"]
        own = {
            # The number of steps is a scalar, and not parted.
            index: {name: shard_like(value, model) if value.dim() else value for name, value in saved[index].items()}
            for index, model in enumerate(self._weights.trained)
            if index in saved
        }
        self.optimizer.load_state_dict(state_dict | {"state": own})

    def _update(self, lesson: Lesson) -> dict[str, float]:
        """Take one update and return its metrics, which are those of its tokens, however they are packed."""
        values = {"loss": 0.0, "clipped": 0.0, "kl": 0.0, "logprob_gap": 0.0}
        tokens = sum(len(sample.response_ids) for sample in lesson.samples)
        for batch, is_idle in self._passes(lesson):
            logprobs = self._logprobs(self._weights, batch)
            sampled, old = (_gather(batch, each).to(logprobs.device) for each in (lesson.sampled_logprobs, lesson.old_logprobs))
            tokens_of_pass = Tokens(
                logprobs,
                sampled,
                old,
                batch.spread(lesson.advantages).to(logprobs.device),
                batch.spread(lesson.weights).to(logprobs.device),
                self._reference_logprobs(batch),
                batch.lengths,
            )
            result = self._objective(tokens_of_pass)
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

    def _clipped(self, tokens: Tokens) -> losses.ClippedLoss:
        """Return the clipped loss of the settings."""
        return losses.clipped_loss(
            tokens.logprobs,
            tokens.old,
            tokens.advantages,
            tokens.weights,
            clip_low=self._settings.clip_low,
            clip_high=self._settings.clip_high,
            kl_weight=self._settings.kl_weight,
            reference_logprobs_N=tokens.reference,
            sequence_lengths_S=tokens.lengths if self._settings.ratio == "sequence" else None,
            importance_N=losses.importance_weights(
                tokens.old,
                tokens.sampled,
                tokens.lengths,
                self._settings.correction,
                cap=self._settings.correction_cap,
            ),
        )

    @torch.no_grad()
    def _recompute(self, lesson: Lesson) -> tuple[Lesson, losses.Mismatch]:
        """Return the lesson with the model's own log-probabilities as the old ones, and how far they lie from the sampler's."""
        old: dict[int, tuple[float, ...]] = {}
        for batch, _ in self._passes(lesson):
            for index, part in zip(batch.samples, self._logprobs(self._weights, batch).split(batch.lengths), strict=True):
                old[index] = tuple(part.tolist())
        old = dict(item for part in self._ranks.gather([old]) for item in part.items())
        lesson = lesson._replace(old_logprobs=[old[index] for index in range(len(old))])
        computed, sampled = (
            torch.tensor([value for values in each for value in values])
            for each in (lesson.old_logprobs, lesson.sampled_logprobs)
        )
        return lesson, losses.mismatch(computed, sampled)

    def _passes(self, lesson: Lesson) -> list[tuple[PackedBatch, bool]]:
        """Return this rank's batches, and whether each is idle: only there because all ranks must take equally many passes."""
        part = self._ranks.part(lesson.samples)
        batches = self._pack([lesson.samples[index] for index in part])
        own = [replace(batch, samples=tuple(part[index] for index in batch.samples)) for batch in batches]
        passes = max(self._ranks.gather([len(own)]))
        idle = self._pack(lesson.samples[:1])
        return [(batch, False) for batch in own] + [(batch, True) for batch in idle] * (passes - len(own))

    def _pack(self, samples: Sequence[Sample]) -> list[PackedBatch]:
        pad_id, sharing = self.model.config.pad_token_id or 0, self._settings.sharing
        return pack(samples, self._settings.tokens_per_pass, pad_id=pad_id, sharing=sharing, model=self.model)

    @torch.no_grad()
    def _reference_logprobs(self, batch: PackedBatch) -> Tensor | None:
        return None if self._reference is None else self._logprobs(self._reference, batch)

    def _logprobs(self, weights: Weights, batch: PackedBatch) -> Tensor:
        logprobs: Tensor = weights(batch_logprobs, batch, temperature=self._settings.temperature)
        return logprobs


def _gather(batch: PackedBatch, values_S: Sequence[Sequence[float]]) -> Tensor:
    """Return the values of a batch's tokens, shape (N,), from those of all samples."""
    return torch.tensor([value for index in batch.samples for value in values_S[index]])
