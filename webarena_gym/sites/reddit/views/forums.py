"""Forums: the front page and its lists, forums, the directory and the search."""

import json
import re
import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.country.texts import fold_case, like
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.database import first, insert, row_or_404, update, value
from webarena_gym.sites.kit.forms import Pager, clean, form_values
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.queries import CARD, FORUM, LISTED, REMARK, SORTS
from webarena_gym.sites.reddit.site import PER_PAGE, Field, Listing, current_user, members_only, my_id, site

SCOPES = {
    "subscribed": ("Subscribed", "s.forum_id IN (SELECT forum_id FROM subscription WHERE user_id = :me)"),
    "all": ("All", "1"),
    "moderated": ("Moderated", "s.forum_id IN (SELECT forum_id FROM moderator WHERE user_id = :me)"),
}
"""Title and condition of the lists, by their part of the address."""

SORT = f"any({', '.join(SORTS)})"  # the converter for orders in routes


@site.get("/")
@site.get(f"/<{SORT}:sort>")
@site.get("/<any(all):scope>")
@site.get(f"/<any(all):scope>/<{SORT}:sort>")
def front(request: Request, scope: str = "", sort: str = "hot") -> str:
    """Show submissions in a sort order, by default of the scope that the user prefers; guests see all forums."""
    user = current_user(request)
    scope = scope or (user["front_page"] if user else "all")
    title, where = SCOPES[scope]
    request.stands_at(f"/{scope}/{sort}")
    listing = Listing(request, f"/{scope}", sort, where, {})
    query = "SELECT f.name FROM forum f JOIN subscription USING (forum_id) WHERE user_id = ? ORDER BY f.name COLLATE NOCASE"
    subscriptions = request.db.execute(query, (my_id(request),)).fetchall()
    return request.render("front.html", listing=listing, scope=scope, scopes=SCOPES, title=title, subscriptions=subscriptions)


@site.get("/<any(subscribed, moderated):scope>", members_only)
@site.get(f"/<any(subscribed, moderated):scope>/<{SORT}:sort>", members_only)
def own_forums(request: Request, _: object, scope: str, sort: str = "hot") -> str | Response:
    """Show the submissions of the current user's forums in a sort order."""
    return front(request, scope, sort)


MOST_TAGS = 10
FIELDS = {
    "name": Field("Name", limit=25, pattern=re.compile(r"[A-Za-z0-9_]{3,25}"), hint="3 to 25 letters, digits and underscores."),
    "title": Field("Title", limit=100),
    "description": Field("Description", limit=300),
    "sidebar": Field("Sidebar", limit=5_000),
    "tags": Field("Forum tags", required=False, limit=300),
}
_TAG = re.compile(r"[a-z0-9_-]{1,30}")


def find_forum(request: Request, name: str) -> sqlite3.Row:
    """Return the forum with a name, ignoring case. Raises NotFound."""
    values = {"me": my_id(request), "name": name}
    forum = row_or_404(request.db, f"{FORUM} WHERE f.name = :name", values, missing=f"There is no forum called {name[:50]}.")
    request.shows(name=forum["name"])
    return forum


def moderated_forum(request: Request, name: str) -> sqlite3.Row:
    """Return the forum with a name, which the current user must moderate. Raises NotFound and Forbidden."""
    forum = find_forum(request, name)
    if not forum["is_moderated"]:
        raise Forbidden(f"Only moderators of {forum['name']} may do that.")
    return forum


def sidebar(request: Request, forum: sqlite3.Row) -> dict[str, object]:
    """Return the content of a forum's sidebar."""
    return {
        "forum": forum,
        "tags": queries.tags(request.db, forum["forum_id"]),
        "moderators": queries.moderators(request.db, forum["forum_id"]),
    }


@site.get("/f/<name>")
@site.get(f"/f/<name>/<{SORT}:sort>")
def forum_page(request: Request, name: str, sort: str = "hot") -> str | Response:
    """Show a forum's submissions in a sort order."""
    forum = find_forum(request, name)
    if forum["name"] != name:
        return redirect(request.full_path.removesuffix("?").replace(f"/f/{name}", f"/f/{forum['name']}", 1))
    request.stands_at(f"/f/{name}/{sort}")
    where, values = "s.forum_id = :forum_id", {"forum_id": forum["forum_id"]}
    listing = Listing(request, f"/f/{name}", sort, where, values, sticky_first=True)
    return request.render("forum.html", listing=listing, **sidebar(request, forum))


@site.post("/f/<name>/<any(subscribe, unsubscribe):change>", members_only)
def subscribe(request: Request, user: sqlite3.Row, name: str, change: str) -> Response:
    """Subscribe to a forum, or unsubscribe."""
    forum = find_forum(request, name)
    query = {
        "subscribe": "INSERT OR IGNORE INTO subscription VALUES (?, ?)",
        "unsubscribe": "DELETE FROM subscription WHERE forum_id = ? AND user_id = ?",
    }[change]
    request.db.execute(query, (forum["forum_id"], user["user_id"]))
    return redirect(return_url(request, f"/f/{forum['name']}"))


@site.form("/create_forum", members_only)
@site.form("/f/<name>/edit", members_only)
def save_forum(request: Request, user: sqlite3.Row, name: str = "") -> str | Response:
    """Create a forum, which its creator moderates and subscribes to, or change its name and texts."""
    forum = moderated_forum(request, name) if name else None
    forum_id, start = None, dict.fromkeys(FIELDS, "")
    if forum is not None:
        forum_id = forum["forum_id"]
        start = {**dict(forum), "tags": ", ".join(queries.tags(request.db, forum_id))}
    values, errors = form_values(request, FIELDS, start)
    tags = sorted({tag for part in values["tags"].lower().split(",") if (tag := part.strip())})
    if errors is not None:
        name_taken = "SELECT 1 FROM forum WHERE name = ? AND forum_id IS NOT ?"
        if not errors and first(request.db, name_taken, (values["name"], forum_id)):
            errors.append("Name: there is already a forum of this name.")
        if len(tags) > MOST_TAGS or not all(map(_TAG.fullmatch, tags)):
            errors.append(
                f"Forum tags: {MOST_TAGS} words at most, of letters, digits, dashes and underscores, separated by commas."
            )
    if errors != []:
        return request.render("forum_form.html", forum=forum, values=values, errors=errors or [])
    texts = {name: values[name] for name in FIELDS if name != "tags"}
    if forum is not None:
        update(request.db, "forum", "forum_id", forum["forum_id"], **texts)
        request.flash("The forum was updated.")
    else:
        forum_id = insert(request.db, "forum", **texts, created_at=request.stamp)
        request.db.execute("INSERT INTO moderator VALUES (?, ?, ?)", (forum_id, user["user_id"], request.stamp))
        request.db.execute("INSERT INTO subscription VALUES (?, ?)", (forum_id, user["user_id"]))
    request.db.execute("DELETE FROM forum_tag WHERE forum_id = ?", (forum_id,))
    request.db.executemany("INSERT INTO forum_tag VALUES (?, ?)", [(forum_id, tag) for tag in tags])
    return redirect(f"/f/{values['name']}/edit" if forum else f"/f/{values['name']}")


ORDERS = {
    "by_title": ("title", "f.title COLLATE NOCASE, f.name"),
    "by_name": ("name", "f.name COLLATE NOCASE"),
    "by_subscribers": ("subscribers", "subscribers DESC, f.name"),
    "by_submissions": ("submissions", "submissions DESC, f.name"),
}
"""Label and SQL of the orders, by their part of the address."""


@site.get("/forums")
@site.get(f"/forums/<any({', '.join(ORDERS)}):order>")
def forums(request: Request, order: str = "by_title") -> str:
    """Show all forums, or those with all words of `q` in their texts or tags, in a sort order."""
    phrase = clean(request.args.get("q", ""))[:100]
    request.shows({"q": fold_case(phrase)})
    request.stands_at(f"/forums/{order}")
    conditions, values = ["1"], {}
    for place, word in enumerate(phrase.split()[:10]):
        values[f"word{place}"] = like(word)
        conditions.append(
            rf"""(f.name || ' ' || f.title || ' ' || f.description || ' ' || coalesce(
                (SELECT group_concat(tag, ' ') FROM forum_tag t WHERE t.forum_id = f.forum_id), '')) LIKE :word{place} ESCAPE '\'"""
        )
    return _render_list(request, "List of forums", order, " AND ".join(conditions), values, phrase=phrase)


@site.get("/tags")
def tags(request: Request) -> str:
    """Show all tags with their numbers of forums."""
    rows = request.db.execute("SELECT tag, count(*) AS forums FROM forum_tag GROUP BY tag ORDER BY tag").fetchall()
    return request.render("tags.html", tags=rows)


@site.get("/tag/<tag>")
def tagged_forums(request: Request, tag: str) -> str:
    """Show the forums with a tag."""
    row_or_404(request.db, "SELECT 1 FROM forum_tag WHERE tag = ?", (tag,), missing=f"No forum has the tag {tag[:50]}.")
    where = "f.forum_id IN (SELECT forum_id FROM forum_tag WHERE tag = :tag)"
    return _render_list(request, f"Forums tagged {tag}", "by_title", where, {"tag": tag}, tag=tag)


def _render_list(
    request: Request, title: str, order: str, where: str, values: dict[str, str], *, phrase: str = "", tag: str = ""
) -> str:
    pager = Pager.of(request, value(request.db, f"SELECT count(*) FROM forum f WHERE {where}", values), PER_PAGE)
    query = f"{FORUM} WHERE {where} ORDER BY {ORDERS[order][1]}"
    rows = pager.select(request.db, query, {**values, "me": my_id(request)})
    return request.render(
        "forums.html", title=title, forums=rows, pager=pager, order=order, orders=ORDERS, phrase=phrase, tag=tag
    )


LONGEST = 100  # characters of a search that count
MOST_WORDS = 10
MOST_NAMES = 5  # forums and users that are shown above what they wrote
FOUND = f"""
    SELECT 'submission' AS kind, s.submission_id AS identity, s.created_at FROM submission s
    WHERE {LISTED} AND {{submission}}
    UNION ALL
    SELECT 'comment', c.comment_id, c.created_at FROM comment c JOIN submission s USING (submission_id)
    WHERE c.state = 'visible' AND {LISTED} AND {{comment}}
        AND c.user_id NOT IN (SELECT blocked_id FROM user_block WHERE user_id = :me)
"""
WEIGHTS = {"submission_text": (4.0, 1.0), "comment_text": (1.0,)}  # of the columns of the indexes
RANKED = f"""
    SELECT 'submission' AS kind, s.submission_id AS identity, s.created_at, r.value ->> '$.relevance' AS relevance
    FROM json_each(:submission_text) r JOIN submission s ON s.submission_id = r.value ->> '$.id' WHERE {LISTED}
    UNION ALL
    SELECT 'comment', c.comment_id, c.created_at, r.value ->> '$.relevance'
    FROM json_each(:comment_text) r JOIN comment c ON c.comment_id = r.value ->> '$.id' JOIN submission s USING (submission_id)
    WHERE c.state = 'visible' AND {LISTED} AND c.user_id NOT IN (SELECT blocked_id FROM user_block WHERE user_id = :me)
"""


@site.get("/search")
def results(request: Request) -> str:
    """Show the submissions and comments with all words of `q`, newest first, or, in worlds with an index, by relevance."""
    phrase = clean(request.args.get("q", "")).replace("\n", " ")[:LONGEST]
    request.shows({"q": fold_case(phrase)})
    words = list(dict.fromkeys(phrase.split()))[:MOST_WORDS]
    values: dict[str, object] = {"me": my_id(request)} | {f"word{place}": like(word) for place, word in enumerate(words)}
    order = "created_at DESC, identity DESC"
    if words and ranking.has_index(request.db):
        source, order = RANKED, "relevance DESC, created_at DESC, identity DESC"
        for index, weights in WEIGHTS.items():
            relevances = ranking.rank_texts(request.db, index, phrase, weights)
            values[index] = json.dumps([{"id": key, "relevance": value} for key, value in relevances.items()])
    else:
        submission = _all_words("s.title || ' ' || s.body || ' ' || coalesce(s.url, '')", len(words))
        source = FOUND.format(submission=submission, comment=_all_words("c.body", len(words)))
    total = value(request.db, f"SELECT count(*) FROM ({source})", values) if words else 0
    pager = Pager.of(request, total, PER_PAGE)
    rows = []
    for kind, identity, *_ in pager.select(request.db, f"{source} ORDER BY {order}", values) if words else ():
        shown = f"{CARD} WHERE s.submission_id" if kind == "submission" else f"{REMARK} WHERE c.comment_id"
        rows.append((kind, first(request.db, f"{shown} = :identity", {"me": my_id(request), "identity": identity})))
    return request.render(
        "search.html",
        phrase=phrase,
        rows=rows,
        pager=pager,
        order="the best matches" if source is RANKED else "the newest",
        forums=_matching_names(request, "name", "forum", phrase),
        users=_matching_names(request, "username", "user", phrase),
    )


def _matching_names(request: Request, name: str, table: str, phrase: str) -> list[str]:
    """Return the names of forums or users that contain the phrase, shortest first."""
    query = rf"SELECT {name} AS name FROM {table} WHERE {name} LIKE ? ESCAPE '\' ORDER BY length({name}), {name} LIMIT ?"
    return [row["name"] for row in request.db.execute(query, (like(phrase), MOST_NAMES))] if phrase else []


def _all_words(text: str, count: int) -> str:
    """Return the SQL condition that a text contains all words."""
    return " AND ".join(rf"({text}) LIKE :word{place} ESCAPE '\'" for place in range(count)) or "0"
