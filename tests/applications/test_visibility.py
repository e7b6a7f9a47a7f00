"""Files that an application may read: its own, those that it names, and never secrets."""

from pathlib import Path

import pytest

from webarena_gym.applications.application import Application
from webarena_gym.applications.visibility import hidden_paths, home_folders, needed_paths


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    for name in (".ssh/id", ".netrc", "notes/app.py", "tools/bin/start", "tools/lib/x", "data/rows.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "tools/bin/start").write_text("#!/usr/bin/env python\n")
    (folder / "tools/bin/start").chmod(0o755)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def application(home, **values):
    return Application(**{"name": "notes", "folder": str(home / "notes"), "command": "true {port}", **values})


def test_existing_secrets_are_hidden_unless_a_needed_path_is_inside(home):
    hidden = hidden_paths(application(home), [])
    assert {str(home / ".ssh"), str(home / ".netrc")} <= set(hidden)
    assert str(home / ".aws") not in hidden
    assert str(home / ".ssh") not in hidden_paths(application(home), [home / ".ssh" / "id"])


@pytest.mark.parametrize("network", [True, False])
def test_sockets_of_services_are_hidden_without_network(home, network):
    assert ("/run" in hidden_paths(application(home, network=network), [])) == (not network)


def test_the_folder_and_shared_and_named_files_are_needed(home):
    paths = needed_paths(
        application(home, readable=("~/data",)), {"DATA": f"{home}/data/rows.csv", "HOME": str(home / "tools")}
    )
    assert {home / "notes", home / "data", home / "data" / "rows.csv"} <= set(paths)
    assert home / "tools" not in paths
    assert home not in needed_paths(application(home), {"DATA": str(home)})


def test_programs_of_commands_are_needed_with_their_libraries_and_interpreter(home):
    start = home / "tools" / "bin" / "start"
    paths = needed_paths(application(home, command=f"sh -c 'exec {start} {{port}}'"), {"PATH": "/usr/bin:/bin"})
    assert {start, home / "tools", Path("/usr/bin/env")} <= set(paths)


def test_home_folders_contain_that_of_the_user_once(home):
    folders = home_folders()
    assert home.resolve() in folders
    assert not any(one != other and one.is_relative_to(other) for one in folders for other in folders)
