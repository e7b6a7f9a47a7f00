"""Verifiers of suites: faults, isolation and the files that they may be."""

import http.server
import math
import socketserver
import threading

import pytest

from tests.errands import SOLVED
from tests.suites import errands, play, replaced
from webarena_gym import WebArenaLite
from webarena_gym.errors import EvaluationError, TaskError

__all__ = ["errands"]  # fixtures
FAULTS = {
    "os.abort()": "ended with status -6",
    "os._exit(0)": "ended with status 0 before it returned",
    "raise SystemExit(0)": "SystemExit",
    "raise KeyError('cards')": "KeyError: 'cards'",
    "while True: pass": "returned nothing within 5 s",
    "return True": "it returned True; expected (bool, str)",
    "return 1, 'one'": "it returned (1, 'one')",
    "return 'x' * (3 << 30), ''": "MemoryError",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_failing_verifiers_give_nan_and_later_ones_still_run(errands, fault):
    replaced(errands.parent / "verify_crash.py", "os.abort()", fault)
    if fault.startswith("while"):
        replaced(errands, "verify_s = 60", "verify_s = 5")
    env = WebArenaLite(suite=errands, split="broken", elements="label")
    _, reward, _, truncated, info = play(env, "shelf.crash", ["exit()"])
    assert math.isnan(reward)
    assert truncated
    assert FAULTS[fault] in info["failure"]
    assert play(env, "shelf.jam", SOLVED)[1] == 1.0
    env.close()


@pytest.mark.parametrize("source", ["import os; os._exit(3)", "raise ValueError('no')", "x = 1", "def verify(:"])
def test_a_verifier_that_cannot_be_loaded_is_no_reward_of_zero(errands, source):
    (errands.parent / "verify_crash.py").write_text(source)
    env = WebArenaLite(suite=errands, split="broken", elements="label")
    for _ in range(2):
        assert math.isnan(play(env, "shelf.crash", ["exit()"])[1])
    assert play(env, "shelf.jam", SOLVED)[1] == 1.0
    env.close()


HOSTILE = """
import os, socket
from urllib.request import urlopen

def verify(server_url):
    tried = []
    for attempt in (lambda: urlopen("ELSEWHERE", timeout=5), lambda: open("WRITTEN", "w"), lambda: os.kill(VICTIM, 0)):
        try:
            attempt()
            tried.append("done")
        except OSError as error:
            tried.append("refused")
    return True, f"{tried} {urlopen(server_url + '/state').status}"
"""


def test_a_verifier_reaches_only_the_application(errands):
    env = WebArenaLite(suite=errands, split="broken", elements="label")
    with socketserver.TCPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        values = {
            "ELSEWHERE": f"http://127.0.0.1:{server.server_address[1]}",
            "WRITTEN": str(errands.parent / "written"),
            "VICTIM": str(threading.main_thread().native_id),
        }
        source = HOSTILE
        for name, value in values.items():
            source = source.replace(name, value)
        (errands.parent / "verify_crash.py").write_text(source)
        info = play(env, "shelf.crash", ["exit()"])[4]
        server.shutdown()
    if not env.backend._verifiers.is_isolated:
        pytest.skip("this system does not isolate processes")
    assert info["verdicts"][0]["reason"] == "['refused', 'refused', 'refused'] 200"
    env.close()


def test_an_application_does_not_serve_its_verifier(errands):
    env = WebArenaLite(suite=errands, split="easy", dialect="webarena")
    env.reset(options={"task": "shelf.jam"})
    served = env.step("goto [http://shelf.test/verify_jam.py]")[0]
    if not env.backend._verifiers.is_isolated:
        pytest.skip("this system does not isolate processes")
    assert "marmalade" not in served
    assert "THINGS" in env.step("goto [http://shelf.test/shelf.py]")[0]
    env.close()


@pytest.mark.parametrize("file", ["/etc/passwd", "../outside.py", "shelf/none.py"])
def test_a_verifier_is_a_file_of_the_suite(errands, file):
    (errands.parent.parent / "outside.py").write_text("def verify(url): return True, ''")
    replaced(errands, 'file = "verify_crash.py"', f'file = "{file}"')
    with pytest.raises((EvaluationError, TaskError), match=r"relative path|not a file in the folder"):
        play(WebArenaLite(suite=errands, split="broken"), "shelf.crash", ["exit()"])
