"""Runs of reinforcement: the settings and the loop that all trainers share, what samples, what was spent and played."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm
from transformers import PreTrainedModel

from agents.data.prompts import PromptEncoder, Style, system_prompt
from agents.models.checkpoints import is_small, load_model
from agents.rollouts.engines import Engine
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.engines.vllm import VLLMEngine
from agents.rollouts.envs import create_envs
from agents.rollouts.groups import Batch, GroupSettings, GroupStream
from agents.rollouts.players import Player, Players, process_count
from agents.rollouts.policies import LanguageModelPolicy
from agents.settings import EnvSettings, LengthSettings
from agents.training.batch import Lesson
from agents.training.learner import UpdateSettings
from agents.training.metrics import BAR, Metrics
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class RunSettings(EnvSettings, UpdateSettings, GroupSettings, LengthSettings):
    """Where a run begins, and what it plays."""

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
    processes: int = 1
    """processes that play side by side on a CPU, each with a copy of the model and one thread; 0: one for each core where the
    model is small; with more than one, equal runs differ in the last bits of what the model computes"""
    threads: int = 0
    """CPU threads that learn, and play with one process; 0: torch's default"""
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


def make_players(settings: RunSettings, source: str | Path, tasks: Sequence[Task]) -> Players | None:
    """Return processes that play with copies of the model in `source`, or None where one process is to play alone.

    Raises ValueError where several are asked for and cannot be.
    """
    alone = [name for name in ("vllm", "workers", "cluster", "lora_rank") if getattr(settings, name, None)] + ["advantages"] * (
        getattr(settings, "advantages", "") == "forks"
    )
    if settings.processes > 1 and alone:
        raise ValueError(f"processes is {settings.processes}; expected 1 with {alone[0]}={getattr(settings, alone[0])!r}")
    episodes = settings.tasks_per_update * settings.group_size
    can_share = not (alone or settings.threads or torch.cuda.is_available()) and is_small(source)
    processes = settings.processes or (process_count(0, episodes) if can_share else 1)
    if processes == 1:
        return None
    make_player = partial(_make_player, settings, source, tasks, -(-settings.num_envs // processes))
    return Players(make_player, processes, num_envs=settings.num_envs, seed=settings.seed)


def _make_player(settings: RunSettings, source: str | Path, tasks: Sequence[Task], num_envs: int) -> Player:
    model, tokenizer = load_model(source)
    encoder = PromptEncoder(tokenizer, system_prompt(settings.system, elements=settings.elements))
    engine = engine_factory(settings, encoder, temperature=settings.temperature, max_tokens=settings.tokens_per_pass)(model)

    def load(parameters: dict[str, torch.Tensor], version: int) -> None:
        model.load_state_dict(parameters)
        engine.load(model, version)

    envs = create_envs(tasks, num_envs, **settings.env_arguments())
    return Player(envs, LanguageModelPolicy(engine, encoder, settings.max_prompt_tokens), load)


class Spending:
    """What a run has spent since it first began, so that methods can be compared at equal spending.

    `env_steps` are replies that were acted on, `generated_tokens` all tokens of replies, of whatever rollout; `trained_tokens` the
    reply tokens that the policy was trained on, once for each pass; `cpu_minutes` the CPU time of this process and of players, without
    those of env workers and servers. `before` are the totals that a resumed run goes on from.
    """

    def __init__(self, policy: LanguageModelPolicy | Players, before: Mapping[str, float]) -> None:
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
            "cpu_minutes": (time.process_time() - self._began_s + self._policy.cpu_s) / 60,
        }
        return {name: self._before.get(name, 0) + value for name, value in now.items()}


Learn = Callable[[Batch, int, float], tuple[Lesson, dict[str, float]]]
"""Learns from a batch, given the update's number and the part of the training that is done; returns lesson and metrics."""

Save = Callable[[int, dict[str, Any]], Path]
"""Writes a checkpoint after so many updates, with a record of where the run is, and returns its folder."""


def play_and_learn(
    settings: RunSettings,
    policy: LanguageModelPolicy | Players,
    stream: GroupStream,
    learn: Learn,
    save: Save,
    *,
    title: str,
    update: int,
    record: Mapping[str, Any],
) -> Path:
    """Play batch after batch and learn from each until the run is over. Returns the folder of the last checkpoint.

    The run goes on after `update` updates from the record that was saved then. Metrics are logged update by update. The policy and
    the stream are closed at the end.
    """
    elapsed_s: float = record["elapsed_s"]
    spending = Spending(policy, record["spent"])

    def save_now() -> Path:
        return save(update, {"elapsed_s": elapsed_s, "groups": stream.begun, "spent": spending.totals()})

    with (
        closing(policy),
        closing(stream),
        Metrics(settings.out, update) as metrics,
        tqdm(total=100, unit="%", desc=title, bar_format=BAR) as bar,
    ):
        progress = settings.progress(update, elapsed_s)
        while progress < 1:
            started = time.perf_counter()
            batch = stream.batch(update)
            rollout_s = time.perf_counter() - started
            lesson, values = learn(batch, update, progress)
            spending.note(lesson, settings.epochs)
            spent_s = time.perf_counter() - started
            values |= describe(batch, lesson, update) | spending.totals()
            update, elapsed_s = update + 1, elapsed_s + spent_s
            progress = settings.progress(update, elapsed_s)
            metrics.log(update, values | {"rollout_s": rollout_s, "elapsed_s": elapsed_s})
            bar.set_postfix_str(
                f"success {values['success']:.2f}, {values['rollouts'] / spent_s:.0f} rollouts/s", refresh=False
            )
            bar.update(min(100.0, 100 * progress) - bar.n)
            if update % settings.save_every == 0 and progress < 1:
                save_now()
        return save_now()


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
