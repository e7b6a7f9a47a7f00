"""The inputs of a report: runs with metrics and groups of rollouts, and policies with episodes, each by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory, read_trajectories
from agents.evaluation.report.logs import read_log
from agents.training.metrics import read_metrics
from agents.training.rollouts import CreditedGroup, group_files, read_groups
from webarena_gym.errors import ResultError
from webarena_gym.evaluation.results import EPISODES

MOST_GROUPS = 12
"""Groups of a run that a report shows by default."""


class RunGroup(NamedTuple):
    """A group of rollouts, and the run and the update that it was trained in."""

    run: str
    update: int
    group: CreditedGroup


@dataclass
class Sources:
    """The metrics of each run, update by update, the episodes of each policy, and groups of rollouts."""

    runs: dict[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    policies: dict[str, Sequence[Trajectory]] = field(default_factory=dict)
    groups: Sequence[RunGroup] = ()
    folders: dict[str, Path] = field(default_factory=dict)
    """Of runs, by name."""


def newest_groups(runs: Mapping[str, Path], most: int = MOST_GROUPS) -> list[RunGroup]:
    """Return the newest groups of each run, at most so many; those whose rewards differ come first, as others change nothing."""
    return [group for name, folder in runs.items() for group in _newest(name, folder, most)]


def _newest(name: str, folder: Path, most: int) -> list[RunGroup]:
    mixed: list[RunGroup] = []
    equal: list[RunGroup] = []
    for update, path in reversed(group_files(folder).items()):
        if len(mixed) >= most:
            break
        for group in read_groups(path):
            if group.trajectories:
                (equal if group.is_equal else mixed).append(RunGroup(name, update, group))
    return [*mixed, *equal][:most]


def read_sources(inputs: Sequence[str], *, groups: int = MOST_GROUPS) -> Sources:
    """Read folders of runs and files of episodes, each given as PATH or NAME=PATH.

    Of each run or search, at most `groups` groups of rollouts are read. Of a folder without metrics, the files of episodes and the folders of runs directly in it are read. Raises ValueError for a path
    with neither, for a file that holds no episodes, and for two runs or two policies with one name.
    """
    sources = Sources()
    for item in inputs:
        name, equals, named = item.partition("=")
        if equals and not Path(item).exists():
            _read(Path(named), name, sources, f"{name}/")
        else:
            _read(Path(item), "", sources, "")
    sources.groups = newest_groups(sources.folders, groups)
    return sources


def _read(path: Path, name: str, sources: Sources, prefix: str) -> None:
    """Read one path; `prefix` is put before the names of what a folder holds."""
    if path.is_file():
        _add(sources.policies, name or _name_of(path), _episodes(path), path)
    elif metrics := read_metrics(path):
        name = name or path.resolve().name
        _add(sources.runs, name, metrics, path)
        sources.folders[name] = path
    elif group_files(path):  # of a search, which has no updates
        _add(sources.folders, name or path.resolve().name, path, path)
    else:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else []
        runs = [run for run in sorted(path.iterdir()) if read_metrics(run) or group_files(run)] if path.is_dir() else []
        if not files and not runs:
            raise ValueError(f"{path} is {'empty of what a report shows' if path.is_dir() else 'not there'}; {_EXPECTED}")
        for inner in [*files, *runs]:
            _read(inner, prefix + _name_of(inner) if prefix else "", sources, prefix)


_EXPECTED = "expected a run's folder with metrics.jsonl, a .jsonl file of `agents.evaluate --save`, or a folder of such"


def _name_of(path: Path) -> str:
    """Return the name of what lies at a path: of the file that `webarena-gym evaluate` writes into each folder, that of the folder."""
    return path.resolve().parent.name if path.name == EPISODES else path.stem.removeprefix("episodes_")


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
