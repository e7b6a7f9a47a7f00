"""Imports point one way, heavy packages stay where they belong, nothing executes text, and names are the terms of CONTRIBUTING."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from webarena_gym import logins, tasks
from webarena_gym.evaluators import helpers
from webarena_gym.servers.helpers import HELPERS
from webarena_gym.servers.logins import Account
from webarena_gym.sites.catalogue import SITES

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "webarena_gym").rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("webarena_gym", "agents", "benchmarks")
    for path in sorted((ROOT / package).rglob("*.py"))
}
"""The files of all modules, by name."""

ALLOWED = {
    line.partition(":")[0]: set(line.partition(":")[2].split())
    for line in """\
errors:
arguments:
changes:
console: arguments errors
processes:
progress:
texts:
answers: texts
pages: errors texts
actions: errors texts
observation: actions errors pages texts
browsers: actions errors observation pages
sites: arguments changes errors pages progress
addresses: errors sites
clients: errors
logins: addresses browsers errors observation pages sites
applications: arguments changes errors sites
evaluators: addresses answers arguments changes clients errors observation pages texts
tasks: actions answers arguments errors evaluators observation pages sites
templates: actions answers arguments evaluators pages sites tasks
suite: applications arguments errors evaluators sites tasks templates
backends: actions addresses applications arguments browsers changes errors evaluators logins observation pages sites tasks texts
spaces: actions observation texts
toolbox: actions errors pages sites texts
options: actions addresses applications arguments errors evaluators logins observation sites suite tasks texts toolbox
episode: errors evaluators observation tasks toolbox
limits: options tasks
construction: addresses applications arguments backends browsers errors evaluators logins options pages suite tasks
rendering: browsers episode evaluators observation options pages spaces texts toolbox
rewards: backends episode errors evaluators options tasks
env: actions arguments backends browsers changes construction episode errors limits observation options pages rendering rewards
  spaces tasks texts toolbox
recording: errors
vector: arguments env episode errors options processes spaces
testing: backends browsers episode errors observation pages tasks
miniwob: arguments backends browsers env errors options pages tasks
tools: actions addresses answers applications arena arguments backends browsers changes clients console env errors evaluation
  evaluators logins observation options pages processes progress recording sites suite tasks texts toolbox
arena: actions applications arguments browsers env episode errors evaluators observation options pages sites suite tasks texts
servers: addresses evaluators logins
candidates: actions arguments env episode errors observation pages texts
integrations: actions applications arena arguments browsers clients env errors observation options pages suite tasks toolbox
evaluation: actions applications arena arguments clients console env errors evaluators observation options progress recording
  sites suite tasks vector
__main__: tools
""".replace("\n  ", " ").splitlines()
}
"""The rooms of the top floor, and what each may import."""


class Facts(NamedTuple):
    """What the rules of this file look at, read from one source file."""

    imports: list[str]  # modules, with a package's `__init__` where something is imported from it
    imports_at_the_top: list[str]
    calls: list[tuple[int, str]]  # the line, and `name` or `name.name`
    classes: dict[str, int]  # with the number of their bases
    questions: list[str]  # docstrings that begin with a question word


@cache
def facts(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls, classes, questions = [], {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            calls.append((node.lineno, ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and _QUESTION.match(str(node.value.value)):
            questions.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.value.value[:40]!r}")
        if isinstance(node, ast.ClassDef):
            classes[node.name] = len(node.bases)
    return Facts(list(imported(ast.walk(tree))), list(imported(tree.body)), calls, classes, questions)


def imported(nodes):
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]  # a literal name, or the literal beginning of one
            name = name.values[0] if isinstance(name, ast.JoinedStr) else name
            if isinstance(name, ast.Constant):
                yield name.value.rstrip(".")


def unit(path):
    return path.relative_to(ROOT / "webarena_gym").parts[0].removesuffix(".py")


def test_layers_are_declared_acyclic_and_typed():
    assert {unit(path) for path in FILES} - {"__init__"} == ALLOWED.keys()
    list(TopologicalSorter(ALLOWED).static_order())  # raises CycleError
    assert (ROOT / "webarena_gym" / "py.typed").exists()


def test_imports_point_one_way():
    wrong = []
    for path in FILES:
        own = unit(path)
        for name in facts(path).imports if own != "__init__" else ():
            if path.parent.name == "tasks" and name == "webarena_gym.suite":  # the names that `tasks` had before
                continue
            package, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            if package in {"torch", "transformers", "agents", "benchmarks"} or (
                package == "webarena_gym" and room in ALLOWED and room != own and room not in ALLOWED[own]
            ):
                wrong.append(f"{path} imports {name}")
    assert wrong == []


SHARED = {
    "country": set(),
    "prose": {"country"},
    "layout": {"country"},
    "kit": {"country", "layout"},
    "catalogue": set(),
    "changes": {"catalogue", "sqlite_pages"},
    "sqlite_pages": set(),
    "planting": {"catalogue"},
    "world": {"catalogue", "changes", "planting", "country", "kit", "layout"},
}
"""What each shared part of `sites` may import of the others. A site may import the first four."""

OF_SITES = {name: {"country", "prose", "layout", "kit"} for name in SITES} | {
    "shopping_admin": {"country", "prose", "layout", "kit", "shopping"},  # works on the shop's database
    "homepage": {"country", "prose", "layout", "kit", "catalogue"},  # leads to all sites
}


def test_imports_inside_of_sites_point_one_way():
    wrong = []
    for path in FILES:
        if unit(path) == "sites":
            own = path.relative_to(ROOT / "webarena_gym" / "sites").parts[0].removesuffix(".py")
            for name in facts(path).imports:
                parts = name.split(".")
                is_of_sites = parts[:2] == ["webarena_gym", "sites"] and len(parts) > 2 and parts[2] != own
                if is_of_sites and parts[2] not in (SHARED | OF_SITES)[own]:
                    wrong.append(f"{path} imports {name}")
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle():
    files = {name: path for name, path in MODULES.items() if path in FILES}
    graph = {name: files.keys() & facts(path).imports_at_the_top for name, path in files.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)  # raises CycleError, which names the circle


def test_a_test_in_a_folder_is_named_by_the_path_of_its_module():
    tests = [path.relative_to(ROOT / "tests") for path in sorted((ROOT / "tests").glob("*/**/test_*.py"))]
    modules = [path.with_name(path.name.removeprefix("test_")) for path in tests if path.parts[0] != "integrations"]
    assert len(modules) >= 7
    packages = (ROOT / "webarena_gym", ROOT / "agents")
    forms = {path: (path, path.with_suffix("") / "__init__.py") for path in modules}
    assert [
        path for path in modules if not any((package / form).is_file() for package in packages for form in forms[path])
    ] == []


def test_modules_never_execute_text_sleep_or_read_the_wall_clock():
    banned = {
        "eval", "exec", "compile", "__import__", "time.sleep", "time.time", "datetime.now", "datetime.today", "date.today",
        "random.random",
    }  # fmt: skip
    assert [f"{path}:{line} {name}" for path in FILES for line, name in facts(path).calls if name in banned] == []


_QUESTION = re.compile(r"\s*(What|Which|Whether|Who|How|Where|When)\b")


@pytest.mark.parametrize("package", ["webarena_gym", "agents", "benchmarks"])
def test_docstrings_begin_with_a_noun_or_a_verb(package):
    assert [question for path in (ROOT / package).rglob("*.py") for question in facts(path).questions] == []


INSTEAD = {
    "crew": "request pool", "draft": "sequence", "sight": "attention window", "leader": "rank 0", "follower": "worker", "teach": "train",
    "dismiss": "stop the workers", "ticket": "request id", "likeliest": "greedy", "commonest": "most frequent", "lesson": "training batch",
    "leads": "is main",
}  # fmt: skip
"""Words that are not used, each with the term to use."""


def words_of(tree):
    """Yield the words of all names and docstrings of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from re.findall(r"[a-z]+", (ast.get_docstring(node) or "").lower())
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield from (word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name))


def test_modules_use_the_listed_terms():
    tree = ast.parse(
        'class CrewMember:\n    def ask_leader(self, ticket):\n        """Dismiss it."""\n        self.sight = draft'
    )
    assert {"crew", "leader", "ticket", "dismiss", "sight", "draft"} <= set(words_of(tree))
    files = [path for path in MODULES.values() if path not in FILES]
    used = {path: {word.removesuffix("s") for word in words_of(ast.parse(path.read_text(encoding="utf-8")))} for path in files}
    assert [(path, word, INSTEAD[word]) for path, words in used.items() for word in words & set(INSTEAD)] == []
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Terms")[2].partition("\n## ")[0]
    terms = ("request pool", "sequence, decode batch", "attention window", "rank, rank 0", "worker", "greedy, sampled decoding")
    assert [term for term in terms if term not in text] == []


def test_former_names_are_those_of_today_and_the_sources_do_not_use_them():
    assert Account is logins.Account
    assert HELPERS is helpers.HELPERS
    used = [
        f"{path}: {alias.name}"
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "webarena_gym.tasks"
        for alias in node.names
        if alias.name in tasks._MOVED
    ]
    assert used == []
