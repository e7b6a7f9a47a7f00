"""The encyclopedia's `Site`: articles, their histories and changes, categories, the main page and the search; accounts, preferences and the watchlist."""

import json
import re
import sqlite3
from functools import partial

from markupsafe import Markup
from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import fold_case, like
from webarena_gym.sites.kit import forms, ranking
from webarena_gym.sites.kit.accounts import here, members_of, return_url, sign_in_page, visitor, welcome
from webarena_gym.sites.kit.database import first, insert, row_or_404, update, value
from webarena_gym.sites.kit.forms import Field, Pager, clean, line, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.wikipedia import markup
from webarena_gym.sites.wikipedia.markup import Section

NAME = "Lexandria"

site = Site("wikipedia", __file__, sign_in="/login")
current_user = visitor()
members_only = members_of(current_user, site.sign_in, "Please sign in to do that.")


def find(db: sqlite3.Connection, title: str) -> sqlite3.Row | None:
    """Return the page with a title or alias. Case is ignored unless titles differ only in case."""
    for comparison in ("", " COLLATE NOCASE"):
        query = f"""SELECT p.* FROM page p WHERE p.title = :title{comparison}
            UNION ALL SELECT p.* FROM page p JOIN alias a USING (article_id) WHERE a.title = :title{comparison} LIMIT 1"""
        if row := first(db, query, {"title": title}):
            return row
    return None


def article(request: Request, address: str) -> sqlite3.Row:
    """Return the page of a URL path such as Some_title. Raises NotFound."""
    article_row = find(request.db, title(address))
    if article_row is None:
        raise NotFound(f"There is no article with the title {title(address)[:200]}.")
    request.shows(address=article_row["title"].replace(" ", "_"))
    return article_row


def title(address: str) -> str:
    """Return the title in a URL path.

    >>> title("Battle_of__Dorim")
    'Battle of Dorim'
    """
    return " ".join(clean(address.replace("_", " ")).split())


site.templates.filters.update(path=markup.path, plain=markup.plain, line=line)
site.templates.globals.update(name=NAME, current_user=current_user, here=here)


_SHELVES = ("Towns", "Universities", "Museums", "National parks", "Scientists", "Writers", "Film directors", "Films", "Novels",
            "Albums", "Companies", "Teams", "Prizes", "Disasters", "Festivals")  # fmt: skip

FACTS = "SELECT * FROM fact WHERE article_id = ? ORDER BY position"
"""Query of the lines of an article's infobox."""
CATEGORIES = "SELECT name, count(*) AS size FROM category GROUP BY name ORDER BY name"
"""Query of the categories by name, with their sizes."""
LINKING = "SELECT a.* FROM article a JOIN link l USING (article_id) WHERE l.target = ? ORDER BY a.title"
"""Query of the articles that link to a title."""
HISTORY = """SELECT r.*, u.username, length(r.text) AS size,
        length(r.text) - lag(length(r.text), 1, 0) OVER (ORDER BY r.revision_id) AS growth
    FROM revision r JOIN user u USING (user_id) WHERE article_id = ? ORDER BY r.revision_id DESC"""
"""Query of the revisions of an article, the newest first, with their authors and the growth in characters."""


@site.get("/")
def main_page(request: Request) -> str:
    """Show the main page."""
    featured = first(request.db, "SELECT * FROM page WHERE is_featured ORDER BY article_id")
    lists = "SELECT title FROM article WHERE kind = 'list' AND title NOT LIKE 'List of films directed by%' ORDER BY title"
    newest = """SELECT a.title, r.created_at FROM revision r JOIN article a USING (article_id)
        ORDER BY r.created_at DESC, r.revision_id DESC LIMIT 5"""
    sizes = {row["name"]: row["size"] for row in request.db.execute(CATEGORIES)}
    return request.render(
        "main_page.html",
        featured=featured,
        lead=_render_body(request, markup.sections(featured["text"])[0].body) if featured else "",
        total=value(request.db, "SELECT count(*) FROM article"),
        lists=[row["title"] for row in request.db.execute(lists)],
        newest=request.db.execute(newest).fetchall(),
        shelves=[(shelf, sizes[shelf]) for shelf in _SHELVES if shelf in sizes],
    )


site.get("/wiki/Main_Page")(lambda _: redirect("/"))


@site.get("/wiki/<address>")
def show_article(request: Request, address: str) -> str | Response:
    """Show an article or an old revision of it; aliases redirect to the title."""
    page = article(request, address)
    if page["title"] != title(address):
        if page["title"].lower() != title(address).lower():
            request.flash(f"Redirected from {title(address)}.", "notice")
        return redirect(markup.path(page["title"]))
    revision_id = request.args.get("oldid")
    revision = page
    if revision_id is not None:
        query = "SELECT *, created_at AS changed_at FROM revision WHERE revision_id = ? AND article_id = ?"
        values = (whole_number(revision_id, 0, 10**9 - 1) or 0, page["article_id"])
        revision = row_or_404(request.db, query, values, missing=f"The article {page['title']} has no such revision.")
    request.shows({"oldid": None if revision_id is None else revision["revision_id"]})
    lead, *parts = markup.sections(revision["text"])
    user, db, article_id = current_user(request), request.db, page["article_id"]
    watched, categories = "user_id = ? AND article_id = ?", "SELECT name FROM category WHERE article_id = ? ORDER BY name"
    return request.render(
        "article.html",
        page=page,
        revision=revision,
        facts=[(row["label"], markup.inline(row["text"], partial(exists, db))) for row in db.execute(FACTS, (article_id,))],
        lead=_render_body(request, lead.body),
        parts=[(part[0], markup.anchor(part[0], place), _render_body(request, part[1])) for place, part in enumerate(parts, 1)],
        categories=[name for (name,) in db.execute(categories, (article_id,))],
        is_watched=bool(user and first(db, f"SELECT 1 FROM watch WHERE {watched}", (user["user_id"], article_id))),
    )


def exists(db: sqlite3.Connection, title: str) -> bool:
    """Return True if there is an article with a title or alias."""
    query = "SELECT 1 FROM article WHERE title = :title UNION ALL SELECT 1 FROM alias WHERE title = :title"
    return first(db, query, {"title": title}) is not None


def _render_body(request: Request, body: str) -> Markup:
    return markup.html(body, partial(exists, request.db))


def _list(request: Request, template: str, usual: int, query: str, *values: object, **shown: object) -> str:
    """Show a page of the rows of a query."""
    rows = request.db.execute(query, values).fetchall()
    return request.render(template, rows=rows, pager=Pager.of(request, len(rows), usual, "page"), **shown)


@site.get("/links/<address>")
def links(request: Request, address: str) -> str:
    """Show the articles that link to an article."""
    page = article(request, address)
    return _list(request, "links.html", 50, LINKING, page["title"], page=page)


@site.get("/info/<address>")
def info(request: Request, address: str) -> str:
    """Show the properties of an article's page."""
    page, db = article(request, address), request.db
    aliases = db.execute("SELECT title FROM alias WHERE article_id = ? ORDER BY title", (page["article_id"],))
    return request.render(
        "info.html",
        page=page,
        history=db.execute(HISTORY, (page["article_id"],)).fetchall(),
        incoming=len(db.execute(LINKING, (page["title"],)).fetchall()),
        outgoing=len(markup.links(page["text"])),
        aliases=[title for (title,) in aliases],
        watchers=value(db, "SELECT count(*) FROM watch WHERE article_id = ?", (page["article_id"],)),
    )


MEMBERS_PER_PAGE = 100
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@site.get("/wiki/Category:<address>")
def category(request: Request, address: str) -> str:
    """Show the articles of a category."""
    name = title(address)
    missing = f"There is no category with the name {name[:200]}."
    row_or_404(request.db, "SELECT 1 FROM category WHERE name = ?", (name,), missing=missing)
    request.shows(address=name.replace(" ", "_"))
    query = "SELECT a.* FROM article a JOIN category c USING (article_id) WHERE c.name = ? ORDER BY a.title"
    return _list(request, "category.html", MEMBERS_PER_PAGE, query, name, category=name)


site.get("/categories")(lambda request: _list(request, "categories.html", MEMBERS_PER_PAGE, CATEGORIES))


@site.get("/contents")
def contents(request: Request) -> str:
    """Show the articles that begin with a letter or a digit."""
    letter = (request.args.get("letter") or "A")[:1].upper()
    letter = letter if letter in _LETTERS else "0"
    request.shows({"letter": letter if letter != "A" else None})
    first_letter = "upper(substr(title, 1, 1))"
    query = f"SELECT title FROM article WHERE iif({first_letter} BETWEEN 'A' AND 'Z', {first_letter}, '0') = ? ORDER BY title"
    return _list(request, "contents.html", MEMBERS_PER_PAGE, query, letter, letters=[*_LETTERS, "0"], letter=letter)


LONGEST = 20_000  # characters of a section
HISTORY_PER_PAGE = 25


@site.form("/edit/<address>", members_only)
def edit(request: Request, user: sqlite3.Row, address: str) -> str | Response:
    """Save the changed text of a section as a new revision. Raises NotFound."""
    page = article(request, address)
    parts = markup.sections(page["text"])
    place = whole_number(request.args.get("section"), 0, 10**9 - 1) or 0
    if place >= len(parts):
        raise NotFound(f"The article {page['title']} has no section {place}.")
    request.shows({"section": place or None})
    heading, before = parts[place]
    text, summary, errors = before, "", []
    if request.method == "POST":
        text, summary = clean(request.form.get("text", "")), line(request.form.get("summary"))
        if not text:
            errors = ["A section must not be empty."]
        elif len(text) > LONGEST:
            errors = [f"The text is too long: {len(text)} characters, {LONGEST} at most."]
        elif text == before:
            errors = ["Nothing was changed."]
        else:
            parts[place] = Section(heading, text)
            whole, db, ids = markup.whole(parts), request.db, {"article_id": page["article_id"], "user_id": user["user_id"]}
            insert(db, "revision", **ids, text=whole, summary=summary, created_at=request.stamp)
            facts = db.execute(FACTS, (page["article_id"],)).fetchall()
            targets = [*markup.links(whole), *(fact["target"] for fact in facts if fact["target"])]
            db.execute("DELETE FROM link WHERE article_id = ?", (page["article_id"],))
            db.executemany("INSERT OR IGNORE INTO link VALUES (?, ?)", [(page["article_id"], target) for target in targets])
            return request.redirect(markup.path(page["title"]), "Your edit was saved.")
    values = {"text": text, "summary": summary, "errors": errors}
    return request.render("edit.html", page=page, place=place, heading=heading, **values)


@site.get("/history/<address>")
def history_page(request: Request, address: str) -> str:
    """Show the revisions of an article."""
    page = article(request, address)
    return _list(request, "history.html", HISTORY_PER_PAGE, HISTORY, page["article_id"], page=page)


@site.get("/user/<username>")
def contributions(request: Request, username: str) -> str:
    """Show the edits of a user."""
    missing = f"There is no user with the name {username[:100]}."
    author = row_or_404(request.db, "SELECT * FROM user WHERE username = ?", (username,), missing=missing)
    query = """SELECT r.*, a.title FROM revision r JOIN article a USING (article_id) WHERE user_id = ?
        ORDER BY r.created_at DESC, revision_id DESC"""
    return _list(request, "user.html", HISTORY_PER_PAGE, query, author["user_id"], author=author)


_AROUND = 90  # characters shown before and after what was found


@site.get("/search")
def search(request: Request) -> str | Response:
    """Show the articles that contain all words. Without `fulltext`, an exact title redirects to its article."""
    phrase = line(request.args.get("search"), 200)
    exact = find(request.db, phrase) if phrase else None
    if exact is not None and "fulltext" not in request.args:
        return redirect(markup.path(exact["title"]))
    request.shows({"search": fold_case(phrase)})
    rows = pages_with(request.db, phrase)
    pager = Pager.of(request, len(rows), 20, "page")
    snippets = {row["title"]: snippet(markup.plain(row["text"]), phrase) for row in pager.cut(rows)}
    return request.render("search.html", phrase=phrase, rows=rows, pager=pager, snippets=snippets)


def pages_with(db: sqlite3.Connection, phrase: str) -> list[sqlite3.Row]:
    """Return the pages that contain all words of a phrase: first those with all words in the title, then by number of occurrences.

    Where the encyclopedia has an index, these are the most relevant pages.
    """
    words = list(dict.fromkeys(phrase.lower().split()))[:10]
    if not words:
        return []
    if ranking.has_index(db):
        weights = (10, 1)  # of the columns of article_text
        relevances = ranking.rank_texts(db, "article_text", phrase, weights)
        query = "SELECT * FROM page WHERE article_id IN (SELECT value FROM json_each(?))"
        articles = db.execute(query, (json.dumps(list(relevances)),)).fetchall()
        return sorted(articles, key=lambda row: (-relevances[row["article_id"]], row["title"]))
    conditions = " AND ".join([r"title || ' ' || text LIKE ? ESCAPE '\'"] * len(words))
    rows = db.execute(f"SELECT * FROM page WHERE {conditions} ORDER BY title", [like(word) for word in words]).fetchall()

    def rank(row: sqlite3.Row) -> tuple[bool, int, str]:
        title, text = row["title"].lower(), row["text"].lower()
        return not all(word in title for word in words), -sum(text.count(word) for word in words), row["title"]

    return sorted(rows, key=rank)


def snippet(text: str, phrase: str) -> str:
    """Return the part of a text around the first word of the phrase, or its beginning if it contains none.

    >>> snippet("A town by the sea.", "SEA")
    'A town by the sea.'
    """
    places = [match.start() for word in phrase.split() if (match := re.search(re.escape(word), text, re.IGNORECASE))]
    middle = min(places, default=0)
    start = text.rfind(" ", 0, middle - _AROUND) + 1 if middle > _AROUND else 0
    part = text[start : start + 2 * _AROUND + 20]
    if start + len(part) < len(text):
        part = part.rpartition(" ")[0] + " ..."
    return f"... {part}" if start else part


LOGIN = forms.FormPage(
    title="Sign in",
    action="/login",
    fields={"username": Field("Username or email", autocomplete="username"), "password": forms.PASSWORD},
    button="Sign in",
)
CREATE_ACCOUNT = forms.FormPage(
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


FITS = "(username = :username OR (email = :username AND email != ''))"
WRONG = "The name or the password is not correct. Please try again."
sign_in_page(site, LOGIN, current_user, FITS, WRONG, tells_errors=False)


@site.get("/logout")
def logout(request: Request) -> Response:
    """Sign out."""
    request.session.clear()
    return request.redirect("/", "You are signed out.")


site.get("/create-account")(CREATE_ACCOUNT.render)


@site.post("/create-account")
def create(request: Request) -> str | Response:
    """Create an account and sign in."""
    username, email = line(request.form.get("username")), line(request.form.get("email"))
    password, again = (clean(request.form.get(name)) for name in ("password", "password_again"))
    errors = []
    if not _USERNAME.fullmatch(username):
        errors.append("A username has 2 to 40 letters, digits, dots, hyphens or underscores.")
    elif first(request.db, "SELECT 1 FROM user WHERE username = ?", (username,)):
        errors.append("There is already a user with this name.")
    if email and not forms.is_email(email):
        errors.append("Please enter a valid email address, for example name@domain.com.")
    if not forms.SHORTEST_PASSWORD <= len(password) <= 128:
        errors.append(f"A password has {forms.SHORTEST_PASSWORD} to 128 characters.")
    elif password != again:
        errors.append("The two passwords are not the same.")
    if errors:
        return CREATE_ACCOUNT.render(request, {"username": username, "email": email}, errors)
    values = {"username": username, "password": password, "real_name": "", "email": email, "created_at": request.stamp}
    return welcome(request, insert(request.db, "user", **values), message=f"Welcome, {username}.")


@site.form("/preferences", members_only)
def preferences(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the real name, the email address and the email notifications."""
    values, errors = dict(user), list[str]()
    if request.method == "POST":
        changed = {"real_name": line(request.form.get("real_name"), 100), "email": line(request.form.get("email"))}
        row = {**changed, "wants_mail": int(request.form.get("wants_mail") == "1")}
        if not changed["email"] or forms.is_email(changed["email"]):
            update(request.db, "user", "user_id", user["user_id"], **row)
            return request.redirect("/preferences", "Your preferences were saved.")
        values, errors = values | row, ["Please enter a valid email address, for example name@domain.com."]
    return request.render("preferences.html", values=values, errors=errors)


@site.get("/watchlist", members_only)
def watchlist(request: Request, user: sqlite3.Row) -> str:
    """Show the watched articles by title, with their latest changes."""
    query = """
        SELECT p.title, p.changed_at, r.summary, u.username FROM watch w JOIN page p USING (article_id)
            JOIN revision r USING (revision_id) JOIN user u ON u.user_id = r.user_id
        WHERE w.user_id = ? ORDER BY p.title
    """
    return _list(request, "watchlist.html", 50, query, user["user_id"])


@site.post("/<any(watch, unwatch):change>/<address>", members_only)
def watch(request: Request, user: sqlite3.Row, change: str, address: str) -> Response:
    """Add an article to the watchlist, or remove it."""
    page = article(request, address)
    query, notice = {
        "watch": ("INSERT OR IGNORE INTO watch VALUES (?, ?)", "added to"),
        "unwatch": ("DELETE FROM watch WHERE user_id = ? AND article_id = ?", "removed from"),
    }[change]
    request.db.execute(query, (user["user_id"], page["article_id"]))
    return request.redirect(return_url(request), f"{page['title']} was {notice} your watchlist.")
