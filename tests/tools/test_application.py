"""The commands of `webarena-gym app`: the files of `new`, the options of each command, audits and random actions."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.errors import expect_error
from webarena_gym.applications.application import read_application
from webarena_gym.console import Parser
from webarena_gym.errors import ApplicationError
from webarena_gym.tools import application


def parse(*arguments):
    parser = Parser(prog="webarena-gym app")
    application.add_application_commands(parser)
    return parser.parse_args([str(argument) for argument in arguments])


def new(*arguments):
    options = parse("new", *arguments)
    return options.run(options)


def test_a_new_description_of_a_wsgi_application_is_read_back(tmp_path, capsys):
    assert new(tmp_path / "my app", "--name", "notes", "--wsgi", "app:main") == 0
    folder = tmp_path / "my app"
    assert json.loads((folder / "tasks.json").read_text()) == []
    (folder / "state").mkdir()
    (folder / "state" / "notes.db").touch()
    description = (folder / "webarena-app.toml").read_text()
    assert 'wsgi = "app:main"' in description
    assert 'name = "notes"' in description
    output = capsys.readouterr().out
    assert f"webarena-gym app check '{folder}'" in output
    assert "database into" in output
    with expect_error(ApplicationError, "webarena-app.toml"):
        new(folder)


def test_a_new_description_of_a_server_has_its_command_and_no_database(tmp_path, capsys):
    command = 'php -S 127.0.0.1:{port} -t "www"'
    assert new(tmp_path, "--name", "shop", "--command", command) == 0
    (tmp_path / "state").mkdir()
    described = read_application(tmp_path)
    assert (described.name, described.command, described.wsgi, dict(described.databases)) == ("shop", command, "", {})
    assert "data into" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (("--name", "My Notes"), ("--name", "'My Notes'")),
        (("--wsgi", "app"), ("--wsgi", "'app'")),
        (("--wsgi", "app:"), ("--wsgi", "'app:'")),
        (("--command", "serve 8000"), ("--command", "'serve 8000'", "{port}")),
    ],
)
def test_a_new_description_with_an_invalid_value_is_not_written(tmp_path, arguments, values):
    with expect_error(ApplicationError, *values):
        new(tmp_path, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_listens_at_a_socket_needs_no_port(tmp_path):
    assert new(tmp_path, "--command", "serve {socket}") == 0


@pytest.mark.parametrize("name", ["check", "play", "serve", "audit", "fuzz", "pack"])
def test_the_application_is_by_default_the_current_folder(name):
    extra = ("--licence", "MIT") if name == "pack" else ()
    assert str(parse(name, *extra).application) == "."
    assert str(parse(name, "my-app", *extra).application) == "my-app"


@pytest.mark.parametrize(("name", "resets"), [("check", True), ("audit", True), ("play", False), ("fuzz", False)])
def test_resets_are_counted_by_commands_that_compare_them(name, resets, capsys):
    assert hasattr(parse(name), "resets") is resets
    with pytest.raises(SystemExit):
        parse(name, "--resets", "1")
    assert "--resets" in capsys.readouterr().err


def test_wsgi_and_command_exclude_each_other(tmp_path, capsys):
    with pytest.raises(SystemExit):
        parse("new", tmp_path, "--wsgi", "a:b", "--command", "serve {port}")
    assert "--command" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problems", "failed", "status"), [((), 0, 0), (("reset 2 differs",), 0, 1), ((), 1, 1), (("reset 2 differs",), 1, 1)]
)
def test_an_audit_fails_by_its_resets_or_its_tasks(monkeypatch, capsys, problems, failed, status):
    monkeypatch.setattr(application, "read_application", lambda path: SimpleNamespace(path=path))
    monkeypatch.setattr(application, "exploration_task", lambda _: "task")
    monkeypatch.setattr(application, "WebArenaLite", lambda **keywords: SimpleNamespace(keywords=keywords, close=lambda: None))
    monkeypatch.setattr(application, "compare_resets", lambda env, resets: (env, list(problems)))
    monkeypatch.setattr(application, "load", lambda **options: [options["world_seed"]])
    audits = []
    monkeypatch.setattr(
        "webarena_gym.tools.audit.audit_tasks", lambda _, tasks, app: audits.append((tasks, str(app.path))) or failed
    )
    options = parse("audit", "my-app", "--world-seed", "7", "--resets", "5")
    assert bool(options.run(options)) is bool(status)
    assert audits == [([7], "my-app")]
    assert capsys.readouterr().out.strip() == ("\n".join(problems) or "5 resets are equal")


def test_random_actions_and_play_use_the_described_application(monkeypatch):
    made, calls = SimpleNamespace(name="notes"), []
    monkeypatch.setattr(application, "read_application", lambda _: made)
    monkeypatch.setattr("webarena_gym.tools.fuzz.fuzz_sites", lambda options, app: calls.append((options.steps, app)) or 3)
    options = parse("fuzz", "my-app", "--steps", "9")
    assert options.run(options) == 3
    monkeypatch.setattr(application, "WebArenaLite", lambda **keywords: keywords)
    monkeypatch.setattr(application, "closing", nullcontext)
    monkeypatch.setattr(application, "play_in_terminal", lambda env, tasks: calls.append((env["application"], tasks)) or 0)
    for arguments, tasks in (((), []), (("my-app", "one"), ["one"])):
        options = parse("play", *arguments)
        assert options.run(options) == 0
        assert calls[-1] == (made, tasks)
    assert calls[0] == (9, made)
