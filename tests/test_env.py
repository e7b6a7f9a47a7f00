"""The environment keeps Gymnasium's contract and its own promises: isolated, deterministic, forkable, never surprised."""

import os
import pickle
import re
import subprocess
import sys
from copy import copy, deepcopy
from dataclasses import replace
from math import ceil, inf, isnan, nan

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import needs
from tests.errors import expect_error
from webarena_gym.env import WebArenaLite
from webarena_gym.episode import Snapshot
from webarena_gym.errors import BrowserError, EvaluationError, ServerError, SnapshotError, TaskError, WorldError
from webarena_gym.observation import visible_text
from webarena_gym.options import EnvOptions
from webarena_gym.sites.kit.site import Site
from webarena_gym.spaces import CHARSET
from webarena_gym.suite import find
from webarena_gym.tasks import Expert, Task
from webarena_gym.tasks.template import answer, at_url, state
from webarena_gym.texts import MAX_ERROR

WORLD = 0
CART = "SELECT count(*) FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = 1"


def make_task(block, start_url="__SHOPPING__", **changes):
    return Task("t", ("shopping",), start_url, "Look around.", block, world_seed=WORLD, **changes)


LOOK = make_task(answer(exact_match="done"))
HARD = replace(LOOK, difficulty=("reading",))
MADE = []


def make(task=LOOK, **options):
    MADE.append(gymnasium.make("WebArenaLite-v0", tasks=[task], **options))
    return MADE[-1]


@pytest.fixture(autouse=True)
def closed():
    yield
    while MADE:
        MADE.pop().close()


@pytest.mark.parametrize(("changes", "message"), [
    ({"sites": ("shoping",)}, ["'shoping'", "did you mean 'shopping'?"]),
    ({"start_url": "shop"}, ["'shop'", "'__SHOPPING__/'"]),
])  # fmt: skip
def test_errors_of_a_start_page_give_a_correct_value(changes, message):
    with expect_error(TaskError, "task t", *message):
        make(replace(LOOK, **changes)).reset()


@pytest.fixture
def env():
    return make(elements="label")


def click(label):
    return f'do(action="Click", element="{label}")'


def test_gymnasium_has_nothing_to_complain_about():
    env = make(make_task(at_url("__SHOPPING__/wishlist/")))
    check_env(env.unwrapped)


def test_reset_describes_the_task(env):
    text, info = env.reset(seed=1)
    assert text == info["messages"][-1]["content"]
    assert text.startswith("Task Instruction: Look around.\n\nRound 0\n\nURL: http://shop.test/\n")
    assert {"goal", "url", "page", "messages", "step", "action_error", "task_id"} == set(info)
    values = tuple(info[key] for key in ("goal", "url", "step", "action_error", "task_id"))
    assert values == ("Look around.", "http://shop.test/", 0, "", "t")


def test_an_exit_ends_the_episode_with_verdicts(env):
    fields = {"check", "decided_by", "expected", "found", "passed", "place", "reason", "why"}
    for reply, reward in (('exit(message="done")', 1.0), ('exit(message="no")', 0.0), ("exit()", 0.0)):
        env.reset()
        _, got, terminated, truncated, info = env.step(reply)
        assert (reward, True, False, bool(reward)) == (got, terminated, truncated, info["success"])
        assert all(fields == set(verdict) for verdict in info["verdicts"])
        checks = [verdict["check"] for verdict in info["verdicts"]]
        assert checks == ["string_match/exact_match", "side_effects"][: 1 + (reward > 0)]
        assert info["page"]


def test_running_out_of_steps_is_an_empty_answer_not_n_a():
    for block, expected in ((answer(fuzzy_match="N/A"), 0.0), (state(CART, expected=[[0]], site="shopping"), 1.0)):
        env = make(make_task(block), max_steps=2)
        env.reset()
        assert env.step('do(action="Wait")')[1:4] == (0.0, False, False)
        assert env.step('do(action="Wait")')[1:4] == (expected, False, True)
        env.close()


def test_step_budgets_are_stated_enforced_without_scrolling_and_kept_by_forks():
    task = find("shopping.cart_add/1000/0")
    env = make(task, step_budget=0.75)
    budget = ceil(0.75 * len(task.solution))
    _, info = env.reset()
    assert f"at most {budget} steps" in info["goal"]
    assert f"at most {budget} steps" in info["messages"][1]["content"]
    assert info["steps_left"] == budget
    for reply in ('do(action="Scroll Down")', 'do(action="Scroll Up")'):
        *_, info = env.step(reply)
        assert info["steps_left"] == budget
    env.step("nonsense")  # costs a step
    snapshot = env.unwrapped.snapshot()
    for _ in range(2):
        _, info = env.unwrapped.restore(snapshot)
        assert info["steps_left"] == budget - 1
        ends = [env.step('do(action="Wait")')[2:4] for _ in range(budget - 1)]
        assert ends == [(False, False)] * (budget - 2) + [(False, True)]
    _, info = make(LOOK, step_budget=1).reset()  # a task without a solution has none
    assert "steps_left" not in info
    assert info["goal"] == LOOK.intent


def test_the_reference_solution_keeps_a_budget_of_its_own_length():
    for name in ("shopping.cart_add", "hard.still_newest"):  # the second one needs to scroll
        task = find(f"{name}/1000/0")
        env, expert = make(task, step_budget=1, window=2_000), Expert(task)
        env.reset()
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(expert.reply(env.unwrapped.page, env.unwrapped.observation))
            over = terminated or truncated
        assert (reward, terminated) == (1.0, True)
        env.close()


def test_enormous_numbers_are_no_limit():
    for options in ({"step_budget": 1e308}, {"max_steps": 10**400}, {"window": 10**400}):
        env = make(find("shopping.cart_add/1000/0"), **options)
        env.reset()
        assert env.step('do(action="Wait")')[1:4] == (0.0, False, False)


@needs.chromium
def test_a_check_of_the_state_is_refused_at_load_on_real_servers():
    task = make_task(state(CART, expected=[[0]], site="shopping"))
    with expect_error(EvaluationError, "task t", "'state'"):
        make(task, **ON_CHROMIUM)


@pytest.mark.parametrize(("reply", "message"), [
    ("I give up", "no action"),
    ('do(action="Click", element="No such thing")', "labels on this page include"),
    ('do(action="Type", argument="x", element="My Account")', "My Account"),
    ('do(action="Select Dropdown Option", argument="x", element="My Account")', "My Account"),
    *((f'do(action="Switch Tab", argument="{tab}")', "the tabs are 0 to 0") for tab in ("7", "x", "²", "-1", "1.0", "", "٣")),
    (f'do(action="Switch Tab", argument="{"9" * 5000}")', "there is no tab"),
    ("go_backward()", "no earlier page"),
    ("go_backward() go_forward()", "2 actions"),
])  # fmt: skip
def test_invalid_actions_are_reported_and_change_nothing(env, reply, message):
    _, before = env.reset()
    text, reward, terminated, truncated, info = env.step(reply)
    assert (reward, terminated, truncated) == (0.0, False, False)
    if message != "no earlier page":  # the words are the browser's
        assert message in info["action_error"]
    assert info["action_error"]
    assert info["page"] == f"Action error: {info['action_error']}\n{before['page']}"
    assert "Action error" in text
    assert "Action error" not in env.step(click("My Wish List"))[4]["page"]


def test_actions_act(env):
    env.reset()
    _, _, _, _, info = env.step(click("My Wish List"))
    assert info["url"] == "http://shop.test/wishlist/"
    assert env.step("go_backward()")[4]["url"] == "http://shop.test/"
    assert env.step("go_forward()")[4]["url"] == "http://shop.test/wishlist/"
    _, _, _, _, info = env.step('do(action="Search", argument="lamp", element="Search entire store")')
    assert info["url"].startswith("http://shop.test/catalogsearch/result/?q=lamp")
    assert [message["role"] for message in info["messages"]] == ["system", *["user", "assistant"] * 4, "user"]
    assert info["messages"][1]["content"].endswith("Round 0\n\n** Simplified html **")


def test_tabs_and_urls_in_the_other_dialects():
    task = make_task(answer(exact_match="x"), start_url="__SHOPPING__/wishlist/ |AND| __SHOPPING_ADMIN__")
    env = make(task, dialect="webarena")
    _, info = env.reset()  # several start URLs open several tabs
    assert (info["url"], "[1] " in info["page"].splitlines()[1]) == ("http://shop.test/wishlist/", True)
    assert env.step("tab_focus [1]")[4]["url"].startswith("http://shop-admin.test/admin")
    assert env.step("new_tab")[4]["url"] == "about:blank"
    info = env.step("goto [http://example.com/]")[4]  # the network is closed
    assert "Tabs: [0]" in info["page"]
    assert "example.com" in info["page"]
    assert "can't be reached" in info["page"] or "cannot be reached" in info["page"]
    assert env.step("tab_focus [0]")[4]["url"] == "http://shop.test/wishlist/"
    assert env.step("close_tab")[4]["url"].startswith("http://shop-admin.test/admin")


def test_scrolling_moves_the_window_and_reports_its_ends():
    env = make(window=400, elements="label", max_steps=99)
    _, info = env.reset()
    for direction, word, more in (("Down", "ends", "lines below"), ("Up", "begins", "lines above")):
        while more in info["page"]:
            info = env.step(f'do(action="Scroll {direction}")')[4]
            assert not info["action_error"]
        info = env.step(f'do(action="Scroll {direction}")')[4]
        assert f"the page {word} here" in info["action_error"]
    assert "more lines above" in env.step('do(action="Scroll Down")')[4]["page"]
    assert "more lines above" not in env.step(click("My Wish List"))[4]["page"]


def test_a_task_can_be_named_and_seeds_choose_one():
    tasks = [replace(LOOK, task_id=str(number), intent=f"Task {number}") for number in range(9)]
    env = gymnasium.make("WebArenaLite-v0", tasks=tasks)
    assert env.reset(options={"task": "4"})[1]["goal"] == "Task 4"
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(30)]
    assert len(set(drawn)) > 4
    assert drawn == [env.reset(seed=seed)[1]["task_id"] for seed in range(30)]


def wander(env, choices):
    """Use whatever the page offers, chosen by numbers; return what was seen."""
    seen = []
    for choice in choices:
        nodes = list(env.unwrapped.observation.nodes)
        target = nodes[choice % len(nodes)]
        tag = env.unwrapped.observation.nodes[target].element.tag
        if tag in ("input", "textarea"):
            reply = f'do(action="Search", argument="{choice}", element="{target}")'
        else:
            reply = click(target)
        text, *_, info = env.step(reply)
        seen.append((text, info["url"], info["action_error"]))
    return seen


CHOICES = st.lists(st.integers(0, 10_000), min_size=1, max_size=8)


@settings(max_examples=25)
@given(before=CHOICES, after=CHOICES)
def test_a_snapshot_continues_as_the_episode_did_any_number_of_times(before, after):
    env, fork = (make(elements="label", max_steps=99) for _ in range(2))
    env.reset(seed=1)
    wander(env, before)
    snapshot = pickle.loads(pickle.dumps(env.unwrapped.snapshot()))
    here = env.unwrapped.observation.text
    expected = wander(env, after)
    for other in (fork, env, fork):
        text, info = other.unwrapped.restore(snapshot)
        assert info["page"].endswith(here)
        assert text.endswith(info["page"])
        assert expected == wander(other, after)  # a restored episode needs no reset
    env.close()
    fork.close()


def test_a_fork_has_the_step_limit_of_the_env_that_continues_it():
    for task, options, limit in ((LOOK, {"max_steps": 20}, 20), (LOOK, {"max_steps": 3}, 3), (HARD, {}, 60)):
        for steps in (0, 2):
            env, fork = (make(task, **options).unwrapped for _ in range(2))
            env.reset()
            for _ in range(steps):
                env.step('do(action="Scroll Down")')
            fork.restore(env.snapshot())
            for step in range(steps + 1, limit + 1):
                assert fork.step('do(action="Scroll Down")')[3] == (step == limit)


def test_snapshots_are_small_and_those_of_other_versions_are_rejected(env):
    env.reset()
    env.step(click("Add to Cart [2]"))
    snapshot = env.unwrapped.snapshot()
    assert len(pickle.dumps(snapshot)) < 100_000
    with expect_error(SnapshotError, "Snapshot", "dict"):
        env.unwrapped.restore({"task": "t"})
    backend = snapshot.backend._replace(generators="0123-4567")
    other = Snapshot.of(snapshot.episode, backend, snapshot.random_state)
    with expect_error(SnapshotError, "world 0"):
        env.unwrapped.restore(other)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.unwrapped.step("exit()")
    assert env.unwrapped.restore(snapshot)[1]["step"] == 1


def test_equal_seeds_give_equal_bytes_in_another_process():
    code = "from tests.test_env import episode; print(ascii(episode()))"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        there = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment, text=True).stdout
        assert there == f"{episode()!a}\n"


def episode():
    env = make(elements="label", max_steps=99)
    return env.reset(seed=5)[0], wander(env, [3, 14, 15, 92, 65, 35])


def test_a_copy_of_an_env_is_refused_with_its_replacement(env):
    for duplicate in (pickle.dumps, copy, deepcopy):
        with expect_error(TypeError, "snapshot()"):
            duplicate(env)


def test_a_step_outside_an_episode_is_refused(env):
    bare = env.unwrapped
    assert env is bare
    with expect_error(gymnasium.error.ResetNeeded, "reset()"):
        bare.step("exit()")
    with pytest.raises(gymnasium.error.ResetNeeded):
        bare.task  # noqa: B018
    bare.reset()
    bare.step("exit()")
    with pytest.raises(gymnasium.error.ResetNeeded):
        bare.step("exit()")
    bare.reset()
    bare.close()
    bare.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        bare.step("exit()")
    assert bare.reset()[1]["step"] == 0


def test_render_without_a_mode_warns_as_gymnasiums_envs_do(env):
    env.reset()
    with pytest.warns(UserWarning, match=r"render\(\) returns None without a render mode"):
        assert env.unwrapped.render() is None


ON_CHROMIUM = {"browser": "chromium", "sites": {"shopping": "http://shop.example"}}


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"history": "short"}, ValueError, "history is 'short'; expected one of 'compressed'"),
    ({"observation": "ocam"}, ValueError, "observation is 'ocam'; expected one of 'html', 'axtree', 'occam'"),
    ({"variation": "size"}, ValueError, "variation is 'size'; expected one of 'content', 'layout'"),
    ({"scale": "huge"}, ValueError, "scale is 'huge'"),
    ({"scale": "large", "sites": {"shopping": "http://shop.example"}}, ValueError, "embedded sites"),
    *[
        ({"rules": "r1", "side_effects": name}, ValueError, f"side_effects is '{name}'; expected 'ignored' or None")
        for name in ("forbidden", "reported")
    ],
    ({"side_effects": "allowed"}, ValueError, "side_effects is 'allowed'"),
    ({"observation": "pixels"}, ValueError, "needs a browser that renders pictures"),
    ({"window_size": (1280, 0)}, ValueError, "expected (width, height), each 64 to 4096 pixels"),
    ({"window_size": "large"}, ValueError, "expected (width, height), each 64 to 4096 pixels"),
    ({"observation": "marks", "browser": "chromium", "elements": "label"}, ValueError, "elements='id'"),
    ({"pictures": 0}, ValueError, "pictures is 0"),
    *[
        (chromium | {name: value}, ValueError, f"{name}={value!r} has no effect here: it needs ")
        for name, value in {"pictures": 2, "picture_format": "png", "cursor": True, "vendor": "qwen", "coordinates": "thousandths"}.items()
        for chromium in ({}, {"browser": "chromium"})
    ],
    ({"window_size": (390, 844)}, ValueError, "window_size=(390, 844) has no effect here: it needs browser='chromium'"),
    ({"dialect": "latin"}, ValueError, "expected one of 'webrl'"),
    ({"dialect": "computer"}, ValueError, "dialect='webrl'"),
    ({"elements": "xpath"}, ValueError, "expected one of 'id', 'label'"),
    ({"browser": "lynx"}, ValueError, "expected one of 'inprocess'"),
    ({"max_steps": 0}, ValueError, "expected a positive integer"),
    ({"max_steps": 1.5}, ValueError, "expected a positive integer"),
    ({"colour": "red"}, TypeError, "colour"),
    ({"render_mode": "rgb_array"}, ValueError, "browser='chromium'"),
    ({"sites": {"shopping": "http://x"}}, ValueError, "sites needs a browser with scripts"),
    ({"viewport": "layout"}, ValueError, "viewport needs a browser with scripts"),
    ({"viewport": "porthole"}, ValueError, "expected one of 'window', 'layout'"),
    ({"bbox": True}, ValueError, "bbox needs"),
    ({"rules": "mine"}, ValueError, "expected one of 'native'"),
    ({"browser": "chromium", "sites": {"My Shop": "http://x"}}, ServerError, "invalid site name 'My Shop'"),
    ({"tasks": ["nowhere"]}, TaskError, "no task 'nowhere'"),
    ({"tasks": []}, TaskError, "empty"),
    ({"tasks": "missing.json"}, TaskError, "cannot read the task file missing.json"),
    ({"element": "label"}, TypeError, "did you mean 'elements'"),
    ({"split": "nonsense"}, ValueError, "split is 'nonsense'"),
    *(({name: "yes"}, ValueError, f"{name} is 'yes'; expected True or False") for name in ("header", "thoughts", "bbox", "cursor")),
    ({"tasks": 5}, ValueError, "tasks is 5; expected task ids, Task objects, or the path of a task file"),
    ({"tasks": "shopping.product_price"}, TaskError, "expected the path of a JSON file, or task ids such as"),
    ({"application": 3, "tasks": None}, ValueError, "application is 3; expected the path of a webarena-app.toml"),
    ({"split": "test"}, ValueError, "split='test' has no effect with tasks=; omit one of them"),
    ({"hosts": "tiles.test:80"}, ValueError, "hosts is the str 'tiles.test:80'"),
    ({"hosts": ["tiles.test:80"]}, ValueError, "accounts, logins and hosts are only for real servers"),
    ({"accounts": {"shopping": None}}, ValueError, "accounts, logins and hosts are only for real servers"),
    ({"logins": {"shopping": None}}, ValueError, "accounts, logins and hosts are only for real servers"),
    (ON_CHROMIUM | {"logins": {"My Books": "/login"}}, ServerError, "invalid site name 'My Books'"),
    (ON_CHROMIUM | {"logins": {"shopping": "/login"}}, ServerError, "the login of shopping is '/login'"),
    *(({"step_budget": no}, ValueError, f"step_budget is {no!r}; expected a number above 0") for no in (0, -1, nan, inf, "2", True)),
])  # fmt: skip
def test_bad_keywords_are_refused_with_what_was_expected(options, error, message):
    with pytest.raises(error) as caught:
        WebArenaLite(**{"tasks": [LOOK], **options})
    assert message in str(caught.value)


WITH_PICTURES = {"browser": "chromium", "observation": "pixels"}
INTEGERS = {"max_steps": 3, "window": 400, "pictures": 2, "step_budget": 2, "world_seed": 5}


@pytest.mark.parametrize("kind", [numpy.int16, numpy.uint32, numpy.int64])
def test_integers_may_be_numpys(env, kind):
    for name, value in INTEGERS.items():
        options = EnvOptions(**{name: kind(value)}, **WITH_PICTURES)
        assert options == EnvOptions(**{name: value}, **WITH_PICTURES)
        assert type(getattr(options, name)) is int
    assert EnvOptions(window_size=numpy.array([390, 844], kind), browser="chromium").window_size == (390, 844)
    assert {type(side) for side in EnvOptions(window_size=[kind(390), kind(844)], browser="chromium").window_size} == {int}
    assert EnvOptions(step_budget=numpy.float32(1.5)).step_budget == 1.5
    env.reset(options={"max_steps": kind(1)})
    assert type(env.unwrapped.snapshot().episode.max_steps) is int
    assert env.step('do(action="Wait")')[3]


@pytest.mark.parametrize("value", [True, numpy.True_, "1", 1.5, numpy.float64(1.5)])
def test_bools_texts_and_fractions_are_no_integers(env, value):
    for name in ("max_steps", "window", "pictures"):
        with expect_error(ValueError, name, repr(value)):
            EnvOptions(**{name: value})
    with expect_error(ValueError, "window_size", "64 to 4096"):
        EnvOptions(window_size=(value, 844))
    with expect_error(ValueError, "max_steps", repr(value)):
        env.reset(options={"max_steps": value})
    WebArenaLite(tasks=[replace(LOOK, world_seed=None)], world_seed=1).reset()
    with expect_error(WorldError, repr(value)):
        WebArenaLite(tasks=[replace(LOOK, world_seed=None)], world_seed=value).reset()


def test_an_unknown_split_or_option_is_refused(env):
    with expect_error(TaskError, "'exam'", "'train'"):
        WebArenaLite(split="exam")
    with expect_error(TaskError, "'url'"):
        env.reset(options={"url": "x"})
    with expect_error(TaskError, "'nothing'"):
        env.reset(options={"task": "nothing"})
    with expect_error(TaskError, "task 1", "world_seed=", "sites="):
        WebArenaLite(tasks=[Task("1", ("shopping",), "__SHOPPING__", "x", answer(exact_match="x"))]).reset()
    with expect_error(TaskError, "task 1", "'books'", "sites="):
        WebArenaLite(tasks=[Task("1", ("books",), "__BOOKS__", "x", answer(exact_match="x"))], world_seed=1).reset()


def test_observations_stay_in_their_space(env):
    env.reset()
    for text in ("\U0010ffff\x00", "日本語 😀", "\ud800", "<b>&amp;\"'"):
        for reply in (f'do(action="Search", argument="{text}", element="Search entire store")', text):
            assert env.observation_space.contains(env.step(reply)[0])
    assert CHARSET.issuperset("日本語 😀\n")


def test_the_other_histories():
    for history in ("none", "full"):
        env = make(history=history)
        _, first = env.reset()
        env.step('do(action="Click", element="0")')
        *_, info = env.step('do(action="Click", element="3")')
        assert first["page"] != info["page"]
        system, *chat = info["messages"]
        assert (first["page"] in chat[0]["content"]) == (history == "full")
        assert len(chat) == (5 if history == "full" else 1)
        assert system == {"role": "system", "content": env.unwrapped.system_prompt}


REPLIES = st.one_of(
    st.text(max_size=200),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", 'do(action="Type", argument="', 'do(action="Search", argument="', 'do(action="Click", element="', "exit(", "<think>"]),
        st.builds(str.__mul__, st.sampled_from(["a", "x ", "]\n", "'", "\\", "\U0010ffff", "do("]), st.sampled_from([1, 999, 20_000, 99_900, 250_000])),
        st.sampled_from(["", '")', '", element="1")', '", element="Search entire store")']),
    ),
)  # fmt: skip


@pytest.mark.parametrize("history", ["compressed", "full", "none"])
@settings(max_examples=10)
@given(replies=st.lists(REPLIES, max_size=14), dialect=st.sampled_from(["webrl", "webarena", "browsergym"]))
def test_observations_of_random_replies_are_in_their_space_and_equal_the_messages(history, replies, dialect):
    env = WebArenaLite(tasks=[LOOK], history=history, dialect=dialect, max_steps=99)
    seen, info = env.reset(seed=0)
    for reply in replies:
        assert env.observation_space.contains(seen)
        assert seen == "\n\n".join(message["content"] for message in info["messages"][1:])
        assert len(info["action_error"]) <= MAX_ERROR
        assert len(info["page"]) < 20_000, "a page, and the error above it"
        seen, _, terminated, _, info = env.step(reply)
        if terminated:
            break
    assert env.observation_space.contains(seen)
    env.close()


def test_replies_of_maximum_length_fit_and_longer_ones_are_rejected_and_truncated():
    env = make(max_steps=20)
    env.reset()
    for number in range(12):
        seen, *_, info = env.step((str(number) * 99_999)[:99_999])
    assert env.observation_space.contains(seen)
    assert "earlier rounds are left out]" in info["messages"][1]["content"]
    assert info["messages"][-2]["content"] == "1" * 99_999
    env = make()
    _, before = env.reset()
    reply = click("0") + " " * 100_000
    _, reward, terminated, truncated, info = env.step(reply)
    assert (reward, terminated, truncated, info["url"]) == (0.0, False, False, before["url"])
    assert "the reply has 100,031 characters; expected at most 100,000" in info["action_error"]
    assert info["messages"][-2]["content"].startswith(click("0"))
    assert info["messages"][-2]["content"].endswith("characters were cut]")
    assert 99_900 < len(info["messages"][-2]["content"]) <= 100_000


def sorting_list(env):
    """Go to a page with a drop-down list, and return its id and what is chosen there."""
    env.step("goto [http://shop.test/catalogsearch/result/?q=lamp]")
    nodes = env.unwrapped.observation.nodes
    address = next(address for address, node in nodes.items() if node.element.tag == "select")
    return address, nodes[address].element


def chosen(select):
    return [visible_text(option) for option in select.iter("option") if "selected" in option.attrib]


@pytest.mark.parametrize("browser", ["inprocess", pytest.param("chromium", marks=needs.chromium)])
def test_lists_are_usable_by_keys_and_clicks_on_them_are_errors(browser):
    env = make(dialect="webarena", browser=browser, max_steps=99)
    env.reset()
    assert "no element has the focus" in env.step("press [t]")[4]["action_error"]
    address, select = sorting_list(env)
    before = chosen(select)
    info = env.step(f"click [{address}]")[4]
    assert "a click chooses nothing in select" in info["action_error"]
    assert " focused" in info["page"], "the click has brought the focus, for keys"
    texts = [visible_text(option) for option in select.iter("option")]
    for key in ("ArrowDown", texts[-1][0]):
        info = env.step(f"press [{key}]")[4]
        assert info["action_error"] == ""
        now = chosen(env.unwrapped.observation.nodes[address].element)
        assert now != before
        before = now
    assert "does nothing" in env.step("press [Escape]")[4]["action_error"]


NEVER_SEEN = "http://shop.test/contact/?never=seen"  # what another test has seen would be answered from memory


@pytest.mark.parametrize("browser", ["inprocess", pytest.param("chromium", marks=needs.chromium)])
@pytest.mark.parametrize("on_failure", ["nan", "raise"])
def test_exceptions_of_sites_become_pages_without_changes(browser, on_failure, monkeypatch):
    usual = Site.answer

    def answer(self, request):
        if request.path == "/contact/":
            request.db.execute("DELETE FROM cart_item")
            raise ZeroDivisionError("of a view")
        return usual(self, request)

    monkeypatch.setattr(Site, "answer", answer)
    env = make(browser=browser, dialect="webarena", on_failure=on_failure)
    env.reset()
    before = env.unwrapped.database("shopping").execute("SELECT * FROM cart_item").fetchall()
    text, *rest, info = env.step(f"```goto [{NEVER_SEEN}]```")
    assert "Internal Server Error" in text
    assert rest == [0.0, False, False]
    (error,) = info["site_errors"]
    assert re.fullmatch(rf"GET {re.escape(NEVER_SEEN)}: ZeroDivisionError: of a view \(test_env.py:\d+\)", error)
    assert env.unwrapped.database("shopping").execute("SELECT * FROM cart_item").fetchall() == before
    saved = env.unwrapped.snapshot()
    _, reward, terminated, truncated, info = env.step("```stop [done]```")
    assert (reward, terminated, truncated, info["site_errors"]) == (1.0, True, False, [error])
    _, info = env.reset()
    assert "site_errors" not in info
    env.unwrapped.restore(saved)
    if on_failure == "raise":
        with expect_error(BrowserError, "GET http://shop.test/contact/", "ZeroDivisionError"):
            env.step("```stop [no]```")
    else:
        _, reward, terminated, truncated, info = env.step("```stop [no]```")
        assert isnan(reward)
        assert (terminated, truncated, info["failure"]) == (False, True, f"a site failed: {error}")
        assert "success" not in info
        assert "Internal Server Error" in info["page"]


def test_an_interrupt_passes_through_a_site(env, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    env.reset()
    monkeypatch.setattr(Site, "answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step('do(action="Search", argument="nobody was here", element="Search entire store")')  # so no page that is kept
