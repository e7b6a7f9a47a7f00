"""Errors of a user who brings an application: each names the value, what is expected, and the setting that helps."""

import json
import os
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests import needs
from tests.descriptions import CHECK, TASK, describe, toml
from tests.errors import expect_error
from tests.processes import children
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import read_application
from webarena_gym.errors import ApplicationError, EvaluationError, WebArenaGymError
from webarena_gym.tools.application_check import exploration_task
from webarena_gym.tools.cli import main

__all__ = ["describe"]  # a fixture

COMMAND = {"name": "desk", "wsgi": None, "databases": None, "environment": None, "state": None, "tasks": None}
FORM = {"account": {"user": "ann", "password": "secret"}}
LOGIN = {"path": "/login", "user": "[name=user]", "password": "[name=password]", "proof": "/"}


@pytest.mark.parametrize(("keys", "values"), [
    ({"databse": {"a": "b"}}, ("'databse'", "'databases'")),
    ({"environment": {"PORT": 8080}}, ("environment", 8080, "'PORT'")),
    ({"warm": ["/", 1]}, ("warm", "['/', 1]")),
    ({"warm": ["/"], "wsgi": None, "asgi": "notes:asgi"}, ("warm", "('/',)", "wsgi")),
    ({"warm": ["/"], "loads": "each time"}, ("warm", "('/',)", "loads = \"once\"")),
    ({"draws": True}, ("draws", True)),
    ({"draws": 0}, ("draws", 0)),
    ({"start_s": True}, ("start_s", True)),
    ({"start_s": -1}, ("start_s", -1, 0)),
    ({"network": 1}, ("network", 1)),
    ({"account": {"username": "ann", "password": "secret"}, "login": LOGIN}, ("'username'", "'user'", "'password'")),
    ({"account": {"user": "ann", "password": "secret"}, "login": {**LOGIN, "prof": "/"}}, ("'prof'", "'proof'")),
    ({"account": {"user": "ann", "password": "secret"}, "login": {"path": "/"}}, ("login", "path, user, password, proof, word")),
    ({"wsgi": "notes.py"}, ("wsgi", "'notes.py'", "\"module:name\"", "\"notes:app\"")),
    ({"databases": {"notes": "state/db.sqlite3"}}, ("notes", "'state/db.sqlite3'", "'db.sqlite3'")),
    ({"databases": {"notes": "postgresql://localhost/a"}}, ("dump",)),
    ({"databases": {"notes": "../notes.py"}}, ("notes.py", "state")),
    ({"command": "serve {prot} {port}", "wsgi": None}, ("command", "'serve {prot} {port}'", "{state}")),
    ({"environment": {"A": "{x}"}}, ("environment: A", "'{x}'")),
    ({"load": "sh -c 'a"}, ("load", "\"sh -c 'a\"")),
    ({"command": "cd sub && serve {port}", "wsgi": None}, ("'&&'",)),
    ({"command": "A=b serve {port}", "wsgi": None}, ("'A=b'", "[environment]")),
    ({"save": "dump > {state}/a.sql"}, ("'>'",)),
])  # fmt: skip
def test_an_invalid_value_is_named_with_what_is_expected(describe, keys, values):
    folder = describe(keys)
    with expect_error(ApplicationError, *values) as raised:
        read_application(folder)
    assert "secret" not in str(raised.value)


def test_a_database_is_a_sqlite_file_or_a_dump(describe):
    folder = describe()
    (folder / "state" / "db.sqlite3").write_text("id,title")
    with expect_error(ApplicationError, "b'id,title'"):
        read_application(folder)


def test_an_error_of_the_syntax_shows_the_line(describe):
    folder = describe()
    (folder / "webarena-app.toml").write_text("name = notes\n")
    with expect_error(ApplicationError, "line 1, column 8", "'name = notes'", "TOML"):
        read_application(folder)


@pytest.mark.parametrize(("table", "line"), [
    ("environment", 'templates = "templates.toml"'), ("environment", "draws = 5"), ("account", 'incidental = ["log"]'),
    ("login", "network = true"), ("limits", "start_s = 60"), ("databases", 'templates = "templates.toml"'), ("databases", "draws = 5"),
])  # fmt: skip
def test_a_key_of_the_top_level_inside_a_table_is_rejected(describe, table, line):
    file = describe({table: None}) / "webarena-app.toml"
    file.write_text(f"{file.read_text()}[{table}]\n{line}\n")
    key = line.partition(" ")[0]
    message = rf"\[{table}\] contains {key}, which is a key of the top level; move it above the first \[table\]"
    with pytest.raises(ApplicationError, match=message):
        read_application(file)


def test_a_database_may_have_the_name_of_a_key(describe):
    assert read_application(describe({"databases": {"shown": "db.sqlite3"}})).databases == {"shown": "db.sqlite3"}


def test_a_folder_without_a_description_names_the_command_that_writes_one(tmp_path):
    with expect_error(ApplicationError, tmp_path, "webarena-gym app new"):
        read_application(tmp_path)


def served(server):
    """Return the keys and the file of a command that serves pages; `server` is its last statement."""
    code = """
import os, socket, sys, time
from wsgiref.simple_server import make_server, WSGIServer
PORT = int(sys.argv[1])
class V6(WSGIServer):
    address_family = socket.AF_INET6
def page(environ, start_response, status="200 OK", **headers):
    start_response(status, [("Content-Type", "text/html"), *headers.items()])
    return [b"<h1>Desk</h1><a href=/>Again</a>"]
"""
    return {**COMMAND, "command": f"{sys.executable} desk.py {{port}}", "start_s": 3}, f"{code}{server}"


@pytest.mark.parametrize(("keys", "message"), [
    ({"wsgi": "note:app"}, "there is no module 'note' in the folder or in the packages of"),
    ({"wsgi": "notes:application"}, r"there is no 'application' in notes; expected 'app' or 'make_app\(\)'$"),
    ({"wsgi": None, "asgi": "notes:application"}, r"there is no 'application' in notes; expected 'asgi' or 'make_app\(\)'$"),
    ({"wsgi": "empty:app"}, "there is no 'app' in empty, which contains no functions"),
    ({"wsgi": "notes:__name__"}, "it is 'notes'; expected a WSGI application"),
    ({"wsgi": "notes:asgi"}, 'it is an ASGI application; expected asgi = "notes:asgi"'),
    ({"wsgi": None, "asgi": "notes:app"}, 'it is a WSGI application; expected wsgi = "notes:app"'),
    ({"wsgi": "notes:make_app"}, r'it takes no arguments; expected "notes:make_app\(\)"'),
    ({"wsgi": "notes:app", "python": ".venv/bin/python"}, "cannot be run: No such file or directory. Create it"),
    ({"wsgi": "broken:app"}, r"No module named 'flask_not_there'\nIs the package of 'flask_not_there' installed .* -m pip install"),
    ({"wsgi": "needs:app"}, r'KeyError: \'SECRET_KEY\'\nSet the variable in \[environment\], SECRET_KEY = "..."'),
    ({"wsgi": "writes:app"}, r"Read-only file system: '/etc/desk.log'\nIt writes '/etc/desk.log' outside of its state"),
    ({"load": "no-such-program {state}"}, "the program 'no-such-program' cannot be run: No such file.*\nIs the command right?.* in PATH"),
    ({**COMMAND, "command": "no-such-program {port}"}, "exited with status 127 .*'no-such-program' cannot be run"),
    ({**COMMAND, "command": "./notes.py {port}"}, r"'./notes.py' cannot be run: Permission denied\n.*chmod \+x"),
])  # fmt: skip
@needs.namespaces
def test_an_application_that_cannot_start_names_the_setting_that_helps(describe, keys, message):
    files = {
        "empty": "", "broken": "import flask_not_there", "needs": "import os\nos.environ['SECRET_KEY']", "writes": "open('/etc/desk.log', 'a')",
    }  # fmt: skip
    application = read_application(describe(keys, **files))
    env = WebArenaLite(application=application, tasks=[exploration_task(application)])
    with closing(env), pytest.raises(ApplicationError, match=message) as raised:
        env.reset()
    assert "host.py" not in str(raised.value), "frames of this package help no user"


@pytest.mark.parametrize(("server", "message"), [
    ('print("listening")', r"exited with status 0 before it was ready: listening\nExpected a command that stays in the foreground"),
    ('make_server("127.0.0.1", 8123, page).serve_forever()', r"not ready within 3 s: it listens at 127.0.0.1:8123; expected 127.0.0.1:\d+, which replaces {port}"),
    ("time.sleep(60)", r"it does not respond at 127.0.0.1:\d+; if it needs longer, set start_s"),
    ('socket.create_connection(("127.0.0.1", 5432))', "Connection refused\nIt opens a connection to another program, which needs network = true"),
    ('make_server("127.0.0.1", PORT, lambda e, s: page(e, s, "503 Busy")).serve_forever()', "/ has the status 503, '<h1>Desk.*'; expected one below 500"),
    ('make_server("127.0.0.1", PORT, lambda e, s: page(e, s, "302 Found", Location="http://localhost:8000/a")).serve_forever()',
     "leads to http://localhost:8000/a.*; expected a page of http://desk.test; if desk has a setting of its public address"),
    ('make_server("127.0.0.1", PORT, lambda e, s: page(e, s, "302 Found", Location="/")).serve_forever()', "redirects without end"),
    ('make_server("::1", PORT, page, V6).serve_forever()', ""),
    ('make_server("0.0.0.0", PORT, page).serve_forever()', ""),
    ('make_server("127.0.0.1", PORT, lambda e, s: page(e, s, "302 Found", Location=f"http://localhost:{PORT}/a") if e["PATH_INFO"] == "/" else page(e, s)).serve_forever()', ""),
])  # fmt: skip
@needs.namespaces
def test_commands_that_serve_no_pages_are_described_in_the_error(describe, server, message):
    keys, code = served(server)
    application = read_application(describe(keys, desk=code))
    with closing(WebArenaLite(application=application, tasks=[exploration_task(application)])) as env:
        if not message:
            assert "Again" in env.reset()[0]
            return
        with pytest.raises(WebArenaGymError, match=message):
            env.reset()


def test_polls_of_an_application_that_is_not_ready_do_not_fill_its_log(describe):
    keys, code = served('make_server("127.0.0.1", PORT, lambda e, s: page(e, s, "503 Busy")).serve_forever()')
    application = read_application(describe(keys, desk=code))
    env = WebArenaLite(application=application, tasks=[exploration_task(application)])
    with closing(env), pytest.raises(ApplicationError) as raised:
        env.reset()
    assert str(raised.value).count("GET / HTTP") < 15


SIGN_IN = """
from urllib.parse import parse_qs
FORM = b"<form method=post><input name=user><input name=password type=password><button>In</button></form>"
def app(environ, start_response):
    headers, body = [("Content-Type", "text/html")], FORM
    if environ["PATH_INFO"] not in ("/login", "/public", "/secure") and "s=1" not in environ.get("HTTP_COOKIE", ""):
        start_response("303 See Other", [("Location", "/login")])
        return [b""]
    if environ["REQUEST_METHOD"] == "POST":
        form = parse_qs(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode())
        if form["password"] == ["secret"]:
            start_response("303 See Other", [("Location", "/"), ("Set-Cookie", "s=1; Path=/" + "; Secure" * (environ["PATH_INFO"] == "/secure"))])
            return [b""]
        body = b"<p>Wrong password</p>" + FORM
    start_response("200 OK", headers)
    return [body if environ["PATH_INFO"] in ("/login", "/secure") else b"<h1>Ann</h1>"]
"""


@pytest.mark.parametrize(("login", "password", "message"), [
    ({}, "secre", "'Wrong password In'.* Expected an account that the form accepts"),
    ({"user": "[name=username]"}, "secret", r'no user field.*expected a CSS selector of one of its fields: input\[name="user"\], input\[name="password"\]'),
    ({"user": "[name=user"}, "secret", r"the login field '\[name=user' is not a CSS selector: .*; expected one such as"),
    ({"proof": "/login"}, "secret", "seems to accept ann, but the proof page .* Expected a proof page that redirects signed-out users .*or a `word`"),
    ({"proof": "/public"}, "secret", "'/public' also opens for signed-out users; name a page that redirects them .*, or set login.word"),
    ({"word": "Bob"}, "secret", "seems to accept ann.*It does not contain the word 'Bob'"),
    ({"path": "/secure"}, "secret", "Browsers reject cookies with the attribute Secure over http: s; change that setting"),
])  # fmt: skip
def test_a_login_that_fails_names_the_fields_and_the_pages(describe, login, password, message):
    keys = {**COMMAND, "wsgi": "desk:app", "account": {"user": "ann", "password": password}, "login": {**LOGIN, **login}}
    application = read_application(describe(keys, desk=SIGN_IN))
    env = WebArenaLite(application=application, tasks=[exploration_task(application)])
    with closing(env), pytest.raises(WebArenaGymError, match=message):
        env.reset()


def test_pages_that_all_lead_to_a_login_form_are_a_problem(describe, capsys):
    keys = {**COMMAND, "wsgi": "desk:app"}
    folder = describe(
        keys, desk=SIGN_IN.replace('"/public"', '"/"').replace('("/login", "/secure") else', '("/login", "/") else')
    )
    arguments = ["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]
    assert main(arguments) == 1
    assert "form with a password, such as http://desk.test/: set [account] and [login]" in capsys.readouterr().out
    file = folder / "webarena-app.toml"
    file.write_text(f"{file.read_text()}account = {toml(FORM['account'])}\nlogin = {toml({**LOGIN, 'proof': '/me'})}\n")
    assert main(arguments) == 0, capsys.readouterr().out


def changed(check=(), drop=(), **keys):
    """Return the task with other keys, and another check of the state."""
    state = {key: value for key, value in {**CHECK, **dict(check)}.items() if key not in drop}
    return {**TASK, "eval": {"eval_types": ["state"], "state": [state]}, **keys}


@pytest.mark.parametrize(("task", "message"), [
    (changed(intnet="x"), "unknown key 'intnet'; did you mean 'intent'"),
    (changed(eval={"eval_types": ["states"]}), "unknown eval type 'states'; did you mean 'state'"),
    (changed(eval={"eval_types": ["state"]}), "eval_types contains 'state', but eval has no state; expected its checks under this key"),
    (changed({"querry": "x"}), "a check of the state has the unknown key 'querry'; did you mean 'query'"),
    (changed(drop=["expected"]), "a check of the state lacks expected; expected a list"),
    (changed({"expected": [1]}), r"has expected \[1\]; expected a list of rows, such as \[\[1\]\]"),
    (changed({"site": "db"}), "checks the state of the site 'db'; expected one of 'notes'"),
    (changed({"query": "SELECT count(*) FROM notes"}), r"no such table: notes \(tables: note\)"),
    (changed(site=["notes"]), "unknown key 'site'; did you mean 'sites'"),
    ({**{key: value for key, value in TASK.items() if key != "sites"}, "site": ["notes"]}, "unknown key 'site'; did you mean 'sites'"),
    (changed(start_url="/gone"), "begins at '/gone'; expected an address such as '__NOTES__/gone'"),
    (changed(start_url="http://localhost:8000/a"), "expected an address such as '__NOTES__/a'"),
    (changed(start_url="__NOTE__/a"), "expected an address such as '__NOTES__/a'"),
    (changed(start_url="__NOTES__/gone"), "its start page http://notes.test/gone has the status 404; expected one below 400"),
    (changed(sites=["note"]), "has the site 'note'; expected 'notes', the name of the application"),
    (changed(solution=TASK["solution"][:2]), r'its solution ends with do\(action="Click", element="Add"\); expected the last action exit'),
])  # fmt: skip
@pytest.mark.parametrize("has_solution", [True, False])
def test_the_check_names_what_is_wrong_with_a_task(describe, capsys, task, message, has_solution):
    if not has_solution:
        task = {key: value for key, value in task.items() if key != "solution"}
        if "last action" in message:
            return
    folder = describe(tasks=[task])
    assert main(["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]) in (1, 2)
    printed = "".join(capsys.readouterr())
    assert len(re.findall(message, printed)) == 1, printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(("check", "message"), [
    ({"query": "SELECT titel FROM note"}, "no such column: titel"),
    ({"query": "SELEC 1"}, "near \"SELEC\": syntax error"),
    ({"query": "SELECT count(*) FROM note WHERE title = ?", "parameters": []}, "Incorrect number of bindings supplied"),
    ({"query": "DELETE FROM note"}, "not authorized"),
])  # fmt: skip
def test_a_wrong_query_is_an_error_of_reset(describe, check, message):
    with closing(WebArenaLite(application=describe(tasks=[changed(check)]))) as env:
        for _ in range(2):
            with expect_error(EvaluationError, check["query"], message):
                env.reset()


def test_a_query_of_a_table_that_is_created_later_is_no_error_of_reset(describe):
    with closing(WebArenaLite(application=describe(tasks=[changed({"query": "SELECT a FROM later"})]))) as env:
        env.reset()


def test_warm_pages_are_requested_with_the_host_of_the_application(describe):
    text = """
hosts = []

def app(environ, start_response):
    hosts.append(environ["HTTP_HOST"])
    start_response("200 OK", [("Content-Type", "text/html")])
    return [f"<p>The first host is {hosts[0]}, of {len(hosts)}".encode()]
"""
    with closing(WebArenaLite(application=describe({"warm": ["/"]}, notes=text))) as env:
        assert "The first host is notes.test, of 2" in env.reset()[0]


def test_a_task_file_without_tasks_is_a_note(describe, capsys):
    folder = describe(tasks=[])
    assert main(["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]) == 0
    assert "there are no tasks to check: `app record` adds one\nno problems" in capsys.readouterr().out
    assert main(["evaluate", "--application", str(folder), "--agent", "random"]) == 2
    assert (
        "contains []; expected a list with at least one task; for an application, `webarena-gym app record`"
        in capsys.readouterr().err
    )


def test_a_task_without_a_solution_is_a_note(describe, capsys):
    bare = {key: value for key, value in TASK.items() if key != "solution"}
    done = {**bare, "task_id": "done", "eval": {"eval_types": ["state"], "state": [{**CHECK, "expected": [[0]]}]}}
    arguments = ["app", "check", str(describe(tasks=[bare])), "--resets", "2", "--browser", "inprocess"]
    assert main(arguments) == 0
    assert "milk: no solution to replay; its start page opens" in capsys.readouterr().out
    (describe.folder / "tasks.json").write_text(json.dumps([done]))
    assert main(arguments) == 1
    assert "problems:\ndone: an immediate exit earns the reward" in capsys.readouterr().out


def test_a_solution_on_a_page_that_needs_scripts_names_the_browser(describe, capsys):
    page = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<a href=/>Home</a><div id=root></div><script>document.body.innerHTML = '<input aria-label=Title><button>Add</button>'</script>"]
"""
    folder = describe({"wsgi": "scripted:app"}, scripted=page)
    assert main(["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]) == 1
    assert "there is no element 'Title'" in (printed := capsys.readouterr().out)
    assert "the page needs scripts: check and pack with --browser chromium" in printed


@needs.chromium
def test_pages_that_show_a_text_until_scripts_build_them_are_no_problem(describe, capsys):
    page = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><div id=root>Loading</div><script>root.innerHTML = '<input aria-label=Title><button>Add</button>'</script>"]
"""
    folder = describe({"wsgi": "shell:app"}, tasks=[], shell=page)
    assert main(["app", "check", str(folder), "--resets", "2"]) == 0
    printed = capsys.readouterr().out
    assert "http://notes.test/ needs scripts: use --browser chromium" in printed.partition("chromium: notes starts")[0]
    assert "needs scripts" not in printed.partition("chromium: notes starts")[2]


@pytest.mark.parametrize(("keys", "message"), [
    ({"tasks": "task.json"}, "task.json'; expected an existing file, which `app record` writes too"),
    ({"environment": None}, 'Set the variable in [environment], DATABASE = "..."'),
    ({"environment": {"DATABASE": "{state}/other.db"}}, "Is the path of its database that in {state}"),
    ({"environment": {"DATABASE": "FOLDER/state/db.sqlite3"}}, "It writes outside of its state"),
    ({"wsgi": "links:app"}, "pages lead to this machine, which no episode reaches; expected the public address http://notes.test"),
    ({"wsgi": "hosts:app"}, "Allow the host 'notes.test' in its settings"),
    ({"wsgi": "data:app"}, "no page has a control that an action can name; the first page shows '{}'"),
])  # fmt: skip
@needs.namespaces
def test_the_check_names_the_setting_that_solves_a_problem_of_the_pages(describe, capsys, keys, message):
    page = 'def app(environ, start_response):\n    start_response("{}", [("Content-Type", "{}")])\n    return [b"{}"]\n'
    files = {
        "links": page.format("200 OK", "text/html", "<a href=http://localhost:8000/a>More</a>"),
        "hosts": page.format("400 Bad Request", "text/html", "Invalid HTTP_HOST header"),
        "data": page.format("200 OK", "application/json", "{}"),
    }
    folder = describe(keys, **files)
    assert main(["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]) == 1
    assert message in capsys.readouterr().out


def test_a_template_without_a_known_key_names_the_nearest_one(describe, capsys):
    folder = describe({"templates": "templates.toml"})
    (folder / "templates.toml").write_text('[add]\nintents = "x"\nway = []\n')
    assert main(["app", "check", str(folder), "--resets", "2", "--browser", "inprocess"]) == 2
    assert (
        "add lacks `intent`; expected both `intent` and `way`; 'intents' is unknown: did you mean 'intent'"
        in capsys.readouterr().err
    )


def test_an_application_that_is_not_ready_in_time_is_ended(describe):
    keys, code = served("print(PORT); time.sleep(600)")
    application = read_application(describe({**keys, "start_s": 1}, desk=code))

    def running():
        return [pid for pid in children(os.getpid()) if b"desk.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]

    with closing(WebArenaLite(application=application, tasks=[exploration_task(application)])) as env:
        for _ in range(2):
            with expect_error(ApplicationError, "desk", "1 s"):
                env.reset()
        assert not running()
