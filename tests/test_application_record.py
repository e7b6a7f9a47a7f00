"""`app record`: values that vary are not checked, others are, and a task that its own solution does not solve again is not saved."""

import json
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import needs
from tests.own_application import solve
from tests.varying_app import make_state
from webarena_gym import WebArenaLite
from webarena_gym.actions import Action, Kind
from webarena_gym.applications.processes import close_all
from webarena_gym.changes import Change
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.kinds.program_html import page_shows
from webarena_gym.evaluators.outcome import answer_outcome
from webarena_gym.tasks.task import Step
from webarena_gym.tools import application_record
from webarena_gym.tools.application_record import Recording, _file_check, _row_check, checks_of, contains_time
from webarena_gym.tools.cli import main

TOML = f"""
name = "notes"
wsgi = "varying_app:application"
folder = "{Path(__file__).parent}"
state = "{{0}}/state"
tasks = "{{0}}/tasks.json"
databases = {{{{ notes = "notes.db" }}}}
environment = {{{{ STATE = "{{{{state}}}}" }}}}
"""

BROKEN_FORM = """
def application(environ, start_response):
    broken = environ["REQUEST_METHOD"] == "POST"
    start_response("500 Internal Server Error" if broken else "200 OK", [("Content-Type", "text/html")])
    return [b"<h1>Internal Server Error</h1>" if broken else b"<h1>Notes</h1><form method=post><button>Add</button></form>"]
"""


@pytest.fixture
def folder(tmp_path):
    """The folder of an application that writes times and random values of many kinds."""
    make_state(tmp_path / "state")
    (tmp_path / "webarena-app.toml").write_text(TOML.format(tmp_path))
    yield tmp_path
    close_all()


def record(folder, monkeypatch, *lines, task_id="one", start="/"):
    typed = iter(lines)
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    return main(["app", "record", str(folder), "--goal", "Do it.", "--task-id", task_id, "--start", start])


def test_values_that_vary_are_not_checked_and_all_others_are(folder, monkeypatch):
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    assert record(folder, monkeypatch, "type Title Milk", f"type Due {tomorrow}", "click Add", "exit") == 0
    (task,) = json.loads((folder / "tasks.json").read_text())
    (check, *tags) = sorted(task["eval"]["state"], key=lambda check: len(check["parameters"]), reverse=True)
    columns = ("title", "due", "state", "priority", "since")
    condition = " AND ".join(f'"{name}" = ?' for name in columns)
    assert check["query"] == f'SELECT count(*) FROM "note" WHERE {condition}'
    assert check["parameters"] == ["Milk", tomorrow, "draft", 3, "2001-02-03"], (
        "a date of these days is checked if it was typed"
    )
    assert tags == [], "only what was typed is checked, and a user's last visit is not"
    assert task["eval"]["eval_types"] == ["state", "file"]
    assert task["eval"]["file"] == [{"path": "log.txt", "contains": "Milk"}]
    assert record(folder, monkeypatch, "click Add", "exit", task_id="two") == 0
    checks = json.loads((folder / "tasks.json").read_text())[-1]["eval"]
    named = [check["parameters"] for check in checks["state"] if '"tag"' in check["query"]]
    assert sorted(named) == [[" first"], [" second"], [" third"]], "rows with random keys are paired by their other values"
    assert not any("user" in check["query"] for check in checks["state"]), "nothing but the time has changed in this row"
    assert checks["file"] == [{"path": "log.txt", "contains": "added "}], "and not the longer line, with a time"
    with closing(WebArenaLite(application=folder, elements="label")) as env:
        assert [solve(env, name)[1] for name in ("one", "two")] == [1.0, 1.0]


@pytest.mark.parametrize("form", [
    "%H:%M", "%I:%M %p", "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%a %b %d %H:%M:%S %Y", "%b %e %H:%M", "%a, %d %b %Y %H:%M", "%d-%b-%Y", "%m/%d/%Y", "%d/%m/%Y",
    "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d", "%Y%m%d", "%Y%m%d%H%M", "%Y%m%dT%H%M", "ORDER-%Y%m%d-17", "%Y-%m-%dT%H:%M+00:00",
])  # fmt: skip
@pytest.mark.parametrize("zone_h", [-9, 0, 10])
@pytest.mark.parametrize("start", ["2025-11-30T05:31:04", "2026-03-01T23:59:59", "2024-02-29T12:00:00", "2027-01-01T00:00:00"])
def test_times_of_a_recording_are_recognised_and_no_others(form, zone_h, start):
    time = datetime.fromisoformat(f"{start}+00:00")
    local = time.astimezone(timezone(timedelta(hours=zone_h)))
    assert contains_time(local.strftime(form), time.timestamp())
    assert (
        contains_time(local.strftime(form.replace("%d", str(local.day)).replace("%m", str(local.month))), time.timestamp())
        or "%Y%m%d" in form
    )
    for other in (
        time + timedelta(days=400, minutes=7),
        time - timedelta(days=90, minutes=7),
        time + timedelta(days=9, minutes=7),
    ):
        assert not contains_time(other.strftime(form.replace("+00:00", "")), time.timestamp())


@pytest.mark.parametrize(
    ("lines", "start", "message"),
    [
        (["click View", "exit"], "/", ""),
        (["exit"], "/", "the task has no answer and changes nothing, and the URL and the headings of its last page"),
        (
            ["click About", "exit"],
            "/",
            "the task has no answer and changes nothing, and the URL and the headings of its last page",
        ),
        (["type Title Milk", "exit"], "/view", "one: an immediate exit earns the reward"),
    ],
)
def test_a_task_is_saved_if_its_solution_earns_the_reward_and_nothing_cheaper_does(
    folder, monkeypatch, capsys, lines, start, message
):
    assert record(folder, monkeypatch, *lines, start=start) == bool(message)
    output = capsys.readouterr().out
    assert (f"not recorded: {message}" in output) == bool(message)
    assert (folder / "tasks.json").exists() == (not message)
    assert ('"solution"' in output) == bool(message), "a task that is not saved is printed"


@pytest.mark.parametrize(
    ("link", "check"),
    [
        ("Help", {"eval_types": ["url_match"], "reference_url": "__NOTES__/help?topic=dates"}),
        ("Today", {"eval_types": ["url_match"], "reference_url": "__NOTES__/day"}),
        ("Settings", page_shows("last", "h1", exact_match="Settings")),
    ],
)
def test_a_goal_that_is_a_page_is_checked_by_its_url_or_its_heading(folder, monkeypatch, link, check):
    """Of the URL, parameters that vary are left out; a URL that leads to the start page too is no check."""
    assert record(folder, monkeypatch, f"click {link}", "exit") == 0
    (task,) = json.loads((folder / "tasks.json").read_text())
    assert task["eval"] == check
    with closing(WebArenaLite(application=folder, elements="label")) as env:
        assert solve(env, "one")[1] == 1.0
        for actions in ([], ["View"], ["Help" if link != "Help" else "Settings"]):
            env.reset(options={"task": "one"})
            for name in actions:
                env.step(f'do(action="Click", element="{name}")')
            assert env.step("exit()")[1] == 0.0


def test_quotes_that_are_typed_are_named(folder, monkeypatch, capsys):
    record(folder, monkeypatch, 'type Title "Friday 10:00"', 'type "Title" Milk', "exit")
    assert capsys.readouterr().out.count('texts are typed as they are, here with the quotes: "Friday 10:00"') == 1


@pytest.mark.parametrize("start", ["/", "/it's%20here", f"/{'a' * 300}?page=2"])
def test_a_task_whose_solution_ends_on_an_error_page_is_not_saved(tmp_path, monkeypatch, capsys, start):
    (tmp_path / "state").mkdir()
    (tmp_path / "webarena-app.toml").write_text(
        'name = "one"\nwsgi = "one:application"\nstate = "state"\ntasks = "tasks.json"\n'
    )
    (tmp_path / "one.py").write_text(BROKEN_FORM)
    assert record(tmp_path, monkeypatch, "click Add", "exit", start=start) == 1
    assert f"its solution leads to an error page, POST http://one.test{start[:3]}" in capsys.readouterr().out
    assert not (tmp_path / "tasks.json").exists()
    close_all()


def test_the_check_of_a_json_file_that_was_reformatted_is_a_new_value(tmp_path):
    flows = [{"label": "The lights of the harbour"}, {"label": "Tide"}]
    folders = [tmp_path / name for name in ("base", "recorded", "replayed")]
    for folder, content in zip(folders, (flows, [*flows, {"label": "Lamp"}], [*flows, {"label": "Lamp"}]), strict=True):
        folder.mkdir()
        (folder / "flows.json").write_text(json.dumps(content, indent=None if folder is folders[0] else 4))
    recording = SimpleNamespace(folders=folders, varies=lambda *_: False)
    (check,) = _file_check("flows.json", recording, set())
    assert check == {"path": "flows.json", "contains": '        "label": "Lamp"'}


@needs.chromium
def test_a_task_whose_solution_sends_a_request_that_fails_is_not_saved(tmp_path, monkeypatch, capsys):
    (tmp_path / "state").mkdir()
    (tmp_path / "webarena-app.toml").write_text(
        'name = "one"\nwsgi = "one:application"\nstate = "state"\ntasks = "tasks.json"\n'
    )
    script = (
        "fetch('/save', {method: 'POST'}).then(({ok}) => document.querySelector('h1').textContent = ok ? 'Saved' : 'Failed')"
    )
    (tmp_path / "one.py").write_text(BROKEN_FORM.replace("<form method=post><button>", f'<button onclick=\\"{script}\\">'))
    lines = iter(["click Add", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    arguments = ["app", "record", str(tmp_path), "--goal", "Add it.", "--task-id", "add", "--browser", "chromium"]
    assert main(arguments) == 1
    assert "a request of its solution fails, POST http://one.test/save: status 500" in capsys.readouterr().out
    close_all()


def test_a_write_that_the_application_rejects_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "state").mkdir()
    (tmp_path / "webarena-app.toml").write_text(
        'name = "one"\nwsgi = "one:application"\nstate = "state"\ntasks = "tasks.json"\n'
    )
    (tmp_path / "one.py").write_text(BROKEN_FORM.replace("500 Internal Server Error", "422 Unprocessable Content"))
    assert record(tmp_path, monkeypatch, "click Nothing", "click Add", "exit") == 0
    rejection = "POST http://one.test/: status 422 Unprocessable Content"
    out = capsys.readouterr().out
    assert """actions that failed are no steps of the solution (1), such as do(action="Click", element="Nothing")""" in out
    assert out.count(f"note: the application rejected {rejection}") == 1
    assert f"step 1 of the solution sends a request that is rejected, {rejection}; if" in out
    close_all()


def test_a_solution_that_cannot_be_replayed_is_not_saved(folder, monkeypatch, capsys):
    def click_code(_):
        (code,) = {line.partition("Code ")[2][:8] for line in capsys.readouterr().out.splitlines() if "Code " in line}
        lines.append(code)
        return f'click "Code {code}"' if len(lines) == 1 else "exit"

    lines = []
    monkeypatch.setattr("builtins.input", click_code)
    assert main(["app", "record", str(folder), "--goal", "Follow it.", "--task-id", "code"]) == 1
    assert "not recorded: the solution cannot be replayed: " in capsys.readouterr().out


def recording(tmp_path, *changes, folders=("a", "b", "b"), **options):
    """Return a recording whose replay makes the same changes."""
    paths = tuple(tmp_path / name for name in folders)
    return Recording(**{"changes": changes, "replayed": changes, "folders": paths, "databases": {}} | options)


def test_rows_are_checked_by_what_the_recording_and_its_replay_have_in_common(tmp_path, monkeypatch):
    monkeypatch.setattr(application_record, "_count", lambda path, *_: 1 if path.parent.name == "b" else 0)

    def check(before, after, key=(7,), **again):
        change = Change("notes", "issue", key, before, after, {})
        return _row_check(
            change, change._replace(after={**after, **again}), recording(tmp_path, databases={"notes": "notes.db"}), set()
        )

    select = 'SELECT count(*) FROM "issue" WHERE'
    added = check(None, {"title": "Ink", "priority": 2, "owner": None, "made": "09:00:01"}, made="09:00:05")
    assert (added["query"], added["parameters"]) == (f'{select} "title" = ? AND "priority" = ?', ["Ink", 2])
    was = {"title": "Ink", "priority": 1, "changed": "08:00"}
    changed = check(was, {**was, "priority": 2, "changed": "09:00:01"}, changed="09:00:05")
    assert (changed["query"], changed["parameters"]) == (f'{select} "rowid" = ? AND "priority" = ?', [7, 2])
    named = check({"id": "a7", "priority": 1}, {"id": "a7", "priority": 2}, key=("a7",))
    assert named["parameters"] == ["a7", 2], "by the key that the row holds"


@pytest.mark.parametrize(("paths", "checked"), [(("a.txt", ".b"), ["a.txt"]), ((".b", ".c/d"), [".b", ".c/d"])])
def test_hidden_files_are_checked_where_no_others_have_changed(tmp_path, paths, checked):
    for path in paths:
        (tmp_path / "b" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "b" / path).write_text("new")
    changes = [Change("notes", "file", (path,), None, {"digest": "1"}, {}) for path in paths]
    evaluation = checks_of([Step(Action(Kind.EXIT, argument=""))], recording(tmp_path, *changes))
    assert [check["path"] for check in evaluation["file"]] == checked


@pytest.mark.parametrize(("after", "check"), [
    ("a\n", {"equals": "a\n"}), ("", {"equals": ""}), ("a\nb\nc\n", {"contains": "c"}), (None, {"contains": None}),
])  # fmt: skip
def test_a_file_that_has_only_lost_lines_is_checked_as_a_whole(tmp_path, after, check):
    """The file before contains it too, so no part of it would show that lines were removed."""
    for folder, text in (("a", "a\nb\n"), ("b", after)):
        (tmp_path / folder).mkdir()
        if text is not None:
            (tmp_path / folder / "list.txt").write_text(text)
    change = Change("notes", "/list.txt", ("b", 0), {"line": "b"}, None, {})
    evaluation = checks_of([Step(Action(Kind.EXIT, argument=""))], recording(tmp_path, change))
    assert evaluation["file"] == [{"path": "list.txt", **check}]
    outcomes = [replace(answer_outcome(""), files=tmp_path / folder) for folder in ("a", "b")]
    assert [evaluate(evaluation, "", outcome)[0].passed for outcome in outcomes] == [False, True]
