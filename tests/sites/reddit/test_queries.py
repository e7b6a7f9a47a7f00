"""Queries of the forum, compared with plain counts of rows."""

from contextlib import closing

import pytest

from webarena_gym.sites.reddit import queries
from webarena_gym.sites.world import load_world


@pytest.fixture(scope="module")
def db():
    with closing(load_world(1000).open()) as databases:
        yield databases["reddit"].connection


def values(db, query, *parameters):
    return [row[0] for row in db.execute(query, parameters)]


def test_users_are_found_by_name_in_any_case(db):
    name, number = db.execute("SELECT username, user_id FROM user WHERE user_id = 3").fetchone()
    assert queries.user_named(db, name.upper())["user_id"] == number
    assert queries.user_named(db, f"{name}x") is None


def test_counts_of_forums(db):
    for row in db.execute(queries.FORUM, {"me": 1}).fetchall():
        number = row["forum_id"]
        assert row["subscribers"] == len(values(db, "SELECT user_id FROM subscription WHERE forum_id = ?", number))
        assert (
            row["submissions"]
            == values(db, "SELECT count(*) FROM submission WHERE forum_id = ? AND state = 'visible'", number)[0]
        )
        assert row["is_subscribed"] == (1 in values(db, "SELECT user_id FROM subscription WHERE forum_id = ?", number))
        assert row["is_moderated"] == (1 in {user["user_id"] for user in queries.moderators(db, number)})
        since = [user["since"] for user in queries.moderators(db, number)]
        assert since == sorted(since)
        assert queries.tags(db, number) == sorted(queries.tags(db, number))


def test_cards_have_scores_comments_and_the_vote_of_the_user(db):
    rows = db.execute(f"{queries.CARD} WHERE {queries.LISTED} ORDER BY {queries.ORDER_BY['top']}", {"me": 1}).fetchall()
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    for row in rows[:20]:
        comments = values(
            db, "SELECT created_at FROM comment WHERE submission_id = ? AND state = 'visible'", row["submission_id"]
        )
        assert (row["comments"], row["active_at"]) == (len(comments), max(comments, default=row["created_at"]))
        votes = values(db, "SELECT choice FROM submission_vote WHERE submission_id = ? AND user_id = 1", row["submission_id"])
        assert row["my_vote"] == (votes[0] if votes else None)
        assert queries.address(row) == f"/f/{row['forum']}/{row['submission_id']}/{row['slug']}"


def test_hidden_posts_and_those_of_blocked_users_are_not_listed(db):
    count = f"SELECT count(*) FROM submission s WHERE {queries.LISTED}"
    post, author = db.execute(
        "SELECT submission_id, user_id FROM submission WHERE state = 'visible' AND user_id != 1 LIMIT 1"
    ).fetchone()
    before = db.execute(count, {"me": 1}).fetchone()[0]
    db.execute("SAVEPOINT test")
    try:
        db.execute("INSERT INTO hidden_submission (user_id, submission_id) VALUES (1, ?)", (post,))
        assert db.execute(count, {"me": 1}).fetchone()[0] == before - 1
        assert not queries.is_blocked(db, 1, author)
        db.execute("INSERT INTO user_block (user_id, blocked_id, since) VALUES (1, ?, '2030-01-01')", (author,))
        assert queries.is_blocked(db, 1, author)
        assert not queries.is_blocked(db, author, 1)
        theirs = values(db, "SELECT count(*) FROM submission WHERE user_id = ? AND state = 'visible'", author)[0]
        assert db.execute(count, {"me": 1}).fetchone()[0] == before - theirs
    finally:
        db.execute("ROLLBACK TO test")
        db.execute("RELEASE test")


def test_unread_messages_are_those_of_others(db):
    for user in (1, 2, 3):
        threads = values(db, "SELECT thread_id FROM message_thread WHERE ? IN (sender_id, receiver_id)", user)
        messages = db.execute("SELECT thread_id, sender_id, is_read FROM message").fetchall()
        expected = sum(row["thread_id"] in threads and row["sender_id"] != user and not row["is_read"] for row in messages)
        assert queries.unread_count(db, user) == expected


def test_a_comment_has_its_thread(db):
    number, thread = db.execute("SELECT comment_id, submission_id FROM comment ORDER BY comment_id LIMIT 1").fetchone()
    assert queries.comment(db, number, 1)["submission_id"] == thread
    assert queries.comment(db, 0, 1) is None
