"""Gradients: what is computed of a training batch for an update, in this process or in the processes that play."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy
import torch
from torch import Tensor, nn

from agents.models.batches import Sharing
from agents.rollouts.players import Players
from agents.training import losses
from agents.training.batch import TrainingBatch
from agents.training.distributed import ALONE, Ranks, Weights
from agents.training.families import ModelFamily, Pass
from agents.training.objectives import Objective, Tokens

Values = dict[str, float]
"""Sums over tokens: the loss, and how many tokens were clipped, their KL divergences, and the largest gap to the sampler"""


class Gradients(Protocol):
    """Computes gradients of one training batch after the other, with the parameters as they are at each call."""

    def take(self, training_batch: TrainingBatch, passes: Sequence[Sequence[int]]) -> None:
        """Work on this batch from now on; `passes` are the samples that gradients will be asked of together."""

    def recompute(self) -> list[tuple[float, ...]]:
        """Return the model's own log-probabilities of each sample of the batch, and take ratios to them from now on."""
        ...

    def add(self, indices: Sequence[int], scale: float = 1.0) -> Values:
        """Add the gradient of `scale` times the loss of these samples of the batch to the parameters' own."""
        ...

    def release(self) -> None:
        """Forget the batch."""


class OwnGradients:
    """Computes gradients in this process, or in each of several ranks for its part of the samples.

    All methods must be called in every rank, with the same arguments. `tokens_per_pass` and `sharing` say how samples are packed.
    """

    def __init__(
        self,
        weights: Weights,
        family: ModelFamily,
        objective: Objective,
        *,
        temperature: float,
        tokens_per_pass: int,
        sharing: Sharing = "auto",
        reference: Weights | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        self._weights = weights
        self._family = family
        self._objective = objective
        self._temperature = temperature
        self._tokens_per_pass = tokens_per_pass
        self._sharing = sharing
        self._reference = reference
        self._ranks = ranks
        self._batch = TrainingBatch([], [], [], [], [], [])

    def take(self, training_batch: TrainingBatch, passes: Sequence[Sequence[int]] = ()) -> None:  # noqa: ARG002 - one after the other
        """Work on this batch from now on."""
        self._batch = training_batch
        self._weights.train()

    @torch.no_grad()
    def recompute(self) -> list[tuple[float, ...]]:
        """Return the model's own log-probabilities of each sample of the batch, and take ratios to them from now on."""
        found: dict[int, tuple[float, ...]] = {}
        for batch, _ in self._passes(self._batch):
            for index, part in zip(batch.samples, self._logprobs(self._weights, batch).split(batch.lengths), strict=True):
                found[index] = tuple(part.tolist())
        found = dict(item for part in self._ranks.gather([found]) for item in part.items())
        old = [found[index] for index in range(len(found))]
        self._batch = self._batch._replace(old_logprobs=old)
        return old

    def add(self, indices: Sequence[int], scale: float = 1.0) -> Values:
        """Add the gradient of `scale` times the loss of these samples of the batch to the parameters' own."""
        training_batch = self._batch.only(indices)
        values = {"loss": 0.0, "clipped": 0.0, "kl": 0.0, "logprob_gap": 0.0}
        for batch, is_idle in self._passes(training_batch):
            logprobs = self._logprobs(self._weights, batch)
            sampled, old = (
                _gather(batch, each).to(logprobs.device)
                for each in (training_batch.sampled_logprobs, training_batch.old_logprobs)
            )
            tokens = Tokens(
                logprobs,
                sampled,
                old,
                batch.spread(training_batch.advantages).to(logprobs.device),
                batch.spread(training_batch.weights).to(logprobs.device),
                self._reference_logprobs(batch),
                batch.lengths,
            )
            result = self._objective.loss(tokens)
            weight = 0.0 if is_idle else 1.0
            # Times the number of ranks, as the gradient is their mean, and the weights of the tokens already make it whole.
            (result.loss * weight * scale * self._ranks.count).backward()
            values["loss"] += weight * result.loss.item()
            values["clipped"] += weight * result.clipped_fraction * len(logprobs)
            values["kl"] += weight * result.kl * len(logprobs)
            values["logprob_gap"] = max(values["logprob_gap"], losses.mismatch(logprobs, sampled).largest)
        return total(self._ranks.gather([values]))

    def release(self) -> None:
        """Forget the batch."""
        self._batch = TrainingBatch([], [], [], [], [], [])
        self._family.forget()

    def _passes(self, training_batch: TrainingBatch) -> list[tuple[Pass, bool]]:
        """Return this rank's batches, and whether each is idle: only there because all ranks must take equally many passes."""
        own = self._pack(training_batch, self._ranks.part(training_batch.samples))
        passes = max(self._ranks.gather([len(own)]))
        idle = self._pack(training_batch, [0]) if passes > len(own) else []
        return [(batch, False) for batch in own] + [(batch, True) for batch in idle] * (passes - len(own))

    def _pack(self, training_batch: TrainingBatch, indices: Sequence[int]) -> Sequence[Pass]:
        return self._family.pack(self._weights.model, training_batch, indices, self._tokens_per_pass, self._sharing)

    @torch.no_grad()
    def _reference_logprobs(self, batch: Pass) -> Tensor | None:
        return None if self._reference is None else self._logprobs(self._reference, batch)

    def _logprobs(self, weights: Weights, batch: Pass) -> Tensor:
        logprobs: Tensor = weights(self._family.logprobs, batch, temperature=self._temperature)
        return logprobs


class PlayersGradients:
    """Computes gradients in the processes that play, each those of some groups.

    Parameters and gradients lie in memory that all processes share. Gradients are added up in the order of the processes.
    """

    def __init__(self, players: Players, model: nn.Module) -> None:
        self._players = players
        self._parameters = list(model.parameters())
        size = sum(parameter.numel() for parameter in self._parameters)
        self._shared = torch.zeros(size).share_memory_()
        self._gradients = torch.zeros(players.count, size).share_memory_()
        self._players.call("share", [(self._shared, gradient) for gradient in self._gradients])
        self._places: list[tuple[int, int]] = []  # of each sample: its process, and its place there

    def take(self, training_batch: TrainingBatch, passes: Sequence[Sequence[int]]) -> None:
        """Work on this batch from now on."""
        parts = dealt(training_batch, passes, self._players.count)
        places = {index: (process, place) for process, part in enumerate(parts) for place, index in enumerate(part)}
        self._places = [places[index] for index in range(len(places))]
        self._players.call("take", [(training_batch.only(part),) for part in parts])

    def recompute(self) -> list[tuple[float, ...]]:
        """Return the model's own log-probabilities of each sample of the batch, and take ratios to them from now on."""
        self._put_down()
        found = self._players.call("recompute", [()] * self._players.count)
        return [found[process][place] for process, place in self._places]

    def add(self, indices: Sequence[int], scale: float = 1.0) -> Values:
        """Add the gradient of `scale` times the loss of these samples of the batch to the parameters' own."""
        self._put_down()
        parts: list[list[int]] = [[] for _ in range(self._players.count)]
        for index in indices:
            process, place = self._places[index]
            parts[process].append(place)
        found: list[tuple[Values, list[bool]]] = self._players.call("add", [(part, scale) for part in parts])
        whole = self._gradients.sum(0)
        for number, (parameter, gradient) in enumerate(zip(self._parameters, _cut(whole, self._parameters), strict=True)):
            if any(has_gradient[number] for _, has_gradient in found):
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        return total([values for values, _ in found])

    def release(self) -> None:
        """Forget the batch."""
        self._places.clear()
        self._players.call("release", [()] * self._players.count)

    @torch.no_grad()
    def _put_down(self) -> None:
        torch.cat([parameter.reshape(-1) for parameter in self._parameters], out=self._shared)


class PlayerGradients:
    """The part of `PlayersGradients` in a process that plays: its `calls`, by name."""

    def __init__(self, model: nn.Module, own: OwnGradients) -> None:
        self._parameters = list(model.parameters())
        self._own = own
        self._shared = self._gradient = torch.zeros(0)

    @property
    def calls(self) -> Mapping[str, Callable[..., Any]]:
        """What `Players.call` can be asked for."""
        return {
            "share": self._share,
            "take": self._own.take,
            "recompute": self._recompute,
            "add": self._add,
            "release": self._own.release,
        }

    def _share(self, parameters: Tensor, gradient: Tensor) -> None:
        self._shared, self._gradient = parameters, gradient

    def _recompute(self) -> list[tuple[float, ...]]:
        self._take_up()
        return self._own.recompute()

    def _add(self, places: Sequence[int], scale: float) -> tuple[Values, list[bool]]:
        """Return also which parameters have a gradient."""
        self._take_up()
        for parameter in self._parameters:
            parameter.grad = None
        values = self._own.add(places, scale)
        for parameter, gradient in zip(self._parameters, _cut(self._gradient, self._parameters), strict=True):
            if parameter.grad is None:
                gradient.zero_()
            else:
                gradient.copy_(parameter.grad)
        return values, [parameter.grad is not None for parameter in self._parameters]

    @torch.no_grad()
    def _take_up(self) -> None:
        for parameter, values in zip(self._parameters, _cut(self._shared, self._parameters), strict=True):
            parameter.copy_(values)


def dealt(training_batch: TrainingBatch, passes: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Return the indices of the samples in `count` parts, of whole groups, so that in each pass the parts have about as much work.

    The work of a step is the number of its choices, once for all equal steps of a group in a pass.
    """
    members: dict[int, list[int]] = {}
    for index, origin in enumerate(training_batch.origins):
        members.setdefault(origin.group, []).append(index)
    group_of = [origin.group for origin in training_batch.origins]
    work = {group: numpy.zeros(len(passes)) for group in members}
    for number, indices in enumerate(passes):
        distinct = {
            (group_of[index], tuple(sample.prompt_ids)): len(sample.response_ids)
            for index in indices
            for sample in [training_batch.samples[index]]
        }
        for (group, _), choices in distinct.items():
            work[group][number] += choices
    loads = numpy.zeros((count, len(passes)))
    parts: list[list[int]] = [[] for _ in range(count)]
    for group in sorted(work, key=lambda group: (-work[group].sum(), group)):
        # The time of a pass is that of its slowest part, so the part is chosen that makes them least longer.
        slowest = loads.max(0)
        longer = [
            (numpy.maximum(loads[part] + work[group] - slowest, 0).sum(), loads[part].sum(), part) for part in range(count)
        ]
        part = min(longer)[-1]
        loads[part] += work[group]
        parts[part] += members[group]
    return [sorted(part) for part in parts]


def total(parts: Sequence[Values]) -> Values:
    """Return the sums of several processes' values, and the largest gap."""
    summed = {name: sum(part[name] for part in parts) for name in parts[0]}
    return summed | {"logprob_gap": max(part["logprob_gap"] for part in parts)}


def _cut(flat: Tensor, parameters: Sequence[nn.Parameter]) -> list[Tensor]:
    """Return views of a flat tensor in the shapes of the parameters."""
    parts = flat.split([parameter.numel() for parameter in parameters])
    return [part.view(parameter.shape) for part, parameter in zip(parts, parameters, strict=True)]


def _gather(batch: Pass, values_S: Sequence[Sequence[float]]) -> Tensor:
    """Return the values of a batch's tokens, shape (N,), from those of all samples."""
    return torch.tensor([value for index in batch.samples for value in values_S[index]])
