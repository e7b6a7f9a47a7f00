"""Episodes as tools of the Model Context Protocol, over stdio or HTTP: `reset`, `observe`, one tool for each action, and `submit`."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import anyio
from anyio import to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from webarena_gym import __version__
from webarena_gym.actions import reply_of, tools
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.applications.application import Application
from webarena_gym.applications.suite import Suite
from webarena_gym.arena.episodes import Episode, EpisodeStore
from webarena_gym.arena.http import listen, serve
from webarena_gym.arena.schema import EpisodeResult, NewEpisode
from webarena_gym.errors import ArenaError
from webarena_gym.options import EnvOptions
from webarena_gym.suite import SPLITS

INSTRUCTIONS = f"""\
You use websites for a person who has given you a task. `reset` starts a task and returns the goal. Each action is a separate tool that
returns the next page. A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, call `submit` with the answer.

{ANSWERS}"""

_MAX_JUDGED = 10_000  # stored pairs of session and judged task
_TASK_FIELDS = ("task", "split", "seed", "world_seed")
_FIELD_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "task": {"type": "string", "description": "id of a task; without it, a task is drawn from the split"},
    "split": {"type": "string", "description": "split from which the task is drawn"},
    "seed": {"type": "integer", "minimum": 0, "description": "random seed of the draw"},
    "world_seed": {"type": "integer", "description": "draw from the split's templates in this world instead"},
}
_EPISODE_SCHEMA = {"type": "string", "description": "id of the episode, as returned by reset"}


class ToolResult(NamedTuple):
    """Result of a tool call. `result` holds the judgment when the episode is over."""

    text: str
    is_error: bool = False
    result: dict[str, Any] | None = None


class McpTools:
    """Tools that play episodes. Its methods must not be called concurrently.

    A session is judged only once on each task.

    Args:
        store: the episodes.
        settings: defaults of `reset`. A task in them is fixed, and `reset` then has no arguments.
        names_episodes: if True, each call has the argument `episode`, and a session sees only its own episodes. If False, there is
            one episode at a time.

    """

    def __init__(self, store: EpisodeStore, settings: NewEpisode, *, names_episodes: bool) -> None:
        self._store = store
        splits: Mapping[str, object] = store.source["suite"].splits if "suite" in store.source else SPLITS
        self._field_schemas = {**_FIELD_SCHEMAS, "split": {**_FIELD_SCHEMAS["split"], "enum": list(splits)}}
        self._settings = replace(settings, mode="step")
        self._names_episodes = names_episodes
        self._current = ""  # id of the latest episode
        self._judged: OrderedDict[tuple[str, str], None] = OrderedDict()  # pairs of session and judged task
        self._dialect = EnvOptions(**settings.env_options()).build_dialect()
        exits = {form.name for form in self._dialect.forms if form.kind == "Exit"}
        self._actions = [tool["function"] for tool in tools(self._dialect) if tool["function"]["name"] not in exits]

    def tools(self) -> list[Tool]:
        task_fields = {} if self._settings.task else {name: self._field_schemas[name] for name in _TASK_FIELDS}
        answer = {"answer": {"type": "string", "description": "the answer; empty if the task asks for none"}}
        return [
            Tool(
                name="reset",
                description="Start a task with its own copy of the sites; returns the goal and the first page.",
                input_schema=_schema(task_fields),
            ),
            self._tool("observe", "Return the current page again.", _schema({})),
            *(self._tool(action["name"], action["description"], action["parameters"]) for action in self._actions),
            self._tool(
                "submit", "End the task with an answer; returns the reward and the checks that passed.", _schema(answer)
            ),
        ]

    def call(self, name: str, arguments: Mapping[str, Any], session: str = "") -> ToolResult:
        """Call a tool for a session and return its result.

        An invalid call returns an error with its reason. An action that the page does not allow is not an error of the call.
        """
        try:
            if name == "reset":
                return self._reset(arguments, session)
            remaining = dict(arguments)
            episode = self._store.find(self._pop_episode(remaining), session)
            with episode.log_request(name):
                if name != "observe" and episode.result is None:
                    self._expect_unjudged(episode, session)
                result = self._play(episode, name, remaining)
            if episode.result is not None:
                self._judged[session, episode.task.task_id] = None
                while len(self._judged) > _MAX_JUDGED:
                    self._judged.popitem(last=False)
        except ArenaError as error:
            expected = f"; expected {error.expected}" if error.expected else ""
            result = ToolResult(f"{error}{expected}", is_error=True)
        return result

    def _play(self, episode: Episode, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool other than `reset` on an episode. Raises ArenaError for an invalid call."""
        allowed = {"submit": {"answer"}, "observe": set[str]()}.get(name)
        if allowed is not None and (unknown := sorted({*arguments} - allowed)):
            expected = ", ".join(allowed) or "no arguments"
            raise ArenaError(f"{name}: unknown argument {unknown[0]!r}", 422, unknown[0], expected=expected)
        if name == "submit":
            answer = arguments.get("answer", "")
            if not isinstance(answer, str):
                raise ArenaError(f"submit: answer is {answer!r:.200}", 422, "answer", answer, "a string")
            return _judgment(episode.submit(answer))
        if name == "observe":
            return ToolResult(episode.page)
        if all(name != action["name"] for action in self._actions):
            raise ArenaError(
                f"there is no tool {name!r}", 404, expected="one of " + ", ".join(tool.name for tool in self.tools())
            )
        episode.step(reply_of(self._dialect, name, arguments))
        return ToolResult(episode.page) if episode.result is None else _judgment(episode.result)

    def _reset(self, arguments: Mapping[str, Any], session: str) -> ToolResult:
        allowed = () if self._settings.task else _TASK_FIELDS
        for key, value in arguments.items():
            kind: type = int if key in ("seed", "world_seed") else str
            choices = self._field_schemas[key].get("enum") if key in allowed else None
            if key not in allowed or (value is not None and (type(value) is not kind or value not in (choices or (value,)))):
                if choices:
                    expected = " or ".join(choices)
                else:
                    expected = str(_FIELD_SCHEMAS[key]["type"]) if key in allowed else ", ".join(allowed) or "no arguments"
                raise ArenaError(f"reset: {key} is {value!r}", 422, key, value, expected)
        for name in self._store.idle():
            self._store.close_episode(name, "it had no request for too long")
        try:
            settings = replace(self._settings, **{key: value for key, value in arguments.items() if value is not None})
        except ValueError as error:
            raise ArenaError(f"reset: {error}", 422) from error
        if not self._names_episodes and self._current:
            self._store.close_episode(self._current, "reset has started another")
            self._current = ""
        episode = self._store.create(settings, session)
        try:
            self._expect_unjudged(episode, session)
        except ArenaError:
            self._store.close_episode(episode.id, "its task was judged before")
            raise
        self._current = episode.id
        heading = f"Episode {episode.id}\n" if self._names_episodes else ""
        return ToolResult(f"{heading}Task {episode.task.task_id}: {episode.goal}\n\n{episode.page}")

    def _expect_unjudged(self, episode: Episode, session: str) -> None:
        """Raise ArenaError if the session was judged on the task before. Otherwise a client could try answers until one is right."""
        task = episode.task.task_id
        if (session, task) in self._judged:
            raise ArenaError(
                f"this session was judged on the task {task} before, and is judged on each task once",
                409,
                expected="another task, or a new session",
            )

    def _pop_episode(self, arguments: dict[str, Any]) -> str:
        """Return the id of the episode of a call, and remove it from the arguments. Raises ArenaError without one."""
        if self._names_episodes:
            name = arguments.pop("episode", None)
            if not isinstance(name, str):
                raise ArenaError(f"episode is {name!r}", 422, expected="the id that reset returned")
            return name
        if not self._current:
            raise ArenaError("no task has started: call reset first", 409)
        return self._current

    def _tool(self, name: str, description: str, schema: dict[str, Any]) -> Tool:
        if self._names_episodes:
            properties = {"episode": _EPISODE_SCHEMA, **schema["properties"]}
            schema = schema | {"properties": properties, "required": ["episode", *schema.get("required", ())]}
        return Tool(name=name, description=description, input_schema=schema)


def _schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [], "additionalProperties": False}


def _judgment(result: EpisodeResult) -> ToolResult:
    """Return a result without the compared values, which the client's model could use in its next episode of the task."""
    public = result.without_values()
    return ToolResult(public.describe(), result=asdict(public))


def create_server(episode_tools: McpTools) -> "Server[object]":
    """Return an MCP server with these tools."""
    limiter = anyio.CapacityLimiter(1)

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=episode_tools.tools())

    async def call_tool(context: ServerRequestContext[Any, Any], call: CallToolRequestParams) -> CallToolResult:
        # Over HTTP, the SDK has checked that the session is open. stdio has no sessions.
        session = "" if context.request is None else context.request.headers.get("mcp-session-id", "")
        result = await to_thread.run_sync(episode_tools.call, call.name, call.arguments or {}, session, limiter=limiter)
        return CallToolResult(
            content=[TextContent(type="text", text=result.text)],
            is_error=result.is_error,
            structured_content=result.result,
        )

    return Server(
        "webarena-gym", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve_stdio(settings: NewEpisode, application: Application | None = None, suite: Suite | None = None) -> None:
    """Serve one client on stdin and stdout, until it closes them."""

    async def run() -> None:
        mcp_server = create_server(McpTools(EpisodeStore(application=application, suite=suite), settings, names_episodes=False))
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            messages_in, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def answer_invalid_lines() -> None:
                """Pass messages on, and send errors for all other lines, which the SDK would drop silently."""
                async with messages_in:
                    async for item in incoming:
                        if isinstance(item, Exception):
                            faults = item.errors(include_url=False) if isinstance(item, ValidationError) else []
                            is_json = bool(faults) and faults[0]["type"] != "json_invalid"
                            error = (
                                ErrorData(code=INVALID_REQUEST, message="Invalid Request: expected a message of JSON-RPC 2.0")
                                if is_json
                                else ErrorData(code=PARSE_ERROR, message="Parse error: expected one JSON object a line")
                            )
                            await outgoing.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
                        else:
                            await messages_in.send(item)

            tasks.start_soon(answer_invalid_lines)
            await mcp_server.run(messages, outgoing, mcp_server.create_initialization_options())

    anyio.run(run)


async def _require_session(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Reject protocol versions without sessions, so that clients open a session with an older version."""
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        versions = {"requested": ctx.protocol_version, "supported": list(HANDSHAKE_PROTOCOL_VERSIONS)}
        raise MCPError(UNSUPPORTED_PROTOCOL_VERSION, "episodes belong to sessions; open one with initialize", versions)
    return await call_next(ctx)


def serve_http(
    settings: NewEpisode,
    port: int,
    on_open: Callable[[str], None],
    application: Application | None = None,
    suite: Suite | None = None,
) -> None:
    """Serve clients on this machine over HTTP at /mcp, until interrupted. `on_open` is called with the URL.

    Raises ArenaError for a port in use.
    """
    names = ["127.0.0.1", "localhost", "[::1]"]
    mcp_server = create_server(McpTools(EpisodeStore(application=application, suite=suite), settings, names_episodes=True))
    mcp_server.middleware.append(_require_session)
    app = mcp_server.streamable_http_app(
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:*" for name in names], allowed_origins=[f"http://{name}:*" for name in names]
        )
    )
    with closing(listen(names[0], (port,))) as listener:
        on_open(f"http://{names[0]}:{listener.getsockname()[1]}/mcp")
        serve(app, listener, has_lifespan=True)
