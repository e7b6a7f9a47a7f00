"""Workers end with the process that started them, whatever they do and however it ends."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.playing import run_parallel
from tests.processes import ends
from webarena_gym.processes import workers

ROOT = Path(__file__).parent.parent

SCRIPT = """
import os, sys, threading
from pathlib import Path

def busy(pipe, *_):
    os.write(os.open(pipe, os.O_WRONLY), f"{os.getpid()} ".encode())  # of less than PIPE_BUF bytes, so not mixed with others
    threading.Event().wait()

"""
WAYS = {
    "a map": "with workers(2) as several:\n  list(several(busy, [sys.argv[1]] * 2))",
    "runs of a benchmark": "side_by_side(busy, [(sys.argv[1], 1), (sys.argv[1], 2)], 2)",
    "players": "Players(partial(busy, sys.argv[1]), 2, num_envs=2)\n threading.Event().wait()",
}
IMPORTS = {
    "a map": "from webarena_gym.processes import workers",
    "runs of a benchmark": "from benchmarks.playing import side_by_side",
    "players": "from functools import partial\nfrom agents.rollouts.players import Players",
}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("way", ["a map", *(pytest.param(way, marks=pytest.mark.slow) for way in WAYS if way != "a map")])
def test_workers_end_with_their_parent(tmp_path, way, number):
    script, pipe = tmp_path / "script.py", tmp_path / "pipe"
    script.write_text(f"{SCRIPT}{IMPORTS[way]}\nif __name__ == '__main__':\n {WAYS[way]}\n")
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, script, pipe], env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
    )
    output = b""
    with pipe.open("rb", buffering=0) as pipe_file:
        while len(output.split()) < 2 or not output.endswith(b" "):
            part = pipe_file.read(100)
            assert part, "a worker ended by itself"
            output += part
    process.send_signal(number)
    assert process.wait(timeout=120)
    assert all(ends(int(pid)) for pid in output.split())


def fail_for_odd(number):
    if number % 2:
        raise ZeroDivisionError(number)
    return number


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_several_calls_side_by_side_give_the_results_in_their_order(jobs):
    assert run_parallel(divmod, [(number, 3) for number in range(7)], jobs) == [divmod(number, 3) for number in range(7)]
    assert run_parallel(divmod, [], jobs) == []
    with pytest.raises(ZeroDivisionError, match="1"):
        run_parallel(fail_for_odd, [(0,), (1,), (2,), (3,)], jobs)
    with workers(jobs) as several:
        assert list(several(fail_for_odd, [0, 2, 4])) == [0, 2, 4]


LEAVES = """
import signal, subprocess, sys
def test_leaves():
    child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"], stdout=subprocess.PIPE, start_new_session=True)
    child.stdout.readline()
    print("left", child.pid, file=sys.__stderr__, flush=True)
    assert False
def test_is_interrupted():
    child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == -signal.SIGINT
"""


def test_a_run_in_the_background_is_heard_names_what_fails_and_leaves_no_process(tmp_path):
    (tmp_path / "test_it.py").write_text(LEAVES)
    environment = {name: value for name, value in os.environ.items() if name != "WEBARENA_GYM_TESTS"}
    command = "trap '' INT; exec \"$@\""
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "tests.conftest", "-W", "ignore"]
    tests = [sys.executable, "-m", "pytest", *options, tmp_path]
    done = subprocess.run(
        ["sh", "-c", command, "-", *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert "FAILED " in done.stdout.partition("= FAILURES =")[0], done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert ends(int(re.search(r"left (\d+)", done.stderr)[1]))
