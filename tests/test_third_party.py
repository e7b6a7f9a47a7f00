"""A login and a whole episode on software that we did not write: the tracker Roundup, in both browsers.

Chromium uses it over a socket as any real server; the in-process browser calls the same application under the same address.
"""

import json
import re
import stat

import pytest

from tests import needs
from tests.errors import expect_error
from tests.serving import outcome_of
from tests.tracker import ANN, LOGIN, tracking
from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.addresses import Account
from webarena_gym.backends.live_sites import LiveSitesBackend
from webarena_gym.browsers.base import perform_action
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.http import NEEDS_SCRIPTS
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ServerError
from webarena_gym.evaluators import evaluate
from webarena_gym.logins import Sessions, is_signed_in, log_in, read_cookies, write_cookies
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network
from webarena_gym.tasks.task import parse_task

INTENT = "Report a bug with the title Broken lamp, and tell its number."
TASK = {
    "task_id": 1,
    "sites": ["gitlab"],  # the key under which the tracker is known here
    "start_url": "__GITLAB__/issue?@template=index",
    "intent": INTENT,
    "eval": {
        "eval_types": ["string_match", "url_match", "program_html"],
        "reference_answers": {"must_include": ["1"]},
        "reference_url": "__GITLAB__/issue1",
        "url_note": "GOLD in PRED",
        "program_html": [
            {
                "url": "__GITLAB__/issue1",
                "locator": f"document.querySelector('[name={name}",
                "required_contents": {"exact_match": expected},
            }
            for name, expected in (("title]').value", "Broken lamp"), ("priority]').selectedOptions[0].innerText", "bug"))
        ],
    },
}
ACTIONS = (
    'do(action="Click", element="Create New")',
    'do(action="Type", argument="Broken lamp", element="title")',
    'do(action="Select Dropdown Option", argument="bug", element="priority")',
    'do(action="Type", argument="It flickers & <hums>.", element="@note")',
    'do(action="Click", element="Submit New Entry")',
)


@pytest.fixture
def tracker(tmp_path):
    with tracking(tmp_path) as made:
        yield made


def make_browser(kind, app, address):
    host = address.removeprefix("http://")
    return InProcessBrowser(Network({host: app})) if kind == "inprocess" else ChromiumBrowser(None, hosts=frozenset([host]))


@pytest.fixture(params=["inprocess", pytest.param("chromium", marks=needs.chromium)])
def browser(request, tracker, opened):
    return opened(make_browser(request.param, *tracker[:2]))


def play(browser, urls, actions):
    """Do the actions of an agent that names elements by label; return what it saw."""
    seen = []
    for action in actions:
        observation = observe(browser.page(), elements="label")
        seen.append(observation.text)
        parsed = DIALECTS["webrl"].parse(action)
        assert parsed.kind is not Kind.EXIT
        perform_action(browser, parsed, None if parsed.element is None else observation.element(parsed.element))
    return [*seen, observe(browser.page(), elements="label").text]


def test_signing_in(browser, tracker):
    _, address, _ = tracker
    browser.start([address], {})
    assert not is_signed_in(browser, LOGIN, address, ANN)
    with expect_error(ServerError, "ann", "Invalid+login"):
        log_in(browser, LOGIN, address, Account("ann", "wrong"))
    log_in(browser, LOGIN, address, ANN)
    assert is_signed_in(browser, LOGIN, address, ANN)
    assert "Hello, ann" in observe(browser.page()).text
    with expect_error(ServerError, "#nobody"):
        log_in(browser, LOGIN._replace(user="#nobody"), address, ANN)


def test_a_whole_episode(browser, tracker):
    _, address, open_database = tracker
    urls = {"__GITLAB__": address}
    browser.start([address], {})
    log_in(browser, LOGIN, address, ANN)
    browser.goto(f"{address}/issue?@template=index")
    scripts = isinstance(browser, ChromiumBrowser)
    block = TASK["eval"] if scripts else {**TASK["eval"], "eval_types": ["string_match", "url_match"]}
    before = evaluate(block, INTENT, outcome_of(browser, urls, "1", scripts=scripts), rules="vab")
    assert [verdict.passed for verdict in before] == [True, *[False] * (len(before) - 1)]

    seen = play(browser, urls, ACTIONS)
    assert '<select label="priority">' in seen[1]
    assert "issue 1 created" in seen[-1]
    assert "It flickers & &lt;hums>." in seen[-1]

    right, wrong = (outcome_of(browser, urls, answer, scripts=scripts) for answer in ("issue 1", "issue 2"))
    for rules in ("webarena", "vab", "r1"):
        assert all(verdict.passed for verdict in evaluate(block, INTENT, right, rules=rules))
    failed = [verdict.check for verdict in evaluate(block, INTENT, wrong, rules="r1") if not verdict.passed]
    assert failed == ["string_match/must_include"]
    database = open_database()
    assert database.issue.get("1", "title") == "Broken lamp"
    assert database.user.get(database.issue.get("1", "creator"), "username") == "ann"
    database.close()


@needs.chromium
def test_both_browsers_see_the_same(tmp_path):
    seen = {}
    for kind in ("inprocess", "chromium"):
        (tmp_path / kind).mkdir()
        with tracking(tmp_path / kind) as (app, address, _):
            browser = make_browser(kind, app, address)
            browser.start([address], {})
            log_in(browser, LOGIN, address, ANN)
            browser.goto(f"{address}/issue?@template=index")
            texts = [text.replace(address, "") for text in play(browser, {}, ACTIONS[:4])]
            seen[kind] = [re.sub(f"Browser: {NEEDS_SCRIPTS}.*\n", "", text) for text in texts]
            browser.close()
    assert seen["chromium"] == seen["inprocess"]


@needs.chromium
class TestSessions:
    @pytest.fixture
    def chromium(self, tracker, opened):
        return opened(make_browser("chromium", *tracker[:2]))

    @pytest.fixture
    def sessions(self, tracker, tmp_path):
        return Sessions({"gitlab": tracker[1]}, accounts={"gitlab": ANN}, logins={"gitlab": LOGIN}, folder=tmp_path / "kept")

    def test_are_kept_for_their_owner_alone_and_used_again(self, sessions, chromium, tracker):
        first = sessions.cookies(chromium, ["gitlab", "map"])  # the map needs no session
        path = sessions.path("gitlab")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text())["cookies"] == first
        assert {"name", "value", "domain", "path", "expires", "secure"} <= set(first[0])
        again = sessions.cookies(chromium, ["gitlab"])
        assert [cookie["value"] for cookie in again] == [cookie["value"] for cookie in first]
        chromium.start([f"{tracker[1]}/"], {}, stored_cookies=again)
        assert "Hello, ann" in observe(chromium.page()).text

    def test_expired_sessions_are_replaced(self, sessions, chromium):
        (first,) = sessions.cookies(chromium, ["gitlab"])
        over = {**first, "value": "0" * len(first["value"])}
        write_cookies(sessions.path("gitlab"), [over])
        (second,) = sessions.cookies(chromium, ["gitlab"])
        assert second["name"] == first["name"]
        assert second["value"] not in {first["value"], over["value"]}
        assert read_cookies(sessions.path("gitlab")) == [second]

    def test_need_the_right_account(self, chromium, tracker, tmp_path):
        wrong = Sessions({"gitlab": tracker[1]}, logins={"gitlab": LOGIN}, folder=tmp_path)
        with expect_error(ServerError, "byteblaze"):
            wrong.cookies(chromium, ["gitlab"])
        assert list(tmp_path.glob("gitlab*")) == []

    def test_a_backend_of_servers_begins_tasks_signed_in(self, tracker, tmp_path):
        _, address, _ = tracker
        known = {"accounts": {"gitlab": ANN}, "logins": {"gitlab": LOGIN}, "folder": tmp_path / "kept"}
        backend = LiveSitesBackend(lambda hosts: ChromiumBrowser(None, hosts=hosts), {"gitlab": address}, **known)
        task = parse_task({**TASK, "intent": "Look at __GITLAB__."})
        assert backend.enter(task) == f"Look at {address}."
        assert "Hello, ann" in observe(backend.browser.page()).text
        play(backend.browser, backend.urls, ACTIONS)
        ended = outcome_of(backend.browser, backend.urls, "1")
        assert all(verdict.passed for verdict in evaluate(task.eval, "", ended, rules="r1"))
        backend.browser.goto("http://127.0.0.1:9/")  # nothing else can be reached
        assert backend.browser.has_failed
        with expect_error(ServerError, "shopping"):
            backend.enter(parse_task({**TASK, "sites": ["shopping"]}))
        backend.close()
