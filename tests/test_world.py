"""Worlds are built once, kept whole on disk, and rebuilt when the file is damaged."""

import pytest

from webarena_gym.errors import WorldError
from webarena_gym.sites import world


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
    world.load_world.cache_clear()
    yield tmp_path
    world.load_world.cache_clear()


def only_file(folder):
    (path,) = folder.rglob("*.world")
    return path


def test_a_world_is_built_once(folder, monkeypatch):
    built = world.load_world(42).content("shopping")
    world.load_world.cache_clear()
    monkeypatch.setattr(world, "build", None)  # a second build would fail
    assert world.load_world(42).content("shopping") == built
    assert set(folder.rglob("*")) == {only_file(folder).parent, only_file(folder)}


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[:1000], lambda content: content[:-1] + b"?"])
def test_a_damaged_file_is_built_again(folder, damage):
    built = world.load_world(42).content("shopping")
    path = only_file(folder)
    path.write_bytes(damage(path.read_bytes()))
    world.load_world.cache_clear()
    assert world.load_world(42).content("shopping") == built


def test_a_folder_that_cannot_be_written_is_explained(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(blocked))
    world.load_world.cache_clear()
    with pytest.raises(WorldError, match="set WEBARENA_GYM_CACHE"):
        world.load_world(43).content("shopping")


def test_other_seeds_give_other_worlds(folder):
    first, second = world.load_world(1), world.load_world(2)
    names = [
        {row["name"] for row in drawn.open()["shopping"].connection.execute("SELECT name FROM product")}
        for drawn in (first, second)
    ]
    assert names[0].isdisjoint(names[1])
    assert first.cookies(["shopping", "shopping_admin"]).keys() == {"shop.test", "shop-admin.test"}
