"""The arena as tools: sessions with the official client of the Model Context Protocol, and the toolbox alone."""

import json
import re
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec

import pytest

from webarena_gym.actions import DIALECTS
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.mcp_tools import McpTools
from webarena_gym.arena.schema import Limits, NewEpisode
from webarena_gym.suite import load

TASKS = {task.task_id: task for task in load("test")}
WISH = "shopping.wish_list_add/1000/0"
STEPS = (
    ("search", {"element": "Search entire store", "argument": "Dohume Studio Wired Earphones, USB-C"}),
    ("click", {"element": "Dohume Studio Wired Earphones, USB-C"}),
    ("click", {"element": "Add to Wish List"}),
)


def toolbox(names_episodes=False, limits=None, **settings):
    return McpTools(EpisodeStore(limits), NewEpisode(**{"elements": "label"} | settings), names_episodes=names_episodes)


def test_the_tools_are_the_actions_and_what_begins_and_ends():
    for dialect in DIALECTS:
        names = [tool.name for tool in toolbox(dialect=dialect).tools()]
        actions = [form.name for form in DIALECTS[dialect].forms if form.kind != "Exit"]
        assert names == ["reset", "observe", *actions, "submit"]


def test_a_task_is_played_and_judged():
    played = toolbox()
    assert TASKS[WISH].intent in played.call("reset", {"task": WISH}).text
    for name, arguments in STEPS:
        returned = played.call(name, arguments)
        assert not returned.is_error
    assert played.call("observe", {}).text == returned.text
    judged = played.call("submit", {"answer": ""})
    assert judged.text.startswith("reward 1\nSolved.")
    assert judged.result["success"]
    assert played.call("submit", {"answer": ""}).is_error


def test_impossible_actions_are_observations_and_invalid_calls_are_errors():
    played = toolbox()
    assert "call reset first" in played.call("click", {"element": "x"}).text
    played.call("reset", {"task": WISH})
    for arguments in ({"element": "nothing like that"}, {}, {"colour": "red"}):
        returned = played.call("click", arguments)
        assert not returned.is_error
        assert returned.text.startswith("Action error:")
    for name, arguments in (("dance", {}), ("reset", {"task": "x"}), ("reset", {"seed": -1})):
        returned = played.call(name, arguments)
        assert (returned.is_error, returned.result) == (True, None), (name, arguments)
    assert played.call("observe", {}).text


WRONG = {"string": (5, 1.5, True, [], {}), "integer": ("x", "5", 1.5, True, [], -(10**30))}
ODD = (None, True, 0, -1, 10**400, 1.5, float("nan"), "", "hard2", "\ud800", [], {}, {"a": [None]})


@pytest.mark.parametrize("names_episodes", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_invalid_argument_of_every_tool_is_reported_without_a_failure(dialect, names_episodes):
    played = toolbox(names_episodes, dialect=dialect, max_steps=1000)
    first = played.call("reset", {"task": WISH}).text
    named = {"episode": re.match(r"Episode (\w+)", first)[1]} if names_episodes else {}
    for tool in played.tools():
        is_action = tool.name not in ("reset", "observe", "submit")
        calls = [{**named, "colour": "red"}] if tool.name != "reset" else [{"colour": "red"}]
        for name, kind in tool.input_schema["properties"].items():
            wrong = (*WRONG[{"number": "integer"}.get(kind["type"], kind["type"])], *["hard2"] * ("enum" in kind))
            calls += [{**(named if tool.name != "reset" else {}), name: value} for value in wrong]
        if named and tool.name != "reset":
            calls.append({})
        for given in calls:
            returned = played.call(tool.name, given)
            is_named = given.get("episode") == named.get("episode")
            assert returned.is_error or (is_action and is_named), (tool.name, given)
            if not returned.is_error and "colour" in given and dialect != "webarena":  # where values have no names
                assert returned.text.startswith("Action error:"), (tool.name, given)
        odd = [{**named, name: value} for name in ("colour", *tool.input_schema["properties"]) for value in ODD]
        assert all(played.call(tool.name, given).text for given in odd)
    assert "train or validation or test or pool or hard" in played.call("reset", {"split": "hard2"}).text


def test_one_player_has_one_episode_and_several_name_theirs():
    store = EpisodeStore(Limits(episodes=2))
    played = McpTools(store, NewEpisode(), names_episodes=False)
    for seed in range(5):
        assert not played.call("reset", {"seed": seed}).is_error
    assert len(store.state().episodes) == 1
    shared = toolbox(names_episodes=True)
    names = {session: re.match(r"Episode (\w+)\n", shared.call("reset", {"task": WISH}, session).text)[1] for session in "ab"}
    for name, arguments in STEPS:
        shared.call(name, {"episode": names["a"], **arguments}, "a")
    judged = {session: shared.call("submit", {"episode": name}, session).result["success"] for session, name in names.items()}
    assert judged == {"a": True, "b": False}
    assert shared.call("observe", {}).is_error
    assert all("episode" in tool.input_schema["required"] for tool in shared.tools()[1:])


def test_an_episode_is_found_by_the_session_that_began_it_alone():
    played = toolbox(names_episodes=True)
    begun = {session: re.match(r"Episode (\w+)\n", played.call("reset", {"task": WISH}, session).text)[1] for session in "ab"}
    for name in [tool.name for tool in played.tools()][1:]:
        for other in ("b", "", "A"):
            known, unknown = (played.call(name, {"episode": each}, other) for each in (begun["a"], "0" * 16))
            assert known == unknown, (name, other)
            assert known.is_error
            assert "no such episode" in known.text
    for name, arguments in STEPS:
        played.call(name, {"episode": begun["a"], **arguments}, "a")
    assert played.call("submit", {"episode": begun["a"]}, "a").result["success"]
    assert not played.call("submit", {"episode": begun["b"]}, "b").result["success"]


def test_the_reason_for_closing_an_episode_is_visible_to_its_session_only():
    store = EpisodeStore()
    played = McpTools(store, NewEpisode(), names_episodes=True)
    name = re.match(r"Episode (\w+)\n", played.call("reset", {"task": WISH}, "a").text)[1]
    store.close_episode(name, "it was idle")
    assert "it was idle" in played.call("observe", {"episode": name}, "a").text
    assert "no such episode" in played.call("observe", {"episode": name}, "b").text


def test_a_fixed_task_cannot_be_replaced_and_the_step_limit_ends_the_episode():
    played = toolbox(task=WISH, max_steps=2)
    assert played.tools()[0].input_schema["properties"] == {}
    assert played.call("reset", {"task": "other"}).is_error
    played.call("reset", {})
    played.call("click", {"element": "x"})
    assert played.call("click", {"element": "x"}).text.startswith("reward 0\nNot solved.")


needs_sdk = pytest.mark.skipif(find_spec("mcp") is None, reason="no SDK of MCP here: pip install 'webarena-gym[mcp]'")


@asynccontextmanager
async def over_stdio():
    mcp = pytest.importorskip("mcp")
    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "webarena_gym", "mcp", "--elements", "label"])
    async with mcp.Client(mcp.stdio_client(server)) as client:
        yield client, {}


@contextmanager
def serving_http():
    """Run `mcp --http`; give its URL."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "webarena_gym", "mcp", "--elements", "label", "--http", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            url = server.stderr.readline().strip()
            while server.poll() is None:
                with suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
            yield url
        finally:
            server.terminate()


@asynccontextmanager
async def over_http():
    mcp = pytest.importorskip("mcp")
    with serving_http() as url:
        async with mcp.Client(url) as client:
            yield client, {"names": True}


@needs_sdk
@pytest.mark.parametrize("transport", [over_stdio, over_http])
def test_the_official_client_plays_a_session(transport):
    import anyio  # noqa: PLC0415 - comes with the SDK

    async def session():
        async with transport() as (client, options):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"reset", "observe", "click", "type", "submit"} <= set(tools)
            began = await client.call_tool("reset", {"task": WISH})
            text = began.content[0].text
            assert TASKS[WISH].intent in text
            named = {"episode": re.match(r"Episode (\w+)", text)[1]} if options else {}
            missed = await client.call_tool("click", {**named, "element": "nothing"})
            assert not missed.is_error
            assert missed.content[0].text.startswith("Action error:")
            for name, arguments in STEPS:
                await client.call_tool(name, {**named, **arguments})
            judged = await client.call_tool("submit", {**named, "answer": ""})
            assert judged.structured_content["success"], judged
            again = await client.call_tool("submit", {**named, "answer": ""})
            assert again.is_error

    anyio.run(session)


@needs_sdk
def test_a_session_over_http_neither_sees_nor_submits_the_episode_of_another():
    import anyio  # noqa: PLC0415 - comes with the SDK
    import mcp  # noqa: PLC0415

    async def sessions():
        with serving_http() as url:
            async with mcp.Client(url) as first, mcp.Client(url) as second, mcp.Client(url, mode="legacy") as third:
                text = (await first.call_tool("reset", {"task": WISH})).content[0].text
                named = {"episode": re.match(r"Episode (\w+)", text)[1]}
                for other in (second, third):
                    for name, arguments in (("observe", {}), ("click", {"element": "Sign Out"}), ("submit", {"answer": ""})):
                        refused = await other.call_tool(name, {**named, **arguments})
                        assert refused.is_error
                        assert "no such episode" in refused.content[0].text
                for name, arguments in STEPS:
                    await first.call_tool(name, {**named, **arguments})
                assert (await first.call_tool("submit", {**named, "answer": ""})).structured_content["success"]
            async with mcp.Client(url, mode="2026-07-28") as client:  # a protocol version without sessions
                with pytest.raises(mcp.MCPError, match="episodes belong to sessions"):
                    await client.call_tool("reset", {"task": WISH})

    anyio.run(sessions)


@needs_sdk
def test_lines_that_are_no_message_are_answered():
    ping = '{"jsonrpc": "2.0", "id": 3, "method": "ping"}'
    codes = {"{oops": -32700, '{"a": 1}': -32600, "[]": -32600, "": -32700, ping: None}
    command = [sys.executable, "-m", "webarena_gym", "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
        for line, code in codes.items():
            server.stdin.write(f"{line}\n")
            assert json.loads(server.stdout.readline()).get("error", {}).get("code") == code, line
        server.stdin.close()
