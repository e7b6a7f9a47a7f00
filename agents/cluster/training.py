"""Multi-turn reinforcement on a stream of rollouts: what `agents.train_rl` runs with --overlap, --staleness, --workers or --cluster.

Rank 0 plays, or lets others play, and makes the steps to train on; all ranks learn from them with the functions of `agents.grpo`. The
other ranks have shards of the model.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from agents.cluster.learners import ShardedLanguageModel, ShardedState, shard_ranks
from agents.data.demonstrations import training_tasks
from agents.data.trajectories import Trajectory
from agents.grpo import GRPO, State, clipped_loss, kind_of, learn
from agents.models.checkpoints import open_run, save_checkpoint, save_on_error
from agents.rollouts.collector import Collector, Stage, group_episodes
from agents.rollouts.curriculum import Group, RolloutError
from agents.rollouts.envs import create_envs
from agents.rollouts.players import Player, Players
from agents.training.distributed import Ranks, training_processes
from agents.training.language_models import create_engine
from agents.training.metrics import Meter, Metrics, describe
from agents.training.pointing_networks import PointingNetwork
from agents.training.rollouts import keep
from webarena_gym.tasks import Task


class RolloutBatch(NamedTuple):
    """The groups for one update, and what it took to get them."""

    groups: list[Group]
    stale: int  # groups that were dropped
    shares: dict[Stage, float]  # where the envs' time went


class GroupStream:
    """A stream of groups, batch by batch.

    `draw` chooses the task of a group by its number; `load` brings the learner's newest parameters, of the given version, to whoever
    samples. `begun` is how many groups there were before, in a run that goes on. `args` has the sizes, `staleness` and `overlap`.

    The stream is bounded: with staleness 0 a batch's groups are begun after the update before it and none is left over, so a run
    can be resumed exactly; with more, groups go on across updates and whichever are finished first make a batch.
    """

    def __init__(
        self, collector: Collector | Players, draw: Callable[[int], Task], load: Callable[[int], None], args: Any, *,
        begun: int = 0,
    ) -> None:  # fmt: skip
        if args.overlap and not args.staleness:
            raise ValueError("overlap learns from rollouts of the weights before; expected a staleness of 1 or more, not 0")
        self.begun = begun
        self._collector, self._draw, self._load, self._args = collector, draw, load, args
        # How many groups may be under way, or finished and not yet learned from.
        self._room = args.tasks_per_update * (1 + args.staleness - args.overlap)
        self._open: dict[int, tuple[Task, int | None, dict[int, Trajectory]]] = {}  # by group; the last are episodes by number
        self._max_steps: int | None = None
        self._ahead: Future[RolloutBatch] | None = None
        self._thread = ThreadPoolExecutor(1, "rollouts") if args.overlap else None

    def batch(self, version: int, max_steps: int | None = None) -> RolloutBatch:
        """Return the groups for the update of this version of the weights. With `overlap`, begin to collect the next meanwhile.

        Groups that are begun from now on have episodes of at most `max_steps`.
        Raises RolloutError when all of its rollouts failed.
        """
        batch = self._ahead.result() if self._ahead else None
        self._max_steps = max_steps
        self._load(version)
        if batch is None:
            batch = self._collect(version)
        if self._thread:
            self._ahead = self._thread.submit(self._collect, version + 1)
        failures = [item.failure for group in batch.groups for item in group.trajectories]
        if all(failures):
            raise RolloutError(f"all {len(failures)} rollouts failed; the last one: {failures[-1]}")
        return batch

    def close(self) -> None:
        """Stop what is under way."""
        self._collector.stop()
        if self._thread:
            self._thread.shutdown()

    def _collect(self, version: int) -> RolloutBatch:
        """Play until there are enough groups for the update of this version."""
        wanted, size = self._args.tasks_per_update, self._args.group_size
        groups: list[Group] = []
        stale = replaced = 0
        self._begin(0)
        for episode, trajectory in self._collector.play():
            task, max_steps, over = self._open[episode.group]
            over[episode.number] = trajectory
            if len(over) == size:
                del self._open[episode.group]
                group = Group(episode.group, task, [item for _, item in sorted(over.items())], max_steps)
                if group.is_stale(version, self._args.staleness):
                    stale += 1
                else:
                    groups.append(group)
                    # Equal ones, for which dynamic sampling plays others, tell nothing apart, but how the policy does.
                    replaced += group.has_equal_rewards and replaced < wanted * (self._args.dynamic_sampling - 1)
            if len(groups) - replaced == wanted:
                break
            self._begin(len(groups) - replaced)
        return RolloutBatch(sorted(groups, key=lambda group: group.number), stale, self._collector.take_time_fractions())

    def _begin(self, finished: int) -> None:
        """Begin groups while envs are free and there is room for what is under way and what is finished."""
        while self._collector.has_capacity and len(self._open) + finished < self._room:
            number, self.begun = self.begun, self.begun + 1
            task = self._draw(number)
            self._open[number] = task, self._max_steps, {}
            self._collector.submit(group_episodes(task, number, self._args.group_size, self._max_steps))


def train(args: Any, tasks: Sequence[Task] | None = None, create: Any = GRPO) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn from the worlds of `args` unless given."""
    ranks = shard_ranks()
    _check(args, ranks, create)
    if threads := args.threads or kind_of(args.model).threads:
        torch.set_num_threads(threads)
    last = ranks.share(open_run(args, args.out) if ranks.is_main else None)
    update, record = (last.update, last.progress()) if last else (0, dict[str, Any](elapsed_s=0.0, groups=0, spent={}))
    elapsed_s, spent = record["elapsed_s"], record["spent"]
    if last and args.trained(update, elapsed_s, spent) >= 1:
        return last.path
    source = last.path if last else args.model
    load: Any = partial(ShardedLanguageModel.load, ranks=ranks) if ranks.count > 1 else kind_of(args.model).load
    model, reference = load(source, args), load(args.model, args) if getattr(args, "kl_weight", 0) else None
    with ExitStack() as stack:
        if ranks.is_main:
            method, counted, stream = _play(stack, args, source, model, tasks, create, record["groups"])
            meter = Meter(counted, spent, Ranks())
        else:  # it makes no steps, and learns from those of rank 0
            method = SimpleNamespace(state_dict=dict, load_state_dict=lambda _: None, loss=partial(clipped_loss, args))
        state = (ShardedState if ranks.count > 1 else State)(args, model, method)
        if last:
            last.restore(state)
        metrics = stack.enter_context(Metrics(args.out, update, create.title, is_silent=not ranks.is_main))

        def save() -> Path:
            """Write a checkpoint in rank 0; every rank must call it."""
            if not ranks.is_main:
                state.state_dict()
                return Path(args.out)
            progress = {"elapsed_s": elapsed_s, "groups": stream.begun, "spent": spent}
            result = state.result if ranks.count == 1 else model.whole
            checkpoint = save_checkpoint(args.out, update, result, model.tokenizer, state, progress, args.agent())
            return checkpoint.path

        if ranks.count == 1:  # all ranks are needed to save what is sharded
            stack.enter_context(save_on_error(args.out, save, lambda: update))
        while True:
            start_s, plan = time.perf_counter(), None
            if ranks.is_main and (progress := args.trained(update, elapsed_s, spent)) < 1:
                rng = Random(f"{args.seed}/{update}")
                batch = stream.batch(update, args.limit(progress))
                rollout_s = time.perf_counter() - start_s
                steps, values = method.batch(batch.groups, rng)
                keep(args, update + 1, batch.groups, steps)
                plan = (steps, rng, progress)
            plan = ranks.share(plan)
            if plan is None:
                return save()
            learned = learn(
                model, state.optimizer, plan[0], method.loss, args, plan[1], reference=reference, progress=plan[2], ranks=ranks
            )
            if isinstance(model, ShardedLanguageModel):
                model.gather()
            state.average()
            if ranks.is_main:
                spent = meter.read(steps, args.epochs)
                values |= learned | describe(batch.groups, steps, update, batch.shares) | {"stale_groups": batch.stale} | spent
                spent_s = time.perf_counter() - start_s
                elapsed_s += spent_s
                metrics.log(update + 1, values | {"rollout_s": rollout_s, "elapsed_s": elapsed_s})
                text = f"training success {values['success']:.2f}, {values['rollouts'] / spent_s:.0f} rollouts/s"
                metrics.show(args.trained(update + 1, elapsed_s, spent), text)
            update += 1
            if update % args.save_every == 0:
                save()


def _play(
    stack: ExitStack, args: Any, source: str | Path, model: Any, tasks: Sequence[Task] | None, create: Callable[..., Any],
    begun: int,
) -> tuple[Any, Any, GroupStream]:  # fmt: skip
    """Return the method, the stream of its groups and what counts replies: a policy here, or processes of players."""
    tasks = training_tasks(args, tasks)
    network = getattr(model, "whole", model.network)
    count = 1 if args.workers or args.cluster or args.threads else training_processes(args)
    players = None
    if count > 1:
        make_player = partial(_make_player, args, source, tasks, -(-args.num_envs // count))
        players = Players(make_player, count, num_envs=args.num_envs, seed=args.seed)
    # What is trained meanwhile is not to be sampled from in this process.
    is_apart = args.overlap and not (players or args.vllm or args.cluster)
    sampled = deepcopy(network) if is_apart else network
    policy: Any
    if isinstance(model, PointingNetwork):
        policy = model.policy()
    elif args.cluster and not args.vllm:
        from agents.cluster.engines import RayEngine  # noqa: PLC0415 - Ray is optional

        policy = model.policy(RayEngine(partial(create_engine, args, encoder=model.encoder), network, gpus=int(args.gpus)))
    else:
        policy = model.policy(create_engine(args, sampled, model.encoder))
    envs: Any
    if args.cluster:
        from agents.cluster.envs import create_envs as create_cluster_envs  # noqa: PLC0415 - Ray is optional

        envs = create_cluster_envs(tasks, args.num_envs, args, **args.env_arguments())
    else:
        envs = create_envs(tasks, args.num_envs, workers=args.workers, **args.env_arguments())
    stack.enter_context(closing(envs))
    counted = stack.enter_context(closing(players or policy))
    method = create(args, tasks, model, envs, policy)

    def load_parameters(version: int) -> None:
        if sampled is not network:
            sampled.load_state_dict(network.state_dict())
        counted.load(sampled, version)

    collector = players or Collector(envs, policy, seed=args.seed, env=args.env())
    stream = stack.enter_context(closing(GroupStream(collector, method.draw, load_parameters, args, begun=begun)))
    return method, counted, stream


def _check(args: Any, ranks: Ranks, create: Any) -> None:
    """Raise ValueError for settings that do not go together."""
    kind_of(args.model).check(args)
    if args.cluster and args.workers:
        raise ValueError(f"workers is {args.workers}, but envs of a cluster are in its env_workers; expected 0")
    is_local = getattr(args, "advantages", "") == "forks" or hasattr(args, "search_width")
    if is_local and (args.workers or args.cluster or args.staleness):
        raise ValueError("forks and searches are played in envs of this process; expected no workers, cluster or staleness")
    if (args.overlap or args.cluster or ranks.count > 1) and not issubclass(create, GRPO):
        raise ValueError(
            f"overlap is {args.overlap} and cluster {args.cluster!r}; expected neither of them with {create.title}"
        )
    if getattr(args, "distilled", 0):
        raise ValueError(f"distilled is {args.distilled}; expected 0 with rollouts that are played meanwhile or elsewhere")
    if args.average and ranks.count > 1:
        raise ValueError(f"average is {args.average}; expected 0 with {ranks.count} ranks")
    if args.processes > 1:
        for name in ("workers", "cluster"):
            if value := getattr(args, name):
                raise ValueError(f"processes is {args.processes}; expected 1 with {name}={value!r}")


def _make_player(args: Any, source: str | Path, tasks: Sequence[Task], num_envs: int) -> Player:
    """Return what plays in a process of its own, with its copy of the model."""
    model = kind_of(source).load(source, args)
    policy: Any = model.policy()

    def load_parameters(parameters: dict[str, torch.Tensor], version: int) -> None:
        model.network.load_state_dict(parameters)
        policy.load(model.network, version)

    return Player(create_envs(tasks, num_envs, **args.env_arguments()), policy, load_parameters, args.env())
