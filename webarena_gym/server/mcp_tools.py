"""Episodes as tools over the Model Context Protocol: `reset`, `observe`, one for each action, and `submit`; on stdin and stdout, or over HTTP."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any, NamedTuple, get_args

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
from webarena_gym.actions import DIALECTS, reply_of, tools
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.applications.application import Application
from webarena_gym.errors import ArenaError
from webarena_gym.server.episodes import Episode, EpisodeStore
from webarena_gym.server.http import listen, serve
from webarena_gym.server.schema import NewEpisode, Result, Split

INSTRUCTIONS = f"""\
You use websites for a person who has given you a task. `reset` begins a task and tells the goal. Each action is a tool of its own; it
returns the page that follows. A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, call `submit` with the answer.

{ANSWERS}"""

_REMEMBERED = 10_000  # verdicts
_TASK_FIELDS = ("task", "split", "seed", "world_seed")
_MEANINGS: Mapping[str, dict[str, Any]] = {
    "task": {"type": "string", "description": "the id of a task; one is drawn from the split without it"},
    "split": {"type": "string", "enum": list(get_args(Split)), "description": "the split to draw from"},
    "seed": {"type": "integer", "minimum": 0, "description": "the seed of the draw"},
    "world_seed": {"type": "integer", "description": "draw the split's templates in this world instead"},
}
_EPISODE = {"type": "string", "description": "the id of the episode, as reset has told it"}


class Returned(NamedTuple):
    """Result of a call."""

    text: str
    is_error: bool = False
    result: dict[str, Any] | None = None  # how the episode was judged, when it is over


class McpTools:
    """Tools that play episodes. Its calls must not overlap.

    `settings` are the defaults of `reset`; a task that they name is always begun. With `names_episodes`, each call names its episode,
    and an episode is visible only to the session that began it. Without, there is one episode at a time. A session is judged on each task
    once.
    """

    def __init__(self, store: EpisodeStore, settings: NewEpisode, *, names_episodes: bool) -> None:
        self._store = store
        self._settings = replace(settings, mode="step")
        self._names_episodes = names_episodes
        self._newest = ""
        self._judged: OrderedDict[tuple[str, str], None] = OrderedDict()  # sessions with the tasks that each was judged on
        self._dialect = DIALECTS[settings.dialect].naming_by(settings.elements)
        leaves = {form.name for form in self._dialect.forms if form.kind == "Exit"}
        self._actions = [tool["function"] for tool in tools(self._dialect) if tool["function"]["name"] not in leaves]

    def tools(self) -> list[Tool]:
        wanted = {} if self._settings.task else {name: _MEANINGS[name] for name in _TASK_FIELDS}
        answer = {"answer": {"type": "string", "description": "the answer; empty if the task asks for none"}}
        return [
            Tool(
                name="reset",
                description="Begin a task in a world of its own; returns the goal and the first page.",
                input_schema=_schema(wanted),
            ),
            self._tool("observe", "Return the newest page again.", _schema({})),
            *(self._tool(action["name"], action["description"], action["parameters"]) for action in self._actions),
            self._tool(
                "submit", "End the task with an answer; returns the reward and which checks have passed.", _schema(answer)
            ),
        ]

    def call(self, name: str, arguments: Mapping[str, Any], session: str = "") -> Returned:
        """Run a tool for a session and return its result.

        The text says what was wrong with a call. An action that the page does not allow is no error of the call.
        """
        try:
            if name == "reset":
                return self._reset(arguments, session)
            given = dict(arguments)
            episode = self._store.find(self._named(given), session)
            with episode.logged(name):
                if name != "observe" and episode.result is None:
                    self._expect_unjudged(episode, session)
                returned = self._play(episode, name, given)
            if episode.result is not None:
                self._judged[session, episode.task.task_id] = None
                while len(self._judged) > _REMEMBERED:
                    self._judged.popitem(last=False)
        except ArenaError as error:
            expected = f"; expected {error.expected}" if error.expected else ""
            returned = Returned(f"{error}{expected}", is_error=True)
        return returned

    def _play(self, episode: Episode, name: str, given: Mapping[str, Any]) -> Returned:
        known = {"submit": {"answer"}, "observe": set[str]()}.get(name)
        if known is not None and (others := sorted({*given} - known)):
            expected = ", ".join(known) or "no arguments"
            raise ArenaError(f"{name}: there is no argument {others[0]!r}", 422, others[0], expected=expected)
        if name == "submit":
            answer = given.get("answer", "")
            if not isinstance(answer, str):
                raise ArenaError("submit: answer is no text", 422, "answer", answer, "a text")
            return _judged(episode.conclude(answer))
        if name == "observe":
            return Returned(episode.page)
        if all(name != action["name"] for action in self._actions):
            raise ArenaError(
                f"there is no tool {name!r}", 404, expected="one of " + ", ".join(tool.name for tool in self.tools())
            )
        episode.step(reply_of(self._dialect, name, given))
        return Returned(episode.page) if episode.result is None else _judged(episode.result)

    def _reset(self, arguments: Mapping[str, Any], session: str) -> Returned:
        allowed = () if self._settings.task else _TASK_FIELDS
        for key, value in arguments.items():
            kind: type = int if key in ("seed", "world_seed") else str
            choices = _MEANINGS[key].get("enum") if key in allowed else None
            if key not in allowed or (value is not None and (type(value) is not kind or value not in (choices or (value,)))):
                meant = " or ".join(choices) if choices else _MEANINGS[key]["type"] if key in allowed else ", ".join(allowed)
                expected = str(meant) or "no arguments"
                raise ArenaError(f"reset: {key} is {value!r}", 422, key, value, expected)
        for name in self._store.idle():
            self._store.end(name, "nobody asked it for anything for too long")
        try:
            settings = replace(self._settings, **{key: value for key, value in arguments.items() if value is not None})
        except ValueError as error:
            raise ArenaError(f"reset: {error}", 422) from error
        if not self._names_episodes and self._newest:
            self._store.end(self._newest, "another was begun")
            self._newest = ""
        episode = self._store.begin(settings, session)
        try:
            self._expect_unjudged(episode, session)
        except ArenaError:
            self._store.end(episode.id, "its task was judged before")
            raise
        self._newest = episode.id
        named = f"Episode {episode.id}\n" if self._names_episodes else ""
        return Returned(f"{named}Task {episode.task.task_id}: {episode.goal}\n\n{episode.page}")

    def _expect_unjudged(self, episode: Episode, session: str) -> None:
        """Raise ArenaError if the session was judged on the task before: its client could try answers until one is right."""
        task = episode.task.task_id
        if (session, task) in self._judged:
            raise ArenaError(
                f"this session was judged on the task {task} before, and is judged on each task once",
                409,
                expected="another task, or a new session",
            )

    def _named(self, given: dict[str, Any]) -> str:
        """Return which episode a call means, and take its name out of the arguments."""
        if self._names_episodes:
            name = given.pop("episode", None)
            if not isinstance(name, str):
                raise ArenaError(f"episode is {name!r}", 422, expected="the id that reset has told")
            return name
        if not self._newest:
            raise ArenaError("no task has begun: call reset first", 409)
        return self._newest

    def _tool(self, name: str, description: str, schema: dict[str, Any]) -> Tool:
        if self._names_episodes:
            named = {"episode": _EPISODE, **schema["properties"]}
            schema = schema | {"properties": named, "required": ["episode", *schema.get("required", ())]}
        return Tool(name=name, description=description, input_schema=schema)


def _schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [], "additionalProperties": False}


def _judged(result: Result) -> Returned:
    """Return a result without the compared values, which the model behind the client could use in its next episode of the task."""
    told = result.without_values()
    return Returned(told.in_words(), result=asdict(told))


def server(played: McpTools) -> "Server[object]":
    """Return an MCP server with these tools."""
    one_at_a_time = anyio.CapacityLimiter(1)

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=played.tools())

    async def call_tool(context: ServerRequestContext[Any, Any], call: CallToolRequestParams) -> CallToolResult:
        # The SDK has checked over HTTP that the session is open; there is none on stdin and stdout.
        session = "" if context.request is None else context.request.headers.get("mcp-session-id", "")
        returned = await to_thread.run_sync(played.call, call.name, call.arguments or {}, session, limiter=one_at_a_time)
        return CallToolResult(
            content=[TextContent(type="text", text=returned.text)],
            is_error=returned.is_error,
            structured_content=returned.result,
        )

    return Server(
        "webarena-gym", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve_stdio(settings: NewEpisode, application: Application | None = None) -> None:
    """Serve one player on stdin and stdout, until it goes away."""

    async def run() -> None:
        played = server(McpTools(EpisodeStore(application=application), settings, names_episodes=False))
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            into, read = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def answer_what_is_no_message() -> None:
                """Pass messages on; the SDK drops all other lines without a word."""
                async with into:
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
                            await into.send(item)

            tasks.start_soon(answer_what_is_no_message)
            await played.run(read, outgoing, played.create_initialization_options())

    anyio.run(run)


async def _require_session(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Refuse protocol versions without sessions; clients then open a session with an older version."""
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        versions = {"requested": ctx.protocol_version, "supported": list(HANDSHAKE_PROTOCOL_VERSIONS)}
        raise MCPError(UNSUPPORTED_PROTOCOL_VERSION, "episodes belong to sessions; open one with initialize", versions)
    return await call_next(ctx)


def serve_http(settings: NewEpisode, port: int, on_open: Callable[[str], None], application: Application | None = None) -> None:
    """Serve any number of clients on this machine over HTTP at /mcp, until interrupted; `on_open` is called with the URL.

    Raises ArenaError for a port in use.
    """
    names = ["127.0.0.1", "localhost", "[::1]"]
    served = server(McpTools(EpisodeStore(application=application), settings, names_episodes=True))
    served.middleware.append(_require_session)
    app = served.streamable_http_app(
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:*" for name in names], allowed_origins=[f"http://{name}:*" for name in names]
        )
    )
    with closing(listen(names[0], (port,))) as listener:
        on_open(f"http://{names[0]}:{listener.getsockname()[1]}/mcp")
        serve(app, listener, has_lifespan=True)
