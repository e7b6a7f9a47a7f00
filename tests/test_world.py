"""Worlds are built once, kept whole on disk, and rebuilt when the file is damaged."""

import hashlib
import os
import subprocess
import sys

import pytest

from tests.errors import expect_error
from tests.generated import content
from webarena_gym.errors import WorldError
from webarena_gym.sites import world
from webarena_gym.sites.catalogue import DATABASES

BUILD = """
import sys
from webarena_gym.sites import world

def build(name, seed, scale, build=world.build):
    print("built", name)
    return build(name, seed, scale)

world.build = build
print(len(world.load_world(int(sys.argv[1])).content("shopping")))
"""


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
    world.load_world.cache_clear()
    yield tmp_path
    world.load_world.cache_clear()


def test_a_world_is_built_once_and_again_where_the_generator_is_another(folder, monkeypatch):
    built = world.load_world(42).content("shopping")
    world.load_world.cache_clear()
    monkeypatch.setattr(world, "build", None)  # a second build would fail
    assert world.load_world(42).content("shopping") == built
    assert {path.suffix for path in folder.rglob("shopping-42*")} == {".sqlite", ".sha256", ".lock"}
    world.load_world(42).content("shopping")
    world.load_world.cache_clear()
    monkeypatch.setattr(world, "_version", lambda _: "another")
    monkeypatch.setattr(world, "build", lambda *_: b"new")
    assert world.load_world(42).content("shopping") == b"new"
    assert len(list(folder.rglob("*.sqlite"))) == 2


DAMAGES = (
    lambda content: b"", lambda content: content[:20], lambda content: content[:32], lambda content: content[:1000],
    lambda content: content[:-1] + b"?", lambda content: bytes(len(content)), lambda content: content + b"more",
)  # fmt: skip


def test_a_damaged_file_is_built_again(folder):
    built = world.load_world(42).content("map")
    (path,) = folder.rglob("*.sqlite")
    whole = path.read_bytes()
    for damage in DAMAGES:
        path.write_bytes(damage(whole))
        world.load_world.cache_clear()
        assert world.load_world(42).content("map") == built
        assert path.read_bytes() == whole


def test_processes_that_want_the_same_world_at_once_build_it_once(folder):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([sys.executable, "-c", BUILD, "42"], **pipes) for _ in range(4)]
    outputs = [process.communicate(timeout=120) for process in running]
    assert [(process.returncode, errors) for process, (_, errors) in zip(running, outputs, strict=True)] == [(0, "")] * 4
    assert "".join(output for output, _ in outputs).count("built") == 1
    assert {output.splitlines()[-1] for output, _ in outputs} == {str(len(world.load_world(42).content("shopping")))}


def test_a_system_without_locks_builds_worlds_all_the_same(folder, monkeypatch):
    monkeypatch.setattr(world.sys, "platform", "win32")
    assert world.load_world(42).content("shopping")
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".sqlite", ".sha256"}


def test_a_builder_that_dies_leaves_nothing_behind(folder, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(world.Path, "replace", fail)
        with pytest.raises(KeyboardInterrupt):
            world.load_world(42).content("shopping")
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".lock"}
    assert world.load_world(42).content("shopping")


def test_a_folder_that_cannot_be_written_is_explained(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(blocked))
    world.load_world.cache_clear()
    with expect_error(WorldError, "WEBARENA_GYM_CACHE"):
        world.load_world(43).content("shopping")


def test_building_is_shown_on_a_terminal(folder, capsys, monkeypatch):
    monkeypatch.setattr(world, "build", lambda *_: b"new")
    world.load_world(1).content("map")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    world.load_world(2).content("map")
    assert "building world 2: map" in capsys.readouterr().err


def test_other_seeds_give_other_worlds(folder):
    first, second = world.load_world(1), world.load_world(2)
    query = "SELECT name FROM product"
    names = [set(map(tuple, drawn.open()["shopping"].connection.execute(query))) for drawn in (first, second)]
    assert names[0].isdisjoint(names[1])
    assert first.cookies(["shopping", "shopping_admin"]).keys() == {"shop.test", "shop-admin.test"}


@pytest.mark.parametrize("name", world.DATABASES)
def test_the_worlds_at_the_ends_can_be_built_and_beyond_them_there_is_none(name):
    for seed in (world.LARGEST_SEED, -world.LARGEST_SEED):
        assert world.build(name, seed).startswith(b"SQLite format 3")
    for seed in (world.LARGEST_SEED + 1, -(10**30), True, "7", 7.0, None):
        with pytest.raises(WorldError, match="there is no world"):
            world.load_world(seed)


DIGESTS = """
import hashlib
from webarena_gym.sites.catalogue import DATABASES
from webarena_gym.sites.world import build

for name in DATABASES:
    print(hashlib.sha256(build(name, 7)).hexdigest())
"""


def test_the_same_integer_gives_the_same_bytes_in_any_process():
    here = [hashlib.sha256(content(name, 7)).hexdigest() for name in DATABASES]
    for hashes in ("1", "4711"):
        command, environment = [sys.executable, "-c", DIGESTS], os.environ | {"PYTHONHASHSEED": hashes}
        there = subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
        assert there.split() == here
