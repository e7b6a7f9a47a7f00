"""A changed file rebuilds the worlds of the sites whose generator reads it, and no others; a changed comment rebuilds none."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import webarena_gym
from webarena_gym.sites import world
from webarena_gym.sites.catalogue import DATABASES

PACKAGE = Path(webarena_gym.__file__).parent


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the sites that can be changed; a file is parsed again if its content has changed."""
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path / "cache"))
    uncached = world.read_source.__wrapped__
    cached = cache(lambda file, package, _: uncached(file, package))
    monkeypatch.setattr(world, "read_source", lambda file, package: cached(file, package, file.read_bytes()))
    copy = tmp_path / "webarena_gym"
    shutil.copytree(PACKAGE / "sites", copy / "sites", ignore=shutil.ignore_patterns("__pycache__"))
    for file in PACKAGE.glob("*.py"):
        shutil.copy(file, copy)
    return copy


def digests(package):
    return {name: world.digest(name, package) for name in DATABASES}


def changed(package, path, addition, before):
    """Return the databases whose digest changes when text is appended to a file, and restore the file."""
    file = package / "sites" / path
    content = file.read_text(encoding="utf-8")
    file.write_text(content + addition, encoding="utf-8")
    after = digests(package)
    file.write_text(content, encoding="utf-8")
    return {name for name in DATABASES if before[name] != after[name]}


def test_keys_of_worlds_change_with_generators_and_not_with_views(package):
    assert digests(package) == {name: world._version(name) for name in DATABASES}
    assert len(set(digests(package).values())) == len(DATABASES)
    before = digests(package)
    for path, names in CHANGES.items():
        assert changed(package, path, "\nADDED = 1\n" if path.endswith(".py") else "\n", before) == names, path
    modules = list((package / "sites").rglob("*.py"))
    for module in modules:
        with module.open("a", encoding="utf-8") as file:
            file.write('\n\n# a comment\n"""A docstring."""\n')
    assert len(modules) > 50
    assert digests(package) == before
    seed, view = (package / "sites" / "gitlab" / name for name in ("world.py", "views/items.py"))
    with seed.open("a", encoding="utf-8") as file:
        file.write("\nfrom webarena_gym.sites.gitlab.views import items\n")
    assert view in world.sources("gitlab", package)
    assert changed(package, "gitlab/views/items.py", "\nADDED = 1\n", digests(package)) == {"gitlab"}


PLAIN = 'LINE = "a # b"\nTEXT = f"""x\n# {LINE}\n\n  \ny"""\n\n\nclass Pair:\n    size: int = 1\n\n    def total(self):\n        return self.size\n'
WORDED = '''#!/usr/bin/env python
"""A module.

# of two paragraphs: größer
"""
LINE = "a # b"  # a comment: ü
TEXT = f"""x
# {LINE}

~~
y"""  # after a string
class Pair:
    """A docstring.   """

    # two comments
    # in a row
    size: int = 1
    "Docstring of an attribute"; """of two strings"""

    def total(self):~~
        r"""Return
        the total."""  # and a comment


        return self.size'''.replace("~", " ")


def test_comments_docstrings_and_empty_lines_do_not_count(tmp_path):
    def content(text):
        (tmp_path / "module.py").write_bytes(text.encode())
        world.read_source.cache_clear()
        return world.read_source(tmp_path / "module.py", tmp_path).content.replace(b"    ;\n", b"")

    assert content(WORDED) == content(PLAIN) == content(PLAIN.replace("\n", "\r\n"))
    assert content(content(PLAIN).decode()) == content(PLAIN)
    changes = (
        ("a # b", "a # c"), ("# {LINE}", "{LINE}"), ("\n\n  ", "\n  "), ("  \ny", "\ny"), ("y", "z"), ("1", "2"), ("self", "it"),
        ("    def", "def"),
    )  # fmt: skip
    for old, new in changes:
        assert content(PLAIN.replace(old, new)) != content(PLAIN), old


def test_parsed_modules_are_read_from_the_cache_unless_module_or_parser_has_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path / "cache"))
    module, parsed = tmp_path / "module.py", []
    module.write_text("import json\nNAME = 'data.json'\n")
    (tmp_path / "data.json").write_text("{}")
    parse = world.parse_module

    def read():
        world.read_source.cache_clear()
        parsed.clear()
        monkeypatch.setattr(world, "parse_module", lambda content: parsed.append(content) or parse(content))
        return world.read_source(module, tmp_path)

    world._parser_digest()
    first = read()
    assert (len(parsed), first.references) == (1, {tmp_path / "data.json"})
    assert (read(), len(parsed)) == (first, 0)
    (tmp_path / "data.json").unlink()  # the cache contains no state of other files
    assert (read().references, len(parsed)) == (frozenset(), 0)
    module.write_text("import json\nNAME = 'data.txt'\n")
    assert (read().content == first.content, len(parsed)) == (False, 1)
    (entry, other) = (tmp_path / "cache").rglob("[0-9a-f]*")
    for damage in (b"", b"{}", entry.read_bytes()[:-1], other.read_bytes().replace(b"data", b"date")):
        entry.write_bytes(damage)
        other.write_bytes(damage)
        assert (b"data.txt" in read().content, len(parsed)) == (True, 1)
    monkeypatch.setattr(world, "_parser_digest", lambda: "other")
    assert (read().content == first.content, len(parsed)) == (False, 1)
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(module))  # no folder
    assert [(b"data.txt" in read().content, len(parsed)) for _ in range(2)] == [(True, 1)] * 2


def test_the_key_of_the_cache_depends_on_the_code_of_the_parser(monkeypatch):
    digest = world._parser_digest.__wrapped__
    before = digest()
    assert digest() == before

    def other(source, docstrings):
        return b"\n".join(line for line in source.splitlines() if line)

    monkeypatch.setattr(world, "_without_wording", other)
    assert digest() != before
    one_process, another = (
        subprocess.run(
            [sys.executable, "-c", "from webarena_gym.sites import world; print(world._parser_digest())"],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )  # fmt: skip
    assert one_process.strip() == another.strip() == before


PAGES = [
    *(path for folder in ("views", "templates", "static") for path in sorted((PACKAGE / "sites").glob(f"*/{folder}/*.*"))),
    *sorted((PACKAGE / "sites").glob("*/site.py")),
    *sorted((PACKAGE / "sites").glob("*/views.py")),
    *(PACKAGE / "sites" / "layout").glob("*.*"),
    *sorted((PACKAGE / "sites" / "kit").glob("*.py")),
    *sorted((PACKAGE / "sites").glob("*.py")),
]


def test_no_world_follows_from_what_only_pages_are_made_of():
    used = {file for name in DATABASES for file in world.sources(name)}
    assert len(PAGES) > 200
    assert not used.intersection(PAGES)


CHANGES = {
    **dict.fromkeys(("gitlab/views/items.py", "gitlab/templates/issue.html", "kit/site.py", "layout/__init__.py"), frozenset()),
    "gitlab/world.py": {"gitlab"},
    "gitlab/schema.sql": {"gitlab"},
    "gitlab/world_projects.py": {"gitlab"},  # which a module of the generator imports
    "gitlab/pools.json": {"gitlab"},
    "map/geometry.py": {"map"},
    "country/dice.py": set(DATABASES),
    "country/geography.py": {"shopping", "reddit", "map", "wikipedia"},
}


READ = """
import sys
from functools import cache
from pathlib import Path
from webarena_gym.sites.world import build

before, opened = set(sys.modules), set()
sys.addaudithook(lambda event, arguments: opened.add(str(arguments[0])) if event == "open" else None)
build(sys.argv[1], 5)
imported = {module.__file__ for name, module in sys.modules.items() if name not in before and module.__file__}
print("\\n".join(imported | {name for name in opened if name.endswith((".json", ".sql", ".txt"))}))
"""


@pytest.mark.parametrize("name", DATABASES)
def test_all_that_building_a_world_reads_of_this_package_counts(name):
    done = subprocess.run([sys.executable, "-c", READ, name], capture_output=True, text=True, check=True)
    read = {Path(line) for line in done.stdout.splitlines() if Path(line).is_relative_to(PACKAGE)}
    read = {file for file in read if file.name != "__init__.py"}
    assert len(read) >= 3
    assert read <= set(world.sources(name))
