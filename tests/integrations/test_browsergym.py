"""BrowserGym's own browser, observations and actions, on our sites and judged by our judge."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("browsergym.core", reason="make test-integrations")

import gymnasium
from browsergym.core.action.highlevel import HighLevelActionSet

from tests.errands import ERRANDS
from tests.pages import page
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.applications.application import Application
from webarena_gym.browsers.chromium.driver import find_executable
from webarena_gym.integrations import browsergym as adapter
from webarena_gym.observation import observe
from webarena_gym.suite import load
from webarena_gym.tasks import Task

pytestmark = pytest.mark.integrations
TASKS = load("test")
BROWSERGYM = DIALECTS["browsergym"]


def of_template(name):
    return next(task for task in TASKS if task.template == name)


@pytest.fixture
def make():
    made = []

    def make_env(task, **options):
        made.append(gymnasium.make(f"browsergym/{adapter.name_of(task.task_id)}", pre_observation_delay=0.1, **options))
        return made[-1]

    yield make_env
    for env in made:
        env.close()


def written(env, action):
    """Return an action of a reference solution in BrowserGym's words, with its numbers for elements."""
    bid = None
    if action.element is not None:
        shown = observe(page(env.unwrapped.page.content()), elements="label")
        bid = shown.element(action.element).get("bid")
        assert bid
    if action.kind is Kind.SEARCH:
        return f"fill({bid!r}, {action.argument!r})\npress({bid!r}, 'Enter')"
    return BROWSERGYM.format(Action(action.kind, bid, action.argument))


def solve(env, task):
    observation, _ = env.reset(seed=0)
    assert observation["goal"] == task.intent
    for step in task.solution:
        observation, reward, terminated, _, info = env.step(written(env, step.action))
        assert not observation["last_action_error"]
    return reward, terminated, info["task_info"]


@pytest.mark.parametrize("name", [
    "shopping.wish_list_add", "shopping.order_total", "shopping.search_place", "gitlab.star_top",
    "reddit.open_and_subscribe", "map.save_place",
])  # fmt: skip
def test_reference_solutions_earn_the_reward_with_its_own_actions(make, name):
    task = of_template(name)
    reward, terminated, info = solve(make(task), task)
    assert (reward, terminated, info["success"]) == (1.0, True, True), info["verdicts"]


def test_wrong_answers_side_effects_and_infeasible_reports(make):
    task = of_template("shopping.order_total")
    env = make(task)
    env.reset(seed=0)
    _, reward, terminated, _, _ = env.step('send_msg_to_user("$1.23")')
    assert (reward, terminated) == (0.0, True)
    solve(env, task)  # a world of its own each time
    impossible = next(task for task in load("train") if not task.is_achievable)
    env = make(impossible)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step('report_infeasible("There is no such thing.")')
    assert (reward, terminated) == (1.0, True), info


def test_its_pictures_are_of_the_sites_and_its_mouse_clicks_at_places_of_them(make):
    env = make(TASKS[0], action_mapping=HighLevelActionSet(["chat", "coord"]).to_python_code)
    first, _ = env.reset(seed=0)
    assert first["screenshot"].shape == (720, 1280, 3)
    box = env.unwrapped.page.get_by_role("link", name="My Wish List").first.bounding_box()
    clicked, *_ = env.step(f"mouse_click({box['x'] + box['width'] / 2}, {box['y'] + box['height'] / 2})")
    assert "wishlist" in clicked["url"]
    assert (clicked["screenshot"] != first["screenshot"]).any()


def test_its_browser_reaches_nothing_but_the_sites(make):
    env = make(TASKS[0])
    env.reset(seed=0)
    observation, *_ = env.step('goto("http://example.com/")')
    assert "net::ERR" in observation["last_action_error"]


@pytest.mark.parametrize("way", ["variable", "keyword"])
def test_the_chromium_is_the_one_that_is_given(make, monkeypatch, tmp_path, way):
    """Both browsers are: that of the pages and that of the chat."""
    begun, chromium = tmp_path / "begun", tmp_path / "chromium"
    chromium.write_text(f'#!/bin/sh\necho >> {begun}\nexec {find_executable()} "$@"\n')
    chromium.chmod(0o755)
    if way == "variable":
        monkeypatch.setenv("WEBARENA_GYM_CHROMIUM", str(chromium))
    env = make(TASKS[0], **({} if way == "variable" else {"pw_chromium_kwargs": {"executable_path": str(chromium)}}))
    env.reset(seed=0)
    assert begun.read_text() == "\n\n"


def test_an_application_is_played_and_its_pages_have_sockets():
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "open"}}
    task = Task("socket", ("controls",), "__CONTROLS__/echo", "Say open.", evaluation, require_login=False)
    command, folder = f"{sys.executable} control_pages.py {{port}}", str(Path(__file__).parents[1])
    controls = Application(name="controls", folder=folder, command=command, ready="/echo")
    env = gymnasium.make("browsergym/webarenagym", task_kwargs={"task": task, "env": {"application": controls}})
    env.reset(seed=0)
    ask = "new Promise(done => { const it = new WebSocket('ws://controls.test/socket'); it.onopen = () => done('open'); it.onerror = () => done('refused') })"
    _, reward, terminated, *_ = env.step(f"send_msg_to_user({env.unwrapped.page.evaluate(ask)!r})")
    assert (reward, terminated) == (1.0, True)
    env.close()


def test_a_task_of_a_suite_is_played():
    keywords = {"task": "shelf.jam", "env": {"suite": str(ERRANDS / "suite.toml")}}
    env = gymnasium.make("browsergym/webarenagym", pre_observation_delay=0.1, task_kwargs=keywords)
    env.reset(seed=0)
    window = env.unwrapped.page
    thing, put = (
        found.get_attribute("bid") for found in (window.get_by_label("Thing"), window.get_by_role("button", name="Put"))
    )
    for action in (f"fill({thing!r}, 'jam')", f"click({put!r})", "send_msg_to_user('done')"):
        _, reward, terminated, *_ = env.step(action)
    assert (reward, terminated) == (1.0, True)
    env.close()


def test_every_task_is_registered():
    assert all(len(names) == len(load(split)) for split, names in adapter.TASK_IDS.items())
    assert all(f"browsergym/{name}" in gymnasium.registry for names in adapter.TASK_IDS.values() for name in names)
    env = gymnasium.make("browsergym/webarenagym", task_kwargs={"task": "shopping.wish_list_add/77/0"})
    observation, _ = env.reset(seed=0)
    assert "wish list" in observation["goal"].lower()
    env.close()
