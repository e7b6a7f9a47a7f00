"""What sites share: reading forms, pages of lists, visits, times and texts, and writing a new world."""

from datetime import datetime

import pytest
from werkzeug.test import EnvironBuilder

from tests.visitors import database_of
from webarena_gym.sites.country import texts
from webarena_gym.sites.country.seeding import insert
from webarena_gym.sites.country.texts import span
from webarena_gym.sites.gitlab.site import Field as CodeField
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.accounts import members_of, return_url
from webarena_gym.sites.kit.forms import EMAIL, Field, Pager
from webarena_gym.sites.kit.requests import Request, redirect
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.layout import PLAIN
from webarena_gym.sites.reddit.site import USERNAME

SCHEMA = """
CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID;
CREATE TABLE note (note_id INTEGER PRIMARY KEY, text TEXT, made_at TEXT);
INSERT INTO world VALUES ('seed', '7'), ('now', '2023-03-05 10:00:00');
"""


@pytest.fixture
def database():
    return database_of(SCHEMA)


@pytest.fixture
def ask(database):
    def build(path="/", **form):
        method = "POST" if form else "GET"
        place, _, query = path.partition("?")
        environ = EnvironBuilder(place, query_string=query, method=method, data=form).get_environ()
        return Request(environ, database, PLAIN, Site("common", __file__).templates)

    return build


def test_fields_say_what_is_wrong_in_the_words_of_their_site():
    assert Field("Name").complaint("") == "Name is a required field."
    assert CodeField("Name").complaint("") == "Name can't be blank."
    assert Field("Name", required=False).complaint("") == ""
    assert CodeField("Name", limit=3).complaint("long") == "Name is too long: 4 characters, 3 at most."
    assert USERNAME.complaint("a b") == "Username: 3 to 25 letters, digits, dashes and underscores."
    assert EMAIL.complaint("ann@mail") == "Email: please enter a valid email address, for example name@domain.com."
    assert EMAIL.complaint("ann@mail.test") == ""


def test_a_form_is_read_clean_complaints_come_in_the_order_of_the_fields_and_passwords_are_typed_twice(ask):
    fields = {"title": Field("Title"), "text": Field("Text", limit=5), "tag": Field("Tag")}
    values = forms.read(ask(text="  a\r\nb\rc\x07\t!  ", tag="\x00 "), fields)
    assert values == {"title": "", "text": "a\nb\nc\t!", "tag": ""}
    assert forms.clean("half of\ud800 a pair") == "half of a pair"
    assert forms.complaints(values, fields) == [
        "Title is a required field.", "Text is too long: 7 characters, 5 at most.", "Tag is a required field.",
    ]  # fmt: skip

    def said(password, again):
        return forms.password_complaints({"password": password, "password_confirmation": again})

    assert said("long enough", "long enough") == []
    assert said("short", "short") == ["A password needs 8 characters or more."]
    assert said("long enough", "another one") == ["The two passwords are not the same."]


def test_numbers_days_and_addresses_are_known_by_their_shape():
    for text in (None, "", "-1", "1.5", "1e3", "٣", "9999999999", "0x1", "100"):
        assert forms.whole_number(text, 1, 99) is None
    for text in (None, "", "2023-13-01", "2023-02-30", "0000-01-01", "31/12/2023", "20230205"):
        assert forms.day(text) is None
    assert {forms.day(text) for text in ("2023-02-05", "2023-2-5", " 02/05/2023 ", "2/5/2023")} == {"2023-02-05"}
    assert forms.is_email("a@b.cd")
    for text in ("", "a@b", "a b@c.de", "<a@b.cd>", "a" * 251 + "@b.cd"):
        assert not forms.is_email(text)


def test_a_page_of_a_list_holds_its_rows_has_one_address_and_is_reached_by_odd_numbers_too(ask):
    for wanted, page in (("2", 2), ("99", 3), ("0", 1), ("-1", 1), ("x", 1), ("", 1), ("9" * 40, 1)):
        pager = Pager.of(ask(f"/list?p={wanted}"), 25, 10)
        assert (pager.page, pager.pages, pager.first) == (page, 3, 10 * (page - 1))
    pager = Pager.of(ask("/list?tag=a&page=2&tag=%C3%BC"), 25, 10, "page")
    assert (pager.url(3), pager.url(1)) == ("/list?tag=a&tag=%C3%BC&page=3", "/list?tag=a&tag=%C3%BC")
    assert Pager.of(ask("/list?p=2"), 25, 10).url(1) == "/list"
    pager = Pager.of(ask("/list?p=3"), 25, 10)
    assert (pager.cut(range(25)), pager.amount) == ([20, 21, 22, 23, 24], "Items 21-25 of 25")
    assert [Pager.of(ask(), total, 10).amount for total in (0, 1, 2)] == ["0 Items", "1 Item", "2 Items"]


def test_forms_lead_to_no_other_site(ask):
    elsewhere = ("http://evil.test/", "//evil.test", "/\\evil.test", "/\t/evil.test", "/\n/evil.test", "\r//evil.test")
    for address in ("", "elsewhere", *elsewhere):
        assert return_url(ask(return_url=address), "/home") == "/home"
    assert return_url(ask(return_url="/a?b=c"), "/home") == "/a?b=c"


def test_pages_for_members_send_strangers_to_sign_in_and_remember_where_they_were(ask, database):
    row = database.connection.execute("SELECT 5 AS user_id").fetchone()
    guard = members_of(lambda request: row if request.session.get("user_id") else None, "/login", "Please sign in.", "/home")
    page = guard(lambda request, member, **_: str(member["user_id"]))

    stranger = ask("/secret?p=2")
    answer = page(stranger)
    assert (answer.status_code, answer.location) == (redirect("/login").status_code, "/login")
    assert stranger.session == {"after_login": "/secret?p=2", "messages": [["notice", "Please sign in."]]}
    for form, place in (({"return_url": "/there"}, "/there"), ({"return_url": "//evil.test"}, "/home")):
        stranger = ask("/secret", **form)
        page(stranger)
        assert stranger.session["after_login"] == place
    member = ask("/secret")
    member.session["user_id"] = 5
    assert page(member) == "5"


def test_times_spans_and_texts_are_written_as_addresses_counts_and_searches_need_them(ask, database):
    assert ask().stamp == "2023-03-05 10:00:00"
    assert [span(seconds) for seconds in (0, 60, 7200, 86400 * 29, 86400 * 365)] == [
        "", "1 minute", "2 hours", "29 days", "1 year",
    ]  # fmt: skip
    assert span(86400 * 29, in_weeks=True) == "4 weeks"
    assert [texts.slug(text) for text in ("Ärger & Co.", "a--b", "")] == ["rger-co", "a-b", ""]
    assert texts.amount(2, "class") == "2 classes"
    query = r"SELECT ? LIKE ? ESCAPE '\'"
    for text, phrase, found in (("100%", "0%", 1), ("1000", "0%", 0), ("a_b", "_", 1), ("ab", "_", 0), ("a\\b", "\\", 1)):
        assert database.connection.execute(query, (text, texts.like(phrase))).fetchone()[0] == found


def test_rows_are_inserted_whole_or_by_columns_with_times_as_text(database):
    db = database.connection
    insert(db, "note", [(1, "a", datetime(2023, 3, 5, 10))])
    insert(db, "note", iter([("b",)]), "(text)")
    insert(db, "note", [])
    assert [tuple(row) for row in db.execute("SELECT * FROM note")] == [(1, "a", "2023-03-05 10:00:00"), (2, "b", None)]
