"""Limits of an arena."""

from contextlib import contextmanager

import pytest

from tests.arena.clients import PORTS, begun
from tests.errors import expect_error
from webarena_gym.arena.gateway import Translation, Visit
from webarena_gym.arena.schema import Limits, NewEpisode
from webarena_gym.errors import ArenaError


@contextmanager
def refused(status, match=None):
    with pytest.raises(ArenaError, match=match) as caught:
        yield
    assert caught.value.status == status


def test_limits_hold():
    now, held = [0.0], [0.0]
    found, episode = begun(
        Limits(episodes=2, idle_s=60, memory_mb=100, upload_mb=0.01, snapshots=2), lambda: now[0], lambda: held[0]
    )
    held[0] = 101
    with refused(503, "101 MB"):
        found.create(NewEpisode())
    held[0] = 99
    second = found.create(NewEpisode())
    with refused(503, "2 episodes are open"):
        found.create(NewEpisode())
    now[0] = 50
    with second.log_request("something"):
        pass
    now[0] = 61
    assert found.idle() == [episode.id]
    found.close_episode(episode.id, "it was idle")
    with refused(410, "it was idle"):
        found.find(episode.id)
    second.gateway.translation = Translation(PORTS, "127.0.0.1", ())
    second.snapshot(), second.snapshot()
    with refused(409, "limit"):
        second.snapshot()
    with refused(413):
        second.browse(Visit("shopping", "POST", "/", {}, b"x" * 20_000))
    for field in ("episodes", "idle_s", "memory_mb", "upload_mb"):
        with expect_error(ValueError, field, 0):
            Limits(**{field: 0})
