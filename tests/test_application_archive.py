"""Archives of applications: what is packed is what is played, and what is damaged, foreign or different is refused."""

import json
import re
import shutil
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.archives import ONE_BROWSER, TASK, TOML, archive, cache, folder, packed, rewrite
from webarena_gym import WebArenaLite
from webarena_gym.applications.archive import FILE, MANIFEST, SUFFIX
from webarena_gym.tasks import Expert
from webarena_gym.tools.cli import main

__all__ = ["archive", "cache", "folder", "packed"]  # fixtures


def test_runs_archives_and_excluded_files_are_not_packed(folder, archive, tmp_path):
    for name in ("runs/bc/policy.pt", "old.webarena.zip", "state/runs/1.txt", "draft/a.txt", "draft.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    packed = []
    for exclude in ("", 'exclude = ["/draft*", "/old.*"]', "exclude = []"):
        (folder / FILE).write_text(f"{exclude}\n{TOML}")
        assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(tmp_path / f"b{SUFFIX}"), *ONE_BROWSER]) == 0
        with zipfile.ZipFile(tmp_path / f"b{SUFFIX}") as opened, zipfile.ZipFile(archive) as first:
            packed.append({*opened.namelist()} - {*first.namelist()})
    assert packed == [
        {"state/runs/1.txt", "draft/a.txt", "draft.txt"}, {"state/runs/1.txt", "runs/bc/policy.pt"},
        {"state/runs/1.txt", "runs/bc/policy.pt", "draft/a.txt", "draft.txt", "old.webarena.zip"},
    ]  # fmt: skip


PACKAGE = {"runs/web.py": "from notes_app import application", "runs/__init__.py": ""}
INNER = {
    "src/runs/__init__.py": "from notes_app import application",
    "src/notes_app.py": Path(__file__).with_name("notes_app.py").read_text(),
}


@pytest.mark.parametrize(("changes", "files", "omitted", "key"), [
    ({"notes_app:": "runs.web:"}, PACKAGE, "runs", "wsgi"), ({"name =": 'exclude = ["/notes_app*"]\nname ='}, {}, "notes_app.py", "wsgi"),
    ({"notes_app:": "runs:", "name =": 'folder = "src"\nexclude = ["*/runs"]\nname ='}, INNER, "src/runs", "wsgi"),
    ({"name =": 'folder = "src"\nexclude = ["/s?c"]\nname ='}, INNER, "src", "folder"),
    ({'"tasks.json"': '"runs/tasks.json"'}, {"runs/tasks.json": json.dumps([TASK])}, "runs", "tasks"),
    ({"name =": 'exclude = ["/state"]\nname ='}, {}, "state", "state"), ({"name =": 'exclude = ["*.db"]\nname ='}, {}, "state/notes.db", "databases"),
    ({"name =": 'uploads = "runs/up"\nname ='}, {"runs/up/a.txt": ""}, "runs", "uploads"),
    ({"name =": 'hidden = ["runs"]\nname ='}, {"runs/a.txt": ""}, "runs", "hidden"),
    ({"name =": 'shared = ["__pycache__/a"]\nname ='}, {"__pycache__/a/b": ""}, "__pycache__", "shared"),
    ({"name =": 'exclude = ["/*.toml"]\nname ='}, {}, FILE, "file"),
])  # fmt: skip
@pytest.mark.sampled(2)
def test_packing_an_incomplete_application_is_rejected(folder, tmp_path, capsys, changes, files, omitted, key):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    text = TOML
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (folder / FILE).write_text(text)
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(tmp_path / f"a{SUFFIX}"), *ONE_BROWSER]) == 2
    assert f"{folder / omitted} would be omitted, but {key} needs {folder}" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.zip*"))


def test_paths_that_exclude_omits_are_printed(folder, tmp_path, capsys):
    for name in ("runs/a/1.txt", "runs/2.txt", "old.webarena.zip", "env/pyvenv.cfg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    for _ in range(2):  # the second time, the archive itself is in the folder
        arguments = ["app", "pack", str(folder), "--licence", "MIT", "-o", str(folder / f"a{SUFFIX}"), *ONE_BROWSER]
        assert main(arguments) == 0
        assert capsys.readouterr().out.endswith("\nexclude omits 2 paths: old.webarena.zip, runs\n")


def test_a_packed_application_plays_without_its_folder(folder, archive, cache, capsys):
    times = {path.name: path.stat().st_mtime_ns for path in (folder / "state").rglob("*")}
    shutil.rmtree(folder)
    with closing(WebArenaLite(application=str(archive), elements="label")) as env:
        env.reset(options={"task": "add"})
        expert, reward, over = Expert(env.tasks[0]), 0.0, False
        while not over:
            _, reward, over, *_ = env.step(expert.reply(env.page, env.observation))
    assert reward == 1.0
    (unpacked,) = (cache / "applications").iterdir()
    assert (unpacked / "state" / "empty").is_dir()
    assert {
        path.name: path.stat().st_mtime_ns for path in (unpacked / "state").rglob("*") if path.is_file()
    }.items() <= times.items()
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 0
    assert "equal to its report: 1 task solved in inprocess" in capsys.readouterr().out


def test_equal_folders_give_equal_manifests_without_caches_and_environments(folder, archive, tmp_path):
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "x.pyc").write_text("x")
    (folder / "env").mkdir()
    (folder / "env" / "pyvenv.cfg").write_text("home = /usr")
    again = tmp_path / f"again{SUFFIX}"
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(again), *ONE_BROWSER]) == 0
    with zipfile.ZipFile(archive) as one, zipfile.ZipFile(again) as other:
        files = [json.loads(opened.read(MANIFEST))["files"] for opened in (one, other)]
        assert files[0] == files[1]
        assert "pytest" not in one.read("requirements.txt").decode(), "the application does not import it"
        assert json.loads(one.read(MANIFEST))["python"] == ".".join(map(str, sys.version_info[:3]))


def test_the_packages_of_an_interpreter_that_others_use_are_those_that_the_application_imports(folder, tmp_path):
    (folder / "settings.py").write_text(
        'INSTALLED = ["jinja2.ext"]\n\ndef later():\n    from lxml import html\n    import none_such\n'
    )
    (folder / "broken.py").write_text("import pytest (")
    archive = tmp_path / f"a{SUFFIX}"
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(archive), *ONE_BROWSER]) == 0
    with zipfile.ZipFile(archive) as opened:
        names = {line.partition("==")[0].lower() for line in opened.read("requirements.txt").decode().splitlines()}
    assert {"jinja2", "markupsafe", "lxml"} <= names, "and the requirements of its packages"
    assert not names & {"pytest", "mypy", "ruff", "torch"}


@pytest.mark.parametrize(
    "code", ["import runs.models", "from runs import models", "from .runs.models import Note", "APPS = ['runs.models']"]
)
def test_a_module_that_is_imported_from_an_excluded_folder_is_refused(folder, tmp_path, capsys, code):
    (folder / "runs").mkdir()
    (folder / "runs" / "models.py").write_text("")
    (folder / "settings.py").write_text(code)
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(tmp_path / f"a{SUFFIX}"), *ONE_BROWSER]) == 2
    assert "runs would be omitted, but settings.py, which imports runs.models, needs" in capsys.readouterr().err


def test_files_outside_of_the_folder_are_refused(folder, tmp_path, capsys):
    arguments = ["app", "pack", str(folder), "--licence", "MIT", "-o", str(tmp_path / f"a{SUFFIX}"), *ONE_BROWSER]
    (tmp_path / "other.txt").write_text("other")
    (folder / "link").symlink_to("../other.txt")
    assert main(arguments) == 2
    assert "link to ../other.txt; expected links within the packed folder" in capsys.readouterr().err
    (folder / "link").unlink()
    shutil.move(folder / "state", tmp_path / "state")
    (folder / FILE).write_text(TOML.replace('state = "state"', 'state = "../state"'))
    assert main(arguments) == 2
    assert "state is" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.zip*"))


def test_an_application_with_problems_is_not_packed(folder, tmp_path, capsys):
    (folder / "tasks.json").write_text(json.dumps([TASK | {"solution": TASK["solution"][1:]}]))
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(tmp_path / f"a{SUFFIX}"), *ONE_BROWSER]) == 1
    assert re.search(r"^problems:\nadd: .*\nnotes is not packed", capsys.readouterr().out)
    assert main(["app", "check", str(folder), *ONE_BROWSER]) == 1
    assert re.search(r"\nproblems:\nadd: .*\n$", capsys.readouterr().out)
    assert not list(tmp_path.glob("*.zip*"))


def test_a_task_without_a_solution_is_packed_and_counted(folder, tmp_path, capsys):
    bare = {key: value for key, value in TASK.items() if key != "solution"} | {"task_id": "bare"}
    (folder / "tasks.json").write_text(json.dumps([TASK, bare]))
    archive = tmp_path / f"a{SUFFIX}"
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(archive), *ONE_BROWSER]) == 0
    assert "1 task solved in inprocess, 1 without a solution" in capsys.readouterr().out
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 0


def test_the_name_of_an_archive_is_rejected_before_the_check(tmp_path, capsys):
    assert main(["app", "pack", str(tmp_path / "no folder"), "--licence", "MIT", "-o", str(tmp_path / "n.zip")]) == 2
    assert f"n.zip'; expected a name that ends with {SUFFIX}" in capsys.readouterr().err


def test_a_report_that_differs_elsewhere_is_a_problem(archive, capsys):
    rewrite(archive, lambda manifest: manifest["check"]["inprocess"].update(pages=77))
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 1
    assert "expected 77" in capsys.readouterr().out


def test_a_matrix_has_a_row_for_each_application(folder, archive, tmp_path, capsys):
    assert main(["app", "matrix", str(folder), str(archive), *ONE_BROWSER]) == 0
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2
    assert all(row.startswith("| notes | 1 | 100% |") for row in rows)
    assert main(["app", "matrix", str(folder), str(tmp_path / "none"), *ONE_BROWSER, "--json"]) == 1
    good, bad = json.loads(capsys.readouterr().out)["applications"]
    assert (good["solved"], good["problems"]) == (1.0, [])
    assert "does not exist" in bad["problems"][0]
