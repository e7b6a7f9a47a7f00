"""The interfaces of model families: how a kind of model is loaded, plays and learns.

A run knows its models by these alone. There are two: `agents.training.language_models` and `agents.training.pointing_networks`;
`agents.training.kinds` says which of them a folder is of.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from agents.data.prompts import PromptEncoder
from agents.models.batches import Sharing
from agents.models.critics import Critics
from agents.rollouts.engines import Engine
from agents.rollouts.setup import PlayerSettings, Sampler
from agents.training.batch import TrainingBatch
from agents.training.distributed import Ranks
from agents.training.objectives import Objective


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


CreateEngine = Callable[[Any, PromptEncoder], Engine]


class ModelFamily(Protocol):
    """What a loaded model plays and trains with: its policy, how samples are packed, and what their log-probabilities are."""

    @property
    def encoder(self) -> PromptEncoder | None:
        """What makes token ids of prompts, for models that read them."""

    def sampler(self, settings: PlayerSettings, model: Any, create_engine: CreateEngine | None = None) -> Sampler:
        """Return the policy of a model of the family, which may be one that is trained. An engine is created where it needs one."""
        ...

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

    def critics(self, initial_model: Callable[[], Any], *, tokens_per_pass: int, seed: int) -> Critics:
        """Return what makes critics for models of the family; `initial_model` loads the one that training began with."""
        ...


class ModelKind(Protocol):
    """A kind of model before one is loaded."""

    preset: str
    """what --preset is for it, unless told else"""
    threads: int
    """CPU threads that train it, unless told else; 0: torch's default"""
    divides: bool
    """whether processes that play compute its gradients, each of some groups"""

    def record(self, source: str | Path) -> Mapping[str, Any]:
        """Return the options, by name, with which a model must be used as it was trained."""
        ...

    def ranks(self) -> Ranks:
        """Return the processes that train it."""
        ...

    def check(self, options: Mapping[str, Any], objective: Objective) -> None:
        """Raise ValueError for options of a run, by name, that do not go with models of the kind."""
        ...

    def load(self, source: str | Path) -> tuple[Any, Any]:
        """Return the model of a folder, and its tokenizer or vocabulary. Raises CheckpointError."""
        ...

    def family(self, tokenizer: Any, settings: PlayerSettings) -> ModelFamily:
        """Return what a model with this tokenizer or vocabulary plays and trains with."""
        ...
