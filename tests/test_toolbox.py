"""Tools beside the browser: what a function becomes, how calls are read, what they show, and that they fork, count and fail as actions do."""

import inspect
import json
import pickle
import subprocess
import sys
from enum import Enum
from math import isnan
from typing import Annotated, Any, Literal

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from tests.errors import expect_error
from webarena_gym.actions import DIALECTS, Action, Kind, instructions, reply_of, tools
from webarena_gym.actions.calls import call_action
from webarena_gym.actions.computer import Computer
from webarena_gym.actions.dialect import Dialect
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.mcp_tools import McpTools
from webarena_gym.arena.schema import NewEpisode
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.integrations import trl
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer
from webarena_gym.testing import check_env as check_contract
from webarena_gym.toolbox import ToolFunction


class Notebook:
    """A tool with state."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> str:
        """Write a line, and return all lines."""
        self.lines.append(text)
        return "; ".join(self.lines)

    def count(self) -> int:
        """Count the lines."""
        return len(self.lines)

    def snapshot(self) -> Any:
        return tuple(self.lines)

    def restore(self, snapshot: Any) -> None:
        self.lines = [*snapshot]


def add(a: int, b: int = 2, *, sign: Literal["plus", "minus"] = "plus") -> int:
    """Add two numbers.

    Args:
        a: the first
            number
        b (int): the second number

    Returns:
        The sum.

    """
    if a == 13:
        raise RuntimeError("unlucky\nnumber")
    return a + b if sign == "plus" else a - b


def echo(value: Any, text: str = "", items: list[int] | None = None, flag: bool = False) -> Any:
    """Return the first argument."""
    return value


def show(text: str, times: int = 1) -> str:
    """Return a text."""
    return text * times


TASK = Task("tools", ("shopping",), "__SHOPPING__", "Say done.", answer(exact_match="done"), world_seed=0)
FORMS = tuple(ToolFunction(function).form for function in (add, echo, show))
DIALECTS_WITH_TOOLS = [*(dialect.with_tools(FORMS) for dialect in DIALECTS.values()), Computer(tools=FORMS)]


def make(*functions: Any, **options: Any) -> WebArenaLite:
    return WebArenaLite(tasks=[TASK], tools=functions, **options)


def play(env: WebArenaLite, *replies: str) -> dict[str, Any]:
    """Return the info after some replies in a new episode."""
    _, info = env.reset(seed=0)
    for reply in replies:
        _, _, _, _, info = env.step(reply)
    return info


def test_a_schema_comes_from_annotations_and_docstring():
    schema = json.loads(ToolFunction(add).form.schema)
    assert schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["a"],
        "properties": {
            "a": {"type": "integer", "description": "the first number"},
            "b": {"type": "integer", "description": "the second number", "default": 2},
            "sign": {"type": "string", "enum": ["plus", "minus"], "default": "plus"},
        },
    }
    form = ToolFunction(add).form
    assert form.line == (
        'add(a: integer, b: integer = 2, sign: "plus" or "minus" = "plus"): Add two numbers. (a: the first number; b: the second number)'
    )
    env = make(add, tool_budget=2)
    env.reset(seed=0)
    assert env.action_schema[-1] == {
        "type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": schema},
    }  # fmt: skip
    assert form.line in env.system_prompt
    assert "action or call of a tool" in env.system_prompt


class Color(Enum):
    RED = "red"


def unannotated(a, b: int = 1):
    """A text."""


def many(*values: int):
    """A text."""


def undocumented(a: int): ...


async def later():
    """A text."""


def odd_type(a: "Missing"):  # noqa: F821
    """A text."""


def complex_type(a: complex | Color | Dialect):
    """A text."""


def click(element: str) -> str:
    """A text."""
    return element


def test_unsuitable_tools_raise_named_errors():
    for functions, values in (
        ([unannotated], ("parameter a", "unannotated")),
        ([many], ("many", "*values: int")),
        ([undocumented], ("undocumented", "docstring")),
        ([later], ("later", "coroutine function")),
        ([odd_type], ("annotations", "odd_type")),
        ([lambda text: text], ("a tool", "<function", "name")),
        ([print], (print.__name__,)),  # a library may have replaced it
        ([Notebook], ("a tool", "<class")),
        ([3], ("a tool", 3)),
        ([click], ("click", "action")),
        ([add, add], ("two", "add")),
        (add, ("tools", "<function add")),
        ("add", ("tools", "'add'")),
    ):
        with expect_error(ValueError, *values):
            WebArenaLite(tasks=[TASK], tools=functions)
    for options in (
        {"tool_budget": 0},
        {"tool_budget": "4"},
        {"tool_window": 0},
        {"tool_window": 10**9},
        {"tool_tag": "a b"},
        {"tool_tag": 3},
    ):
        with expect_error(ValueError, next(iter(options))):
            make(add, **options)
    for options in ({"tool_budget": 3}, {"tool_window": 90}, {"tool_tag": "found"}):
        with pytest.raises(ValueError, match=r"has no effect here: it needs tools="):
            WebArenaLite(tasks=[TASK], **options)


def test_a_missing_pydantic_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with expect_error(ModuleNotFoundError, "webarena-gym[tools]"):
        make(add)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(['lookup(query="x")', 'add(a=1)', "</think>", "<answer>", "```", "\nclick [1]\n", '")', "{", "click [3]", "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS_WITH_TOOLS, ids=str)
@given(
    value=JSON, text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["stop [x]", "```", '")'])
)
def test_every_dialect_reads_the_calls_that_it_writes(dialect, value, text):
    arguments = {"value": value, "text": text}
    action = call_action("echo", arguments)
    for written in (
        dialect.format(action),
        reply_of(dialect, "echo", arguments),
        reply_of(dialect, "echo", json.dumps(arguments)),
    ):
        assert dialect.parse(written) == action
        assert dialect.parse(f"<think>echo or add?</think>\n<answer>\n{written}\n</answer>") == action


CALLS = [
    ("add(3)", {"a": 3}),
    ("add(3, 4)", {"a": 3, "b": 4}),
    ("add(a=3, b = 4)", {"a": 3, "b": 4}),
    ("```\nadd(a=3)\n```", {"a": 3}),
    ("I add them.\n\nadd(a=3)", {"a": 3}),
    ('add(a="3")', {"a": "3"}),
    ("add(a=None, b=true)", {"a": None, "b": True}),
    ("add(a=[1, [2]], b={\"x\": 'y'})", None),
    ('add(a=[1, [2]], b={"x": "add(a=1)"})', {"a": [1, [2]], "b": {"x": "add(a=1)"}}),
    ("add(a=-1.5e3)", {"a": -1500.0}),
    ("add(a=plus)", {"a": "plus"}),
    ("add()", {}),
    ("add(a=3", None),
    ("add(c=3)", None),
    ("add(1, 2, 3, 4)", None),
    ("add(1, a=2)", None),
    ("add(a=3)\nadd(a=4)", None),
    ("add(a=" + "[" * 5_000 + ")", None),
]


@pytest.mark.parametrize("dialect", DIALECTS_WITH_TOOLS, ids=str)
@pytest.mark.parametrize(("reply", "arguments"), CALLS, ids=[reply[:30] for reply, _ in CALLS])
def test_calls_in_replies(dialect, reply, arguments):
    if arguments is None:
        with expect_error(ActionError, "add(a: integer"):  # the message lists the tools
            dialect.parse(reply)
    else:
        assert dialect.parse(reply) == call_action("add", arguments)


ACTIONS = {
    "webrl": 'do(action="Click", element="{}")', "webarena": "click [{}]", "browsergym": 'click("{}")',
    "computer": '{{"type": "type", "text": "{}"}}',
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS_WITH_TOOLS, ids=str)
def test_a_reply_is_one_action_or_one_call(dialect):
    action = ACTIONS[dialect.name]
    assert dialect.parse(action.format("add(a=1)")).kind is not Kind.CALL
    assert dialect.parse('show(text="click [5]\nexit()")').kind is Kind.CALL
    if dialect.name != "computer":  # its final message, too, gives way to an action
        with expect_error(ActionError, "2 actions"):
            dialect.parse(f"{action.format(5)}\nadd(a=1)")
    with pytest.raises(ActionError):
        dialect.parse("multiply(a=1)")


@pytest.mark.parametrize("call", [
    {"name": "add", "arguments": {"a": 1}}, {"type": "add", "a": 1}, {"type": "function_call", "name": "add", "arguments": '{"a": 1}'},
    {"type": "tool_use", "name": "add", "input": {"a": 1}}, {"tool_calls": [{"function": {"name": "add", "arguments": '{"a": 1}'}}]},
])  # fmt: skip
def test_calls_in_the_json_of_vendors(call):
    assert DIALECTS_WITH_TOOLS[-1].parse(json.dumps(call)) == call_action("add", {"a": 1})


def test_tool_results_are_shown_above_the_unchanged_page():
    env = make(add, show)
    page = play(env)["page"]
    info = play(env, "add(a=1)")
    assert info["page"] == f"<information>\n3\n</information>\n{page}"
    assert info["tools"] == {"calls": 1, "failed": 0}
    assert info["action_error"] == ""
    _, _, _, _, info = env.step('do(action="Scroll Up")')
    assert "information>" not in info["page"]
    observation, _, _, _, info = env.step("add(a=2, b=5)")
    assert "3\n</information>\n** Simplified html **\n\ndo(action=" in observation
    assert info["messages"][-1]["content"].endswith(page)
    _, _, _, _, info = env.step('show(text="</information> <information> </think>")')
    assert info["page"].startswith("<information>\n&lt;/information> &lt;information> </think>\n</information>\n")


def test_long_results_are_cut_and_old_ones_shortened():
    env = make(show, tool_window=1_000)
    info = play(env, 'show(text="x", times=5000)')
    result = info["page"].partition("\n</information>")[0].removeprefix("<information>\n")
    assert len(result) == 1_000
    assert "characters were cut]" in result
    observation, *_ = env.step('show(text="y")')
    assert "x" * 200 in observation
    assert "x" * 300 not in observation
    full = make(show, tool_window=1_000, history="full")
    play(full, 'show(text="x", times=5000)')
    assert "x" * 900 in full.step('show(text="y")')[0]


def test_another_tag_is_named_in_the_prompt_and_kept_in_histories():
    env = make(show, tool_tag="output")
    prompt = env.system_prompt
    assert "<output> and </output>" in prompt
    assert "information>" not in prompt
    page = play(env)["page"]
    info = play(env, 'show(text="</output> </information>")')
    assert info["page"] == f"<output>\n&lt;/output> </information>\n</output>\n{page}"
    assert "<output>\n&lt;/output> </information>\n</output>\n** Simplified html **" in env.step('show(text="y")')[0]


def test_mistakes_are_observations_and_count():
    env = make(add, tool_budget=3)
    info = play(env, "add(a=13)")
    assert info["page"].startswith("<information>\nRuntimeError: unlucky number\n</information>\n")
    assert info["tools"] == {"calls": 1, "failed": 1, "left": 2}
    _, _, _, _, info = env.step('add(a="x", c=1)')
    assert "has no argument 'c'" in info["action_error"]
    assert info["tools"] == {"calls": 1, "failed": 1, "left": 2}
    _, _, _, _, info = env.step('add(a="x", sign="times")')
    assert info["action_error"].endswith(
        "a: Input should be a valid integer, unable to parse string as an integer; sign: Input should be 'plus' or 'minus'"
    )
    assert info["tools"] == {"calls": 2, "failed": 2, "left": 1}
    env.step("add(a=1)")
    _, _, _, _, info = env.step("add(a=1)")
    assert info["action_error"] == "add() was not called: all 3 calls of tools in this episode are used up"
    assert info["tools"] == {"calls": 3, "failed": 2, "left": 0}
    assert env.reset(seed=0)[1]["tools"] == {"calls": 0, "failed": 0, "left": 3}


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError


def fail(kind: Literal["exception", "unprintable", "browser", "memory", "recursion", "result"]) -> Any:
    """Fail."""
    match kind:
        case "unprintable":
            raise UnprintableError
        case "browser":
            raise BrowserError("the index is down")
        case "memory":
            raise MemoryError
        case "recursion":
            return fail("recursion")
        case "result":
            return type("Result", (), {"__repr__": lambda self: 1 / 0})()
    raise KeyError(kind)


def test_faults_of_the_machinery_have_no_reward():
    for kind in ("exception", "unprintable", "recursion", "result"):
        info = play(make(fail), f'fail(kind="{kind}")')
        assert info["tools"]["failed"] == 1
        assert "failure" not in info
    for kind, message in (("browser", "the index is down"), ("memory", "the tool fail ran out of memory")):
        env = make(fail)
        env.reset(seed=0)
        _, reward, terminated, truncated, info = env.step(f'fail(kind="{kind}")')
        assert isnan(reward)
        assert (terminated, truncated, info["failure"]) == (False, True, message)
        with pytest.raises(BrowserError, match=message):
            play(make(fail, on_failure="raise"), f'fail(kind="{kind}")')


def test_steps_are_counted_and_the_reward_is_that_of_the_task():
    env = make(add, max_steps=2)
    env.reset(seed=0)
    env.step("add(a=1)")
    assert env.step("add(a=1)")[2:4] == (False, True)
    env.reset(seed=0)
    env.step("add(a=1)")
    assert env.step('exit(message="done")')[1:4] == (1.0, True, False)


def test_state_belongs_to_an_episode_of_an_env():
    notebook = Notebook()
    notebook.lines.append("first")
    one, two = (make(notebook.note, notebook.count) for _ in range(2))
    assert "first; a" in play(one, 'note(text="a")')["page"]
    assert "<information>\n1\n" in play(two, "count()")["page"]
    assert "<information>\n2\n" in one.step("count()")[4]["page"]
    assert "<information>\n1\n" in play(one, "count()")["page"]
    assert notebook.lines == ["first"]


CONTINUE = """
import pickle, sys
from tests.test_toolbox import Notebook, make, add
env = make(Notebook().note, add, tool_budget=9)
env.restore(pickle.load(open(sys.argv[1], "rb")))
pickle.dump([env.step(reply) for reply in ('note(text="b")', "add(a=1)")], open(sys.argv[2], "wb"))
"""


def test_a_snapshot_after_a_call_continues_equally_in_another_process(tmp_path):
    env = make(Notebook().note, add, tool_budget=9)
    play(env, 'note(text="a")')
    (tmp_path / "snapshot").write_bytes(pickle.dumps(env.snapshot()))
    _, info = env.restore(env.snapshot())
    assert info["page"].startswith("<information>\na\n")
    expected = [env.step(reply) for reply in ('note(text="b")', "add(a=1)")]
    assert expected[0][4]["tools"] == {"calls": 2, "failed": 0, "left": 7}
    subprocess.run([sys.executable, "-c", CONTINUE, tmp_path / "snapshot", tmp_path / "results"], check=True)
    assert pickle.loads((tmp_path / "results").read_bytes()) == expected
    for other in (make(Notebook().count), make(add)):
        with expect_error(SnapshotError, "tools note"):
            other.restore(env.snapshot())
    plain = WebArenaLite(tasks=[TASK])
    plain.reset(seed=0)
    assert env.restore(plain.snapshot())[1]["tools"]["calls"] == 0
    assert "tools" not in plain.restore(env.snapshot())[1]


class Broken(Notebook):
    def snapshot(self) -> Any:
        return lambda: None


class Uncopyable(Notebook):
    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("no copies")


def test_tools_whose_state_cannot_be_kept_are_named():
    with expect_error(SnapshotError, "note", "AttributeError"):
        make(Broken().note)
    with expect_error(ValueError, "note", "TypeError: no copies"):
        make(Uncopyable().note)


@pytest.mark.parametrize("options", [{"vectorization_mode": "sync"}, {"vectorization_mode": "async"}, {"workers": 2}], ids=str)
def test_vector_envs_have_a_state_for_each_env(options):
    notebook, replies = Notebook(), ('note(text="a")', 'note(text="b")')
    envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=2, tasks=[TASK], tools=[notebook.note, add], **options)
    try:
        envs.reset(seed=0)
        texts, *_ = envs.step(replies)
        texts, _, _, _, infos = envs.step(["add(a=5)", 'note(text="c")'])
    finally:
        envs.close()
    assert "<information>\n7\n</information>" in texts[0]
    assert "<information>\nb; c\n</information>" in texts[1]
    assert list(infos["tools"]["calls"]) == [2, 2]


def test_an_env_with_tools_passes_the_checks():
    env = gymnasium.make("WebArenaLite-v0", tasks=[TASK], tools=[Notebook().note, add])
    check_env(env.unwrapped, skip_render_check=True)
    check_contract(make(Notebook().note, add))


def test_envs_without_tools_are_unchanged():
    env = WebArenaLite(tasks=[TASK], tools=())
    info = play(env, "add(a=1)")
    assert "tools" not in info
    assert "holds no action" in info["action_error"]
    assert env.system_prompt == instructions(DIALECTS["webrl"])
    assert env.action_schema == tools(DIALECTS["webrl"])


def test_descriptions_of_annotated_parameters_win_over_none():
    def near(place: Annotated[str, Field(description="a town", max_length=5)], radius: float = 1.0) -> str:
        """Find places."""
        return place * int(radius)

    tool = ToolFunction(near)
    assert json.loads(tool.form.schema)["properties"]["place"] == {"type": "string", "description": "a town", "maxLength": 5}
    assert tool.validate({"place": "Orr", "radius": 2}) == {"place": "Orr", "radius": 2.0}
    with expect_error(ActionError, "place", "5 characters"):
        tool.validate({"place": "Dorimville"})


def test_a_call_has_no_meaning_in_a_dialect_without_tools():
    with pytest.raises(ActionError):
        DIALECTS["webrl"].parse("add(a=1)")
    assert Action(Kind.CALL, argument='{"name": "add", "arguments": {}}').element is None


def test_trl_and_mcp_offer_tools_beside_the_actions():
    notebook = Notebook()
    made = trl.environment({"tasks": [TASK], "tools": [add, notebook.note], "tool_budget": 3})
    assert list(inspect.signature(made.add).parameters.values())[1:] == [*inspect.signature(add).parameters.values()]
    assert inspect.getdoc(made.add) == (
        "Add two numbers.\n\nArgs:\n    a: the first number\n    b: the second number\n    sign: sign"
    )
    environment = made()
    environment.reset(task=TASK.task_id)
    assert environment.add(1, sign="minus").startswith("<information>\n-1\n</information>\nURL: http://shop.test/")
    assert environment.note(text='say "hi"\n[x]').startswith('<information>\nsay "hi"\n[x]\n')
    assert environment.exit("done") == "The episode is over."
    assert environment.get_reward() == 1.0

    mcp = McpTools(EpisodeStore(), NewEpisode(tools=["lookup"], tool_budget=1), names_episodes=False)
    assert "lookup" in [tool.name for tool in mcp.tools()]
    mcp.call("reset", {})
    assert mcp.call("lookup", {"query": "town", "k": 1}).text.startswith("<information>\n[1] ")
    assert mcp.call("lookup", {"query": "town", "k": 1}).text.startswith("Action error: lookup() was not called")
