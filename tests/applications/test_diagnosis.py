"""Advice for applications that do not start."""

import pytest

from tests.descriptions import describe
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.diagnosis import advice, clock_advice, log_tail

__all__ = ["describe"]  # a fixture


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_the_advice_for_a_missing_image_names_the_engine(monkeypatch, tmp_path, engine):
    (tmp_path / engine).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    application = Application(name="notes", image="notes:1", in_memory=True)
    log = "Error response from daemon: No such image: notes:1"
    assert f"`{engine} images` lists them, and `{engine} pull notes:1` downloads it" in advice(application, log)


@pytest.mark.parametrize(("log", "keys", "word"), [
    ("Error: Cannot find module 'express'", {}, "'express' installed"),
    ("sh: 1: API_TOKEN: unbound variable", {}, "API_TOKEN"),
    ("Error: getaddrinfo EAI_AGAIN db", {}, "network = true"),
    ("Error: getaddrinfo EAI_AGAIN db", {"network": True}, ""),
    ("Error: listen EADDRINUSE: address already in use :::3000", {}, "{port}"),
    ("MemoryError", {"limits": {"memory": "8M"}}, "memory = '8M'; expected a larger one"),
    ("MemoryError", {}, ""),
    ("Listening on port 3000", {}, ""),
])  # fmt: skip
def test_advice_follows_from_the_log_and_the_settings(describe, log, keys, word):
    text = advice(read_application(describe(keys)), log)
    assert word in text
    assert bool(text) == bool(word)


@pytest.mark.parametrize("line", [
    '127.0.0.1 - - [01/Mar/2026 10:00:00] "GET /static/{0}.js?v=1 HTTP/1.1" 200 -',
    '127.0.0.1 - - [01/Mar/2026 10:00:00] "\x1b[36mGET /static/{0}.js HTTP/1.1\x1b[0m" 304 -',
    'INFO:     127.0.0.1:4242 - "POST /items/{0} HTTP/1.1" 201 Created',
    '::1 - - [01/Mar/2026:10:00:00 +0000] "GET /{0} HTTP/2.0" 302 612 "-" "Agent"',
    "2026-03-01 10:00:00 DEBUG worker {0} has nothing to do, and waits for the next minute",
], ids=lambda line: line.split()[0])  # fmt: skip
def test_the_cause_of_an_error_is_shown_before_later_lines_of_the_log(tmp_path, line):
    log, application = tmp_path / "log", Application(name="notes", command="x {port}")
    others = "".join(f"{line.format(number)}\n" for number in range(200))
    cause = 'Traceback (most recent call last):\n  File "shop.py", line 7, in page\n    versions[-1]\nIndexError: list index\n'
    failed = '127.0.0.1 - - [01/Mar/2026 10:00:00] "GET /page HTTP/1.1" 500 -\n'
    log.write_text(others + cause.replace("IndexError", "KeyError") + others + cause + failed + others)
    text = log_tail(log, application)
    assert cause in text
    assert (failed in f"{text}\n") or "[...]" in text
    assert len(text) <= 1510
    log.write_text(others)
    assert log_tail(log, application).endswith(line.format(199).replace("\x1b[36m", "").replace("\x1b[0m", ""))


def test_an_application_with_a_clock_is_not_advised_to_set_one():
    assert "set clock=" in clock_advice(Application(name="notes", command="x {port}"))
    advice_with_clock = clock_advice(Application(name="notes", command="x {port}", clock="2026-01-02 09:00:00"))
    assert "set clock=" not in advice_with_clock
    assert "processor times" in advice_with_clock
