"""The code host's Markdown, permissions in projects, lists by state, and texts of times."""

from datetime import datetime

import pytest
from werkzeug.exceptions import Forbidden, NotFound
from werkzeug.test import EnvironBuilder

from tests.code_host import small_host
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.site import (
    ago,
    by_state,
    can,
    in_project,
    manages,
    members_only,
    my_id,
    render_markdown,
    role_in,
    site,
)
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.layout import PLAIN

NOW = datetime(2023, 3, 5, 12)
ANN, BO, CY, DI = 1, 2, 3, 4


@pytest.fixture
def ask():
    """Return requests of a user to a small host: Ann owns ann/site, where Bo is a developer and Di a guest; cy-d/old is archived."""
    database = Database(small_host())

    def build(user_id=None, path="/x"):
        place, _, query = path.partition("?")
        request = Request(EnvironBuilder(place, query_string=query).get_environ(), database, PLAIN, site.templates)
        request.path_of = lambda spelling: "/{namespace}/{path}".format(**spelling)
        if user_id is not None:
            request.session["user_id"] = user_id
        return request

    return build


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
        ("[a](//evil.test)", "<p>[a](//evil.test)</p>\n"),
        ("[a](/path)", '<p><a href="/path">a</a></p>\n'),
        ("![a<b](http://x.test/y)", '<p><a href="http://x.test/y">a&lt;b</a></p>\n'),
        ("###### Deep", "<h6>Deep</h6>\n"),
        ("# Top", "<h2>Top</h2>\n"),
        ("one\ntwo", "<p>one<br>\ntwo</p>\n"),
    ],
)
def test_markdown_has_lower_headings_no_images_and_safe_links(text, html):
    assert render_markdown(text) == html


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2023-03-05", "today"), ("2023-03-04", "yesterday"), ("2023-03-06", "tomorrow"), ("2023-03-02", "3 days ago"),
        ("2023-03-08", "in 3 days"), ("2023-03-05 12:00:00", "just now"), ("2023-03-05 11:00:00", "1 hour ago"),
        ("2023-03-05 14:00:00", "in 2 hours"),
    ],
)  # fmt: skip
def test_times_are_relative_to_now(value, text):
    assert ago(value, NOW) == text


@pytest.mark.parametrize(
    ("user_id", "role", "can_develop", "is_manager"),
    [
        (ANN, "Owner", True, True),
        (BO, "Developer", True, False),
        (DI, "Guest", False, False),
        (CY, "", False, False),
        (None, "", False, False),
    ],
)
def test_permissions_follow_from_roles(ask, user_id, role, can_develop, is_manager):
    request = ask(user_id)
    assert my_id(request) == user_id
    project = queries.project(request.db, "ann", "site", user_id)
    assert (role_in(request, project), can(request, project, "Developer"), manages(request, project)) == (
        role,
        can_develop,
        is_manager,
    )


def test_archived_projects_can_be_managed_and_not_changed(ask):
    request = ask(CY)
    project = queries.project(request.db, "cy-d", "old", CY)
    assert (can(request, project, "Guest"), manages(request, project)) == (False, True)


@pytest.mark.parametrize(
    ("user_id", "name", "role", "even_archived", "result"),
    [
        (BO, "ann/site", None, False, "site"), (BO, "ann/site", "Developer", False, "site"), (DI, "ann/site", "Developer", False, Forbidden),
        (None, "bo.cole/secret", None, False, NotFound), (BO, "bo.cole/secret", "Owner", False, "secret"), (ANN, "ann/absent", None, False, NotFound),
        (CY, "cy-d/old", None, False, "old"), (CY, "cy-d/old", "Owner", False, Forbidden), (CY, "cy-d/old", "Owner", True, "old"),
    ],
)  # fmt: skip
def test_views_of_a_project_get_it_or_refuse(ask, user_id, name, role, even_archived, result):
    view = in_project(role, even_archived=even_archived)(lambda request, project, **_: project["path"])
    namespace, _, path = name.partition("/")
    request = ask(user_id)
    if isinstance(result, str):
        assert view(request, namespace=namespace.upper(), path=path) == result
        assert request.canonical == f"http://localhost/{name}"
    else:
        with pytest.raises(result):
            view(request, namespace=namespace, path=path)


def test_pages_of_members_send_others_to_the_sign_in(ask):
    page = members_only(lambda request, user: user["username"])
    assert page(ask(BO)) == "bo.cole"
    assert page(ask()).location == "/users/sign_in"


def test_lists_have_the_rows_of_a_state_and_the_numbers_of_all(ask):
    tabs = [("opened", "Open", ""), ("closed", "Closed", "state=closed"), ("all", "All", "state=all")]
    for state, titles in (("opened", 3), ("closed", 1), ("all", 4), ("absent", 0)):
        shown = by_state(ask(ANN), "title", "FROM issue WHERE project_id = :id", "iid", {"id": 1}, state, tabs)
        assert len(list(shown["rows"])) == titles
        assert [(label, count, is_shown) for _, label, count, is_shown in shown["tabs"]] == [
            ("Open", 3, state == "opened"), ("Closed", 1, state == "closed"), ("All", 4, state == "all"),
        ]  # fmt: skip
        assert shown["tabs"][1][0] == "/x?state=closed"
