"""Name the test modules that `make test-lowest` runs: those that import neither the trainer nor the benchmarks, also not by way of
another module of the tests, and that need no browser."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAME_WITH_ALL_VERSIONS = (
    "answer_generators answers_generated application_archive application_description application_isolation application_limits "
    "application_record audit changes documents english flips gitlab_seed growth hard isolation layers layout linear_time "
    "lowest map_seed nasty_texts needed oracles places postgresql progress prose reddit_seed shopping_seed side_effects "
    "sightings sources task_faults tasks terms"
)
"""Modules that look at texts, tasks, generated rows, processes and archives, which no version of a dependency changes."""
OF_OTHER_PACKAGES = "agents", "benchmarks", "tests.tiny"
"""What needs packages that the lowest versions are not installed with."""


def named(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that statements of a module's top level import."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the modules that a test module imports, itself or by way of other modules of the tests."""
    found = set(named(ast.parse(path.read_text())))
    for name in list(found):
        other = (ROOT / name.replace(".", "/")).with_suffix(".py")
        if name.startswith("tests.") and other.is_file() and other != path:
            found |= imported(other)
    return frozenset(found)


def runs(path: Path) -> bool:
    """Whether the lowest versions of the env's own dependencies are enough for a test module."""
    foreign = any(name == other or name.startswith(f"{other}.") for name in imported(path) for other in OF_OTHER_PACKAGES)
    return not foreign and "needs.chromium" not in path.read_text()


def modules() -> list[str]:
    """Return the paths of the modules, relative to the project's folder."""
    left_out = {f"test_{name}" for name in SAME_WITH_ALL_VERSIONS.split()}
    found = [path for path in (ROOT / "tests").rglob("test_*.py") if path.stem not in left_out]
    found = [path for path in found if path.parent.name not in ("answers", "integrations") and runs(path)]
    return sorted(str(path.relative_to(ROOT)) for path in found)


if __name__ == "__main__":
    sys.stdout.write("\n".join(modules()) + "\n")
