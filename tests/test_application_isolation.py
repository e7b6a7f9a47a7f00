"""The folder, the files, the network, the environment variables and the clock that an application sees."""

import sys
from contextlib import closing

import pytest

from tests.own_application import STARTS, state_check, task
from tests.own_application import make as make
from tests.own_application import notes as notes
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all
from webarena_gym.tasks import Task, parse_task


@pytest.mark.parametrize("start", ["wsgi", "each time", "command"])
def test_pages_with_the_path_of_the_state_are_equal_in_each_env(make, start):
    about = task("about", state_check("Tea"), ()) | {"start_url": "__NOTES__/about"}
    env, other = make(start, tasks=[parse_task(about)]), make(start, tasks=[parse_task(about)])
    texts = [each.reset()[0].partition(" <a")[0] for each in (env, env, other)]
    assert len(set(texts)) == 1
    place = "/proc/self/cwd/state" if start == "wsgi" else "/webarena-gym/notes/state"
    assert f"{place}/notes.db" in texts[0]
    assert place in env.page.root.xpath("string(//a/@href)").replace("%2F", "/")
    assert env.backend._current.wsgi  # the same way leads back
    found = env.network.request("GET", f"http://notes.test/about?at={place}/notes.db")
    assert found.status == 200
    assert f"at={place}/notes.db".encode() in found.body


@pytest.mark.parametrize("start", STARTS)
def test_the_query_of_a_url_reaches_the_application(make, start):
    env = make(start)
    env.reset(options={"task": "add"})
    assert b"a=1+2&amp;b=%C3%A9&amp;b" in env.network.request("GET", "http://notes.test/about?a=1+2&b=%C3%A9&b").body
    assert b"a=" not in env.network.request("GET", "http://notes.test/about").body.partition(b"</a>")[2]


def test_a_body_that_an_application_does_not_read_is_answered_all_the_same(tmp_path):
    (tmp_path / "deaf.py").write_text(
        "def application(environ, start_response):\n    start_response('404 Not Found', [('Content-Type', 'text/html')])\n    return [b'<p>No']\n"
    )
    application = Application(name="deaf", folder=str(tmp_path), wsgi="deaf:application")
    about = {"eval_types": ["url_match"], "reference_url": "__DEAF__/"}
    tasks = [Task("one", ("deaf",), "__DEAF__/", "Look.", about, require_login=False)]
    with closing(WebArenaLite(application=application, tasks=tasks)) as env:
        env.reset()
        for _ in range(50):
            assert env.network.request("POST", "http://deaf.test/", body=bytes(300_000)).status == 404
    close_all()


BY_HOST = """
import sys
from wsgiref.simple_server import make_server

def application(environ, start_response):
    status = "200 OK" if environ["HTTP_HOST"] == "desk.test" else "500 Internal Server Error"
    start_response(status, [("Content-Type", "text/html")])
    return [b"<!doctype html><p>Open"]

make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""


def test_an_application_that_answers_its_own_host_only_is_found_ready(tmp_path):
    (tmp_path / "app.py").write_text(BY_HOST)
    command = f"{sys.executable} app.py {{port}}"
    application = Application(name="desk", folder=str(tmp_path), command=command)
    visit = {**task("look", {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}), "sites": ["desk"]}
    env = WebArenaLite(application=application, tasks=[parse_task({**visit, "start_url": "__DESK__/", "require_login": False})])
    assert "Open" in env.reset()[0]
    env.close()
    close_all()
