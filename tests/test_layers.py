"""Imports point one way, heavy packages stay where they belong, and nothing executes text."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from webarena_gym.sites.catalogue import SITES

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "webarena_gym").rglob("*.py"))

ALLOWED = {
    line.partition(":")[0]: set(line.partition(":")[2].split())
    for line in """\
errors:
arguments:
changes:
console: arguments errors
processes:
texts:
answers:
pages: errors
actions: errors texts
observation: actions errors pages texts
browsers: actions errors pages
sites: changes console errors pages
servers: browsers errors observation pages sites
applications: arguments changes errors pages sites
evaluators: answers changes errors observation pages servers
tasks: actions answers arguments errors evaluators observation pages sites
templates: actions answers evaluators observation pages sites tasks
backends: actions applications browsers changes errors evaluators observation pages servers sites tasks
spaces: actions texts
options: actions applications arguments errors evaluators observation servers sites tasks
env: actions applications arguments backends browsers changes errors evaluators observation options pages servers spaces tasks texts
recording: errors
vector: arguments env errors options processes spaces
testing: backends browsers env errors observation pages tasks
miniwob: arguments backends browsers env errors options pages tasks
tools: actions applications answers arguments backends browsers changes console env errors evaluation evaluators observation options pages
  processes recording server servers sites tasks
server: actions arguments browsers env errors evaluators observation options pages sites tasks texts
candidates: actions env observation pages
integrations: actions browsers env errors observation options pages server sites tasks
evaluation: actions arguments console env errors evaluators observation options recording server servers sites tasks vector
__main__: tools
""".replace("\n  ", " ").splitlines()
}
"""The rooms of the top floor, and what each may import."""


def test_every_room_is_named_and_none_stands_on_itself():
    rooms = {unit(path) for path in FILES} - {"__init__"}
    assert rooms == ALLOWED.keys()
    list(TopologicalSorter(ALLOWED).static_order())  # raises CycleError


def unit(path):
    part = path.relative_to(ROOT / "webarena_gym").parts[0]
    return part.removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    own = unit(path)
    if own == "__init__":
        return
    for name in modules_imported(path):
        assert name.partition(".")[0] not in {"torch", "transformers", "agents", "benchmarks"}
        parts = name.split(".")
        if parts[0] == "webarena_gym" and len(parts) > 1 and parts[1] in ALLOWED and parts[1] != own:
            assert parts[1] in ALLOWED[own], f"{own} must not import {parts[1]}"


SHARED = {
    "country": set(),
    "prose": {"country"},
    "layout": {"country"},
    "kit": {"country", "layout"},
    "catalogue": set(),
    "changes": {"catalogue"},
    "planting": {"catalogue"},
    "world": {"catalogue", "changes", "planting", "country", "kit", "layout"},
}
"""What each shared part of `sites` may import of the others. A site may import the first four."""

OF_SITES = {name: {"country", "prose", "layout", "kit"} for name in SITES} | {
    "shopping_admin": {"country", "prose", "layout", "kit", "shopping"},  # works on the shop's database
    "homepage": {"country", "prose", "layout", "kit", "catalogue"},  # leads to all sites
}


@pytest.mark.parametrize(
    "path", [path for path in FILES if unit(path) == "sites"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_imports_inside_of_sites_point_one_way(path):
    own = path.relative_to(ROOT / "webarena_gym" / "sites").parts[0].removesuffix(".py")
    for name in modules_imported(path):
        parts = name.split(".")
        if parts[:2] == ["webarena_gym", "sites"] and len(parts) > 2 and parts[2] != own:
            assert parts[2] in (SHARED | OF_SITES)[own], f"{own} must not import {parts[2]}"


def modules_imported(path, at_the_top=False):
    """The modules of the package that a file imports, with a package's `__init__` where something is imported from it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_the_top else ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def module(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module(path): path for path in FILES}


def test_no_modules_import_each_other_in_a_circle():
    graph = {name: set(modules_imported(path, at_the_top=True)) & MODULES.keys() for name, path in MODULES.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")
    assert len(order) == len(FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_executes_text_sleeps_or_reads_the_wall_clock(path):
    banned = {"eval", "exec", "compile", "__import__"}
    clocks = {"time.sleep", "time.time", "datetime.now", "datetime.today", "date.today", "random.random"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                assert node.func.id not in banned, f"{path}:{node.lineno}"
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                assert f"{node.func.value.id}.{node.func.attr}" not in clocks, f"{path}:{node.lineno}"


def test_the_package_has_types():
    assert (ROOT / "webarena_gym" / "py.typed").exists()


CEILINGS = {"webarena_gym": (257, 432), "agents": (96, 208), "benchmarks": (32, 44)}
"""Files and classes, at most. These numbers only ever fall; a ratio to the lines would rise with every line that goes."""
_QUESTION = re.compile(r"(What|Which|Whether|Who|How|Where|When)\b")


@pytest.mark.parametrize("package", CEILINGS)
def test_files_and_classes_are_few(package):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")]
    classes = sum(isinstance(node, ast.ClassDef) for text in texts for node in ast.walk(ast.parse(text)))
    files, most = CEILINGS[package]
    assert len(texts) <= files
    assert classes <= most


@pytest.mark.parametrize("package", CEILINGS)
def test_docstrings_begin_with_a_noun_or_a_verb(package):
    asked = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value.value[:40]!r}"
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if _QUESTION.match(node.value.value.strip())
    ]
    assert asked == []
