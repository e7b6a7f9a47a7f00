"""A training run: its folder, its clock, and the loop of its updates."""

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.models.checkpoints import Saveable, Stateful, open_run, save_checkpoint
from agents.settings import RunSettings
from agents.training.distributed import SINGLE_RANK, Ranks
from agents.training.metrics import Metrics

return_free_memory: Callable[[int], int] = getattr(ctypes.CDLL(None), "malloc_trim", int)
"""Returns freed memory to the system, except a number of bytes. glibc would keep it between blocks in use, and reuse little of it for
passes of other sizes. Other C libraries lack the function, and nothing is done."""


class Run:
    """A training run in a folder, resumed from the newest checkpoint if there is one.

    `update` is the number of finished updates. `record` is a dict that is saved with each checkpoint: the duration of all updates in
    seconds, the CPU time of this process in them in minutes, and the entries that a trainer needs to resume exactly, whose initial values are
    in `start_record`. All ranks call the methods together.

    Raises:
        ValueError: Another process trains in the folder, or the run was started with other settings.

    """

    def __init__(self, settings: RunSettings, ranks: Ranks = SINGLE_RANK, **start_record: object) -> None:
        self.settings, self.ranks = settings, ranks
        self.checkpoint = ranks.share(open_run(settings, settings.out) if ranks.is_main else None)
        self.update = self.checkpoint.update if self.checkpoint else 0
        self.record: dict[str, Any] = {"elapsed_s": 0.0, **start_record}
        if self.checkpoint:
            self.record = self.checkpoint.progress()

    @property
    def progress(self) -> float:
        """The fraction of the training that is done: 0 at the start, 1 or more at the end."""
        usage = {"cpu_minutes": self.record.get("cpu_minutes", 0.0), **self.record.get("spent", {})}
        return self.settings.progress(self.update, self.record["elapsed_s"], usage)

    def save(self, model: Saveable, tokenizer: Saveable, trainer: Stateful, agent: dict[str, Any]) -> Path:
        """Write a checkpoint, and return its folder. Other ranks than rank 0 only return the run's folder."""
        if not self.ranks.is_main:
            return self.settings.out
        return save_checkpoint(self.settings.out, self.update, model, tokenizer, trainer, self.record, agent).path

    def train(
        self, title: str, take_update: Callable[[float], dict[str, float]], save: Callable[[], Path], *,
        describe: Callable[[dict[str, float], float], str],
    ) -> Path:  # fmt: skip
        """Take updates until the training is finished. Return the folder of the last checkpoint; other ranks than 0 return the run's folder.

        Args:
            title: Title of the progress bar.
            take_update: Makes one update, given the fraction of the training that is done, and returns its metrics, which only rank 0 logs.
            save: Writes a checkpoint by calling `Run.save` with the trainer's state.
            describe: Returns the text of the progress bar from the metrics of an update and its duration in seconds.

        """
        out, every = self.settings.out, self.settings.save_every
        updates = self.settings.planned_updates
        with Metrics(out, self.update, title, updates=updates, is_silent=not self.ranks.is_main) as metrics:
            while (progress := self.progress) < 1:
                start_s, start_cpu_s = time.perf_counter(), time.process_time()
                values = take_update(progress)
                return_free_memory(0)
                update_s = self.ranks.share(time.perf_counter() - start_s)
                self.update += 1
                self.record["elapsed_s"] += update_s
                cpu_minutes = self.record.get("cpu_minutes", 0.0) + (time.process_time() - start_cpu_s) / 60
                self.record["cpu_minutes"] = cpu_minutes
                if self.ranks.is_main:
                    metrics.log(self.update, {"cpu_minutes": cpu_minutes} | values | {"elapsed_s": self.record["elapsed_s"]})
                    metrics.show_progress(self.progress, describe(values, update_s))
                if self.update % every == 0 and self.progress < 1:
                    save()
        return save()
