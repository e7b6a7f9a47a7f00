"""The base class of backends, start pages, and the verdict on changes that a task does not require."""

from contextlib import closing

import pytest

from tests.errors import expect_error
from webarena_gym.backends.base import (
    Backend,
    ErrorResponse,
    judge_side_effects,
    page_text,
    replay_solution,
    start_page_errors,
    start_urls,
)
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, EvaluationError, SnapshotError, TaskError
from webarena_gym.evaluators.kinds.string_match import answer
from webarena_gym.suite import find
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import click

TASK = find("shopping.cart_add/1000/0")


def test_a_backend_has_no_browser_databases_or_snapshots_by_default():
    backend = Backend()
    for read, error in (
        (lambda: backend.browser, LookupError), (backend.changes, LookupError), (lambda: backend.network, LookupError), (backend.snapshot, SnapshotError),
        (lambda: backend.restore(3), SnapshotError), (lambda: backend.check_replay(3), SnapshotError), (lambda: backend.database("shopping"), KeyError),
    ):  # fmt: skip
        with pytest.raises(error):
            read()
    assert (backend.can_replay(3), backend.files) == (False, None)
    assert isinstance(backend.unneeded_changes(TASK), str)
    backend.close()


def test_start_pages_are_separated_and_placeholders_are_resolved():
    urls = {"__SHOPPING__": "http://shop.test"}
    assert start_urls("__SHOPPING__/a |AND| http://other.test/", urls) == ["http://shop.test/a", "http://other.test/"]
    with expect_error(TaskError, TASK.task_id, "no such page"), start_page_errors(TASK):
        raise ActionError("no such page")


def test_an_error_response_is_that_of_a_page_whatever_its_query_is():
    response = ErrorResponse("POST", f"http://notes.test/{'a' * 300}", "500")
    assert len(str(response)) < 300
    assert ErrorResponse("GET", "http://notes.test/a", "500").is_of("http://notes.test/a?b=1#c")
    assert not ErrorResponse("GET", "http://notes.test/a", "500").is_of("http://other.test/a")


@pytest.fixture
def backend():
    with closing(EmbeddedBackend(InProcessBrowser)) as made:
        made.enter(TASK)
        yield made


def verdict(backend, evaluation, *, solution=(), is_forbidden=True):
    task = Task(
        task_id="t",
        sites=("shopping",),
        start_url="__SHOPPING__/",
        intent="?",
        eval=evaluation,
        solution=solution,
        world_seed=1000,
    )
    result, beyond = judge_side_effects(task, backend, is_forbidden=is_forbidden)
    return result.passed, bool(beyond)


def test_changes_beyond_those_of_the_solution_fail_a_task(backend):
    assert verdict(backend, answer(exact_match="x")) == (True, False)
    connection = backend.database("shopping")
    connection.execute("UPDATE customer SET firstname = 'Other' WHERE customer_id = 1")
    assert verdict(backend, answer(exact_match="x")) == (False, True)
    assert verdict(backend, answer(exact_match="x"), is_forbidden=False) == (True, True)
    assert verdict(backend, answer(exact_match="x") | {"unchanged": False}) == (True, False)
    assert verdict(backend, answer(exact_match="x"), solution=TASK.solution) == (False, True)
    assert verdict(backend, {"eval_types": ["url_match"], "reference_url": "x"}) == (True, False)  # what it needs is not known
    assert verdict(backend, answer(exact_match="x"), solution=(click("Absent"),)) == (True, False)


def test_a_replay_with_an_error_of_a_site_is_an_error():
    broken = EmbeddedBackend(InProcessBrowser)

    def start():
        broken.enter(TASK)
        broken.network.errors.append("KeyError: 'x'")

    with expect_error(EvaluationError, "KeyError: 'x'"):
        replay_solution(broken, start, (), "a site")


def test_pages_are_compared_by_their_text_without_notices(backend):
    page = backend.browser.page()
    assert "My Wish List" in page_text(page)
