"""The admin's `Site`, the decorator of views that require a login, and shared queries."""

import sqlite3
from functools import wraps

from webarena_gym.sites.kit import database
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import Site, View

HOME = "/admin/"
site = Site("shopping_admin", __file__, sign_in=HOME)


def members_only(view: View) -> View:
    """Return the view with a redirect to the login form for users without a login."""

    @wraps(view)
    def wrapper(request: Request, **arguments: object) -> str | Response:
        return view(request, **arguments) if "admin_id" in request.session else redirect(HOME)

    return wrapper


def record_or_404(db: sqlite3.Connection, sql: str, *values: object) -> sqlite3.Row:
    """Return the first row of a query. Raises NotFound, which is the site's 404 page, if there is none."""
    return database.row_or_404(db, sql, values, missing="This record does not exist, or was deleted.")


def is_taken(db: sqlite3.Connection, table: str, column: str, value: str | None, own_id: int | None = None) -> bool:
    """Return True if another row of a table has the value, which must be unique."""
    row = db.execute(f"SELECT rowid FROM {table} WHERE {column} = ? AND rowid IS NOT ?", (value, own_id)).fetchone()
    return row is not None


def store(db: sqlite3.Connection, table: str, key: str, row_id: int | None, **values: object) -> int:
    """Insert a row, or change the row whose column `key` is `row_id`, and return its id."""
    if row_id is None:
        return database.insert(db, table, **values)
    database.update(db, table, key, row_id, **values)
    return row_id
