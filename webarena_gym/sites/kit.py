"""What every embedded site is made of: routing, templates, sessions and form keys, over a database of its own.

A `Site` is written once, at module level, and holds no state: routes, templates, a schema. `Site.app(database)` binds it to
one episode's database and is a plain WSGI application. Views take a `Request` and return text (HTML) or a response; what a view
writes is taken back when it fails or refuses. Nothing here reads the wall clock or the system's random numbers: the time is the
world's (`request.now`), tokens are digests of what is in the database.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError
from werkzeug.routing import IntegerConverter, Map, MapAdapter, Rule
from werkzeug.utils import redirect as redirect
from werkzeug.utils import send_from_directory
from werkzeug.wrappers import Request as BaseRequest
from werkzeug.wrappers import Response as Response

from webarena_gym.sites.answers import Answer, Answers
from webarena_gym.sites.common.formats import FILTERS
from webarena_gym.sites.common.formats import date_time as date_time
from webarena_gym.sites.common.formats import long_date as long_date
from webarena_gym.sites.common.formats import money as money
from webarena_gym.sites.common.sessions import sign_in as sign_in
from webarena_gym.sites.database import Database as Database
from webarena_gym.sites.layout import PLAIN, Layout

_ASKED = (
    "REQUEST_METHOD", "wsgi.url_scheme", "HTTP_HOST", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_COOKIE", "HTTP_REFERER",
    "HTTP_ORIGIN", "CONTENT_TYPE", "CONTENT_LENGTH",
)  # fmt: skip
"""All that a page may depend on of a request, but its body."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SHARED_TEMPLATES = Path(__file__).parent / "common" / "templates"


class Parameters(ImmutableMultiDict[str, Any]):
    """What a form or an address sends, without the control characters that no page of HTML may hold."""

    def __init__(self, sent: Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__([(name, _CONTROL.sub("", value) if isinstance(value, str) else value) for name, value in sent])


Values = Mapping[str, object]
"""Parameters of an address: a value, a sequence of values, or nothing for "" and None."""


class Route(NamedTuple):
    """The rule that an address met, and the values in its path."""

    adapter: MapAdapter
    endpoint: tuple[str, str]
    values: Mapping[str, Any]

    def path(self, **spelling: str) -> str:
        """Return the path as the rule spells it, with some of its values in another spelling."""
        return self.adapter.build(self.endpoint, {name: spelling.get(name, value) for name, value in self.values.items()})


class Request(BaseRequest):
    """A request, with the episode's database, clock and session at hand."""

    max_content_length = 2_000_000
    parameter_storage_class = Parameters
    app: "App"
    body = b""
    """What was sent, unless it was too much."""
    route: Route | None = None
    """The way that the request took; None for one that was refused."""

    def __init__(self, environ: dict[str, Any]) -> None:
        super().__init__(environ)
        self._content: dict[str, object] = {}
        self._arrangement: dict[str, object] = {}
        self._spelling: dict[str, str] = {}
        self._stands_at = ""

    def shows(self, content: Values = MappingProxyType({}), **spelling: str) -> None:
        """Say what the page is made of, as the site has understood the address; what is left at its default is None.

        `spelling` holds values of the path as they are truly spelled, where the site takes more than one spelling.
        """
        self._content |= content
        self._spelling |= spelling

    def stands_at(self, path: str) -> None:
        """Say which of the paths that show this page is its own."""
        self._stands_at = path

    def arranges(self, arrangement: Values) -> None:
        """Say how the page puts what it shows: its order, the part of a long list. Defaults are stated too."""
        self._arrangement |= arrangement

    @property
    def canonical(self) -> str:
        """The address of what this page shows, the same however it was asked for; "" where it is no page of its own."""
        return self._address(self._content)

    @property
    def arranged(self) -> str:
        """The canonical address with the arrangement; "" where that is."""
        return self._address(self._content | self._arrangement)

    def _address(self, values: Values) -> str:
        if self.route is None or self.method != "GET":
            return ""
        query = urlencode(
            sorted((key, value) for key, value in values.items() if value not in (None, "", ())), doseq=True, errors="replace"
        )
        path = self._stands_at or self.route.path(**self._spelling)
        return f"{self.host_url.rstrip('/')}{path}{'?' if query else ''}{query}"

    @property
    def db(self) -> sqlite3.Connection:
        """The episode's database; a transaction is open."""
        return self.app.database.connection

    @property
    def layout(self) -> Layout:
        """How the sites are built in this episode."""
        return self.app.layout

    @cached_property
    def now(self) -> datetime:
        """The world's clock, which stands still during an episode."""
        (value,) = self.db.execute("SELECT value FROM world WHERE key = 'now'").fetchone()
        return datetime.fromisoformat(value)

    def sibling(self, label: str) -> str:
        """Return the base URL of another site of this world, by the first part of its host name, such as "shop"."""
        return f"{self.scheme}://{label}.{self.host.partition('.')[2]}"

    @cached_property
    def _stored(self) -> tuple[str, str]:
        """The id of the caller's session, which is made on first use, and what is kept of it."""
        wanted = self.cookies.get(Site.cookie, "")
        row = self.db.execute("SELECT session_id, data FROM session WHERE session_id = ?", (wanted,)).fetchone()
        return tuple(row) if row else (sign_in(self.db), "{}")

    @property
    def session_id(self) -> str:
        """The id of the caller's session."""
        return self._stored[0]

    @cached_property
    def session(self) -> dict[str, Any]:
        """The caller's session: a JSON object that is saved when it changed."""
        data: dict[str, Any] = json.loads(self._stored[1])
        return data

    @cached_property
    def form_key(self) -> str:
        """The token that every posted form must carry back in its field `form_key`."""
        return hashlib.sha256(f"form/{self.session_id}".encode()).hexdigest()[:16]

    def flash(self, message: str, kind: str = "success") -> None:
        """Show `message` on the next page; `kind` is success, error or notice."""
        self.session.setdefault("messages", []).append([kind, message])

    def render(self, template: str, **values: Any) -> str:
        """Render a template of this site. `request` is always there; `messages` are those flashed, shown once."""
        messages = self.session.pop("messages", [])
        return self.app.site.templates.get_template(template).render(request=self, messages=messages, **values)

    def undo(self) -> None:
        """Take back what was written so far, in the session too."""
        self.db.execute("ROLLBACK TO request")
        for name in ("_stored", "session", "form_key"):
            self.__dict__.pop(name, None)

    def save_session(self) -> None:
        """Write the session back, when a view changed it."""
        if "session" in self.__dict__ and (data := json.dumps(self.session)) != self._stored[1]:
            self.db.execute("UPDATE session SET data = ? WHERE session_id = ?", (data, self.session_id))

    def give_cookie(self, response: Response) -> None:
        """Tell the caller the id of a session that is new."""
        if "_stored" in self.__dict__ and self.session_id != self.cookies.get(Site.cookie):
            response.set_cookie(Site.cookie, self.session_id, httponly=True)


View = Callable[..., "str | Response"]


class _RowId(IntegerConverter):
    """The `<int:...>` of a rule: of at most 15 digits, so that whatever matches fits an integer of SQLite's."""

    regex = "[0-9]{1,15}"


class _Templates(jinja2.Environment):
    """Looks in the columns of a row first, since that is most of what templates ask for, and an attribute that is missing costs more."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is sqlite3.Row:
            with suppress(IndexError):
                return obj[attribute]
        return super().getattr(obj, attribute)


class Site:
    """The routes and templates of one kind of site. Used as `@site.get("/path/<int:id>")` and `@site.post(...)`."""

    cookie = "sid"

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self._folder = Path(file).parent
        self._rules = Map(strict_slashes=False, merge_slashes=True, converters={"int": _RowId})
        self._views: dict[tuple[str, str], View] = {}
        self.get("/static/<path:name>")(self._static)

    def _static(self, request: Request, name: str) -> Response:
        """Serve a file of the site's own folder `static`."""
        return send_from_directory(self._folder / "static", name, request.environ, max_age=86400)

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

    def get(self, rule: str) -> Callable[[View], View]:
        """Register a view for GET (and HEAD) requests; the rule is Werkzeug's."""
        return self._register(rule, "GET")

    def post(self, rule: str) -> Callable[[View], View]:
        """Register a view for POST requests; the form key is checked before it runs."""
        return self._register(rule, "POST")

    def _register(self, rule: str, method: str) -> Callable[[View], View]:
        def decorate(view: View) -> View:
            endpoint = (method, rule)
            self._rules.add(Rule(rule, endpoint=endpoint, methods=[method]))
            self._views[endpoint] = view
            return view

        return decorate

    def rule(self, method: str, path: str) -> str:
        """Return the rule that answers a request, "" when none does."""
        try:
            (_, rule), _ = self._rules.bind("").match(path, method)
        except HTTPException:
            return ""
        return str(rule)

    def app(self, database: Database, layout: Layout = PLAIN, answers: Answers | None = None) -> "App":
        """Return the WSGI application of one episode. `answers` is shared with others whose databases have the same base."""
        return App(self, database, layout, answers or Answers())

    def answer(self, request: Request) -> Response:
        """Route one request to its view. Raises werkzeug's HTTPException."""
        adapter = self._rules.bind_to_environ(request.environ)
        endpoint, arguments = adapter.match()
        request.route = Route(adapter, endpoint, arguments)
        if request.method == "POST" and request.form.get("form_key") != request.form_key:
            raise BadRequest("Invalid Form Key. Please refresh the page.")
        result = self._views[endpoint](request, **arguments)
        return result if isinstance(result, Response) else Response(result, content_type="text/html; charset=utf-8")


class App:
    """A site bound to one episode's database, in one layout: a WSGI application."""

    def __init__(self, site: Site, database: Database, layout: Layout, answers: Answers) -> None:
        self.site = site
        self.database = database
        self.layout = layout
        self._answers = answers

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        asked, before = tuple(environ.get(name, "") for name in _ASKED), self.database.state
        key = (self.site.name, self.layout.seed, before, asked)
        answer = None if before is None else self._answers.get(key)
        if answer is None:
            request = Request(environ)
            request.app = self
            answer = self._answer(request)
            if self.database.state is None:
                self.database.follows(before, repr((*key, request.body)).encode())
            elif asked[0] == "GET" and answer.is_page:
                self._answers.keep(key, answer)
        start_response(answer.status, list(answer.headers))
        return [answer.body]

    def _answer(self, request: Request) -> Answer:
        """Answer a request anew. What a view wrote before it failed is taken back."""
        request.db.execute("SAVEPOINT request")
        try:
            with self._respond(request) as response:
                chunks, status, headers = response.get_wsgi_response(request.environ)
                return Answer(status, headers, b"".join(chunks))
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
        request.route = None
        html = request.render("error.html", code=error.code, name=error.name, description=error.description)
        return Response(html, status=error.code, content_type="text/html; charset=utf-8")
