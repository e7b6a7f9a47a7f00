"""Settings of rollouts: how many there are, where they are played, and how the model replies in them."""

from dataclasses import dataclass

from agents.data.prompts import Style
from agents.settings import MayChange


@dataclass(frozen=True, kw_only=True)
class SamplingSettings:
    """How the model is prompted, and how its replies are sampled."""

    system: Style = "none"
    """the system prompt: none, act (the action alone) or think (reason first)"""
    temperature: float = 1.0
    """of sampling; the trainer computes its log-probabilities at the same"""
    constrained: bool = False
    """allow only well-formed actions on elements of the page, with spans of the goal or the page as arguments"""
    max_new_tokens: int = 64
    """longest reply"""
    max_prompt_tokens: int = 4096
    """a longer prompt ends the episode with reward 0"""


@dataclass(frozen=True, kw_only=True)
class RolloutSettings:
    """How many rollouts an update learns from, how far they may lag behind it, and where they are played."""

    tasks_per_update: int = 16
    """groups in one batch of rollouts"""
    group_size: int = 16
    """rollouts of each task, all from one seed"""
    dynamic_sampling: int = 1
    """play up to so many times tasks_per_update groups until that many are mixed; 1: take groups as they come"""
    staleness: int = 0
    """updates that a group's oldest reply may lie behind the model that learns from it; older groups are dropped"""
    overlap: bool = False
    """collect the next batch while the model learns, with a copy of the parameters; needs a staleness of 1 or more"""
    num_envs: MayChange[int] = 64
    """episodes played at the same time"""
    workers: MayChange[int] = 0
    """processes that share the envs; 0: they are in this one"""
    processes: MayChange[int] = 1
    """processes that play side by side on a CPU, each with a copy of the model and one thread; 0: one for each core where the
    model is small; with more than one, equal runs differ in the last bits of what the model computes. They compute the
    gradients of a pointing network, too"""
    vllm: MayChange[str] = ""
    """address of a vLLM server to sample on, such as http://127.0.0.1:8000; else the model samples in this process"""

    @property
    def room(self) -> int:
        """How many groups may be under way, or finished and not yet learned from."""
        return self.tasks_per_update * (1 + self.staleness - self.overlap)


@dataclass(frozen=True, kw_only=True)
class HorizonSettings:
    """How long rollouts may become while training goes on: the progressive reinforcement of KLong (arXiv 2602.17547)."""

    step_limits: tuple[int, ...] = ()
    """growing step limits of equal parts of the training, such as 10 20 40; by default max_steps in all of it"""

    def __post_init__(self) -> None:
        if min(self.step_limits, default=1) < 1 or list(self.step_limits) != sorted(self.step_limits):
            raise ValueError(f"step_limits={self.step_limits}; expected positive numbers, none smaller than the one before")

    def limit(self, progress: float) -> int | None:
        """Return the step limit at a part of the training, None for the env's own.

        >>> [HorizonSettings(step_limits=(10, 20)).limit(progress) for progress in (0.0, 0.4, 0.5, 1.0)]
        [10, 10, 20, 20]
        """
        if not self.step_limits:
            return None
        return self.step_limits[min(int(progress * len(self.step_limits)), len(self.step_limits) - 1)]
