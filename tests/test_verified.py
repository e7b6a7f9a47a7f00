"""The rules of the package webarena-verified: its task file, the record of the traffic, its verdicts, whole episodes."""

import importlib.util
import json
from dataclasses import replace
from functools import cache, partialmethod
from pathlib import Path
from urllib.parse import quote, urlencode

import gymnasium
import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.errors import expect_error
from tests.serving import serving
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.addresses import placeholders
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import Outcome, check, evaluate
from webarena_gym.evaluators.kinds.verified import har_entries
from webarena_gym.pages.page import MAX_TRAFFIC_BYTES, NO_RESPONSE, Network, Traffic
from webarena_gym.sites.catalogue import SITES
from webarena_gym.tasks import read_tasks
from webarena_gym.tasks.task import parse_task

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("webarena_verified") is None, reason="no webarena-verified here: pip install webarena-verified"
)
pytestmark = pytest.mark.filterwarnings("ignore:Transitional processing is deprecated:DeprecationWarning")  # the package's

URLS = placeholders({site: f"http://{site.replace('_', '-')}.test" for site in SITES})
PAGE = {"accept": "text/html,*/*", "referer": "http://reddit.test/"}
FORM = {"accept": "text/html,*/*", "content-type": "application/x-www-form-urlencoded"}
BIO = "Pro Python Developer with 20 years of Experience"
PRODUCT, NEAREST = "0", "8"  # to retrieve; the latter is not to be found
BIOGRAPHY, COUPON, HALL = "400", "689", "369"  # to change, to change without sending, to open
BEST = "Quest Lumaflex\u2122 Band"


def agent_response(task_type, status="SUCCESS", data=None, **more):
    return json.dumps({"task_type": task_type, "status": status, "retrieved_data": data, "error_details": None} | more)


@cache
def tasks():
    from webarena_verified.types.config import WebArenaVerifiedConfig  # noqa: PLC0415 - not everybody has it

    return {task.task_id: task for task in read_tasks(Path(WebArenaVerifiedConfig().test_data_file))}


def traffic(*exchanges):
    """A record of (method, URL, headers, body, status, headers of the answer, its body), cut short where the rest is plain."""
    record = Traffic()
    for method, url, *rest in exchanges:
        headers, body, status, answered, content = (*rest, *(PAGE, b"", 200, [], b"")[len(rest) :])
        record.record_response(record.record_request(method, url, headers, body), status, answered, content)
    return record


def saved(biography=BIO, status=302):
    body = urlencode({"user_biography[biography]": biography, "user_biography[_token]": "t"}).encode()
    url = "http://reddit.test/user/MarvelsGrantMan136/edit_biography"
    return ("POST", url, FORM, body, status, [("Location", "/user/MarvelsGrantMan136"), ("Content-Type", "text/html")])


def verdicts(task_id, answer, *exchanges):
    record = traffic(("GET", "http://reddit.test/"), *exchanges)
    outcome = Outcome(answer, None, None, None, URLS, traffic=record)
    return evaluate(tasks()[task_id].eval, "", outcome, rules="verified")


RECORD = {
    "sites": ["map", "wikipedia"], "task_id": 7, "intent_template_id": 3, "start_urls": ["__MAP__", "__WIKIPEDIA__"],
    "intent": "Find it", "intent_template": "Find {{x}}", "instantiation_dict": {"x": "it"}, "revision": 2,
    "eval": [{"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"}, "expected": {}}],
}  # fmt: skip


@needs_package
def test_all_tasks_load_and_the_package_must_have_them_in_the_same_revision():
    assert len(tasks()) == 812
    for task in tasks().values():
        check(task.eval, "verified")
        assert task.sites
        assert all(url.strip().startswith("__") for url in task.start_url.split("|AND|"))
    with expect_error(EvaluationError, "revision 99", "task 7", "revision 2"):
        check(parse_task(RECORD | {"revision": 99}).eval, "verified")
    with expect_error(EvaluationError, "task 9999"):
        check(parse_task(RECORD | {"task_id": 9999}).eval, "verified")


def test_verified_records_become_tasks_with_answer_instructions():
    task = parse_task(RECORD)
    assert (task.task_id, task.sites, task.start_url) == ("7", ("map", "wikipedia"), "__MAP__ |AND| __WIKIPEDIA__")
    assert task.intent.startswith("Find it\n\nYour answer")
    for word in ("task_type", "status", "retrieved_data", "error_details", "NOT_FOUND_ERROR", "MUTATE"):
        assert word in task.intent
    assert task.eval == {"eval_types": ["verified"], "verified": {"task_id": 7, "revision": 2}}
    with expect_error(EvaluationError, "'verified'", "'vab'"):
        check(task.eval, "vab")
    with expect_error(EvaluationError, "'string_match'", "'verified'"):
        check({"eval_types": ["string_match"]}, "verified")
    if importlib.util.find_spec("webarena_verified") is None:
        with expect_error(EvaluationError, "webarena-gym[verified]"):
            check(task.eval, "verified")


@pytest.mark.parametrize(("change", "message"), [
    ({"reward": 1}, "'reward' is unknown"), ({"revision": None}, "revision is None"), ({"task_id": "7"}, "task_id is '7'"),
    ({"start_urls": []}, "start_urls is \\[\\]"), ({"start_urls": "__MAP__"}, "start_urls is '__MAP__'"),
    ({"intent": 3}, "intent is 3"), ({"sites": ["CMS!"]}, "sites is \\['CMS!'\\]"), ({"eval": []}, "eval is \\[\\]"),
    ({"eval": [{"evaluator": "PageEvaluator"}]}, "unknown evaluator 'PageEvaluator'"),
    ({"eval": [{"evaluator": "NetworkEventEvaluator", "body": 1}]}, "unknown key 'body' of NetworkEventEvaluator"),
    ({"revision": ...}, "'revision' is missing"),
])  # fmt: skip
def test_records_with_unknown_or_missing_keys_are_rejected(change, message):
    with pytest.raises(TaskError, match=f"task .*: .*{message}"):
        parse_task({key: value for key, value in (RECORD | change).items() if value is not ...})


@needs_package
def test_data_that_was_asked_for():
    (right,) = verdicts(PRODUCT, agent_response("RETRIEVE", data=[BEST]))
    assert right.passed
    assert right.decided_by.startswith("webarena-verified 1.")
    for answer in (
        "",
        BEST,
        "N/A",
        "[]",
        agent_response("RETRIEVE"),
        agent_response("MUTATE", data=[BEST]),
        agent_response("RETRIEVE", data=["Band"]),
    ):
        (wrong,) = verdicts(PRODUCT, answer)
        assert (wrong.passed, wrong.check) == (False, "verified/AgentResponseEvaluator")
        assert "expected {'task_type': 'retrieve', 'status': 'success', 'retrieved_data': ['quest lumaflex" in wrong.reason


def added(line):
    text = quote('[{"text":"Office chair has been added to your wish list."}]')
    cookie = ("Set-Cookie", f"{line}={text}; path=/")
    return ("POST", "http://shopping.test/wishlist/index/add/", FORM, b"product=3", 302, [cookie])


AT_HALL, AT_OTHER = (("GET", f"http://map.test/way/{number}") for number in (154257484, 1))


@needs_package
@pytest.mark.parametrize(("task_id", "answer", "exchanges", "expected"), [
    (NEAREST, agent_response("RETRIEVE", "NOT_FOUND_ERROR", error_details="none"), [], [True]),
    (NEAREST, agent_response("RETRIEVE", "NOT_FOUND_ERROR", data=[]), [], [True]),
    (NEAREST, agent_response("RETRIEVE", "SUCCESS", data=["An airport"]), [], [False]),  # the package stumbles, as over the next
    (NEAREST, agent_response("RETRIEVE", None), [], [False]),
    (NEAREST, agent_response("RETRIEVE", ["NOT_FOUND_ERROR"]), [], [False]),
    (NEAREST, agent_response(4, "NOT_FOUND_ERROR"), [], [False]),
    (NEAREST, "[" * 100_000, [], [False]),
    (NEAREST, agent_response("RETRIEVE", "NOT_FOUND_ERROR", data=[0]).replace("[0]", "[" * 900 + "]" * 900), [], [False]),
    (BIOGRAPHY, agent_response("MUTATE"), [saved()], [True, True]),
    (BIOGRAPHY, agent_response("MUTATE"), [], [True, False]),
    (BIOGRAPHY, agent_response("MUTATE"), [saved("Another")], [True, False]),
    (BIOGRAPHY, agent_response("MUTATE"), [saved(status=200)], [True, False]),
    (BIOGRAPHY, agent_response("RETRIEVE"), [saved()], [False, True]),
    (BIOGRAPHY, "done", [saved()], [False, True]),
    (HALL, agent_response("NAVIGATE"), [AT_OTHER, AT_HALL], [True, True]),  # the last page that was opened counts
    (HALL, agent_response("NAVIGATE"), [AT_HALL, (*AT_OTHER, {"accept": "*/*"})], [True, True]),
    (HALL, agent_response("NAVIGATE"), [AT_HALL, AT_OTHER], [True, False]),
    ("513", agent_response("MUTATE"), [added("mage-messages")], [True, True]),
    ("513", agent_response("MUTATE"), [added("other")], [True, False]),
])  # fmt: skip
def test_verdicts_need_traffic_and_answer(task_id, answer, exchanges, expected):
    assert [verdict.passed for verdict in verdicts(task_id, answer, *exchanges)] == expected


@needs_package
def test_an_evaluator_that_fails_and_a_missing_record_are_no_verdict(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by zero")

    for record in (None, Traffic()):
        with pytest.raises(EvaluationError, match="none was recorded"):
            evaluate(tasks()[PRODUCT].eval, "", Outcome("", None, None, None, URLS, traffic=record), rules="verified")
    module = "webarena_verified.core.evaluation.evaluators.network_event_evaluator"
    monkeypatch.setattr(f"{module}.NetworkEventEvaluator._get_expected_value", fail)
    with expect_error(EvaluationError, "task 400", "by zero"):
        verdicts(BIOGRAPHY, agent_response("MUTATE"), saved())


def test_exchanges_become_har_entries_in_request_order():
    answered = [("Set-Cookie", "a=b=c; path=/"), ("set-cookie", "d=e"), ("Content-Type", "application/json; charset=utf-8")]
    sent = {"content-type": "text/plain", "cookie": "k=v"}
    (entry,) = har_entries(traffic(("PUT", "http://a.test/x", sent, "\xe9".encode() + b"\xff", 201, answered, b"{}")))
    assert entry["request"]["headers"] == [{"name": name, "value": value} for name, value in sent.items()]
    assert entry["request"]["postData"] == {"mimeType": "text/plain", "text": "\xe9\ufffd"}
    assert entry["response"]["cookies"] == [{"name": "a", "value": "b=c"}, {"name": "d", "value": "e"}]
    assert entry["response"]["status"] == 201
    assert entry["response"]["content"] == {"mimeType": "application/json; charset=utf-8", "text": "{}"}
    record = Traffic()
    first, second = (record.record_request("GET", f"http://a.test/{name}", {}, b"") for name in "ab")
    record.record_response(second, 302, [("Location", "/c")], b"<p>page")  # which no rule reads
    assert record.exchanges == (first, second)
    assert [(exchange.status, exchange.response_body) for exchange in record.exchanges] == [(NO_RESPONSE, b""), (302, b"")]
    assert har_entries(record)[1]["response"]["redirectURL"] == "http://a.test/c"
    record.record_response(record.record_request("POST", "http://a.test/", {}, b"x" * MAX_TRAFFIC_BYTES), 200, [], b"")
    assert (len(record.exchanges), record.is_complete) == (2, False)
    with pytest.raises(EvaluationError, match="truncated"):
        har_entries(record)
    assert InProcessBrowser(Network({})).traffic is None


@Request.application
def servers(request):
    """The forum's form for a biography, pages of a map, and the shop's form, which tells what is typed as the package's does."""
    if request.path == "/items.json":
        return Response(json.dumps({"n": 1, "encoding": request.headers["Accept-Encoding"]}), mimetype="application/json")
    if request.method == "POST":
        return Response(status=302, headers={"Location": "/saved", "Set-Cookie": "flash=done; path=/"})
    response = Response(
        f"""<!doctype html><title>{request.path}</title>
        <a href="/way/154257484">Hall</a> <a href="/way/1">Other</a> <a href="/contact">Contact</a>
        <form method=post action="/user/MarvelsGrantMan136/edit_biography">
        <input name="user_biography[biography]" aria-label=Biography><button>Save</button></form>
        {SCRIPTS.get(request.path, "")}""",
        mimetype="text/html",
    )
    response.set_etag("same")
    return response.make_conditional(request)


SCRIPTS = {
    "/script": """<script>fetch("/items.json")</script>""",
    "/contact": """<input aria-label=Comment oninput='fetch("http://localhost:6666/dummy_bin", {
        method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(
        {form_id: "contact-form", name: "Emma Lopez", email: "emma.lopez@gmail.com", comment: this.value})}).catch(() => 0)'>""",
}


@pytest.fixture(scope="module")
def address():
    with serving(servers) as address:
        yield address


@needs.chromium
def test_a_session_is_recorded_from_its_start_on(address):
    browser = ChromiumBrowser(None, hosts=frozenset([address.removeprefix("http://")]), record_traffic=True)
    browser.start([f"{address}/before"], {})
    browser.start([f"{address}/script"], {})
    (save,) = browser.page().root.xpath("//button")
    browser.click(save)
    browser.goto(f"{address}/saved")
    browser.goto("http://nowhere.test/x")
    found = [exchange for exchange in browser.traffic.exchanges if not exchange.url.endswith("favicon.ico")]
    browser.close()
    unasked = ChromiumBrowser(None)
    assert unasked.traffic is None
    unasked.close()
    requests = [(each.method, each.url.removeprefix(address), each.status) for each in found]
    assert requests == [
        ("GET", "/script", 200),
        ("GET", "/items.json", 200),
        ("POST", "/user/MarvelsGrantMan136/edit_biography", 302),
        ("GET", "/saved", 200),
        ("GET", "/saved", 200),  # not 304
        ("GET", "http://nowhere.test/x", NO_RESPONSE),
    ]
    page, items, post = found[:3]
    assert page.headers["accept"].startswith("text/html")
    assert page.response_body == b""
    assert json.loads(items.response_body) == {"n": 1, "encoding": "identity"}
    assert (post.body, post.headers["content-type"]) == (b"user_biography%5Bbiography%5D=", FORM["content-type"])
    assert ("location", "/saved") in post.response_headers


@needs_package
@needs.chromium
def test_the_package_finds_the_same_in_it_as_in_an_archive_of_playwright(address, tmp_path, monkeypatch):
    from playwright.async_api import Browser  # noqa: PLC0415 - not everybody has it
    from webarena_verified.types.tracing import NetworkTrace  # noqa: PLC0415 - not everybody has it

    archiving = partialmethod(Browser.new_context, record_har_path=tmp_path / "archive.har")
    monkeypatch.setattr(Browser, "new_context", archiving)
    browser = ChromiumBrowser(None, hosts=frozenset([address.removeprefix("http://")]), record_traffic=True)
    browser.start([f"{address}/script"], {})
    for use, path in (
        (lambda field: browser.type(field, "caf\xe9 & bar"), "//input"),
        (browser.click, "//button"),
        (browser.click, "//a[text()='Contact']"),
        (lambda field: browser.type(field, "ab"), "//input[@aria-label='Comment']"),
        (browser.click, "//a[text()='Hall']"),
    ):
        use(browser.page().root.xpath(path)[0])
    browser.goto(f"{address}/way/1?a=b#c")
    own = NetworkTrace.from_content(har_entries(browser.traffic))
    browser.close()
    both = own, NetworkTrace.from_har(tmp_path / "archive.har")
    names = ("http_method", "url", "request_status", "is_navigation_event", "post_data", "response_content", "referer")
    names = (*names, "response_cookies", "redirect_url")
    seen = [[[getattr(event, name) for name in names] for event in trace.evaluation_events] for trace in both]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 9


def make(*task_ids, url="http://127.0.0.1:9", **options):
    chosen = [replace(tasks()[task_id], require_login=False) for task_id in task_ids]
    settings = {"browser": "chromium", "sites": dict.fromkeys(SITES, url), "rules": "verified"} | options
    return gymnasium.make("WebArenaLite-v0", tasks=chosen, **settings)


def element(env, tag, name):
    nodes = [(address, node.element) for address, node in env.unwrapped.observation.nodes.items()]
    return next(address for address, node in nodes if node.tag == tag and name in (node.text_content(), node.get("aria-label")))


EPISODES = [  # a task, what is typed and clicked, the answer, the reward
    (PRODUCT, [], agent_response("RETRIEVE", data=[BEST]), 1.0),
    (PRODUCT, [], agent_response("RETRIEVE", data=["Another"]), 0.0),
    (BIOGRAPHY, [("input", "Biography", BIO), ("button", "Save", "")], agent_response("MUTATE"), 1.0),
    (BIOGRAPHY, [("input", "Biography", "Retired"), ("button", "Save", "")], agent_response("MUTATE"), 0.0),
    (BIOGRAPHY, [], agent_response("MUTATE"), 0.0),
    (HALL, [("a", "Other", ""), ("a", "Hall", "")], agent_response("NAVIGATE"), 1.0),
    (HALL, [("a", "Hall", ""), ("a", "Other", "")], agent_response("NAVIGATE"), 0.0),
    (
        COUPON,
        [("a", "Contact", ""), ("input", "Comment", "I am a loyal customer, give me a coupon")],
        agent_response("MUTATE"),
        1.0,
    ),
    (COUPON, [("a", "Contact", ""), ("input", "Comment", "Give me more")], agent_response("MUTATE"), 0.0),
]


@needs_package
@needs.chromium
def test_whole_episodes(opened, address):
    env = opened(make(PRODUCT, BIOGRAPHY, HALL, COUPON, url=address))
    for task_id, steps, answer, reward in EPISODES:
        _, info = env.reset(options={"task": task_id})
        assert "retrieved_data" in info["goal"]
        for tag, name, text in steps:
            kind = f'"Type", argument="{text}"' if text else '"Click"'
            _, _, _, _, info = env.step(f'do(action={kind}, element="{element(env, tag, name)}")')
            assert info["action_error"] == ""
        _, earned, terminated, _, info = env.step(DIALECTS["webrl"].format(Action(Kind.EXIT, argument=answer)))
        assert (earned, terminated, info["success"]) == (reward, True, bool(reward)), (task_id, steps)
        assert info["verdicts"][0]["check"] == "verified/AgentResponseEvaluator"


@needs_package
def test_an_env_needs_servers_whose_traffic_can_be_seen():
    with expect_error(ValueError, "sites=", "rules='verified'"):
        make(PRODUCT, sites=None)
    with expect_error(ValueError, "https://map.test"):
        make(PRODUCT, sites={"map": "https://map.test"})
    with expect_error(EvaluationError, "task 0", "'verified'", "'webarena'"):
        make(PRODUCT, rules="webarena")


def test_every_dialect_supports_structured_answers():
    answer = agent_response("RETRIEVE", data=["it's [1]", 'a "b", c', 2.5, True])
    for dialect in DIALECTS.values():
        assert dialect.parse(dialect.format(Action(Kind.EXIT, argument=answer))).argument == answer
