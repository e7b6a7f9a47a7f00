"""Votes for and against submissions and comments, which can be taken back."""

import sqlite3

from werkzeug.exceptions import BadRequest

from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import members_only, my_id, site
from webarena_gym.sites.reddit.views.comments import find_comment
from webarena_gym.sites.reddit.views.submissions import find_submission

CHOICES = {"1": 1, "-1": -1, "0": 0}  # for, against, and neither


@site.post("/vote/submission/<int:submission_id>")
@members_only
def vote_on_submission(request: Request, user: sqlite3.Row, submission_id: int) -> Response:
    """Take a vote on a submission in the place of an earlier one."""
    submission = find_submission(request, submission_id)
    _vote(request, "submission", submission_id, user["user_id"])
    return redirect(return_url(request, queries.address(submission)))


@site.post("/vote/comment/<int:comment_id>")
@members_only
def vote_on_comment(request: Request, user: sqlite3.Row, comment_id: int) -> Response:
    """Take a vote on a comment in the place of an earlier one."""
    row = queries.comment(request.db, comment_id, my_id(request))
    submission, _ = find_comment(request, row["submission_id"] if row else 0, comment_id)
    _vote(request, "comment", comment_id, user["user_id"])
    return redirect(return_url(request, queries.address(submission)))


def _vote(request: Request, what: str, identity: int, user_id: int) -> None:
    choice = CHOICES.get(request.form.get("choice", ""))
    if choice is None:
        raise BadRequest("A vote is 1, -1 or 0.")
    request.db.execute(f"DELETE FROM {what}_vote WHERE {what}_id = ? AND user_id = ?", (identity, user_id))
    if choice:
        request.db.execute(f"INSERT INTO {what}_vote VALUES (?, ?, ?)", (identity, user_id, choice))
