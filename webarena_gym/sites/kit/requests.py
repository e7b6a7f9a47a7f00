"""Arguments and results of views: a request that knows its episode, and responses.

Nothing here reads the wall clock or the system's random numbers: the time is the world's (`Request.now`), tokens are digests of
what is in the database.
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
    """Parameters of a form or an address, without the control characters that no page of HTML may hold."""

    def __init__(self, sent: Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__([(name, _CONTROL.sub("", value) if isinstance(value, str) else value) for name, value in sent])


Values = Mapping[str, object]
"""Parameters of an address: a value, a sequence of values, or nothing for "" and None."""


class Request(BaseRequest):
    """A request, with the episode's database, layout, clock and session at hand."""

    max_content_length = 2_000_000
    parameter_storage_class = Parameters
    body = b""
    """Parameters of the body, unless it was too long."""
    path_of: Callable[[Mapping[str, str]], str] | None = None
    """Builds the path as its rule spells it, with some of its values in another spelling; None for a request that was refused."""

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
        """The address of what this page shows, the same however it was asked for; "" where it is no page of its own."""
        return self._address(self._content)

    @property
    def arranged(self) -> str:
        """The canonical address with the arrangement; "" where that is."""
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
        """The world's time as databases hold it."""
        return f"{self.now:%Y-%m-%d %H:%M:%S}"

    def sibling(self, label: str) -> str:
        """Return the base URL of another site of this world, by the first part of its host name, such as "shop"."""
        return f"{self.scheme}://{label}.{self.host.partition('.')[2]}"

    @cached_property
    def _stored_session(self) -> tuple[str, str]:
        """The id of the caller's session, which is made on first use, and what is kept of it."""
        session_id = self.cookies.get(COOKIE, "")
        row = self.db.execute("SELECT session_id, data FROM session WHERE session_id = ?", (session_id,)).fetchone()
        return tuple(row) if row else (sign_in(self.db), "{}")

    @property
    def session_id(self) -> str:
        """The id of the caller's session."""
        return self._stored_session[0]

    @cached_property
    def session(self) -> dict[str, Any]:
        """The caller's session: a JSON object that is saved when it changed."""
        data: dict[str, Any] = json.loads(self._stored_session[1])
        return data

    @cached_property
    def form_key(self) -> str:
        """The token that every posted form must carry back in its field `form_key`."""
        return hashlib.sha256(f"form/{self.session_id}".encode()).hexdigest()[:16]

    def flash(self, message: str, kind: str = "success") -> None:
        """Show `message` on the next page; `kind` is success, error or notice."""
        self.session.setdefault("messages", []).append([kind, message])

    def redirect(self, url: str, message: str, kind: str = "success") -> Response:
        """Return a redirect to a page that shows `message`."""
        self.flash(message, kind)
        return redirect(url)

    def render(self, template: str, **values: Any) -> str:
        """Render a template of this site. `request` is always there; `messages` are those flashed, shown once."""
        messages = self.session.pop("messages", [])
        return self._templates.get_template(template).render(request=self, messages=messages, **values)

    def undo(self) -> None:
        """Take back what was written so far, in the session too."""
        self.db.execute("ROLLBACK TO request")
        for name in ("_stored_session", "session", "form_key"):
            self.__dict__.pop(name, None)

    def ends_session(self, rule: str) -> bool:
        """Count a posted form by its rule. Return True if the session has ended before it; its data are then lost."""
        form, left = self.session.get(ENDS, ("", 0))
        if form != rule:
            return False
        if left:
            self.session[ENDS] = [form, left - 1]
        else:
            self.session.clear()
        return not left

    def save_session(self) -> None:
        """Write the session back, when a view changed it."""
        if "session" in self.__dict__ and (data := json.dumps(self.session)) != self._stored_session[1]:
            self.db.execute("UPDATE session SET data = ? WHERE session_id = ?", (data, self.session_id))

    def give_cookie(self, response: Response) -> None:
        """Send the cookie of a new session."""
        if "_stored_session" in self.__dict__ and self.session_id != self.cookies.get(COOKIE):
            response.set_cookie(COOKIE, self.session_id, httponly=True)
