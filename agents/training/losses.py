"""Losses of tokens: functions of tensors, without models, files or logging. How rewards become advantages is in `agents.methods.advantages`.

Axes in names: N is the number of trained tokens of a batch, all samples' response tokens one after another; S the number of
samples (steps of episodes), whose `lengths_S` sum to N.

Sources: WebAgent-R1, arXiv 2505.16421, equation 2 (multi-turn GRPO); Schulman, "Approximating KL divergence" (the k3 estimator);
DAPO, arXiv 2503.14476 (the higher upper clip); GSPO, arXiv 2507.18071 (one ratio for a whole response);
Yao et al., "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training", 2025 (truncated importance sampling);
AsyncWebRL, arXiv 2606.05597 (the clip around the trainer's old policy, apart from the correction of the sampler's).
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Correction = Literal["none", "token", "sequence_mask"]


class PolicyLoss(NamedTuple):
    """A policy loss and what to log of it."""

    loss: Tensor  # scalar
    clipped_fraction: float  # share of the tokens whose ratio the clip cut
    kl: float  # mean k3 estimate to the reference, 0 without one
    ratio_max: float


class Mismatch(NamedTuple):
    """How far the log-probabilities that are trained lie from those that were sampled, over all tokens."""

    mean: float  # mean absolute difference, nats
    largest: float  # largest absolute difference, nats
    kl: float  # k3 estimate of KL(sampler || trainer), nats a token


def token_logprobs(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """Return log p(target) per token, shape (N,), from logits of shape (N, vocabulary)."""
    return logits_NV.float().log_softmax(-1).gather(-1, targets_N[:, None])[:, 0]


def k3(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Return the k3 estimate of KL(policy || reference) per token: exp(d) - d - 1 with d = reference - policy."""
    difference = reference_logprobs_N - logprobs_N
    return difference.exp() - difference - 1


def sequence_sums(values_N: Tensor, lengths_S: Sequence[int]) -> Tensor:
    """Return at every token the sum over all tokens of its own response, shape (N,).

    >>> sequence_sums(torch.tensor([1.0, 2.0, 5.0]), [2, 1]).tolist()
    [3.0, 3.0, 5.0]
    """
    if sum(lengths_S) != len(values_N):
        raise ValueError(f"lengths sum to {sum(lengths_S)}; expected the number of tokens, {len(values_N)}")
    lengths = torch.tensor(lengths_S, device=values_N.device)
    owners_N = torch.arange(len(lengths_S), device=values_N.device).repeat_interleave(lengths)
    return values_N.new_zeros(len(lengths_S)).index_add(0, owners_N, values_N)[owners_N]


def sequence_means(values_N: Tensor, lengths_S: Sequence[int]) -> Tensor:
    """Return at every token the mean over all tokens of its own response, shape (N,)."""
    lengths = torch.tensor(lengths_S, device=values_N.device)
    return sequence_sums(values_N, lengths_S) / lengths.repeat_interleave(lengths)


def importance_weights(
    old_logprobs_N: Tensor, sampled_logprobs_N: Tensor, lengths_S: Sequence[int], correction: Correction, *, cap: float = 2.0
) -> Tensor:
    """Return pi_trainer / pi_sampler of each token, made harmless; shape (N,), no gradients.

    `old_logprobs_N` are the trainer's own under the weights that sampled, `sampled_logprobs_N` those of the engine, which may
    compute in another precision.

    - "none": 1 everywhere
    - "token": min(ratio of the token, cap) (truncated importance sampling, Yao et al. 2025)
    - "sequence_mask": the ratio of the whole response where it is at most `cap`, else 0: the response is not trained on
    """
    if correction == "none":
        return torch.ones_like(old_logprobs_N)
    difference = (old_logprobs_N - sampled_logprobs_N).detach()
    if correction == "token":
        return difference.exp().clamp(max=cap)
    ratio = sequence_sums(difference, lengths_S).exp()
    return torch.where(ratio <= cap, ratio, torch.zeros_like(ratio))


def mismatch(logprobs_N: Tensor, sampled_logprobs_N: Tensor) -> Mismatch:
    """Return the distance between the log-probabilities of a training pass and those of the sampler."""
    difference = (logprobs_N - sampled_logprobs_N).detach().abs()
    return Mismatch(
        difference.mean().item(), difference.max().item(), k3(sampled_logprobs_N, logprobs_N.detach()).mean().item()
    )


def clipped_loss(
    logprobs_N: Tensor,
    old_logprobs_N: Tensor,
    advantages_N: Tensor,
    weights_N: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    kl_weight: float = 0.0,
    reference_logprobs_N: Tensor | None = None,
    sequence_lengths_S: Sequence[int] | None = None,
    importance_N: Tensor | None = None,
) -> PolicyLoss:
    """Return -sum w * [c min(r A, clip(r, 1 - low, 1 + high) A) - beta KL] with r = exp(logprob - old logprob).

    WebAgent-R1, equation 2, with its three means folded into `weights_N`. Only `logprobs_N` carries gradients. With
    `sequence_lengths_S`, r is the geometric mean of the token ratios of a response (GSPO); `importance_N` is c, the
    correction for a sampler that is not the trainer, 1 by default.
    """
    log_ratio = logprobs_N - old_logprobs_N
    if sequence_lengths_S is not None:
        log_ratio = sequence_means(log_ratio, sequence_lengths_S)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    objective = torch.minimum(ratio * advantages_N, clipped * advantages_N)
    if importance_N is not None:
        objective = importance_N * objective
    kl = torch.zeros_like(objective)
    if reference_logprobs_N is not None:
        kl = k3(logprobs_N, reference_logprobs_N)
        objective = objective - kl_weight * kl
    was_cut = ratio.detach() * advantages_N > clipped.detach() * advantages_N
    return PolicyLoss(
        loss=-(weights_N * objective).sum(),
        clipped_fraction=was_cut.float().mean().item(),
        kl=kl.detach().mean().item(),
        ratio_max=ratio.detach().max().item(),
    )


def imitation_loss(logprobs_N: Tensor, weights_N: Tensor) -> Tensor:
    """Return the weighted negative log-likelihood of the demonstrated tokens, a scalar."""
    return -(weights_N * logprobs_N).sum()
