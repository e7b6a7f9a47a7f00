"""Oracles of the forum: what many comments say, from the facts that their texts are made of."""

from collections import Counter
from datetime import timedelta
from typing import Any

from tests.oracles.framework import Case, Outcome, only
from tests.oracles.reddit import FORUM, forum_named, post_titled, upvote_posts


def _said(case: Case, title: str, forum: str) -> list[dict[str, Any]]:
    """Return the visible comments of a thread with their facts, by time."""
    query = """SELECT c.comment_id, c.user_id, u.username, c.created_at, f.* FROM comment c JOIN user u USING (user_id)
        JOIN comment_fact f USING (comment_id) WHERE submission_id = ? AND state = 'visible' ORDER BY c.created_at, c.comment_id"""
    return case.rows(FORUM, query, post_titled(case, title, forum)["submission_id"])


def _opinions(case: Case, title: str, forum: str) -> dict[str, str]:
    """Return the claim that each user holds in the end."""
    return {comments["username"]: comments["subject"] for comments in _said(case, title, forum) if comments["kind"] == "stand"}


def stand_in_the_end(case: Case) -> Outcome:
    """Count the users who hold a claim in the end."""
    return Outcome(sum(claim == case["claim"] for claim in _opinions(case, case["title"], case["forum"]).values()))


def changed_sides(case: Case) -> Outcome:
    """List the users who say that they have changed their mind."""
    comments = _said(case, case["title"], case["forum"])
    return Outcome(sorted({one["username"] for one in comments if one["kind"] == "stand" and one["stance"] == "changed"}))


def of_two_opinions(case: Case) -> Outcome:
    """List the users who hold one claim in one thread and another in another."""
    first = _opinions(case, case["title"], case["forum"])
    second = _opinions(case, case["other_title"], case["other_forum"])
    both = {name for name, claim in first.items() if claim == case["first"]}
    return Outcome(sorted(name for name, claim in second.items() if claim == case["second"] and name in both))


def reason_given(case: Case) -> Outcome:
    """Count the users who give a reason."""
    comments = _said(case, case["title"], case["forum"])
    return Outcome(len({one["username"] for one in comments if one["kind"] == "stand" and one["reason"] == case["reason"]}))


def most_convincing(case: Case) -> Outcome:
    """Name the user whom most of those name who changed their mind."""
    comments = _said(case, case["title"], case["forum"])
    pairs = {(one["username"], one["somebody"]) for one in comments if one["stance"] == "changed" and one["somebody"]}
    counts = Counter(somebody for _, somebody in pairs)
    most = max(counts.values())
    return Outcome(str(only([name for name, count in counts.items() if count == most], "most convincing users")))


def _answers(case: Case) -> list[dict[str, Any]]:
    """Return the answers of a thread, those of its author left out."""
    author = post_titled(case, case["title"], case["forum"])["user_id"]
    comments = _said(case, case["title"], case["forum"])
    return [one for one in comments if one["kind"] == "answer" and one["user_id"] != author]


def worked_for(case: Case) -> Outcome:
    """Count the users for whom a remedy has worked."""
    return Outcome(len({a["username"] for a in _answers(case) if a["subject"] == case["remedy"] and a["stance"] == "worked"}))


def hearsay_of(case: Case) -> Outcome:
    """Count the users who pass on what they have heard and not tried."""
    tried = {(a["username"], a["subject"]) for a in _answers(case) if a["stance"] in ("worked", "failed")}
    heard = {(a["username"], a["subject"]) for a in _answers(case) if a["stance"] == "heard"}
    return Outcome(len({name for name, _ in heard - tried}))


def tried_by(case: Case) -> Outcome:
    """Count the users who have tried a remedy."""
    stances = ("worked", "failed")
    return Outcome(len({a["username"] for a in _answers(case) if a["subject"] == case["remedy"] and a["stance"] in stances}))


def upvote_first_hand(case: Case) -> Outcome:
    """Upvote the recent reports of a forum by people with experience of their own."""
    since = (case.now - timedelta(days=int(case["days"]))).strftime("%Y-%m-%d %H:%M:%S")
    query = """SELECT s.* FROM submission s JOIN submission_fact f USING (submission_id)
        WHERE forum_id = ? AND created_at >= ? AND state = 'visible' AND f.kind = 'report' AND f.is_first_hand"""
    return upvote_posts(case, case.rows(FORUM, query, forum_named(case, case["forum"])["forum_id"], since))


ORACLES = {
    "hard.stand_in_the_end": stand_in_the_end,
    "hard.changed_sides": changed_sides,
    "hard.of_two_opinions": of_two_opinions,
    "hard.reason_given": reason_given,
    "hard.most_convincing": most_convincing,
    "hard.worked_for": worked_for,
    "hard.hearsay_of": hearsay_of,
    "hard.tried_by": tried_by,
    "hard.upvote_first_hand": upvote_first_hand,
}
