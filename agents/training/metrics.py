"""Metrics of a run: a line of JSON per update, the same for TensorBoard, a bar that shows how far it is, and what it has spent."""

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean, pstdev
from types import TracebackType
from typing import TYPE_CHECKING, Any

from webarena_gym.console import Progress, writing

if TYPE_CHECKING:  # reports read metrics without torch
    from agents.rollouts.curriculum import Group
    from agents.training.distributed import Ranks
    from agents.training.rollouts import TrainedStep

_FILE = "metrics.jsonl"


class Metrics:
    """Writes the metrics of one run, as a context manager, and shows its progress under a title.

    `update` is where it goes on: later lines of before are dropped. With `is_silent` it does nothing.
    """

    def __init__(self, run: Path, update: int, title: str, *, is_silent: bool = False) -> None:
        self._file: Any = None
        if is_silent:
            return
        run.mkdir(parents=True, exist_ok=True)
        kept = [record for record in read_metrics(run) if record["update"] <= update] if update else []
        beside = run / f".unfinished_{_FILE}"  # so that a kill at any moment leaves the old lines or the new ones
        self._path = run / _FILE
        with writing(self._path):
            beside.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
            self._file = beside.replace(self._path).open("a", encoding="utf-8")
        from tensorboard.compat.proto.event_pb2 import SessionLog  # noqa: PLC0415 - options are refused without it
        from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: PLC0415

        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}.{update}"
        self._events = run / "tensorboard" / name
        self._events.parent.mkdir(exist_ok=True)
        self._board: Any = RecordWriter(self._events.open("wb"))
        self._add_event(file_version="brain.Event:2")
        if update:  # what is known of later updates is dropped
            self._add_event(step=update + 1, session_log=SessionLog(status=SessionLog.START))
        self._progress = Progress(100, f"% of {title}")

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file:
            self._progress.clear()
            with suppress(OSError) if error else writing(self._path):  # writes what is left
                self._file.close()
            with suppress(OSError) if error else writing(self._events):
                self._board.close()

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write the values of one update."""
        if not self._file:
            return
        with writing(self._path):
            self._file.write(json.dumps({"update": update, **values}) + "\n")
            self._file.flush()
        from tensorboard.compat.proto.summary_pb2 import Summary  # noqa: PLC0415

        scalars = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._add_event(step=update, summary=Summary(value=scalars))

    def _add_event(self, **content: Any) -> None:
        """Write an event for TensorBoard, whose own writer is a thread that prints a traceback where the disk is full."""
        from tensorboard.compat.proto.event_pb2 import Event  # noqa: PLC0415

        with writing(self._events):
            self._board.write(Event(wall_time=time.time(), **content).SerializeToString())
            self._board.flush()

    def show(self, progress: float, text: str) -> None:
        """Show which part of the run is done, from 0 to 1, with a text behind it."""
        if self._file:
            self._progress.show(int(min(100.0, 100 * progress)), text)


def read_metrics(run: Path) -> list[dict[str, float]]:
    """Return the metrics of a run, update by update; none if it has not begun. A last line cut by a kill is left out."""
    path = run / _FILE
    if not path.is_file():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            records.append(json.loads(line))
    return records


class Meter:
    """Costs of a run since it first began, so that methods can be compared at equal costs.

    `env_steps` are replies that were acted on, `generated_tokens` all tokens of replies, of whatever rollout; `trained_tokens` the
    reply tokens that the policy was trained on, once for each pass; `cpu_minutes` the CPU time of all processes that train and play,
    without those of env workers and servers. `before` are the totals that a resumed run begins with.
    """

    def __init__(self, policy: Any, before: Mapping[str, float], ranks: "Ranks") -> None:
        self._policy, self._before, self._ranks = policy, dict(before), ranks
        self._began_s, self._trained_tokens = time.process_time(), 0

    def read(self, steps: "Sequence[TrainedStep]", epochs: int) -> dict[str, float]:
        """Count the tokens of steps that were trained on in so many passes, and return the totals."""
        self._trained_tokens += epochs * sum(len(item.step.response_ids) for item in steps if item.advantage)
        own = (self._policy.replied, self._policy.generated_tokens, time.process_time() - self._began_s + self._policy.cpu_s)
        replied, generated, cpu_s = (sum(values) for values in zip(*self._ranks.gather([own]), strict=True))
        now = {
            "env_steps": replied,
            "generated_tokens": generated,
            "trained_tokens": self._trained_tokens,
            "cpu_minutes": cpu_s / 60,
        }
        return {name: self._before.get(name, 0) + value for name, value in now.items()}


def describe(
    groups: "Sequence[Group]", steps: "Sequence[TrainedStep]", version: int, shares: Mapping[Any, float]
) -> dict[str, float]:
    """Return the metrics of the rollouts for the update of this version of the parameters, and where the envs' time went."""
    trajectories = [item for group in groups for item in group.trajectories]
    valid = [item for group in groups for item in group.valid]
    played = [step for item in valid for step in item.steps]
    count = max(len(valid), 1)
    deviations = [pstdev(item.reward for item in group.valid) for group in groups if group.valid]
    logprobs = [value for step in played for value in step.logprobs]
    return {
        "rollouts": len(trajectories),
        "success": sum(item.reward for item in valid) / count,
        "truncated": sum(item.ending == "truncated" for item in valid) / count,
        "failed": len(trajectories) - len(valid),
        "steps": len(played) / count,
        "reply_tokens": sum(len(step.response_ids) for step in played) / count,
        "action_errors": sum(bool(step.action_error) for step in played) / max(len(played), 1),
        "distinct_prompts": len({step.prompt_ids for step in played}) / max(len(played), 1),
        # With `grad_norm`, what RAGEN (arXiv 2504.20073) knows its echo trap by: both fall, and the gradients grow.
        "reward_deviation": fmean(deviations) if deviations else 0.0,
        "reply_entropy": -fmean(logprobs) if logprobs else 0.0,  # nats a token, estimated from what was sampled
        "equal_groups": sum(group.is_equal for group in groups) / max(len(groups), 1),
        "lag": sum(version - item.policy_version for item in valid) / count,
        "trained_steps": sum(item.advantage != 0 for item in steps),
        **{f"time_{place}": share for place, share in shares.items()},
    }
