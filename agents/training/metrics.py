"""Metrics of a run: a line of JSON per update, the same for TensorBoard, and a bar that shows how far it is."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from webarena_gym.progress import Progress

_FILE = "metrics.jsonl"


class Metrics:
    """Writes the metrics of one run, as a context manager, and shows its progress under a title.

    `update` is where it goes on: later lines of before are dropped.
    """

    def __init__(self, run: Path, update: int, title: str) -> None:
        run.mkdir(parents=True, exist_ok=True)
        kept = [record for record in read_metrics(run) if record["update"] <= update] if update else []
        beside = run / f".unfinished_{_FILE}"  # so that a kill at any moment leaves the old lines or the new ones
        beside.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
        self._file = beside.replace(run / _FILE).open("a", encoding="utf-8")
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - options are refused without torch

        self._board: Any = SummaryWriter(str(run / "tensorboard"), purge_step=update + 1 if update else None)
        self._progress = Progress(100, f"% of {title}")

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.clear()
        self._file.close()
        self._board.close()

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write the values of one update."""
        self._file.write(json.dumps({"update": update, **values}) + "\n")
        self._file.flush()
        for name, value in values.items():
            self._board.add_scalar(name, value, update)

    def show(self, progress: float, text: str) -> None:
        """Show which part of the run is done, from 0 to 1, with a text behind it."""
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
