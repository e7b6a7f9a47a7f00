"""Families of models: how a kind of model computes the log-probabilities that the learner trains."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from torch import Tensor

from agents.data.trajectories import Trajectory
from agents.models.batches import PackedBatch, Sharing, batch_logprobs, pack
from agents.models.pointer.batches import choice_logprobs, pack_choices
from agents.models.pointer.features import Reader
from agents.models.pointer.network import Vocabulary
from agents.models.pointer.recall import Choice, recall
from agents.rollouts.constraints.automaton import State
from agents.rollouts.constraints.constraint import Constraints
from agents.training.batch import TrainingBatch


class Pass(Protocol):
    """Samples for one forward pass, with N response tokens, ordered by sample."""

    @property
    def samples(self) -> tuple[int, ...]:
        """The indices of the samples in the training batch."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """The response lengths of the samples, which sum to N."""

    def spread(self, values_S: Sequence[float]) -> Tensor:
        """Return one value per response token, shape (N,), from one value for each sample of the training batch."""
        ...


class ModelFamily(Protocol):
    """A kind of model: how samples are packed for it, and what their log-probabilities are."""

    def pack(
        self, model: Any, training_batch: TrainingBatch, indices: Sequence[int], max_tokens: int, sharing: Sharing
    ) -> Sequence[Pass]:
        """Return the passes for these samples of a training batch, each of at most `max_tokens` tokens or of one sample."""
        ...

    def logprobs(self, model: Any, batch: Any, *, temperature: float) -> Tensor:
        """Return the log-probabilities of the response tokens of a pass, shape (N,)."""
        ...

    def forget(self) -> None:
        """Release what was kept for the passes of one training batch."""
        ...


class LanguageModels:
    """Causal language models of transformers, which train on token ids.

    With the constraints that the sampler had, log-probabilities are those of the allowed tokens alone, as the sampler's are. The
    allowed tokens are found again from the trajectories of the training batch.
    """

    def __init__(self, constraints: Constraints | None = None) -> None:
        self._constraints = constraints

    def pack(
        self, model: Any, training_batch: TrainingBatch, indices: Sequence[int], max_tokens: int, sharing: Sharing
    ) -> Sequence[Pass]:
        """Return packed batches, as rows or as prefix trees.

        Raises ValueError for a response with a token that the constraints do not allow.
        """
        samples = [training_batch.samples[index] for index in indices]
        batches = pack(samples, max_tokens, pad_id=model.config.pad_token_id or 0, sharing=sharing, model=model)
        batches = [replace(batch, samples=tuple(indices[index] for index in batch.samples)) for batch in batches]
        if self._constraints is None:
            return batches
        return [replace(batch, allowed=_allowed(batch, training_batch, self._constraints)) for batch in batches]

    def logprobs(self, model: Any, batch: Any, *, temperature: float) -> Tensor:
        """Return the log-probabilities of the response tokens."""
        return batch_logprobs(model, batch, temperature=temperature)

    def forget(self) -> None:
        """Do nothing, as nothing is kept."""


def _allowed(batch: PackedBatch, training_batch: TrainingBatch, constraints: Constraints) -> tuple[tuple[int, Tensor], ...]:
    """Return the allowed tokens at the predicting positions of a batch. Samples with one position in common have one prompt."""
    states: list[State] = []
    for index in batch.samples:
        trajectory = training_batch.trajectories[index]
        page = trajectory.steps[training_batch.origins[index].step].page
        states += constraints.on(trajectory.goal, page).automaton.path(training_batch.samples[index].response_ids)
    found = dict(zip(batch.predictors.tolist(), states, strict=True))
    return tuple((position, state.allowed) for position, state in found.items())


class PointingNetworks:
    """Pointing networks, whose tokens are the choices of a reply.

    Their questions are made again from the trajectories of the training batch. `reader` may be that of the policy in this process,
    which has read the same pages.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.reader = Reader()
        self._vocabulary = vocabulary
        self._recalled: dict[int, tuple[Trajectory, list[list[Choice]]]] = {}  # by the trajectory's id, which it keeps taken

    def pack(
        self,
        model: Any,  # noqa: ARG002 - packing does not depend on it
        training_batch: TrainingBatch,
        indices: Sequence[int],
        max_tokens: int,
        sharing: Sharing,  # noqa: ARG002 - texts are always shared
    ) -> Sequence[Pass]:
        """Return batches of at most `max_tokens` candidates."""
        choices = [self._recall(training_batch.trajectories[index])[training_batch.origins[index].step] for index in indices]
        return list(pack_choices(choices, indices, max_tokens, self.reader))

    def logprobs(self, model: Any, batch: Any, *, temperature: float) -> Tensor:
        """Return the log-probabilities of the choices."""
        return choice_logprobs(model, batch, self._vocabulary, temperature)

    def forget(self) -> None:
        """Release the choices, and the reader where it has grown large."""
        self._recalled.clear()
        self.reader = self.reader.renewed()

    def _recall(self, trajectory: Trajectory) -> list[list[Choice]]:
        key = id(trajectory)
        if key not in self._recalled:
            self._recalled[key] = trajectory, recall(self.reader, trajectory)
        return self._recalled[key][1]
