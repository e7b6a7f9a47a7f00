"""MiniWoB++ with our observations and actions. `python -m benchmarks.miniwob` plays all of its tasks; here are some."""

import re
import subprocess
import sys
from random import Random

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import ImageColor

import webarena_gym
from benchmarks.miniwob import random_reply
from tests import needs
from tests.errors import expect_error
from webarena_gym import miniwob
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.errors import SnapshotError, TaskError

pytestmark = [needs.chromium, needs.miniwob]

SAMPLE = (
    "book-flight", "click-pie", "choose-date", "click-menu", "click-shape", "click-tab-2", "copy-paste", "drag-items",
    "email-inbox-nl-turk", "flight.Alaska", "highlight-text", "search-engine", "simon-says", "terminal", "use-autocomplete",
)  # fmt: skip


@pytest.fixture(scope="module")
def env():
    env = gymnasium.make("MiniWoBText-v0", elements="label", header=False)
    yield env
    env.close()


def do(env, kind, element, argument=None):
    return env.step(DIALECTS["webrl"].format(Action(kind, element=element, argument=argument)))


def begin(env, task):
    _, info = env.reset(options={"task": task})
    return info["goal"]


def quoted(goal):
    return re.findall(r'"([^"]*)"', goal)


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.sampled(5)
def test_a_task_takes_random_actions_and_is_the_same_again(env, name):
    first, info = env.reset(options={"task": f"{name}/5"})
    assert info["goal"]
    assert env.reset(options={"task": f"{name}/5"})[0] == first
    rng, over = Random(name), False
    for _ in range(3):
        if not over:
            _, reward, terminated, truncated, info = env.step(random_reply(env.unwrapped.observation, rng))
            assert reward in (0.0, 1.0)
            assert "failure" not in info
            over = terminated or truncated


def test_a_button_is_clicked_and_the_last_page_is_still_seen(env):
    assert begin(env, "click-test/1") == "Click the button."
    assert env.unwrapped.observation.text == "<button>Click Me!</button>"  # neither the goal nor the display
    _, reward, terminated, truncated, info = do(env, Kind.CLICK, "Click Me!")
    assert (reward, terminated, truncated, info["success"], info["raw_reward"]) == (1.0, True, False, True, 1.0)
    assert "Click Me!" in info["page"]


@pytest.mark.parametrize("task", ["click-button/1", "click-button/2", "click-link/1"])
def test_named_elements_are_clicked_including_text_with_listeners(env, task):
    (expected,) = quoted(begin(env, task))
    assert do(env, Kind.CLICK, expected)[1] == 1.0


def test_text_is_entered_boxes_are_ticked_and_an_option_is_chosen(env):
    (expected,) = quoted(begin(env, "enter-text/1"))
    do(env, Kind.TYPE, "input", expected)
    assert do(env, Kind.CLICK, "Submit")[1] == 1.0
    goal = begin(env, "click-checkboxes/1")
    expected = re.fullmatch(r"Select (.*) and click Submit\.", goal)[1].split(", ")
    assert "nothing" not in expected
    for each in expected:
        do(env, Kind.CLICK, each)
    assert do(env, Kind.CLICK, "Submit")[1] == 1.0
    expected = re.fullmatch(r"Select (.*) from the list and click Submit\.", begin(env, "choose-list/1"))[1]
    do(env, Kind.SELECT, "select", expected)
    assert do(env, Kind.CLICK, "Submit")[1] == 1.0


@pytest.mark.parametrize("right", [True, False])
def test_a_user_signs_in(env, right):
    user, password = quoted(begin(env, "login-user/1"))
    do(env, Kind.TYPE, "input", user)
    do(env, Kind.TYPE, "input [2]", password if right else f"{password}x")
    _, reward, terminated, _, info = do(env, Kind.CLICK, "Login")
    assert (reward, terminated, info["raw_reward"]) == ((1.0, True, 1.0) if right else (0.0, True, -1.0))


def test_short_delays_of_pages_are_awaited(env):
    (start, end) = quoted(begin(env, "use-autocomplete/1"))[:2]
    do(env, Kind.TYPE, "Tags:", start)
    offered = [address for address in env.unwrapped.observation.nodes if address.startswith(start) and address.endswith(end)]
    do(env, Kind.CLICK, offered[0])
    assert do(env, Kind.CLICK, "Submit")[1] == 1.0


def test_parts_without_text_are_named_by_what_they_are(env):
    begin(env, "tic-tac-toe/1")
    do(env, Kind.CLICK, "ttt-4")
    assert "ttt-4 mark-x" in env.unwrapped.observation.text
    begin(env, "click-color/1")
    assert any("rgb(" in address for address in env.unwrapped.observation.nodes)


def test_no_clock_limits_an_episode(env):
    begin(env, "click-test/1")
    browser = env.unwrapped.backend.browser
    assert browser.run_script("core.EPISODE_MAX_TIME") > 20 * 24 * 3600 * 1000
    assert browser.run_script("new Date().toISOString()").startswith("2017-03-01T12:0")


def test_leaving_the_page_ends_the_episode_with_nothing(env):
    begin(env, "click-test/1")
    _, reward, terminated, _, info = env.step("go_backward()")
    assert (reward, terminated) == (0.0, False)
    assert info["action_error"]
    env.unwrapped.backend.browser.goto("http://miniwob.test/miniwob/click-test.html")
    _, reward, terminated, _, info = env.step('do(action="Wait")')
    assert (reward, terminated, info["raw_reward"]) == (0.0, True, 0.0)
    begin(env, "click-test/1")
    assert env.step('exit(message="done")')[1:3] == (0.0, True)


def test_seeds_draw_episodes(opened, env):
    chosen = opened(gymnasium.make("MiniWoBText-v0", tasks="enter-text", max_steps=2))
    first = chosen.reset(seed=3)
    assert chosen.reset(seed=4)[0] != first[0]
    assert chosen.reset(seed=3) == first
    assert begin(env, first[1]["task_id"]) == first[1]["goal"]
    assert first[1]["task_id"].startswith("enter-text/")
    chosen.step('do(action="Wait")')
    assert chosen.step('do(action="Wait")')[1:4] == (0.0, False, True)


def test_gymnasium_has_nothing_to_complain_about(opened):
    env = opened(gymnasium.make("MiniWoBText-v0", tasks=["click-test"], render_mode="rgb_array"))
    check_env(env.unwrapped, skip_render_check=True)
    env.reset()
    assert env.render().shape == (800, 600, 3)


def test_invalid_tasks_and_data_modes_are_rejected(env, monkeypatch):
    with expect_error(TaskError, "'click-tests'", "click-test"):
        env.reset(options={"task": "click-tests"})
    with expect_error(TaskError, "'click-test/x'", "<name>/<seed>"):
        env.reset(options={"task": "click-test/x"})
    with expect_error(ValueError, "data_mode"):
        gymnasium.make("MiniWoBText-v0", data_mode="dev")
    begin(env, "click-test/1")
    with expect_error(SnapshotError, "MiniWoB"):
        env.unwrapped.snapshot()
    with pytest.raises(KeyError):
        env.unwrapped.database("shopping")
    monkeypatch.setattr(miniwob, "find_spec", lambda name: None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="pip install"):
        miniwob.root()


def test_only_the_pages_are_served():
    def status(path):
        messages = []
        list(miniwob.site({"PATH_INFO": path}, lambda line, _: messages.append(line)))
        return messages[0][:3]

    assert status("/miniwob/click-test.html") == "200"
    for path in ("/", "/miniwob", "/../__init__.py", "//etc/passwd", "/miniwob/none.html", "/miniwob/a\0.html"):
        assert status(path) == "404"


def test_all_tasks_have_names_and_nothing_of_selenium_is_imported():
    assert len(miniwob.task_names()) >= 100
    assert {"click-test", "flight.AA"} <= set(miniwob.task_names())
    assert webarena_gym.__version__
    code = "import sys, webarena_gym.miniwob as m; m.task_names(); print([n for n in ('selenium', 'miniwob.environment', 'playwright') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_click_located_in_the_picture_solves_a_task(opened, seed):
    shown = {"observation": "pixels", "dialect": "computer", "picture_format": "png"}
    env = opened(gymnasium.make("MiniWoBText-v0", tasks="click-color", **shown))
    seen, info = env.reset(options={"task": f"click-color/{seed}"})
    colour = ImageColor.getrgb(re.search(r"Click on the (\w+) ", info["goal"])[1])
    rows, columns = (seen["screenshot"] == colour).all(axis=2).nonzero()  # the goal above the boxes is yellow itself
    _, reward, terminated, _, _ = env.step(f'{{"type": "click", "x": {columns[-1] - 5}, "y": {rows[-1] - 5}}}')
    assert (reward, terminated) == (1.0, True)
