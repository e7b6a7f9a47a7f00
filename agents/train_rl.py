"""Improve a model by multi-turn reinforcement: `python -m agents.train_rl --method grpo --help`.

A batch of rollouts is played, the method makes a training batch of it, the learner takes its updates, and so on: `train` reads from
top to bottom. `--method` chooses among the methods of `agents.methods`; each has options of its own, and no others. To compare
methods, look at equal `env_steps` or `cpu_minutes` of their metrics.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch

from agents.cluster import ClusterSettings
from agents.cluster.learners import RankZeroLearner, fit, run_worker
from agents.data.demonstrations import draw_tasks
from agents.data.prompts import PromptEncoder
from agents.methods import METHODS
from agents.methods.method import CollectingMethod, Method, MethodSettings, Resources
from agents.methods.presets import PRESETS
from agents.models.checkpoints import agent_record, begin, checkpoints, save_checkpoint
from agents.rollouts.collector import Collector
from agents.rollouts.engines import Engine
from agents.rollouts.envs import Envs, create_envs
from agents.rollouts.groups import GroupStream
from agents.rollouts.settings import HorizonSettings, RolloutSettings, SamplingSettings
from agents.rollouts.setup import PlayerSettings, create_players
from agents.settings import (
    EnvSettings,
    MayChange,
    RunSettings,
    TaskSettings,
    build,
    collect_rarely,
    flatten,
    given,
    option_names,
    parse_settings,
)
from agents.training.kinds import kind_of, load_sampler
from agents.training.learner import Learner, UpdateSettings
from agents.training.metrics import Metrics
from agents.training.rollouts import credited, write_groups
from agents.training.samples import records, write_samples
from agents.training.spending import Spending, describe
from webarena_gym import console
from webarena_gym.arguments import shown, suggestion
from webarena_gym.tasks import Task

if TYPE_CHECKING:
    from transformers import PreTrainedModel

M = TypeVar("M", bound=MethodSettings)


@dataclass(frozen=True, kw_only=True)
class RLRunSettings(RunSettings):
    """Where a run begins and is kept, how long it is, and how often it is saved."""

    model: str
    """a model folder, a run of train_bc (of a language model or a pointing network), or a Hugging Face name"""
    cpu_minutes: MayChange[float] = 0.0
    """train for so much CPU time of this process and of its players; 0: for `minutes` or `updates`"""
    env_steps: MayChange[int] = 0
    """train for so many env steps, those of searches and continuations included; 0: for `cpu_minutes`, `minutes` or `updates`"""
    save_samples: MayChange[bool] = False
    """keep what each update trains on, as samples/<update>.parquet in the run's folder"""
    save_rollouts: MayChange[int] = 0
    """keep the rollouts of every so many updates for the report, as rollouts/<update>.jsonl.gz in the run's folder; 0: of none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.save_rollouts < 0:
            raise ValueError(f"save_rollouts is {self.save_rollouts}; expected 0, or from how many updates one is kept")
        budgets = {name: getattr(self, name) for name in ("env_steps", "cpu_minutes", "minutes")}
        if min(budgets.values()) < 0 or sum(map(bool, budgets.values())) > 1:
            said = ", ".join(f"{name}={value}" for name, value in budgets.items())
            raise ValueError(f"{said}; expected at least 0, and one of them at most")

    def trained(self, update: int, elapsed_s: float, spent: Mapping[str, float]) -> float:
        """Return the part of the training that is done, as `progress` does, by what was spent as well."""
        for name in ("env_steps", "cpu_minutes"):
            if budget := getattr(self, name):
                return spent.get(name, 0.0) / float(budget)
        return self.progress(update, elapsed_s)


@dataclass(frozen=True, kw_only=True)
class RLSettings(Generic[M]):
    """Improve a model by reinforcement. A run that was killed is resumed from its newest checkpoint.

    --method grpo|filtered_bc|awr|digirl|webrl|starpo|structured|tsr chooses the method (grpo by default), and with it the method's options.

    On a CPU, with staleness 0, no workers and --processes 1, equal runs end with equal parameters, bit for bit, killed in between
    or not.
    """

    run: RLRunSettings
    method: M
    tasks: TaskSettings = field(default_factory=TaskSettings)
    env: EnvSettings = field(default_factory=EnvSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    horizon: HorizonSettings = field(default_factory=HorizonSettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)

    def agent(self) -> dict[str, Any]:
        """Return how the trained model is to be used."""
        sampling = self.sampling
        own = {"system": sampling.system, "max_new_tokens": sampling.max_new_tokens, "constrained": sampling.constrained}
        return {**self.env.env_arguments(), **own}

    def player(self) -> PlayerSettings:
        """Return what has to be known to play."""
        return PlayerSettings(
            env=self.env,
            sampling=self.sampling,
            rollout=self.rollout,
            tokens_per_pass=self.update.tokens_per_pass,
            out=self.run.out,
            seed=self.run.seed,
        )


def make_settings(method: str = "grpo", /, **options: Any) -> RLSettings[Any]:
    """Return settings of a method from options by name; those of a preset come before the dataclasses' defaults.

    Raises ValueError for a method or an option that there is not.
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}; expected one of {', '.join(METHODS)}")
    settings: RLSettings[Any] = build(
        _kind(method), **{**_defaults(method, options.get("preset"), options.get("model")), **options}
    )
    return settings


def _defaults(method: str, preset: str | None, model: str | None) -> dict[str, Any]:
    """Return the defaults of a method's options: the method's own, then those of a preset, then how the model must be used."""
    kind = kind_of(model) if model else None
    preset = preset or (kind.preset if kind else "small")
    wanted = {"preset": preset, **PRESETS.get(preset, {}), **(kind.record(model) if kind and model else {})}
    known = option_names(_kind(method))
    return {**{name: value for name, value in wanted.items() if name in known}, **METHODS[method].defaults}


def _kind(method: str) -> Any:
    """Return the type of the settings with those of a method."""
    generic: Any = RLSettings
    return generic[METHODS[method]]


@dataclass(frozen=True)
class Trainer:
    """What has a state beside the parameters of the policy. Ranks but the first have no method."""

    learner: Learner | RankZeroLearner
    method: Method | None = None

    def state_dict(self) -> dict[str, Any]:
        """Return the states of both."""
        assert self.method is not None, "only rank 0 saves"
        return {"learner": self.learner.state_dict(), "method": self.method.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self.learner.load_state_dict(state_dict["learner"])
        if self.method is not None:
            self.method.load_state_dict(state_dict["method"])


def train(settings: RLSettings[Any], tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the settings' worlds unless given.

    Raises ValueError for settings that do not go together.
    """
    run, rollout = settings.run, settings.rollout
    kind, objective = kind_of(run.model), settings.method.objective()
    ranks = kind.ranks()
    _check(settings, ranks.count)
    kind.check({"method": settings.method.name, "ranks": ranks.count, **flatten(settings)}, objective)
    if threads := run.threads or kind.threads:
        torch.set_num_threads(threads)
    last = begin(settings, run.out)
    update, record = (last.update, last.progress()) if last else (0, dict[str, Any](elapsed_s=0.0, groups=0, spent={}))
    elapsed_s: float = record["elapsed_s"]
    if last and run.trained(update, elapsed_s, record["spent"]) >= 1:
        return last.path

    # The learner, in each rank.
    source = last.path if last else run.model
    model, tokenizer = kind.load(source)
    reference = kind.load(run.model)[0].requires_grad_(False) if objective.needs_reference else None
    family = kind.family(tokenizer, settings.player())
    own_learner = Learner(
        model,
        settings.update,
        objective,
        temperature=settings.sampling.temperature,
        reference=reference,
        ranks=ranks,
        family=family,
    )
    if not ranks.is_main:
        if last:
            last.restore(Trainer(own_learner))
        run_worker(own_learner, ranks)
        return run.out
    learner = RankZeroLearner(own_learner, ranks)

    # The rollouts, in rank 0.
    if tasks is None:
        tasks = draw_tasks(
            settings.tasks.worlds,
            settings.tasks.per_template,
            templates=settings.tasks.templates,
            variation=settings.env.variation,
        )
    player = settings.player()
    players = None
    if ranks.count == 1:
        divides = kind.divides and not objective.needs_reference
        make_sampler = partial(load_sampler, source, player, (objective, settings.update) if divides else None)
        players = create_players(player, source, make_sampler, tasks, _excluding_players(settings))
        if players and divides:
            own_learner.divide(players)
    # What is trained meanwhile is not to be sampled from in this process.
    is_apart = rollout.overlap and not (players or rollout.vllm or settings.cluster.cluster)
    sampled = deepcopy(learner.model) if is_apart else learner.model
    policy, load, *_ = family.sampler(player, sampled, partial(_create_engine, settings, player))
    envs = _create_envs(settings, tasks)

    def load_parameters(version: int) -> None:
        """Let the engine sample with what the model has learned."""
        if sampled is not learner.model:
            sampled.load_state_dict(learner.model.state_dict())
        (players.load if players else load)(sampled, version)

    # The method, and where both were in a run that is resumed.
    method: Method = settings.method.create(
        Resources(
            tasks=tasks,
            env=settings.env,
            envs=envs,
            policy=policy,
            model=learner.model,
            family=family,
            critics=family.critics(
                lambda: kind.load(run.model)[0].to(ranks.device), tokens_per_pass=settings.update.tokens_per_pass, seed=run.seed
            ),
            temperature=settings.sampling.temperature,
            tokens_per_pass=settings.update.tokens_per_pass,
            seed=run.seed,
        )
    )
    trainer = Trainer(learner, method)
    if last:
        last.restore(trainer)
    searching = method.collector() if isinstance(method, CollectingMethod) else None
    collector = players or searching or Collector(envs, policy, seed=run.seed, env=settings.env)
    stream = GroupStream(collector, method.draw_task, load_parameters, rollout, begun=record["groups"])
    spending = Spending(players or searching or policy, record["spent"])

    def save() -> Path:
        progress = {"elapsed_s": elapsed_s, "groups": stream.begun, "spent": spending.totals()}
        return save_checkpoint(run.out, update, learner.result, tokenizer, trainer, progress, settings.agent()).path

    with (
        closing(envs),
        closing(players or policy),
        closing(stream),
        Metrics(run.out, update, settings.method.title) as metrics,
    ):
        while (progress := run.trained(update, elapsed_s, spending.totals())) < 1:
            started_s = time.perf_counter()
            rollouts = stream.batch(update, settings.horizon.limit(progress))
            rollout_s = time.perf_counter() - started_s
            # What is random in an update comes from its number, so a resumed run draws the same.
            rng = Random(f"{run.seed}/{update}")
            batch, values = method.make_batch(rollouts, rng)
            if run.save_samples:
                write_samples(run.out / "samples" / f"{update + 1:06}.parquet", records(batch))
            if run.save_rollouts and (update + 1) % run.save_rollouts == 0:
                write_groups(run.out, update + 1, credited(rollouts.groups, batch))
            values |= learner.learn(batch, rng, progress)
            spending.note(batch, settings.update.epochs)
            values |= describe(rollouts, batch, update) | spending.totals()
            spent_s = time.perf_counter() - started_s
            update, elapsed_s = update + 1, elapsed_s + spent_s
            metrics.log(update, values | {"rollout_s": rollout_s, "elapsed_s": elapsed_s})
            progress = run.trained(update, elapsed_s, spending.totals())
            metrics.show(progress, f"success {values['success']:.2f}, {values['rollouts'] / spent_s:.0f} rollouts/s")
            if update % run.save_every == 0 and progress < 1:
                save()
        path = save()
    learner.stop_workers()
    return path


def _check(settings: RLSettings[Any], ranks: int) -> None:
    """Raise ValueError for settings that do not go together, whatever the kind of the model."""
    method, rollout, cluster = settings.method, settings.rollout, settings.cluster.cluster
    if max(settings.horizon.step_limits, default=0) > settings.env.max_steps:
        raise ValueError(f"step_limits={settings.horizon.step_limits}; expected none above max_steps={settings.env.max_steps}")
    if cluster and rollout.workers:
        raise ValueError(f"workers is {rollout.workers}, but envs of a cluster are in its env_workers; expected 0")
    if ranks > 1 and not method.is_distributed:
        raise ValueError(f"{method.title} is trained in one process; expected 1 rank, not {ranks}")
    if not method.is_distributed and (rollout.overlap or cluster):
        raise ValueError(f"overlap is {rollout.overlap} and cluster {cluster!r}; expected neither of them with {method.title}")
    if method.is_local and (rollout.workers or cluster or rollout.staleness):
        raise ValueError("forks and searches are played in envs of this process; expected no workers, cluster or staleness")


def _excluding_players(settings: RLSettings[Any]) -> dict[str, Any]:
    """Return the options, by name, that several processes that play cannot go with where they are set."""
    return {
        "vllm": settings.rollout.vllm,
        "workers": settings.rollout.workers,
        "cluster": settings.cluster.cluster,
        "lora_rank": settings.update.lora_rank,
        # Forks and searches need the snapshots of envs in this process.
        "method": settings.method.title if settings.method.is_local else "",
        # With threads of its own, a process plays alone unless told else.
        "threads": 0 if settings.rollout.processes else settings.run.threads,
    }


def _create_envs(settings: RLSettings[Any], tasks: Sequence[Task]) -> Envs:
    """Return the envs: on a cluster, in worker processes, or in this one."""
    rollout = settings.rollout
    if settings.cluster.cluster:
        from agents.cluster.envs import create_envs as create_cluster_envs  # noqa: PLC0415 - Ray is optional

        return create_cluster_envs(tasks, rollout.num_envs, settings.cluster, **settings.env.env_arguments())
    return create_envs(tasks, rollout.num_envs, workers=rollout.workers, **settings.env.env_arguments())


def _create_engine(
    settings: RLSettings[Any], player: PlayerSettings, model: "PreTrainedModel", encoder: PromptEncoder
) -> Engine:
    """Return what samples: a server, or the model on a cluster or in this process."""
    if settings.cluster.cluster and not settings.rollout.vllm:
        from agents.cluster.engines import RayEngine  # noqa: PLC0415 - Ray is optional

        return RayEngine(partial(player.create_engine, encoder=encoder), model, gpus=int(settings.cluster.gpus))
    return player.create_engine(model, encoder)


def main(arguments: Sequence[str], program: str = "agents.train_rl") -> None:
    """Train as the command line says; the model's own env settings and the preset's are the defaults."""
    name, preset, model = (given(arguments, option) for option in ("--method", "--preset", "--model"))
    if name is not None and name not in METHODS:
        console.complain(f"python -m {program}", f"there is no method {shown(name)}; {suggestion(name, METHODS)}")
        sys.exit(console.BAD_INPUT)
    method = METHODS[name or "grpo"]
    defaults = {
        "processes": 0,
        **_defaults(method.name, preset, model),
        **(agent_record(model) if model else {}),
    }
    rest = _without(arguments, "--method")
    settings: RLSettings[Any] = parse_settings(RLSettings[method], rest, defaults, program=program)  # type: ignore[valid-type]
    if settings.cluster.cluster:
        fit(partial(train, settings), settings.cluster, settings.run.out)
        print(checkpoints(settings.run.out)[-1].path)
    else:
        print(train(settings))


def _without(arguments: Sequence[str], option: str) -> list[str]:
    """Return a command line without an option and its value."""
    kept, skip = [], False
    for argument in arguments:
        if not skip and argument != option and not argument.startswith(f"{option}="):
            kept.append(argument)
        skip = argument == option
    return kept


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_rl", main)
