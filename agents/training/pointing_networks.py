"""Pointing networks in training: what plays with them, and the log-probabilities of their choices."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from agents.data.trajectories import Trajectory
from agents.models.batches import Sharing
from agents.models.checkpoints import agent_record
from agents.models.critics import PointerCritics
from agents.models.pointer.decoding import Choice, recall
from agents.models.pointer.network import Vocabulary, choice_logprobs, load_pointer, pack_choices
from agents.models.pointer.reader import SharedReader
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.setup import PlayerSettings, Sampler
from agents.training.batch import TrainingBatch
from agents.training.distributed import ALONE, Ranks
from agents.training.families import CreateEngine, Pass
from agents.training.objectives import Objective
from webarena_gym.actions import DIALECTS

_OF_LANGUAGE_MODELS = ("vllm", "constrained", "overlap", "cluster", "lora_rank", "gradient_checkpointing")


class PointingNetwork:
    """The kind of pointing networks, which are trained and played on CPUs of one machine."""

    preset = "pointer"
    threads = 1  # its matrices are small: more threads wait for each other, on a busy machine for minutes

    divides = True

    def record(self, source: str | Path) -> Mapping[str, Any]:
        """Return how the network was used in training."""
        return agent_record(source)

    def ranks(self) -> Ranks:
        """Return this process alone."""
        return ALONE

    def check(self, options: Mapping[str, Any], objective: Objective) -> None:  # noqa: ARG002 - any will do
        """Raise ValueError for what only language models can do."""
        if options["elements"] != "id":
            raise ValueError(f"elements is {options['elements']!r}; expected 'id' with a pointing network")
        others = {name: options[name] for name in _OF_LANGUAGE_MODELS}
        others["contexts"] = options.get("contexts") == "released" and "released"
        for name, value in others.items():
            if value:
                raise ValueError(
                    f"{name} is {value!r}, which is for language models; expected its default with a pointing network"
                )

    def load(self, source: str | Path) -> tuple[Any, Any]:
        """Return a pointing network and its vocabulary."""
        return load_pointer(source)

    def family(self, tokenizer: Any, settings: PlayerSettings) -> "PointingNetworks":  # noqa: ARG002 - they are for prompts
        """Return the family with this vocabulary."""
        return PointingNetworks(tokenizer)


class PointingNetworks:
    """Pointing networks, whose tokens are the choices of a reply.

    Their questions are made again from the trajectories of the training batch, with the reader of the policy in this process.
    """

    encoder = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._readers = SharedReader()
        self._vocabulary = vocabulary
        self._recalled: dict[int, tuple[Trajectory, list[list[Choice]]]] = {}  # by the trajectory's id, which it keeps taken

    def sampler(self, settings: PlayerSettings, model: Any, create_engine: CreateEngine | None = None) -> Sampler:  # noqa: ARG002
        """Return a policy, which scores in this process. It reads the env's own dialect."""
        dialect = DIALECTS["webrl"].naming_by(settings.env.elements)
        policy = PointerPolicy(model, self._vocabulary, dialect, settings.sampling.temperature, self._readers)
        return Sampler(policy, policy.load, model)

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
        return list(pack_choices(choices, indices, max_tokens, self._readers.current))

    def logprobs(self, model: Any, batch: Any, *, temperature: float) -> Tensor:
        """Return the log-probabilities of the choices."""
        return choice_logprobs(model, batch, self._vocabulary, temperature)

    def forget(self) -> None:
        """Release the choices, and the reader where it has grown large."""
        self._recalled.clear()
        self._readers.renew()

    def critics(self, initial_model: Callable[[], Any], *, tokens_per_pass: int, seed: int) -> PointerCritics:  # noqa: ARG002
        """Return critics that read words, and begin with parameters of their own."""
        return PointerCritics(seed)

    def _recall(self, trajectory: Trajectory) -> list[list[Choice]]:
        key = id(trajectory)
        if key not in self._recalled:
            self._recalled[key] = trajectory, recall(self._readers.current, trajectory)
        return self._recalled[key][1]
