"""SQL that several pages share. The parameter `:me` is the id of the current user, 0 for guests."""

import sqlite3

from webarena_gym.sites.kit.database import first, value

SORTS = {
    "hot": "Hot", "new": "New", "active": "Active", "top": "Top", "controversial": "Controversial",
    "most_commented": "Most commented",
}  # fmt: skip
"""The orders of a list of submissions, by their part of the address."""

PERIODS = {"day": "24 hours", "week": "Week", "month": "Month", "year": "Year", "all": "All time"}
"""Periods of the orders of `WITH_PERIOD`, by the argument `t`; the first is the default."""

WITH_PERIOD = ("top", "controversial", "most_commented")
DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_COMMENTS = "(SELECT count(*) FROM comment c WHERE c.submission_id = s.submission_id AND c.state = 'visible')"
_ACTIVE_AT = """(SELECT coalesce(max(c.created_at), s.created_at) FROM comment c
    WHERE c.submission_id = s.submission_id AND c.state = 'visible')"""

ORDER_BY = {
    "hot": "CAST(strftime('%s', s.created_at) AS INTEGER) + 600 * (s.up - s.down) DESC", "new": "s.created_at DESC",
    "active": f"{_ACTIVE_AT} DESC", "top": "s.up - s.down DESC", "controversial": "min(s.up, s.down) DESC",
    "most_commented": f"{_COMMENTS} DESC",
}  # fmt: skip

CARD = f"""
    SELECT s.*, s.up - s.down AS score, f.name AS forum, u.username AS author, i.description AS image,
        {_COMMENTS} AS comments, {_ACTIVE_AT} AS active_at,
        (SELECT choice FROM submission_vote v WHERE v.submission_id = s.submission_id AND v.user_id = :me) AS my_vote
    FROM submission s JOIN forum f USING (forum_id) JOIN user u USING (user_id) LEFT JOIN image i USING (image_id)
"""
"""Submissions with all that their entry in a list shows."""

LISTED = """s.state = 'visible'
    AND s.user_id NOT IN (SELECT blocked_id FROM user_block WHERE user_id = :me)
    AND s.submission_id NOT IN (SELECT submission_id FROM hidden_submission WHERE user_id = :me)"""
"""SQL condition of lists: nothing that is gone, that blocked people wrote, or that the visitor has hidden."""

REMARK = """
    SELECT c.*, c.up - c.down AS score, u.username AS author, s.title, s.slug, s.is_locked, s.user_id AS submitter_id,
        f.forum_id, f.name AS forum,
        (SELECT choice FROM comment_vote v WHERE v.comment_id = c.comment_id AND v.user_id = :me) AS my_vote,
        c.user_id IN (SELECT blocked_id FROM user_block WHERE user_id = :me) AS is_blocked
    FROM comment c JOIN submission s USING (submission_id) JOIN forum f USING (forum_id) JOIN user u ON u.user_id = c.user_id
"""
"""Comments with the columns of pages, and their submissions and forums."""

FORUM = """
    SELECT f.*,
        (SELECT count(*) FROM subscription x WHERE x.forum_id = f.forum_id) AS subscribers,
        (SELECT count(*) FROM submission s WHERE s.forum_id = f.forum_id AND s.state = 'visible') AS submissions,
        EXISTS (SELECT 1 FROM subscription x WHERE x.forum_id = f.forum_id AND x.user_id = :me) AS is_subscribed,
        EXISTS (SELECT 1 FROM moderator m WHERE m.forum_id = f.forum_id AND m.user_id = :me) AS is_moderated
    FROM forum f
"""
"""Forums with their counts."""


def user_named(db: sqlite3.Connection, username: str) -> sqlite3.Row | None:
    """Return a user by name, ignoring case."""
    return first(db, "SELECT * FROM user WHERE username = ?", (username,))


def tags(db: sqlite3.Connection, forum_id: int) -> list[str]:
    """Return a forum's tags in alphabetical order."""
    return [row["tag"] for row in db.execute("SELECT tag FROM forum_tag WHERE forum_id = ? ORDER BY tag", (forum_id,))]


def moderators(db: sqlite3.Connection, forum_id: int) -> list[sqlite3.Row]:
    """Return a forum's moderators, longest serving first."""
    query = "SELECT u.*, m.since FROM moderator m JOIN user u USING (user_id) WHERE forum_id = ? ORDER BY m.since, user_id"
    return db.execute(query, (forum_id,)).fetchall()


def comment(db: sqlite3.Connection, comment_id: int, me: int) -> sqlite3.Row | None:
    """Return a comment, also a deleted or removed one."""
    return first(db, f"{REMARK} WHERE c.comment_id = :comment_id", {"me": me, "comment_id": comment_id})


def is_blocked(db: sqlite3.Connection, user_id: int, blocked_id: int) -> bool:
    """Return True if a user has blocked another."""
    return first(db, "SELECT 1 FROM user_block WHERE user_id = ? AND blocked_id = ?", (user_id, blocked_id)) is not None


def unread_count(db: sqlite3.Connection, user_id: int) -> int:
    """Return the number of unread messages of a user."""
    query = """
        SELECT count(*) FROM message m JOIN message_thread t USING (thread_id)
        WHERE ? IN (t.sender_id, t.receiver_id) AND m.sender_id != ? AND NOT m.is_read
    """
    return int(value(db, query, (user_id, user_id)))


def address(row: sqlite3.Row) -> str:
    """Return the path of the thread of a submission or comment."""
    return f"/f/{row['forum']}/{row['submission_id']}/{row['slug']}"
