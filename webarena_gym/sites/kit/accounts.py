"""Visitors of a site: pages for members or guests only, and redirects after a log-in."""

import sqlite3
from collections.abc import Callable
from functools import wraps

from webarena_gym.sites.kit.database import first
from webarena_gym.sites.kit.forms import FormPage, checked, clean
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import Site, View

_LONGEST = 2000  # characters of an address


def visitor(table: str = "user") -> Callable[[Request], sqlite3.Row | None]:
    """Return a function that gives the row of who is signed in, None for a guest; the session holds the key of the table."""

    def current(request: Request) -> sqlite3.Row | None:
        number = request.session.get(f"{table}_id")
        return None if number is None else first(request.db, f"SELECT * FROM {table} WHERE {table}_id = ?", (number,))

    return current


def here(request: Request) -> str:
    """Return the address of this page within the site."""
    return request.full_path.removesuffix("?")


def return_url(request: Request, default: str = "/") -> str:
    """Return the page of this site that the posted form names in `return_url`, or `default`."""
    # Browsers drop tabs and newlines from addresses, so that what is left must be judged.
    target = clean(request.form.get("return_url"))[:_LONGEST].replace("\n", "").replace("\t", "")
    is_local = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_local else default


def sign_in_page(
    site: Site, page: FormPage, member: Callable[[Request], sqlite3.Row | None], fits: str, refusal: str, home: str = "/", *,
    table: str = "user", enter: Callable[[Request, int, str], Response] | None = None, tells_errors: bool = True,
) -> None:  # fmt: skip
    """Register the sign-in page. The password must be that of a row of the table which meets the SQL condition `fits`.

    `enter` signs a user in, by default with `welcome`; other users get the errors of the form, or the `refusal`.
    """
    query = f"SELECT {table}_id FROM {table} WHERE {fits} AND password = :password ORDER BY 1"

    def view(request: Request) -> str | Response:
        if request.method != "POST":
            return redirect(home) if member(request) else page.show(request)
        values, errors = checked(request, page.fields)
        row = first(request.db, query, values)
        if row is None:
            return page.show(request, values, errors if errors and tells_errors else [refusal])
        return (enter or welcome)(request, row[0], home)

    site.form(page.action)(view)


def welcome(request: Request, number: int, home: str = "/", message: str = "", table: str = "user") -> Response:
    """Sign somebody in by the key of the table, and lead to the page that was asked for, or `home`."""
    request.session[f"{table}_id"] = number
    target = request.session.pop("after_login", home)
    return request.redirect(target, message) if message else redirect(target)


def members_of(
    member: Callable[[Request], sqlite3.Row | None], sign_in: str, notice: str = "", default: str = "/"
) -> Callable[[View], View]:
    """Return a decorator that gives a view the row of the signed-in `member`.

    Everybody else is sent to the page `sign_in` with a notice, and afterwards to the page that they wanted; a form that was
    posted leads to its `return_url` or to `default`.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(request: Request, **arguments: object) -> str | Response:
            row = member(request)
            if row is not None:
                return view(request, row, **arguments)
            request.session["after_login"] = here(request) if request.method == "GET" else return_url(request, default)
            if notice:
                request.flash(notice, "notice")
            return redirect(sign_in)

        return wrapper

    return decorate
