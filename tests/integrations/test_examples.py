"""The examples of applications of one's own, each as it was prepared (`python examples/prepare.py NAME`)."""

import hashlib
import json
import math
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.processes import pid_of
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import read_application
from webarena_gym.applications.processes import close_all
from webarena_gym.applications.state import changes
from webarena_gym.tools.audit.replays import do_all, earns, exit_with, replay

EXAMPLES = Path(__file__).parents[2] / "examples"
RESETS = int(os.environ.get("EXAMPLE_RESETS", "5"))
"""Resets that are compared, in the browser that is faster."""
BROWSERS = {
    "datasette": ("inprocess", "chromium"),
    "klaus": ("inprocess", "chromium"),
    "spirit": ("inprocess", "chromium"),
    "wagtail": ("inprocess", "chromium"),
    "jupyterlab": ("chromium",),  # it lives from scripts
}
pytestmark = pytest.mark.integrations
each = pytest.mark.parametrize("name", BROWSERS)


@pytest.fixture
def make():
    """Return a function that makes an env on an example; skips by its name where it is not prepared."""
    made = []

    def make(name, browser="", **keywords):
        if not ((EXAMPLES / name / ".venv").exists() and (EXAMPLES / name / "state").is_dir()):
            pytest.skip(f"{name} is not prepared: python examples/prepare.py {name}")
        browser = browser or BROWSERS[name][0]
        made.append(WebArenaLite(application=read_application(EXAMPLES / name), browser=browser, max_steps=60, **keywords))
        return made[-1]

    yield make
    for env in made:
        env.close()
    close_all()


def digest(env):
    """Return a digest of all files of the state, but for those of which a description says that they do not matter."""
    backend, application = env.backend, env.options.application
    files = {}
    unseen = Path(backend._current.folder) / "nothing"
    unseen.mkdir(exist_ok=True)
    for change in changes(application.name, unseen, backend.files, {}, application.incidental):
        files[change.after["path"]] = change.after["digest"]
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize(("name", "browser"), [(name, browser) for name, browsers in BROWSERS.items() for browser in browsers])
def test_its_solution_earns_each_reward_and_nothing_else_does(make, name, browser):
    env = make(name, browser)
    assert len(env.tasks) == 10
    for task in env.tasks:
        assert replay(env, task) == "", task.task_id
        for answer in ("", *task.wrong_answers[:1]):
            assert not earns(env, task, exit_with(answer)), (task.task_id, answer)


@each
def test_resets_are_equal_byte_for_byte(make, name):
    env = make(name)
    seen = set()
    for _ in range(RESETS):
        text, _ = env.reset(options={"task": env.tasks[0]})
        seen.add((text, digest(env)))
    assert len(seen) == 1


@each
def test_eight_at_once_see_their_own_writes_alone(make, name):
    envs = [make(name) for _ in range(8)]
    for number, env in enumerate(envs):
        env.reset(options={"task": next(task for task in env.tasks if "string_match" not in task.eval_types)})
        (env.backend.files / f"of {number}").write_text(str(number))
    for env in envs[::2]:
        do_all(env, env.task)
    alone = [[change for change in map(str, env.changes()) if "=of " not in change] for env in envs]
    assert not any(alone[1::2])
    assert all(found == alone[0] for found in alone[::2])
    assert alone[0] or name == "klaus", "which only reads"
    files = [sorted(path.name for path in env.backend.files.glob("of *")) for env in envs]
    assert files == [[f"of {number}"] for number in range(8)]


@each
def test_a_kill_is_a_fault_and_never_a_zero(make, name):
    env = make(name)
    env.reset(options={"task": env.tasks[0]})
    os.kill(pid_of(env.backend._current), signal.SIGKILL)
    steps = [env.step(f'do(action="Click", element="{number}")') for number in range(3)]
    *_, info = steps[-1]
    _, reward, _, truncated, info = next((step for step in steps if step[3]), None) or env.step('exit(message="x")')
    assert (math.isnan(reward), truncated) == (True, True), info
    assert info["failure"]
    assert replay(env, env.tasks[0]) == ""


@each
def test_foreign_hosts_are_out_of_reach(make, name):
    env = make(name, "chromium")
    env.reset(options={"task": env.tasks[0]})
    if sys.platform == "linux":
        interfaces = Path(f"/proc/{pid_of(env.backend._current)}/net/dev").read_text().splitlines()[2:]
        assert [line.split(":")[0].strip() for line in interfaces] == ["lo"], "of its process"
    browser, request = env.backend.browser, "fetch({!r}, {{mode: 'no-cors'}}).then(() => 'reached', () => 'refused')"
    for url in ("http://example.com/", "https://example.com/", "http://127.0.0.1:80/", "http://[::1]/"):
        assert browser.run_script(request.format(url)) == "refused"
    browser.new_tab("http://example.com/")
    assert browser.has_failed
