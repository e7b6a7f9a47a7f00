"""Accounts: signing in and out, making one, preferences and the watchlist."""

import re
import sqlite3

from webarena_gym.sites.kit.accounts import guests_only, return_url, welcome
from webarena_gym.sites.kit.database import insert, update
from webarena_gym.sites.kit.forms import PASSWORD, SHORTEST_PASSWORD, Field, FormPage, Pager, clean, is_email, line
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.wikipedia.site import article, current_user, members_only, site

LOGIN = FormPage(
    title="Sign in",
    action="/login",
    fields={"username": Field("Username or email", autocomplete="username"), "password": PASSWORD},
    button="Sign in",
)
CREATE_ACCOUNT = FormPage(
    title="Create account",
    action="/create-account",
    fields={
        "username": Field("Username", autocomplete="username"),
        "email": Field("Email (optional)", autocomplete="email"),
        "password": Field("Password", type="password", autocomplete="new-password"),
        "password_again": Field("Password again", type="password", autocomplete="new-password"),
    },
    button="Create account",
)
_USERNAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,39}")


site.get("/login")(guests_only(LOGIN.show, current_user, "/"))


@site.post("/login")
def login(request: Request) -> str | Response:
    """Sign a user in, and lead to the page that was asked for."""
    username, password = line(request.form.get("username")), clean(request.form.get("password"))
    query = "SELECT * FROM user WHERE (username = ?1 OR (email = ?1 AND email != '')) AND password = ?2 ORDER BY user_id"
    user = request.db.execute(query, (username, password)).fetchone()
    if user is None:
        return LOGIN.show(request, {"username": username}, ["The name or the password is not correct. Please try again."])
    return welcome(request, user["user_id"])


@site.get("/logout")
def logout(request: Request) -> Response:
    """Sign out."""
    request.session.clear()
    return request.redirect("/", "You are signed out.")


site.get("/create-account")(CREATE_ACCOUNT.show)


@site.post("/create-account")
def create(request: Request) -> str | Response:
    """Make an account and sign its owner in."""
    username, email = line(request.form.get("username")), line(request.form.get("email"))
    password, again = (clean(request.form.get(name)) for name in ("password", "password_again"))
    errors = []
    if not _USERNAME.fullmatch(username):
        errors.append("A username has 2 to 40 letters, digits, dots, hyphens or underscores.")
    elif request.db.execute("SELECT 1 FROM user WHERE username = ?", (username,)).fetchone():
        errors.append("There is already a user with this name.")
    if email and not is_email(email):
        errors.append("Please enter a valid email address, for example name@domain.com.")
    if not SHORTEST_PASSWORD <= len(password) <= 128:
        errors.append(f"A password has {SHORTEST_PASSWORD} to 128 characters.")
    elif password != again:
        errors.append("The two passwords are not the same.")
    if errors:
        return CREATE_ACCOUNT.show(request, {"username": username, "email": email}, errors)
    values = {"username": username, "password": password, "real_name": "", "email": email, "created_at": request.stamp}
    return welcome(request, insert(request.db, "user", **values), message=f"Welcome, {username}.")


@site.form("/preferences", members_only)
def preferences(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the real name, the email address, and what the user gets mail about."""
    if request.method != "POST":
        return request.render("preferences.html", values=user, errors=[])
    values = {
        "username": user["username"],
        "real_name": line(request.form.get("real_name"), 100),
        "email": line(request.form.get("email")),
        "wants_mail": int(request.form.get("wants_mail") == "1"),
    }
    if values["email"] and not is_email(str(values["email"])):
        errors = ["Please enter a valid email address, for example name@domain.com."]
        return request.render("preferences.html", values=values, errors=errors)
    update(
        request.db, "user", "user_id", user["user_id"], **{name: values[name] for name in ("real_name", "email", "wants_mail")}
    )
    return request.redirect("/preferences", "Your preferences were saved.")


WATCHED_PER_PAGE = 50


@site.get("/watchlist", members_only)
def watchlist(request: Request, user: sqlite3.Row) -> str:
    """Show the watched articles by title, with their last changes."""
    rows = request.db.execute(
        """
        SELECT p.title, p.changed_at, r.summary, u.username FROM watch w JOIN page p USING (article_id)
            JOIN revision r USING (revision_id) JOIN user u ON u.user_id = r.user_id
        WHERE w.user_id = ? ORDER BY p.title
        """,
        (user["user_id"],),
    ).fetchall()
    return request.render("watchlist.html", rows=rows, pager=Pager.of(request, len(rows), WATCHED_PER_PAGE, "page"))


@site.post("/<any(watch, unwatch):change>/<address>", members_only)
def watch(request: Request, user: sqlite3.Row, change: str, address: str) -> Response:
    """Put an article on the watchlist, or take it off."""
    page = article(request, address)
    query, said = {
        "watch": ("INSERT OR IGNORE INTO watch VALUES (?, ?)", "added to"),
        "unwatch": ("DELETE FROM watch WHERE user_id = ? AND article_id = ?", "removed from"),
    }[change]
    request.db.execute(query, (user["user_id"], page["article_id"]))
    return request.redirect(return_url(request), f"{page['title']} was {said} your watchlist.")
