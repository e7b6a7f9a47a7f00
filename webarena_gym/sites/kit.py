"""What every embedded site is made of: routing, templates, sessions, form keys and a SQLite database of its own.

A `Site` is written once, at module level, and holds no state: routes, templates, a schema. `Site.app(database)` binds it to
one episode's database and is a plain WSGI application. Views take a `Request` and return text (HTML) or a response; each
request runs in one transaction that is rolled back when the view fails or refuses. Nothing here reads the wall clock or the system's
random numbers: the time is the world's (`request.now`), tokens are digests of what is in the database.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError
from werkzeug.routing import IntegerConverter, Map, Rule
from werkzeug.utils import redirect as redirect
from werkzeug.utils import send_from_directory
from werkzeug.wrappers import Request as BaseRequest
from werkzeug.wrappers import Response as Response

from webarena_gym.sites.layout import PLAIN, Layout

Snapshot = dict[int, bytes]
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SHARED_TEMPLATES = Path(__file__).parent / "common" / "templates"
_PAGE = 4096  # bytes; SQLite's page size, fixed for every world


class Database:
    """An in-memory SQLite database that starts as a copy of `base` and can return to it, or to a snapshot, in about a millisecond.

    A snapshot is the pages that differ from the base, so that it stays small, and fits any database with the same base.
    """

    def __init__(self, base: bytes) -> None:
        self._base = base
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.connection.row_factory = sqlite3.Row
        self._writes_at_base: tuple[int, int] | None = None
        self.reset()

    def reset(self) -> None:
        """Return to the base, byte for byte. Takes no time when nothing was written since."""
        if self.connection.in_transaction or self._writes() != self._writes_at_base:
            self._load(self._base)
            self._writes_at_base = self._writes()

    def _load(self, content: bytes) -> None:
        self.connection.deserialize(content)
        self._writes_at_base = None

    def _writes(self) -> tuple[int, int]:
        """Return numbers that change with every write to the database: to rows, and to the schema."""
        (schema_version,) = self.connection.execute("PRAGMA schema_version").fetchone()
        return self.connection.total_changes, schema_version

    def snapshot(self) -> Snapshot:
        """Return the pages that differ from the base, by offset; offset -1 holds the length of the whole."""
        now, base = self.connection.serialize(), self._base
        changed = {
            start: now[start : start + _PAGE]
            for start in range(0, len(now), _PAGE)
            if now[start : start + _PAGE] != base[start : start + _PAGE]
        }
        return changed | {-1: len(now).to_bytes(8, "big")}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state in which `snapshot` was taken."""
        size = int.from_bytes(snapshot[-1], "big")
        content = bytearray(self._base[:size].ljust(size, b"\0"))
        for start, page in snapshot.items():
            if start >= 0:
                content[start : start + len(page)] = page
        self._load(bytes(content))

    def close(self) -> None:
        """Free the memory; the database cannot be used afterwards."""
        self.connection.close()


def sign_in(db: sqlite3.Connection, **data: Any) -> str:
    """Store a new session with `data` in it and return its id, the value of the site's session cookie."""
    (count,) = db.execute("SELECT count(*) FROM session").fetchone()
    (seed,) = db.execute("SELECT value FROM world WHERE key = 'seed'").fetchone()
    session_id = hashlib.sha256(f"{seed}/{count}".encode()).hexdigest()[:32]
    db.execute("INSERT INTO session VALUES (?, ?)", (session_id, json.dumps(data)))
    return session_id


class Parameters(ImmutableMultiDict[str, Any]):
    """What a form or an address sends, without the control characters that no page of HTML may hold."""

    def __init__(self, sent: Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__([(name, _CONTROL.sub("", value) if isinstance(value, str) else value) for name, value in sent])


class Request(BaseRequest):
    """A request, with the episode's database, clock and session at hand."""

    max_content_length = 2_000_000
    parameter_storage_class = Parameters
    app: "App"

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
    def session_id(self) -> str:
        """The id of the caller's session; made on first use."""
        wanted = self.cookies.get(Site.cookie, "")
        found = self.db.execute("SELECT 1 FROM session WHERE session_id = ?", (wanted,)).fetchone()
        return wanted if found else sign_in(self.db)

    @cached_property
    def session(self) -> dict[str, Any]:
        """The caller's session: a JSON object that is saved when it changed."""
        data: dict[str, Any] = json.loads(self._saved_session)
        return data

    @cached_property
    def _saved_session(self) -> str:
        (data,) = self.db.execute("SELECT data FROM session WHERE session_id = ?", (self.session_id,)).fetchone()
        return str(data)

    @property
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
        """Take back what was written so far, in the session too; the transaction is open again."""
        self.db.execute("ROLLBACK")
        self.db.execute("BEGIN")
        for name in ("session", "session_id", "_saved_session"):
            self.__dict__.pop(name, None)

    def save_session(self) -> None:
        """Write the session back, when a view changed it."""
        if "session" in self.__dict__ and (data := json.dumps(self.session)) != self._saved_session:
            self.db.execute("UPDATE session SET data = ? WHERE session_id = ?", (data, self.session_id))


View = Callable[..., "str | Response"]


def money(cents: int) -> str:
    """Write cents as a shop does.

    >>> money(123456), money(-500)
    ('$1,234.56', '-$5.00')
    """
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def short_date(value: str | datetime) -> str:
    """Write a date as month/day/two-digit year.

    >>> short_date("2023-03-05 10:00:00")
    '3/5/23'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment.month}/{moment.day}/{moment:%y}"


def long_date(value: str | datetime) -> str:
    """Write a date in words.

    >>> long_date("2023-03-05 10:00:00")
    'March 5, 2023'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment:%B} {moment.day}, {moment.year}"


def date_time(value: str | datetime) -> str:
    """Write a moment as lists of orders do.

    >>> date_time("2023-03-05 15:07:09")
    'Mar 5, 2023, 3:07:09 PM'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment:%b} {moment.day}, {moment.year}, {moment.hour % 12 or 12}:{moment:%M:%S %p}"


FILTERS: dict[str, Callable[..., str]] = {
    "money": money,
    "short_date": short_date,
    "long_date": long_date,
    "date_time": date_time,
}


class _RowId(IntegerConverter):
    """The `<int:...>` of a rule: of at most 15 digits, so that whatever matches fits an integer of SQLite's."""

    regex = "[0-9]{1,15}"


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
        return send_from_directory(self._folder / "static", name, request.environ)

    @cached_property
    def templates(self) -> jinja2.Environment:
        """The site's templates and those that sites share, escaped always; an undefined name is an error."""
        environment = jinja2.Environment(
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

    def app(self, database: Database, layout: Layout = PLAIN) -> "App":
        """Return the WSGI application of one episode."""
        return App(self, database, layout)

    def answer(self, request: Request) -> Response:
        """Route one request to its view. Raises werkzeug's HTTPException."""
        endpoint, arguments = self._rules.bind_to_environ(request.environ).match()
        if request.method == "POST" and request.form.get("form_key") != request.form_key:
            raise BadRequest("Invalid Form Key. Please refresh the page.")
        result = self._views[endpoint](request, **arguments)
        return result if isinstance(result, Response) else Response(result, content_type="text/html; charset=utf-8")


class App:
    """A site bound to one episode's database, in one layout: a WSGI application."""

    def __init__(self, site: Site, database: Database, layout: Layout) -> None:
        self.site = site
        self.database = database
        self.layout = layout

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ)
        request.app = self
        request.db.execute("BEGIN")
        try:
            response = self._respond(request)
            request.db.execute("COMMIT")
        except BaseException:
            request.db.execute("ROLLBACK")
            raise
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        try:
            response = self.site.answer(request)
        except HTTPException as error:
            if isinstance(error, InternalServerError):
                raise
            response = self._refusal(request, error)
        if self.layout.seed is not None and response.mimetype == "text/html":
            response.set_data(self.layout.rebuild(response.get_data(as_text=True)))
        request.save_session()
        if request.__dict__.get("session_id", "") != request.cookies.get(Site.cookie, ""):
            response.set_cookie(Site.cookie, request.session_id, httponly=True)
        return response

    def _refusal(self, request: Request, error: HTTPException) -> Response:
        """A redirect as it is; every other refusal as the site's own error page, after which nothing that was written stays."""
        if error.code is None or error.code < 400:
            return Response.force_type(error.get_response(), request.environ)
        request.undo()
        html = request.render("error.html", code=error.code, name=error.name, description=error.description)
        return Response(html, status=error.code, content_type="text/html; charset=utf-8")
