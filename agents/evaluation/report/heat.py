"""Success by template over the updates of a run, from the rollouts that it has kept."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from agents.evaluation.report.results import task_of
from agents.training.rollouts import group_files, read_groups

Counts = dict[str, dict[int, tuple[int, int]]]
"""By template and update: how many rollouts succeeded, of how many."""


def successes(folders: Mapping[str, Path]) -> dict[str, Counts]:
    """Return the counts of each run that has kept rollouts."""
    found: dict[str, Counts] = {}
    for name, folder in folders.items():
        counts: Counts = defaultdict(dict)
        for update, path in group_files(folder).items():
            for template, count in _counts(path, path.stat().st_mtime_ns).items():
                counts[template][update] = count
        if counts:
            found[name] = dict(sorted(counts.items()))
    return found


@lru_cache(maxsize=4096)
def _counts(path: Path, changed_ns: int) -> dict[str, tuple[int, int]]:  # noqa: ARG001 - a file that was written again is another
    solved: dict[str, int] = defaultdict(int)
    played: dict[str, int] = defaultdict(int)
    for group in read_groups(path):
        for trajectory in group.trajectories:
            template = task_of(trajectory).template or trajectory.task_id
            solved[template] += trajectory.reward == 1
            played[template] += 1
    return {template: (solved[template], count) for template, count in played.items()}
