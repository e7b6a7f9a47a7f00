"""A snapshot is restored as it was taken, or refused: whatever happened to it, the env goes on."""

import hashlib
import pickle
import warnings
from collections import namedtuple
from random import Random

import gymnasium
import pytest

from tests.errors import expect_error
from webarena_gym.episode import Snapshot
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


def flipped(data, bit):
    """Return bytes with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_flipped_bits_of_snapshots_are_rejected_without_effect(env, taken):
    data, rng = pickle.dumps(taken), Random(0)
    continued, begun = env.restore(taken)[0], env.page
    for part, count in ((taken.content, 500), (taken.seal, 100)):
        start = 8 * data.index(part)
        for bit in rng.sample(range(start, start + 8 * len(part)), count):
            with expect_error(SnapshotError, "digest"):
                env.restore(pickle.loads(flipped(data, bit)))
    assert env.page is begun
    env.step('do(action="Wait")')
    assert env.restore(taken)[0] == continued


def test_flipped_bits_of_the_pickle_frame_load_no_other_content(env, taken):
    data = pickle.dumps(taken)
    content, seal = data.index(taken.content), data.index(taken.seal)
    frame = {*range(len(data))} - {*range(content, content + len(taken.content)), *range(seal, seal + len(taken.seal))}
    assert len(frame) < 120
    for bit in (8 * place + shift for place in frame for shift in range(8)):
        try:
            loaded = pickle.loads(flipped(data, bit))
        except Exception:  # noqa: BLE001 - pickle raises anything, before any code of ours is called
            continue
        try:
            env.restore(loaded)
        except SnapshotError:
            continue
        assert loaded == taken  # as where the pickle says that it is of another protocol


@pytest.mark.parametrize("parts", [(None, b""), ("", b""), (b"", b""), (b"", None), (b"", "")])
def test_snapshots_without_a_valid_seal_are_rejected(env, taken, parts):
    with expect_error(SnapshotError, "digest"):
        env.restore(Snapshot(*parts))


@pytest.fixture
def earlier(taken, monkeypatch):
    """The pickle of a snapshot as earlier versions wrote it: a named tuple of four parts, sealed by a digest of their `repr`."""
    kind = namedtuple("Snapshot", "episode backend random_state seal", module="webarena_gym.env")
    whole = kind(*taken.unseal(), b"")
    with monkeypatch.context() as patch:
        patch.setattr("webarena_gym.env.Snapshot", kind)
        patch.setattr("webarena_gym.episode.Episode.__module__", "webarena_gym.env")
        return pickle.dumps(whole._replace(seal=hashlib.sha256(repr(whole).encode()).digest()))


def test_a_snapshot_that_an_earlier_version_saved_continues(env, taken, earlier):
    loaded = pickle.loads(earlier)
    assert isinstance(loaded, Snapshot)
    assert continues(env, loaded) == continues(env, taken)
    assert continues(env, pickle.loads(pickle.dumps(loaded))) == continues(env, taken)


def test_a_damaged_snapshot_of_an_earlier_version_raises_no_other_error(env, earlier):
    rng, refused = Random(0), 0
    for bit in rng.sample(range(8 * len(earlier)), 500):
        try:
            with warnings.catch_warnings(action="ignore"):
                loaded = pickle.loads(flipped(earlier, bit))
        except Exception:  # noqa: BLE001 - as above
            continue
        try:
            env.restore(loaded)
        except SnapshotError:
            refused += 1
    assert refused > 400


def test_content_that_another_version_wrote_is_refused(env, taken):
    episode, backend, random_state = taken.unseal()
    assert (taken.episode, taken.backend, taken.random_state) == (episode, backend, random_state)
    del episode.turns
    for parts in ((episode, backend, random_state), (None, backend, random_state)):
        with pytest.raises(SnapshotError, match="by another version"):
            env.restore(Snapshot.of(*parts))
    content = taken.content.replace(b"webarena_gym.episode", b"webarena_gym.episodf")
    with expect_error(SnapshotError, "ModuleNotFoundError", "webarena_gym.episodf"):
        env.restore(Snapshot(content, hashlib.sha256(content).digest()))


def continues(env, snapshot):
    """Restore a snapshot and go on; returns what is seen, which must be the same each time."""
    text, _ = env.restore(snapshot)
    return text, env.step('do(action="Click", element="3")')[0]


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
