"""The sites' kit: databases that return to what they were, sessions, form keys, one transaction a request."""

import json

import pytest
from jinja2 import DictLoader
from werkzeug.exceptions import Forbidden

from tests.visitors import database_of
from webarena_gym.pages.page import HostUnknownError, Network
from webarena_gym.sites.catalogue import SITES
from webarena_gym.sites.country.seeding import ENDS, sign_in
from webarena_gym.sites.kit.site import CompiledTemplates, Site
from webarena_gym.sites.world import load_site

SCHEMA = """
CREATE TABLE world (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE session (session_id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID;
CREATE TABLE note (text TEXT);
INSERT INTO world VALUES ('seed', '7'), ('now', '2023-03-05 10:00:00');
"""

site = Site("notes", __file__)


@site.get("/")
def home(request):
    request.session["visits"] = request.session.get("visits", 0) + 1
    return f"<p>{request.session['visits']} at {request.now:%Y-%m-%d}</p><i>{request.form_key}</i>"


@site.get("/find/<word>")
def find(request, word):
    return f"{word} {request.args.get('q', '')}"


@site.post("/write")
def write(request):
    request.db.execute("INSERT INTO note VALUES (?)", (request.form["text"],))
    if request.form["text"] == "fail":
        raise RuntimeError("a bug")
    if request.form["text"] == "refuse":
        request.session["visits"] = 100
        raise Forbidden
    return "ok"


@pytest.fixture
def database():
    return database_of(SCHEMA)


@pytest.fixture
def network(database):
    return Network({"notes.test": site.app(database)})


def notes(database):
    return [row["text"] for row in database.connection.execute("SELECT text FROM note")]


def visit(network):
    answer = network.request("GET", "http://notes.test/")
    cookie = answer.header("Set-Cookie").partition(";")[0]
    return cookie, answer.body.decode().partition("<i>")[2].partition("</i>")[0]


def post(network, cookie, key, text):
    body = f"form_key={key}&text={text}".encode()
    headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    return network.request("POST", "http://notes.test/write", headers, body)


@pytest.mark.parametrize(("rule", "kept"), [("/write", ["one", "two"]), ("/other", ["one", "two", "three"])])
def test_a_session_ends_with_a_form_which_is_lost(network, database, rule, kept):
    cookie, key = visit(network)
    database.connection.execute("UPDATE session SET data = ?", (json.dumps({"user": 1, ENDS: [rule, 2]}),))
    answers = [post(network, cookie, key, text) for text in ("one", "two", "three")]
    assert notes(database) == kept
    (data,) = database.connection.execute("SELECT data FROM session").fetchone()
    if rule == "/write":
        assert (answers[-1].status, answers[-1].header("Location")) == (302, site.sign_in)
        assert json.loads(data) == {"messages": [["error", "Your session has expired. Please sign in again."]]}
        assert post(network, cookie, key, "four").status == 200  # who goes on without signing in does so as a stranger
    else:
        assert json.loads(data)["user"] == 1


def test_every_site_has_a_login_page():
    for name in set(SITES) - {"homepage"}:
        own = load_site(name)
        assert own.rule("GET", own.sign_in), name
        assert own.rule("POST", own.sign_in), name


def test_sessions_use_cookies_change_at_login_and_use_the_clock_of_the_world(network, database):
    first, second = (sign_in(database.connection, customer_id=1) for _ in range(2))
    assert first != second
    database.reset()
    assert first == sign_in(database.connection, customer_id=1)
    cookie, _ = visit(network)
    assert cookie.startswith("sid=")
    answer = network.request("GET", "http://notes.test/", {"Cookie": cookie})
    assert answer.body.startswith(b"<p>2 at 2023-03-05</p>")
    assert answer.header("Set-Cookie") == ""
    assert b"<p>1 at" in network.request("GET", "http://notes.test/", {"Cookie": "sid=forged"}).body


def test_posts_need_the_form_key_and_failing_views_are_rolled_back(network, database):
    cookie, key = visit(network)
    assert post(network, cookie, key, "kept").status == 200
    other_cookie, _ = visit(network)  # this little site has not the error page that the kit asks for
    assert post(network, other_cookie, key, "forged").status == 500
    assert post(network, cookie, key, "fail").status == 500
    assert notes(database) == ["kept"]
    assert post(network, cookie, key, "fine").status == 200


def test_rejecting_views_are_rolled_back_and_show_an_error_page(database):
    polite = Site("polite", __file__)
    polite.get("/")(home)
    polite.post("/write")(write)
    polite.templates.loader = DictLoader({"error.html": "{{ code }} {{ messages }} {{ request.form_key }}"})
    network = Network({"notes.test": polite.app(database)})
    cookie, key = visit(network)
    answer = post(network, cookie, key, "refuse")
    assert (answer.status, answer.body.decode()) == (403, f"403 [] {key}")
    assert notes(database) == []
    assert network.request("GET", "http://notes.test/", {"Cookie": cookie}).body.startswith(b"<p>2 at")
    stranger = post(network, "", "forged", "text")
    assert stranger.status == 400
    cookie = stranger.header("Set-Cookie").partition(";")[0]
    answer = network.request("GET", "http://notes.test/", {"Cookie": cookie})
    assert answer.header("Set-Cookie") == "", "the session that the error page began is kept"
    assert post(network, cookie, answer.body.decode().partition("<i>")[2].partition("</i>")[0], "fine").status == 200


def test_addresses_outside_ascii_arrive_whole_and_there_is_nothing_outside_the_network(network):
    answer = network.request("GET", "http://notes.test/find/caf\u00e9?q=\u00fc")
    assert answer.body.decode() == "caf\u00e9 \u00fc"
    assert network.request("GET", "http://notes.test/find/caf%C3%A9?q=%C3%BC").body.decode() == "caf\u00e9 \u00fc"
    assert network.request("GET", "http://notes.test/find/x?q=a%00%1bb%0Ac").body.decode() == "x ab\nc"
    for url in ("http://elsewhere.test/", "https://notes.test/", "file:///etc/passwd", "http://notes.test:81/"):
        with pytest.raises(HostUnknownError):
            network.request("GET", url)


def test_templates_are_compiled_once_an_installation(tmp_path, monkeypatch):
    def rendered(folder, source="<p>{{ 1 + 1 }}</p>"):
        notes = Site("notes", __file__)
        notes.templates.loader, notes.templates.bytecode_cache = DictLoader({"page.html": source}), CompiledTemplates(folder)
        return notes.templates.get_template("page.html").render()

    assert rendered(tmp_path / "kept") == "<p>2</p>"
    (tmp_path / "file").write_text("")
    assert rendered(tmp_path / "file") == "<p>2</p>"  # which only costs time
    monkeypatch.setattr("jinja2.Environment._compile", lambda *_: pytest.fail("compiled again"))
    assert rendered(tmp_path / "kept") == "<p>2</p>"
    with pytest.raises(pytest.fail.Exception):
        rendered(tmp_path / "kept", "<p>{{ 1 + 2 }}</p>")
    monkeypatch.undo()
    (kept,) = (tmp_path / "kept").iterdir()
    for size in (0, 20, kept.stat().st_size - 1):
        kept.write_bytes(kept.read_bytes()[:size])
        assert rendered(tmp_path / "kept") == "<p>2</p>"  # and the file is whole again
