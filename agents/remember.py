"""Give a pointing network a memory of steps: `python -m agents.remember --model RUN --out FOLDER`.

The network plays training tasks, or `--episodes` names files of `agents.evaluate --save`. The steps of successes are kept, and the
network learns to read them. The folder is then used like any run: `python -m agents.train_rl --model FOLDER`.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Trajectory, read_trajectories
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.settings import build, parse_settings
from agents.training.settings import ReadSettings
from webarena_gym import console

_SPENT = "remembered.json"


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """The network, and the source of its memory."""

    model: Path
    """a run of a pointing network, or its folder"""
    out: Path
    """folder of the network with memory"""
    episodes: tuple[Path, ...] = ()
    """files of agents.evaluate --save; by default the network plays"""
    worlds: tuple[int, ...] = (41, 42, 43)
    """seeds of the worlds in which it plays"""
    per_template: int = 1
    """tasks of each template in each world"""
    templates: tuple[str, ...] = ()
    """templates that it plays; by default those of the training split"""
    max_steps: int = 15
    """steps of an episode that it plays"""
    temperature: float = 1.0
    """of its sampling"""
    seed: int = 0
    """of the episodes and of the read"""


@dataclass(frozen=True, kw_only=True)
class RememberSettings:
    """Fill a memory with steps of successful episodes, and clone its read."""

    source: SourceSettings
    read: ReadSettings = field(default_factory=ReadSettings)


def make_settings(**options: Any) -> RememberSettings:
    """Return settings from options by name. Raises ValueError for others."""
    return build(RememberSettings, **options)


def remember(settings: RememberSettings) -> dict[str, float]:
    """Write the network with its memory, and return what that took: episodes, env steps, CPU minutes, and the size of the memory.

    What was written before is only read. Raises ValueError for a model that is no pointing network.
    """
    own = settings.source
    if (own.out / _SPENT).is_file():
        known: dict[str, float] = json.loads((own.out / _SPENT).read_text(encoding="utf-8"))
        return known
    from agents.training.remembering import fill  # noqa: PLC0415 - options are refused without torch

    started_s = time.process_time()
    played = [item for file in own.episodes for item in read_trajectories(file)] if own.episodes else _play(own)
    spent = {
        "episodes": len(played),
        "env_steps": 0 if own.episodes else sum(len(item.steps) for item in played),
        **fill(own.model, own.out, played, settings.read, own.seed),
        "cpu_minutes": round((time.process_time() - started_s) / 60, 3),
    }
    (own.out / _SPENT).write_text(json.dumps(spent), encoding="utf-8")
    return spent


def _play(own: SourceSettings) -> list[Trajectory]:
    from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

    tasks = draw_tasks(own.worlds, own.per_template, templates=own.templates)
    changes = {name: getattr(own, name) for name in ("max_steps", "temperature", "seed")}
    options = EvaluationSettings(**{**policy_defaults(str(own.model)), **changes, "policy": str(own.model), "threads": 1})
    return evaluate_policy(options, tasks, quiet=True).trajectories


def main(arguments: Sequence[str]) -> None:
    """Remember as the command line says."""
    spent = remember(parse_settings(RememberSettings, arguments, program="agents.remember"))
    print(", ".join(f"{name} {value:g}" for name, value in spent.items()))


if __name__ == "__main__":
    console.run("python -m agents.remember", main)
