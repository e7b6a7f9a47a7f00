"""Runs of reinforcement: the settings that all trainers share, what samples, what was spent and played."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agents.engines import Engine
from agents.engines.inprocess import InProcessEngine
from agents.engines.vllm import VLLMEngine
from agents.groups import Batch
from agents.lessons import Lesson
from agents.policies import LanguageModelPolicy
from agents.prompts import PromptEncoder, Style
from agents.settings import EnvSettings


@dataclass(frozen=True, kw_only=True)
class RunSettings(EnvSettings):
    """Where a run begins, what it plays, and for how long."""

    model: str
    """a model folder, a run of train_bc, or a Hugging Face name"""
    out: Path
    """folder of the run: checkpoints, metrics, TensorBoard"""
    worlds: tuple[int, ...] = tuple(range(11, 31))
    """seeds of the worlds that tasks come from"""
    per_template: int = 3
    """tasks of each template in each world"""
    templates: tuple[str, ...] = ()
    """only these templates; by default those of the training split"""
    system: Style = "none"
    """the system prompt: none, act (the action alone) or think (reason first)"""
    num_envs: int = 64
    """episodes played at the same time"""
    workers: int = 0
    """processes that share the envs; 0: they are in this one"""
    vllm: str = ""
    """address of a vLLM server to sample on, such as http://127.0.0.1:8000; else the model samples in this process"""
    max_new_tokens: int = 64
    """longest reply"""
    max_prompt_tokens: int = 4096
    """a longer prompt ends the episode with reward 0"""
    minutes: float = 0.0
    """train for so long; 0: for `updates`"""
    updates: int = 100
    """batches of rollouts to train on, unless `minutes` is given"""
    save_every: int = 10
    """batches between checkpoints"""
    threads: int = 0
    """CPU threads; 0: torch's default"""
    seed: int = 0
    """of the tasks and the sampling"""

    def agent(self) -> dict[str, Any]:
        """Return how the trained model is to be used."""
        return {**self.env_arguments(), "system": self.system, "max_new_tokens": self.max_new_tokens}


def engine_factory(
    settings: RunSettings, encoder: PromptEncoder, *, temperature: float, max_tokens: int
) -> Callable[[PreTrainedModel], Engine]:
    """Return what makes the engine for a model: one in this process that has `max_tokens` under way, or a client of the server."""
    sampling: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "temperature": temperature}
    if settings.vllm:
        return lambda _: VLLMEngine(settings.vllm, encoder.stop_ids, settings.out / "weights", **sampling)
    return partial(InProcessEngine, stop_ids=encoder.stop_ids, max_tokens=max_tokens, **sampling)


class Spending:
    """What a run has spent since it first began, so that methods can be compared at equal spending.

    `env_steps` are replies that were acted on, `generated_tokens` all tokens of replies, of whatever rollout; `trained_tokens` the
    reply tokens that the policy was trained on, once for each pass; `cpu_minutes` the CPU time of this process, without those of
    env workers and servers. `before` are the totals that a resumed run goes on from.
    """

    def __init__(self, policy: LanguageModelPolicy, before: Mapping[str, float]) -> None:
        self._policy = policy
        self._before = dict(before)
        self._began_s = time.process_time()
        self._trained_tokens = 0

    def note(self, lesson: Lesson, epochs: int) -> None:
        """Count the tokens of a lesson that was learned in so many passes."""
        taught = zip(lesson.samples, lesson.advantages, strict=True)
        self._trained_tokens += epochs * sum(len(sample.response_ids) for sample, advantage in taught if advantage)

    def totals(self) -> dict[str, float]:
        """Return the totals, which are metrics, and what a resumed run is given as `before`."""
        now = {
            "env_steps": self._policy.replied,
            "generated_tokens": self._policy.generated_tokens,
            "trained_tokens": self._trained_tokens,
            "cpu_minutes": (time.process_time() - self._began_s) / 60,
        }
        return {name: self._before.get(name, 0) + value for name, value in now.items()}


def describe(batch: Batch, lesson: Lesson, version: int) -> dict[str, float]:
    """Return the metrics of the rollouts for the update of this version of the weights."""
    rollouts = [item for group in batch.played for item in group.trajectories]
    valid = [item for group in batch.played for item in group.valid]
    steps = [step for item in valid for step in item.steps]
    count = max(len(valid), 1)
    return {
        "rollouts": len(rollouts),
        "success": sum(item.reward for item in valid) / count,
        "truncated": sum(item.ending == "truncated" for item in valid) / count,
        "failed": len(rollouts) - len(valid),
        "steps": len(steps) / count,
        "reply_tokens": sum(len(step.response_ids) for step in steps) / count,
        "action_errors": sum(bool(step.action_error) for step in steps) / max(len(steps), 1),
        "distinct_prompts": len({step.prompt_ids for step in steps}) / max(len(steps), 1),
        "equal_groups": sum(group.is_equal for group in batch.played) / max(len(batch.played), 1),
        "stale_groups": batch.stale,
        "lag": sum(version - item.policy_version for item in valid) / count,
        "trained_steps": sum(advantage != 0 for advantage in lesson.advantages),
        **{f"time_{place}": share for place, share in batch.shares.items()},
    }
