"""Snapshots of episodes as values: their content, their digest, and those of earlier versions."""

import hashlib
import pickle
from dataclasses import dataclass

import pytest

from tests.errors import expect_error
from webarena_gym.episode import Episode, Snapshot
from webarena_gym.errors import SnapshotError
from webarena_gym.tasks import Task

TASK = Task(
    "a", ("shopping",), "__SHOPPING__", "Do it", {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
)
PARTS = (Episode(TASK, "Do it", max_steps=5), ("backend", 1), {"state": 2})


def old_seal(values):
    return hashlib.sha256("Snapshot(episode={!r}, backend={!r}, random_state={!r}, seal=b'')".format(*values).encode()).digest()


def test_a_snapshot_holds_copies_of_its_parts():
    snapshot = Snapshot.of(*PARTS)
    assert (snapshot.episode, snapshot.backend, snapshot.random_state) == PARTS
    assert snapshot.episode is not PARTS[0]
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot == Snapshot(*snapshot)


def test_the_representation_of_a_snapshot_is_short():
    assert len(repr(Snapshot.of(Episode(TASK, "x" * 5_000), (), {}))) < 300
    assert "None" in repr(Snapshot(None, b""))


def test_four_parts_of_an_earlier_version_are_read_if_their_seal_is_theirs():
    assert Snapshot(*PARTS, old_seal(PARTS)).unseal() == PARTS
    others = (PARTS[0], ("backend", 2), PARTS[2])
    for seal in (old_seal(others), b""):
        with expect_error(SnapshotError, "digest"):
            Snapshot(*PARTS, seal).unseal()


@dataclass
class Unreadable:
    """A value without a representation."""

    def __repr__(self):
        raise RuntimeError("no representation")


def test_damaged_parts_of_an_earlier_version_are_refused_when_they_are_used():
    with expect_error(SnapshotError, "digest"):
        Snapshot(Unreadable(), 1, {}, b"seal").unseal()


@pytest.mark.parametrize("content", [b"no pickle", pickle.dumps((1, 2)), pickle.dumps((object(), 1, {}))])
def test_content_of_another_version_is_refused(content):
    snapshot = Snapshot(content, hashlib.sha256(content).digest())
    with pytest.raises(SnapshotError, match="another version"):
        snapshot.unseal()
    with expect_error(SnapshotError, "digest"):
        Snapshot(content, b"").unseal()
