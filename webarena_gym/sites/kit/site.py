"""A site as a whole: its routes and templates, and the WSGI application that it is over one episode's database.

A `Site` is written once, at module level, and holds no state: routes, templates, a schema. `Site.app(database)` binds it to
one episode's database and is a plain WSGI application. Views take a `Request` and return text (HTML) or a response; what a view
writes is taken back when it fails or refuses.
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
    """A whole response, as WSGI has it."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_page(self) -> bool:
        """Return True if this is a page. Pictures and files may depend on more parts of a request."""
        return any(name.lower() == "content-type" and value.startswith("text/html") for name, value in self.headers)


class ResponseCache:
    """Responses by what they follow from: at most `room` bytes of bodies; the least recently used are dropped first."""

    def __init__(self, room: int = 16_000_000) -> None:
        self._room = room
        self._kept: OrderedDict[Hashable, CachedResponse] = OrderedDict()

    def get(self, key: Hashable) -> CachedResponse | None:
        """Return the response that is kept under a key, or None."""
        stored = self._kept.get(key)
        if stored is not None:
            self._kept.move_to_end(key)
        return stored

    def keep(self, key: Hashable, response: CachedResponse) -> None:
        """Keep a response, and drop others where there is no room."""
        self._kept[key] = response
        self._room -= len(response.body)
        while self._room < 0:
            self._drop()

    def clear(self) -> None:
        """Drop everything."""
        while self._kept:
            self._drop()

    def _drop(self) -> None:
        _, old = self._kept.popitem(last=False)
        self._room += len(old.body)


_ASKED = (
    "REQUEST_METHOD", "wsgi.url_scheme", "HTTP_HOST", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_COOKIE", "HTTP_REFERER",
    "HTTP_ORIGIN", "CONTENT_TYPE", "CONTENT_LENGTH",
)  # fmt: skip
"""All that a page may depend on of a request, but its body."""

_SHARED_TEMPLATES = Path(__file__).parent / "templates"
_SHARED_STYLE = Path(__file__).parent / "static" / "base.css"
_STYLE = "style.css"

View = Callable[..., "str | Response"]


class _RowId(IntegerConverter):
    """The `<int:...>` of a rule: of at most 15 digits, so that whatever matches fits an integer of SQLite's."""

    regex = "[0-9]{1,15}"


class _Templates(jinja2.Environment):
    """Looks in the columns of a row first, since that is most of what templates ask for, and an attribute that is missing costs more."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is sqlite3.Row:
            try:
                return obj[attribute]
            except IndexError:
                pass
        return super().getattr(obj, attribute)


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Keeps what templates are compiled to in a folder, where there can be one; Jinja looks whether a template is still the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        super().__init__(str(folder), "%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 - whatever a file that is broken, or cannot be read, may raise
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


class Site:
    """The routes and templates of one kind of site. Used as `@site.get("/path/<int:id>")` and `@site.post(...)`.

    `sign_in` is the path of the page to which a session that has ended leads.
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
        """Serve a file of the site's own folder `static`; its style sheet with the rules that all sites share before it."""
        if name == _STYLE:
            return Response(self.style, content_type="text/css; charset=utf-8", headers={"Cache-Control": "max-age=86400"})
        return send_from_directory(self._folder / "static", name, request.environ, max_age=86400)

    def _picture(self, request: Request, kind: str, row: int) -> Response:
        """Serve the picture of a row, whose facts are on no page."""
        if kind not in KINDS:
            return Response(status=404)
        return Response(draw(request.db, kind, row), content_type="image/png", headers={"Cache-Control": "no-cache"})

    @cached_property
    def style(self) -> str:
        """The style sheet of the site's pages: the rules of all sites, then its own."""
        style_file = self._folder / "static" / _STYLE
        return "".join(file.read_text(encoding="utf-8") for file in (_SHARED_STYLE, style_file) if file.is_file())

    @cached_property
    def templates(self) -> jinja2.Environment:
        """The site's templates and those that sites share, escaped always; an undefined name is an error."""
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
        """Register a view for GET (and HEAD) requests, behind `guards`, the first outermost; the rule is Werkzeug's."""
        return partial(self._register, ("GET", rule), guards)

    def post(self, rule: str, *guards: Callable[[View], View]) -> Callable[[View], View]:
        """Register a view for POST requests, behind `guards`; the form key is checked before any of them runs."""
        return partial(self._register, ("POST", rule), guards)

    def form(self, rule: str, *guards: Callable[[View], View]) -> Callable[[View], View]:
        """Register a view that shows a form, and takes it when it is posted."""
        return lambda view: self.post(rule, *guards)(self.get(rule, *guards)(view))

    def _register(self, endpoint: tuple[str, str], guards: Sequence[Callable[[View], View]], view: View) -> View:
        self._rules.add(Rule(endpoint[1], endpoint=endpoint, methods=[endpoint[0]]))
        self._views[endpoint] = reduce(lambda guarded, guard: guard(guarded), reversed(guards), view)
        return view

    def rule(self, method: str, path: str) -> str:
        """Return the rule that answers a request, "" when none does."""
        try:
            (_, rule), _ = self._rules.bind("").match(path, method)
        except HTTPException:
            return ""
        return str(rule)

    def app(self, database: Database, layout: Layout = PLAIN, responses: ResponseCache | None = None) -> "App":
        """Return the WSGI application of one episode. `responses` is shared with others whose databases have the same base."""
        return App(self, database, layout, responses or ResponseCache())

    def answer(self, request: Request) -> Response:
        """Route one request to its view. Raises werkzeug's HTTPException."""
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
        """A redirect as it is; every other refusal as the site's own error page, after which nothing that was written stays."""
        if error.code is None or error.code < 400:
            return Response.force_type(error.get_response(), request.environ)
        request.undo()
        request.path_of = None
        html = request.render("error.html", code=error.code, name=error.name, description=error.description)
        return Response(html, status=error.code, content_type="text/html; charset=utf-8")
