"""Sites: routes and templates, and their WSGI applications over the database of an episode.

A `Site` is defined at module level and has no state. `Site.app(database)` is the WSGI application of one episode. Views take a `Request`
and return HTML text or a response. The writes of a view that fails, or responds with an error status, are rolled back.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from jinja2.bccache import Bucket
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError
from werkzeug.routing import IntegerConverter, Map, Rule
from werkzeug.utils import send_from_directory

from webarena_gym.sites.country.texts import FILTERS
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.kit.pictures import KINDS, draw
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.layout import PLAIN, Layout


class CachedResponse(NamedTuple):
    """A complete WSGI response."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_page(self) -> bool:
        """Return True if this is a page. Pictures and files may depend on more parts of a request."""
        return any(name.lower() == "content-type" and value.startswith("text/html") for name, value in self.headers)


class ResponseCache:
    """A least-recently-used cache of responses with at most `room` bytes of bodies."""

    def __init__(self, room: int = 16_000_000) -> None:
        self._room = room
        self._kept: OrderedDict[Hashable, CachedResponse] = OrderedDict()

    def get(self, key: Hashable) -> CachedResponse | None:
        """Return the response of a key, or None."""
        stored = self._kept.get(key)
        if stored is not None:
            self._kept.move_to_end(key)
        return stored

    def keep(self, key: Hashable, response: CachedResponse) -> None:
        """Store a response, and remove the least recently used ones above the limit."""
        self._kept[key] = response
        self._room -= len(response.body)
        while self._room < 0:
            self._drop()

    def clear(self) -> None:
        """Remove all responses."""
        while self._kept:
            self._drop()

    def _drop(self) -> None:
        _, old = self._kept.popitem(last=False)
        self._room += len(old.body)


_ASKED = (
    "REQUEST_METHOD", "wsgi.url_scheme", "HTTP_HOST", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_COOKIE", "HTTP_REFERER",
    "HTTP_ORIGIN", "CONTENT_TYPE", "CONTENT_LENGTH",
)  # fmt: skip
"""The parts of a request, besides its body, that a page may depend on."""

_SHARED_TEMPLATES = Path(__file__).parent / "templates"
_SHARED_STYLE = Path(__file__).parent / "static" / "base.css"
_STYLE = "style.css"

View = Callable[..., "str | Response"]


class _RowId(IntegerConverter):
    """The converter of `<int:...>` in rules: at most 15 digits, so that values fit SQLite's integers."""

    regex = "[0-9]{1,15}"


class _Templates(jinja2.Environment):
    """Looks up attributes of rows in their columns first, which is faster than a failed lookup of an attribute."""

    def getattr(self, obj: object, attribute: str) -> Any:
        if type(obj) is sqlite3.Row:
            try:
                return obj[attribute]
            except IndexError:
                pass
        return super().getattr(obj, attribute)


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """A cache of compiled templates in a folder, if it can be written. Jinja compares the sources of templates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        super().__init__(str(folder), "%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 - a damaged or unreadable file may raise any exception
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


class Site:
    """The routes and templates of a site. Views are registered by `@site.get("/path/<int:id>")` and `@site.post(...)`.

    `sign_in` is the path of the page to which requests of expired sessions are redirected.
    """

    def __init__(self, name: str, file: str, sign_in: str = "/") -> None:
        self.name = name
        self.sign_in = sign_in
        self._folder = Path(file).parent
        self._rules = Map(strict_slashes=False, merge_slashes=True, converters={"int": _RowId})
        self._views: dict[tuple[str, str], View] = {}
        self.get("/static/<path:name>")(self._static)
        self.get("/pictures/<kind>/<int:row>.png")(self._picture)

    def _static(self, request: Request, name: str) -> Response:
        """Serve a file of the site's folder `static`. Its style sheet begins with the rules of all sites."""
        if name == _STYLE:
            return Response(self.style, content_type="text/css; charset=utf-8", headers={"Cache-Control": "max-age=86400"})
        return send_from_directory(self._folder / "static", name, request.environ, max_age=86400)

    def _picture(self, request: Request, kind: str, row: int) -> Response:
        """Serve the picture of a row, which contains facts that no page has as text."""
        if kind not in KINDS:
            return Response(status=404)
        return Response(draw(request.db, kind, row), content_type="image/png", headers={"Cache-Control": "no-cache"})

    @cached_property
    def style(self) -> str:
        """The style sheet of the site: the rules of all sites, then its own."""
        style_file = self._folder / "static" / _STYLE
        return "".join(file.read_text(encoding="utf-8") for file in (_SHARED_STYLE, style_file) if file.is_file())

    @cached_property
    def templates(self) -> jinja2.Environment:
        """The site's templates and the shared ones. Values are always escaped, and undefined names raise an error."""
        environment = _Templates(
            loader=jinja2.FileSystemLoader([self._folder / "templates", _SHARED_TEMPLATES]),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
        )
        environment.filters.update(FILTERS)
        return environment

    def get(self, rule: str, *guards: Callable[[View], View]) -> Callable[[View], View]:
        """Register a view for GET and HEAD requests of a Werkzeug rule, wrapped in `guards`, the first one outermost."""
        return partial(self._register, ("GET", rule), guards)

    def post(self, rule: str, *guards: Callable[[View], View]) -> Callable[[View], View]:
        """Register a view for POST requests, wrapped in `guards`. The form key is checked before any of them runs."""
        return partial(self._register, ("POST", rule), guards)

    def form(self, rule: str, *guards: Callable[[View], View]) -> Callable[[View], View]:
        """Register a view for GET and POST requests, which shows a form and processes it when it is posted."""
        return lambda view: self.post(rule, *guards)(self.get(rule, *guards)(view))

    def _register(self, endpoint: tuple[str, str], guards: Sequence[Callable[[View], View]], view: View) -> View:
        self._rules.add(Rule(endpoint[1], endpoint=endpoint, methods=[endpoint[0]]))
        self._views[endpoint] = reduce(lambda guarded, guard: guard(guarded), reversed(guards), view)
        return view

    def rule(self, method: str, path: str) -> str:
        """Return the rule that matches a request, "" if there is none."""
        try:
            (_, rule), _ = self._rules.bind("").match(path, method)
        except HTTPException:
            return ""
        return str(rule)

    def app(self, database: Database, layout: Layout = PLAIN, responses: ResponseCache | None = None) -> "App":
        """Return the WSGI application of one episode. `responses` may be shared by episodes whose databases have the same base."""
        return App(self, database, layout, responses or ResponseCache())

    def answer(self, request: Request) -> Response:
        """Return the response of a request's view. Raises werkzeug's HTTPException."""
        adapter = self._rules.bind_to_environ(request.environ)
        endpoint, arguments = adapter.match()
        request.path_of = lambda spelling: adapter.build(
            endpoint, {name: spelling.get(name, value) for name, value in arguments.items()}
        )
        if request.method == "POST" and request.form.get("form_key") != request.form_key:
            raise BadRequest("Invalid Form Key. Please refresh the page.")
        if request.method == "POST" and request.ends_session(endpoint[1]):
            return request.redirect(self.sign_in, "Your session has expired. Please sign in again.", "error")
        result = self._views[endpoint](request, **arguments)
        return result if isinstance(result, Response) else Response(result, content_type="text/html; charset=utf-8")


class App:
    """A site bound to one episode's database, in one layout: a WSGI application."""

    def __init__(self, site: Site, database: Database, layout: Layout, responses: ResponseCache) -> None:
        self.site = site
        self.database = database
        self.layout = layout
        self._responses = responses

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        asked, before = tuple(environ.get(name, "") for name in _ASKED), self.database.state
        key = (self.site.name, self.layout.seed, before, asked)
        answer = None if before is None else self._responses.get(key)
        if answer is None:
            request = Request(environ, self.database, self.layout, self.site.templates)
            answer = self._answer(request)
            if self.database.state is None:
                self.database.follows(before, repr((*key, request.body)).encode())
            elif asked[0] == "GET" and answer.is_page:
                self._responses.keep(key, answer)
        start_response(answer.status, list(answer.headers))
        return [answer.body]

    def _answer(self, request: Request) -> CachedResponse:
        """Handle a request without the cache. The writes of a view that fails are rolled back."""
        request.db.execute("SAVEPOINT request")
        try:
            with self._respond(request) as response:
                chunks, status, headers = response.get_wsgi_response(request.environ)
                return CachedResponse(status, headers, b"".join(chunks))
        except BaseException:
            request.undo()
            raise
        finally:
            request.db.execute("RELEASE request")

    def _respond(self, request: Request) -> Response:
        try:
            if request.method == "POST":
                request.body = request.get_data()  # before a form takes it
            response = self.site.answer(request)
        except HTTPException as error:
            if isinstance(error, InternalServerError):
                raise
            response = self._refusal(request, error)
        if self.layout.seed is not None and response.mimetype == "text/html":
            response.set_data(self.layout.rebuild(response.get_data(as_text=True)))
        request.save_session()
        request.give_cookie(response)
        return response

    def _refusal(self, request: Request, error: HTTPException) -> Response:
        """Return the response of an HTTPException: redirects as they are, others as the site's error page after a rollback."""
        if error.code is None or error.code < 400:
            return Response.force_type(error.get_response(), request.environ)
        request.undo()
        request.path_of = None
        html = request.render("error.html", code=error.code, name=error.name, description=error.description)
        return Response(html, status=error.code, content_type="text/html; charset=utf-8")
