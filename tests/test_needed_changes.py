"""Tasks on applications without a reference solution: what their checks do not need is a side effect."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.test_dumps import VANDALISM
from tests.test_own_application import ADD, do, folder
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application
from webarena_gym.backends.needed import unneeded_changes
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import check
from webarena_gym.tasks import Task

__all__ = ["folder"]  # a fixture

SCHEMA = """
CREATE TABLE person (name TEXT PRIMARY KEY, email TEXT);
CREATE TABLE ticket (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER DEFAULT 0, owner TEXT REFERENCES person, price REAL);
CREATE TABLE tag (ticket INTEGER, tag TEXT);
CREATE TABLE log (line TEXT);
CREATE TRIGGER logged AFTER DELETE ON ticket BEGIN INSERT INTO log VALUES (old.title); END;
INSERT INTO person VALUES ('ann', 'ann@a.test'), ('bob', NULL);
INSERT INTO ticket (title, owner, price) VALUES ('Roof leaks', 'ann', 5), ('Two lines', NULL, 7.25);
INSERT INTO tag VALUES (1, 'urgent'), (2, 'later');
"""
DONE = "INSERT INTO ticket (title) VALUES ('Door squeaks')"
QUERY = {"site": "desk", "query": "SELECT DISTINCT title FROM ticket WHERE title LIKE 'Door%'", "expected": [["Door squeaks"]]}
FILED = {"eval_types": ["state"], "state": [QUERY]}
SPAM = [do("Type", "Title", "SPAM"), do("Click", "Add")]
PAGE = "= Tea\nGreen tea.\n\n* hot\n* cold\n"


def task(evaluation):
    return Task("one", ("desk",), "__DESK__/", "Do it.", evaluation, require_login=False)


@pytest.fixture
def desk(tmp_path):
    """Return an application, the folder of its base state, and a copy of that."""
    base, now = tmp_path / "base", tmp_path / "now"
    base.mkdir()
    with closing(sqlite3.connect(base / "desk.db")) as database:
        database.executescript(SCHEMA)
    (base / "page.txt").write_text(PAGE)
    (base / "other.json").write_text(json.dumps({"a": 1}))
    shutil.copytree(base, now)
    application = Application(
        name="desk", command="x {port}", state=str(base), databases={"desk": "desk.db"}, incidental=("log",)
    )
    return application, base, now


def run(folder, *statements):
    with closing(sqlite3.connect(folder / "desk.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def unneeded(desk, evaluation):
    changes = unneeded_changes(task(evaluation), *desk)
    return changes if isinstance(changes, str) else list(map(str, changes))


def test_what_the_checks_need_is_no_side_effect(desk):
    run(desk[2], DONE)
    assert unneeded(desk, FILED) == []


@pytest.mark.parametrize("sql", VANDALISM)
def test_vandalism_in_rows_is_a_side_effect(desk, sql):
    """The statements are those that are tried on PostgreSQL; without one of the two tickets about doors, the checks pass too."""
    run(desk[2], sql, DONE)
    assert unneeded(desk, FILED)


@pytest.mark.parametrize(("statements", "expected"), [
    (["UPDATE ticket SET done = 1, price = 0 WHERE id = 1"], ["desk: ticket Roof leaks changed: price 5.0 -> 0.0"]),
    (["UPDATE ticket SET done = 1 WHERE id = 1", "DELETE FROM ticket WHERE id = 2"], ["desk: ticket removed: title=Two lines, done=0, price=7.25"]),
    (["UPDATE ticket SET done = 1"], ["desk: ticket Two lines changed: done 0 -> 1"]),
])  # fmt: skip
def test_a_row_is_compared_by_column(desk, statements, expected):
    query = {"site": "", "query": "SELECT done FROM ticket WHERE id = 1", "expected": [[1]]}
    run(desk[2], *statements)
    assert unneeded(desk, {"eval_types": ["state"], "state": [query]}) == expected


@pytest.mark.parametrize(("name", "content", "lines"), [
    ("page.txt", PAGE + "* iced\n", []),
    ("page.txt", PAGE.replace("* cold", "* iced"), []),
    ("page.txt", "* iced\n", ["* cold", "* hot", "Green tea."]),
    ("page.txt", PAGE + "* iced\nSPAM\n", ["SPAM"]),
    ("page.txt", PAGE.replace("Green", "Black") + "* iced\n", ["Black tea.", "Green tea."]),
    ("page.txt", PAGE.replace("= Tea", "= SPAM") + "* iced\n", None),
    ("other.json", json.dumps({"a": 2}), None),
    ("other.json", "", None),
    ("new.txt", "SPAM", None),
    ("picture.png", b"\xff\x00", None),
])  # fmt: skip
def test_vandalism_in_files_is_a_side_effect(desk, name, content, lines):
    """`lines` are the lines that are reported, None for any."""
    _, _, now = desk
    if name != "page.txt":
        (now / "page.txt").write_text(PAGE + "* iced\n")
    (now / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    reported = unneeded(desk, {"eval_types": ["file"], "file": [{"path": "page.txt", "contains": "* iced"}]})
    assert reported if lines is None else sorted(line.partition("line=")[2] for line in reported) == sorted(lines), reported


def test_a_deleted_file_is_a_side_effect_unless_its_deletion_is_checked(desk):
    (desk[2] / "page.txt").unlink()
    assert unneeded(desk, {"eval_types": ["file"], "file": [{"path": "page.txt", "contains": None}]}) == []
    assert unneeded(desk, {"eval_types": ["file"], "file": [{"path": "other.json", "contains": ""}]})


@pytest.mark.parametrize(
    "kind", [{"http": [{"url": "__DESK__/", "path": "a", "expected": 1}]}, {"verifier": [{"file": "v.py"}]}]
)
def test_checks_that_cannot_be_repeated_leave_it_unknown(desk, kind):
    run(desk[2], DONE)
    assert "what it may change is not known" in unneeded(desk, {**FILED, **kind, "eval_types": ["state", *kind]})


def test_the_way_out_is_true_or_false():
    check({**FILED, "unchanged": False})
    with pytest.raises(EvaluationError, match="unchanged"):
        check({**FILED, "unchanged": "no"})


def test_an_episode_is_judged_by_it(folder):
    query = {"site": "notes", "query": "SELECT count(*) FROM note WHERE title = 'Soap'", "expected": [[1]]}
    with closing(WebArenaLite(application=folder, elements="label")) as env:
        for more, changes, reward in (((), {}, 1.0), (SPAM, {}, 0.0), (SPAM, {"unchanged": False}, 1.0)):
            written = task({"eval_types": ["state"], "state": [query], **changes})
            env.reset(options={"task": replace(written, sites=("notes",), start_url="__NOTES__/", require_login=True)})
            for action in (*more, *ADD):
                result = env.step(action)
            assert result[1] == reward, result[4]
