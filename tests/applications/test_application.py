"""The description of an application, its tasks and its templates, and the errors in them."""

import re
import sys
from contextlib import closing
from dataclasses import fields

import pytest

from tests.errors import expect_error
from tests.own_application import folder as folder
from tests.own_application import notes as notes
from tests.own_application import solve
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application, read_application
from webarena_gym.errors import ApplicationError, TaskError
from webarena_gym.logins import Login
from webarena_gym.suite import draw, find, load


def test_tasks_are_named_by_their_ids(notes):
    env = WebArenaLite(application=notes(), tasks="json")
    assert [task.task_id for task in env.tasks] == ["json"]
    for wrong in (lambda: WebArenaLite(application=notes(), tasks=["jsn"]), lambda: env.reset(options={"task": "jsn"})):
        with expect_error(TaskError, "'json'"):
            wrong()


@pytest.mark.parametrize(("key", "value", "message"), [
    ("name", "Notes!", "name is 'Notes!'; expected lower-case letters"),
    ("wsgi", "notes_app", "wsgi is 'notes_app'; expected \"module:name\""),
    ("command", "run {port}", "exactly one of wsgi, asgi, command and image must be set"),
    ("state", "nowhere", "state is 'nowhere'; expected a folder"),
    ("databases", {"notes": "none.db"}, "the database notes is 'none.db'; expected a file in"),
    ("clock", "noon", "clock is 'noon'; expected a time"),
    ("loads", "twice", "loads is 'twice'; expected 'once' or 'each time'"),
    ("login", None, "account and login must be set together"),
    ("incidental", ("a b c",), "incidental: 'a b c' is not a declaration; expected a table, table.column, +table or +table WHERE condition, or files as in /cache/*"),
    ("environment", {"A": "{stat}"}, "environment: A is '{stat}', with the unknown placeholder {stat}"),
    ("environment", {"A": "{env}"}, 'differs between episodes; expected loads = "each time"'),
])  # fmt: skip
def test_invalid_application_settings_name_the_expected_value(notes, key, value, message):
    with pytest.raises(ApplicationError) as caught:
        notes(**{key: value})
    assert message in str(caught.value)


LISTS = [item.name for item in fields(Application) if str(item.type).startswith("tuple")]


def test_a_file_describes_it(folder):
    assert {"warm", "shared", "hidden", "incidental", "inherits", "exclude"} <= {*LISTS}
    found = read_application(folder)
    assert (found.url, found.tasks, found.state_folder) == ("http://notes.test", str(folder / "tasks.json"), folder / "state")
    for wrong, message in (
        ("nmae = 1", "unknown key 'nmae': did you mean 'name'?"),
        ("start_s = 'x'", "start_s is 'x'; expected a number"),
        ("name = [", "cannot be read"),
        ("databases = {a = 1}", "'a' of databases is 1; expected a string"),
        ("login = {path = 1}", "'path' of login is 1; expected a string"),
        *((f"{key} = [1]", f"{key} is [1]; expected a list of strings") for key in LISTS),
        *(
            (f"wsgi = 'a:b'\nexclude = ['/a', {text!r}]", f"exclude contains {text!r}; expected a pattern such as '/runs'")
            for text in ("runs", "", "/runs/", "./a")
        ),
        ('account = {user = "a"}', "account has the keys user; expected user, password"),
        ('login = {path = "/"}', "login has the keys path; expected path, user, password, proof, word (optional)"),
    ):
        named = "" if "name" in wrong else "name = 'notes'"
        (folder / "webarena-app.toml").write_text(f"{wrong}\n{named}")
        with pytest.raises(ApplicationError) as caught:
            read_application(folder)
        assert message in str(caught.value)


def test_start_failures_name_their_cause(notes):
    for more, values in (
        (
            {"wsgi": "notes_app:nothing"},
            ("notes_app:nothing", "'nothing'", "'application'"),
        ),
        ({"wsgi": "nowhere:app"}, ("nowhere:app", "'nowhere'")),
        ({"wsgi": "", "command": "no-program {port}"}, ("'no-program'",)),
        ({"python": "/nowhere/python"}, ("'/nowhere/python'", "notes")),
    ):
        with expect_error(ApplicationError, *values):
            WebArenaLite(application=notes(**more)).reset()
    broken = {"environment": {"NOTES_DB": "{state}/notes.db", "NOTES_BREAKS": "1"}}
    with pytest.raises(ApplicationError) as caught:
        WebArenaLite(application=notes(**broken)).reset()
    message, raised = str(caught.value), r"""    raise KeyError\("SECRET_KEY"\)\nKeyError: 'SECRET_KEY'"""
    assert re.search(
        rf'could not be loaded in the folder .*: Traceback.*\n  File ".*notes_app.py".*\n{raised}', message, re.DOTALL
    )
    assert "host.py" not in message
    assert "Its log:\nthe settings are read" in message
    kept = {"environment": {"NOTES_DB": "{state}/notes.db", "NOTES_KEEPS": "1"}}
    with expect_error(ApplicationError, "notes.db", "notes_app:application"):
        WebArenaLite(application=notes(**kept)).reset()
    open_page = Login("/login", '[name="user"]', '[name="password"]', "/open")
    with expect_error(ApplicationError, "login", "'/open'"):
        WebArenaLite(application=notes(login=open_page)).reset()
    failing = f"{sys.executable} -c 'raise SystemExit(7)' {{port}}"
    with expect_error(ApplicationError, "notes", 7):
        WebArenaLite(application=notes("command", command=failing)).reset()
    with expect_error(TaskError, "'shopping'", "'notes'"):
        WebArenaLite(application=notes(), tasks=["add"]).reset(options={"task": load("test")[0]})
    with expect_error(ValueError, "sites=", "scale=", "variation=", "application="):
        WebArenaLite(application=notes(), scale="large")


def test_templates_draw_tasks_from_its_database(folder):
    env = WebArenaLite(application=folder, elements="label")
    ids = [task.task_id for task in env.tasks]
    assert ids == ["add", "json", "file", *(f"notes.write/0/{draw}" for draw in range(3)), "notes.body/0/0"]
    assert {task.intent.split()[0] for task in draw(world_seed=2, count=9, application=read_application(folder))} == {
        "Add", "Write", "What",
    }  # fmt: skip
    assert [solve(env, name)[1] for name in ids[-2:]] == [1.0, 1.0]
    _, info = env.reset(options={"task": "notes.write/77/5"})
    assert info["goal"] == env.task.intent == find("notes.write/77/5", application=read_application(folder)).intent
    assert {task.task_id.split("/")[1] for task in WebArenaLite(application=folder, world_seed=4).tasks} == {"4"}
    env.close()
    for wrong, values in (
        ("[write]\nintent = 'Do.'", ("templates.toml: write", "`intent`", "`way`")),
        ("[write]\nintent = 'Do.'\nquery = 'SELECT x'\ntype = 'code'\nway = []\nanswer = '1'", ("notes.write", "world 0", "no such column")),
        ("[write\n", ("templates.toml", "line 1")),
        ("[write]\nintent = 'Do.'\nway = []\nanswer = '1'\nstart = '/x'", ("write", "'start'", "'start_url'")),
        ("[write]\nintent = 'Do.'\nway = []\nanswer = '1'\nzebra = 1", ("write", "'zebra'", "start_url", "query")),
    ):  # fmt: skip
        (folder / "templates.toml").write_text(wrong)
        with expect_error(TaskError, *values):
            WebArenaLite(application=folder)


def test_an_application_may_have_templates_and_an_empty_task_file(folder):
    (folder / "tasks.json").write_text("[]")
    with closing(WebArenaLite(application=folder)) as env:
        assert {task.task_id.split("/")[0] for task in env.tasks} == {"notes.write", "notes.body"}
    (folder / "templates.toml").write_text("")
    with expect_error(TaskError, "[]", "app record"):
        WebArenaLite(application=folder)


def test_options_that_an_application_does_not_use_are_refused(notes, folder):
    for application, options, values in (
        (notes(), {"split": "test"}, ("split='test'", "application=")),
        (notes(), {"world_seed": 7}, ("world_seed=7", "notes")),
        (
            read_application(folder),
            {"world_seed": 7, "tasks": ["add"]},
            ("world_seed=7", "application=", "tasks="),
        ),
    ):
        with expect_error(ValueError, *values):
            WebArenaLite(application=application, **options)
    with closing(WebArenaLite(application=read_application(folder), world_seed=7)) as env:
        assert {task.world_seed for task in env.tasks} == {7}
