"""The encyclopedia's `Site`, and what its pages know about the visitor: who is signed in, what was typed, where to go next."""

import re
import sqlite3
from functools import wraps

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit import Request, Response, Site, View, redirect
from webarena_gym.sites.wikipedia import markup, queries

NAME = "Lexandria"
_DROPPED = dict.fromkeys([*range(9), *range(11, 32), 127, *range(0xD800, 0xE000)])  # control characters but tab and newline
_NUMBER = re.compile(r"[0-9]{1,9}")

site = Site("wikipedia", __file__)


def current_user(request: Request) -> sqlite3.Row | None:
    """Return the signed-in user's row, if somebody is signed in."""
    user_id = request.session.get("user_id")
    row: sqlite3.Row | None = request.db.execute("SELECT * FROM user WHERE user_id = ?", (user_id,)).fetchone()
    return row


def members_only(view: View) -> View:
    """Give the view the signed-in user's row; send everybody else to the sign-in page and back afterwards."""

    @wraps(view)
    def guarded(request: Request, **arguments: object) -> str | Response:
        user = current_user(request)
        if user is None:
            request.session["after_login"] = here(request) if request.method == "GET" else local(request.form.get("return_url"))
            request.flash("Please sign in to do that.", "notice")
            return redirect("/login")
        return view(request, user, **arguments)

    return guarded


def here(request: Request) -> str:
    """Return the address of this page within the site."""
    return request.full_path.removesuffix("?")


def local(address: str | None) -> str:
    """Return an address if it leads to this site, else the main page."""
    wanted = clean(address or "")[:2000].replace("\n", "").replace("\t", "")
    return wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/"


def clean(text: str) -> str:
    r"""Return the text without surrounding blanks and control characters, lines ended by one newline.

    >>> clean(" a\r\nb\x00 ")
    'a\nb'
    """
    return text.replace("\r\n", "\n").translate(_DROPPED).strip()


def line(text: str | None, longest: int = 255) -> str:
    """Return what was typed into a field of one line."""
    return " ".join(clean(text or "").split())[:longest]


def number(text: str | None, default: int) -> int:
    """Return a number that stands in an address, or the default.

    >>> number("7", 1), number("-7", 1), number(None, 1)
    (7, 1, 1)
    """
    typed = (text or "").strip()
    return int(typed) if _NUMBER.fullmatch(typed) else default


def article(request: Request, address: str) -> sqlite3.Row:
    """Return the page of an address such as Some_title. Raises NotFound."""
    found = queries.find(request.db, title(address))
    if found is None:
        raise NotFound(f"There is no article with the title {title(address)[:200]}.")
    return found


def title(address: str) -> str:
    """Return the title that an address means.

    >>> title("Battle_of__Dorim")
    'Battle of Dorim'
    """
    return " ".join(clean(address.replace("_", " ")).split())


site.templates.filters.update(path=markup.path, plain=markup.plain, line=line)
site.templates.globals.update(name=NAME, current_user=current_user, here=here)
