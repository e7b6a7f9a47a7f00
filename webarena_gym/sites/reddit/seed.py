"""The generator of the forum's database: forums, people, and all that they said, from one integer."""

import sqlite3
from datetime import datetime, timedelta
from typing import Any

from webarena_gym.sites.country.clock import moment
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.indexing import fill_words
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.seeding import insert
from webarena_gym.sites.kit.sessions import sign_in
from webarena_gym.sites.reddit.texts import slug
from webarena_gym.sites.reddit.world import forums, people, posts, threads
from webarena_gym.sites.reddit.world.forums import Forum, Voice
from webarena_gym.sites.reddit.world.people import ME, User
from webarena_gym.sites.reddit.world.posts import Comment, Submission
from webarena_gym.sites.reddit.world.sizes import SIZES, Sizes
from webarena_gym.sites.reddit.world.threads import Threads

OWN_SUBSCRIPTIONS = 9
CORRESPONDENTS = 4  # people with whom I have exchanged messages
_UP_PERCENT = {"good": 92, "neutral": 72, "bad": 22}


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer, and commit."""
    dice = Dice(f"forum/{seed}")
    now = moment(seed)
    users = people.draw(seed, now, scale)
    places = forums.draw(seed, now, scale)
    if scale == "large":
        said = threads.draw(seed, now, places, users, scale)
        submissions, comments = said.submissions, said.comments
        _insert_facts(db, said)
    else:
        submissions = posts.draw_submissions(seed, now, places, users)
        comments = posts.draw_comments(seed, now, submissions, users)

    insert(db, "world", [("seed", str(seed)), ("now", str(now))])
    voice, sizes = Voice(seed, dice, scale), SIZES[scale]
    _insert_users(db, voice, users, places)
    _insert_forums(db, dice, users, places, sizes)
    _insert_posts(db, submissions, comments)
    _insert_votes(db, dice, now, users, submissions, comments, sizes)
    _insert_own(db, voice, now, users, places, submissions, sizes)
    fill_words(db)
    sign_in(db, site="reddit", user_id=ME)
    db.commit()


def _insert_users(db: sqlite3.Connection, voice: Voice, users: list[User], places: list[Forum]) -> None:
    dice = voice.dice
    rows = []
    for user in users:
        has_biography = user.user_id == ME or dice.chance(60 if user.writes else 20)
        biography = voice.say("biographies", dice.pick(places)) if has_biography else ""
        rows.append((user.user_id, user.username, user.email, user.password, biography, "auto", "subscribed", user.created_at))
    insert(db, "user", rows)


def _insert_forums(db: sqlite3.Connection, dice: Dice, users: list[User], places: list[Forum], sizes: Sizes) -> None:
    """Write forums with their moderators and subscribers. I moderate one of them."""
    insert(db, "forum", [(f.forum_id, f.name, f.title, f.description, f.sidebar, f.created_at) for f in places])
    insert(db, "forum_tag", sorted((forum.forum_id, tag) for forum in places for tag in forum.tags))
    own = dice.below(len(places))
    moderators = []
    for index, forum in enumerate(places):
        chosen = dice.some(users[1 : sizes.writers], dice.between(1, 3))
        if index == own:
            chosen = [users[ME - 1], *chosen[:1]]
        moderators += [
            (forum.forum_id, user.user_id, forum.created_at + timedelta(days=30 * place)) for place, user in enumerate(chosen)
        ]
    insert(db, "moderator", moderators)
    mine = [places[own], *dice.some([forum for forum in places if forum is not places[own]], OWN_SUBSCRIPTIONS - 1)]
    subscriptions = [(forum.forum_id, ME) for forum in mine]
    for forum in places:
        subscriptions += [(forum.forum_id, user.user_id) for user in users[1:] if dice.chance(forum.popularity)]
    insert(db, "subscription", sorted(subscriptions))


def _insert_posts(db: sqlite3.Connection, submissions: list[Submission], comments: list[Comment]) -> None:
    images = [submission for submission in submissions if submission.image]
    number = {submission.submission_id: image_id for image_id, submission in enumerate(images, 1)}
    insert(db, "image", [(number[submission.submission_id], submission.image) for submission in images])
    insert(
        db,
        "submission",
        [
            (
                s.submission_id, s.forum.forum_id, s.user.user_id, s.title, slug(s.title), s.url or None,
                number.get(s.submission_id), s.body, s.created_at, "removed" if s.is_removed else "visible",
                int(s.is_locked), int(s.is_sticky),
            )
            for s in submissions
        ],
        "(submission_id, forum_id, user_id, title, slug, url, image_id, body, created_at, state, is_locked, is_sticky)",
    )  # fmt: skip
    insert(
        db,
        "comment",
        [(c.comment_id, c.submission_id, c.parent_id, c.user.user_id, c.body, c.created_at) for c in comments],
        "(comment_id, submission_id, parent_id, user_id, body, created_at)",
    )


def _insert_facts(db: sqlite3.Connection, said: Threads) -> None:
    """Write what the texts say."""
    insert(db, "submission_fact", [(number, *threads.post_row(facts)) for number, facts in said.posts.items()])
    points = [
        (number, position, *point)
        for number, facts in said.posts.items()
        for position, point in enumerate(threads.post_points(facts), 1)
    ]
    insert(db, "submission_point", points)
    insert(db, "comment_fact", [(number, *threads.remark_row(facts)) for number, facts in said.remarks.items()])


def _insert_votes(
    db: sqlite3.Connection,
    dice: Dice,
    now: datetime,
    users: list[User],
    submissions: list[Submission],
    comments: list[Comment],
    sizes: Sizes,
) -> None:
    """Write who voted for what. Everybody is for what they wrote; I vote now and then."""
    for_submissions = []
    for submission in submissions:
        age_days = (now - submission.created_at).total_seconds() / 86400
        reach = (4 + dice.below(70) * dice.below(100) / 100) * min(1.0, 0.2 + age_days / 2)
        liking = dice.weigh((96, 85, 65, 40), (6, 5, 3, 1))
        for user in _voters(dice, users, submission.user, sizes.voters):
            if user is submission.user:
                for_submissions.append((submission.submission_id, user.user_id, 1))
            elif dice.chance(3 if user.user_id == ME else reach):
                for_submissions.append((submission.submission_id, user.user_id, 1 if dice.chance(liking) else -1))
    insert(db, "submission_vote", for_submissions)
    for_comments = []
    for comment in comments:
        reach = dice.pick((0, 1, 1, 2, 4, 7))
        for user in _voters(dice, users, comment.user, sizes.comment_voters):
            if user is comment.user:
                for_comments.append((comment.comment_id, user.user_id, 1))
            elif dice.chance(0.5 if user.user_id == ME else reach):
                for_comments.append((comment.comment_id, user.user_id, 1 if dice.chance(_UP_PERCENT[comment.tone]) else -1))
    insert(db, "comment_vote", for_comments)


def _voters(dice: Dice, users: list[User], author: User, count: int) -> list[User]:
    """Return who may vote for something: everybody, or where there are many, me, the author, and some who were born in a row."""
    if count >= len(users):
        return users
    start = dice.below(len(users) - count)
    near = users[start : start + count]
    return [*near, *(user for user in dict.fromkeys((users[ME - 1], author)) if user not in near)]


def _insert_own(
    db: sqlite3.Connection,
    voice: Voice,
    now: datetime,
    users: list[User],
    places: list[Forum],
    submissions: list[Submission],
    sizes: Sizes,
) -> None:
    """Write whom I have blocked, what I have hidden, and the messages that I got and sent."""
    dice = voice.dice
    # Only people who write nothing are blocked, so that what others see is what I see.
    blocked = dice.some(users[sizes.writers :], 3)
    insert(db, "user_block", sorted((ME, user.user_id, now - timedelta(days=dice.between(2, 300))) for user in blocked))
    others = [s for s in submissions if s.user.user_id != ME and not s.is_removed]
    insert(db, "hidden_submission", sorted((ME, submission.submission_id) for submission in dice.some(others, 3)))
    threads: list[tuple[datetime, int, int, list[tuple[int, str]]]] = []
    for place, other in enumerate(dice.some(users[1 : sizes.writers], CORRESPONDENTS)):
        forum = dice.pick(places)
        sides = (ME, other.user_id) if place % 2 else (other.user_id, ME)
        said = [(sides[0], voice.say("messages", forum)), (sides[1], voice.say("replies", forum))]
        # The latest message is from somebody else, and still to be read.
        start = now - timedelta(days=40 * place + dice.between(1, 30), minutes=dice.below(600))
        threads.append((start, *sides, said[: 1 + (place > 0 and dice.chance(70))]))
    threads.sort()
    insert(db, "message_thread", [(number, *thread[1:3]) for number, thread in enumerate(threads, 1)])
    messages: list[tuple[Any, ...]] = []
    for number, (start, _, _, said) in enumerate(threads, 1):
        for turn, (sender_id, body) in enumerate(said):
            is_read = int(number < len(threads))
            messages.append((len(messages) + 1, number, sender_id, body, start + timedelta(minutes=37 * turn), is_read))
    insert(db, "message", messages)
