"""`env.conclude` judges what was done beside the browser; `in_words` says how."""

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.episode.reference import follow
from webarena_gym.episode.verdicts import in_words
from webarena_gym.errors import ActionError
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import load

TASKS = load("test")


def beside(env):
    """A browser of somebody else's on the episode's sites, signed in as the task says."""
    browser = InProcessBrowser(env.network)
    cookies = load_world(env.task.world_seed).cookies(env.task.sites)
    browser.start([tab.url for tab in env.page.tabs], cookies)
    return browser, cookies


@pytest.mark.parametrize("task", TASKS[::11], ids=lambda task: task.task_id)
def test_what_was_done_beside_the_browser_is_judged_as_if_it_were_done_in_it(task):
    env = WebArenaLite(tasks=[task], max_steps=100)
    for is_done in (True, False):
        env.reset()
        browser, cookies = beside(env)
        if is_done:
            follow(browser, task.solution)
        last = task.solution[-1].action
        answer = (last.argument or "") if last.kind is Kind.EXIT and is_done else "no such thing"
        _, reward, terminated, truncated, info = env.conclude(answer, browser.page().url, cookies)
        assert (reward, terminated, truncated) == (float(is_done), True, False), info
        assert info["success"] is is_done
        assert in_words(info)[0] == ("Solved." if is_done else "Not solved.")
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.conclude("")
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("x")


def test_without_an_address_the_page_of_the_browser_is_judged():
    task = next(task for task in TASKS if task.task_id == "map.place_page/1000/0")
    env = WebArenaLite(tasks=[task], elements="label")
    env.reset()
    for step in task.solution[:-1]:
        env.step(DIALECTS["webrl"].format(step.action))
    assert env.conclude("")[1] == 1.0


@pytest.mark.parametrize("url", ["", "http://["])
def test_an_address_that_no_browser_can_open_leaves_the_episode_as_it_was(url):
    env = WebArenaLite(tasks=[TASKS[0]])
    text, _ = env.reset()
    with pytest.raises(ActionError):
        env.conclude("", url)
    assert env.render() is None
    assert env.restore(env.snapshot())[0] == text
    assert env.conclude("")[2]


def test_there_is_nothing_to_conclude_before_the_first_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        WebArenaLite().conclude("")


VERDICT = st.fixed_dictionaries(
    {
        "check": st.sampled_from(
            ["string_match/fuzzy_match", "url_match", "program_html", "state", "side_effects", "verified"]
        ),
        "passed": st.booleans(),
        "reason": st.text(max_size=30),
    }
)


@given(st.lists(VERDICT, min_size=1, max_size=6))
def test_every_check_that_failed_is_told_with_its_reason(verdicts):
    success = all(verdict["passed"] for verdict in verdicts)
    first, *others = in_words({"success": success, "verdicts": verdicts})
    assert first == ("Solved." if success else "Not solved.")
    assert len(others) == len(set(others))
    for verdict in verdicts:
        told = [sentence for sentence in others if verdict["reason"] in sentence]
        assert told or verdict["passed"]


def test_what_was_not_judged_is_told_so():
    assert in_words({"failure": "it broke"}) == ["Not judged, through no fault of the player: it broke"]
    assert in_words({}) == ["Not over yet."]
