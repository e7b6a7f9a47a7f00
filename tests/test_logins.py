"""Log-ins through forms, stored sessions, and the sites on which a task begins signed in."""

import pytest

from tests.errors import expect_error
from tests.portal import ANN, LOGIN, portal
from webarena_gym.addresses import (
    Account,
)
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ServerError
from webarena_gym.logins import Sessions, is_signed_in, log_in, login_sites, read_cookies, write_cookies
from webarena_gym.pages.page import Network
from webarena_gym.tasks.task import parse_task


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

    @pytest.mark.parametrize(("login", "address", "user", "message"), [
        (LOGIN, "http://portal.test", "bo", "bo could not sign in at http://portal.test/in.*That is not right"),
        (LOGIN._replace(path=""), "http://nowhere.test", "ann", "can't be reached"),
        (LOGIN._replace(path=""), "http://portal.test/hello", "ann", "no user field"),
        (LOGIN._replace(user="button"), "http://portal.test", "ann", "cannot be used"),
    ])  # fmt: skip
    def test_refused(self, browser, login, address, user, message):
        with pytest.raises(ServerError, match=message):
            log_in(browser, login, address, Account(user, "pw"))


def test_a_form_that_scripts_show_names_the_browser_that_runs_them(opened):
    page = (
        b"<style>html[x-cloak] { display: none }</style><html x-cloak><script>1</script><form><input name=user><input name=pw>"
    )

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html")])
        return [page]

    browser = opened(InProcessBrowser(Network({"portal.test": app}), strict=True))
    browser.start([], {})
    with expect_error(ServerError, "http://portal.test/in", 'browser="chromium"'):
        log_in(browser, LOGIN._replace(path="/in", user="[name=user]", password="[name=pw]"), "http://portal.test", ANN)


class TestSessions:
    def test_need_an_address_and_an_account_and_differ_by_both(self, tmp_path):
        sessions = Sessions({"map": "http://a.test"}, logins={"map": LOGIN}, folder=tmp_path)
        with expect_error(ServerError, "WEBARENA_GYM_MAP_USER"):
            sessions.path("map")
        with expect_error(ServerError, "reddit"):
            sessions.path("reddit")
        paths = {
            Sessions({"reddit": f"http://{host}"}, accounts={"reddit": Account(user, "")}, folder=tmp_path).path("reddit")
            for host in ("a.test", "b.test")
            for user in ("ann", "bo")
        }
        assert len(paths) == 4

    @pytest.mark.parametrize("content", ["", "[", "[]", "{}", '{"cookies": 3}', '{"cookies": [3]}', None])
    def test_invalid_cookie_files_contain_no_cookies(self, tmp_path, content):
        if content is not None:
            (tmp_path / "state").write_text(content)
        assert read_cookies(tmp_path / "state") == []

    def test_unwritable_cookie_files_are_errors(self, tmp_path):
        (tmp_path / "file").write_text("")
        with expect_error(ServerError, tmp_path / "file" / "state"):
            write_cookies(tmp_path / "file" / "state", [])


@pytest.mark.parametrize(("record", "sites"), [
    ({}, ("shopping", "reddit")),
    ({"storage_state": "./.auth/reddit_state.json"}, ("reddit",)),
    ({"storage_state": "./.auth/gitlab.reddit_state.json"}, ("gitlab", "reddit")),
    *[({"storage_state": none}, ("shopping", "reddit")) for none in (None, "", "mine.json", "../../etc_state.json")],
    ({"require_login": False, "storage_state": "./.auth/reddit_state.json"}, ()),
])  # fmt: skip
def test_storage_states_select_the_signed_in_sites(record, sites):
    block = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
    task = {"task_id": 7, "sites": ["shopping", "reddit"], "start_url": "__SHOPPING__", "intent": "", "eval": block}
    read = parse_task(task | record)
    assert login_sites(read.sites, read.storage_state, require_login=read.require_login) == sites
