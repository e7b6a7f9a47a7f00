"""Losses, advantages and token weights: functions of tensors and plain values, without models, files or logging.

Axes in names: N is the number of trained tokens of a batch, all samples' response tokens one after another; S the number of
samples (steps of episodes); T the number of trajectories of one group.

Sources: WebAgent-R1, arXiv 2505.16421, equation 2 (multi-turn GRPO); DeepSeekMath, arXiv 2402.03300 (group advantages);
Schulman, "Approximating KL divergence" (the k3 estimator); DAPO, arXiv 2503.14476 (the higher upper clip); Dr.GRPO,
arXiv 2503.20783 (advantages without the standard deviation); GiGPO, arXiv 2505.10978 (groups of equal states).
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Weighting = Literal["paper", "token_mean"]
MIN_DEVIATION = 1e-6  # rewards closer together than this are equal: such a group teaches nothing


class ClippedLoss(NamedTuple):
    """A clipped policy loss and what to log of it."""

    loss: Tensor  # scalar
    clipped_fraction: float  # share of the tokens whose ratio the clip cut
    kl: float  # mean k3 estimate to the reference, 0 without one
    ratio_max: float


def token_logprobs(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """Return log p(target) per token, shape (N,), from logits of shape (N, vocabulary)."""
    return logits_NV.float().log_softmax(-1).gather(-1, targets_N[:, None])[:, 0]


def trajectory_advantages(rewards_T: Sequence[float], *, scale: bool = True) -> list[float]:
    """Return (r - mean) / std of each trajectory in its group; `scale=False` leaves the division out (Dr.GRPO).

    The standard deviation is that of the group (divided by T). Groups of equal rewards get zeros.

    >>> trajectory_advantages([1, 0, 0, 1])
    [1.0, -1.0, -1.0, 1.0]
    """
    rewards = torch.tensor(rewards_T, dtype=torch.float64)
    centred = rewards - rewards.mean()
    deviation = centred.square().mean().sqrt()
    if deviation < MIN_DEVIATION:
        return [0.0] * len(rewards)
    return (centred / deviation if scale else centred).tolist()


def state_advantages(states_S: Sequence[Hashable], returns_S: Sequence[float], *, scale: bool = True) -> list[float]:
    """Return each step's advantage among the visits of its own state in the group.

    A state is whatever makes two contexts equal, here the exact prompt. Where it was visited n >= 2 times with mixed returns,
    A = (R - mean) / std * n / (n - 1): the last factor makes R - mean the distance to the mean of the *other* visits. Steps in
    states visited once, or with equal returns, get 0: the group holds no evidence about them.

    >>> state_advantages(["a", "a", "b"], [1, 0, 1])
    [2.0, -2.0, 0.0]
    """
    visits: dict[Hashable, list[int]] = defaultdict(list)
    for index, state in enumerate(states_S):
        visits[state].append(index)
    advantages = [0.0] * len(returns_S)
    for indices in visits.values():
        count = len(indices)
        if count < 2:
            continue
        own = trajectory_advantages([returns_S[index] for index in indices], scale=scale)
        for index, advantage in zip(indices, own, strict=True):
            advantages[index] = advantage * count / (count - 1)
    return advantages


def token_weights(
    response_lengths_S: Sequence[int], trajectory_steps_S: Sequence[int], trajectories: int, weighting: Weighting
) -> list[float]:
    """Return the weight of every token of each sample; the loss is the weighted sum over all tokens of the update.

    `response_lengths_S` is |a|, the number of tokens of a sample's response; `trajectory_steps_S` is |tau|, the number of steps
    of the trajectory it belongs to; `trajectories` counts those of the whole update. The denominators are those of the whole
    update, so micro-batches only have to be summed.

    - "paper": 1/trajectories * 1/|tau| * 1/|a| (WebAgent-R1, equation 2)
    - "token_mean": 1/tokens (DAPO): all tokens alike, so that long failures count fully
    """
    if not response_lengths_S:
        return []
    if weighting == "paper":
        pairs = zip(response_lengths_S, trajectory_steps_S, strict=True)
        return [1.0 / (trajectories * steps * length) for length, steps in pairs]
    return [1.0 / sum(response_lengths_S)] * len(response_lengths_S)


def k3(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Return the k3 estimate of KL(policy || reference) per token: exp(d) - d - 1 with d = reference - policy."""
    difference = reference_logprobs_N - logprobs_N
    return difference.exp() - difference - 1


def clipped_loss(
    logprobs_N: Tensor,
    sampled_logprobs_N: Tensor,
    advantages_N: Tensor,
    weights_N: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    kl_weight: float = 0.0,
    reference_logprobs_N: Tensor | None = None,
) -> ClippedLoss:
    """Return -sum w * [min(r A, clip(r, 1 - low, 1 + high) A) - beta KL] with r = exp(logprob - sampled logprob).

    WebAgent-R1, equation 2, with its three means folded into `weights_N`. Only `logprobs_N` carries gradients.
    """
    ratio = (logprobs_N - sampled_logprobs_N).exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    objective = torch.minimum(ratio * advantages_N, clipped * advantages_N)
    kl = torch.zeros_like(objective)
    if reference_logprobs_N is not None:
        kl = k3(logprobs_N, reference_logprobs_N)
        objective = objective - kl_weight * kl
    was_cut = ratio.detach() * advantages_N > clipped.detach() * advantages_N
    return ClippedLoss(
        loss=-(weights_N * objective).sum(),
        clipped_fraction=was_cut.float().mean().item(),
        kl=kl.detach().mean().item(),
        ratio_max=ratio.detach().max().item(),
    )


def imitation_loss(logprobs_N: Tensor, weights_N: Tensor) -> Tensor:
    """Return the weighted negative log-likelihood of the demonstrated tokens, a scalar."""
    return -(weights_N * logprobs_N).sum()
