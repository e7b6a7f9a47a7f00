"""A pointing network in training: the policy that plays with it, and the log-probabilities of its choices."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from agents.data.trajectories import Trajectory
from agents.models.critics import Critic, PointerCritics
from agents.models.pointer.decoding import Choice, recall
from agents.models.pointer.network import PointerNetwork, Vocabulary, choice_logprobs, load_pointer, pack_choices
from agents.models.pointer.reader import SharedReader
from agents.rollouts.pointer import PointerPolicy
from agents.training.settings import TrainSettings
from webarena_gym.actions import DIALECTS

THREADS = 1  # its matrices are small: more threads wait for each other, on a busy machine for minutes
CANDIDATES_PER_PASS = 65_536


class PointingNetwork:
    """A pointing network, whose tokens are the choices of a reply. It is trained and played on CPUs of one machine.

    Questions are made again from the episodes that are trained on, with the reader of the policy in this process.
    """

    beta2, weight_decay, threads = 0.99, 0.01, THREADS
    encoder = None  # it reads pages, no prompts

    def __init__(self, network: PointerNetwork, vocabulary: Vocabulary, settings: TrainSettings) -> None:
        self.check(settings)
        self.network, self.tokenizer = network, vocabulary
        self.critics = PointerCritics(settings.seed)
        self._settings, self._readers = settings, SharedReader()
        self._recalled: dict[int, tuple[Trajectory, list[list[Choice]]]] = {}  # by the episode's id, which it keeps taken

    @classmethod
    def load(cls, source: str | Path, settings: TrainSettings) -> "PointingNetwork":
        """Return the network in a folder or run."""
        return cls(*load_pointer(source), settings)

    @staticmethod
    def check(settings: TrainSettings) -> None:
        """Raise ValueError for what only language models can do."""
        if settings.elements != "id":
            raise ValueError(f"elements is {settings.elements!r}; expected 'id' with a pointing network")
        for name in ("vllm", "constrained", "lora_rank", "gradient_checkpointing", "overlap", "cluster"):
            if value := getattr(settings, name, None):
                raise ValueError(f"{name} is {value!r}, which is for language models; expected its default")
        if settings.contexts == "released":
            raise ValueError("contexts is 'released', which is for language models; expected 'sampled'")

    def policy(self) -> PointerPolicy:
        """Return a policy, which scores in this process. It reads the env's own dialect."""
        dialect = DIALECTS["webrl"].naming_by(self._settings.elements)
        return PointerPolicy(self.network, self.tokenizer, dialect, self._settings.temperature, self._readers)

    def choices(self, episode: Trajectory) -> list[list[Choice]]:
        """Return of each step of an episode the questions, and what was chosen."""
        if id(episode) not in self._recalled:
            self._recalled[id(episode)] = episode, recall(self._readers.current, episode)
        return self._recalled[id(episode)][1]

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the places of some of these choices and the log-probabilities of each, pass after pass."""
        for batch in pack_choices(choices, range(len(choices)), CANDIDATES_PER_PASS, self._readers.current):
            values = choice_logprobs(self.network, batch, self.tokenizer, self._settings.temperature)
            yield list(batch.samples), list(values.split(batch.lengths))

    def forget(self) -> None:
        """Release the choices, and the reader where it has grown large."""
        self._recalled.clear()
        self._readers.renew()

    def critic(self) -> Critic:
        """Return a new critic, which reads words and begins with parameters of its own."""
        return self.critics.create(rate=2e-3)
