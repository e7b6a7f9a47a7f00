"""Submissions and comments: threads, creation, changes, votes and moderation."""

import hashlib
import re
import sqlite3
from collections.abc import Sequence

from werkzeug.exceptions import BadRequest, Forbidden, NotFound

from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.database import first, insert, row_or_404, update
from webarena_gym.sites.kit.forms import Pager, complaints, form_values, read, read_and_check
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.queries import CARD, REMARK
from webarena_gym.sites.reddit.site import PER_PAGE, Field, members_only, my_id, site
from webarena_gym.sites.reddit.views.forums import find_forum, moderated_forum, sidebar
from webarena_gym.sites.reddit.world_posts import slug

WIDTH, HEIGHT = 480, 320


def draw_image(description: str) -> str:
    """Return an SVG drawing of hills under a sun or moon."""
    dice = hashlib.sha256(description.encode("utf-8", "replace")).digest()
    hue = dice[0] * 360 // 256
    hills = []
    for layer in range(3):
        height = HEIGHT - 150 + 45 * layer
        left, middle, right = (height - dice[1 + 3 * layer + place] % 70 for place in range(3))
        hills.append(
            f'<path fill="hsl({(hue + 25 * layer) % 360} 38% {58 - 16 * layer}%)" '
            f'd="M0 {left}Q{WIDTH // 4} {middle} {WIDTH // 2} {left}T{WIDTH} {right}V{HEIGHT}H0z"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<path fill="hsl({(hue + 180) % 360} 55% {70 + dice[10] % 18}%)" d="M0 0h{WIDTH}v{HEIGHT}H0z"/>'
        f'<circle cx="{60 + dice[11] * 360 // 256}" cy="{50 + dice[12] % 70}" r="{18 + dice[13] % 22}" fill="hsl(48 90% 85%)"/>'
        f"{''.join(hills)}</svg>"
    )


BODY = Field("Body", required=False, limit=40_000)

Thread = dict[int | None, list[sqlite3.Row]]
"""Comments by the one that they answer, the best first."""


def find_submission(request: Request, submission_id: int) -> sqlite3.Row:
    """Return a visible submission; removed ones are visible to their author and moderators. Raises NotFound."""
    values = {"me": my_id(request), "submission_id": submission_id}
    row = first(request.db, f"{CARD} WHERE s.submission_id = :submission_id", values)
    if row is None or row["state"] == "deleted":
        raise NotFound("There is no such submission.")
    if row["state"] == "removed" and row["user_id"] != my_id(request) and not find_forum(request, row["forum"])["is_moderated"]:
        raise NotFound("This submission was removed by a moderator.")
    return row


def by_me(request: Request, row: sqlite3.Row) -> sqlite3.Row:
    """Return a submission or comment of the current user. Raises Forbidden for those of other users."""
    if row["user_id"] != my_id(request):
        raise Forbidden("Only its author may do that.")
    return row


def thread_of(request: Request, submission_id: int) -> Thread:
    """Return the comments on a submission. Deleted comments remain as gaps if they have replies."""
    query = f"{REMARK} WHERE c.submission_id = :submission_id ORDER BY score DESC, c.comment_id"
    rows = request.db.execute(query, {"me": my_id(request), "submission_id": submission_id}).fetchall()
    answered: set[int | None] = set()
    for row in sorted(rows, key=lambda row: -row["comment_id"]):
        if row["state"] == "visible" or row["comment_id"] in answered:
            answered.add(row["parent_id"])
    thread: Thread = {}
    for row in rows:
        if row["state"] == "visible" or row["comment_id"] in answered:
            thread.setdefault(row["parent_id"], []).append(row)
    return thread


def render_submission(request: Request, row: sqlite3.Row, *, typed: str = "", errors: Sequence[str] = ()) -> str:
    """Return the page of a submission; `typed` is the text of a comment that was rejected because of `errors`."""
    thread = thread_of(request, row["submission_id"])
    first = thread.get(None, [])
    pager = Pager.of(request, len(first), PER_PAGE)
    return request.render(
        "submission.html",
        submission=row,
        thread=thread,
        first=pager.cut(first),
        pager=pager,
        typed=typed,
        errors=errors,
        **sidebar(request, find_forum(request, row["forum"])),
    )


@site.get("/f/<name>/<int:submission_id>")
@site.get("/f/<name>/<int:submission_id>/<slug>")
def submission_page(request: Request, name: str, submission_id: int, slug: str = "") -> str | Response:
    """Show a submission with its comments at its canonical URL."""
    row = find_submission(request, submission_id)
    if (name, slug) != (row["forum"], row["slug"]):
        return redirect(queries.address(row))
    return render_submission(request, row)


@site.get("/submission_images/<int:image_id>.svg")
def picture(request: Request, image_id: int) -> Response:
    """Return the picture of a submission."""
    row = row_or_404(request.db, "SELECT description FROM image WHERE image_id = ?", (image_id,))
    return Response(draw_image(row["description"]), content_type="image/svg+xml")


@site.form("/f/<name>/<int:submission_id>/<slug>/edit", members_only)
def edit(request: Request, _: sqlite3.Row, submission_id: int, **__: str) -> str | Response:
    """Change the text of a submission of the current user."""
    row = by_me(request, find_submission(request, submission_id))
    values, errors = form_values(request, {"body": BODY}, row)
    if errors != []:
        return request.render("submission_edit.html", submission=row, **values, errors=errors or [])
    update(request.db, "submission", "submission_id", submission_id, **values, edited_at=request.stamp)
    return request.redirect(queries.address(row), "Your submission was edited.")


@site.post("/f/<name>/<int:submission_id>/<slug>/delete", members_only)
def delete(request: Request, _: sqlite3.Row, submission_id: int, **__: str) -> Response:
    """Delete a submission of the current user."""
    row = by_me(request, find_submission(request, submission_id))
    update(request.db, "submission", "submission_id", submission_id, state="deleted")
    return request.redirect(f"/f/{row['forum']}", "The submission was deleted.")


@site.post("/submission/<int:submission_id>/<any(hide, unhide):change>", members_only)
def hide(request: Request, user: sqlite3.Row, submission_id: int, change: str) -> Response:
    """Hide a submission in the current user's lists, or show it again."""
    row = find_submission(request, submission_id)
    query, notice = {
        "hide": ("INSERT OR IGNORE INTO hidden_submission VALUES (?, ?)", "hidden from"),
        "unhide": ("DELETE FROM hidden_submission WHERE user_id = ? AND submission_id = ?", "back in"),
    }[change]
    request.db.execute(query, (user["user_id"], submission_id))
    return request.redirect(return_url(request, queries.address(row)), f"“{row['title']}” is {notice} your lists.")


FIELDS = {
    "url": Field(
        "URL", required=False, limit=2_000, pattern=re.compile(r"https?://[^\s/\"<>][^\s\"<>]*"),
        hint="an address begins with http:// or https://.",
    ),
    "image": Field(
        "Image address", required=False, limit=300, pattern=re.compile(r"(?:https?://[^\s/]+)?/submission_images/[0-9]{1,9}\.svg"),
        hint="only pictures of this site can be posted, such as /submission_images/1.svg.",
    ),
    "title": Field("Title", limit=300),
    "body": BODY,
    "forum": Field("Forum", limit=25),
}  # fmt: skip


@site.get("/submit/<name>", members_only)
@site.form("/submit", members_only)
def submit(request: Request, user: sqlite3.Row, name: str = "") -> str | Response:
    """Create a submission, upvoted by its author. The URL of the form may contain the forum."""
    values, errors = dict.fromkeys(FIELDS, "") | {"forum": find_forum(request, name)["name"] if name else ""}, list[str]()
    if request.method == "POST":
        values = read(request, FIELDS)
        values["title"] = " ".join(values["title"].split())
        errors = complaints(values, FIELDS)
        forum = first(request.db, "SELECT * FROM forum WHERE name = ?", (values["forum"],))
        if values["forum"] and forum is None:
            errors.append(f"Forum: there is no forum called {values['forum'][:25]}.")
        if values["url"] and values["image"]:
            errors.append("Give either a URL or an image address, not both.")
        image, picture = None, values["image"] or values["url"]
        if not errors and FIELDS["image"].fits(picture):
            host, _, number = picture.removesuffix(".svg").rpartition("/submission_images/")
            if number and host.partition("://")[2] in ("", request.host):
                image = first(request.db, "SELECT image_id FROM image WHERE image_id = ?", (int(number),))
        if values["image"] and not errors and image is None:
            errors.append("Image address: there is no such picture here.")
        if not errors and forum is not None:
            part = slug(values["title"])
            submission_id = insert(
                request.db, "submission", forum_id=forum["forum_id"], user_id=user["user_id"], title=values["title"], slug=part,
                url=None if image else values["url"] or None, image_id=image and image["image_id"], body=values["body"],
                created_at=request.stamp,
            )  # fmt: skip
            request.db.execute("INSERT INTO submission_vote VALUES (?, ?, 1)", (submission_id, user["user_id"]))
            return redirect(f"/f/{forum['name']}/{submission_id}/{part}")
    forums = request.db.execute("SELECT name FROM forum ORDER BY name COLLATE NOCASE").fetchall()
    return request.render("submit.html", values=values, forums=forums, errors=errors)


COMMENT_FIELDS = {"comment": Field("Comment", limit=10_000)}
_THREAD = "/f/<name>/<int:submission_id>/<slug>"
_COMMENT = f"{_THREAD}/comment/<int:comment_id>"


def find_comment(request: Request, submission_id: int, comment_id: int) -> tuple[sqlite3.Row, sqlite3.Row]:
    """Return a submission and a visible comment on it. Raises NotFound."""
    submission = find_submission(request, submission_id)
    row = queries.comment(request.db, comment_id, my_id(request))
    if row is None or row["submission_id"] != submission_id or row["state"] != "visible":
        raise NotFound("There is no such comment.")
    return submission, row


@site.get(_COMMENT)
def comment_page(request: Request, submission_id: int, comment_id: int, **_: str) -> str:
    """Show a comment with its replies and a form for a reply."""
    return _comment_page(request, *find_comment(request, submission_id, comment_id))


@site.post(f"{_THREAD}/comment", members_only)
@site.post(_COMMENT, members_only)
def write(request: Request, user: sqlite3.Row, submission_id: int, comment_id: int | None = None, **_: str) -> str | Response:
    """Write a comment on a submission or a reply, upvoted by its author, and return to the thread."""
    if comment_id is None:
        submission, row = find_submission(request, submission_id), None
    else:
        submission, row = find_comment(request, submission_id, comment_id)
    values, errors = read_and_check(request, COMMENT_FIELDS)
    if submission["is_locked"] and not find_forum(request, submission["forum"])["is_moderated"]:
        errors = ["This submission is locked. No new comments can be posted."]
    if errors and row is not None:
        return _comment_page(request, submission, row, values["comment"], errors)
    if errors:
        return render_submission(request, submission, typed=values["comment"], errors=errors)
    columns = {"submission_id": submission_id, "parent_id": comment_id, "user_id": user["user_id"], "body": values["comment"]}
    written = insert(request.db, "comment", **columns, created_at=request.stamp)
    request.db.execute("INSERT INTO comment_vote VALUES (?, ?, 1)", (written, user["user_id"]))
    return request.redirect(f"{queries.address(submission)}#comment_{written}", "Your comment was posted.")


def _comment_page(
    request: Request, submission: sqlite3.Row, row: sqlite3.Row, typed: str = "", errors: list[str] | None = None
) -> str:
    return request.render(
        "comment.html",
        submission=submission,
        comment=row,
        thread=thread_of(request, submission["submission_id"]),
        typed=typed,
        errors=errors or [],
        **sidebar(request, find_forum(request, submission["forum"])),
    )


@site.form(f"{_COMMENT}/edit", members_only)
def edit_comment(request: Request, _: sqlite3.Row, submission_id: int, comment_id: int, **__: str) -> str | Response:
    """Change a comment of the current user."""
    row = by_me(request, find_comment(request, submission_id, comment_id)[1])
    values, errors = form_values(request, COMMENT_FIELDS, {"comment": row["body"]})
    if errors != []:
        return request.render("comment_edit.html", comment=row, body=values["comment"], errors=errors or [])
    update(request.db, "comment", "comment_id", comment_id, body=values["comment"], edited_at=request.stamp)
    return request.redirect(f"{queries.address(row)}#comment_{comment_id}", "Your comment was edited.")


@site.post(f"{_COMMENT}/<any(delete, remove):change>", members_only)
def end_comment(request: Request, _: sqlite3.Row, submission_id: int, comment_id: int, change: str, **__: str) -> Response:
    """Delete a comment of the current user, or remove one in a forum that the user moderates."""
    submission, row = find_comment(request, submission_id, comment_id)
    if change == "delete":
        by_me(request, row)
    else:
        moderated_forum(request, submission["forum"])
    update(request.db, "comment", "comment_id", comment_id, state=f"{change}d")
    return request.redirect(queries.address(submission), f"The comment was {change}d.")


@site.post("/vote/<any(submission, comment):what>/<int:identity>", members_only)
def vote(request: Request, user: sqlite3.Row, what: str, identity: int) -> Response:
    """Replace the current user's vote on a submission or comment."""
    if what == "comment":
        row = queries.comment(request.db, identity, my_id(request))
        submission, _ = find_comment(request, row["submission_id"] if row else 0, identity)
    else:
        submission = find_submission(request, identity)
    if (choice := request.form.get("choice")) not in ("1", "-1", "0"):  # for, against, and neither
        raise BadRequest("A vote is 1, -1 or 0.")
    request.db.execute(f"DELETE FROM {what}_vote WHERE {what}_id = ? AND user_id = ?", (identity, user["user_id"]))
    if choice != "0":
        request.db.execute(f"INSERT INTO {what}_vote VALUES (?, ?, ?)", (identity, user["user_id"], int(choice)))
    return redirect(return_url(request, queries.address(submission)))


CHANGES: dict[str, tuple[dict[str, object], str]] = {
    "remove": ({"state": "removed"}, "The submission was removed."),
    "restore": ({"state": "visible"}, "The submission was restored."),
    "lock": ({"is_locked": 1}, "The submission was locked."),
    "unlock": ({"is_locked": 0}, "The submission was unlocked."),
    "pin": ({"is_sticky": 1}, "The submission was made sticky."),
    "unpin": ({"is_sticky": 0}, "The submission is no longer sticky."),
}
"""Actions on a submission: what they set, and the message afterwards."""


@site.post(f"/submission/<int:submission_id>/<any({', '.join(CHANGES)}):change>", members_only)
def moderate(request: Request, _: sqlite3.Row, submission_id: int, change: str) -> Response:
    """Change a submission in a forum that the current user moderates."""
    submission = find_submission(request, submission_id)
    moderated_forum(request, submission["forum"])
    values, message = CHANGES[change]
    update(request.db, "submission", "submission_id", submission_id, **values)
    return request.redirect(return_url(request, queries.address(submission)), message)


@site.get("/f/<name>/moderators")
def moderators(request: Request, name: str) -> str:
    """Show the moderators of a forum, with a form for moderators to add one."""
    return request.render("moderators.html", username="", errors=[], **sidebar(request, find_forum(request, name)))


@site.post("/f/<name>/moderators", members_only)
def add_moderator(request: Request, _: sqlite3.Row, name: str) -> str | Response:
    """Make a user a moderator."""
    forum = moderated_forum(request, name)
    values, errors = read_and_check(request, {"username": Field("Username", limit=25)})
    user = queries.user_named(request.db, values["username"])
    if not errors and user is None:
        errors.append("Username: there is no user of this name.")
    if errors or user is None:
        return request.render("moderators.html", **values, errors=errors, **sidebar(request, forum))
    request.db.execute("INSERT OR IGNORE INTO moderator VALUES (?, ?, ?)", (forum["forum_id"], user["user_id"], request.stamp))
    return request.redirect(f"/f/{forum['name']}/moderators", f"{user['username']} is a moderator of {forum['name']}.")
