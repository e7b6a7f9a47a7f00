"""An application whose rows are in PostgreSQL: its resets and forks, damage beside right solutions, and faults of the database."""

import glob
import math
import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from examples import prepare
from webarena_gym import WebArenaLite
from webarena_gym.applications.processes import close_all
from webarena_gym.errors import EvaluationError
from webarena_gym.tools.audit.replays import replay

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
POSTGRES_USER = ["su", "postgres", "-s", "/bin/sh", "-c"] if os.getuid() == 0 else ["sh", "-c"]


@pytest.fixture(scope="module")
def server():
    """Start the PostgreSQL server of Debian's package, which is that of psql's environment variables."""
    if not PROGRAMS:
        pytest.skip("needs the server of PostgreSQL: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # the folders of pytest are closed to other users
    folder.chmod(0o777)
    programs = Path(PROGRAMS[-1]).parent
    settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    begin = f"{programs}/initdb -D {folder}/data -A trust -U postgres --locale=C.UTF-8 && {programs}/pg_ctl -D {folder}/data -o '{settings}' -l {folder}/log -w start"
    subprocess.run([*POSTGRES_USER, begin], check=True, capture_output=True, cwd=folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGHOST", str(folder))
        patch.setenv("PGUSER", "postgres")
        yield
    subprocess.run(
        [*POSTGRES_USER, f"{programs}/pg_ctl -D {folder}/data -m immediate stop"], check=True, capture_output=True, cwd=folder
    )
    shutil.rmtree(folder)


DAMAGE = {
    "insert a ticket": "INSERT INTO ticket (title) VALUES ('SPAM')",
    "insert the same ticket again": "INSERT INTO ticket (title) VALUES ('Door squeaks')",
    "insert a ticket with all values": "INSERT INTO ticket VALUES (99, 'SPAM', true, 'bob', 9.99)",
    "delete a ticket": "DELETE FROM ticket WHERE id = 1",
    "delete all other tickets": "DELETE FROM ticket WHERE id <= 2",
    "replace a ticket": "DELETE FROM ticket WHERE id = 1; INSERT INTO ticket (id, title) VALUES (1, 'SPAM')",
    "update a boolean": "UPDATE ticket SET done = true WHERE id = 2",
    "update a reference": "UPDATE ticket SET owner = 'bob' WHERE id = 1",
    "update a number by a cent": "UPDATE ticket SET price = price + 0.01 WHERE id = 1",
    "remove a value": "UPDATE ticket SET price = NULL WHERE id = 1",
    "change the case of a text": "UPDATE ticket SET title = lower(title) WHERE id = 1",
    "add a space to a text": "UPDATE ticket SET title = title || ' ' WHERE id = 1",
    "exchange two values": "UPDATE ticket SET price = 12.25 - price WHERE id <= 2",
    "delete rows of another table": "DELETE FROM tag WHERE ticket = 2",
    "insert into another table": "INSERT INTO tag VALUES (1, 'spam')",
    "insert a row twice in a table without key": "INSERT INTO tag VALUES (1, 'urgent')",
    "update another table": "UPDATE tag SET tag = 'now' WHERE ticket = 1",
    "replace a missing value by an empty text": "UPDATE person SET email = '' WHERE name = 'bob'",
    "insert into a table with a text as key": "INSERT INTO person VALUES ('eve', 'eve@e.test')",
    "delete from a table with a text as key": "DELETE FROM person WHERE name = 'bob'",
    "rename a key with its references": "INSERT INTO person VALUES ('Ann', 'ann@a.test'); UPDATE ticket SET owner = 'Ann' WHERE id = 1; DELETE FROM person WHERE name = 'ann'",
    "remove a table": "DROP TABLE tag",
    "add a column": "ALTER TABLE person ADD COLUMN spam text",
    "add a table": "CREATE TABLE spam (a text)",
}
"""Kinds of damage beside the task of filing a ticket. They leave its check passing."""
TITLES = (
    "Door squeaks", "Lamp's out", 'The "blue" lamp', "Größe prüfen", "日本語 の 件", "a\\b\\n", "\\N", "\\.", "NULL", "0", "  spaces  inside ",
    "semi; colon -- comment", "');DROP TABLE ticket;--", "%s {x} $1 :title", "<b>bold</b> &amp; co", "x" * 200, "Roof leaks", "true", "1,5 €", "🙂 emoji",
)  # fmt: skip
DESK = Path(__file__).parents[1] / "examples" / "desk"


@pytest.fixture(scope="module")
def desk(server, tmp_path_factory):
    """Return an env on a copy of the example whose rows are in PostgreSQL."""
    folder = shutil.copytree(DESK, tmp_path_factory.mktemp("desk") / "desk", ignore=shutil.ignore_patterns("state"))
    (folder / "state").mkdir()
    prepare.desk(folder, folder)
    env = WebArenaLite(application=folder, elements="label", max_steps=60)
    yield env
    env.close()
    close_all()


def solve(env):
    return [env.step(env.dialect.format(step.action)) for step in env.task.solution][-1]


def test_rows_of_postgresql_are_judged_and_restored(desk):
    for task in desk.tasks:
        assert replay(desk, task) == ""
    task = desk.tasks[0]
    desk.reset(options={"task": task})
    assert desk.changes() == [], "a dump has a random token"
    first, second, _ = (desk.dialect.format(step.action) for step in task.solution)
    desk.step(first)
    typed = desk.snapshot()
    assert solve(desk)[1] == 1.0
    desk.restore(typed)
    assert desk.changes() == []
    desk.step(second)
    assert [str(change) for change in desk.changes()] == ["desk: ticket added: title=Door squeaks, done=0"]
    assert desk.database("desk").execute("SELECT id, title FROM ticket ORDER BY id").fetchall()[1:] == [
        (2, "Two\nlines"),
        (3, "Door squeaks"),
    ]


def database_of(env):
    return f"desk_{env.backend._current.own_name}"


def run_sql(database, sql):
    subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", database], input=f"{sql};", check=True, text=True)


def play(env, task, act, when):
    """Play the solution of a task, and act before it or after its last change. Returns the last result."""
    env.reset(options={"task": task})
    *steps, last = (env.dialect.format(step.action) for step in env.task.solution or env.tasks[0].solution)
    if when == "before":
        act()
    for step in steps:
        env.step(step)
    if when == "after":
        act()
    return env.step(last)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("has_solution", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_in_postgresql_fails_the_task(desk, damage, when, has_solution):
    """Without a solution, the changes that the checks do not need are side effects (`backends.needed`)."""
    task = desk.tasks[0] if has_solution else replace(desk.tasks[0], solution=())
    _, reward, _, _, info = play(desk, task, lambda: run_sql(database_of(desk), DAMAGE[damage]), when)
    assert info["verdicts"][0]["passed"], "the damage is unrelated"
    assert info["side_effects"]
    assert reward == 0.0


@pytest.mark.sampled(7)
@pytest.mark.parametrize("has_solution", [True, False])
@pytest.mark.parametrize("title", TITLES)
def test_right_solutions_in_postgresql_are_rewarded(desk, title, has_solution):
    quoted = title.replace("'", "''")
    check = {"site": "desk", "query": f"SELECT title FROM ticket WHERE id > 2 AND title = '{quoted}'", "expected": [[title]]}
    first, *rest = desk.tasks[0].solution
    solution = (replace(first, action=replace(first.action, argument=title)), *rest)
    evaluation = {"eval_types": ["state"], "state": [check]}
    task = replace(desk.tasks[0], task_id="desk.title", eval=evaluation, solution=solution if has_solution else ())
    desk.reset(options={"task": task})
    for step in solution:
        _, reward, _, _, info = desk.step(desk.dialect.format(step.action))
    assert (reward, info["side_effects"]) == (1.0, []), info["verdicts"]


FAULTS = {
    "the database is dropped": "DROP DATABASE {} WITH (FORCE)",
    "the database takes no connections": "ALTER DATABASE {} ALLOW_CONNECTIONS false",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.sampled(3)
def test_a_fault_of_postgresql_is_never_the_reward_0(desk, fault, when):
    _, reward, terminated, truncated, info = play(
        desk, desk.tasks[0], lambda: run_sql("postgres", FAULTS[fault].format(database_of(desk))), when
    )
    assert math.isnan(reward)
    assert (terminated, truncated) == (False, True)
    assert info["failure"]
    assert replay(desk, desk.tasks[0]) == "", "the next episode is not affected"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_check_of_a_table_that_the_episode_has_dropped_fails(desk, when):
    _, reward, terminated, _, info = play(desk, desk.tasks[0], lambda: run_sql(database_of(desk), "DROP TABLE ticket"), when)
    assert (reward, terminated) == (0.0, True)
    assert "no such table: ticket, but not in the initial state" in info["verdicts"][0]["reason"]
    task = replace(
        desk.tasks[0],
        eval={"eval_types": ["state"], "state": [{"site": "desk", "query": "SELECT a FROM b", "expected": [[1]]}]},
    )
    with pytest.raises(EvaluationError, match="no such table: b"):
        play(desk, task, lambda: None, when)
