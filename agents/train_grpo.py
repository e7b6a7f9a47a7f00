"""Multi-turn GRPO: a model plays tasks in groups and learns from what set its better episodes apart.

Run `python -m agents.train_grpo --help`. After WebAgent-R1 (arXiv 2505.16421): groups of rollouts of one task, a binary reward
at the end, a clipped token-level objective. Every step is trained in the exact token context in which it was sampled.

What it leaves out: rollouts while the model trains (each update waits for its own rollouts) and more than one device.
"""

import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import torch
from tqdm import tqdm
from transformers import PreTrainedModel

from agents.checkpoints import agent_record, checkpoints, load_model, save_checkpoint
from agents.demonstrations import draw_tasks
from agents.engine import Engine
from agents.learner import Learner, UpdateSettings
from agents.lessons import CreditSettings, Lesson, learn_from
from agents.metrics import Metrics
from agents.policies import LanguageModelPolicy
from agents.prompts import PromptEncoder, Style, system_prompt
from agents.rollouts import Collector, group_episodes
from agents.settings import EnvSettings, parse_settings
from agents.trajectories import Trajectory, grouped
from webarena_gym.tasks import Task

PRESETS: dict[str, dict[str, Any]] = {
    "small": {},
    "paper": {
        "advantages": "trajectory",
        "weighting": "paper",
        "tasks_per_update": 16,
        "group_size": 4,
        "learning_rate": 1e-6,
        "clip_high": 0.2,
        "kl_weight": 0.001,
        "max_grad_norm": 0.01,
        "adam_beta2": 0.99,
        "max_new_tokens": 1024,
        "max_prompt_tokens": 16_384,
        "elements": "id",
        "thoughts": True,
        "system": "think",
        "seek_mixed": False,
    },
}


@dataclass(frozen=True, kw_only=True)
class GRPOSettings(EnvSettings, CreditSettings, UpdateSettings):
    """Improve a model by reinforcement. A run that was killed goes on where its newest checkpoint left it.

    `--preset paper` has WebAgent-R1's settings; the default, `small`, suits a small model on a CPU.
    """

    model: str
    """a model folder, a run of train_bc, or a Hugging Face name"""
    out: Path
    """folder of the run: checkpoints, metrics, TensorBoard"""
    preset: Literal["small", "paper"] = "small"
    """defaults of the other options"""
    worlds: tuple[int, ...] = tuple(range(11, 31))
    """seeds of the worlds that tasks come from"""
    per_template: int = 3
    """tasks of each template in each world"""
    templates: tuple[str, ...] = ()
    """only these templates; all of them by default"""
    system: Style = "none"
    """the system prompt: none, act (the action alone) or think (reason first)"""
    tasks_per_update: int = 16
    """groups in one batch of rollouts"""
    group_size: int = 16
    """rollouts of each task, all from one seed"""
    seek_mixed: bool = True
    """draw more often from templates that neither always succeed nor always fail"""
    num_envs: int = 64
    """episodes played at the same time"""
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
        return {**self.env_arguments(), "system": self.system}


def train(settings: GRPOSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    if tasks is None:
        tasks = draw_tasks(settings.worlds, settings.per_template, templates=settings.templates, variation=settings.variation)
    done = checkpoints(settings.out)
    model, tokenizer = load_model(done[-1].path if done else settings.model)
    encoder = PromptEncoder(tokenizer, system_prompt(settings.system, elements=settings.elements))
    engine = Engine(model, encoder.stop_ids, settings.max_new_tokens, settings.temperature, max_tokens=settings.tokens_per_pass)
    learner = Learner(model, settings, _reference(settings) if settings.kl_weight else None)
    update, elapsed_s = 0, 0.0
    rates: dict[str, float] = {}  # running success of each template
    if done:
        done[-1].restore(learner.optimizer)
        record = done[-1].progress()
        update, elapsed_s, rates = done[-1].update, record["elapsed_s"], record["rates"]

    def progress() -> float:
        """The part of the training that is done."""
        return elapsed_s / (60 * settings.minutes) if settings.minutes else update / settings.updates

    def save() -> Path:
        record = {"elapsed_s": elapsed_s, "rates": rates}
        return save_checkpoint(settings.out, update, model, tokenizer, learner.optimizer, record, settings.agent()).path

    collector = Collector(tasks, num_envs=settings.num_envs, **settings.env_arguments())
    with Metrics(settings.out, update) as metrics, tqdm(total=100, unit="%", desc="M-GRPO", bar_format=_BAR) as bar:
        while progress() < 1:
            started = time.perf_counter()
            # All randomness of an update comes from its number, so a resumed run draws the same.
            chosen = choose_tasks(tasks, rates, settings, random.Random(f"{settings.seed}/{update}"))
            policy = LanguageModelPolicy(
                engine, encoder, torch.Generator().manual_seed(settings.seed * 1_000_003 + update), settings.max_prompt_tokens
            )
            episodes = group_episodes(chosen, settings.group_size, seed=update * settings.tasks_per_update)
            trajectories = collector.collect(policy, episodes, policy_version=update)
            rollout_s = time.perf_counter() - started
            _note_success(rates, chosen, trajectories)
            lesson = learn_from(trajectories, settings)
            values = learner.learn(lesson, random.Random(f"{settings.seed}/{update}"))
            update += 1
            elapsed_s += time.perf_counter() - started
            values |= describe(trajectories, lesson) | {"rollout_s": rollout_s, "elapsed_s": elapsed_s}
            metrics.log(update, values)
            bar.set_postfix_str(
                f"success {values['success']:.2f}, {len(trajectories) / rollout_s:.0f} rollouts/s", refresh=False
            )
            bar.update(min(100.0, 100 * progress()) - bar.n)
            if update % settings.save_every == 0 and progress() < 1:
                save()
    collector.close()
    return save()


def choose_tasks(tasks: Sequence[Task], rates: dict[str, float], settings: GRPOSettings, rng: random.Random) -> list[Task]:
    """Return the tasks of one update. Templates near a success of one half come first if mixed groups are sought."""
    by_template: dict[str, list[Task]] = {}
    for task in tasks:
        by_template.setdefault(task.template or task.task_id, []).append(task)
    names = list(by_template)
    chances = [(rate := rates.get(name, 0.5)) * (1 - rate) + 0.03 if settings.seek_mixed else 1.0 for name in names]
    return [rng.choice(by_template[name]) for name in rng.choices(names, chances, k=settings.tasks_per_update)]


def describe(trajectories: Sequence[Trajectory], lesson: Lesson) -> dict[str, float]:
    """Return the metrics of a batch of rollouts."""
    valid = [item for item in trajectories if item.ending != "failed"]
    steps = [step for item in valid for step in item.steps]
    count = max(len(valid), 1)
    return {
        "success": sum(item.reward for item in valid) / count,
        "truncated": sum(item.ending == "truncated" for item in valid) / count,
        "failed": len(trajectories) - len(valid),
        "steps": len(steps) / count,
        "action_errors": sum(bool(step.action_error) for step in steps) / max(len(steps), 1),
        "distinct_prompts": len({step.prompt_ids for step in steps}) / max(len(steps), 1),
        "equal_groups": lesson.equal_groups / max(len(grouped(trajectories)), 1),
        "trained_steps": sum(advantage != 0 for advantage in lesson.advantages),
    }


def _note_success(rates: dict[str, float], chosen: Sequence[Task], trajectories: Sequence[Trajectory]) -> None:
    """Move each template's running success towards that of its newest group."""
    for group in grouped(trajectories):
        task = chosen[group[0].group]
        name = task.template or task.task_id
        mean = sum(item.reward for item in group) / len(group)
        rates[name] = 0.5 * rates.get(name, mean) + 0.5 * mean


def _reference(settings: GRPOSettings) -> PreTrainedModel:
    """The model that training set out from, frozen."""
    model, _ = load_model(settings.model)
    for parameter in model.parameters():
        parameter.requires_grad = False
    return model


_BAR = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}<{remaining} {postfix}"


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says; the model's own env settings and the preset's are the defaults."""
    preset = next((value for name, value in pairwise(arguments) if name == "--preset"), "small")
    model = next((value for name, value in pairwise(arguments) if name == "--model"), None)
    defaults = {**PRESETS.get(preset, {}), **(agent_record(model) if model else {})}
    print(train(parse_settings(GRPOSettings, arguments, defaults)))


if __name__ == "__main__":
    main(sys.argv[1:])
