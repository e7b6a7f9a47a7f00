"""Imports point one way, heavy packages stay where they belong, and nothing executes text."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "webarena_gym").rglob("*.py"))

ALLOWED = {
    "errors": set(),
    "arguments": set(),
    "changes": set(),
    "progress": set(),
    "texts": set(),
    "answers": set(),
    "pages": {"errors"},
    "actions": {"errors", "texts"},
    "observation": {"errors", "pages", "texts"},
    "browsers": {"errors", "pages"},
    "sites": {"changes", "errors", "pages", "progress"},
    "servers": {"browsers", "errors", "observation", "pages", "sites"},
    "evaluators": {"answers", "changes", "errors", "observation", "pages", "servers"},
    "tasks": {"actions", "answers", "errors", "evaluators", "observation", "pages", "sites"},
    "venues": {"browsers", "changes", "errors", "evaluators", "pages", "servers", "sites", "tasks"},
    "episode": {
        "actions",
        "arguments",
        "browsers",
        "changes",
        "errors",
        "evaluators",
        "observation",
        "pages",
        "sites",
        "tasks",
        "texts",
        "venues",
    },
    "env": {
        "actions",
        "arguments",
        "browsers",
        "changes",
        "episode",
        "errors",
        "evaluators",
        "observation",
        "pages",
        "servers",
        "sites",
        "tasks",
        "venues",
    },
    "vector": {"arguments", "env", "episode", "errors"},
    "testing": {"browsers", "episode", "errors", "observation", "pages", "tasks", "venues"},
    "miniwob": {"browsers", "env", "episode", "errors", "observation", "pages", "tasks"},
    "tools": {
        "actions",
        "answers",
        "browsers",
        "changes",
        "env",
        "episode",
        "errors",
        "evaluators",
        "observation",
        "pages",
        "progress",
        "servers",
        "sites",
        "tasks",
        "venues",
    },
    "__main__": {"tools"},
}
"""The rooms of the top floor, and what each may import."""


def test_every_room_is_named_and_none_stands_on_itself():
    rooms = {unit(path) for path in FILES} - {"__init__"}
    assert rooms == ALLOWED.keys()
    list(TopologicalSorter(ALLOWED).static_order())  # raises CycleError


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def unit(path):
    part = path.relative_to(ROOT / "webarena_gym").parts[0]
    return part.removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    own = unit(path)
    if own == "__init__":
        return
    for name in imports(path):
        assert name.partition(".")[0] not in {"torch", "transformers", "agents", "benchmarks"}
        parts = name.split(".")
        if parts[0] == "webarena_gym" and len(parts) > 1 and parts[1] in ALLOWED and parts[1] != own:
            assert parts[1] in ALLOWED[own], f"{own} must not import {parts[1]}"


def test_sites_import_each_other_only_where_one_works_on_the_other_s_database():
    for path in FILES:
        parts = path.relative_to(ROOT / "webarena_gym").parts
        if parts[0] == "sites" and len(parts) > 2:
            others = {
                name.split(".")[2]
                for name in imports(path)
                if name.startswith("webarena_gym.sites.") and len(name.split(".")) > 2
            }
            allowed = {"kit", "layout", "common", parts[1]} | ({"shopping"} if parts[1] == "shopping_admin" else set())
            assert others <= allowed, path


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_executes_text_sleeps_or_reads_the_wall_clock(path):
    banned = {"eval", "exec", "compile", "__import__"}
    clocks = {
        ("time", "sleep"),
        ("time", "time"),
        ("datetime", "now"),
        ("datetime", "today"),
        ("date", "today"),
        ("random", "random"),
    }
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                assert node.func.id not in banned, f"{path}:{node.lineno}"
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                assert (node.func.value.id, node.func.attr) not in clocks, f"{path}:{node.lineno}"


def test_importing_the_package_stays_light():
    code = "import sys, webarena_gym; print([name for name in ('torch', 'lxml', 'jinja2', 'werkzeug', 'playwright') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_has_types():
    assert (ROOT / "webarena_gym" / "py.typed").exists()
