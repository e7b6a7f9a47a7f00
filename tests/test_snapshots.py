"""A snapshot is restored as it was taken, or refused: whatever happened to it, the env goes on."""

from random import Random

import gymnasium
import pytest

from webarena_gym.errors import SnapshotError
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.world import load_world

WORLD = 0


@pytest.fixture(scope="module")
def env():
    with gymnasium.make(
        "WebArenaLite-v0", tasks="shopping.cart_add/1000/0", world_seed=WORLD, disable_env_checker=True
    ) as made:
        yield made.unwrapped


@pytest.fixture
def taken(env):
    """A snapshot of an episode that wrote to two databases, opened tabs and typed."""
    env.reset(seed=1)
    for reply in (
        'do(action="Open Tab", argument="http://home.test/scratchpad")',
        'do(action="Type", argument="milk", element="0")',
        'do(action="Open Tab", argument="http://shop.test/catalogsearch/result/?q=lamp")',
        'do(action="Switch Tab", argument="1")',
    ):
        env.step(reply)
    return env.snapshot()


def parts(value, path=()):
    """Yield every part of a snapshot that can be replaced, with the way to it."""
    yield path, value
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from parts(part, (*path, place))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from parts(part, (*path, key))


def replaced(value, path, part):
    """Return a copy of a value with one part replaced; None as the part takes a key of a mapping away."""
    if not path:
        return part
    inner = replaced(value[path[0]], path[1:], part)
    if isinstance(value, dict):
        kept = {key: inner if key == path[0] else other for key, other in value.items()}
        return kept if inner is not None else {key: other for key, other in kept.items() if key != path[0]}
    content = [inner if place == path[0] else other for place, other in enumerate(value)]
    return type(value)(*content) if hasattr(value, "_fields") else tuple(content)


def damaged(part, rng):
    """Return a part as it is not."""
    if isinstance(part, bytes) and part:
        place = rng.randrange(len(part))
        flipped = part[:place] + bytes([part[place] ^ 1 << rng.randrange(8)]) + part[place + 1 :]
        return rng.choice((flipped, part[:place], b"", None, part + b"\0"))
    if isinstance(part, str):
        return rng.choice((part + "x", part[:-1] if part else "?", None, 0))
    if isinstance(part, bool | int):
        return rng.choice((part + 1, -part - 1, 10**30, None, str(part)))
    return rng.choice((None, 7, "x", b"x", []))


def differs(first, second):
    return repr(first) != repr(second)


def continues(env, snapshot):
    """Restore a snapshot and go on; returns what is seen, which must be the same each time."""
    text, _ = env.restore(snapshot)
    return text, env.step('do(action="Click", element="3")')[0]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sampled(2)
def test_a_damaged_snapshot_is_refused_and_nothing_comes_of_it(env, taken, seed):
    expected = continues(env, taken)
    rng = Random(seed)
    path, part = rng.choice([found for found in parts(tuple(taken)) if found[0]])
    broken = type(taken)(*replaced(tuple(taken), path, damaged(part, rng)))
    if differs(broken, taken):
        with pytest.raises(SnapshotError, match="damaged"):
            env.restore(broken)
        env.step('do(action="Wait")')  # the episode that was under way goes on
    begun = env.reset(seed=1)[0]
    assert continues(env, taken) == expected
    assert env.reset(seed=1)[0] == begun


@pytest.mark.parametrize("seed", range(60))
def test_a_broken_database_is_refused_or_can_be_reset(seed):
    """Also where a seal would not tell: a snapshot that was sealed after it broke."""
    base = load_world(WORLD).content("homepage")
    database = Database(base)
    database.connection.execute("INSERT INTO note VALUES ('x', '2023')")
    taken, rng = database.snapshot(), Random(seed)
    key = rng.choice(list(taken))
    broken = {**taken, key: damaged(taken[key], rng) or b"", rng.choice((0, 4096, 8192, 10**9)): rng.randbytes(4096)}
    try:
        database.restore(broken)
        database.connection.execute("SELECT * FROM note").fetchall()
        database.connection.execute("DELETE FROM note")
    except SnapshotError:
        assert database.connection.execute("SELECT count(*) FROM note").fetchone()[0] == 1
    except database.connection.Error:
        pass  # SQLite has noticed
    database.reset()
    assert database.connection.serialize() == base
    database.restore(taken)
    assert database.connection.execute("SELECT count(*) FROM note").fetchone()[0] == 1
