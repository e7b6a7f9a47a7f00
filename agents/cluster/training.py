"""The training loop of `agents.train_rl` with --overlap, --staleness, --workers or --cluster: a stream of rollouts, and several ranks.

Rank 0 collects rollouts and computes training steps. All ranks compute updates with the functions of `agents.grpo`. With several ranks,
each has a shard of the model.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch

from agents.cluster.learners import ShardedLanguageModel, ShardedState, shard_ranks
from agents.data.demonstrations import training_tasks
from agents.data.trajectories import Trajectory
from agents.grpo import GRPO, Learner, Method, Model, State, clipped_loss, kind_of
from agents.models.checkpoints import load_model, open_run, save_checkpoint, save_on_error
from agents.rollouts.collector import Collector, Stage, group_episodes
from agents.rollouts.curriculum import Group, RolloutError
from agents.rollouts.envs import Envs, InProcessEnvs, create_envs
from agents.rollouts.players import Player, Players
from agents.rollouts.policies import TrainedPolicy
from agents.training.distributed import Ranks, training_processes
from agents.training.language_models import create_engine
from agents.training.metrics import Meter, Metrics, describe
from agents.training.pointing_networks import PointingNetwork
from agents.training.rollout_files import save_batch
from agents.training.settings import ClippedSettings, TrainSettings
from webarena_gym.tasks import Task


class RolloutBatch(NamedTuple):
    """The groups of one update."""

    groups: list[Group]
    stale: int  # number of stale groups, which were dropped
    shares: dict[Stage, float]  # fractions of the envs' time by stage


class GroupStream:
    """Collects batches of groups with bounded staleness.

    With staleness 0, all groups of a batch start after the previous update and are in this batch, so a run can be resumed exactly. With
    greater staleness, groups continue across updates, and a batch contains the groups that are finished first.

    Args:
        collector: Plays the episodes.
        draw: Returns the task of a group by the group's number.
        load: Loads the newest parameters, with the given version, into the policy.
        args: Settings with `tasks_per_update`, `group_size`, `dynamic_sampling`, `staleness` and `overlap`.
        group_count: Number of groups that a resumed run has started before.

    Raises:
        ValueError: `overlap` is set with staleness 0.

    """

    def __init__(
        self, collector: Collector | Players, draw: Callable[[int], Task], load: Callable[[int], None], args: TrainSettings, *,
        group_count: int = 0,
    ) -> None:  # fmt: skip
        if args.overlap and not args.staleness:
            raise ValueError("staleness is 0; expected at least 1 with overlap, which trains on rollouts of earlier parameters")
        self.group_count = group_count
        self._collector, self._draw, self._load, self._args = collector, draw, load, args
        # Maximum number of groups that are active, or finished and not yet in a batch.
        self._capacity = args.tasks_per_update * (1 + args.staleness - args.overlap)
        # Active groups by number: the task, the step limit, and the finished episodes by number.
        self._active: dict[int, tuple[Task, int | None, dict[int, Trajectory]]] = {}
        self._max_steps: int | None = None
        self._next_batch: Future[RolloutBatch] | None = None
        self._thread = ThreadPoolExecutor(1, "rollouts") if args.overlap else None

    def batch(self, version: int, max_steps: int | None = None) -> RolloutBatch:
        """Return the groups for an update of the parameters of this version. With `overlap`, also start to collect the next batch.

        `max_steps` is the step limit of groups that start from now on; None is the env's limit.

        Raises:
            RolloutError: All rollouts of the batch failed.

        """
        batch = self._next_batch.result() if self._next_batch else None
        self._max_steps = max_steps
        self._load(version)
        if batch is None:
            batch = self._collect(version)
        if self._thread:
            self._next_batch = self._thread.submit(self._collect, version + 1)
        failures = [item.failure for group in batch.groups for item in group.trajectories]
        if all(failures):
            raise RolloutError(f"all {len(failures)} rollouts failed; the last one: {failures[-1]}")
        return batch

    def close(self) -> None:
        """Stop the collector and its thread."""
        self._collector.stop()
        if self._thread:
            self._thread.shutdown()

    def _collect(self, version: int) -> RolloutBatch:
        """Play until there are enough groups for the update of this version."""
        target, size = self._args.tasks_per_update, self._args.group_size
        groups: list[Group] = []
        stale = extra = 0
        self._start_groups(0)
        for episode, trajectory in self._collector.play():
            task, max_steps, trajectories = self._active[episode.group]
            trajectories[episode.number] = trajectory
            if len(trajectories) == size:
                del self._active[episode.group]
                group = Group(episode.group, task, [item for _, item in sorted(trajectories.items())], max_steps)
                if group.is_stale(version, self._args.staleness):
                    stale += 1
                else:
                    groups.append(group)
                    # Dynamic sampling plays other groups in place of groups with equal rewards, which remain in the metrics.
                    extra += group.has_equal_rewards and extra < target * (self._args.dynamic_sampling - 1)
            if len(groups) - extra == target:
                break
            self._start_groups(len(groups) - extra)
        return RolloutBatch(sorted(groups, key=lambda group: group.number), stale, self._collector.take_time_fractions())

    def _start_groups(self, finished_groups: int) -> None:
        """Start groups while the collector has free envs and the stream has capacity."""
        while self._collector.has_capacity and len(self._active) + finished_groups < self._capacity:
            number, self.group_count = self.group_count, self.group_count + 1
            task = self._draw(number)
            self._active[number] = task, self._max_steps, {}
            self._collector.submit(group_episodes(task, number, self._args.group_size, self._max_steps))


def train(args: TrainSettings, tasks: Sequence[Task] | None = None, create: type[Method] = GRPO) -> Path:
    """Train and return the folder of the last checkpoint. The default tasks are drawn from the worlds of `args`."""
    ranks = shard_ranks()
    _check(args, ranks, create)
    if threads := args.threads or kind_of(args.model).threads:
        torch.set_num_threads(threads)
    checkpoint = ranks.share(open_run(args, args.out) if ranks.is_main else None)
    update, record = (
        (checkpoint.update, checkpoint.progress()) if checkpoint else (0, dict[str, Any](elapsed_s=0.0, groups=0, spent={}))
    )
    elapsed_s, usage = record["elapsed_s"], record["spent"]
    if checkpoint and args.progress(update, elapsed_s, usage) >= 1:
        return checkpoint.path
    source = checkpoint.path if checkpoint else args.model
    model, reference = _load(source, args, ranks), _load(args.model, args, ranks) if args.kl_weight else None
    method: Method | None = None  # other ranks receive their training steps from rank 0
    with ExitStack() as stack:
        if ranks.is_main:
            method, player, stream = _create_stream(stack, args, source, model, tasks, create, record["groups"])
            meter = Meter(player, usage, Ranks())
            loss = method.loss
        else:
            assert isinstance(args, ClippedSettings)
            loss = partial(clipped_loss, args)
        state = (ShardedState if ranks.count > 1 else State)(args, model, method)
        learner = Learner(model, state.optimizer, loss, args, reference, ranks)
        if checkpoint:
            checkpoint.restore(state)
        options: dict[str, Any] = {"updates": args.planned_updates, "is_silent": not ranks.is_main}
        metrics = stack.enter_context(Metrics(args.out, update, create.title, **options))

        def save() -> Path:
            """Write a checkpoint in rank 0. All ranks must call it."""
            if not ranks.is_main:
                state.state_dict()
                return Path(args.out)
            progress = {"elapsed_s": elapsed_s, "groups": stream.group_count, "spent": usage}
            result = model.full_network if isinstance(model, ShardedLanguageModel) else state.result
            assert result is not None
            return save_checkpoint(args.out, update, result, model.tokenizer, state, progress, args.agent()).path

        if ranks.count == 1:  # saving a sharded model after an error would need all ranks
            stack.enter_context(save_on_error(args.out, save, lambda: update))
        while True:
            start_s, plan = time.perf_counter(), None
            if ranks.is_main and (progress := args.progress(update, elapsed_s, usage)) < 1:
                rng = Random(f"{args.seed}/{update}")
                batch = stream.batch(update, args.limit(progress))
                rollout_s = time.perf_counter() - start_s
                assert method
                steps, values = method.batch(batch.groups, rng)
                save_batch(args, update + 1, batch.groups, steps)
                plan = (steps, rng, progress)
            plan = ranks.share(plan)
            if plan is None:
                return save()
            learner_metrics = learner.learn(*plan)
            if isinstance(model, ShardedLanguageModel):
                model.gather()
            state.average()
            if ranks.is_main:
                usage = meter.read(steps, args.epochs)
                values |= learner_metrics | describe(batch.groups, steps, update, batch.shares)
                values |= {"stale_groups": batch.stale} | usage
                update_s = time.perf_counter() - start_s
                elapsed_s += update_s
                metrics.log(update + 1, values | {"rollout_s": rollout_s, "elapsed_s": elapsed_s})
                text = f"training success {values['success']:.2f}, {values['rollouts'] / update_s:.1f} rollouts/s"
                metrics.show_progress(args.progress(update + 1, elapsed_s, usage), text)
            update += 1
            if update % args.save_every == 0:
                save()


def _load(source: str | Path, args: TrainSettings, ranks: Ranks) -> Model:
    """Return the model of a folder, a run or a name on the Hub, in shards if there are several ranks."""
    if ranks.count > 1:
        return ShardedLanguageModel(*load_model(source), args, ranks)
    return kind_of(args.model).load(source, args)


def _create_stream(
    stack: ExitStack, args: TrainSettings, source: str | Path, model: Model, tasks: Sequence[Task] | None, create: type[Method],
    group_count: int,
) -> tuple[Method, TrainedPolicy | Players, GroupStream]:  # fmt: skip
    """Return the method, the policy or the players, which count replies, and the stream. They are closed with `stack`."""
    tasks = training_tasks(args, tasks)
    network: Any = model.full_network if isinstance(model, ShardedLanguageModel) else model.network
    count = 1 if args.workers or args.cluster or args.threads else training_processes(args)
    players = None
    if count > 1:
        make_player = partial(_make_player, args, source, tasks, -(-args.num_envs // count))
        players = Players(make_player, count, num_envs=args.num_envs, seed=args.seed)
    # With overlap, this process samples while it trains, so sampling needs a copy of the parameters.
    needs_copy = args.overlap and not (players or args.vllm or args.cluster)
    sampling_network = deepcopy(network) if needs_copy else network
    policy: TrainedPolicy
    if isinstance(model, PointingNetwork):
        policy = model.policy()
    elif args.cluster and not args.vllm:
        from agents.cluster.engines import RayEngine  # noqa: PLC0415 - Ray is optional

        policy = model.policy(RayEngine(partial(create_engine, args, encoder=model.encoder), network, gpus=int(args.gpus)))
    else:
        policy = model.policy(create_engine(args, sampling_network, model.encoder))
    envs: Envs
    if args.cluster:
        from agents.cluster.envs import create_envs as create_cluster_envs  # noqa: PLC0415 - Ray is optional

        envs = create_cluster_envs(tasks, args.num_envs, args, **args.env_arguments())
    else:
        envs = create_envs(tasks, args.num_envs, workers=args.workers, **args.env_arguments())
    stack.enter_context(closing(envs))
    player = stack.enter_context(closing(players or policy))
    method = create(args, tasks, model, envs if isinstance(envs, InProcessEnvs) else None, policy)

    def load_parameters(version: int) -> None:
        if sampling_network is not network:
            sampling_network.load_state_dict(network.state_dict())
        player.load(sampling_network, version)

    collector = players or Collector(envs, policy, seed=args.seed, env=args.env())
    stream = GroupStream(collector, method.draw, load_parameters, args, group_count=group_count)
    return method, player, stack.enter_context(closing(stream))


def _check(args: TrainSettings, ranks: Ranks, create: type[Method]) -> None:
    """Raise ValueError for incompatible settings."""
    kind = kind_of(args.model)
    kind.check(args)
    for name in ("overlap", "cluster") if kind is PointingNetwork else ():
        if value := getattr(args, name):
            raise ValueError(f"{name} is {value!r}, which is for language models; leave it out")
    if args.constrained and args.cluster:
        raise ValueError(f"cluster is {args.cluster!r}; expected another value with constrained replies")
    if args.cluster and args.workers:
        raise ValueError(f"workers is {args.workers}; expected 0 with a cluster, whose envs are in its env_workers")
    if args.needs_local_envs and (args.workers or args.cluster or args.staleness):
        raise ValueError(
            f"workers is {args.workers}, cluster {args.cluster!r} and staleness {args.staleness}; expected none of them with "
            "forks or searches, which need envs in this process"
        )
    if (args.overlap or args.cluster or ranks.count > 1) and not issubclass(create, GRPO):
        raise ValueError(
            f"overlap is {args.overlap} and cluster {args.cluster!r}; expected neither of them with {create.title}"
        )
    if args.distilled:
        raise ValueError(f"distilled is {args.distilled}; expected 0 with asynchronous or distributed rollouts")
    if args.average and ranks.count > 1:
        raise ValueError(f"average is {args.average}; expected 0 with {ranks.count} ranks")
    if args.processes > 1 and (args.workers or args.cluster):
        raise ValueError(f"processes is {args.processes}; expected 1 with workers={args.workers} and cluster={args.cluster!r}")


def _make_player(args: TrainSettings, source: str | Path, tasks: Sequence[Task], num_envs: int) -> Player:
    """Return the player of one process, with a copy of the model."""
    model = kind_of(source).load(source, args)
    policy: TrainedPolicy = model.policy()

    def load_parameters(parameters: dict[str, torch.Tensor], version: int) -> None:
        model.network.load_state_dict(parameters)
        policy.load(model.network, version)

    return Player(create_envs(tasks, num_envs, **args.env_arguments()), policy, load_parameters, args.env())
