"""Metrics of a training run: JSON lines, TensorBoard events, a progress bar and cumulative costs."""

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean, pstdev
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from webarena_gym.console import writing
from webarena_gym.progress import Progress

if TYPE_CHECKING:  # reports read metrics without torch
    from agents.rollouts.branching import SearchingCollector
    from agents.rollouts.curriculum import Group
    from agents.rollouts.players import Players
    from agents.rollouts.policies import TrainedPolicy
    from agents.training.credit import TrainedStep
    from agents.training.distributed import Ranks

_FILE = "metrics.jsonl"


class Metrics:
    """Context manager that writes the metrics of a run and shows a progress bar.

    Args:
        run: folder of the run
        update: number of finished updates; metrics of later updates are removed
        title: text of the progress bar
        updates: number of updates of the whole run, for the progress bar; 0, if the run has another length, shows a percentage
        is_silent: do nothing, for ranks other than 0

    """

    def __init__(self, run: Path, update: int, title: str, *, updates: int = 0, is_silent: bool = False) -> None:
        self._file: TextIO | None = None
        if is_silent:
            return
        run.mkdir(parents=True, exist_ok=True)
        records = [record for record in read_metrics(run) if record["update"] <= update] if update else []
        temporary = run / f".unfinished_{_FILE}"  # atomic: a kill leaves either the old or the new file
        self._path = run / _FILE
        with writing(self._path):
            temporary.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
            self._file = temporary.replace(self._path).open("a", encoding="utf-8")
        from tensorboard.compat.proto.event_pb2 import SessionLog  # noqa: PLC0415 - slow import; invalid options are reported first
        from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: PLC0415

        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}.{update}"
        self._events = run / "tensorboard" / name
        self._events.parent.mkdir(exist_ok=True)
        self._board = RecordWriter(self._events.open("wb"))
        self._add_event(file_version="brain.Event:2")
        if update:  # TensorBoard drops later updates
            self._add_event(step=update + 1, session_log=SessionLog(status=SessionLog.START))
        self._total = updates or 100
        self._progress = Progress(self._total, f"{'updates ' if updates else ''}of {title}", is_percentage=not updates)

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file:
            self._progress.clear()
            with suppress(OSError) if error else writing(self._path):  # flushes the file
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

    def _add_event(self, **content: object) -> None:
        """Write an event for TensorBoard. Its own writer is a thread that prints a traceback if the disk is full."""
        from tensorboard.compat.proto.event_pb2 import Event  # noqa: PLC0415

        with writing(self._events):
            self._board.write(Event(wall_time=time.time(), **content).SerializeToString())
            self._board.flush()

    def show_progress(self, progress: float, text: str) -> None:
        """Show the progress of the run, from 0 to 1, followed by a text."""
        if self._file:
            self._progress.update(int(min(1.0, progress) * self._total + 1e-6), text)


def read_metrics(run: Path) -> list[dict[str, float]]:
    """Return the metrics of a run by update; empty if there are none. A truncated last line is ignored."""
    path = run / _FILE
    if not path.is_file():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            records.append(json.loads(line))
    return records


class Meter:
    """Cumulative costs of a run, to compare methods at equal costs.

    - `env_steps`: replies that were sent to an env
    - `generated_tokens`: tokens of all replies
    - `trained_tokens`: reply tokens trained on, counted once per pass
    - `cpu_minutes`: CPU time of all processes that train or play, without env workers and servers

    `before` contains the totals at the start of a resumed run.
    """

    def __init__(
        self, policy: "TrainedPolicy | SearchingCollector | Players", before: Mapping[str, float], ranks: "Ranks"
    ) -> None:
        self._policy, self._before, self._ranks = policy, dict(before), ranks
        self._began_s, self._trained_tokens = time.process_time(), 0

    def read(self, steps: "Sequence[TrainedStep]", epochs: int) -> dict[str, float]:
        """Add the tokens of steps trained on for `epochs` passes, and return the totals over all ranks."""
        self._trained_tokens += epochs * sum(len(item.step.response_ids) for item in steps if item.advantage)
        local = (
            self._policy.reply_count,
            self._policy.generated_tokens,
            time.process_time() - self._began_s + self._policy.cpu_s,
        )
        reply_count, generated_tokens, cpu_s = (sum(values) for values in zip(*self._ranks.gather([local]), strict=True))
        totals = {
            "env_steps": reply_count,
            "generated_tokens": generated_tokens,
            "trained_tokens": self._trained_tokens,
            "cpu_minutes": cpu_s / 60,
        }
        return {name: self._before.get(name, 0) + value for name, value in totals.items()}


def describe(
    groups: "Sequence[Group]", steps: "Sequence[TrainedStep]", version: int, shares: Mapping[Any, float]
) -> dict[str, float]:
    """Return the metrics of the rollouts of an update.

    Args:
        groups: the groups of the update
        steps: the steps trained on
        version: number of updates of the current parameters
        shares: fractions of the envs' time by stage

    """
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
        # Symptoms of the echo trap of RAGEN (arXiv 2504.20073): both fall while `grad_norm` grows.
        "reward_deviation": fmean(deviations) if deviations else 0.0,
        "reply_entropy": -fmean(logprobs) if logprobs else 0.0,  # nats per token, estimated from the sampled tokens
        "equal_groups": sum(group.has_equal_rewards for group in groups) / max(len(groups), 1),
        "lag": sum(version - item.policy_version for item in valid) / count,
        "trained_steps": sum(item.advantage != 0 for item in steps),
        **{f"time_{stage}": share for stage, share in shares.items()},
    }
