"""The provenance of a result: commit, machine, versions, command."""

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("webarena-gym", "gymnasium", "lxml", "jinja2", "playwright", "numpy", "torch", "transformers")


def origin(name: str) -> dict[str, Any]:
    """Return what identifies a run of the benchmark with that name."""
    return {
        "commit": COMMIT,
        "machine": f"{processor()}, {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in PACKAGES}},
        "command": " ".join([f"python -m benchmarks.{name}", *sys.argv[1:]]),
    }


def _commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout.strip() or "unknown"


def processor() -> str:
    """Return the processor's model name."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def use_cores(chosen: list[int]) -> None:
    """Keep this process, and all that it starts, on these cores, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, chosen)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


COMMIT = _commit()
"""the commit that is measured: asked when the code is loaded, as a long run may see others made"""
