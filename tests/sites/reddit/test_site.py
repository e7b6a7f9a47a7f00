"""The forum's lists of submissions, the fields of its forms, and pages of members."""

import pytest
from werkzeug.test import EnvironBuilder

from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.layout import PLAIN
from webarena_gym.sites.reddit.queries import PERIODS
from webarena_gym.sites.reddit.site import EMAIL, PER_PAGE, USERNAME, Field, Listing, members_only, my_id, site


@pytest.fixture
def ask(base):
    database = Database(base)

    def build(path="/", user_id=None):
        place, _, query = path.partition("?")
        request = Request(EnvironBuilder(place, query_string=query).get_environ(), database, PLAIN, site.templates)
        request.path_of = lambda _: place
        if user_id is not None:
            request.session["user_id"] = user_id
        return request

    return build


def test_guests_have_the_id_zero_and_are_sent_to_the_login(ask):
    page = members_only(lambda request, user: user["username"])
    assert (my_id(ask()), my_id(ask(user_id=1))) == (0, 1)
    assert page(ask()).location == "/login"
    (name,) = ask().db.execute("SELECT username FROM user WHERE user_id = 1").fetchone()
    assert page(ask(user_id=1)) == name


@pytest.mark.parametrize("sort", ["hot", "new", "top", "controversial"])
def test_a_listing_has_each_visible_submission_of_its_condition_once(ask, sort):
    request = ask("/?t=all", user_id=1)
    listing = Listing(request, "/f/books", sort, "s.forum_id = :forum", {"forum": 1})
    ids = [row["submission_id"] for row in listing.rows]
    assert len(ids) == len({*ids}) == min(listing.pager.total, PER_PAGE)
    assert {row["submission_id"] for row in request.db.execute("SELECT submission_id FROM submission WHERE forum_id = 1")} >= {
        *ids
    }
    if sort == "new":
        assert ids == sorted(
            ids,
            key=lambda number: request.db.execute(
                "SELECT created_at FROM submission WHERE submission_id = ?", (number,)
            ).fetchone()[0],
            reverse=True,
        )


def test_the_period_of_a_listing_limits_its_age_and_is_a_part_of_its_address(ask):
    first = next(iter(PERIODS))
    totals = {}
    for period in PERIODS:
        request = ask(f"/?t={period}")
        totals[period] = Listing(request, "/", "top", "1", {}).pager.total
        assert request.canonical == ("http://localhost/" if period == first else f"http://localhost/?t={period}")
    assert totals["all"] == max(totals.values()) > totals["day"]
    unknown = Listing(ask("/?t=aeon"), "/", "top", "1", {})
    assert (unknown.period, Listing(ask("/?t=day"), "/", "new", "1", {}).period) == (first, "")


@pytest.mark.parametrize(
    ("field", "text", "is_valid"),
    [
        (EMAIL, "ann@mail.test", True), (EMAIL, "ann", False), (USERNAME, "ann_1-b", True), (USERNAME, "an", False),
        (USERNAME, "a" * 25, True), (USERNAME, "a" * 26, False), (USERNAME, "a b c", False),
    ],
)  # fmt: skip
def test_fields_accept_their_patterns(field, text, is_valid):
    assert (field.pattern.fullmatch(text) is not None) is is_valid


def test_messages_are_those_of_the_forum():
    assert Field.missing.format(label="Title") == "Title: this field must not be empty."
    assert Field.too_long.format(label="Title", length=9, limit=5) == "Title: 9 characters are too many, 5 at most."
