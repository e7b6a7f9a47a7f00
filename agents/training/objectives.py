"""Objectives: what the learner descends, as a function of the tokens of a pass."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from torch import Tensor

from agents.training import losses
from agents.training.losses import PolicyLoss


class Tokens(NamedTuple):
    """What the loss of a pass is made of: values of its N response tokens, sample after sample."""

    logprobs: Tensor  # (N,), of the model as it is; these alone carry gradients
    sampled: Tensor  # (N,), the sampler's log-probabilities
    old: Tensor  # (N,), those that ratios are taken to
    advantages: Tensor  # (N,)
    weights: Tensor  # (N,)
    reference: Tensor | None  # (N,), the log-probabilities of the reference model, if there is one
    lengths: tuple[int, ...]  # of the samples, which sum to N


@dataclass(frozen=True)
class Objective:
    """A loss, and what has to be computed for it."""

    loss: Callable[[Tokens], PolicyLoss]
    recomputes: bool = False
    """whether the old log-probabilities are the trainer's own before the updates on a batch, and not the sampler's"""
    needs_reference: bool = False
    """whether the frozen model that training began with is needed"""


@dataclass(frozen=True, kw_only=True)
class ClipSettings:
    """The clipped policy loss."""

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


def clipped(settings: ClipSettings) -> Objective:
    """Return the clipped policy loss as an objective. Raises ValueError for a correction without a ratio to correct."""
    if settings.correction != "none" and settings.old_logprobs == "sampled":
        raise ValueError(f"correction is {settings.correction!r} and old_logprobs 'sampled'; expected 'recomputed'")
    return Objective(
        partial(_clipped_loss, settings=settings),
        recomputes=settings.old_logprobs == "recomputed",
        needs_reference=settings.kl_weight > 0,
    )


def imitation() -> Objective:
    """Return the negative log-likelihood of all tokens, each weighted with its weight and its advantage, as an objective."""
    return Objective(_imitation_loss)


def _clipped_loss(tokens: Tokens, settings: ClipSettings) -> PolicyLoss:
    return losses.clipped_loss(
        tokens.logprobs,
        tokens.old,
        tokens.advantages,
        tokens.weights,
        clip_low=settings.clip_low,
        clip_high=settings.clip_high,
        kl_weight=settings.kl_weight,
        reference_logprobs_N=tokens.reference,
        sequence_lengths_S=tokens.lengths if settings.ratio == "sequence" else None,
        importance_N=losses.importance_weights(
            tokens.old, tokens.sampled, tokens.lengths, settings.correction, cap=settings.correction_cap
        ),
    )


def _imitation_loss(tokens: Tokens) -> PolicyLoss:
    loss = losses.imitation_loss(tokens.logprobs, tokens.weights * tokens.advantages)
    return PolicyLoss(loss, clipped_fraction=0.0, kl=0.0, ratio_max=1.0)
