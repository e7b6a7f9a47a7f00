"""`env.submit` judges what was done outside of the browser; `describe_result` says how."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import gymnasium
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml.html import fromstring

from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.backends.base import execute_solution
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.kinds.program_html import page_shows
from webarena_gym.evaluators.kinds.state import state
from webarena_gym.evaluators.kinds.string_match import answer
from webarena_gym.evaluators.outcome import Outcome, View, answer_outcome, describe_result, no_scripts
from webarena_gym.pages.page import Page
from webarena_gym.sites.world import load_world
from webarena_gym.suite import SPLITS, draw, load, templates

TASKS = load("test")


def beside(env):
    """A browser of somebody else's on the episode's sites, signed in as the task says."""
    browser = InProcessBrowser(env.network)
    cookies = load_world(env.task.world_seed).cookies(env.task.sites)
    browser.start([tab.url for tab in env.page.tabs], cookies)
    return browser, cookies


@pytest.mark.parametrize("task", TASKS[::11], ids=lambda task: task.task_id)
def test_actions_outside_of_the_browser_are_judged_equally(task):
    env = WebArenaLite(tasks=[task], max_steps=100)
    for is_done in (True, False):
        env.reset()
        browser, cookies = beside(env)
        if is_done:
            execute_solution(browser, task.solution)
        last = task.solution[-1].action
        answer = (last.argument or "") if last.kind is Kind.EXIT and is_done else "no such thing"
        _, reward, terminated, truncated, info = env.submit(answer, browser.page().url, cookies)
        assert (reward, terminated, truncated) == (float(is_done), True, False), info
        assert info["success"] is is_done
        assert describe_result(info)[0] == ("Solved." if is_done else "Not solved.")
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.submit("")
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("x")


def test_without_an_address_the_page_of_the_browser_is_judged():
    task = next(task for task in TASKS if task.task_id == "map.place_page/1000/0")
    env = WebArenaLite(tasks=[task], elements="label")
    env.reset()
    for step in task.solution[:-1]:
        env.step(DIALECTS["webrl"].format(step.action))
    with pytest.warns(DeprecationWarning, match="use submit"):
        assert env.conclude("")[1] == 1.0


def test_an_address_that_no_browser_can_open_leaves_the_episode_as_it_was():
    env = WebArenaLite(tasks=[TASKS[0]])
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.submit("")
    for url in ("", "http://["):
        text, _ = env.reset()
        with pytest.raises(ActionError):
            env.submit("", url)
        assert env.restore(env.snapshot())[0] == text
        assert env.submit("")[2]


CHECKS = ["string_match/fuzzy_match", "url_match", "program_html", "state", "side_effects", "verified"]
VERDICT = st.fixed_dictionaries({"check": st.sampled_from(CHECKS), "passed": st.booleans(), "reason": st.text(max_size=30)})


@given(st.lists(VERDICT, min_size=1, max_size=6))
def test_every_failed_check_is_described_with_its_reason(verdicts):
    success = all(verdict["passed"] for verdict in verdicts)
    first, *others = describe_result({"success": success, "verdicts": verdicts})
    assert first == ("Solved." if success else "Not solved.")
    assert len(others) == len(set(others))
    for verdict in verdicts:
        matches = [sentence for sentence in others if verdict["reason"] in sentence]
        assert matches or verdict["passed"]
    assert describe_result({"failure": "it broke"}) == ["Not judged, through no fault of the player: it broke"]
    assert describe_result({}) == ["Not over yet."]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", range(6))
def test_columns_of_every_check_of_state_have_titles_for_people(part):
    shipped = {task.template: task for split in SPLITS for task in load(split)}
    others = sorted(name for name, template in templates().items() if name not in shipped and not template.difficulty)
    tasks = [*[*shipped.values()][part::6], *draw(others[part::6], world_seed=11, count=1)]
    checks = [
        {"site": task.sites[0], **check, "expected": [["of no world"]]}
        for task in tasks
        for check in task.eval.get("state", [])
    ]
    assert len(checks) > 20
    with closing(load_world(11).open()) as databases:
        outcome = Outcome("", None, None, lambda site: databases[site].connection, {})
        for check in checks:
            (verdict,) = evaluate({"eval_types": ["state"], "state": [check]}, "", outcome)
            assert re.fullmatch(r"[\w ]+(, [\w ]+)*", verdict.reason.partition(": expected [")[0]), verdict.reason


CELL = st.one_of(
    st.none(), st.integers(-99, 99), st.sampled_from(["a against b", "it's", '"', "[", "x\n", "é"]), st.text(max_size=5)
)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=4)


def told_of(verdict):
    outcome, *sentences = describe_result({"success": verdict.passed, "verdicts": [verdict._asdict()]})
    assert outcome == ("Solved." if verdict.passed else "Not solved.")
    (sentence,) = sentences
    return sentence


def rows_beside(rows, others):
    """The rows that the others do not have, or not as often."""
    rest, beside = list(others), []
    for row in rows:
        if row in rest:
            rest.remove(row)
        else:
            beside.append(row)
    return beside


@given(ROWS, ROWS)
@example([["[", None], ["a", 0]], [["[", 0], ["a", 0]])
def test_differing_rows_are_described_by_value(found, expected):
    block = state("SELECT * FROM held", expected=expected, site="here")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE held (one, other)")
        database.executemany("INSERT INTO held VALUES (?, ?)", found)
        outcome = replace(answer_outcome(""), database=lambda _: database)
        (verdict,) = evaluate(block, "", outcome)
    sentence = told_of(verdict)
    assert verdict.passed == (found == expected)
    if verdict.passed:
        assert sentence == "The sites hold what the task asks for."
        return
    assert "[[" not in sentence.replace("'[", "")
    _, _, reason = sentence.partition(": ")
    target, _, there = reason.removeprefix("expected ").rpartition(", found ")
    sides = [(rows_beside(expected, found), target), (rows_beside(found, expected), there)]
    for left, side in sides:
        values = [value for row in left for value in row if value not in (None, "")]
        if any(len(rows) != 1 for rows, _ in sides):  # of two single rows, only the values that differ are told
            assert all(repr(value) in side for value in values)
        assert side
    assert target != there


@given(
    st.sampled_from(["exact_match", "must_include", "must_exclude", "fuzzy_match"]),
    st.sampled_from(["$4.50", "Ann Lee", "it's against us", 'a "b"', "17", "No"]),
    st.sampled_from(["", "17", "it's against us, Ann Lee", "No, 4", '"', "$4.50"]),
)
def test_wrong_answers_are_described_with_the_expected_one(approach, reference, message):
    verdict = evaluate(answer(**{approach: reference}), "What is it?", answer_outcome(message))[0]
    sentence = told_of(verdict)
    if verdict.passed:
        assert sentence == "The answer is right."
        return
    without = "a text without " if approach == "must_exclude" else ""
    found = f"found {message!r}" if message else "but no answer was given"
    assert sentence.startswith(f"The answer is not right: expected {without}{reference!r}, {found}")
    assert "claimed" not in sentence


@given(st.lists(st.sampled_from(["Tea", "no tea", "it's", "Cup; pot", "Jam"]), min_size=1, max_size=4, unique=True))
def test_missing_and_forbidden_page_contents_are_described(contents):
    block = page_shows("last", "", must_include=contents, must_exclude=["Milk"])
    page = Page("http://shop.test/", "", fromstring("<html><body><p>Milk</p></body></html>"), (), 0)
    (verdict,) = evaluate(block, "", replace(answer_outcome(""), final=View(page, no_scripts)))
    sentence = told_of(verdict)
    assert sentence.startswith("The page does not show what it should: on http://shop.test/, expected ")
    assert f"expected {' and '.join(map(repr, contents))}, found 'Milk'; 'Milk' must not be there" in sentence
    assert " against " not in sentence


@pytest.mark.parametrize("task", TASKS[::9], ids=lambda task: task.task_id)
def test_descriptions_of_lost_episodes_contain_no_internals(task):
    env = WebArenaLite(tasks=[task])
    env.reset()
    _, _, _, _, info = env.step(env.dialect.format(Action(Kind.EXIT, argument="no such thing")))
    outcome, *sentences = describe_result(info)
    assert outcome == "Not solved."
    failed = {verdict["check"].partition("/")[0] for verdict in info["verdicts"] if not verdict["passed"]}
    assert len([sentence for sentence in sentences if ": expected " in sentence or ", expected " in sentence]) >= len(failed)
    assert not re.search(r" against |claimed|\[\[|\['", " ".join(sentences))
