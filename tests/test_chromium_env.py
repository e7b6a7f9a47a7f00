"""The environment on Chromium: the same episodes as in the in-process browser, pictures, and crashes that cost one episode."""

from contextlib import ExitStack

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env
from werkzeug.wrappers import Response

import webarena_gym
from tests import needs
from tests.errors import expect_error
from tests.serving import serving
from webarena_gym import suite
from webarena_gym.evaluators import outcome as judged_outcome
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Expert, Task
from webarena_gym.tasks.template import answer

pytestmark = needs.chromium

SAMPLE = ("shopping.checkout", "shopping.product_price", "shopping.review_write", "shopping_admin.create_rule")


def make(**options):
    return gymnasium.make("WebArenaLite-v0", browser="chromium", max_steps=40, **options)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_solution_gives_the_same_text_and_reward_on_both_browsers(name):
    (task,) = suite.draw([name], world_seed=1000, count=1)
    pair = [gymnasium.make("WebArenaLite-v0", browser=kind, tasks=[task], max_steps=40) for kind in ("inprocess", "chromium")]
    seen = [env.reset(options={"task": task}) for env in pair]
    expert, done = Expert(task), False
    while not done:
        assert seen[0] == seen[1]
        reply = expert.reply(pair[0].unwrapped.page, pair[0].unwrapped.observation)
        one, other = (env.step(reply) for env in pair)
        assert one == other
        seen, done = [one[::4], other[::4]], one[2] or one[3]
    assert one[1] == 1.0
    for env in pair:
        env.close()


def test_pictures_are_arrays_of_the_window_and_gymnasium_records_a_video(tmp_path):
    env = make(render_mode="rgb_array", split="test")
    env.reset(seed=1)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((720, 1280, 3), numpy.uint8)
    assert picture.std() > 1
    pytest.importorskip("moviepy")
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "video"), disable_logger=True)
    env.reset(seed=3)
    env.step('do(action="Wait")')
    env.step('exit(message="")')
    env.close()
    (video,) = tmp_path.glob("video/*.mp4")
    assert video.stat().st_size > 1000


def test_the_viewport_of_layout_shows_what_a_window_does_and_scrolls_it():
    (task,) = suite.draw(["shopping.category_place"], world_seed=1000, count=1)
    env, whole = make(tasks=[task], viewport="layout", bbox=True), make(tasks=[task])
    env.reset()
    whole.reset()
    first = env.unwrapped.observation
    assert 0 < len(first.nodes) < len(whole.unwrapped.observation.nodes)
    assert "data-bbox" in first.text
    _, _, _, _, info = env.step('do(action="Scroll Down")')
    assert info["action_error"] == ""
    assert env.unwrapped.observation.text != first.text
    env.close()
    whole.close()


def test_gymnasium_has_nothing_to_complain_about_and_no_address_crashes_a_page(opened):
    env = opened(make(split="test", dialect="webarena"))
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=1)
    text, reward, terminated, truncated, info = env.step("```goto [chrome://crash]```")
    assert info["action_error"] == ""
    assert "failure" not in info
    assert "This site can't be reached" in text
    assert (reward, terminated, truncated) == (0.0, False, False)


def test_a_crash_ends_the_episode_unjudged_and_the_next_one_works():
    env, other = make(split="test", render_mode="ansi"), make(split="test")
    env.reset(seed=1)
    other.reset(seed=1)
    assert "failure" not in env.step('do(action="Wait")')[4]
    with pytest.raises(webarena_gym.errors.BrowserError):
        env.unwrapped.backend.browser.crash()
    text, reward, terminated, truncated, info = env.step('do(action="Wait")')
    assert numpy.isnan(reward)
    assert (terminated, truncated) == (False, True)
    assert "crashed" in info["failure"]
    assert "success" not in info
    assert env.render() in text
    assert "failure" not in other.step('do(action="Wait")')[4]
    assert "failure" not in env.reset(seed=2)[1]
    env.close()
    other.close()


def test_network_failures_are_raised_by_step_and_reset(monkeypatch):
    def broken(self, method, url, headers=None, body=b""):
        raise ZeroDivisionError(url)

    env = gymnasium.make("WebArenaLite-v0", split="test").unwrapped
    env.reset(options={"task": "shopping.checkout/1000/0"})
    monkeypatch.setattr(Network, "request", broken)
    for fail in (
        lambda: env.step('do(action="Click", element="0")'),
        lambda: env.reset(options={"task": "shopping.checkout/1000/0"}),
    ):
        with expect_error(ZeroDivisionError, "http://shop.test/") as caught:
            fail()
        assert caught.traceback[-1].name == "broken"
    monkeypatch.undo()
    assert env.reset(options={"task": "shopping.checkout/1000/0"})[1]["url"] == "http://shop.test/"
    env.close()


def test_a_server_that_dies_in_a_step_costs_that_episode_alone():
    def page(text):
        return Response(f"<!doctype html><title>T</title>{text}<a href=/next>Next</a>", content_type="text/html")

    task = Task("one", ("shopping",), "__SHOPPING__/", "Say yes", answer(exact_match="yes"), require_login=False)
    with serving(page("Lives")) as lasting, ExitStack() as short:
        dying = short.enter_context(serving(page("Dies")))
        envs = [make(tasks=[task], sites={"shopping": url}) for url in (lasting, dying)]
        finished = []
        for env in envs:
            env.reset()
            finished.append(env.step('exit(message="yes")'))
            env.reset()
        short.close()
        texts = [env.step('do(action="Click", element="0")') for env in envs]
        assert [outcome[1] for outcome in finished] == [1.0, 1.0]
        assert "Lives" in texts[0][0]
        assert texts[0][1:4] == (0.0, False, False)
        assert numpy.isnan(texts[1][1])
        assert texts[1][2:4] == (False, True)
        assert f"the server did not answer GET {dying}/next" in texts[1][4]["failure"]
        with expect_error(webarena_gym.errors.BrowserError, f"GET {dying}/"):
            envs[1].reset()
        assert envs[0].step('exit(message="yes")')[1] == 1.0
        for env in envs:
            env.close()


LATE = {
    "/": "<p>start",
    "/timer": "<p id=x>-<script>setTimeout(() => { document.getElementById('x').innerText = 'here' }, 900)</script>",
    "/redirect": "<p id=x>-<script>setTimeout(() => { location.href = '/arrived' }, 700)</script>",
    "/arrived": "<p id=x>here",
    "/never": "<p id=x>-",
}
FOUND = "document.querySelector('#x').innerText"


@pytest.mark.parametrize("rules", ["native", "webarena", "vab"])
@pytest.mark.parametrize(("path", "required", "expected"), [
    ("/timer", {"exact_match": "here"}, 1.0),
    ("/timer", {"must_exclude": ["here"]}, 0.0),  # what is not wanted may come late too
    ("/redirect", {"must_include": ["here"]}, 1.0),
    ("/redirect", {"must_exclude": ["here"]}, 0.0),
    ("/never", {"exact_match": "here"}, 0.0),
])  # fmt: skip
@pytest.mark.sampled(4)
def test_a_page_that_a_check_opens_is_given_the_time_to_go_on(rules, path, required, expected, monkeypatch):
    assert judged_outcome.MAX_ADVANCES == 30  # the 3 s of the public evaluators; fewer are enough here
    monkeypatch.setattr(judged_outcome, "MAX_ADVANCES", 14)
    if rules == "webarena" and "must_exclude" in required:
        rules = "r1"  # since those rules have none
    block = {"url": f"__HOMEPAGE__{path}", "locator": FOUND, "required_contents": required}
    task = Task("late", ("homepage",), "__HOMEPAGE__", "", {"eval_types": ["program_html"], "program_html": [block]})

    def app(environ, start_response):
        return Response(LATE.get(environ["PATH_INFO"], ""), mimetype="text/html")(environ, start_response)

    with serving(app) as address:
        env = make(tasks=[task], sites={"homepage": address}, rules=rules)
        env.reset()
        assert env.step('exit(message="")')[1] == expected
        env.close()
