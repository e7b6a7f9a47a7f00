"""The learner: a model and its optimizer, which take updates on lessons."""

from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agents import losses
from agents.batches import Batch, batch_logprobs, pack
from agents.lessons import Lesson


@dataclass(frozen=True, kw_only=True)
class UpdateSettings:
    """How a model is updated on a lesson."""

    temperature: float = 1.0
    """of sampling; the trainer computes its log-probabilities at the same"""
    clip_low: float = 0.2
    """how far a token's probability ratio may fall before it is clipped"""
    clip_high: float = 0.28
    """how far it may rise"""
    kl_weight: float = 0.0
    """weight of the KL divergence to the first model; 0 needs no reference model"""
    epochs: int = 1
    """passes over a batch of rollouts"""
    minibatches: int = 1
    """updates in one pass"""
    learning_rate: float = 3e-4
    """constant learning rate"""
    adam_beta2: float = 0.95
    """AdamW's second beta"""
    weight_decay: float = 0.0
    """AdamW's weight decay"""
    max_grad_norm: float = 1.0
    """gradients are scaled down to this norm"""
    tokens_per_pass: int = 16_384
    """tokens in one forward pass, padding included"""


class Learner:
    """A model that learns from lessons. `reference` is the frozen model that the KL term holds on to."""

    def __init__(self, model: PreTrainedModel, settings: UpdateSettings, reference: PreTrainedModel | None = None) -> None:
        if settings.kl_weight and reference is None:
            raise ValueError(f"kl_weight is {settings.kl_weight} and there is no reference model; expected one")
        self.model = model
        self.optimizer = torch.optim.AdamW(
            model.parameters(), settings.learning_rate, betas=(0.9, settings.adam_beta2), weight_decay=settings.weight_decay
        )
        self._settings = settings
        self._reference = reference

    def learn(self, lesson: Lesson, rng: Random) -> dict[str, float]:
        """Take all updates on one lesson and return their metrics; `rng` parts it into minibatches."""
        if not self._settings.kl_weight:
            # Nothing pulls at a sample that has no advantage: it need not be computed.
            lesson = lesson.only([index for index, advantage in enumerate(lesson.advantages) if advantage])
        logged: dict[str, list[float]] = {}
        self.model.train()
        for _ in range(self._settings.epochs):
            order = rng.sample(range(len(lesson.samples)), len(lesson.samples))
            for part in range(self._settings.minibatches):
                if indices := order[part :: self._settings.minibatches]:
                    for values in self._update(lesson.only(indices)):
                        for name, value in values.items():
                            logged.setdefault(name, []).append(value)
        return {name: sum(values) / len(values) for name, values in logged.items()}

    def _update(self, lesson: Lesson) -> list[dict[str, float]]:
        """Take one update and return the metrics of its forward passes, and of itself."""
        pad_id = self.model.config.pad_token_id or 0
        values = []
        for batch in pack(lesson.samples, self._settings.tokens_per_pass, pad_id=pad_id):
            sampled = torch.tensor([value for index in batch.samples for value in lesson.sampled_logprobs[index]])
            logprobs = self._logprobs(self.model, batch)
            result = losses.clipped_loss(
                logprobs,
                sampled.to(logprobs.device),
                batch.spread(lesson.advantages).to(logprobs.device),
                batch.spread(lesson.weights).to(logprobs.device),
                clip_low=self._settings.clip_low,
                clip_high=self._settings.clip_high,
                kl_weight=self._settings.kl_weight,
                reference_logprobs_N=self._reference_logprobs(batch),
            )
            (result.loss * self._settings.minibatches).backward()
            gap = (logprobs.detach().cpu() - sampled).abs().max().item()
            values.append({"loss": result.loss.item(), "clipped": result.clipped_fraction, "kl": result.kl, "logprob_gap": gap})
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._settings.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return [*values, {"grad_norm": norm.item()}]

    @torch.no_grad()
    def _reference_logprobs(self, batch: Batch) -> Tensor | None:
        return None if self._reference is None else self._logprobs(self._reference, batch)

    def _logprobs(self, model: PreTrainedModel, batch: Batch) -> Tensor:
        return batch_logprobs(model, batch, temperature=self._settings.temperature)
