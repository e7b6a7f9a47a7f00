"""Leftovers of killed processes: their identities, and the folders that the next application removes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.notes_app import make_state
from tests.own_application import HERE, STARTS
from webarena_gym.applications.application import Application
from webarena_gym.applications.owners import has_ended, identity
from webarena_gym.applications.processes import AppLauncher, copies_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the start times of processes")


def test_a_process_is_identified_until_it_ends():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = identity(process.pid)
        assert owner
        assert owner != identity(os.getpid())
        assert not has_ended(owner)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert has_ended(owner), "it is not reaped yet"
    assert has_ended(owner)
    assert identity(process.pid) == ""


def test_only_processes_of_this_machine_and_user_can_be_known_to_have_ended():
    *parts, start = identity(os.getpid()).split("-")
    assert has_ended("-".join([*parts, str(int(start) - 1)])), "another process had this id"
    for index in range(3):
        foreign = [*parts, "1"]
        foreign[index] += "1"
        assert not has_ended("-".join(foreign))
    assert not has_ended("")


def test_folders_of_killed_processes_are_removed_at_the_next_start(tmp_path):
    make_state(tmp_path / "state")
    settings = {"name": "notes", "folder": str(HERE), "state": str(tmp_path / "state"), **STARTS["wsgi"]}
    program = f"""
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import AppLauncher
launcher = AppLauncher(Application(**{settings!r}))
instance = launcher.start()
print(launcher._host.process_id, instance.folder.parent, flush=True)
input()
"""
    variables = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
    ) as process:
        host, folder = process.stdout.readline().split()
        AppLauncher(Application(**settings)).close()
        assert Path(folder, "owner").exists(), "its process runs"
        process.send_signal(signal.SIGSTOP)  # so that it cannot remove the folder
        os.killpg(int(host), signal.SIGKILL)
        process.kill()
    assert Path(folder).parent == copies_folder()
    assert Path(folder).exists(), "no process could remove it"
    AppLauncher(Application(**settings)).close()
    assert not Path(folder).exists()
