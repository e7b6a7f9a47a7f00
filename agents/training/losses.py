"""Token values for losses, as pure functions of tensors. The losses are defined with their methods.

Axes in names: N is the number of trained tokens of a pass, all steps' response tokens one after another; S the number of
steps, whose `lengths_S` sum to N. The k3 estimator is that of Schulman, "Approximating KL divergence".
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from agents.data.trajectories import Trajectory
from agents.training.credit import TrainedStep
from agents.training.distributed import SINGLE_RANK, Ranks


class Tokens(NamedTuple):
    """Inputs of the loss of a forward pass: values of its N response tokens, step after step.

    Attributes:
        new: log-probabilities of the current model, of shape (N,); the only values with gradients.
        old: log-probabilities of the policy in the denominator of the ratios, of shape (N,).
        sampled: log-probabilities of the sampler, of shape (N,).
        advantages: advantages, of shape (N,).
        weights: weights in the loss, of shape (N,).
        lengths: numbers of tokens of the responses, which sum to N.
        reference: log-probabilities of the reference model, of shape (N,); None without one.

    """

    new: Tensor
    old: Tensor
    sampled: Tensor
    advantages: Tensor
    weights: Tensor
    lengths: tuple[int, ...]
    reference: Tensor | None = None

    @classmethod
    def of(
        cls, new: Sequence[Tensor], steps: Sequence[TrainedStep], old: Sequence[Tensor], reference: Sequence[Tensor] | None
    ) -> "Tokens":
        """Return the tokens of some steps, on the device of their new log-probabilities."""
        device, lengths = new[0].device, tuple(len(values) for values in new)
        advantages, weights = (
            torch.tensor(values, device=device).repeat_interleave(torch.tensor(lengths, device=device))
            for values in ([item.advantage for item in steps], [item.weight for item in steps])
        )
        sampled = torch.tensor([value for item in steps for value in item.step.logprobs], device=device)
        references = torch.cat(list(reference)).to(device) if reference else None
        return cls(torch.cat(list(new)), torch.cat(list(old)).to(device), sampled, advantages, weights, lengths, references)


class Scorer(Protocol):
    """A model that computes the log-probabilities of replies."""

    def choices(self, episode: Trajectory) -> Sequence[Any]:
        """Return the choices of each step of an episode: the tokens of its reply, with their context."""
        ...

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the indices of the steps of a forward pass and the log-probabilities (tokens,) of each step, pass after pass."""
        ...


Loss = tuple[Tensor, dict[str, float]]
"""The loss of a pass, and metrics summed over its tokens: "clipped" (number of clipped tokens) and "kl"."""


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


def mismatch(logprobs_N: Tensor, sampled_logprobs_N: Tensor) -> dict[str, float]:
    """Return metrics of the difference between the log-probabilities of the trainer and the sampler, in nats.

    They are the mean and the largest absolute difference, and the k3 estimate of KL(sampler || trainer) per token.
    """
    difference = (logprobs_N - sampled_logprobs_N).detach().abs()
    kl = k3(sampled_logprobs_N, logprobs_N.detach()).mean()
    return {"mismatch_mean": difference.mean().item(), "mismatch_largest": difference.max().item(), "mismatch_kl": kl.item()}


@torch.no_grad()
def logprobs_of(model: Scorer, steps: Sequence[TrainedStep], ranks: Ranks = SINGLE_RANK) -> list[Tensor]:
    """Return the log-probabilities of the tokens of each step under a model, from all ranks."""
    local = ranks.part(steps, range(len(steps)))
    by_step: dict[int, Tensor] = {}
    for positions, values in model.logprobs([model.choices(steps[index].episode)[steps[index].number] for index in local]):
        by_step |= {local[position]: value.cpu() for position, value in zip(positions, values, strict=False)}
    by_step = dict(item for part in ranks.gather([by_step]) for item in part.items())
    return [by_step[index] for index in range(len(steps))]
