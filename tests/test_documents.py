"""Links, commands, code and tasks in the documents exist and work."""

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import get_args, get_type_hints

import pytest

import webarena_gym
from tests.documents import DOCUMENTS, README, ROOT, anchors, blocks, commands, links, name
from webarena_gym.env import WebArenaLite
from webarena_gym.episode import Info
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.suite import templates
from webarena_gym.tools import cli

OWN_TESTS = {
    "docs/arena.md": "tests/test_arena_docs.py", "docs/guides/use-it-from.md": "tests/integrations/test_guide.py",
    "docs/guides/eyes.md": "tests/test_pictures.py",
    "docs/guides/bring-your-own-application.md": "tests/test_application_guide.py",
    "docs/guides/flask-and-django.md": "tests/test_application_guide.py",
}  # fmt: skip
"""Documents whose blocks need more than a process, and the tests that run them."""

PRINTED = (
    "README.md", "docs/environment.md", "docs/observations.md", "docs/rewards.md", "docs/getting-started.md", "docs/vector-environments.md", "docs/guides/debug-an-agent.md",
    "docs/guides/train-with-trl.md",
)  # fmt: skip
"""Documents whose code prints their blocks of text, in this order."""

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=name)


@documents
def test_links_lead_somewhere_and_code_can_be_read(document):
    for target in links(document):
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), target
        assert file.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(file), target
    # The site's Markdown ends a list at a block that is indented by less than four columns, and numbers the rest anew.
    assert re.findall(r"^ +```.*$", document.read_text(encoding="utf-8"), re.MULTILINE) == []
    for block in blocks(document, "python", "json"):
        if block.language == "python":
            ast.parse(block.code, str(block))
        elif not block.excuse:
            json.loads(block.code)


def python(*words, folder, package=ROOT):
    """Run Python in a folder with the package of another, and return what it prints."""
    command, environment = [sys.executable, *words], {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def runnable(document):
    if name(document) in OWN_TESTS:
        return []
    return [block for block in blocks(document, "python") if not block.excuse]


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if runnable(document)], ids=name)
def test_python_blocks_of_documents_run(document, tmp_path):
    path = tmp_path / "document.py"
    # One after another, as a reader would paste them; workers that are spawned import this file again.
    code = "".join(f"# {block}\n{block.code}\n" for block in runnable(document))
    body = "".join(f"    {line}\n" if line else "\n" for line in code.splitlines())
    path.write_text(f'if __name__ == "__main__":\n{body}', encoding="utf-8")
    printed = python(str(path), folder=tmp_path).splitlines()
    assert printed
    if name(document) in PRINTED:
        shown = [line for block in blocks(document, "text") for line in block.code.splitlines()]
        rest = iter(printed)
        assert [line for line in shown if line != "..." and line not in rest] == []


def test_the_table_of_infos_has_the_declared_keys_types_and_presence():
    section = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8").partition("\n## Info\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| ([^|]+) \|", section, re.MULTILINE)
    types = {
        name: getattr(get_args(hint)[0] if isinstance(hint, UnionType) else hint, "__name__", "")
        for name, hint in get_type_hints(Info).items()
    }
    assert {key: kind.partition("[")[0] for key, kind, _ in rows} == types
    assert {key for key, _, present in rows if present == "always"} == Info.__required_keys__


def test_the_readme_lists_the_spaces_and_all_actions():
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.+) \|$", README.read_text(encoding="utf-8"), re.MULTILINE))
    env = WebArenaLite()
    for space in ("action", "observation"):
        assert f"`Text` of at most {getattr(env, f'{space}_space').max_length:,} characters" in rows[f"{space} space"]
    kinds = {form.kind: env.dialect.signature(form) for form in env.dialect.forms}
    names = {(re.search(r'action="([^"]+)"', text) or re.match(r"(\w+)", text))[1] for text in kinds.values()}
    listed = {re.match(r"[\w ]+", code)[0] for code in re.findall(r"`([^`]+)`", rows["actions"])}
    assert listed == names


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs").rglob("*.ipynb")), ids=name)
def test_notebooks_run(notebook, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []
    path = tmp_path / "notebook.py"
    path.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))


def test_documents_with_tests_of_their_own_have_them():
    for document, test in OWN_TESTS.items():
        assert (ROOT / document).exists()
        assert document.rpartition("/")[2].removesuffix(".md") in (ROOT / test).read_text(encoding="utf-8")


@documents
def test_commands_are_there(document, capsys):
    for command in commands(document):
        words = [word for word in shlex.split(command) if word != "$"]
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            del words[0]
        if not words:
            continue
        if words[0] == "webarena-gym" and len(words) > 1 and not words[1].startswith("-"):
            tool = words[1:3] if words[1] in ("app", "suite") else words[1:2]
            known = _known(("webarena-gym", *tool), lambda tool=tool: cli.main([*tool, "--help"]), capsys)
            assert known, f"no command {words[1]!r}: {command}"
            assert options(words) <= known, command
        elif words[:2] == ["python", "-m"] and words[2].split(".")[0] in ("agents", "benchmarks"):
            pytest.importorskip("torch")
            known = options_of_a_module(words[2], selectors(words), capsys)
            assert options(words) <= known, command
        elif words[0] == "make":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            assert {word for word in words[1:] if re.fullmatch(r"[a-z-]+", word)} <= set(targets), command
        elif words[:2] == ["pip", "install"]:
            mentions = {
                extra for found in re.findall(r"(?:webarena-gym|\.)\[([\w,-]+)\]", command) for extra in found.split(",")
            }
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            assert mentions <= set(project["optional-dependencies"]), command


@documents
def test_tasks_of_commands_are_there(document):
    if name(document).startswith("docs/guides/add-a"):
        pytest.skip("it makes templates of its own")
    sites = "|".join((*HOSTS, "several"))
    mentions = {found[0] for command in commands(document) for found in re.finditer(rf"\b(?:{sites})\.\w+", command)}
    assert {template for template in mentions if not template.endswith(".test")} <= templates().keys()


def audited(folder, *names):
    """What the audit says of templates, with the package that lies in a folder."""
    options = ["--world-seed", "1", "--draw", "2", "--no-side-effects", "--jobs", "1"]
    templates = [word for each in names for word in ("--template", each)]
    return python("-m", "webarena_gym", "audit", *options, *templates, folder=folder, package=folder)


@pytest.fixture
def copied(tmp_path):
    """A folder with a copy of the package, for guides to change."""
    shutil.copytree(ROOT / "webarena_gym", tmp_path / "webarena_gym", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_templates_of_their_guide_pass_the_audit(copied):
    guide = (ROOT / "docs" / "guides" / "add-a-template.md").read_text(encoding="utf-8")
    for file, added in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL):
        path = copied / file
        path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{added}", encoding="utf-8")
    assert "2 of 2 tasks of 2 templates" in audited(copied, "map.town_state", "shopping_admin.cancel_pending")


def test_the_site_of_its_guide_passes_the_audit(copied):
    guide = (ROOT / "docs" / "guides" / "add-a-site.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL))
    catalogue = copied / "webarena_gym" / "sites" / "sites.toml"
    before, last, after = catalogue.read_text(encoding="utf-8").partition("[homepage]")
    catalogue.write_text(before + files.pop("entry") + last + after, encoding="utf-8")
    for file, content in files.items():
        path = copied / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    assert "2 of 2 tasks of 2 templates" in audited(copied, "library.author", "library.borrow")


def options(words):
    return {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}


def selectors(words):
    """The options of a command that choose which others there are."""
    chosen = []
    for option, value in pairwise(words):
        if (option == "--method" and re.fullmatch(r"\w+", value)) or (option, value) == ("--model", "pointer"):
            chosen += [option, value]
    return tuple(chosen)


HIDDEN = {
    name: (["--model", "agents/checkpoints/language-model-1.2m"], ["--overlap"], ["--cluster", "local"])
    for name in ("agents.train_rl", "agents.train_grpo")
}
"""Options that show others in the help."""


def options_of_a_module(module, chosen, capsys):
    others = [options_of_a_module(f"{module} ", (*chosen, *words), capsys) for words in HIDDEN.get(module, ())]

    def main():
        entry = importlib.import_module(module.strip()).main
        arguments = [*chosen, "--help"]
        sys.argv, before = [module, *arguments], sys.argv
        try:
            return entry(arguments) if inspect.signature(entry).parameters else entry()
        finally:
            sys.argv = before

    return _known((module, *chosen), main, capsys).union(*others)


_KNOWN = {}


def _known(key, main, capsys):
    """The options in the help of a command, "--help" among them; nothing where there is no such command."""
    if key not in _KNOWN:
        capsys.readouterr()
        with suppress(SystemExit):
            main()
        _KNOWN[key] = set(re.findall(r"--[a-z][a-z0-9-]*", capsys.readouterr().out))
    return _KNOWN[key]


def test_every_page_is_in_the_navigation_of_the_site():
    menu = set(re.findall(r"^ +- .*: ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {document.relative_to(ROOT / "docs").as_posix() for document in DOCUMENTS if document != README}
    assert menu == pages - {"description.md"}


def test_every_exported_name_is_in_the_api_reference():
    block = re.compile(
        r"^::: (webarena_gym[\w.]*)$(?:\n    options:(?:\n      \w+: \w+)*\n      members: \[([^]]*)\])?", re.MULTILINE
    )
    shown = set()
    for page in (ROOT / "docs" / "api").glob("*.md"):
        for path, listed in block.findall(page.read_text(encoding="utf-8")):
            value = pkgutil.resolve_name(path)
            members = vars(value).items() if inspect.ismodule(value) else ()
            names = [name.strip() for name in listed.split(",")] if listed else [name for name, _ in members]
            own = {name: member for name, member in members if getattr(member, "__module__", "") == path}
            shown |= {id(value), *(id(own[name]) for name in names if name in own)}
    assert [name for name in webarena_gym.__all__ if id(getattr(webarena_gym, name)) not in shown] == []


MKDOCS = next(
    (path for path in (Path(sys.executable).with_name("mkdocs"), ROOT / ".venv-docs" / "bin" / "mkdocs") if path.exists()), None
)


@pytest.mark.skipif(MKDOCS is None, reason="no mkdocs here: make docs")
def test_the_site_is_built_without_warnings(tmp_path):
    command = [str(MKDOCS), "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)\b[^>]*\b(?:src|href)="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
        assert [address for address in loaded if "://127.0.0.1" not in address] == [], page
