"""Multi-turn GRPO on web tasks, in one file. Run `python -m agents.train_grpo --model RUN --out runs/rl`.

After WebAgent-R1 (arXiv 2505.16421, equation 2). For each update:

1. draw tasks, more often of templates with mixed success;
2. play a group of episodes of each task from one seed, each in an isolated world;
3. compute the advantage of each step: its return compared with other steps of the group in the same state;
4. take clipped policy-gradient steps on them, each in the exact context in which it was sampled. All tokens of an update have equal
   weights unless `weighting` is changed.

The model (`agents.training.pointing_networks` or `agents.training.language_models`) has three methods: `policy()` returns a policy to play
with, `choices(episode)` the choices of each step, and `logprobs(choices)` yields the log-probabilities of choices and their indices, pass
after pass. The methods of `agents.methods` have the interface of `GRPO` and use the same `train`.

>>> trajectory_advantages([1.0, 0.0, 0.0, 1.0])  # the rewards of a group
[1.0, -1.0, -1.0, 1.0]

| part | options, which `agents.training.settings.GRPOSettings` explains |
|---|---|
| tasks | `worlds`, `per_template`, `templates`, `seek_mixed`, `groups_remembered` |
| rollouts | `tasks_per_update`, `group_size`, `dynamic_sampling`, `temperature`, `max_steps`, `step_limits` |
| credit | `advantages`, `fork_every`, `replayed`, `weighting` |
| loss | `ratio`, `clip_low`, `clip_high`, `old_logprobs`, `correction`, `kl_weight`, `distilled` |
| updates | `epochs`, `minibatches`, `learning_rate`, `schedule`, `max_grad_norm`, `average` |
| the run | `updates`, `minutes`, `cpu_minutes` or `env_steps`, `save_every`, `seed`, `processes`, `threads` |
"""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import torch

from agents.data.demonstrations import training_tasks
from agents.data.trajectories import Trajectory
from agents.models.checkpoints import Stateful, is_pointer, save_on_error
from agents.rollouts.branching import SearchingCollector, fork_advantages, fork_groups
from agents.rollouts.collector import Collector, group_episodes
from agents.rollouts.curriculum import Curriculum, Group, RolloutError
from agents.rollouts.envs import InProcessEnvs, create_envs
from agents.rollouts.policies import TrainedPolicy
from agents.training.credit import TrainedStep, weight_steps
from agents.training.distributed import SINGLE_RANK, Ranks, full_tensor, launch, training_processes
from agents.training.language_models import LanguageModel, TrainingSample
from agents.training.losses import Loss, Scorer, Tokens, k3, logprobs_of, mismatch, sequence_means, sequence_sums
from agents.training.metrics import Meter, describe
from agents.training.pointing_networks import PointingNetwork
from agents.training.rollout_files import save_batch
from agents.training.runs import Run
from agents.training.settings import ClippedSettings, GRPOSettings, TrainSettings
from webarena_gym.actions import DIALECTS
from webarena_gym.tasks import Task

CORRECTION_CAP = 2.0  # largest importance weight for a sampler that is not the trainer
GIGPO_DISCOUNT = 0.95  # discount factor per step until the reward (arXiv 2505.10978)
EPSILON = 1e-6  # returns with a smaller standard deviation count as equal
HINT = "A solution of the next task:\n"  # before it, for the model as its own teacher

Model = PointingNetwork | LanguageModel
"""The models that can be trained."""


# Credit.


def trajectory_advantages(rewards: Sequence[float]) -> list[float]:
    """Return (r - mean) / std of each trajectory in its group; zeros for equal rewards."""
    spread = pstdev(rewards)
    return [(reward - fmean(rewards)) / spread if spread > EPSILON else 0.0 for reward in rewards]


def state_advantages(states: Sequence[Any], returns: Sequence[float], *, leave_one_out: bool = True) -> list[float]:
    """Return (R - mean) / std of each step among the n visits of its state, times n / (n - 1), which makes the baseline the mean of the others.

    Environments are deterministic, so equal prompts are equal states. States visited once or with equal returns have advantage 0.
    """
    visits: dict[Any, list[int]] = defaultdict(list)
    for index, state in enumerate(states):
        visits[state].append(index)
    advantages = [0.0] * len(returns)
    for indices in visits.values():
        factor = len(indices) / max(len(indices) - 1, 1) if leave_one_out else 1.0
        for index, advantage in zip(indices, trajectory_advantages([returns[index] for index in indices]), strict=True):
            advantages[index] = advantage * factor
    return advantages


def step_advantages(group: Sequence[Trajectory], args: GRPOSettings) -> list[float]:
    """Return the advantage of every step of a group, trajectory after trajectory."""
    rewards = [item.reward for item in group]
    if args.advantages == "forks":
        return [value for item in group for value in fork_advantages([step.continuations for step in item.steps], item.reward)]
    by_trajectory = [value for value, item in zip(trajectory_advantages(rewards), group, strict=True) for _ in item.steps]
    discount = GIGPO_DISCOUNT if args.advantages == "gigpo" else 1.0
    returns = [item.reward * discount**ahead for item in group for ahead in reversed(range(len(item.steps)))]
    states = [step.prompt_ids for item in group for step in item.steps]
    if args.advantages == "state":  # the default
        return state_advantages(states, returns)
    if args.advantages == "trajectory":
        return by_trajectory
    if args.advantages == "gigpo":
        by_state = state_advantages(states, returns, leave_one_out=False)
        return [first + second for first, second in zip(by_trajectory, by_state, strict=True)]
    raise ValueError(f"advantages is {args.advantages!r}; expected 'state', 'trajectory', 'gigpo' or 'forks'")


# The method: selection of tasks and training steps.


class Method(Protocol):
    """A method of reinforcement learning: the selection of tasks, the training steps with their advantages, and the loss.

    Random draws depend only on the arguments, so a resumed run continues exactly.

    Args:
        args: settings of the run.
        tasks: the training tasks.
        model: the model in training.
        envs: envs in this process; only methods that search or fork episodes need them.
        policy: policy that samples from the model; only methods that search or fork episodes need it.

    """

    title: ClassVar[str]
    """name of the method in progress bars and reports"""
    draw: Callable[[int], Task]
    """returns the task of a group by the group's number"""
    loss: Callable[[Tokens], Loss]
    """returns the loss of a forward pass and its metrics"""
    state_dict: Callable[[], dict[str, Any]]
    """returns the state for checkpoints"""
    load_state_dict: Callable[[dict[str, Any]], None]
    """restores a state of `state_dict`"""
    collector: Collector | None = None
    """plays the episodes, unless it is None"""

    def __init__(
        self, args: TrainSettings, tasks: Sequence[Task], model: Model, envs: InProcessEnvs | None = None,
        policy: TrainedPolicy | None = None,
    ) -> None: ...  # fmt: skip

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps to train on and metrics."""
        ...


class GRPO(Method):
    """Multi-turn GRPO (M-GRPO); see the module's docstring.

    Args:
        args: settings of the run.
        tasks: the training tasks.
        model: the model in training.
        envs: envs in this process, for the continuations of `advantages="forks"`; unused otherwise.
        policy: policy that samples the continuations; unused otherwise.

    """

    title = "M-GRPO"

    def __init__(
        self, args: GRPOSettings, tasks: Sequence[Task], model: Model, envs: InProcessEnvs | None = None,
        policy: TrainedPolicy | None = None,
    ) -> None:  # fmt: skip
        self.args, self.model, self.envs, self.policy = args, model, envs, policy
        self.curriculum = Curriculum(tasks, args.seed, seek_mixed=args.seek_mixed, memory=args.groups_remembered)
        self.draw, self.loss = self.curriculum.draw, partial(clipped_loss, args)
        self.state_dict, self.load_state_dict = self.curriculum.state_dict, self.curriculum.load_state_dict

    def batch(self, groups: Sequence[Group], rng: Random) -> tuple[list[TrainedStep], dict[str, float]]:
        """Return the steps to train on and metrics. Groups without any advantage are left out unless there is a teacher."""
        self.curriculum.update_rates(groups)
        replays = self.curriculum.replay(self.args.replayed, rng) if self.args.replayed else []
        if self.args.replayed:
            self.curriculum.store_successes(groups)
        rollouts = [group.valid for group in groups]
        if self.args.advantages == "forks":
            assert self.envs is not None
            assert self.policy is not None
            rollouts = fork_groups(self.envs, self.policy, groups, every=self.args.fork_every, seed=self.args.seed)
        parts = [(group, self.advantages(group)) for group in rollouts if group]
        parts += [([item], [advantage] * len(item.steps)) for item, advantage in replays]
        metrics = {"replayed": float(len(replays))} if self.args.replayed else {}
        return weight_steps([part for part in parts if any(part[1]) or self.args.distilled], self.args.weighting), metrics

    def advantages(self, group: Sequence[Trajectory]) -> list[float]:
        """Return the advantage of every step of a group, trajectory after trajectory."""
        return step_advantages(group, self.args)


# Rollouts.


def play(
    collector: Collector, draw: Callable[[int], Task], first_number: int, args: TrainSettings, limit: int | None,
    ranks: Ranks = SINGLE_RANK,
) -> list[Group]:  # fmt: skip
    """Play the groups of an update, divided among the ranks.

    Dynamic sampling plays further groups in place of groups with equal rewards.

    Args:
        collector: Plays the episodes.
        draw: Returns the task of a group by the group's number.
        first_number: Number of the first group.
        args: The settings.
        limit: Step limit of the episodes; None is the env's limit.
        ranks: The ranks of the training.

    Raises:
        RolloutError: All rollouts failed.

    """
    groups: list[Group] = []
    missing = args.tasks_per_update
    while missing > 0:
        start = first_number + len(groups)
        tasks = {number: draw(number) for number in range(start, start + missing)}
        rank_numbers = [number for number in tasks if number % ranks.count == ranks.index]
        specs = [spec for number in rank_numbers for spec in group_episodes(tasks[number], number, args.group_size, limit)]
        episodes = iter(collector.collect(specs))
        new_groups = ranks.gather(
            [Group(number, tasks[number], list(islice(episodes, args.group_size)), limit) for number in rank_numbers]
        )
        groups += sorted(new_groups, key=lambda group: group.number)
        mixed = sum(not group.has_equal_rewards for group in groups)
        missing = min(args.tasks_per_update - mixed, args.tasks_per_update * args.dynamic_sampling - len(groups))
    failures = [item.failure for group in groups for item in group.trajectories]
    if all(failures):
        raise RolloutError(f"all {len(failures)} rollouts failed; the last one: {failures[-1]}")
    return groups


# Loss and updates.


class Teacher:
    """The current model with prompts that contain the reference solution of the task, for self-distillation.

    Raises ValueError if a task has no reference solution.
    """

    def __init__(self, model: LanguageModel, tasks: Sequence[Task]) -> None:
        dialect = DIALECTS["webrl"].naming_by("label")
        solutions = {task.task_id: "\n".join(dialect.format(step.action) for step in task.solution) for task in tasks}
        if unsolved := [name for name, solution in solutions.items() if not solution]:
            raise ValueError(f"task {unsolved[0]!r} has no reference solution; expected one for each task with distilled")
        self._model, self._solutions, self.logprobs = model, solutions, model.logprobs

    def choices(self, episode: Trajectory) -> Sequence[TrainingSample]:
        """Return the model's choices with the solution of the task before the prompt."""
        return self._model.choices(episode, HINT + self._solutions[episode.task_id])


def clipped_loss(args: ClippedSettings, tokens: Tokens) -> Loss:
    """Return -sum w [c min(r A, clip(r) A) - beta KL] over the tokens of a pass.

    r is the ratio of new to old probabilities: a token's, or the geometric mean of a response (GSPO, arXiv 2507.18071). c corrects for a
    sampler that is not the trainer (Yao et al. 2025). KL to the initial model is the k3 estimate.

    With `distilled`, the reference is the model prompted with the solution (`teacher`), and distilled * sigmoid(d) d is added to A, where d
    is the log-probability under the teacher minus that under the policy before the update. This is on-policy self-distillation. The sigmoid gives low
    weight to tokens that the teacher finds unlikely (SDAR, arXiv 2605.15155; this code follows summaries of it).
    """
    log_ratio = tokens.new - tokens.old
    if args.distilled:
        assert tokens.reference is not None
        gap = tokens.reference - tokens.old
        tokens = tokens._replace(advantages=tokens.advantages + args.distilled * gap.sigmoid() * gap)
    ratio = (sequence_means(log_ratio, tokens.lengths) if args.ratio == "sequence" else log_ratio).exp()
    clipped_ratio = ratio.clamp(1 - args.clip_low, 1 + args.clip_high)
    objective = torch.minimum(ratio * tokens.advantages, clipped_ratio * tokens.advantages)
    correction = tokens.old - tokens.sampled
    if args.correction == "token":
        objective = correction.exp().clamp(max=CORRECTION_CAP) * objective
    elif args.correction == "sequence_mask":
        weight = sequence_sums(correction, tokens.lengths).exp()
        objective = torch.where(weight <= CORRECTION_CAP, weight, torch.zeros_like(weight)) * objective
    kl = torch.zeros_like(objective) if tokens.reference is None else k3(tokens.new, tokens.reference)
    clip_count = (ratio * tokens.advantages > clipped_ratio * tokens.advantages).sum().item()
    loss = -(tokens.weights * (objective - args.kl_weight * kl)).sum()
    return loss, {"clipped": clip_count, "kl": kl.sum().item()}


class SinglePass(NamedTuple):
    """Settings of a `Learner` that takes one optimizer step on each batch.

    Attributes:
        learning_rate: learning rate.
        epochs: passes over a batch.
        minibatches: optimizer steps in one pass.
        schedule: constant learning rate, or linear decay to 0 over the training.
        max_grad_norm: maximum gradient norm of an update; larger gradients are scaled down.
        old_logprobs: denominator of the ratio: the sampler's log-probabilities, or the trainer's before the updates of a batch.

    """

    learning_rate: float
    epochs: int = 1
    minibatches: int = 1
    schedule: Literal["constant", "linear"] = "constant"
    max_grad_norm: float = 1.0
    old_logprobs: Literal["sampled", "recomputed"] = "sampled"


class Batch(NamedTuple):
    """The steps of an update, with the log-probabilities of their tokens before the update and under the reference model.

    Attributes:
        steps: the n steps.
        old_logprobs: log-probabilities of the tokens of each step before the update, n tensors.
        reference_logprobs: the same under the reference model; None without one.

    """

    steps: Sequence[TrainedStep]
    old_logprobs: Sequence[torch.Tensor]
    reference_logprobs: Sequence[torch.Tensor] | None


@dataclass(frozen=True)
class Learner:
    """Trains a model on the steps of batches. All ranks call its methods together.

    Attributes:
        model: the model in training.
        optimizer: its optimizer.
        loss: function of the tokens of a pass that returns the loss and its metrics.
        args: settings: `epochs`, `minibatches`, `learning_rate`, `schedule`, `max_grad_norm` and `old_logprobs` are used.
        reference: reference model or teacher of the loss; None without one.
        ranks: the ranks of the training.

    """

    model: Model
    optimizer: torch.optim.Optimizer
    loss: Callable[[Tokens], Loss]
    args: TrainSettings | SinglePass
    reference: Scorer | None = None
    ranks: Ranks = SINGLE_RANK

    def learn(self, steps: Sequence[TrainedStep], rng: Random, progress: float = 0.0) -> dict[str, float]:
        """Take all optimizer steps on one batch, and return their mean metrics. `progress` is the progress of the training from 0 to 1."""
        args, model = self.args, self.model
        if self.reference is None:  # a step without advantage has no gradient
            steps = [step for step in steps if step.advantage]
        if not steps:
            return {}
        for part in self.optimizer.param_groups:
            part["lr"] = args.learning_rate * (1 - progress if args.schedule == "linear" else 1.0)
        model.network.train()
        orders = [rng.sample(range(len(steps)), len(steps)) for _ in range(args.epochs)]
        old_logprobs, metrics = [torch.tensor(item.step.logprobs) for item in steps], dict[str, float]()
        if args.old_logprobs == "recomputed":  # otherwise a `correction` is rejected, since it would be 1
            sampled, old_logprobs = torch.cat(old_logprobs), logprobs_of(model, steps, self.ranks)
            metrics = mismatch(torch.cat(old_logprobs), sampled)
        batch = Batch(steps, old_logprobs, logprobs_of(self.reference, steps, self.ranks) if self.reference else None)
        minibatches = [order[part :: args.minibatches] for order in orders for part in range(args.minibatches)]
        step_metrics = [self._take_step(batch, minibatch) for minibatch in minibatches if minibatch]
        model.forget()
        return metrics | {name: fmean(values[name] for values in step_metrics) for name in step_metrics[0]}

    def _take_step(self, batch: Batch, minibatch: Sequence[int]) -> dict[str, float]:
        """Take one optimizer step on a minibatch, of which each rank computes a part in several passes, and return its metrics."""
        model, ranks, (steps, old_logprobs, reference_logprobs) = self.model, self.ranks, batch
        rank_steps = ranks.part(steps, minibatch)
        sums, gap = dict.fromkeys(("loss", "clipped", "kl"), 0.0), 0.0
        for positions, new in model.logprobs(
            [model.choices(steps[index].episode)[steps[index].number] for index in rank_steps]
        ):
            indices = [rank_steps[position] for position in positions]
            if not indices:  # an empty pass, since all ranks must make the same number of passes
                (0.0 * torch.cat(new).sum()).backward()
                continue
            reference = [reference_logprobs[index] for index in indices] if reference_logprobs else None
            tokens = Tokens.of(new, [steps[index] for index in indices], [old_logprobs[index] for index in indices], reference)
            value, loss_metrics = self.loss(tokens)
            # The weights sum to 1 over the whole batch, so a minibatch is scaled up.
            (value * self.args.minibatches * ranks.gradient_scale).backward()
            gap = max(gap, (tokens.new - tokens.sampled).abs().max().item())
            for name, metric in {"loss": value.item(), **loss_metrics}.items():
                sums[name] += metric
        parameters = [parameter for parameter in model.network.parameters() if parameter.requires_grad]
        ranks.add_up(parameters)
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.args.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        count = sum(len(steps[index].step.response_ids) for index in minibatch)
        all_metrics = ranks.gather([sums | {"logprob_gap": gap}])
        total = {name: sum(metrics[name] for metrics in all_metrics) for name in sums}
        means = {name: total[name] / count for name in ("clipped", "kl")}
        max_gap = max(metrics["logprob_gap"] for metrics in all_metrics)
        return total | means | {"logprob_gap": max_gap, "grad_norm": float(full_tensor(norm))}


# The run.


class State:
    """State of a run in addition to the saved model: the optimizer, the method (in rank 0), and with averaging the current parameters.

    `result` is the network to save: the moving average of the parameters, or the model's network without averaging.
    """

    def __init__(self, args: TrainSettings, model: Model, method: Stateful | None) -> None:
        self.model, self.method, self.max_decay, self.average_count = model, method, args.average, 0
        self.result = deepcopy(model.network) if args.average else model.network
        parameters = [parameter for parameter in model.network.parameters() if parameter.requires_grad]
        betas, decay = (0.9, model.beta2), model.weight_decay
        self.optimizer = torch.optim.AdamW(parameters, args.learning_rate, betas=betas, weight_decay=decay)

    @torch.no_grad()
    def average(self) -> None:
        """Update the moving average of the parameters. The decay is lower at first, which reduces the weight of initial parameters."""
        if self.max_decay:
            self.average_count += 1
            decay = min(self.max_decay, self.average_count / (self.average_count + 9))
            for mean, parameter in zip(self.result.parameters(), self.model.network.parameters(), strict=True):
                mean.lerp_(parameter, 1 - decay)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain values and tensors."""
        state: dict[str, Any] = {
            "learner": self.optimizer.state_dict(),
            "method": self.method.state_dict() if self.method else {},
        }
        if self.max_decay:
            state |= {"trained": self.model.network.state_dict(), "averaged": self.average_count}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state dict. The averaged parameters are loaded with the checkpoint's model."""
        self.optimizer.load_state_dict(state["learner"])
        if self.method:
            self.method.load_state_dict(state["method"])
        if self.max_decay:
            self.model.network.load_state_dict(state["trained"])
            self.average_count = state["averaged"]


def kind_of(source: str | Path) -> type[PointingNetwork] | type[LanguageModel]:
    """Return the model class for a folder, a run or a name on the Hub."""
    return PointingNetwork if is_pointer(source) else LanguageModel


def load_reference(args: TrainSettings, model: Model, tasks: Sequence[Task]) -> Scorer | None:
    """Return the initial model if there is a KL term, the teacher with self-distillation, and None otherwise."""
    if args.kl_weight:
        return kind_of(args.model).load(args.model, args)
    if args.distilled:
        assert isinstance(model, LanguageModel)
        return Teacher(model, tasks)
    return None


def train(args: TrainSettings, tasks: Sequence[Task] | None = None, create: type[Method] = GRPO) -> Path:
    """Train and return the folder of the last checkpoint. The default tasks are drawn from the worlds of `args`."""
    ranks = Ranks.current()
    kind = kind_of(args.model)
    kind.check(args)
    if threads := args.threads or kind.threads:
        torch.set_num_threads(threads)
    run = Run(args, ranks, groups=0, spent={})
    checkpoint = run.checkpoint
    if checkpoint and run.progress >= 1:
        return checkpoint.path
    tasks = training_tasks(args, tasks)
    if ranks.count == 1 and (count := training_processes(args)) > 1:
        return launch(train, count, args, tasks, create)
    model = kind.load(checkpoint.path if checkpoint else args.model, args)
    envs = create_envs(tasks, -(-args.num_envs // ranks.count), **args.env_arguments())
    policy: TrainedPolicy = model.policy()
    method = create(args, tasks, model, envs, policy)
    collector = method.collector or Collector(envs, policy, seed=args.seed, env=args.env())
    state = State(args, model, method)
    learner = Learner(model, state.optimizer, method.loss, args, load_reference(args, model, tasks), ranks)
    if checkpoint:
        checkpoint.restore(state)
    meter = Meter(collector if isinstance(collector, SearchingCollector) else policy, run.record["spent"], ranks)

    def take_update(progress: float) -> dict[str, float]:
        start_s = time.perf_counter()
        # Random draws depend on the number of the update, so a resumed run repeats them.
        rng = Random(f"{args.seed}/{run.update}")
        policy.load(model.network, run.update)
        groups = play(collector, method.draw, run.record["groups"], args, args.limit(progress), ranks)
        rollout_s = time.perf_counter() - start_s
        run.record["groups"] += len(groups)
        steps, values = method.batch(groups, rng)
        if ranks.is_main:
            save_batch(args, run.update + 1, groups, steps)
        values |= learner.learn(steps, rng, progress)
        state.average()
        run.record["spent"] = usage = meter.read(steps, args.epochs)
        values |= describe(groups, steps, run.update, collector.take_time_fractions()) | usage
        return values | {"rollout_s": rollout_s}

    def save() -> Path:
        return run.save(state.result, model.tokenizer, state, args.agent())

    with (
        closing(envs),
        closing(policy),
        save_on_error(args.out, save, lambda: run.update if ranks.is_main else 0),
    ):
        return run.train(method.title, take_update, save, describe=describe_success)


def describe_success(values: dict[str, float], update_s: float) -> str:
    """Return the text of the progress bar from the metrics of an update and its duration."""
    return f"training success {values['success']:.2f}, {values['rollouts'] / update_s:.1f} rollouts/s"
