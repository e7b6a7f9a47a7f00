"""The arena's interface over HTTP: what can be asked, as one table, from which both the answers and their description are made."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qs, unquote

from pydantic import TypeAdapter, ValidationError

from webarena_gym import __version__
from webarena_gym.actions import DIALECTS, tools
from webarena_gym.arena.choice import prepare
from webarena_gym.arena.doors import Answer, Asked
from webarena_gym.arena.episodes import Episode
from webarena_gym.arena.schema import (
    ArenaState,
    EpisodeState,
    NewAction,
    NewAnswer,
    NewEpisode,
    Problem,
    Restoration,
    Result,
    StepResult,
    Summary,
    Taken,
    TaskLine,
    TasksWanted,
    ToolsWanted,
)
from webarena_gym.arena.service import Service, as_json, name_of, told
from webarena_gym.errors import ArenaError

T = TypeVar("T")

_WELCOME = "An arena of webarena-gym. POST /episodes begins an episode; /docs says what else can be asked, /openapi.json too.\n"
_NO_BODY: Final = type(None)
_LONGEST_ERROR = 500  # characters of a value in an error
_OPEN_PATHS = ("/", "/health", "/docs", "/openapi.json")  # hold no secrets, so they need no token where nothing is sent


class _Call(NamedTuple):
    """A request that fits the table."""

    service: Service
    host: str  # the host name that it was sent to
    id: str  # that of the path; "" where it has none
    body: Any  # the value that was sent in the body or, with GET, in the query


class Operation(NamedTuple):
    """One thing that can be asked of an arena."""

    method: str
    path: str
    summary: str
    body: Any  # the type of what is sent: in the body or, with GET, in the query
    result: Any  # the type of what is returned
    status: int
    do: Callable[[_Call], Awaitable[object]]


async def _begin(call: _Call) -> EpisodeState:
    return await call.service.begin(call.body, call.host)


async def _list(call: _Call) -> ArenaState:
    return await call.service.run(call.service.arena.state)


async def _look(call: _Call) -> EpisodeState:
    return await call.service.state(call.id)


async def _step(call: _Call) -> StepResult:
    return await _with_episode(call, "step", lambda episode: episode.step(call.body.action))


async def _answer(call: _Call) -> Result:
    return await _with_episode(call, "answer", lambda episode: episode.conclude(call.body.answer, call.body.url))


async def _snapshot(call: _Call) -> Taken:
    return await _with_episode(call, "snapshot", lambda episode: Taken(episode.snapshot()))


async def _restore(call: _Call) -> EpisodeState:
    await _with_episode(call, "restore", lambda episode: episode.restore(call.body.snapshot))
    return await call.service.state(call.id)


async def _delete(call: _Call) -> Summary:
    summary = await call.service.run(lambda: call.service.arena.find(call.id).summary())
    await call.service.end(call.id, "it was deleted")
    return summary


async def _tasks(call: _Call) -> list[TaskLine]:
    wanted: TasksWanted = call.body
    settings = NewEpisode(split=wanted.split, world_seed=wanted.world_seed, variation=wanted.variation, scale=wanted.scale)
    tasks = await asyncio.to_thread(prepare, settings)
    return [TaskLine(task.task_id, task.intent, list(task.sites)) for task in tasks]


async def _tools(call: _Call) -> list[dict[str, Any]]:
    return tools(DIALECTS[call.body.dialect].naming_by(call.body.elements))


async def _health(_: _Call) -> dict[str, str]:
    return {"version": __version__}


async def _with_episode(call: _Call, what: str, work: Callable[[Episode], T]) -> T:
    """Do some work on the episode of the path, and log it there."""

    def do() -> T:
        episode = call.service.arena.find(call.id)
        with episode.logged(what) as tell:
            try:
                result = work(episode)
            except ArenaError as error:
                tell(error.status)
                raise
            tell(200)
            return result

    return await call.service.run(do)


OPERATIONS = (
    Operation("GET", "/health", "Say that the arena works.", _NO_BODY, dict[str, str], 200, _health),
    Operation("GET", "/tasks", "List the tasks of a split.", TasksWanted, list[TaskLine], 200, _tasks),
    Operation(
        "GET", "/tools", "Return the actions of step mode as OpenAI's tools.", ToolsWanted, list[dict[str, Any]], 200, _tools
    ),
    Operation("GET", "/episodes", "List all episodes that are not closed.", _NO_BODY, ArenaState, 200, _list),
    Operation("POST", "/episodes", "Begin an episode, in a world of its own.", NewEpisode, EpisodeState, 201, _begin),
    Operation("GET", "/episodes/{id}", "Return the state of an episode, and its requests.", _NO_BODY, EpisodeState, 200, _look),
    Operation("POST", "/episodes/{id}/step", "Take a step (step mode).", NewAction, StepResult, 200, _step),
    Operation("POST", "/episodes/{id}/answer", "End an episode and judge it.", NewAnswer, Result, 200, _answer),
    Operation("POST", "/episodes/{id}/snapshot", "Keep the state of an episode.", _NO_BODY, Taken, 200, _snapshot),
    Operation("POST", "/episodes/{id}/restore", "Return to a snapshot.", Restoration, EpisodeState, 200, _restore),
    Operation("DELETE", "/episodes/{id}", "Close an episode and free its world.", _NO_BODY, Summary, 200, _delete),
)

_TYPES = (Problem, *(kind for operation in OPERATIONS for kind in (operation.body, operation.result)))
_ADAPTERS = {kind: TypeAdapter(kind) for kind in _TYPES}
"""Made on import: pydantic parses source here, which Python 3.11 cannot do in two threads at once (python/cpython#106905)."""


class Application:
    """Answers requests to the arena's own port."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, asked: Asked) -> Answer:
        """Return the answer of a request; what is wrong with it is told as a `Problem`."""
        return await told(self._respond(asked), in_json=True)

    def admit(self, asked: Asked) -> None:
        """Raise ArenaError for a request whose headers do not let it in."""
        self._service.check_name(asked)
        self._service.check_origin(asked)
        has_body = "transfer-encoding" in asked.headers or asked.headers.get("content-length", "0") != "0"
        if has_body or asked.target.partition("?")[0] not in _OPEN_PATHS:
            self._service.check_token(asked)

    async def _respond(self, asked: Asked) -> Answer:
        path, _, query = asked.target.partition("?")
        if path in ("/", "/docs", "/openapi.json") and asked.method in ("GET", "HEAD"):
            return _described(path)
        operation, name = _operation(asked.method, path)
        if operation.method == "GET":
            fields = {key: values[-1] for key, values in parse_qs(query, keep_blank_values=True).items()}
            value = self._read(operation, fields or None, None)
        else:
            value = self._read(operation, None, asked)
        result = await operation.do(_Call(self._service, name_of(asked.headers["host"]), name, value))
        return as_json(result, operation.status)

    def _read(self, operation: Operation, query: Mapping[str, str] | None, asked: Asked | None) -> Any:
        """Return what was sent, as the operation's type. Raises ArenaError for what does not fit."""
        reader, where = _ADAPTERS[operation.body], "query" if asked is None else "body"
        if operation.body is _NO_BODY:
            return None
        try:
            if asked is None:
                return reader.validate_strings(dict(query or {}))
            if asked.body and not asked.headers.get("content-type", "").lower().startswith("application/json"):
                raise ArenaError(
                    "the body is no JSON",
                    status=415,
                    at="header.content-type",
                    value=asked.headers.get("content-type"),
                    expected="application/json",
                )
            return reader.validate_json(asked.body or b"{}")
        except ValidationError as error:
            raise _malformed(error, where) from error


def _operation(method: str, path: str) -> tuple[Operation, str]:
    """Return what is asked for, and the id in the path. Raises ArenaError."""
    steps = path.rstrip("/").split("/")
    found: dict[str, tuple[Operation, str]] = {}
    for operation in OPERATIONS:
        wanted = operation.path.split("/")
        if len(wanted) == len(steps) and all(one in (other, "{id}") for one, other in zip(wanted, steps, strict=True)):
            found[operation.method] = operation, unquote(steps[2]) if "{id}" in wanted else ""
    if not found:
        raise ArenaError(
            "there is nothing at this path", status=404, at="path", value=path[:_LONGEST_ERROR], expected="a path of /docs"
        )
    if method not in found:
        raise ArenaError(
            f"{method} is nothing that this path can do", status=405, at="method", value=method, expected=" or ".join(found)
        )
    return found[method]


def _malformed(error: ValidationError, where: str) -> ArenaError:
    """Return what is wrong with a value; of the first fault also where it is, what is there, and what was expected."""
    first, *more = error.errors(include_url=False)
    at = ".".join((where, *map(str, first["loc"])))
    value, message = first.get("input"), first["msg"]
    expected = str(first.get("ctx", {}).get("expected", "")) or message
    if first["type"] == "value_error":  # of the dataclass itself: NAME is VALUE; expected SOMETHING
        message = str(first["ctx"]["error"])
        name, _, rest = message.partition(" is ")
        at, (value, _, expected) = f"{at}.{name}", rest.partition("; expected ")
    elif first["type"] == "unexpected_keyword_argument":
        expected = "only the fields that /docs names"
    elif first["type"] == "missing":
        value = None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    shown = value if value is None or isinstance(value, int | float | bool) else str(value)[:_LONGEST_ERROR]
    others = "".join(f"; {'.'.join((where, *map(str, each['loc'])))}: {each['msg']}" for each in more)[:_LONGEST_ERROR]
    return ArenaError(f"{at}: {message}{others}", status=422, at=at, value=shown, expected=expected)


def openapi() -> dict[str, Any]:
    """Return the description of the arena's interface, as OpenAPI 3.1."""
    schemas: dict[str, Any] = {}

    def schema_of(kind: Any, mode: Any = "serialization") -> dict[str, Any]:
        schema = _ADAPTERS[kind].json_schema(ref_template="#/components/schemas/{model}", mode=mode)
        schemas.update(schema.pop("$defs", {}))
        if "title" in schema and schema.get("type") == "object" and "properties" in schema:
            schemas[schema["title"]] = schema
            return {"$ref": f"#/components/schemas/{schema['title']}"}
        return schema

    def content(schema: dict[str, Any]) -> dict[str, Any]:
        return {"application/json": {"schema": schema}}

    paths: dict[str, dict[str, Any]] = {}
    problem = {"description": "The request cannot be done.", "content": content(schema_of(Problem))}
    for operation in OPERATIONS:
        described: dict[str, Any] = {
            "summary": operation.summary,
            "responses": {
                str(operation.status): {"description": "Done.", "content": content(schema_of(operation.result))},
                "default": problem,
            },
        }
        if "{id}" in operation.path:
            described["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
        if operation.body is not _NO_BODY:
            sent = schema_of(operation.body, "validation")
            if operation.method == "GET":
                fields = schemas.pop(sent["$ref"].rpartition("/")[2])["properties"]
                described["parameters"] = [{"name": key, "in": "query", "schema": field} for key, field in fields.items()]
            else:
                described["requestBody"] = {"content": content(sent)}
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "webarena-gym arena", "version": __version__, "description": _WELCOME},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _described(path: str) -> Answer:
    if path == "/openapi.json":
        return as_json(openapi())
    if path == "/docs":
        return Answer(200, [("Content-Type", "text/html; charset=utf-8")], _page().encode())
    return Answer(200, [("Content-Type", "text/plain; charset=utf-8")], _WELCOME.encode())


def _page() -> str:
    """Return the description as a page that needs nothing from elsewhere."""
    described = openapi()
    parts = []
    for operation in OPERATIONS:
        rows = ""
        if operation.body is not _NO_BODY:
            schema = _ADAPTERS[operation.body].json_schema()
            rows = "".join(_row(name, field) for name, field in schema["properties"].items())
            rows = f"<table><tr><th>field<th>type<th>default<th>meaning</tr>{rows}</table>"
        result = getattr(operation.result, "__name__", str(operation.result))
        parts.append(
            f"<h2><code>{operation.method} {escape(operation.path)}</code></h2><p>{escape(operation.summary)}"
            f" Returns {escape(result)} (status {operation.status}).</p>{rows}"
        )
    for name, schema in sorted(described["components"]["schemas"].items()):
        if "properties" in schema:
            rows = "".join(_row(key, field) for key, field in schema["properties"].items())
            parts.append(f"<h3 id={name}>{name}</h3><table><tr><th>field<th>type<th>default<th>meaning</tr>{rows}</table>")
    style = "body{font:16px sans-serif;max-width:60em;margin:2em auto}td,th{text-align:left;padding:2px 12px 2px 0;vertical-align:top}"
    title = f"The arena of webarena-gym {__version__}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{style}</style>"
        f"<h1>{title}</h1><p>{escape(_WELCOME)}</p>{''.join(parts)}</html>"
    )


def _row(name: str, field: Mapping[str, Any]) -> str:
    choices = field.get("enum") or [one.get("type", one.get("$ref", "").rpartition("/")[2]) for one in field.get("anyOf", ())]
    kind = " | ".join(map(str, choices)) or field.get("type") or field.get("$ref", "").rpartition("/")[2]
    default = "" if "default" not in field else repr(field["default"])
    cells = (name, str(kind), default, field.get("description", ""))
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
