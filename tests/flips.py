"""Command: flip random operators of the packages, one at a time, and count the flips that the tests of the changed modules notice.

A flip is one changed comparison, `and` or `or`, arithmetic operator, or removed `not`. The rooms of `webarena_gym` and `agents` take turns,
in random order. The tests of a module are its doctests, the tests of its name, those that import it, and those of its room, in this order.
A flip is noticed if one of them fails within the limit of CPU time and passes without the flip. It is undecided if the time runs out.
"""

import argparse
import ast
import gc
import importlib
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, cycle, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("webarena_gym", "agents")

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
}  # fmt: skip
_FAILED = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)  # interrupted: an error in the collection
_DECIDED = (*_FAILED, pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_WALL = 4  # times the CPU seconds of a limit, the seconds after which a run is stopped
_TEXTS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)


class Flip(NamedTuple):
    """The replacement of an operator, at an offset in characters of a file, by another one."""

    path: Path  # relative to the root
    offset: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """Return the file's text with the flip."""
        return text[: self.offset] + self.after + text[self.offset + len(self.before) :]


class _Source(NamedTuple):
    """A module's text, with offsets of its lines."""

    path: Path
    text: str
    starts: list[int]

    def start(self, node: ast.expr) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        return self._offset(node.end_lineno or 0, node.end_col_offset or 0)

    def _offset(self, line: int, column: int) -> int:
        start = self.starts[line - 1]
        return start + len(self.text[start : self.starts[line]].encode()[:column].decode())

    def between(self, left: ast.expr, right: ast.expr, before: str, after: str) -> Iterator[Flip]:
        """Yield the flip of the operator between two operands, unless a comment hides it."""
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), self.text[self.end(left) : self.start(right)])
        words = r"\s+".join(before.split())
        pattern = rf"\b{words}\b" if before[0].isalpha() else rf"(?<![<>=!*/]){re.escape(before)}(?![=*/])"
        if match := re.search(pattern, gap):
            yield Flip(self.path, self.end(left) + match.start(), match[0], after)

    def flips_of(self, node: ast.AST) -> Iterator[Flip]:
        """Yield the flips of one expression."""
        match node:
            case ast.Compare(left=ast.Name(id="__name__")):
                return
            case ast.Compare():
                for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                    yield from self.between(left, right, *_COMPARISONS[type(operator)])
            case ast.BoolOp():
                before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in pairwise(node.values):
                    yield from self.between(left, right, before, after)
            case ast.BinOp() if type(node.op) in _ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
                yield from self.between(node.left, node.right, *_ARITHMETIC[type(node.op)])
            case ast.UnaryOp(op=ast.Not()):
                before = self.text[self.start(node) : self.start(node.operand)].partition("(")[0]
                yield Flip(self.path, self.start(node), before, "")


def _is_text(node: ast.expr) -> bool:
    """Return True for texts and lists, which operators other than + mostly cannot take."""
    return isinstance(node, _TEXTS) and not isinstance(getattr(node, "value", None), int | float)


def flips(path: Path, text: str) -> list[Flip]:
    """Return the flips of a module, in the order of its text.

    >>> [flip.apply("a < b and not c") for flip in flips(Path("m.py"), "a < b and not c")]
    ['a <= b and not c', 'a < b or not c', 'a < b and c']
    """
    source = _Source(path, text, [0, *accumulate(map(len, text.splitlines(keepends=True)))])
    nodes = list(ast.walk(ast.parse(text)))
    # Python 3.11 has no positions in f-strings.
    in_strings = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    found = {flip for node in nodes if id(node) not in in_strings for flip in source.flips_of(node)}
    return sorted(found, key=lambda flip: flip.offset)


def room_of(path: Path) -> str:
    """Return the room of a module: its package and the folder or module below it."""
    return "/".join(path.with_suffix("").parts[:2])


def draw(root: Path, seed: int) -> Iterator[Flip]:
    """Yield all flips in random order: one of each room in turn, until there is none left."""
    rng = random.Random(seed)
    rooms: dict[str, list[Flip]] = defaultdict(list)
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            path = file.relative_to(root)
            rooms[room_of(path)] += flips(path, file.read_text(encoding="utf-8"))
    names = sorted(name for name in rooms if rooms[name])
    rng.shuffle(names)
    for name in names:
        rng.shuffle(rooms[name])
    for name in cycle(names):
        if rooms[name]:
            yield rooms[name].pop()
        elif not any(rooms.values()):
            return


def files_of_name(path: Path, root: Path = ROOT) -> list[Path]:
    """Return the test files of a module's name: at its path in `tests`, or directly there with the names of folders before its own.

    >>> [str(test) for test in files_of_name(Path("webarena_gym/answers/judge.py"))]
    ['tests/answers/test_judge.py']
    >>> [str(test) for test in files_of_name(Path("webarena_gym/__init__.py"))]
    ['tests/test_webarena_gym.py']
    """
    parts = path.with_suffix("").parts
    parts = parts[:-1] if parts[-1] in ("__init__", "__main__") else parts
    parts = parts[1:] or parts
    names = ["/".join((*parts[:-1], f"test_{parts[-1]}.py"))]
    names += [f"test_{'_'.join(parts[first:])}.py" for first in range(len(parts))]
    names += [f"{parts[-1]}/test_{parts[-1]}.py"]
    return [Path("tests", name) for name in dict.fromkeys(names) if (root / "tests" / name).is_file()]


@cache
def imports(test: Path) -> frozenset[str]:
    """Return the names of modules, and of what is imported from them, in a test file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def files_that_import(path: Path, root: Path = ROOT) -> list[Path]:
    """Return the test files that import a module, those with the fewest other imports of the packages first."""
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    tests = [
        test
        for test in sorted((root / "tests").rglob("test_*.py"))
        if "integrations" not in test.parts and module in imports(test)
    ]
    tests.sort(key=lambda test: sum(name.startswith(PACKAGES) for name in imports(test)))
    return [test.relative_to(root) for test in tests]


def files_of(path: Path, root: Path = ROOT) -> list[Path]:
    """Return the test files of a module: of its name, that import it, and of the folders around it."""
    folders = [folder for folder in path.parents if len(folder.parts) > 1]
    around = [test for folder in folders for test in files_of_name(folder.with_suffix(".py"), root)]
    return list(dict.fromkeys([*files_of_name(path, root), *files_that_import(path, root), *around]))


class Run(NamedTuple):
    """The result of a test file: the exit status of pytest, None if it was stopped, and the first test that failed."""

    status: int | None
    failed: str


def _run_here(root: Path, test: str, limit_s: float, log: Path) -> int:
    """Run a test file in this process, with its output in a file, and return pytest's exit status."""
    os.setsid()
    gc.freeze()  # pytest collects garbage at its end, which would copy all memory that this process shares with its parent
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = sys.stderr = os.fdopen(output, "w")
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, round(limit_s)), resource.RLIM_INFINITY))
    os.chdir(root)
    os.environ["PYTHONPATH"] = sys.path[0] = str(root)
    for name in [name for name in sys.modules if name.partition(".")[0] in (*PACKAGES, "benchmarks", "tests")]:
        del sys.modules[name]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
    status = pytest.main(
        [*options, "-W", "ignore::pytest.PytestAssertRewriteWarning", test]
    )  # of imported packages with plugins
    sys.stdout.flush()
    return status


def run_tests(root: Path, test: str, limit_s: float) -> Run:
    """Run one test file, or one test, until its first failure or its limit in CPU seconds.

    It runs in a fork of this process, which has imported large packages, and imports the modules of the project from `root`.
    """
    log = root / "flips.log"
    process = os.fork()
    if not process:
        status = pytest.ExitCode.INTERNAL_ERROR
        try:
            status = _run_here(root, test, limit_s, log)
        finally:
            os._exit(status)
    end = time.monotonic() + _WALL * limit_s
    while not (ended := os.wait4(process, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.2)
    if not ended[0]:
        os.killpg(process, signal.SIGKILL)
        os.wait4(process, 0)
        return Run(None, "")
    if os.WIFSIGNALED(ended[1]):
        return Run(None, "")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+\.py(?:::.+?)?)(?: - | \(|$)", log.read_text(errors="replace"), re.MULTILINE)
    return Run(os.WEXITSTATUS(ended[1]), failed[1] if failed else "")


def replace_text(file: Path, text: str) -> None:
    """Write a module, and remove its bytecode, which Python may take for that of the new text."""
    file.write_text(text, encoding="utf-8")
    for cached in file.parent.glob(f"__pycache__/{file.stem}.*"):
        cached.unlink()


def cpu_s() -> float:
    """Return the CPU seconds of all ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def try_flip(root: Path, flip: Flip, limit_s: float) -> tuple[str, str]:
    """Return a verdict, "noticed", "survived" or "undecided", and the test that noticed the flip or the number of files that did not."""
    file = root / flip.path
    original = file.read_text(encoding="utf-8")
    end = cpu_s() + limit_s
    tests = [str(test) for test in files_of(flip.path, root)]
    tests = [str(flip.path), *tests] if ">>> " in original else tests
    for number, test in enumerate(tests):
        if (left := end - cpu_s()) <= 0:
            return "undecided", f"{number} of {len(tests)} test files"
        replace_text(file, flip.apply(original))
        try:
            result = run_tests(root, test, left)
        finally:
            replace_text(file, original)
        if result.status not in _DECIDED:
            return "undecided", f"{number} of {len(tests)} test files"
        if result.status in _FAILED:
            status = run_tests(root, result.failed or test, 4 * limit_s).status
            if (
                status == pytest.ExitCode.USAGE_ERROR
            ):  # the printed name of the test is cut off, as its parameters contain " - " or " ("
                status = run_tests(root, test, 4 * limit_s).status
            if status == 0:
                return "noticed", result.failed or test
    return "survived", f"{len(tests)} test files"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each flip, and the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.flips", description=__doc__)
    parser.add_argument("--count", type=int, default=50, metavar="N", help="number of flips (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of their choice (default: %(default)s)")
    parser.add_argument(
        "--limit-s", type=float, default=60.0, metavar="S", help="CPU seconds of one flip (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    for package in ("gymnasium", "lxml.html", "jinja2", "torch", "transformers", "werkzeug"):
        importlib.import_module(package)
    counts = dict.fromkeys(("noticed", "survived", "undecided"), 0)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        shutil.copytree(ROOT, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", ".mypy_cache", ".venv", "runs"))
        for flip, _ in zip(draw(root, options.seed), range(options.count), strict=False):
            line = (root / flip.path).read_text(encoding="utf-8").count("\n", 0, flip.offset) + 1
            verdict, reason = try_flip(root, flip, options.limit_s)
            counts[verdict] += 1
            sys.stdout.write(f"{verdict} {flip.path}:{line}: {flip.before!r} -> {flip.after!r} ({reason})\n")
            sys.stdout.flush()
    sys.stdout.write(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
