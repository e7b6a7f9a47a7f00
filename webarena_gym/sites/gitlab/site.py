"""The code host's `Site`, its form fields and Markdown, and the user's identity, roles and permissions for its pages."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, wraps
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.texts import amount, span
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.queries import project_role
from webarena_gym.sites.gitlab.world_projects import rank
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.accounts import here, members_of, visitor
from webarena_gym.sites.kit.forms import Pager, clean
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.kit.site import Site, View


class Field(forms.Field):
    """A text field of a form, with the code host's error message for missing values."""

    missing: ClassVar[str] = "{label} can't be blank."


_DEEPEST = 20  # lists, quotes and brackets in each other; each level multiplies the time that a text of brackets takes
_LINK = re.compile(r"https?://|/(?![/\\])|#", re.IGNORECASE)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": True, "maxNesting": _DEEPEST})
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    parser.core.ruler.push("lower", _lower_headings)
    parser.add_render_rule("image", _link_image)
    return parser


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def _link_image(self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
    text = self.renderInlineAsText(tokens[idx].children or [], options, env)
    return f'<a href="{escapeHtml(str(tokens[idx].attrs["src"]))}">{escapeHtml(text)}</a>'


def render_markdown(text: str) -> Markup:
    r"""Return Markdown as HTML. HTML in the text is escaped.

    >>> render_markdown("# Hi\n\nSee **this** <b>\n- a\n- `b`")
    Markup('<h2>Hi</h2>\n<p>See <strong>this</strong> &lt;b&gt;</p>\n<ul>\n<li>a</li>\n<li><code>b</code></li>\n</ul>\n')
    """
    return Markup(_parser().render(text))  # noqa: S704 - the parser escapes all text, and lets no HTML through


BRAND = "Codeyard"
RESERVED = (
    "admin", "api", "dashboard", "explore", "groups", "help", "projects", "search", "static", "users", "new",
)  # fmt: skip
"""Names that no user and no group can have, since the site's own pages are there."""

site = Site("gitlab", __file__, sign_in="/users/sign_in")
current_user = visitor()
"""Return the row of who is signed in, None for a guest."""


def my_id(request: Request) -> int | None:
    """Return the id of the current user, None without a login; it is the parameter :me of queries."""
    user = current_user(request)
    return user["user_id"] if user else None


members_only = members_of(current_user, site.sign_in, "You need to sign in before continuing.")
"""Give the view the signed-in person's row; send everybody else to the sign-in page and back afterwards."""


def role_in(request: Request, project: sqlite3.Row) -> str:
    """Return the role of the current user in a project, "" if there is none."""
    return project_role(request.db, project["project_id"], my_id(request))


def can(request: Request, project: sqlite3.Row, role: str) -> bool:
    """Return True if the user has this role in a project or a higher one; always False for an archived project."""
    return not project["is_archived"] and rank(role_in(request, project)) >= rank(role)


def manages(request: Request, project: sqlite3.Row) -> bool:
    """Return True if the user may open the project's settings, including archived projects."""
    return rank(role_in(request, project)) >= rank("Maintainer")


def in_project(role: str | None = None, *, even_archived: bool = False) -> Callable[[View], View]:
    """Return a decorator that passes the project of the URL to a view, with `queries.PROJECT_COLUMNS`, instead of its namespace and path.

    The view raises NotFound for projects that the user may not see. Unless `role` is None, it raises Forbidden for users without this or
    a higher role, and for archived projects.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(request: Request, *user: object, namespace: str, path: str, **arguments: object) -> str | Response:
            project = queries.project(request.db, namespace, path, my_id(request))
            if project is None:
                raise NotFound
            request.shows(namespace=project["namespace"], path=project["path"])
            if role is not None and rank(role_in(request, project)) < rank(role):
                raise Forbidden(f"You need the role {role} or a higher one in this project.")
            if role is not None and project["is_archived"] and not even_archived:
                raise Forbidden("This project is archived. It can only be read.")
            return view(request, *user, project, **arguments)

        return wrapper

    return decorate


def by_state(
    request: Request,
    columns: str,
    source: str,
    order: str,
    bound: Mapping[str, Any],
    state: str,
    tabs: Sequence[tuple[str, str, str]],
) -> dict[str, Any]:
    """Return the values for a list with `tabs` (state, label and query of the URL), which filter the column `state`.

    They are a page of the rows of `source` with a state, or of all rows for "all", the pager, and the tabs with their numbers of rows.
    """
    bound = {**bound, "me": my_id(request), "state": state}
    counts: dict[str, int] = dict(request.db.execute(f"SELECT state, count(*) {source} GROUP BY state", bound).fetchall())
    counts["all"] = sum(counts.values())
    pager = Pager.of(request, counts.get(state, 0), 20, "page")
    query = f"SELECT {columns} {source} AND :state IN (state, 'all') ORDER BY {order}"
    shown = [(f"{request.path}?{address}", label, counts.get(name, 0), name == state) for name, label, address in tabs]
    return {"rows": pager.select(request.db, query, bound), "pager": pager, "tabs": shown}


def ago(value: str, now: datetime) -> str:
    """Return the time between a moment or date and now as text, in the past or in the future.

    >>> ago("2023-03-03 10:00:00", datetime(2023, 3, 5, 12)), ago("2023-03-06", datetime(2023, 3, 5, 12))
    ('2 days ago', 'tomorrow')
    """
    if len(value) == 10:
        days = (now.date() - date.fromisoformat(value)).days
        if abs(days) < 2:
            return {0: "today", 1: "yesterday", -1: "tomorrow"}[days]
        seconds = days * 86400
    else:
        seconds = int((now - datetime.fromisoformat(value)).total_seconds())
    size = span(abs(seconds), in_weeks=True)
    if not size:
        return "just now"
    return f"{size} ago" if seconds > 0 else f"in {size}"


def day_label(value: str) -> str:
    """Return a moment or date in the format of pages.

    >>> day_label("2023-03-05 10:00:00")
    'Mar 5, 2023'
    """
    moment = datetime.fromisoformat(value)
    return f"{moment:%b} {moment.day}, {moment.year}"


site.templates.filters.update(ago=ago, day=day_label, markdown=render_markdown, clean=clean, amount=amount)
site.templates.globals.update(
    brand=BRAND, can=can, manages=manages, current_user=current_user, open_count=queries.open_count, here=here
)
