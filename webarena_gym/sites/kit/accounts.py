"""Users of a site: the login page, views for signed-in users only, and redirects after a login."""

import sqlite3
from collections.abc import Callable
from functools import wraps

from webarena_gym.sites.kit.database import first
from webarena_gym.sites.kit.forms import FormPage, clean, read_and_check
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import Site, View

_LONGEST = 2000  # characters of an address


def visitor(table: str = "user") -> Callable[[Request], sqlite3.Row | None]:
    """Return a function that returns the row of the current user in a table, or None. The session contains the row's key."""

    def current(request: Request) -> sqlite3.Row | None:
        number = request.session.get(f"{table}_id")
        return None if number is None else first(request.db, f"SELECT * FROM {table} WHERE {table}_id = ?", (number,))

    return current


def here(request: Request) -> str:
    """Return the path and query of the request."""
    return request.full_path.removesuffix("?")


def return_url(request: Request, default: str = "/") -> str:
    """Return the path in the field `return_url` of the posted form if it is on this site, else `default`."""
    # Browsers remove tabs and newlines from URLs, so they are removed before the check.
    target = clean(request.form.get("return_url"))[:_LONGEST].replace("\n", "").replace("\t", "")
    is_local = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_local else default


def sign_in_page(
    site: Site, page: FormPage, member: Callable[[Request], sqlite3.Row | None], fits: str, refusal: str, home: str = "/", *,
    table: str = "user", enter: Callable[[Request, int, str], Response] | None = None, tells_errors: bool = True,
) -> None:  # fmt: skip
    """Register the login page of a site.

    Args:
        site: The site.
        page: The page with the login form, whose fields include "password".
        member: Returns the row of the current user, or None.
        fits: SQL condition on the row of the user, with the fields of the form as parameters.
        refusal: Error message for wrong credentials.
        home: Path to which users are redirected.
        table: Table of the users, with the column "password".
        enter: Signs a user in, and returns the response; by default `welcome`.
        tells_errors: Show the errors of the form's fields instead of `refusal`, if there are any.

    """
    query = f"SELECT {table}_id FROM {table} WHERE {fits} AND password = :password ORDER BY 1"

    def view(request: Request) -> str | Response:
        if request.method != "POST":
            return redirect(home) if member(request) else page.render(request)
        values, errors = read_and_check(request, page.fields)
        row = first(request.db, query, values)
        if row is None:
            return page.render(request, values, errors if errors and tells_errors else [refusal])
        return (enter or welcome)(request, row[0], home)

    site.form(page.action)(view)


def welcome(request: Request, number: int, home: str = "/", message: str = "", table: str = "user") -> Response:
    """Sign a user in by the key of the table, and redirect to the page that required the login, or to `home`."""
    request.session[f"{table}_id"] = number
    target = request.session.pop("after_login", home)
    return request.redirect(target, message) if message else redirect(target)


def members_of(
    member: Callable[[Request], sqlite3.Row | None], sign_in: str, notice: str = "", default: str = "/"
) -> Callable[[View], View]:
    """Return a decorator that passes the row of the current user to a view.

    Other users are redirected to the page `sign_in` with a notice, and after the login back to the page. After a POST request, they are
    redirected to the form's `return_url` or to `default`.
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
