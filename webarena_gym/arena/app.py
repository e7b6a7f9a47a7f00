"""ASGI application of the episode server. One table of operations defines routing, validation, OpenAPI and the documentation page."""

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
from webarena_gym.applications.suite import Suite
from webarena_gym.arena.episodes import Episode, EpisodeStore, candidate_tasks
from webarena_gym.arena.gateway import is_target
from webarena_gym.arena.http import (
    MAX_CONNECTIONS,
    Listener,
    host_name,
    json_response,
    listen,
    read_body,
    with_error_responses,
)
from webarena_gym.arena.schema import (
    ArenaState,
    EpisodeResult,
    EpisodeState,
    EpisodeSummary,
    Limits,
    NewAction,
    NewAnswer,
    NewEpisode,
    Problem,
    RestoreRequest,
    SnapshotInfo,
    StepResult,
    TaskQuery,
    TaskSummary,
    ToolQuery,
)
from webarena_gym.arena.service import (
    LOOPBACK,
    TEMPLATES,
    EpisodeService,
    ServerSettings,
    is_loopback,
    is_wildcard,
    make_response,
    request_target,
)
from webarena_gym.errors import ArenaError
from webarena_gym.pages.page import Network
from webarena_gym.suite import load

T = TypeVar("T")

_WELCOME = "An arena of webarena-gym. POST /episodes begins an episode; /docs and /openapi.json describe all requests."
_NO_BODY: Final = type(None)
_MAX_ERROR_VALUE = 500  # characters of a value in an error
_OPEN_PATHS = ("/", "/health", "/docs", "/openapi.json", "/tools")  # return no secrets: without a body they need no token


class RequestContext(NamedTuple):
    """Context of a request to an operation.

    Attributes:
        service: the service of the server.
        host: host name of the request.
        id: id of the episode in the path; "" for a path without one.
        is_player: True if the client has only the id of a scored episode, and not the operator's token.

    """

    service: EpisodeService
    host: str
    id: str
    is_player: bool = False

    async def run_on_episode(self, name: str, function: Callable[[Episode], T]) -> T:
        """Run a function on the episode of the path, log the request under a name, and return the result. Raises ArenaError."""

        def run() -> T:
            episode = self.service.store.find(self.id)
            with episode.log_request(name):
                return function(episode)

        return await self.service.run(run)


class Operation(NamedTuple):
    """One operation of the server's interface.

    Attributes:
        method: HTTP method.
        path: path, with "{id}" for the id of an episode.
        status: status of a successful response.
        summary: description for OpenAPI.
        body: type of the request's body or, with GET, of its query.
        result: type of the response.
        handler: coroutine function, called with the context and, unless the body has no type, the parsed body.
        for_players: True if players of scored episodes may use it for their own episode.

    """

    method: str
    path: str
    status: int
    summary: str
    body: type | None
    result: type | None
    handler: Callable[..., Awaitable[object]]
    for_players: bool = False


async def _tasks(context: RequestContext, query: TaskQuery) -> list[TaskSummary]:
    settings = NewEpisode(split=query.split, world_seed=query.world_seed, variation=query.variation, scale=query.scale)
    tasks = await asyncio.to_thread(partial(candidate_tasks, settings, place="query", **context.service.store.source))
    return [TaskSummary(task.task_id, task.intent, list(task.sites)) for task in tasks]


async def _state(context: RequestContext) -> EpisodeState:
    state = await context.service.state(context.id)
    return state.for_player() if context.is_player else state


async def _restore(context: RequestContext, body: RestoreRequest) -> EpisodeState:
    await context.run_on_episode("restore", lambda episode: episode.restore(body.snapshot))
    return await context.service.state(context.id)


async def _delete(context: RequestContext) -> EpisodeSummary:
    summary = await context.service.run(lambda: context.service.store.find(context.id).summary())
    await context.service.close_episode(context.id, "it was deleted")
    return summary


async def _async_value(value: T) -> T:
    return value


_EPISODE_PATH = "/episodes/{id}"
OPERATIONS = (
    Operation(
        "GET", "/health", 200, "Return the version of a running server.", _NO_BODY, dict[str, str],
        lambda _: _async_value({"version": __version__}),
    ),
    Operation("GET", "/tasks", 200, "List the tasks of a split.", TaskQuery, list[TaskSummary], _tasks),
    Operation(
        "GET", "/tools", 200, "Return the actions of step mode as OpenAI tools.", ToolQuery, list[dict[str, Any]],
        lambda _, query: _async_value(tools(DIALECTS[query.dialect].naming_by(query.elements))),
    ),
    Operation(
        "GET", "/episodes", 200, "List all episodes that are not closed.", _NO_BODY, ArenaState,
        lambda context: context.service.run(context.service.store.state),
    ),
    Operation(
        "POST", "/episodes", 201, "Create an episode with its own copy of the world.", NewEpisode, EpisodeState,
        lambda context, body: context.service.create_episode(body, context.host),
    ),
    Operation(
        "GET", _EPISODE_PATH, 200, "Return the state of an episode, and its requests.", _NO_BODY, EpisodeState, _state, for_players=True
    ),
    Operation(
        "POST", f"{_EPISODE_PATH}/step", 200, "Take a step (step mode).", NewAction, StepResult,
        lambda context, body: context.run_on_episode("step", lambda episode: episode.step(body.action)), for_players=True,
    ),
    Operation(
        "POST", f"{_EPISODE_PATH}/answer", 200, "End an episode and judge it.", NewAnswer, EpisodeResult,
        lambda context, body: context.run_on_episode("answer", lambda episode: episode.submit(body.answer, body.url)), for_players=True,
    ),
    Operation(
        "POST", f"{_EPISODE_PATH}/snapshot", 200, "Take a snapshot of an episode.", _NO_BODY, SnapshotInfo,
        lambda context: context.run_on_episode("snapshot", lambda episode: SnapshotInfo(episode.snapshot())),
    ),
    Operation("POST", f"{_EPISODE_PATH}/restore", 200, "Restore a snapshot.", RestoreRequest, EpisodeState, _restore),
    Operation("DELETE", _EPISODE_PATH, 200, "Close an episode and free its world.", _NO_BODY, EpisodeSummary, _delete),
)  # fmt: skip
_TYPES = (Problem, *(kind for operation in OPERATIONS for kind in (operation.body, operation.result)))
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in _TYPES}


async def respond(service: EpisodeService, request: Request) -> Response:
    """Return the response to a request to the server's own port. Raises ArenaError; access is checked before the body is read."""
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
        return _documentation(path)
    operation, name = _find_operation(method, path)
    context, arguments = RequestContext(service, host_name(headers["host"]), name, is_player), []
    try:
        if operation.body is not _NO_BODY and method == "GET":
            query = parse_qs(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
            arguments = [_ADAPTERS[operation.body].validate_strings({key: values[-1] for key, values in query.items()})]
        elif operation.body is not _NO_BODY:
            kind = headers.get("content-type")
            if body and not (kind or "").lower().startswith("application/json"):
                raise ArenaError("the body is not JSON", 415, "header.content-type", kind, "application/json")
            arguments = [_ADAPTERS[operation.body].validate_json(body or b"{}")]
    except ValidationError as error:
        raise _validation_error(error, "query" if method == "GET" else "body") from error
    return json_response(await operation.handler(context, *arguments), operation.status)


def _is_player(service: EpisodeService, request: Request, path: str) -> bool:
    """Return True if the player of a scored episode requests an operation that players may use."""
    with suppress(ArenaError):
        operation, name = _find_operation(request.method, path)
        return operation.for_players and service.is_player(request, name)
    return False


def _find_operation(method: str, path: str) -> tuple[Operation, str]:
    """Return the operation of a request, and the id in its path. Raises ArenaError with status 404 or 405."""
    segments = path.rstrip("/").split("/")
    by_method: dict[str, tuple[Operation, str]] = {}
    for operation in OPERATIONS:
        pattern = operation.path.split("/")
        if len(pattern) == len(segments) and all(
            part in (segment, "{id}") for part, segment in zip(pattern, segments, strict=True)
        ):
            by_method[operation.method] = operation, unquote(segments[2]) if "{id}" in pattern else ""
    if not by_method:
        raise ArenaError("unknown path", 404, "path", path[:_MAX_ERROR_VALUE], "a path of /docs")
    if method not in by_method:
        raise ArenaError(f"this path does not support the method {method}", 405, "method", method, " or ".join(by_method))
    return by_method[method]


def _validation_error(error: ValidationError, where: str) -> ArenaError:
    """Return the ArenaError of a validation error: location, value and expectation of its first fault, and messages of the others."""
    first, *more = error.errors(include_url=False)
    at = ".".join((where, *map(str, first["loc"])))
    value, message = first.get("input"), first["msg"]
    expected = str(first.get("ctx", {}).get("expected", "")) or message
    if first["type"] == "value_error":  # of the dataclass itself: NAME is VALUE; expected SOMETHING
        message = str(first["ctx"]["error"])
        name, _, rest = message.partition(" is ")
        at, (value, _, expected) = f"{at}.{name}", rest.partition("; expected ")
    elif first["type"] == "unexpected_keyword_argument":
        expected = "only the fields in /docs"
    elif first["type"] == "missing":
        value = None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    shortened = value if value is None or isinstance(value, int | float | bool) else str(value)[:_MAX_ERROR_VALUE]
    others = "".join(f"; {'.'.join((where, *map(str, fault['loc'])))}: {fault['msg']}" for fault in more)[:_MAX_ERROR_VALUE]
    return ArenaError(f"{at}: {message}{others}", 422, at, shortened, expected)


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the server's interface."""
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
    problem = {"description": "The request failed.", "content": content(schema_of(Problem))}
    for operation in OPERATIONS:
        description: dict[str, Any] = {
            "summary": operation.summary,
            "responses": {
                str(operation.status): {"description": "Success.", "content": content(schema_of(operation.result))},
                "default": problem,
            },
        }
        if "{id}" in operation.path:
            description["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
        if operation.body is not _NO_BODY:
            body = schema_of(operation.body, "validation")
            if operation.method == "GET":
                fields = schemas.pop(body["$ref"].rpartition("/")[2])["properties"]
                description["parameters"] = [{"name": key, "in": "query", "schema": field} for key, field in fields.items()]
            else:
                description["requestBody"] = {"content": content(body)}
        paths.setdefault(operation.path, {})[operation.method.lower()] = description
    return {
        "openapi": "3.1.0",
        "info": {"title": "webarena-gym arena", "version": __version__, "description": _WELCOME},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
    }


async def _home(service: EpisodeService) -> Response:
    """Return the HTML home page: the sites, the tasks of the test split, and links to the interface."""
    source = service.store.source
    # Tasks of an application or a suite may be confidential, and this page needs no token. A suite has more than a page can list.
    tasks = [] if service.needs_token or "suite" in source else await asyncio.to_thread(load, **source)
    page = TEMPLATES.get_template("home.html").render(version=__version__, sites=service.site_urls, tasks=tasks)
    return Response(page, media_type="text/html")


def _documentation(path: str) -> Response:
    """Return the OpenAPI description, or the documentation page."""
    if path == "/openapi.json":
        return json_response(openapi())
    bodies = [None if operation.body is _NO_BODY else _ADAPTERS[operation.body].json_schema() for operation in OPERATIONS]
    page = TEMPLATES.get_template("docs.html").render(
        version=__version__,
        welcome=_WELCOME,
        operations=list(zip(OPERATIONS, bodies, strict=True)),
        schemas=openapi()["components"]["schemas"],
        kind=lambda field: " | ".join(
            str(kind).rpartition("/")[2]
            for kind in field.get("enum") or [option.get("type", option.get("$ref")) for option in field.get("anyOf", (field,))]
        ),
        repr=repr,
    )
    return Response(page, media_type="text/html")


@asynccontextmanager
async def open_server(
    settings: ServerSettings | None = None,
    limits: Limits | None = None,
    sites: Callable[[int], Network] | None = None,
    application: Application | None = None,
    suite: Suite | None = None,
) -> AsyncIterator[EpisodeService]:
    """Run an episode server in the running event loop, as an async context manager.

    Args:
        settings: address and access rules.
        limits: limits on episodes.
        sites: function from the port to sites that are served at the same port under their own host names.
        application: the application of all episodes.
        suite: the suite of all episodes. With neither, they use the embedded sites.

    Raises:
        ArenaError: for an address that is in use, and for one that other machines can reach without a token or a name.

    """
    settings = settings or ServerSettings()
    if is_wildcard(settings.host) and not settings.names:
        raise ArenaError(
            f"--host {settings.host} listens on all interfaces, and needs the host name that clients use; pass --name", 400
        )
    if not is_loopback(settings.host) and not settings.token:
        raise ArenaError(f"an arena on {settings.host}, which other machines can reach, needs a token; pass --token", 400)
    _raise_file_limit()
    service = EpisodeService(EpisodeStore(limits, application=application, suite=suite), settings)
    with ExitStack() as cleanup:
        sock = cleanup.enter_context(listen(settings.host, (settings.port,)))
        network = sites and sites(sock.getsockname()[1])
        service.site_urls = [f"http://{host}/" for host in network.hosts] if network else []
        listener = Listener(sock, _create_app(service, network), MAX_CONNECTIONS)
        await listener.open()
        cleanup.pop_all()
    name = next(iter(settings.names), LOOPBACK[0] if is_wildcard(settings.host) else settings.host)
    service.url = f"http://{f'[{name}]' if ':' in name else name}:{listener.port}"
    sweep_task = asyncio.create_task(service.sweep())
    try:
        yield service
    finally:
        await listener.close()
        sweep_task.cancel()
        await service.close()


@contextmanager
def run_server(*args: Any, **kwargs: Any) -> Iterator[EpisodeService]:
    """Run a server in its own thread, as a context manager. Arguments and errors are those of `open_server`."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_server(*args, **kwargs)) as service:
        yield service


def _create_app(service: EpisodeService, sites: Network | None) -> ASGIApp:
    """Return the application of the service. With `sites`, requests to their host names are passed on to them."""
    service_app = with_error_responses(partial(respond, service), in_json=True)
    hosts = {host_name(host): host for host in sites.hosts} if sites else {}

    async def visit(request: Request) -> Response:
        assert sites is not None
        target = request_target(request)
        if not is_target(target):
            raise ArenaError(f"the target of the request is {target[:_MAX_ERROR_VALUE]!r}; expected /path?query", 400)
        url = f"http://{hosts[host_name(request.headers['host'])]}{target}"
        dropped = {"host", "content-length", "connection", "transfer-encoding"}
        headers = {name: value for name, value in request.headers.items() if name not in dropped}
        page = await service.run(sites.request, request.method, url, headers, await read_body(request))
        return make_response(page.status, [pair for pair in page.headers if pair[0].lower() != "content-length"], page.body)

    site_app = with_error_responses(visit, in_json=False)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        is_site = host_name(Request(scope).headers.get("host", "")) in hosts
        await (site_app if is_site else service_app)(scope, receive, send)

    return app


def _raise_file_limit() -> None:
    """Raise the limit on open files to the system's maximum: an episode needs seven sockets, and one for each connection."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
