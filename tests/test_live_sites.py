"""Real servers: their addresses, accounts, helper functions and logins, and what the doctor says about them."""

import json
from importlib.util import find_spec

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.official_pages import Shop
from tests.serving import outcome_of, serving
from webarena_gym.addresses import (
    PUBLISHED_ACCOUNTS,
    Account,
    addresses_from_environment,
    find_account,
    hosts,
    placeholders,
    read_addresses,
    resolve_all,
)
from webarena_gym.backends.live_sites import LiveSitesBackend
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.clients.rest import RefusedError, request_json
from webarena_gym.errors import BrowserError, EvaluationError, ServerError, SnapshotError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.helpers import HELPERS, HelperContext
from webarena_gym.logins import LOGINS, Login, Sessions, is_signed_in, log_in, login_sites, read_cookies, write_cookies
from webarena_gym.pages.page import Network
from webarena_gym.sites.catalogue import SITES
from webarena_gym.tasks.task import parse_task
from webarena_gym.tools import doctor
from webarena_gym.tools.cli import main
from webarena_gym.tools.doctor import examine


class TestAddresses:
    def test_given(self):
        given = {"shopping": "http://a.test:7770/", "shopping_admin": "https://a.test/admin"}
        assert read_addresses(given) == {"shopping": "http://a.test:7770", "shopping_admin": "https://a.test/admin"}

    @pytest.mark.parametrize(("given", "said"), [
        ({"My Shop": "http://a.test"}, "invalid site name 'My Shop'"),
        ({"map": "a.test:3000"}, "expected http://host:port"),
        ({"map": "ftp://a.test"}, "expected http://host:port"),
        ({"map": "http://"}, "expected http://host:port"),
        ({"map": "http://[x"}, "expected http://host:port"),
        ({"map": "http://a.test:99999"}, "expected http://host:port"),
        ({"map": None}, "expected http://host:port"),
        ({}, "no server addresses"),
    ])  # fmt: skip
    def test_wrong(self, given, said):
        with pytest.raises(ServerError) as caught:
            read_addresses(given)
        assert said in str(caught.value)

    def test_from_the_environment(self):
        values = {
            "SHOPPING": "http://a.test:1/", "WA_SHOPPING": "http://b.test:2", "HOMEPAGE": "index.html", "PATH": "http://x",
        }  # fmt: skip
        assert addresses_from_environment(values) == {"shopping": "http://b.test:2"}
        assert addresses_from_environment({}) == {}
        every = {site.upper(): f"http://{number}.test" for number, site in enumerate(SITES)}
        assert list(addresses_from_environment(every)) == list(SITES)

    def test_what_follows(self):
        addresses = {"shopping": "http://a.test:7770", "map": "http://b.test/map"}
        assert placeholders(addresses) == {"__SHOPPING__": "http://a.test:7770", "__MAP__": "http://b.test/map"}
        assert hosts(addresses) == {"a.test:7770", "b.test:80"}
        resolved = resolve_all({"url": "__MAP__/x", "n": [1, None, "__SHOPPING__"]}, placeholders(addresses))
        assert resolved == {"url": "http://b.test/map/x", "n": [1, None, "http://a.test:7770"]}


class TestAccounts:
    def test_the_nearest_wins(self):
        values = {"WEBARENA_GYM_REDDIT_USER": "bo", "WEBARENA_GYM_REDDIT_PASSWORD": "pw", "WEBARENA_GYM_MAP_USER": "cy"}
        assert find_account("reddit", environment={}) == PUBLISHED_ACCOUNTS["reddit"]
        assert find_account("reddit", environment=values) == Account("bo", "pw")
        assert find_account("reddit", {"reddit": Account("di", "x")}, values) == Account("di", "x")
        assert find_account("map", environment={}) is None
        assert find_account("map", environment=values) == Account("cy", "")
        assert list(LOGINS) == list(PUBLISHED_ACCOUNTS)
        assert "secret" not in f"{Account('ann', 'secret')!r} {[Account('ann', 'secret')]}"


class TestHelpers:
    @pytest.fixture
    def shop(self):
        shop = Shop()
        with serving(shop) as address:
            yield shop, HelperContext(lambda _: "", {"__SHOPPING__": address}, {})

    def test_the_newest_order_and_review(self, shop):
        made, scene = shop
        assert HELPERS["shopping_get_latest_order_url"](scene) == scene.urls["__SHOPPING__"] + "/sales/order/view/order_id/170/"
        assert HELPERS["shopping_get_sku_latest_review_author"](scene, "B01") == ""
        assert HELPERS["shopping_get_sku_latest_review_rating"](scene, "B01") == ""
        rated = {"nickname": "Ann", "ratings": [{"rating_name": "Rating", "percent": 80}]}
        made.reviews["B01"] = [{"nickname": "Bo", "ratings": []}, rated]
        assert HELPERS["shopping_get_sku_latest_review_author"](scene, "B01") == "Ann"
        assert HELPERS["shopping_get_sku_latest_review_rating"](scene, "B01") == "80"

    @pytest.mark.parametrize("broken", ["down", "<html>", "{}", '{"items": []}', "[3]"])
    def test_a_shop_that_does_not_tell_is_no_verdict(self, shop, broken):
        made, scene = shop
        made.broken = broken
        with pytest.raises(EvaluationError, match="the shop"):
            HELPERS["shopping_get_latest_order_url"](scene)

    def test_the_wrong_administrator_and_no_shop(self, shop):
        _, scene = shop
        with pytest.raises(EvaluationError, match="401"):
            HELPERS["shopping_get_latest_order_url"](scene._replace(accounts={"shopping_admin": Account("a", "b")}))
        with pytest.raises(EvaluationError, match="no address for shopping"):
            HELPERS["shopping_get_latest_order_url"](HelperContext(lambda _: "", {}, {}))

    @pytest.mark.parametrize(("url", "expected"), [
        ("http://f.test/f/books/12/title", "http://f.test/f/books/12/"),
        ("http://f.test/f/books", "http://f.test/f/books"),
        ("http://f.test/u/ann/12/x", "http://f.test/u/ann/12/x"),
        ("about:blank", "about:blank"),
    ])  # fmt: skip
    def test_posts(self, url, expected):
        assert HELPERS["reddit_get_post_url"](None, url) == expected


def test_a_redirect_is_not_followed_with_a_token_and_no_file_is_read():
    asked = []

    @Request.application
    def app(request):
        asked.append(request.path)
        return Response("", status=302, headers={"Location": "/other"})

    with serving(app) as address, pytest.raises(RefusedError, match="302"):
        request_json(address, token="secret")
    assert asked == ["/"]
    with pytest.raises(ServerError, match="expected http"):
        request_json("file:///etc/passwd")


FORM = "<form method=post action=/in><input name=user><input name=password type=password><button>In</button></form><p>{}"
LOGIN = Login("/in", "[name=user]", "[name=password]", "/me")
ANN = Account("ann", "pw")


@Request.application
def portal(request):
    """An application with a form, a cookie, and a page for those who have it."""
    if request.path == "/in" and request.form:
        if request.form.to_dict() != {"user": "ann", "password": "pw"}:
            return Response(FORM.format("That is not right."), mimetype="text/html")
        answer = Response("", status=303, headers={"Location": "/"})
        answer.set_cookie("who", "ann")
        return answer
    if request.path == "/me" and request.cookies.get("who") != "ann":
        return Response("", status=302, headers={"Location": "/in"})
    return Response(FORM.format("") if request.path == "/in" else "<p>Hello", mimetype="text/html")


@pytest.fixture
def browser(opened):
    made = opened(InProcessBrowser(Network({"portal.test": portal})))
    made.start([], {})
    return made


class TestLogins:
    @pytest.mark.parametrize("login", [LOGIN, LOGIN._replace(word="Hello", proof="/me?of={user}")])
    def test_in(self, browser, login):
        assert not is_signed_in(browser, login, "http://portal.test", ANN)
        log_in(browser, login, "http://portal.test", ANN)
        assert browser.page().url == f"http://portal.test{login.proof.format(user='ann')}"
        assert is_signed_in(browser, login, "http://portal.test", ANN)

    @pytest.mark.parametrize(("login", "address", "user", "said"), [
        (LOGIN, "http://portal.test", "bo", "bo could not sign in at http://portal.test/in.*That is not right"),
        (LOGIN._replace(path=""), "http://nowhere.test", "ann", "can't be reached"),
        (LOGIN._replace(path=""), "http://portal.test/hello", "ann", "no user field"),
        (LOGIN._replace(user="button"), "http://portal.test", "ann", "cannot be used"),
    ])  # fmt: skip
    def test_refused(self, browser, login, address, user, said):
        with pytest.raises(ServerError, match=said):
            log_in(browser, login, address, Account(user, "pw"))


class TestSessions:
    def test_need_an_address_and_an_account_and_differ_by_both(self, tmp_path):
        sessions = Sessions({"map": "http://a.test"}, logins={"map": LOGIN}, folder=tmp_path)
        with pytest.raises(ServerError, match="WEBARENA_GYM_MAP_USER"):
            sessions.path("map")
        with pytest.raises(ServerError, match="no address for reddit"):
            sessions.path("reddit")
        paths = {
            Sessions({"reddit": f"http://{host}"}, accounts={"reddit": Account(user, "")}, folder=tmp_path).path("reddit")
            for host in ("a.test", "b.test")
            for user in ("ann", "bo")
        }
        assert len(paths) == 4

    @pytest.mark.parametrize("content", ["", "[", "[]", "{}", '{"cookies": 3}', '{"cookies": [3]}', None])
    def test_what_makes_no_sense_holds_no_cookies(self, tmp_path, content):
        if content is not None:
            (tmp_path / "state").write_text(content)
        assert read_cookies(tmp_path / "state") == []

    def test_what_cannot_be_written(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ServerError, match="cannot write the session"):
            write_cookies(tmp_path / "file" / "state", [])


@pytest.mark.parametrize(("record", "sites"), [
    ({}, ("shopping", "reddit")),
    ({"storage_state": "./.auth/reddit_state.json"}, ("reddit",)),
    ({"storage_state": "./.auth/gitlab.reddit_state.json"}, ("gitlab", "reddit")),
    *[({"storage_state": none}, ("shopping", "reddit")) for none in (None, "", "mine.json", "../../etc_state.json")],
    ({"require_login": False, "storage_state": "./.auth/reddit_state.json"}, ()),
])  # fmt: skip
def test_a_task_begins_signed_in_where_its_storage_state_says(record, sites):
    block = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
    task = {"task_id": 7, "sites": ["shopping", "reddit"], "start_url": "__SHOPPING__", "intent": "", "eval": block}
    read = parse_task(task | record)
    assert login_sites(read.sites, read.storage_state, require_login=read.require_login) == sites


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


def test_evaluators_read_what_helpers_say(browser):
    shop = Shop()
    shop.reviews["B01"] = [{"nickname": "Ann"}]
    with serving(shop) as address:
        browser.goto("http://portal.test/x")
        author = "func:shopping_get_sku_latest_review_author('B01')"
        target = {"url": "last", "locator": author, "required_contents": {"exact_match": "Ann"}}
        block = {"eval_types": ["program_html"], "program_html": [target]}
        (verdict,) = evaluate(block, "", outcome_of(browser, {"__SHOPPING__": address}, scripts=False), rules="vab")
    assert verdict.passed  # without scripts, too


class TestDoctor:
    @needs.chromium
    def test_all_is_well(self, tmp_path):
        with serving(portal) as address:
            servers = {"map": address, "reddit": address}
            found = list(examine(servers, accounts={"reddit": ANN}, logins={"reddit": LOGIN}, folder=tmp_path))
        assert [finding.what for finding in found if finding.is_well] == [
            "cache",
            "in-process browser",
            "Chromium",
            "map",
            "reddit",
            "reddit login",
        ]

    @needs.chromium
    def test_what_is_wrong_and_what_to_do(self, tmp_path):
        @Request.application
        def failing(request):
            return Response("no", status=502)

        with serving(portal) as gone:
            pass
        (tmp_path / "file").write_text("")
        with serving(portal) as address, serving(failing) as other:
            addresses = {"map": gone, "reddit": address, "gitlab": other, "wikipedia": f"{address}/in"}
            wrong = {"reddit": Account("bo", "pw")}
            found = list(examine(addresses, accounts=wrong, logins={"reddit": LOGIN}, folder=tmp_path / "file"))
        ill = {finding.what: finding for finding in found if not finding.is_well}
        assert list(ill) == ["cache", "map", "reddit login", "gitlab"]
        assert "WEBARENA_GYM_CACHE" in ill["cache"].advice
        assert "did not answer" in ill["map"].result
        assert "could not sign in" in ill["reddit login"].result
        assert "WEBARENA_GYM_REDDIT_USER" in ill["reddit login"].advice
        assert "502" in ill["gitlab"].result

    def test_no_chromium(self, tmp_path, monkeypatch):
        monkeypatch.setenv("WEBARENA_GYM_CHROMIUM", str(tmp_path / "none"))
        for chosen, servers, is_optional in (
            (None, {}, True),
            ("chromium", {}, False),
            (None, {"map": "http://127.0.0.1:1"}, False),
        ):
            cache, inprocess, browser, *_ = examine(servers, browser=chosen, folder=tmp_path)
            assert cache.is_well
            assert inprocess.is_well
            assert (browser.is_well, browser.is_optional) == (False, is_optional)
            assert browser.advice

    @pytest.mark.parametrize(("hidden", "advice"), [
        ({"playwright"}, "pip install 'webarena-gym[chromium]'"), ({"h11", "PIL"}, "pip install 'webarena-gym[chromium]'"),
        (set(), "playwright install chromium"),
    ])  # fmt: skip
    def test_an_installation_without_chromium_is_well(self, tmp_path, monkeypatch, capsys, hidden, advice):
        for site in SITES:
            monkeypatch.delenv(site.upper(), raising=False)
            monkeypatch.delenv(f"WA_{site.upper()}", raising=False)
        monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
        if hidden:
            monkeypatch.setattr(doctor, "find_spec", lambda name: None if name in hidden else find_spec(name))
        else:

            def start(*_, **__):
                raise BrowserError("no Chromium was found; install one with `playwright install chromium`")

            monkeypatch.setattr("webarena_gym.browsers.chromium.browser.ChromiumBrowser", start)
        for arguments, status in ((["doctor"], 0), (["doctor", "--browser", "chromium"], 1)):
            assert main(arguments) == status
            said = capsys.readouterr().out
            assert ("FAIL" in said) == bool(status)
            assert f"\n      {'':<20} {advice}" in said

    def test_the_command(self, tmp_path, monkeypatch, capsys):
        for site in SITES:
            monkeypatch.delenv(site.upper(), raising=False)
            monkeypatch.delenv(f"WA_{site.upper()}", raising=False)
        monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
        assert main(["doctor", "--browser", "inprocess"]) == 0
        assert "ok    cache" in capsys.readouterr().out
        with serving(portal) as gone:
            pass
        assert main(["doctor", "--browser", "inprocess", "--json", "--sites", json.dumps({"map": gone})]) == 1
        said = json.loads(capsys.readouterr().out)
        assert not said["is_well"]
        assert [finding["what"] for finding in said["findings"]] == ["cache", "in-process browser", "map"]
        for text in ("[", "[]", '{"My Shop": "http://a.test"}'):
            assert main(["doctor", "--browser", "chromium", "--sites", text]) == 2
            assert "--sites" in capsys.readouterr().err
