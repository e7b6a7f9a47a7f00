"""Multi-turn GRPO: a model plays tasks in groups and learns from what set its better episodes apart.

Run `python -m agents.train_grpo --help`. After WebAgent-R1 (arXiv 2505.16421): groups of rollouts of one task, a binary reward
at the end, a clipped token-level objective. Every step is trained in the exact token context in which it was sampled.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Literal

import torch
from transformers import PreTrainedModel

from agents.cluster import ClusterSettings
from agents.cluster.learners import RankZeroLearner, fit, run_worker
from agents.data.demonstrations import draw_tasks
from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.tokens import Ids
from agents.data.trajectories import Trajectory
from agents.methods.contexts import released_prompts, sampled_prompts
from agents.methods.grpo import CreditSettings, learn_from
from agents.methods.presets import PRESETS
from agents.models.checkpoints import agent_record, begin, checkpoints, load_model, save_checkpoint
from agents.rollouts.collector import Collector
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.engines import Engine
from agents.rollouts.envs import Envs, InProcessEnvs, create_envs
from agents.rollouts.forks import ForkSettings, fork_groups
from agents.rollouts.groups import Batch, GroupStream
from agents.rollouts.policies import LanguageModelPolicy
from agents.settings import given, parse_settings
from agents.training.batch import Lesson
from agents.training.distributed import Ranks
from agents.training.learner import Learner
from agents.training.loop import RunSettings, engine_factory, make_players, play_and_learn
from agents.training.samples import records, write_samples
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class GRPOSettings(RunSettings, CreditSettings, ForkSettings, ClusterSettings):
    """Improve a model by reinforcement. A run that was killed goes on where its newest checkpoint left it.

    On a CPU, with staleness 0, no workers and `--processes 1`, equal runs end with equal weights, bit for bit, killed in between or not.

    `--preset paper` has WebAgent-R1's settings, `released` those of its released trainer, `dapo` and `gigpo` the objectives of
    these papers; the default, `small`, suits a small model on a CPU. How a model was used when it was trained here comes before a
    preset's wishes.
    """

    preset: Literal["small", "paper", "released", "dapo", "gigpo"] = "small"
    """defaults of the other options"""
    contexts: Literal["sampled", "released"] = "sampled"
    """train each action in the context it was sampled in, or, as an ablation, with the page that it answers replaced by the
    placeholder, as WebAgent-R1's released trainer does"""
    seek_mixed: bool = True
    """draw more often from templates that neither always succeed nor always fail"""
    save_samples: bool = False
    """keep what each update trains on, as samples/<update>.parquet in the run's folder"""


def train(settings: GRPOSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    if settings.fork_every < 1:
        raise ValueError(f"fork_every is {settings.fork_every}; expected at least 1")
    if settings.advantages == "forks" and (settings.workers or settings.cluster or settings.staleness):
        raise ValueError("forks are played in envs of this process between updates; expected no workers, cluster or staleness")
    if settings.cluster and settings.workers:
        raise ValueError(f"workers is {settings.workers}, but envs of a cluster are in its env_workers; expected 0")
    last = begin(settings)
    update, record = (
        (last.update, last.progress()) if last else (0, dict[str, Any](elapsed_s=0.0, rates={}, groups=0, spent={}))
    )
    if last and settings.progress(update, record["elapsed_s"]) >= 1:
        return last.path
    model, tokenizer = load_model(last.path if last else settings.model)
    encoder = PromptEncoder(tokenizer, system_prompt(settings.system, elements=settings.elements))
    prompts_of = _contexts(settings, encoder)
    ranks = Ranks.here()
    own = Learner(model, settings, _reference(settings) if settings.kl_weight else None, ranks)
    if last:
        last.restore(own)
    if not ranks.leads:
        run_worker(own, ranks)
        return settings.out
    learner = RankZeroLearner(own, ranks)
    if tasks is None:
        tasks = draw_tasks(settings.worlds, settings.per_template, templates=settings.templates, variation=settings.variation)
    curriculum = Curriculum(tasks, seek_mixed=settings.seek_mixed, seed=settings.seed, rates=record["rates"])
    players = make_players(settings, last.path if last else settings.model, tasks) if ranks.count == 1 else None
    # What learns meanwhile is not to be sampled from in this process.
    is_apart = settings.overlap and not (players or settings.vllm or settings.cluster)
    sampled = deepcopy(learner.model) if is_apart else learner.model
    engine = _create_engine(settings, sampled, encoder)
    envs = _create_envs(settings, tasks)
    policy = LanguageModelPolicy(engine, encoder, settings.max_prompt_tokens)
    collector = players or Collector(envs, policy, seed=settings.seed)

    def load_weights(version: int) -> None:
        """Let the engine sample with what the model has learned."""
        if sampled is not learner.model:
            sampled.load_state_dict(learner.model.state_dict())
        (players or engine).load(sampled, version)

    def learn(batch: Batch, update: int, progress: float) -> tuple[Lesson, dict[str, float]]:
        curriculum.note(batch.played)
        trajectories = batch.trajectories
        if settings.advantages == "forks" and isinstance(envs, InProcessEnvs):
            trajectories = fork_groups(envs, policy, batch.groups, settings, seed=settings.seed)
        lesson = learn_from(trajectories, settings, prompts_of)
        if settings.save_samples:
            write_samples(settings.out / "samples" / f"{update + 1:06}.parquet", records(lesson))
        # What is random in an update comes from its number, so a resumed run draws the same.
        return lesson, learner.learn(lesson, Random(f"{settings.seed}/{update}"), progress)

    def save(update: int, record: dict[str, Any]) -> Path:
        record |= {"rates": curriculum.rates}
        return save_checkpoint(settings.out, update, learner.model, tokenizer, learner, record, settings.agent()).path

    stream = GroupStream(collector, curriculum.draw, load_weights, settings, begun=record["groups"])
    with closing(envs):
        path = play_and_learn(settings, players or policy, stream, learn, save, title="M-GRPO", update=update, record=record)
    learner.stop_workers()
    return path


def _create_envs(settings: GRPOSettings, tasks: Sequence[Task]) -> Envs:
    """Return the envs: on a cluster, in worker processes, or in this one."""
    if settings.cluster:
        from agents.cluster.envs import create_envs as create_cluster_envs  # noqa: PLC0415 - Ray is optional

        return create_cluster_envs(tasks, settings.num_envs, settings, **settings.env_arguments())
    return create_envs(tasks, settings.num_envs, workers=settings.workers, **settings.env_arguments())


def _create_engine(settings: GRPOSettings, model: PreTrainedModel, encoder: PromptEncoder) -> Engine:
    """Return what samples: a server, or the model on a cluster or in this process."""
    create = engine_factory(settings, encoder, temperature=settings.temperature, max_tokens=settings.tokens_per_pass)
    if settings.cluster and not settings.vllm:
        from agents.cluster.engines import RayEngine  # noqa: PLC0415 - Ray is optional

        return RayEngine(create, model, gpus=int(settings.gpus))
    return create(model)


def _contexts(settings: GRPOSettings, encoder: PromptEncoder) -> Callable[[Trajectory], list[Ids]]:
    """What gives the contexts to train in."""
    if settings.contexts == "sampled":
        return sampled_prompts
    if settings.old_logprobs != "recomputed" or settings.history != "compressed":
        raise ValueError(
            "released contexts are not those of the sampler, and hold no page; expected old_logprobs 'recomputed' and history "
            f"'compressed', got {settings.old_logprobs!r} and {settings.history!r}"
        )
    return partial(released_prompts, encoder=encoder, thoughts=settings.thoughts)


def _reference(settings: GRPOSettings) -> PreTrainedModel:
    """The model that training set out from, frozen."""
    model, _ = load_model(settings.model)
    for parameter in model.parameters():
        parameter.requires_grad = False
    return model


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says; the model's own env settings and the preset's are the defaults."""
    preset, model = (given(arguments, option) for option in ("--preset", "--model"))
    defaults = {"processes": 0, **PRESETS.get(preset or "small", {}), **(agent_record(model) if model else {})}
    settings = parse_settings(GRPOSettings, arguments, defaults)
    if settings.cluster:
        fit(partial(train, settings), settings, settings.out)
        print(checkpoints(settings.out)[-1].path)
    else:
        print(train(settings))


if __name__ == "__main__":
    main(sys.argv[1:])
