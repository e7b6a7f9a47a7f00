"""Imports point one way, heavy packages stay where they belong, and nothing executes text."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "webarena_gym").rglob("*.py"))

ALLOWED = {
    "errors": set(),
    "page": set(),
    "traffic": set(),
    "changes": set(),
    "texts": set(),
    "actions": {"errors", "texts"},
    "observation": {"errors", "page", "texts"},
    "history": {"actions", "texts"},
    "answers": set(),
    "interrupts": set(),
    "differential": {"actions", "browsers", "env", "observation", "page", "processes", "sites", "tasks"},
    "processes": set(),
    "evaluators": {"errors", "interrupts", "page", "traffic", "changes", "answers", "observation", "servers"},
    "judges": {"errors", "servers"},
    "network": {"errors"},
    "progress": set(),
    "sites": {"errors", "changes", "network", "progress"},
    "browsers": {"errors", "page", "traffic", "network"},
    "tasks": {"errors", "page", "actions", "observation", "answers", "sites"},
    "arguments": set(),
    "spaces": {"actions", "texts"},
    "presentation": {"arguments", "page", "actions", "observation", "history", "spaces", "texts"},
    "episode": {
        "errors",
        "acting",
        "actions",
        "browsers",
        "history",
        "observation",
        "presentation",
        "spaces",
        "tasks",
        "texts",
    },
    "env": {
        "arguments",
        "spaces",
        "presentation",
        "episode",
        "servers",
        "venues",
        "reference",
        "changes",
        "network",
        "errors",
        "page",
        "actions",
        "observation",
        "history",
        "evaluators",
        "sites",
        "browsers",
        "tasks",
    },
    "vector": {"errors", "arguments", "spaces", "env"},
    "acting": {"errors", "actions", "browsers"},
    "reference": {
        "errors",
        "acting",
        "actions",
        "browsers",
        "changes",
        "evaluators",
        "observation",
        "sites",
        "tasks",
        "venues",
    },
    "venues": {"errors", "changes", "evaluators", "network", "servers", "sites", "browsers", "tasks"},
    "servers": {"errors", "page", "observation", "sites", "browsers", "tasks"},
    "miniwob": {"errors", "actions", "history", "network", "observation", "browsers", "tasks", "env"},
    "doctor": {"errors", "network", "sites", "browsers", "servers"},
    "audit": {
        "errors",
        "page",
        "processes",
        "actions",
        "answers",
        "observation",
        "browsers",
        "changes",
        "evaluators",
        "network",
        "reference",
        "sites",
        "tasks",
        "venues",
        "env",
    },
    "serve": {"network", "sites"},
    "candidates": {"actions", "env", "observation", "page"},
    "integrations": {"actions", "browsers", "env", "history", "network", "observation", "sites", "tasks"},
    "evaluation": {
        "actions",
        "arena",
        "arguments",
        "env",
        "errors",
        "history",
        "observation",
        "progress",
        "servers",
        "sites",
        "tasks",
        "vector",
    },
    "__main__": {"cli"},
    "cli": {"differential", "errors", "progress", "actions", "sites", "tasks", "env", "audit", "serve", "doctor", "evaluation"},
}


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
