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
from typing import Any, Literal, NamedTuple

import torch
from tqdm import tqdm
from transformers import PreTrainedModel

from agents import losses
from agents.batches import Sample, batch_logprobs, pack
from agents.checkpoints import agent_record, checkpoints, load_model, save_checkpoint
from agents.demonstrations import draw_tasks
from agents.engine import Engine
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
class GRPOSettings(EnvSettings):
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
    temperature: float = 1.0
    """of sampling; the trainer computes its log-probabilities at the same"""
    max_new_tokens: int = 64
    """longest reply"""
    max_prompt_tokens: int = 4096
    """a longer prompt ends the episode with reward 0"""
    advantages: Literal["state", "trajectory"] = "state"
    """compare rollouts of a group that stood before the same prompt, or whole rollouts"""
    scale_advantages: bool = True
    """divide advantages by the standard deviation of the group"""
    weighting: losses.Weighting = "token_mean"
    """paper: mean over trajectories, steps and tokens in turn; token_mean: every token alike"""
    clip_low: float = 0.2
    """how far a token's probability ratio may fall before it is clipped"""
    clip_high: float = 0.28
    """how far it may rise"""
    kl_weight: float = 0.0
    """weight of the KL divergence to the first model; 0 needs no reference model"""
    epochs: int = 1
    """passes over a batch of rollouts"""
    minibatches: int = 1
    """updates in one pass"""
    learning_rate: float = 3e-4
    """constant learning rate"""
    adam_beta2: float = 0.95
    """AdamW's second beta"""
    weight_decay: float = 0.0
    """AdamW's weight decay"""
    max_grad_norm: float = 1.0
    """gradients are scaled down to this norm"""
    tokens_per_pass: int = 16_384
    """tokens in one forward pass, padding included"""
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


class Lesson(NamedTuple):
    """What one batch of rollouts teaches: samples with the sampler's log-probabilities, an advantage and a token weight each."""

    samples: list[Sample]
    sampled_logprobs: list[tuple[float, ...]]
    advantages: list[float]
    weights: list[float]
    equal_groups: int  # groups whose rewards were all equal, which teach nothing

    def only(self, indices: Sequence[int]) -> "Lesson":
        """Return the lesson with these samples alone; weights stay what they were in the whole."""
        return Lesson(
            [self.samples[index] for index in indices],
            [self.sampled_logprobs[index] for index in indices],
            [self.advantages[index] for index in indices],
            [self.weights[index] for index in indices],
            self.equal_groups,
        )


def train(settings: GRPOSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    if tasks is None:
        tasks = draw_tasks(settings.worlds, settings.per_template, templates=settings.templates, variation=settings.variation)
    done = checkpoints(settings.out)
    model, tokenizer = load_model(done[-1].path if done else settings.model)
    reference = _reference(settings) if settings.kl_weight else None
    encoder = PromptEncoder(tokenizer, system_prompt(settings.system, elements=settings.elements))
    engine = Engine(model, encoder.stop_ids, settings.max_new_tokens, settings.temperature, max_tokens=settings.tokens_per_pass)
    optimizer = torch.optim.AdamW(
        model.parameters(), settings.learning_rate, betas=(0.9, settings.adam_beta2), weight_decay=settings.weight_decay
    )
    update, elapsed_s = 0, 0.0
    rates: dict[str, float] = {}  # running success of each template
    if done:
        done[-1].restore(optimizer)
        record = done[-1].progress()
        update, elapsed_s, rates = done[-1].update, record["elapsed_s"], record["rates"]

    def progress() -> float:
        """The part of the training that is done."""
        return elapsed_s / (60 * settings.minutes) if settings.minutes else update / settings.updates

    def save() -> Path:
        record = {"elapsed_s": elapsed_s, "rates": rates}
        return save_checkpoint(settings.out, update, model, tokenizer, optimizer, record, settings.agent()).path

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
            values = take_updates(model, reference, optimizer, lesson, settings, random.Random(f"{settings.seed}/{update}"))
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


def learn_from(trajectories: Sequence[Trajectory], settings: GRPOSettings) -> Lesson:
    """Return samples, advantages and weights of all groups with mixed rewards. Failed episodes are left out."""
    groups = grouped(trajectories)
    mixed = [group for group in groups if len({trajectory.reward for trajectory in group}) > 1]
    samples, logprobs, advantages, lengths, steps_of = [], [], [], [], []
    for group in mixed:
        if settings.advantages == "trajectory":
            per_trajectory = losses.trajectory_advantages([item.reward for item in group], scale=settings.scale_advantages)
            own = [value for value, item in zip(per_trajectory, group, strict=True) for _ in item.steps]
        else:
            states = [step.prompt_ids for item in group for step in item.steps]
            returns = [item.reward for item in group for _ in item.steps]
            own = losses.state_advantages(states, returns, scale=settings.scale_advantages)
        advantages += own
        for item in group:
            for step in item.steps:
                samples.append(step.sample)
                logprobs.append(step.logprobs)
                lengths.append(len(step.response_ids))
                steps_of.append(len(item.steps))
    weights = losses.token_weights(lengths, steps_of, sum(map(len, mixed)), settings.weighting)
    lesson = Lesson(samples, logprobs, advantages, weights, len(groups) - len(mixed))
    # Without a KL term nothing pulls at a sample that has no advantage: it need not be computed.
    return lesson if settings.kl_weight else lesson.only([index for index, advantage in enumerate(advantages) if advantage])


def take_updates(
    model: PreTrainedModel,
    reference: PreTrainedModel | None,
    optimizer: torch.optim.Optimizer,
    lesson: Lesson,
    settings: GRPOSettings,
    rng: random.Random,
) -> dict[str, float]:
    """Do all updates on one batch of rollouts and return their metrics."""
    pad_id = model.config.pad_token_id or 0
    logged: dict[str, list[float]] = {}
    model.train()
    for _ in range(settings.epochs):
        order = rng.sample(range(len(lesson.samples)), len(lesson.samples))
        for part in range(settings.minibatches):
            indices = order[part :: settings.minibatches]
            if not indices:
                continue
            for batch in pack([lesson.samples[index] for index in indices], settings.tokens_per_pass, pad_id=pad_id):
                members = [indices[sample] for sample in batch.samples]
                sampled = torch.tensor([value for index in members for value in lesson.sampled_logprobs[index]])
                logprobs = batch_logprobs(model, batch, temperature=settings.temperature)
                device = logprobs.device
                with torch.no_grad():
                    before = None if reference is None else batch_logprobs(reference, batch, temperature=settings.temperature)
                result = losses.clipped_loss(
                    logprobs,
                    sampled.to(device),
                    batch.spread([lesson.advantages[index] for index in indices]).to(device),
                    batch.spread([lesson.weights[index] for index in indices]).to(device),
                    clip_low=settings.clip_low,
                    clip_high=settings.clip_high,
                    kl_weight=settings.kl_weight,
                    reference_logprobs_N=before,
                )
                (result.loss * settings.minibatches).backward()
                gap = (logprobs.detach().cpu() - sampled).abs().max().item()
                seen = {"loss": result.loss.item(), "clipped": result.clipped_fraction, "kl": result.kl, "logprob_gap": gap}
                for name, value in seen.items():
                    logged.setdefault(name, []).append(value)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad()
            logged.setdefault("grad_norm", []).append(norm.item())
    return {name: sum(values) / len(values) for name, values in logged.items()}


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
        "trained_steps": len(lesson.samples),
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
