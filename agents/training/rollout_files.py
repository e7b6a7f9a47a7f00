"""Files of an update: its rollouts for the report, and its training samples as Parquet."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.data.trajectories import Trajectory, read_trajectories, write_trajectories
from agents.training.credit import TrainedStep, add_advantages
from webarena_gym.console import writing

if TYPE_CHECKING:  # reports read rollouts without torch
    from agents.rollouts.curriculum import Group
    from agents.training.settings import TrainSettings

_FOLDER = "rollouts"


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
