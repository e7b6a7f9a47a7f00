"""Sessions of adapters: keywords that an adapter sets itself, calls of tools, tasks and methods for libraries that read signatures."""

import inspect
from types import SimpleNamespace

import pytest

from tests.errors import expect_error
from webarena_gym.actions import DIALECTS
from webarena_gym.errors import TaskError
from webarena_gym.integrations.session import Session, dataset_rows, select_tasks, source_of, tool_methods, with_fixed
from webarena_gym.observation.history import EPISODE_OVER
from webarena_gym.options import EnvOptions
from webarena_gym.suite import load

TASK = next(task for task in load("test") if task.template == "shopping.wish_list_add")


def test_an_adapter_refuses_a_keyword_of_the_env_that_it_sets_itself():
    with expect_error(ValueError, "max_steps=60"):
        with_fixed({"max_steps": 60, "dialect": "webrl"}, max_steps=30)
    assert with_fixed({"max_steps": 30}, max_steps=30, tasks=[TASK]) == {"max_steps": 30, "tasks": [TASK]}
    with expect_error(ValueError, "on_failure='nan'"):
        Session({"tasks": [TASK], "on_failure": "nan"})


def test_only_the_function_calls_of_a_response_are_performed():
    call = SimpleNamespace(type="function_call", call_id="c7", name="click", arguments='{"element": "9999"}')
    others = [SimpleNamespace(type=kind, name="exit", arguments="{}") for kind in ("reasoning", "message")]
    session = Session({"tasks": [TASK]})
    page = session.reset()
    assert session.call_tools(others) == []
    (output,) = session.call_tools([others[0], call, others[1]])
    assert output["call_id"] == "c7"
    assert "Action error" in output["output"] != page
    assert not session.is_over
    end = SimpleNamespace(type="function_call", call_id="c8", name="exit", arguments={"message": "x"})
    assert [item["call_id"] for item in session.call_tools([end, call])] == ["c8", "c7"]
    assert session.is_over
    session.close()


def test_tasks_are_chosen_by_site_and_template_and_a_choice_of_nothing_is_refused():
    for split in ("test", "hard"):
        for task in select_tasks(split, sites=["map", "wikipedia"]):
            assert {"map", "wikipedia"}.issuperset(task.sites)
    chosen = select_tasks("test", "shopping", ["shopping.order_total", "map.save_place"])
    rows = dataset_rows("test", "shopping", "shopping.order_total")
    assert [row["task"] for row in rows] == [task.task_id for task in chosen]
    assert select_tasks("validation") == load("validation")
    for wrong in (
        {"split": "tset"}, {"sites": "shoping"}, {"sites": ["map", "shoping"]}, {"templates": "map.nothing"},
        {"sites": "map", "templates": "gitlab.star_top"},
    ):  # fmt: skip
        with pytest.raises(TaskError, match=r"tset|shoping|map"):
            select_tasks(**wrong)


def test_a_session_is_judged_once_however_it_ends():
    session = Session({"tasks": [TASK], "elements": "label", "max_steps": 2})
    assert TASK.intent in session.reset()
    assert (session.reward, session.is_over, session.verdict()) == (None, False, {})
    assert EPISODE_OVER not in (session.step("no action"), session.messages[-1]["content"])
    assert session.step("no action") == EPISODE_OVER
    assert (session.reward, session.truncated, session.verdict()["success"]) == (0.0, True, False)
    assert session.step("exit()") == EPISODE_OVER
    assert session.finish("late") == 0.0
    session.reset(TASK.task_id)
    assert (session.reward, session.truncated, session.info["task_id"]) == (None, False, TASK.task_id)
    assert session.finish() == 0.0
    assert session.is_over
    session.close()


def test_pages_have_their_picture_while_an_episode_goes_on():
    session = Session({"tasks": [TASK]})
    page = session.reset()
    assert session.with_picture(page) == page
    session.observation, picture = {"screenshot": 0}, {"type": "image_url"}
    session.info = {"messages": [{"role": "user", "content": [{"type": "text"}, picture]}]}
    assert session.with_picture("Page") == [{"role": "user", "content": [{"type": "text", "text": "Page"}, picture]}]
    session.reward = 1.0
    assert session.with_picture("Page") == "Page"
    session.close()


def test_the_source_of_tasks_is_an_application_or_a_suite():
    assert source_of({"application": "notes", "suite": None, "elements": "label"}) == {"application": "notes"}
    assert source_of({"suite": "errands"}) == {"suite": "errands"}


def test_actions_are_methods_with_signatures_and_descriptions():
    methods = tool_methods(EnvOptions.of({"dialect": "webrl"}))
    assert set(methods) == {form.name for form in DIALECTS["webrl"].forms}
    calls = SimpleNamespace(_call=lambda name, arguments: (name, arguments))
    for name, method in methods.items():
        parameters = list(inspect.signature(method).parameters.values())[1:]
        values = {item.name: "7" for item in parameters if item.default is inspect.Parameter.empty}
        assert method(calls, **values) == (name, values)
        assert all(f"\n    {item.name}: " in method.__doc__ for item in parameters)
        with pytest.raises(TypeError, match="absent"):
            method(calls, **values, absent=1)
