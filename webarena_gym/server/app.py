"""Episode server: its operations as one table, from which the answers, OpenAPI and a page of documentation are made, and how it is run."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qs, unquote

from anyio.from_thread import start_blocking_portal
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from webarena_gym import __version__
from webarena_gym.actions import DIALECTS, tools
from webarena_gym.applications.application import Application
from webarena_gym.errors import ArenaError
from webarena_gym.pages.page import Network
from webarena_gym.server.episodes import Episode, EpisodeStore, tasks_of
from webarena_gym.server.gateway import is_target
from webarena_gym.server.http import MANY, Listener, answering, as_json, listen, name_of, read_body
from webarena_gym.server.schema import (
    ArenaState,
    EpisodeState,
    Limits,
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
from webarena_gym.server.service import (
    LOOPBACK,
    TEMPLATES,
    Address,
    EpisodeService,
    is_any,
    is_loopback,
    response_of,
    target_of,
)
from webarena_gym.tasks import load

T = TypeVar("T")

_WELCOME = "An arena of webarena-gym. POST /episodes begins an episode; /docs and /openapi.json describe all requests."
_NO_BODY: Final = type(None)
_LONGEST_ERROR = 500  # characters of a value in an error
_OPEN_PATHS = ("/", "/health", "/docs", "/openapi.json", "/tools")  # hold no secrets: they need no token where nothing is sent


class Call(NamedTuple):
    """A request that fits the table."""

    service: EpisodeService
    host: str  # the host name that it was sent to
    id: str  # that of the path; "" where it has none
    is_player: bool = False  # of the scored episode of this id

    async def play(self, what: str, work: Callable[[Episode], T]) -> T:
        """Do some work on the episode of the path, and log it there."""

        def do() -> T:
            episode = self.service.store.find(self.id)
            with episode.logged(what):
                return work(episode)

        return await self.service.run(do)


class Operation(NamedTuple):
    """One thing that can be asked of a server."""

    method: str
    path: str
    status: int
    summary: str
    body: Any  # the type of what is sent: in the body or, with GET, in the query
    result: Any  # the type of what is returned
    do: Callable[..., Awaitable[object]]
    for_players: bool = False  # players of scored episodes may ask it of their own


async def _tasks(call: Call, sent: TasksWanted) -> list[TaskLine]:
    settings = NewEpisode(split=sent.split, world_seed=sent.world_seed, variation=sent.variation, scale=sent.scale)
    found = await asyncio.to_thread(tasks_of, settings, call.service.store.application)
    return [TaskLine(task.task_id, task.intent, list(task.sites)) for task in found]


async def _state(call: Call) -> EpisodeState:
    state = await call.service.state(call.id)
    return state.for_player() if call.is_player else state


async def _restore(call: Call, sent: Restoration) -> EpisodeState:
    await call.play("restore", lambda episode: episode.restore(sent.snapshot))
    return await call.service.state(call.id)


async def _delete(call: Call) -> Summary:
    summary = await call.service.run(lambda: call.service.store.find(call.id).summary())
    await call.service.end(call.id, "it was deleted")
    return summary


async def _at_once(value: T) -> T:
    return value


_ONE = "/episodes/{id}"
OPERATIONS = (
    Operation("GET", "/health", 200, "Say that the arena works.", _NO_BODY, dict[str, str], lambda _: _at_once({"version": __version__})),
    Operation("GET", "/tasks", 200, "List the tasks of a split.", TasksWanted, list[TaskLine], _tasks),
    Operation(
        "GET", "/tools", 200, "Return the actions of step mode as OpenAI's tools.", ToolsWanted, list[dict[str, Any]],
        lambda _, sent: _at_once(tools(DIALECTS[sent.dialect].naming_by(sent.elements))),
    ),
    Operation(
        "GET", "/episodes", 200, "List all episodes that are not closed.", _NO_BODY, ArenaState,
        lambda call: call.service.run(call.service.store.state),
    ),
    Operation(
        "POST", "/episodes", 201, "Begin an episode, in a world of its own.", NewEpisode, EpisodeState,
        lambda call, sent: call.service.begin(sent, call.host),
    ),
    Operation(
        "GET", _ONE, 200, "Return the state of an episode, and its requests.", _NO_BODY, EpisodeState, _state, for_players=True
    ),
    Operation(
        "POST", f"{_ONE}/step", 200, "Take a step (step mode).", NewAction, StepResult,
        lambda call, sent: call.play("step", lambda episode: episode.step(sent.action)), for_players=True,
    ),
    Operation(
        "POST", f"{_ONE}/answer", 200, "End an episode and judge it.", NewAnswer, Result,
        lambda call, sent: call.play("answer", lambda episode: episode.conclude(sent.answer, sent.url)), for_players=True,
    ),
    Operation(
        "POST", f"{_ONE}/snapshot", 200, "Keep the state of an episode.", _NO_BODY, Taken,
        lambda call: call.play("snapshot", lambda episode: Taken(episode.snapshot())),
    ),
    Operation("POST", f"{_ONE}/restore", 200, "Return to a snapshot.", Restoration, EpisodeState, _restore),
    Operation("DELETE", _ONE, 200, "Close an episode and free its world.", _NO_BODY, Summary, _delete),
)  # fmt: skip
_TYPES = (Problem, *(kind for operation in OPERATIONS for kind in (operation.body, operation.result)))
_ADAPTERS = {kind: TypeAdapter(kind) for kind in _TYPES}


async def respond(service: EpisodeService, request: Request) -> Response:
    """Return the answer to a request at the server's own port. Raises ArenaError, for its headers before the body is read."""
    method, path, headers = request.method, request.scope["raw_path"].decode("latin-1"), request.headers
    service.check_name(request)
    service.check_origin(request)
    is_player = _is_player(service, request, path)
    has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    if not is_player and (has_body or path not in _OPEN_PATHS):
        service.check_operator(request)
    body = await read_body(request)
    if path == "/" and method in ("GET", "HEAD"):
        return await _home(service)
    if path in ("/docs", "/openapi.json") and method in ("GET", "HEAD"):
        return _described(path)
    operation, name = _find(method, path)
    call, arguments = Call(service, name_of(headers["host"]), name, is_player), []
    try:
        if operation.body is not _NO_BODY and method == "GET":
            query = parse_qs(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
            arguments = [_ADAPTERS[operation.body].validate_strings({key: values[-1] for key, values in query.items()})]
        elif operation.body is not _NO_BODY:
            kind = headers.get("content-type")
            if body and not (kind or "").lower().startswith("application/json"):
                raise ArenaError("the body is no JSON", 415, "header.content-type", kind, "application/json")
            arguments = [_ADAPTERS[operation.body].validate_json(body or b"{}")]
    except ValidationError as error:
        raise _malformed(error, "query" if method == "GET" else "body") from error
    return as_json(await operation.do(call, *arguments), operation.status)


def _is_player(service: EpisodeService, request: Request, path: str) -> bool:
    """Return True if the player of a scored episode asks of it what players may."""
    with suppress(ArenaError):
        operation, name = _find(request.method, path)
        return operation.for_players and service.is_player(request, name)
    return False


def _find(method: str, path: str) -> tuple[Operation, str]:
    """Return what is asked for, and the id in the path. Raises ArenaError."""
    steps = path.rstrip("/").split("/")
    found: dict[str, tuple[Operation, str]] = {}
    for operation in OPERATIONS:
        wanted = operation.path.split("/")
        if len(wanted) == len(steps) and all(one in (other, "{id}") for one, other in zip(wanted, steps, strict=True)):
            found[operation.method] = operation, unquote(steps[2]) if "{id}" in wanted else ""
    if not found:
        raise ArenaError("there is nothing at this path", 404, "path", path[:_LONGEST_ERROR], "a path of /docs")
    if method not in found:
        raise ArenaError(f"{method} is nothing that this path can do", 405, "method", method, " or ".join(found))
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
    return ArenaError(f"{at}: {message}{others}", 422, at, shown, expected)


@cache
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
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
    }


async def _home(service: EpisodeService) -> Response:
    """Return the page for people: the sites, the tasks of the test split, and the arena."""
    application = service.store.application
    # Tasks of an application may be confidential, and this page needs no token.
    tasks = [] if service.needs_token else await asyncio.to_thread(load, application=application)
    page = TEMPLATES.get_template("home.html").render(version=__version__, sites=service.site_urls, tasks=tasks)
    return Response(page, media_type="text/html")


def _described(path: str) -> Response:
    if path == "/openapi.json":
        return as_json(openapi())
    sent = [None if each.body is _NO_BODY else _ADAPTERS[each.body].json_schema() for each in OPERATIONS]
    page = TEMPLATES.get_template("docs.html").render(
        version=__version__,
        welcome=_WELCOME,
        operations=list(zip(OPERATIONS, sent, strict=True)),
        schemas=openapi()["components"]["schemas"],
        kind=lambda field: " | ".join(
            str(kind).rpartition("/")[2]
            for kind in field.get("enum") or [one.get("type", one.get("$ref")) for one in field.get("anyOf", (field,))]
        ),
        repr=repr,
    )
    return Response(page, media_type="text/html")


@asynccontextmanager
async def opened(
    address: Address | None = None,
    limits: Limits | None = None,
    sites: Callable[[int], Network] | None = None,
    application: Application | None = None,
) -> AsyncIterator[EpisodeService]:
    """Serve episodes, on the embedded sites or on an application, for as long as the context lasts.

    `sites`, made for the port, are served beside them under host names of their own.

    Raises ArenaError for an address that cannot be listened on, or is open to others and has no token or no name.
    """
    address = address or Address()
    if is_any(address.host) and not address.names:
        needed = f"give --name with --host {address.host}"
        raise ArenaError(f"an arena on all interfaces needs the names under which clients reach it: {needed}", 400)
    if not is_loopback(address.host) and not address.token:
        raise ArenaError(f"an arena on {address.host}, which others can reach, needs a token", 400)
    _allow_many_files()
    service = EpisodeService(EpisodeStore(limits, application=application), address)
    with ExitStack() as opening:
        sock = opening.enter_context(listen(address.host, (address.port,)))
        network = sites and sites(sock.getsockname()[1])
        service.site_urls = [f"http://{host}/" for host in network.hosts] if network else []
        listener = Listener(sock, _beside(service, network), MANY)
        await listener.open()
        opening.pop_all()
    name = next(iter(address.names), LOOPBACK[0] if is_any(address.host) else address.host)
    service.url = f"http://{f'[{name}]' if ':' in name else name}:{listener.port}"
    sweeping = asyncio.create_task(service.sweep())
    try:
        yield service
    finally:
        await listener.close()
        sweeping.cancel()
        await service.close()


@contextmanager
def running(*arguments: Any, **more: Any) -> Iterator[EpisodeService]:
    """Serve episodes in a thread of its own for as long as the context lasts; takes, and raises, what `opened` does."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened(*arguments, **more)) as service:
        yield service


def _beside(service: EpisodeService, sites: Network | None) -> ASGIApp:
    """Return the application that answers for the service and, where there are `sites`, for them."""
    own = answering(partial(respond, service), in_json=True)
    known = {name_of(host): host for host in sites.hosts} if sites else {}

    async def visit(request: Request) -> Response:
        assert sites is not None
        target = target_of(request)
        if not is_target(target):
            raise ArenaError(f"the target of the request is {target[:_LONGEST_ERROR]!r}; expected /path?query", 400)
        url = f"http://{known[name_of(request.headers['host'])]}{target}"
        left_out = {"host", "content-length", "connection", "transfer-encoding"}
        headers = {name: value for name, value in request.headers.items() if name not in left_out}
        found = await service.run(sites.request, request.method, url, headers, await read_body(request))
        return response_of(found.status, [pair for pair in found.headers if pair[0].lower() != "content-length"], found.body)

    others = answering(visit, in_json=False)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        is_other = name_of(Request(scope).headers.get("host", "")) in known
        await (others if is_other else own)(scope, receive, send)

    return app


def _allow_many_files() -> None:
    """Let this process open as many sockets as the system allows: an episode has seven, and one for each connection."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not everywhere

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
