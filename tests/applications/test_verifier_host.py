"""The process of verifiers: calls in forks, their results, faults and time limits, and the connection to the application."""

import json
import os
import socket
import subprocess
import sys
import threading
from io import BytesIO

import pytest

from webarena_gym.applications import verifier_host as host


@pytest.fixture
def verifier(tmp_path, monkeypatch):
    """Write a verifier with this body, and return its path. The application's socket is in the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(body, name="verify_it.py", head=""):
        (tmp_path / name).write_text(f"{head}\ndef verify(server_url):\n    {body}\n")
        return str(tmp_path / name)

    return write


def calls(file, *seconds):
    """Call a verifier with these time limits in a new process, whose memory is small enough for the limit of forks. Return the responses."""
    program = f"import json, verifier_host as host; print(json.dumps([host.call({file!r}, limit) for limit in {seconds}]))"
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(host.__file__)}
    return json.loads(subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout)


@pytest.mark.parametrize(
    ("body", "response"),
    [
        ("return True, 'all is well'", {"passed": True, "reason": "all is well"}),
        ("return False, 3", {"passed": False, "reason": "3"}),
        ("return True, 'x' * 9000", {"passed": True, "reason": "x" * 2000}),
        ("return 1, 'one'", {"error": "it returned (1, 'one'); expected (bool, str)"}),
        ("return True, 'one', 2", {"error": "it returned (True, 'one', 2); expected (bool, str)"}),
        ("import os; os._exit(3)", {"error": "it ended with status 3 before it returned"}),
    ],
)
def test_a_call_returns_the_verdict_or_the_fault(verifier, body, response):
    assert calls(verifier(body), 30) == [response]


def test_an_exception_is_reported_with_its_line_and_a_call_that_takes_too_long_is_ended(verifier):
    (response,) = calls(verifier("raise KeyError('cards')", "raising.py"), 30)
    assert response["error"].endswith("KeyError: 'cards'")
    assert 'raising.py", line 3' in response["error"]
    assert calls(verifier("while True: pass", "endless.py"), 0.2) == [{"error": "it returned nothing within 0.2 s"}]


def test_a_verifier_is_loaded_once_and_its_calls_leave_nothing(verifier, tmp_path):
    (tmp_path / "count.py").write_text("calls = []")
    (tmp_path / "load.py").write_text("open('loads', 'a').write('1')")
    file = verifier("count.calls.append(1); return len(count.calls) == 1, __name__", head="import count, load")
    first, second = calls(file, 30, 30)
    assert first == second == {"passed": True, "reason": "verifier_0"}
    assert (tmp_path / "loads").read_text() == "1"


def test_a_file_that_cannot_be_loaded_is_a_fault(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("raise SystemExit(0)")
    (response,) = calls(str(file), 30)
    assert response["error"].startswith("it cannot be loaded: ")


def test_requests_are_json_objects(verifier, monkeypatch):
    monkeypatch.setattr(host, "call", lambda file, seconds: {"passed": file.endswith("verify_it.py"), "reason": f"{seconds}"})
    order = json.dumps({"file": verifier("return True, 'yes'"), "seconds": 30}).encode()
    statuses = []
    body = host.application({"wsgi.input": BytesIO(order)}, lambda status, headers: statuses.append((status, headers)))
    assert json.loads(b"".join(body)) == {"passed": True, "reason": "30.0"}
    assert statuses == [("200 OK", [("Content-Type", "application/json")])]


@pytest.mark.parametrize(("written", "content"), [(b"one\ntwo\n", b"one\ntwo\n"), (b"one\ntwo", None)])
def test_a_pipe_is_read_to_the_end_of_its_line_or_the_end_of_the_time(written, content):
    reader, writer = os.pipe()
    os.write(writer, written)
    assert host.read_until(reader, 0.0) == content
    os.close(writer)
    assert host.read_until(reader, 0.0) == b""
    os.close(reader)


def test_connections_are_forwarded_to_the_socket_of_the_application(tmp_path):
    path = str(tmp_path / "application")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def answer():
            with listening.accept()[0] as connection:
                connection.sendall(b"".join(iter(lambda: connection.recv(1000), b""))[::-1])

        threading.Thread(target=answer, daemon=True).start()
        with socket.create_connection(("127.0.0.1", host.forward_to(path))) as connection:
            connection.sendall(b"abc")
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1000) == b"cba"
