"""The inputs of a report: runs with metrics, and policies with episodes, each by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.data.trajectories import Trajectory, read_trajectories
from agents.evaluation.report.logs import read_log
from agents.training.metrics import read_metrics
from webarena_gym.errors import ResultError


@dataclass
class Sources:
    """The metrics of each run, update by update, and the episodes of each policy."""

    runs: dict[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    policies: dict[str, Sequence[Trajectory]] = field(default_factory=dict)


def read_sources(inputs: Sequence[str]) -> Sources:
    """Read folders of runs and files of episodes, each given as PATH or NAME=PATH.

    Of a folder without metrics, the files of episodes and the folders of runs directly in it are read. Raises ValueError for a path
    with neither, for a file that holds no episodes, and for two runs or two policies with one name.
    """
    sources = Sources()
    for item in inputs:
        name, equals, named = item.partition("=")
        if equals and not Path(item).exists():
            _read(Path(named), name, sources, f"{name}/")
        else:
            _read(Path(item), "", sources, "")
    return sources


def _read(path: Path, name: str, sources: Sources, prefix: str) -> None:
    """Read one path; `prefix` is put before the names of what a folder holds."""
    if path.is_file():
        _add(sources.policies, name or path.stem.removeprefix("episodes_"), _episodes(path), path)
    elif metrics := read_metrics(path):
        _add(sources.runs, name or path.resolve().name, metrics, path)
    else:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else []
        runs = [run for run in sorted(path.iterdir()) if read_metrics(run)] if path.is_dir() else []
        if not files and not runs:
            raise ValueError(f"{path} is {'empty of what a report shows' if path.is_dir() else 'not there'}; {_EXPECTED}")
        for inner in [*files, *runs]:
            _read(inner, prefix + inner.stem.removeprefix("episodes_") if prefix else "", sources, prefix)


_EXPECTED = "expected a run's folder with metrics.jsonl, a .jsonl file of `agents.evaluate --save`, or a folder of such"


def _episodes(path: Path) -> list[Trajectory]:
    try:
        log = read_log(path)
        return read_trajectories(path) if log is None else log
    except ResultError as error:
        raise ValueError(str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} holds no episodes as `agents.evaluate --save` writes them: {error!r}") from error


def _add(known: dict[str, Any], name: str, value: Any, path: Path) -> None:
    if name in known:
        raise ValueError(f"{path} has the name {name!r}, as another has; name them apart: NAME={path}")
    known[name] = value
