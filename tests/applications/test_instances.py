"""A web application of one's own as an env: three ways to start it, isolation, resets, forks, side effects, deaths."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.clocks import until
from tests.errors import expect_error
from tests.own_application import STARTS, do, solve
from tests.own_application import folder as folder
from tests.own_application import make as make
from tests.own_application import notes as notes
from tests.processes import ends
from webarena_gym import WebArenaLite
from webarena_gym.applications import processes
from webarena_gym.applications.processes import close_all, launcher_of
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.errors import ApplicationError


@pytest.mark.parametrize("start", STARTS)
def test_each_episode_begins_in_the_same_state_signed_in(make, start):
    env, other = make(start), make(start)
    first, info = env.reset(options={"task": "add"})
    assert "Visit 1" in first, "a process of its own for each episode"
    assert info["url"] == "http://notes.test/"
    other.reset(options={"task": "add"})
    result = solve(env, "add")
    assert result[1] == 1.0, result[4]
    assert "Soap" not in other.step(do("Click", "Export"))[0]
    assert env.reset(options={"task": "add"})[0] == first


def test_load_and_save_commands_and_warm_pages_of_forks(notes):
    copies = {"load": "cp {state}/files/old.txt {state}/files/loaded.txt", "save": "cp {state}/notes.db {state}/files/saved.db"}
    env = WebArenaLite(application=notes(warm=("/login",), **copies), elements="label")
    assert "Visit 1" in env.reset(options={"task": "add"})[0]
    assert (env.backend.files / "files" / "loaded.txt").read_text() == "old"
    env.step(do("Click", "Delete Tea"))
    env.restore(env.snapshot())
    with sqlite3.connect(env.backend.files / "files" / "saved.db") as saved:
        assert saved.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (3,)
    saved.close()
    env.close()
    with expect_error(ApplicationError, "notes", "'false'", "status 1"):
        WebArenaLite(application=notes(load="false")).reset()


def test_pages_are_warmed_for_who_is_signed_in_too(notes):
    env = WebArenaLite(application=notes(warm=("/",)), elements="label")
    first, _ = env.reset(options={"task": "add"})
    assert "Visit 2" in first, "that before the fork is counted in memory"
    env.step(do("Click", "Delete Tea"))
    assert env.reset(options={"task": "add"})[0] == first
    launcher_of(env.options.application)._host.close()
    assert env.reset(options={"task": "add"})[0] == first
    env.close()


def test_another_instance_takes_the_place_of_one_that_was_killed_during_its_start(make):
    env = make()
    first, _ = env.reset(options={"task": "add"})
    launcher = launcher_of(env.options.application)
    launcher._next.result().close()
    launcher._next = Future()
    launcher._next.set_exception(ApplicationError("notes exited with status -9 before it was ready"))
    assert env.reset(options={"task": "add"})[0] == first


def test_a_state_outside_of_files_is_dumped_and_restored_for_each_episode(notes, tmp_path):
    store = tmp_path / "store"  # stands in for a server's databases
    store.mkdir()
    shell = {
        "load": f"cp {{state}}/notes.db {store}/{{env}}.db", "save": f"cp {store}/{{env}}.db {{state}}/notes.db", "drop": f"rm {store}/{{env}}.db"
    }  # fmt: skip
    served = {**shell, "command": f"{sys.executable} notes_app.py {store}/{{env}}.db {{port}}", "shared": (str(store),)}
    one, other = (WebArenaLite(application=notes("command", **served), elements="label") for _ in range(2))
    other.reset(options={"task": "add"})
    assert solve(one, "add")[1] == 1.0, "its dump is judged"
    snapshot = one.snapshot()
    assert "Soap" not in other.step(do("Click", "Export"))[0]
    assert one.restore(other.snapshot())[0].count("Soap") == 0
    assert "Soap: two bars" in one.restore(snapshot)[0]
    one.close()
    other.close()
    assert list(store.iterdir()) == []


def test_the_death_of_a_process_is_never_a_zero(make):
    for path in ("Crash", "Broken"):
        env = make()
        env.reset(options={"task": "add"})
        env.step(do("Click", path))
        _, reward, _, truncated, info = env.step('exit(message="")')
        if path == "Crash":
            assert math.isnan(reward)
            assert truncated
            assert "gives no answer" in info["failure"]
        else:
            assert reward == 0.0, "an error page of the application is its own"
    env.reset(options={"task": "add"})
    host = env.backend._current._host._process.pid
    os.kill(host, signal.SIGKILL)
    assert ends(host)
    assert solve(env, "add")[1] == 1.0, "a killed host is started again"


def test_closing_an_env_whose_application_has_ended_starts_none(make):
    env = make()
    env.reset()
    close_all()
    env.close()
    assert not processes._launchers


def test_a_process_that_is_killed_leaves_no_files_behind(folder):
    code = (
        "import os, signal, sys; from webarena_gym import WebArenaLite; env = WebArenaLite(application=sys.argv[1]);"
        "env.reset(); print(env.backend._current.folder.parent, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True, check=False)
    assert run.stdout.strip()
    until(lambda: not Path(run.stdout.strip()).exists())


def test_other_hosts_are_unreachable_and_pages_of_scripts_are_reported(make):
    env = make()
    env.reset(options={"task": "add"})
    assert "elsewhere.test" in env.step(do("Click", "Elsewhere"))[0]
    assert "http://notes.test/" not in env.page.url
    env.reset(options={"task": "add"})
    text, *_ = env.step(do("Click", "Script"))
    assert "this page needs scripts" in text
    empty = '<iframe id="preview"{}></iframe><script>fill()</script>'
    for source, is_filled in (("", True), (' src="about:blank"', True), (' src="/note"', False)):
        (note, *_) = Document(SavedDocument(empty.format(source).encode())).tree.notices(lambda _: True)
        assert ("parts that scripts fill" in "".join(note)) == is_filled
