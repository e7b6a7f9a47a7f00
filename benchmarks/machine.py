"""Origin of a result (commit, machine, versions, command), and time and memory of processes, read from /proc on Linux."""

import json
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("webarena-gym", "gymnasium", "lxml", "jinja2", "playwright", "numpy", "torch", "transformers")


def origin(name: str) -> dict[str, Any]:
    """Return the provenance of a run of the benchmark with that name: commit, machine, versions and command."""
    return {
        "commit": COMMIT,
        "machine": f"{processor()}, {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in PACKAGES}},
        "command": " ".join([f"python -m benchmarks.{name}", *sys.argv[1:]]),
    }


def report(name: str, result: dict[str, Any], *, as_json: bool, out: Path | None = None) -> None:
    """Add the provenance to the result of a benchmark, print it, and write it to benchmarks/results/`out`. With `as_json` also as one JSON line."""
    result |= origin(name)
    for key, value in result.items():
        print(f"{key:<36}{json.dumps(value)}")
    if out:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / out.name).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print(json.dumps(result))


def processor() -> str:
    """Return the processor's model name."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def use_cores(chosen: list[int]) -> None:
    """Pin this process and its future children to these cores, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, chosen)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


_described = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)  # noqa: S607
COMMIT = _described.stdout.strip() or "unknown"
"""The commit that is measured, read at import because later commits may follow during a long run."""


def measure_time(work: Callable[[], Any]) -> dict[str, float]:
    """Call a function and return its duration in seconds of CPU time and of wall time."""
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    work()
    return {"cpu_s": time.process_time() - cpu_s, "wall_s": time.perf_counter() - wall_s}


def rounded_median(values: Iterable[float]) -> float | None:
    """Return the median, rounded to three decimals; None for no values."""
    known = list(values)
    return round(median(known), 3) if known else None


def log_progress(message: str) -> None:
    """Print the progress of a benchmark to the standard error."""
    print(message, file=sys.stderr, flush=True)


_PROC = Path("/proc")


class ResourceUse(NamedTuple):
    """Memory of a process and all its descendants. `mb` is the proportional set size: shared memory counts by its part."""

    mb: float
    files: int
    processes: int


def resources_of(pid: int) -> ResourceUse | None:
    """Return memory, files and processes of a process and its descendants; None without /proc."""
    if not (_PROC / "self/smaps_rollup").exists():
        return None
    tree = family(pid)
    mb, files = 0.0, 0
    for member in tree:
        with suppress(OSError):  # the process may end at any time
            lines = (_PROC / f"{member}/smaps_rollup").read_text().splitlines()
            mb += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
            files += len(os.listdir(_PROC / f"{member}/fd"))
    return ResourceUse(mb, files, len(tree))


def family(pid: int) -> list[int]:
    """Return a process and its descendants; only the process without /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in _PROC.iterdir() if _PROC.exists() else ():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                children[int(stat.rpartition(")")[2].split()[1])].append(int(entry.name))
    members = [pid]
    for member in members:  # grows during the iteration
        members += children[member]
    return members
