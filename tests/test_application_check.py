"""`webarena-gym app check` finds applications on which episodes are not sound, one fault at a time."""

import json

import pytest

from tests import needs
from tests.errors import expect_error
from webarena_gym import WebArenaLite
from webarena_gym.actions import Action, Kind
from webarena_gym.applications.processes import close_all
from webarena_gym.errors import SnapshotError
from webarena_gym.tools.cli import main

SITE = """
import os
from http.cookies import SimpleCookie

FAULT = os.environ["FAULT"]
SESSIONS = set()
MENU = "<p>Welcome</p><a href='/'>Home</a><a href='/more'>More</a>"
HEAD = "<!doctype html><title>T</title><link rel=stylesheet href='/static/a.css'><script src='/static/a.js'></script>"
DRAFT = "<div id=drafts></div><button type=button onclick='drafts.innerHTML = `<input aria-label=Draft>`'>New</button>"


def answer(environ):
    path = environ["PATH_INFO"]
    signed_in = "session" in SimpleCookie(environ.get("HTTP_COOKIE", "")) and (SESSIONS or FAULT != "memory")
    if path.startswith("/static/"):
        return ("404 Not Found" if FAULT == "static" else "200 OK"), [("Content-Type", "text/css" if "css" in path else "text/javascript")], "/* x */"
    if path == "/login":
        if environ["REQUEST_METHOD"] == "POST":
            SESSIONS.add(1)
            return "303 See Other", [("Location", "/account"), ("Set-Cookie", "session=1; Path=/")], ""
        return "200 OK", [], "<form method=post><input name=user><input name=password type=password><button>In</button></form>"
    if path == "/account":
        return ("200 OK", [], MENU) if signed_in else ("303 See Other", [("Location", "/login")], "")
    if FAULT == "500":
        return "500 Internal Server Error", [], MENU
    if FAULT == "500 on one" and path == "/more":
        return "500 Internal Server Error", [], MENU
    if FAULT == "no start" and path == "/":
        return "404 Not Found", [], MENU
    if FAULT == "no controls":
        return "200 OK", [], "<p>Welcome</p>"
    if FAULT == "random":
        return "200 OK", [], MENU + os.urandom(4).hex()
    return "200 OK", [], HEAD + MENU + (DRAFT.replace("Draft", "Draft${Math.random()}" if FAULT == "random draft" else "Draft") if "draft" in FAULT else "<form><input name=q aria-label=Query></form>")


def application(environ, start_response):
    status, headers, content = answer(environ)
    start_response(status, [*headers] if dict(headers).get("Content-Type") else [("Content-Type", "text/html; charset=utf-8"), *headers])
    return [content.encode()]
"""
TOML = """
name = "one"
wsgi = "one:application"
environment = { FAULT = "%s" }
account = { user = "ann", password = "secret" }
login = { path = "/login", user = "[name=user]", password = "[name=password]", proof = "/account" }
"""
FAULTS = {
    "": None,
    "500": "pages fail: http://one.test/: 500",
    "500 on one": "1 of 2 pages fail: http://one.test/more: 500",
    "no start": "pages fail: http://one.test/: 404",
    "static": "scripts or style sheets cannot be loaded: http://one.test/static/a.css: 404, http://one.test/static/a.js: 404",
    "no controls": "no page has a control that an action can name",
    "memory": "ann is not signed in at the start of an episode: '/account' leads to http://one.test/login",
    "random": "two resets show different pages",
    "draft": None,
    "random draft": "the page http://one.test/ cannot be restored, and after a replay of the actions it differs",
}


def describe(folder, fault):
    (folder / "one.py").write_text(SITE)
    (folder / "webarena-app.toml").write_text(TOML % fault)
    return folder


@pytest.fixture(autouse=True)
def ended():
    yield
    close_all()


@pytest.mark.sampled(2)
@needs.chromium
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_in_both_browsers(tmp_path, capsys, fault):
    status = main(["app", "check", str(describe(tmp_path, fault)), "--resets", "2", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert set(report["browsers"]) == {"inprocess", "chromium"}
    if FAULTS[fault] is None:
        assert (status, report["problems"]) == (0, [])
        return
    assert status == 1
    assert FAULTS[fault] in " ".join(report["problems"])
    if fault != "random":  # the message shows the random text
        assert any(problem.startswith("chromium: ") for problem in report["problems"]) == (fault == "random draft"), report[
            "problems"
        ]


def test_the_traceback_of_a_page_that_fails_is_printed(tmp_path, capsys):
    (tmp_path / "webarena-app.toml").write_text('name = "one"\nwsgi = "one:application"\n')
    (tmp_path / "one.py").write_text("def application(environ, start_response):\n    raise LookupError('no table note')")
    assert main(["app", "check", str(tmp_path), "--resets", "2", "--browser", "inprocess"]) == 1
    assert "LookupError: no table note" in capsys.readouterr().out


def test_pages_to_which_several_links_are_redirected_are_counted_once(tmp_path, capsys):
    describe(tmp_path, "")
    old = """    if path == "/account":"""
    new = """    if path in ("/old", "/older"):
        return "302 Found", [("Location", "/more")], ""
    if path == "/missing":
        return "404 Not Found", [], MENU
"""
    links = "<a href='/old'>1</a><a href='/older'>2</a><a href='/missing'>3</a>"
    site = SITE.replace(old, new + old).replace("<a href='/'>Home</a>", "<a href='/'>Home</a>" + links)
    (tmp_path / "one.py").write_text(site)
    assert main(["app", "check", str(tmp_path), "--browser", "inprocess", "--resets", "2"]) == 0
    report = capsys.readouterr().out
    assert "pages visited: 3 (status 200: 2, status 404: 1)" in report


def test_the_progress_of_a_slow_application_is_shown(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("webarena_gym.progress._LINE_INTERVAL_S", 0.0)
    folder = describe(tmp_path, "")
    (folder / "tasks.json").write_text(json.dumps([TASK]))
    (folder / "webarena-app.toml").write_text('tasks = "tasks.json"' + TOML % "")
    assert main(["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        *(f"{completed}/3 resets compared (inprocess)" for completed in range(3)),
        "0/1 tasks checked (inprocess)",
    ]


TASK = {
    "task_id": "a", "sites": ["one"], "start_url": "__ONE__/", "intent": "-",
    "eval": {"eval_types": ["url_match"], "reference_url": "__ONE__/x"},
}  # fmt: skip


@pytest.mark.parametrize("fault", ["draft", "random draft"])
@needs.chromium
def test_script_changes_are_restored_by_replaying_actions_or_refused(opened, tmp_path, fault):
    (tmp_path / "tasks.json").write_text(json.dumps([TASK]))
    env = opened(WebArenaLite(application=describe(tmp_path, fault), browser="chromium", tasks=tmp_path / "tasks.json"))
    env.reset()
    assert "replayed" not in env.restore(env.snapshot())[1]
    page = env.step(env.dialect.format(Action(Kind.CLICK, next(iter(_names(env, "button"))))))[4]["page"]
    changed = env.snapshot()
    env.reset()
    if fault == "draft":
        for _ in range(2):
            _, info = env.restore(changed)
            assert (info["page"], info["replayed"]) == (page, 1)
        assert len(_names(env, "input")) == 1
    else:
        with pytest.raises(SnapshotError, match=r"after a replay of the actions it differs: .*Draft"):
            env.restore(changed)


def _names(env, tag):
    return [name for name, node in env.observation.nodes.items() if node.element.tag == tag]


SAVING = """
import os

def application(environ, start_response):
    if environ["PATH_INFO"] == "/save":
        with open(os.environ["STATE"] + "/log.txt", "a") as log:
            log.write(os.urandom(4).hex() if os.environ["VARIES"] else "saved")
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><div id=out></div><button onclick='fetch(`/save`).then(() => out.append(`saved`))'>Save</button>"]
"""


@pytest.mark.parametrize("varies", ["", "1"])
@needs.chromium
def test_data_that_differ_after_a_replay_are_named(opened, tmp_path, varies):
    (tmp_path / "saving.py").write_text(SAVING)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "log.txt").write_text("")
    keys = f'name = "one"\nwsgi = "saving:application"\nstate = "state"\nenvironment = {{ STATE = "{{state}}", VARIES = "{varies}" }}\n'
    (tmp_path / "webarena-app.toml").write_text(keys)
    (tmp_path / "tasks.json").write_text(json.dumps([TASK]))
    env = opened(WebArenaLite(application=tmp_path, browser="chromium", tasks=tmp_path / "tasks.json", elements="label"))
    env.reset()
    assert "saved" in env.step('do(action="Click", element="Save")')[4]["page"]
    snapshot = env.snapshot()
    if not varies:
        assert env.restore(snapshot)[1]["replayed"] == 1
        return
    with expect_error(SnapshotError, "one", "/log.txt", "clock="):
        env.restore(snapshot)


@needs.chromium
@pytest.mark.parametrize(
    "script",
    ["setTimeout(() => 1, 300)", pytest.param("new Worker(URL.createObjectURL(new Blob([''])))", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("virtual", [False, True])
def test_the_time_of_scripts_is_reported(tmp_path, capsys, script, virtual):
    (tmp_path / "one.py").write_text(
        f"""def application(environ, start_response):
            start_response("200 OK", [("Content-Type", "text/html")])
            return [b\"\"\"<!doctype html><title>T</title><a href=/>Home</a><script>{script}</script>\"\"\"]"""
    )
    (tmp_path / "webarena-app.toml").write_text(
        f'name = "one"\nwsgi = "one:application"\nvirtual_time = {str(virtual).lower()}'
    )
    main(["app", "check", str(tmp_path), "--resets", "2", "--browser", "chromium"])
    printed = capsys.readouterr().out
    assert ("scripts run in virtual time" in printed) == virtual
    assert ("scripts run in real time" in printed) == (not virtual)
    assert ("real time passes as well" in printed) == (virtual and "Worker" in script)
