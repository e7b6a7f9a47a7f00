"""Command: change the templates at random, one change at a time, and count the changes that the audit and the oracles notice.

A mutation is one changed operator, number or SQL keyword in `webarena_gym/templates/`. It counts if it changes some drawn task. It is
noticed if a template cannot be drawn any more, if the audit reports a finding, or if an oracle disagrees. The test that compares the
bundled task files byte by byte is left out, because it notices every change, also a correct one.
"""

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import webarena_gym
from tests.oracles.framework import MOST_STEPS, disagreements
from tests.oracles.truths import ORACLES
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import WebArenaGymError
from webarena_gym.suite import draw, templates
from webarena_gym.tasks import Task
from webarena_gym.tools.audit import audit

_ROOT = Path(webarena_gym.__file__).parents[1]
_FOLDER = Path("webarena_gym/templates")
_WORLDS = (1002, 3101)
_DRAWS = 3  # tasks of a template in each world that are compared with those of the unchanged templates
_MOST_COMPARED = 20  # templates that use the changed code, drawn by lot, whose tasks are compared
_CHECKED = 10  # tasks of a changed template that are checked, in each world
_MOST_CHECKED = 4  # changed templates that are checked
_TIMEOUT = 900  # seconds of one mutation

_OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
}
_SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is",
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SQL = (
    (r"(?<= )DESC\b", "ASC"), (r" (<|>) ", r" \1= "), (r" <= ", " < "), (r" >= ", " > "), (r" = ", " != "), (r" != ", " = "), (r"\bmin\(", "max("),
    (r"\bmax\(", "min("), (r" AND ", " OR "), (r"\bNOT EXISTS\b", "EXISTS"), (r"\bNOT IN\b", "IN"), (r"\bIS NOT\b", "IS"),
    (r"(?<=LIMIT )1\b", "2"),
)  # fmt: skip


class Mutation(NamedTuple):
    """The replacement of `before`, at an offset in characters of a file, by `after`."""

    path: Path
    offset: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """Return the file's text with the replacement."""
        return text[: self.offset] + self.after + text[self.offset + len(self.before) :]


def mutations(root: Path) -> list[Mutation]:
    """Return all mutations of the templates under a repository's root, in a fixed order."""
    paths = sorted((root / _FOLDER).rglob("*.py")) + sorted((root / _FOLDER).rglob("*.toml"))
    found: list[Mutation] = []
    for path in paths:
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
        if path.name == "reader.py":
            continue  # the language of templates, which has tests of its own
        places = _python(text) if path.suffix == ".py" else _queries(text, 0)
        found += (Mutation(name, *place) for place in sorted(set(places)))
    return found


def _python(text: str) -> Iterator[tuple[int, str, str]]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(text)):
        if not hasattr(node, "lineno"):
            continue
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)  # type: ignore[attr-defined]
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _SYMBOLS:
                symbol = _SYMBOLS[type(operator)]
                between = offset(left.end_lineno or 0, left.end_col_offset or 0), offset(right.lineno, right.col_offset)
                place = text.find(symbol, *between)
                if place >= 0:
                    yield place, symbol, _OPERATORS[symbol]
            case ast.BoolOp(op=ast.And(), values=[first, second, *_]):
                place = text.find(
                    " and ", offset(first.end_lineno or 0, first.end_col_offset or 0), offset(second.lineno, second.col_offset)
                )
                if place >= 0:
                    yield place, " and ", " or "
            case ast.UnaryOp(op=ast.Not()):
                yield start, "not ", ""
            case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
                yield start, name, _CALLS[name]
            case ast.Constant(value=bool(value)):
                yield start, str(value), str(not value)
            case ast.Constant(value=int(value)):
                yield start, text[start:end], str(value + 1)
            case ast.Constant(value=str(value)) if "SELECT" in value or "ORDER BY" in value:
                yield from _queries(text[start:end], start)


def _queries(text: str, start: int) -> Iterator[tuple[int, str, str]]:
    sql = re.finditer(r"[^\n]*\b(?:SELECT|FROM|WHERE|JOIN|ORDER BY|HAVING)\b[^\n]*", text)
    for line in sql:
        for pattern, after in _SQL:
            for match in re.finditer(pattern, line[0]):
                yield start + line.start() + match.start(), match[0], match.expand(after)


def _tasks(count: int, names: list[str]) -> dict[str, list[Task] | str]:
    """Return tasks of templates in the worlds, or the error of drawing them."""
    drawn: dict[str, list[Task] | str] = {}
    for name in names:
        try:
            drawn[name] = [task for seed in _WORLDS for task in draw([name], world_seed=seed, count=count)]
        except WebArenaGymError as error:
            drawn[name] = str(error)
    return drawn


class Usage:
    """The code of `webarena_gym/templates/` that runs while a template is drawn: files and lines where functions begin."""

    def __init__(self) -> None:
        self.folder = str(_ROOT / _FOLDER)
        self.functions: set[tuple[str, int]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a function, as `sys.setprofile` calls it."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self.folder):
            self.functions.add((code.co_filename[len(str(_ROOT)) + 1 :], code.co_firstlineno))


def _records(names: Iterable[str], usage: Mapping[str, Usage] | None = None) -> dict[str, Any]:
    """Return what the drawn tasks of templates ask, by template; or the error of drawing them."""
    records: dict[str, Any] = {}
    for name in names:
        sys.setprofile(usage[name] if usage else None)
        tasks = _tasks(_DRAWS, [name])[name]
        sys.setprofile(None)
        records[name] = tasks if isinstance(tasks, str) else [_asked(task) for task in tasks]
    return records


def _affected(mutation: Mutation, text: str, usage: Mapping[str, Usage]) -> list[str]:
    """Return the templates whose draws run the function that a mutation changes; all of the folder if it is in no function."""
    line = text.count("\n", 0, mutation.offset) + 1
    if mutation.path.suffix == ".toml":
        section = re.findall(r"^\[([a-z_0-9]+)", text[: mutation.offset], re.MULTILINE)[-1:]
        users = [
            key
            for key, entry in tomllib.loads(text).items()
            if isinstance(entry, dict) and section[0] in map(str, entry.values())
        ]
        return [name for name in usage if name.partition(".")[2] in (*section, *users)]
    functions = [
        node.decorator_list[0].lineno if node.decorator_list else node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if functions:
        place = (str(mutation.path), max(functions))
        return [name for name in usage if place in usage[name].functions]
    files = {str(mutation.path)}
    return [name for name in usage if files & {path for path, _ in usage[name].functions}]


def _asked(task: Task) -> dict[str, Any]:
    """Return what a task asks and rewards, and the world that it begins in."""
    record = task.to_json()
    return {key: record.get(key) for key in ("intent", "eval", "setup", "start_url")}


def judge(expected: dict[str, Any]) -> dict[str, Any]:
    """Return what notices a change of the templates of this process: the changed templates, findings of the audit and of oracles."""
    try:
        present = _records(expected)
    except Exception as error:  # noqa: BLE001 - whatever a mutation breaks is noticed
        return {"changed": ["all"], "audit": f"{type(error).__name__}: {error}", "oracle": ""}
    changed = [name for name, tasks in present.items() if tasks != expected[name]]
    result: dict[str, Any] = {"changed": changed, "audit": "", "oracle": ""}
    for name in sorted(changed, key=lambda name: name not in ORACLES)[:_MOST_CHECKED]:
        tasks = _tasks(_CHECKED, [name])[name]
        if isinstance(tasks, str):
            return result | {"audit": f"{name}: {tasks}"}
        if not tasks and expected[name]:
            return result | {"audit": f"{name}: nothing is drawn"}
        if name in ORACLES and not result["oracle"]:
            with WebArenaLite(tasks=tasks, max_steps=MOST_STEPS) as env:
                points = (point for task in tasks for point in disagreements(env, task, ORACLES[name]))
                result["oracle"] = next((f"{name}: {point}" for point in points), "")
        if not result["audit"]:
            findings = audit(tasks, side_effects=False)
            result["audit"] = "" if findings.is_clean else " ".join(findings.lines())[:300]
    return result


def main(arguments: list[str] | None = None) -> int:
    """Print a line a mutation, and the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.mutations", description=__doc__)
    parser.add_argument(
        "--count", type=int, default=100, metavar="N", help="mutations that change a task (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of their choice (default: %(default)s)")
    parser.add_argument("--judge", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.judge:
        print(json.dumps(judge(json.loads(Path(options.judge).read_text(encoding="utf-8")))))
        return 0
    chosen = mutations(_ROOT)
    random.Random(options.seed).shuffle(chosen)
    noticed = {"audit": 0, "oracle": 0, "either": 0}
    counted = without = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("webarena_gym", "tests"):
            shutil.copytree(_ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        usage = {name: Usage() for name in templates()}
        records = _records(usage, usage)
        expected = root / "expected.json"
        for mutation in chosen:
            if counted == options.count:
                break
            path = root / mutation.path
            original = path.read_text(encoding="utf-8")
            affected = _affected(mutation, original, usage)
            compared = random.Random(options.seed).sample(affected, min(len(affected), _MOST_COMPARED))
            expected.write_text(json.dumps({name: records[name] for name in compared}), encoding="utf-8")
            path.write_text(mutation.apply(original), encoding="utf-8")
            try:
                result = _judge(root, expected)
            finally:
                path.write_text(original, encoding="utf-8")
            if not result["changed"]:
                without += 1
                continue
            counted += 1
            for name in ("audit", "oracle"):
                noticed[name] += bool(result[name])
            noticed["either"] += bool(result["audit"] or result["oracle"])
            line = original.count("\n", 0, mutation.offset) + 1
            verdict = "noticed" if result["audit"] or result["oracle"] else "ESCAPED"
            print(
                f"{verdict} {mutation.path}:{line}: {mutation.before!r} -> {mutation.after!r} {json.dumps(result)[:400]}",
                flush=True,
            )
    print(
        f"{counted} mutations: {noticed['either']} noticed, {noticed['audit']} by the audit, {noticed['oracle']} by an oracle; {without} changed no task"
    )
    return 0


def _judge(root: Path, expected: Path) -> dict[str, Any]:
    command = [sys.executable, "-B", "-m", "tests.oracles.mutations", "--judge", str(expected)]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env={"PYTHONPATH": str(root), "PATH": ""},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"changed": ["all"], "audit": f"stopped after {_TIMEOUT} s", "oracle": ""}
    if done.returncode:
        return {"changed": ["all"], "audit": done.stderr.strip().splitlines()[-1], "oracle": ""}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    sys.exit(main())
