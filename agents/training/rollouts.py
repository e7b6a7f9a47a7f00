"""Weighting of the steps that an update trains on, and files of an update's rollouts and training samples."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agents.data.trajectories import Step, Trajectory, read_trajectories, write_trajectories
from webarena_gym.console import writing

if TYPE_CHECKING:  # reports read rollouts without torch
    from agents.rollouts.curriculum import Group
    from agents.training.settings import TrainSettings

Weighting = Literal["paper", "constant", "dr_grpo", "token_mean", "step_mean"]
CONSTANT_STEPS, CONSTANT_TOKENS = 15, 1024  # divisors of the weightings "constant" and "dr_grpo"

_FOLDER = "rollouts"


class TrainedStep(NamedTuple):
    """A step with the advantage of its tokens and the weight of each token in the loss of the batch."""

    episode: Trajectory
    number: int
    advantage: float
    weight: float
    rollout: int = 0  # index of the episode in its group

    @property
    def step(self) -> Step:
        """The step of the episode."""
        return self.episode.steps[self.number]


def weight_steps(
    parts: Iterable[tuple[Sequence[Trajectory], Iterable[float | None]]], weighting: Weighting = "token_mean"
) -> list[TrainedStep]:
    """Return the steps of groups of episodes with their advantages and token weights.

    Steps with the advantage None are left out. The loss is the weighted sum over all tokens of the batch, so the losses of passes and
    processes can be added. Token weights:

    - "paper": 1/trajectories * 1/steps * 1/tokens of the response (WebAgent-R1, equation 2)
    - "constant": the same with 15 for the number of steps (AsyncWebRL, arXiv 2606.05597): steps of long episodes are not weighted down
    - "dr_grpo": 1/trajectories * 1/1024 (arXiv 2503.20783): independent of the lengths of responses and episodes
    - "token_mean": 1/tokens of the batch (DAPO, arXiv 2503.14476)
    - "step_mean": 1/steps of the batch * 1/tokens of the response
    """
    steps: list[TrainedStep] = []
    trajectories = 0
    for group, advantages in parts:
        values = iter(advantages)
        trajectories += len(group)
        credit = [(rollout, number, next(values)) for rollout, item in enumerate(group) for number in range(len(item.steps))]
        steps += [
            TrainedStep(group[rollout], number, advantage, 0.0, rollout)
            for rollout, number, advantage in credit
            if advantage is not None
        ]
    total = sum(len(item.step.response_ids) for item in steps)

    def weight(item: TrainedStep) -> float:
        length, tokens = len(item.episode.steps), len(item.step.response_ids)
        divisors = {
            "paper": trajectories * length * tokens, "constant": trajectories * CONSTANT_STEPS * tokens,
            "dr_grpo": trajectories * CONSTANT_TOKENS, "token_mean": total, "step_mean": len(steps) * tokens,
        }  # fmt: skip
        return 1.0 / divisors[weighting]

    return [item._replace(weight=weight(item)) for item in steps]


def add_advantages(groups: "Iterable[Group]", steps: Iterable[TrainedStep]) -> list[Trajectory]:
    """Return the valid rollouts of the groups with the advantages of their steps; 0 for steps that are not trained on."""
    by_rollout: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for item in steps:
        by_rollout[item.episode.group, item.rollout][item.number] = item.advantage
    rollouts = []
    for group in groups:
        for index, episode in enumerate(group.valid):
            by_step = by_rollout.get((group.number, index))
            advantages = tuple(by_step.get(step, 0.0) for step in range(len(episode.steps))) if by_step else ()
            rollouts.append(replace(episode, advantages=advantages))
    return rollouts


def save_batch(args: "TrainSettings", update: int, groups: "Sequence[Group]", steps: Sequence[TrainedStep]) -> None:
    """Write the samples and rollouts of an update to the run's folder, as `save_samples` and `save_rollouts` request."""
    if args.save_samples:
        write_samples(args.out / "samples" / f"{update:06}.parquet", steps)
    if args.save_rollouts and update % args.save_rollouts == 0:
        write_groups(args.out, update, add_advantages(groups, steps))


def write_groups(run: Path, update: int, rollouts: Iterable[Trajectory]) -> None:
    """Write the rollouts of an update into the folder of its run, without the tokens of prompts and responses."""
    path = run / _FOLDER / f"{update:06}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".unfinished_{path.name}")
    no_tokens: dict[str, Any] = dict.fromkeys(("prompt_ids", "response_ids", "logprobs"), ())
    write_trajectories(
        temporary, (replace(item, steps=tuple(replace(step, **no_tokens) for step in item.steps)) for item in rollouts)
    )
    temporary.replace(path)


def read_groups(path: Path) -> list[list[Trajectory]]:
    """Read a file written by `write_groups`. Returns the rollouts of each group."""
    groups: dict[int, list[Trajectory]] = defaultdict(list)
    for item in read_trajectories(path):
        groups[item.group].append(item)
    return list(groups.values())


def group_files(run: Path) -> dict[int, Path]:
    """Return the files of saved rollouts of a run by update, in order."""
    return {int(path.name.partition(".")[0]): path for path in sorted((run / _FOLDER).glob("[0-9]*.jsonl.gz"))}


def write_samples(path: Path, steps: Iterable[TrainedStep]) -> None:
    """Write the steps of an update as Parquet, one per row: prompt ids, response ids, advantages and weights, without texts."""
    import pyarrow as pa  # noqa: PLC0415 - optional dependency
    import pyarrow.parquet as pq  # noqa: PLC0415

    # One row per step, because other trainers read that. Nothing in this package reads these files.
    ids, number = pa.list_(pa.int32()), pa.float64()
    columns: dict[str, tuple[Any, Callable[[TrainedStep], Any]]] = {
        "prompt_ids": (ids, lambda item: item.step.prompt_ids),
        "response_ids": (ids, lambda item: item.step.response_ids),
        "logprobs": (pa.list_(number), lambda item: item.step.logprobs),
        "advantage": (number, lambda item: item.advantage),
        "token_weight": (number, lambda item: item.weight),
        "group_id": (pa.int64(), lambda item: item.episode.group),
        "trajectory_id": (pa.string(), lambda item: f"{item.episode.group}/{item.rollout}"),
        "step": (pa.int32(), lambda item: item.number),
        "is_last_step": (pa.bool_(), lambda item: item.number == len(item.episode.steps) - 1),
        "reward": (number, lambda item: item.episode.reward),
        "policy_version": (pa.int64(), lambda item: item.episode.policy_version),
    }
    rows = [{name: value(item) for name, (_, value) in columns.items()} for item in steps]
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path):
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
