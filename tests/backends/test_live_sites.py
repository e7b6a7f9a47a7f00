"""The backend of real servers, which has no databases and no snapshots."""

import pytest

from webarena_gym.backends.live_sites import LiveSitesBackend
from webarena_gym.errors import SnapshotError


def test_a_backend_of_servers_has_no_databases_and_no_snapshots(opened):
    backend = opened(LiveSitesBackend(lambda _: None, {"map": "http://a.test"}))
    with pytest.raises(KeyError):
        backend.database("map")
    with pytest.raises(SnapshotError):
        backend.snapshot()
    with pytest.raises(SnapshotError):
        backend.restore(None)
    with pytest.raises(LookupError):
        _ = backend.browser
