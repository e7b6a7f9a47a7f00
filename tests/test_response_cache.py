"""Equal requests to equal databases are answered from memory, and nothing else ever is."""

import sqlite3

import pytest

from webarena_gym.pages.page import Network
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.kit.requests import Response
from webarena_gym.sites.kit.site import CachedResponse, ResponseCache, Site
from webarena_gym.sites.layout import Layout

SCHEMA = """
CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID;
CREATE TABLE note (text TEXT);
INSERT INTO world VALUES ('seed', '7'), ('now', '2023-03-05 10:00:00');
INSERT INTO session VALUES ('me', '{}');
"""
COOKIE = {"Cookie": "sid=me"}
site = Site("counted", __file__)
rendered: list[str] = []


@site.get("/")
def notes(request):
    rendered.append(request.url)
    texts = " ".join(row["text"] for row in request.db.execute("SELECT text FROM note"))
    return f"<p>{texts}</p><i>{request.form_key}</i><b>{request.cookies.get('mood', '')}</b>"


@site.post("/write")
def write(request):
    request.db.execute("INSERT INTO note VALUES (?)", (request.form["text"],))
    return "ok"


@site.get("/file")
def file(request):
    rendered.append(request.url)
    return Response("plain", content_type="text/plain")


@pytest.fixture(autouse=True)
def _nothing_rendered():
    rendered.clear()


@pytest.fixture
def base():
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    return db.serialize()


@pytest.fixture
def episodes(base):
    """Two episodes in one world."""
    responses = ResponseCache()
    databases = [Database(base), Database(base)]
    return [(database, Network({"notes.test": site.app(database, responses=responses)})) for database in databases]


def get(network, path="/", **headers):
    return network.request("GET", f"http://notes.test{path}", {**COOKIE, **headers}).body.decode()


def post(network, text):
    key = get(network).partition("<i>")[2].partition("</i>")[0]
    headers = {**COOKIE, "Content-Type": "application/x-www-form-urlencoded"}
    assert network.request("POST", "http://notes.test/write", headers, f"form_key={key}&text={text}".encode()).status == 200


def test_a_page_is_rendered_once_for_all_episodes_of_a_world(episodes):
    pages = {get(network) for _, network in episodes for _ in range(3)}
    assert len(pages) == len(rendered) == 1


def test_writes_are_visible_and_equal_histories_share_responses(episodes):
    (_, first), (_, second) = episodes
    post(first, "lamp")
    seen = get(first)
    assert "<p>lamp</p>" in seen
    assert "<p></p>" in get(second)
    before = len(rendered)
    post(second, "lamp")
    assert get(second) == seen
    assert len(rendered) == before
    post(second, "mug")
    assert "<p>lamp mug</p>" in get(second)
    assert get(first) == seen


def test_rows_that_others_write_are_never_hidden(episodes):
    database, network = episodes[0]
    get(network)
    database.connection.execute("INSERT INTO note VALUES ('by hand')")
    assert database.state is None
    assert "by hand" in get(network)
    assert "by hand" in get(network)
    post(network, "more")
    assert database.state is None
    assert "by hand more" in get(network)
    assert "by hand" not in get(episodes[1][1])
    database.reset()
    assert "<p></p>" in get(network)


def test_a_restored_database_is_known_by_its_content(episodes):
    (database, network), (other, elsewhere) = episodes
    post(network, "lamp")
    snapshot = database.snapshot()
    post(network, "mug")
    for one, net in ((database, network), (other, elsewhere)):
        one.restore(snapshot)
        assert "<p>lamp</p>" in get(net)
    assert database.state == other.state is not None
    post(network, "pen")
    assert "<p>lamp pen</p>" in get(network)
    assert "<p>lamp</p>" in get(elsewhere)


def test_cached_responses_depend_on_headers_layouts_and_worlds(episodes, base):
    _, network = episodes[0]
    others = ({"Cookie": "sid=me; mood=good"}, {"Referer": "http://notes.test/x"}, {"Host": "other.test"})
    for count, headers in enumerate(({}, *others), 1):
        get(network, **headers)
        assert len(rendered) == count
    rendered.clear()
    responses = ResponseCache()
    for layout in (Layout(1), Layout(2)):
        get(Network({"notes.test": site.app(Database(base), layout, responses)}))
    assert len(rendered) == 2
    get(Network({"notes.test": site.app(Database(base), Layout(1))}))
    assert len(rendered) == 3


def test_request_order_matters_and_sessions_and_files_are_not_cached(episodes):
    _, network = episodes[0]
    cookies = {network.request("GET", "http://notes.test/").header("Set-Cookie") for _ in range(2)}
    assert len(cookies) == 2
    for _ in range(2):
        get(network, "/file")
    assert len(rendered) == 4
    for (_, network), texts in zip(episodes, ("ab", "ba"), strict=True):
        for text in texts:
            post(network, text)
        assert f"<p>{' '.join(texts)}</p>" in get(network)


def test_the_least_recently_used_responses_are_given_up_first():
    responses = ResponseCache(room=30)
    for key in "abc":
        responses.keep(key, CachedResponse("200 OK", [], b"x" * 10))
    assert responses.get("a")
    responses.keep("d", CachedResponse("200 OK", [], b"x" * 10))
    assert [bool(responses.get(key)) for key in "abcd"] == [True, False, True, True]
    responses.keep("e", CachedResponse("200 OK", [], b"x" * 31))
    assert not any(responses.get(key) for key in "abcde")
