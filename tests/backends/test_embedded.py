"""The backend of the embedded sites: worlds of tasks, changes, reference solutions and snapshots."""

from contextlib import closing
from dataclasses import replace

import pytest

from tests.errors import expect_error
from webarena_gym.backends.base import execute_solution
from webarena_gym.backends.embedded import EmbeddedBackend, WorldSpec, names_no_world
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import SnapshotError, TaskError
from webarena_gym.suite import find

TASK = find("shopping.cart_add/1000/0")


@pytest.fixture
def backend():
    with closing(EmbeddedBackend(InProcessBrowser)) as made:
        yield made


def test_a_task_begins_in_its_world_without_changes(backend):
    assert backend.enter(TASK) == TASK.intent
    assert (backend.world, backend.changes()) == (WorldSpec(1000, "content", "standard"), [])
    assert backend.browser.page().url == "http://shop.test/"


def test_the_world_of_a_task_without_one_is_that_of_the_backend():
    task = replace(TASK, world_seed=None)
    assert names_no_world(task)
    assert not names_no_world(TASK)
    assert not names_no_world(replace(task, sites=("elsewhere",)))
    with closing(EmbeddedBackend(InProcessBrowser, world_seed=1001, variation="layout")) as backend:
        backend.enter(task)
        assert backend.world == (1001, "layout", "standard")
        backend.enter(TASK)
        assert backend.world == (1000, "layout", "standard")


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ({"world_seed": None}, (TASK.task_id, "world_seed=")),
        ({"sites": ("shoping",)}, ("'shoping'", "'shopping'")),
        ({"start_url": "http://x y/"}, ("'http://x y/'",)),
    ],
)
def test_tasks_that_cannot_begin_are_rejected(backend, change, values):
    with expect_error(TaskError, *values):
        backend.enter(replace(TASK, **change))


def test_nothing_can_be_read_before_the_first_task(backend):
    for read in (lambda: backend.world, lambda: backend.network, backend.changes, backend.snapshot):
        with expect_error(LookupError, "enter"):
            read()


def test_the_changes_and_pages_of_a_solution_are_those_of_its_replay(backend):
    backend.enter(TASK)
    expected, pages = backend.reference_changes(TASK), backend.reference_pages(TASK)
    assert backend.changes() == []
    seen = []
    execute_solution(backend.browser, TASK.solution, seen.append)
    assert sorted(map(str, backend.changes())) == sorted(map(str, expected)) != []
    assert pages == tuple(url for url in seen if url != "http://shop.test/")
    impossible = find("gitlab.star_one/1000/0")
    reason = backend.reference_changes(replace(TASK, solution=impossible.solution))
    assert isinstance(reason, str)
    assert backend.reference_pages(replace(TASK, solution=impossible.solution)) == ()


def test_a_snapshot_restores_rows_and_page_in_another_backend(backend):
    backend.enter(TASK)
    execute_solution(backend.browser, TASK.solution)
    snapshot, url, changes = backend.snapshot(), backend.browser.page().url, backend.changes()
    backend.enter(TASK)
    assert backend.changes() == []
    with closing(EmbeddedBackend(InProcessBrowser)) as other:
        other.restore(snapshot)
        assert (other.world, other.browser.page().url) == (backend.world, url)
        assert [str(change) for change in other.changes()] == [str(change) for change in changes]
        with expect_error(SnapshotError, "dict"):
            other.restore({})
        with expect_error(SnapshotError, 1000):
            other.restore(snapshot._replace(generators="others"))


def test_a_closed_backend_begins_again(backend):
    backend.enter(TASK)
    backend.close()
    backend.enter(TASK)
    assert backend.changes() == []
