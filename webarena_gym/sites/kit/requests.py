"""Arguments and results of views: a request with its episode's database and session, and responses.

Nothing here uses the wall clock or system randomness: the time is that of the world (`Request.now`), and tokens are digests of the
database's content.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import jinja2
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.utils import redirect as redirect
from werkzeug.wrappers import Request as BaseRequest
from werkzeug.wrappers import Response as Response

from webarena_gym.sites.country.seeding import COOKIE, ENDS, sign_in
from webarena_gym.sites.kit.database import Database, value
from webarena_gym.sites.layout import Layout

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")


class Parameters(ImmutableMultiDict[str, Any]):
    """Parameters of a form or URL, without control characters that HTML does not allow."""

    def __init__(self, sent: Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__([(name, _CONTROL.sub("", value) if isinstance(value, str) else value) for name, value in sent])


Values = Mapping[str, object]
"""Parameters of a URL: a value or a sequence of values; "" and None are left out."""


class Request(BaseRequest):
    """A request, with the episode's database, layout, clock and session."""

    max_content_length = 2_000_000
    parameter_storage_class = Parameters
    body = b""
    """Body of the request, empty if it was too long."""
    path_of: Callable[[Mapping[str, str]], str] | None = None
    """Returns the path in the spelling of its rule, with some values in another spelling; None for a rejected request."""

    def __init__(self, environ: dict[str, Any], database: Database, layout: Layout, templates: jinja2.Environment) -> None:
        super().__init__(environ)
        self.layout = layout
        self._database = database
        self._templates = templates
        self._content: dict[str, object] = {}
        self._arrangement: dict[str, object] = {}
        self._spelling: dict[str, str] = {}
        self._stands_at = ""

    def shows(self, content: Values = MappingProxyType({}), **spelling: str) -> None:
        """Declare the parameters that determine the page, as understood by the site; None for defaults.

        `spelling` has values of the path in their canonical spelling, if the site accepts more than one.
        """
        self._content |= content
        self._spelling |= spelling

    def stands_at(self, path: str) -> None:
        """Declare the canonical path of this page."""
        self._stands_at = path

    def arranges(self, arrangement: Values) -> None:
        """Declare the arrangement of the page, including defaults: its order, and the part of a long list."""
        self._arrangement |= arrangement

    @property
    def canonical(self) -> str:
        """The URL of the page's content, independent of the spelling of the request; "" if the response is not a page."""
        return self._address(self._content)

    @property
    def arranged_url(self) -> str:
        """The canonical URL with the arrangement; "" if the response is not a page."""
        return self._address(self._content | self._arrangement)

    def _address(self, values: Values) -> str:
        if self.path_of is None or self.method != "GET":
            return ""
        query = urlencode(
            sorted((key, value) for key, value in values.items() if value not in (None, "", ())), doseq=True, errors="replace"
        )
        path = self._stands_at or self.path_of(self._spelling)
        return f"{self.scheme}://{self.host}{path}{'?' if query else ''}{query}"

    @property
    def db(self) -> sqlite3.Connection:
        """The episode's database; a transaction is open."""
        return self._database.connection

    @cached_property
    def now(self) -> datetime:
        """The world's clock, which is fixed during an episode."""
        return datetime.fromisoformat(value(self.db, "SELECT value FROM world WHERE key = 'now'"))

    @property
    def stamp(self) -> str:
        """The world's time in the format of the databases."""
        return f"{self.now:%Y-%m-%d %H:%M:%S}"

    def sibling(self, label: str) -> str:
        """Return the base URL of another site of this world, by the first part of its host name, such as "shop"."""
        return f"{self.scheme}://{label}.{self.host.partition('.')[2]}"

    @cached_property
    def _stored_session(self) -> tuple[str, str]:
        """The id of the user's session, which is created on first use, and its data as JSON."""
        session_id = self.cookies.get(COOKIE, "")
        row = self.db.execute("SELECT session_id, data FROM session WHERE session_id = ?", (session_id,)).fetchone()
        return tuple(row) if row else (sign_in(self.db), "{}")

    @property
    def session_id(self) -> str:
        """The id of the user's session."""
        return self._stored_session[0]

    @cached_property
    def session(self) -> dict[str, Any]:
        """The data of the user's session, a JSON object. Changes are saved at the end of the request."""
        data: dict[str, Any] = json.loads(self._stored_session[1])
        return data

    @cached_property
    def form_key(self) -> str:
        """The token that every posted form must contain in its field `form_key`."""
        return hashlib.sha256(f"form/{self.session_id}".encode()).hexdigest()[:16]

    def flash(self, message: str, kind: str = "success") -> None:
        """Show `message` on the next page; `kind` is success, error or notice."""
        self.session.setdefault("messages", []).append([kind, message])

    def redirect(self, url: str, message: str, kind: str = "success") -> Response:
        """Return a redirect to a page that shows `message`."""
        self.flash(message, kind)
        return redirect(url)

    def render(self, template: str, **values: object) -> str:
        """Render a template of this site with `values`, `request`, and the flashed `messages`, which are then removed."""
        messages = self.session.pop("messages", [])
        return self._templates.get_template(template).render(request=self, messages=messages, **values)

    def undo(self) -> None:
        """Undo all changes of this request, including those of the session."""
        self.db.execute("ROLLBACK TO request")
        for name in ("_stored_session", "session", "form_key"):
            self.__dict__.pop(name, None)

    def ends_session(self, rule: str) -> bool:
        """Count a posted form of a rule. Return True if the session has expired, which deletes its data."""
        form, remaining = self.session.get(ENDS, ("", 0))
        if form != rule:
            return False
        if remaining:
            self.session[ENDS] = [form, remaining - 1]
        else:
            self.session.clear()
        return not remaining

    def save_session(self) -> None:
        """Save the session if a view has changed it."""
        if "session" in self.__dict__ and (data := json.dumps(self.session)) != self._stored_session[1]:
            self.db.execute("UPDATE session SET data = ? WHERE session_id = ?", (data, self.session_id))

    def give_cookie(self, response: Response) -> None:
        """Set the cookie of a new session."""
        if "_stored_session" in self.__dict__ and self.session_id != self.cookies.get(COOKIE):
            response.set_cookie(COOKIE, self.session_id, httponly=True)
