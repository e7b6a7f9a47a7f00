"""Archives of applications: the cache, damaged files, and packages that are installed."""

import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.archives import ONE_BROWSER, TOML, archive, cache, change, folder, packed, rewrite
from tests.errors import expect_error
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import read_application
from webarena_gym.applications.archive import FILE, MANIFEST, SUFFIX, cached_folder, install, verified_folder
from webarena_gym.errors import ApplicationError
from webarena_gym.tools.cli import main

__all__ = ["archive", "cache", "folder", "packed"]  # fixtures


@pytest.mark.parametrize(("name", "damage"), [
    ("notes_app.py", change), ("notes_app.py", Path.unlink), ("tasks.json", change), (FILE, change), ("state/empty", Path.rmdir),
    ("state/notes.db", lambda path: path.write_bytes(b"")), ("sqlite3.py", Path.touch), ("more", Path.mkdir), ("link", lambda path: path.symlink_to("/")),
    ("notes_app.py", lambda path: (path.unlink(), path.mkdir())),
])  # fmt: skip
@pytest.mark.sampled(2)
def test_a_changed_folder_in_the_cache_is_unpacked_again(archive, cache, name, damage):
    folder = cached_folder(archive, cache)
    contents = {path.relative_to(folder): path.is_dir() or path.read_bytes() for path in folder.rglob("*")}
    damage(folder / name)
    assert verified_folder(archive, cache)[0] == folder
    assert {path.relative_to(folder): path.is_dir() or path.read_bytes() for path in folder.rglob("*")} == contents


def test_an_equal_folder_in_the_cache_is_kept_with_its_virtual_environment(archive, cache, capsys):
    folder = cached_folder(archive, cache)
    (folder / "env").mkdir()
    (folder / "env" / "pyvenv.cfg").write_text("home = /usr")
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "notes_app.cpython-312.pyc").write_text("changed")
    assert verified_folder(archive, cache)[0] == folder
    assert not (folder / "__pycache__").exists(), "bytecode may differ from its source"
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 0
    assert (folder / "env" / "pyvenv.cfg").is_file()
    (folder / "notes_app.py").write_text("raise SystemExit")
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 0, "the files of the archive are checked"
    assert "equal to its report: 1 task solved in inprocess" in capsys.readouterr().out


@pytest.mark.parametrize(("change", "extra", "message"), [
    (lambda manifest: manifest.update(format=2), {}, "has the format 2; expected 1"),
    (lambda manifest: manifest.pop("licence"), {}, f"no valid {MANIFEST}"),
    (lambda manifest: manifest.update(files=[]), {}, f"no valid {MANIFEST}"),
    (lambda manifest: manifest["files"].pop("tasks.json"), {}, "its files and its manifest differ in tasks.json"),
    (lambda manifest: None, {"tasks.json": b"[]"}, "the file 'tasks.json' has another digest"),
    (lambda manifest: None, {"more.py": b""}, "its files and its manifest differ in more.py"),
    (lambda manifest: manifest["files"].update({"../more.py": ["", 0, False]}), {"../more.py": b""}, "expected paths below its folder"),
    (lambda manifest: manifest["files"].update({"/more.py": ["", 0, False]}), {"/more.py": b""}, "expected paths below its folder"),
])  # fmt: skip
def test_a_damaged_or_foreign_archive_is_refused_and_nothing_is_played(archive, tmp_path, change, extra, message):
    rewrite(archive, change, extra)
    with pytest.raises(ApplicationError) as raised:
        read_application(archive)
    assert message in str(raised.value)
    assert not (tmp_path / "more.py").exists()
    assert list((tmp_path / "cache" / "applications").iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"no archive"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / f"a{SUFFIX}"
    if content is not None:
        path.write_bytes(content)
    with expect_error(ApplicationError, path):
        read_application(path)


@pytest.mark.parametrize("python", ["../other/bin/python", "/nowhere/env/bin/python", "bin/python"])
def test_an_archive_installs_nothing_outside_of_its_folder(folder, tmp_path, python):
    (folder / FILE).write_text(f'{TOML}python = "{python}"\n')
    with expect_error(ApplicationError, "python", repr(python)):
        install(folder)
    assert {path.name for path in tmp_path.iterdir()} <= {"notes", "cache"}


@pytest.mark.slow
def test_the_packages_of_an_archive_are_installed(folder, tmp_path, capsys):
    (folder / FILE).write_text(TOML + 'python = ".venv/bin/python"\n')
    (folder / "requirements.txt").write_text("# none\n")
    install(folder, print)
    assert capsys.readouterr().out == "installing into .venv: no packages\n"
    archive = tmp_path / f"a{SUFFIX}"
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(archive), *ONE_BROWSER]) == 0
    with zipfile.ZipFile(archive) as opened:
        assert not [name for name in opened.namelist() if ".venv" in name]
    for options, missing in (["--install"], "is not trusted"), ([], "is not trusted"), (["--trust"], "is not installed"):
        assert main(["app", "verify", str(archive), *ONE_BROWSER, *options]) == 2
        message = capsys.readouterr().err
        assert missing in message
        assert f"`webarena-gym app verify {archive} --trust --install` once" in message
        with expect_error(ApplicationError, missing, "--trust --install"):
            read_application(archive)
    assert main(["app", "verify", str(archive), *ONE_BROWSER, "--trust", "--install"]) == 0
    with closing(WebArenaLite(application=str(archive))) as env:
        env.reset()
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 0, "a decision holds, and so does an installation"
    assert main(["app", "unpack", str(archive), str(tmp_path / "bare")]) == 0
    with expect_error(ApplicationError, ".venv/bin/python"):
        WebArenaLite(application=str(tmp_path / "bare")).reset()
    assert main(["app", "unpack", str(archive), str(tmp_path / "bare")]) == 2, "the folder is not empty"
    assert main(["app", "unpack", str(archive), str(tmp_path / "whole"), "--install"]) == 0
    with closing(WebArenaLite(application=str(tmp_path / "whole"))) as env:
        env.reset()
