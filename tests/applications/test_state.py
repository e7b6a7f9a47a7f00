"""The state of an application in files: comparison by lines, database names, and restored folders."""

import json
import shutil

import pytest

from webarena_gym.applications import state
from webarena_gym.evaluators.side_effects import compare


def written(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


PAGE = "= Tea\nGreen tea.\n\n* hot\n* cold\n"


FILES = {"page.txt": PAGE, "data.json": json.dumps({"a": [1, 2], "b": {"c": "x"}}), "image.bin": b"\xff\xfe"}


@pytest.mark.parametrize(("name", "expected", "done", "beyond"), [
    ("page.txt", PAGE + "* iced\n", PAGE + "* iced\n", 0),
    ("page.txt", PAGE + "* iced\n", PAGE + "* frozen\n", 0),  # the other checks say what it must be
    ("page.txt", PAGE + "* iced\n", "* iced\n", 4),
    ("page.txt", PAGE + "* iced\n", PAGE + "* iced\nSPAM\n", 1),
    ("page.txt", PAGE + "* iced\n", PAGE.replace("Green", "Black") + "* iced\n", 2),
    ("page.txt", PAGE.replace("Green", "Black"), PAGE.replace("Green", "Red"), 0),
    ("page.txt", PAGE + "* iced\n", None, 1),
    ("data.json", json.dumps({"a": [1, 2, 3], "b": {"c": "x"}}), json.dumps({"a": [1, 2, 3], "b": {"c": "SPAM"}}), 2),
    ("image.bin", b"\xff\x00", b"\xff\x01", 0),
    ("image.bin", None, b"\xff\x01", 1),
])  # fmt: skip
def test_files_are_compared_by_their_lines(tmp_path, name, expected, done, beyond):
    def after(content):
        folder = written(tmp_path / f"now{content!r}"[:20].replace("/", "_"), FILES)
        if content is None:
            (folder / name).unlink()
        else:
            written(folder, {name: content})
        changes = state.changes("app", base, folder, {}, ())
        shutil.rmtree(folder)
        return changes

    base = written(tmp_path / "base", FILES)
    assert len(compare(after(done), after(expected)).beyond) == beyond


def test_database_names_in_files_are_not_changes(tmp_path):
    base, now = (written(tmp_path / env, {"app.ini": f"[db]\nname = app_{env}\n"}) for env in ("7_1", "7_2"))
    assert state.changes("app", base, now, {}, (), ("7_1", "7_2")) == []
    assert len(state.changes("app", base, now, {}, ())) == 2


def test_folders_are_compared_and_restored(tmp_path):
    base, now, again = (tmp_path / name for name in ("base", "now", "again"))
    for place in (base, now, again):
        for name in ("kept", "empty", "full", "turns"):
            (place / name).mkdir(parents=True)
        for name in ("full/a.txt", "turns/b.txt", "file"):
            (place / name).write_text("text\n")
    (now / "empty").rmdir()
    shutil.rmtree(now / "full")
    shutil.rmtree(now / "turns")
    (now / "turns").write_text("now a file\n")
    (now / "file").unlink()
    (now / "file" / "below").mkdir(parents=True)
    (now / "new").mkdir()
    (now / "photos").mkdir()
    (now / "photos" / "c.txt").write_text("text\n")
    changed = state.difference(base, now)
    state.apply(changed, again)
    assert state.difference(now, again) == {}
    assert sorted(path.relative_to(now) for path in now.rglob("*")) == sorted(
        path.relative_to(again) for path in again.rglob("*")
    )
    texts = {str(change).partition(", digest")[0] for change in state.changes("shop", base, now, {}, ())}
    assert {"shop: file added: path=new/", "shop: file removed: path=empty/", "shop: file added: path=photos/c.txt"} <= texts
    assert not {"shop: file added: path=photos/", "shop: file removed: path=full/"} & texts, (
        "the changes of their files imply it"
    )
    assert state.changes("shop", base, now, {}, ("/*",)) == []
