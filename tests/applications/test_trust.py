"""What an application may do outside of its isolation is listed, and refused until the user has allowed exactly that."""

import sys
from pathlib import Path

import pytest

from tests.errors import expect_error
from webarena_gym.applications.application import Application
from webarena_gym.applications.trust import add_trust, data_folder, expect_trust, expect_trusted_archive, grants_of, is_inside
from webarena_gym.errors import ApplicationError


def test_the_data_folder_is_in_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert data_folder() == tmp_path / "data/webarena_gym"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    assert data_folder() == tmp_path / "home/.local/share/webarena_gym"


@pytest.mark.parametrize(
    ("settings", "grants"),
    [
        ({}, []),
        ({"shared": ("cache",), "uploads": "files", "state": "state"}, []),
        ({"python": "env/bin/python"}, ["python = 'env/bin/python' starts with your rights"]),
        ({"network": True}, ["network = true reaches other hosts and services of this machine"]),
        ({"inherits": ("TOKEN",)}, ["inherits = ['TOKEN'] reads environment variables"]),
        ({"shared": ("/var/tmp", "cache")}, ["shared = '/var/tmp' writes a folder outside of its own"]),
        ({"state": "../state"}, ["state = '../state' reads a folder outside of its own"]),
        ({"uploads": "/etc"}, ["uploads = '/etc' reads a folder outside of its own"]),
    ],
)
def test_grants_are_listed(settings, grants, tmp_path):
    folder = tmp_path / "desk"
    for name in ("desk/cache", "desk/files", "desk/state", "state"):
        (tmp_path / name).mkdir(parents=True)
    application = Application(**{"name": "desk", "folder": str(folder), "wsgi": "desk:app"} | settings)
    assert grants_of(application, folder) == grants


@pytest.mark.parametrize(
    ("python", "expected"),
    [("env/bin/python", True), ("python3", False), ("/usr/bin/python3", False), ("../python", False), (sys.executable, False)],
)
def test_an_interpreter_is_inside_of_a_folder(python, expected, tmp_path):
    assert is_inside(python, tmp_path) is expected


def test_the_interpreter_that_runs_is_never_one_of_the_folder():
    assert not is_inside(sys.executable, Path("/"))


def test_exactly_the_allowed_grants_are_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    expect_trust("desk", b"1", [], ["trust"])
    add_trust(b"1", [])
    assert not any(tmp_path.iterdir())
    with expect_error(ApplicationError, "desk", "a; b", "webarena-gym app 'my file'"):
        expect_trust("desk", b"1", ["a", "b"], ["app", "my file"])
    add_trust(b"1", ["a", "b"])
    expect_trust("desk", b"1", ["a", "b"], ["trust"])
    for content, grants in ((b"2", ["a", "b"]), (b"1", ["a"])):
        with expect_error(ApplicationError, "desk", "webarena-gym trust"):
            expect_trust("desk", content, grants, ["trust"])


def test_a_trusted_archive_needs_its_interpreter(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    archive, python = tmp_path / "desk.zip", tmp_path / "env/bin/python"
    archive.write_bytes(b"1")
    application = Application(name="desk", folder=str(tmp_path), wsgi="desk:app", python=str(python))
    with expect_error(ApplicationError, "desk", "--trust --install"):
        expect_trusted_archive(archive, application, tmp_path)
    add_trust(b"1", grants_of(application, tmp_path))
    with expect_error(ApplicationError, "env/bin/python"):
        expect_trusted_archive(archive, application, tmp_path)
    expect_trusted_archive(archive, application, tmp_path, installs=True)
    python.parent.mkdir(parents=True)
    python.touch()
    expect_trusted_archive(archive, application, tmp_path)
