"""Tasks on applications without a reference solution: what their checks do not need is a side effect."""

import itertools
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.errors import expect_error
from tests.own_application import ADD, do, folder
from tests.test_postgresql import DAMAGE
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application
from webarena_gym.backends import needed
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


def add_tables(desk, script, change=""):
    """Run a script in both databases, and a change in the second, with the functions of an application."""
    for path, statement in zip(desk[1:], ("", change), strict=True):
        with closing(sqlite3.connect(path / "desk.db")) as database:
            database.create_function("slug", 1, str, deterministic=True)
            database.create_collation("digits", lambda first, second: (first > second) - (first < second))
            database.executescript(script + statement)


def unneeded(desk, evaluation):
    changes = unneeded_changes(task(evaluation), *desk)
    return changes if isinstance(changes, str) else list(map(str, changes))


def test_changes_needed_by_the_checks_are_not_side_effects(desk):
    run(desk[2], DONE)
    assert unneeded(desk, FILED) == []


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_in_rows_is_a_side_effect(desk, damage):
    """The statements are those that are tried on PostgreSQL; without one of the two tickets about doors, the checks pass too."""
    run(desk[2], *DAMAGE[damage].split("; "), DONE)
    assert unneeded(desk, FILED)


@pytest.mark.parametrize(("statements", "expected"), [
    (["UPDATE ticket SET done = 1, price = 0 WHERE id = 1"], []),
    (["UPDATE ticket SET done = 1 WHERE id = 1", "DELETE FROM ticket WHERE id = 2"], ["desk: ticket removed: title=Two lines, done=0, price=7.25"]),
    (["UPDATE ticket SET done = 1"], ["desk: ticket Two lines changed: done 0 -> 1"]),
    (["UPDATE ticket SET done = 1, title = 'x' WHERE id = 1", "UPDATE ticket SET title = 'x', price = 0 WHERE id = 2"], ["desk: ticket Two lines changed: title Two lines -> x, price 7.25 -> 0.0"]),
])  # fmt: skip
def test_a_needed_row_may_change_in_all_columns(desk, statements, expected):
    query = {"site": "", "query": "SELECT done FROM ticket WHERE id = 1", "expected": [[1]]}
    run(desk[2], *statements)
    assert unneeded(desk, {"eval_types": ["state"], "state": [query]}) == expected


BOOKING = """
CREATE TABLE booking (id INTEGER PRIMARY KEY, start INTEGER, stop INTEGER, room TEXT UNIQUE, updated_at TEXT, CHECK (start <= stop));
INSERT INTO booking VALUES (1, 5, 9, 'a', 'old'), (2, 5, 9, 'b', 'old'), (3, 1, 2, 'c', 'old');
"""


@pytest.mark.parametrize(("written", "column", "value"), [
    ("start = 1, stop = 3", "start", 1),
    ("start = 1, stop = 3", "stop", 3),
    ("start = 20, stop = 30", "stop", 30),
    ("room = 'x', updated_at = 'new'", "room", "x"),
])  # fmt: skip
@pytest.mark.parametrize(("more", "count"), [("", 0), ("UPDATE booking SET updated_at = 'now' WHERE id = 2", 1), ("DELETE FROM booking WHERE id = 3", 1)])  # fmt: skip
def test_columns_that_depend_on_each_other_are_undone_together(desk, written, column, value, more, count):
    add_tables(desk, BOOKING)
    run(desk[2], f"UPDATE booking SET {written} WHERE id = 1", more)
    query = {"site": "", "query": f"SELECT {column} FROM booking WHERE id = 1", "expected": [[value]]}
    assert len(unneeded(desk, {"eval_types": ["state"], "state": [query]})) == count


def test_rows_that_exchanged_a_unique_value_are_side_effects(desk):
    add_tables(desk, BOOKING)
    exchange = ("'x' WHERE id = 1", "'a' WHERE id = 2", "'b' WHERE id = 1")
    run(desk[2], DONE, *(f"UPDATE booking SET room = {step}" for step in exchange))
    assert len(unneeded(desk, FILED)) == 2


APP_FUNCTION = "CREATE TABLE page (id INTEGER PRIMARY KEY, text TEXT{0}); INSERT INTO page VALUES (1, 'a'), (2, 'b'); {1}"


@pytest.mark.parametrize(("constraint", "index", "is_known"), [
    (" CHECK (slug(text) <> '')", "", True),
    ("", "CREATE INDEX by_slug ON page (slug(text));", False),
    (", slug TEXT AS (slug(text)) UNIQUE", "", False),
    (" COLLATE digits", "CREATE INDEX by_text ON page (text);", False),
])  # fmt: skip
@pytest.mark.parametrize("change", ["UPDATE page SET text = 'x' WHERE id = 1", "INSERT INTO page (text) VALUES ('x')", "DELETE FROM page WHERE id = 2"])  # fmt: skip
def test_functions_of_the_application_in_the_schema_do_not_stop_the_episode(desk, constraint, index, is_known, change):
    """A change that cannot be undone is no side effect. Without a check of rows, nothing has to be undone."""
    add_tables(desk, APP_FUNCTION.format(constraint, index), change)
    run(desk[2], DONE)
    assert len(unneeded(desk, FILED)) == is_known
    assert len(unneeded(desk, {"eval_types": ["file"], "file": [{"path": "page.txt", "contains": "Tea"}]})) == 2


def test_a_check_that_fails_on_the_old_rows_needs_the_new_ones(desk):
    run(desk[2], "UPDATE ticket SET title = '{\"a\": 1}' WHERE id = 1", "UPDATE ticket SET done = 1 WHERE id = 2")
    query = {"site": "", "query": "SELECT json_extract(title, '$.a') FROM ticket WHERE id = 1", "expected": [[1]]}
    assert len(unneeded(desk, {"eval_types": ["state"], "state": [query]})) == 1


@pytest.mark.parametrize(("first", "is_known"), [("", False), ("UPDATE person SET email = 'x'", True)])
def test_all_changes_share_one_time_limit(desk, monkeypatch, first, is_known):
    """Each look at the clock takes a second. `person` is compared before `ticket`."""
    run(desk[2], first, *[DONE] * 50, "UPDATE ticket SET done = 1 WHERE id = 1")
    query = {"site": "", "query": "SELECT count(*) FROM ticket", "expected": [[52]]}
    looks = itertools.count()
    monkeypatch.setattr(needed, "time", SimpleNamespace(monotonic=looks.__next__))
    found = unneeded(desk, {"eval_types": ["state"], "state": [query]})
    assert len(found) == 2 if is_known else "cannot be undone one by one in 20 s" in found
    assert next(looks) < 25


def test_many_changes_are_no_way_to_hide_one(desk):
    spam = ", ".join(f"('spam {number}')" for number in range(1_001))
    run(desk[2], DONE, f"INSERT INTO log VALUES {spam}", f"INSERT INTO person (name) VALUES {spam}")
    assert unneeded(desk, FILED)


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


NOTES = {"notes": [{"id": 1, "title": "Tea"}, {"id": 2, "title": "Salt"}], "settings": {"theme": "light", "size": 3}}
MILK = {"id": 3, "title": "Milk"}


@pytest.mark.parametrize(("notes", "settings", "check", "lines"), [
    ([*NOTES["notes"], MILK], {}, {"json_path": "notes.2.title", "equals": "Milk"}, []),
    ([*NOTES["notes"], MILK, {"id": 4}], {}, {"json_path": "notes.2.title", "equals": "Milk"}, ["4"]),
    ([MILK, {"id": 1}, NOTES["notes"][1]], {}, {"json_path": "notes.0.title", "equals": "Milk"}, ["1", "Tea"]),
    ([MILK, *NOTES["notes"]], {}, {"json_path": "notes.0", "equals": MILK}, []),
    (NOTES["notes"][1:], {}, {"json_path": "notes.0.id", "equals": 2}, []),
    (NOTES["notes"][1:], {"size": 4}, {"json_path": "notes.0.id", "equals": 2}, ["3", "4"]),
    (NOTES["notes"], {"theme": "dark"}, {"json_path": "settings.theme", "equals": "dark"}, []),
    (NOTES["notes"], {"theme": "dark", "size": 9}, {"json_path": "settings.theme", "equals": "dark"}, ["3", "9"]),
    ([*NOTES["notes"], MILK], {"size": 9}, {"contains": "Milk"}, ["3", "9"]),
    (NOTES["notes"], {"theme": "dark", "size": 9}, {"contains": '"theme":"dark"'}, []),
])  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_vandalism_in_one_json_file_is_a_side_effect_and_the_goal_is_not(desk, notes, settings, check, lines, indent):
    """`lines` are parts of the reported lines. A file whose text itself is checked is undone by lines, here by its only one."""
    application, *folders = desk
    after = {"notes": notes, "settings": {**NOTES["settings"], **settings}}
    for state, document in zip(folders, (NOTES, after), strict=True):
        is_text = ":" in check.get("contains", "")
        (state / "notes.json").write_text(json.dumps(document, indent=None if is_text else indent, separators=(",", ":")))
    reported = unneeded((application, *folders), {"eval_types": ["file"], "file": [{"path": "notes.json", **check}]})
    assert bool(reported) == bool(lines)
    assert all(any(part in line for line in reported) for part in lines)
    assert not any("Milk" in line or "dark" in line for line in reported)


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


def test_unchanged_must_be_a_bool():
    check({**FILED, "unchanged": False})
    with expect_error(EvaluationError, "unchanged"):
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
