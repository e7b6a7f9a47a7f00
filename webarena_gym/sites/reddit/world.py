"""The generator of the forum's database, and the threads of large worlds, which are composed from facts."""

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, is_held_out, moment
from webarena_gym.sites.country.geography import country
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.prose import threads as threads_prose
from webarena_gym.sites.prose.threads import Discussion
from webarena_gym.sites.reddit.world_posts import (
    LONGEST_TITLE,
    ME,
    OWN_COMMENTS,
    OWN_SUBMISSIONS,
    SIZES,
    Authors,
    Comment,
    Forum,
    Sizes,
    Submission,
    Tone,
    User,
    Voice,
    comment_count,
    draw_comments,
    draw_forums,
    draw_people,
    draw_submissions,
    later,
    moments,
    number_comments,
    pool,
    slug,
    submit,
)

_TRIAL = timedelta(days=2)  # from a proposed remedy to the report of its result, or half of the time until now if that is less
_TRIES = 8  # draws of a thread before a suffix makes its title unique


class Threads(NamedTuple):
    """Posts and comments, oldest first; in large worlds also the facts of their texts, by the ids of posts and comments."""

    submissions: list[Submission]
    comments: list[Comment]
    posts: dict[int, threads_prose.Post]
    remarks: dict[int, threads_prose.Comment]


class _Drawer:
    """Draws the threads of a large world. No two posts have the same title."""

    def __init__(self, seed: int, now: datetime, forums: list[Forum], users: list[User], scale: Scale) -> None:
        self.dice = Dice(f"forum/threads/{seed}")
        self.now, self.forums, self.users, self.sizes = now, forums, users, SIZES[scale]
        self.is_held_out = is_held_out(seed)
        self.authors = Authors(users)
        self.by_name = {user.username: user for user in users}
        self.towns = [town.name for town in country(seed, scale).towns]
        self.titles: set[str] = set()

    def draw(self) -> Threads:
        dice, sizes, sticky = self.dice, self.sizes, set[str]()
        mine = dice.some(range(sizes.submissions // 2, sizes.submissions - 20), OWN_SUBMISSIONS)
        own_forums = dice.some([forum for forum in self.forums if not forum.image_percent], OWN_SUBMISSIONS)
        answered = dice.some(range(sizes.submissions // 3, sizes.submissions), 2 * OWN_COMMENTS)
        submissions, posts = [], {}
        drafts, facts = list[Comment](), list[threads_prose.Comment]()
        own_comments = 0
        for index, posted in enumerate(moments(dice, self.now, sizes)):
            is_mine, number = index in mine, index + 1
            forum = own_forums[mine.index(index)] if is_mine else dice.pick(self.forums)
            if not is_mine and index < sizes.dealt:
                forum = self.forums[index % len(self.forums)]
            thread, title, body = self._thread(forum, comment_count(dice, sizes, self.now - posted))
            others = [comment.author for comment in thread.comments if comment.author != thread.author]
            if is_mine:
                thread = self._as_mine(thread, thread.author)
            elif index in answered and others and own_comments < OWN_COMMENTS:
                thread = self._as_mine(thread, others[0])
                own_comments += 1
            author = partial(self.by_name.__getitem__, thread.author)
            submissions.append(submit(dice, sticky, number, forum, title, posted, is_mine=is_mine, author=author, body=body))
            posts[number] = thread.post
            first = len(drafts)
            last: dict[str, datetime] = {}  # time of the latest comment of each user, whose comments are in order
            for comment in thread.comments:
                parent = None if comment.parent is None else first + comment.parent
                since = max(posted, posted if parent is None else drafts[parent].created_at, last.get(comment.author, posted))
                if isinstance(comment.facts, threads_prose.Thanks):
                    since += min(_TRIAL, (self.now - since) / 2)
                remark = threads_prose.compose_comment(comment.facts, dice, is_held_out=self.is_held_out)
                last[comment.author] = moment = later(dice, since, self.now)
                drafts.append(Comment(0, number, parent, self.by_name[comment.author], remark, _tone(comment.facts), moment))
                facts.append(comment.facts)
        comments, order = number_comments(drafts)
        return Threads(submissions, comments, posts, {number: facts[index] for number, index in enumerate(order, 1)})

    def _thread(self, forum: Forum, count: int) -> tuple[Discussion, str, str]:
        """Draw a thread with `count` comments, and return it with the unique title and the text of its post."""
        dice = self.dice
        crowd = [self.authors.draw(dice).username for _ in range(count + 4)]
        places = [forum.town] if forum.town else self.towns
        tries = 0
        while True:
            thread = threads_prose.draw_discussion(
                dice, forum.name, crowd, count, works=forum.works, places=places, is_held_out=self.is_held_out
            )
            title, body = threads_prose.compose_post(
                thread.post, dice, is_held_out=self.is_held_out, longest_title=LONGEST_TITLE
            )
            tries += 1
            if tries > _TRIES:
                title = f"{title.rstrip('.?!')}: {dice.pick(pool()['again'])}"
            if len(title) <= LONGEST_TITLE and title not in self.titles:
                self.titles.add(title)
                return thread, title, body

    def _as_mine(self, thread: Discussion, name: str) -> Discussion:
        """Return the thread with a user replaced by the current user."""
        me = self.users[ME - 1].username
        comments = []
        for comment in thread.comments:
            facts = comment.facts
            if isinstance(facts, threads_prose.Thanks | threads_prose.Position) and facts.user == name:
                facts = replace(facts, user=me)  # comments that mention the user mention the current user
            comments.append(replace(comment, author=me if comment.author == name else comment.author, facts=facts))
        return replace(thread, author=me if thread.author == name else thread.author, comments=tuple(comments))


def _tone(facts: threads_prose.Comment) -> Tone:
    """Return the tone of a comment, which determines its votes."""
    match facts:
        case (
            threads_prose.Answer(kind="worked")
            | threads_prose.Thanks(has_helped=True)
            | threads_prose.Position(kind="agree" | "changed")
        ):
            return "good"
        case threads_prose.Answer(kind="failed") | threads_prose.Position(kind="disagree"):
            return "bad"
        case _:
            return "neutral"


def post_row(facts: threads_prose.Post) -> tuple[str, str, str, str, str, int, int]:
    """Return the columns of a post's row in `submission_fact` after its id."""
    first_hand = int(not (facts.asked_for if isinstance(facts, threads_prose.Question) else facts.heard_from))
    match facts:
        case threads_prose.Question():
            return ("question", facts.problem.name, facts.asked_for, _span(facts.lasting), facts.place, first_hand, 0)
        case threads_prose.Opening():
            span = _span(facts.experience)
            return ("opening", facts.side.text, facts.heard_from, span, facts.place, first_hand, int(facts.has_turned))
        case threads_prose.Report():
            return ("report", facts.name, facts.heard_from, _span(facts.experience), facts.place, first_hand, 0)


def remark_row(facts: threads_prose.Comment) -> tuple[str, str, str, str, str, str, int | None]:
    """Return the columns of a comment's row in `comment_fact` after its id.

    They are its kind, stance, subject, reason, the person that it names, the duration and the verdict.
    """
    match facts:
        case threads_prose.Answer():
            verdict = {"worked": 1, "failed": 0}.get(facts.kind)
            return ("answer", facts.kind, facts.remedy.name, "", facts.heard_from, "", verdict)
        case threads_prose.Thanks():
            stance = "helped" if facts.has_helped else "failed"
            return ("thanks", stance, facts.remedy.name, "", facts.user, "", int(facts.has_helped))
        case threads_prose.Position():
            return ("stand", facts.kind, facts.side.text, facts.reason, facts.user, _span(facts.experience), None)
        case threads_prose.Impression():
            is_heard = "heard" if facts.heard_from else "own"
            return ("impression", is_heard, facts.aspect, "", facts.heard_from, "", int(facts.is_good))
        case threads_prose.Detail():
            return ("detail", "reply" if facts.lasting else "asks", "", "", "", _span(facts.lasting), None)
        case threads_prose.Chatter():
            return ("chatter", "", "", "", "", "", None)


def _span(span: tuple[int, str] | None) -> str:
    return f"{span[0]} {span[1]}" if span else ""


OWN_SUBSCRIPTIONS = 9
CORRESPONDENTS = 4  # users who have exchanged messages with the current user
_UP_PERCENT = {"good": 92, "neutral": 72, "bad": 22}


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the empty tables of schema.sql with the world of a seed and scale, and commit."""
    dice = Dice(f"forum/{seed}")
    now = moment(seed)
    users = draw_people(seed, now, scale)
    places = draw_forums(seed, now, scale)
    if scale == "large":
        threads = _Drawer(seed, now, places, users, scale).draw()
        insert(db, "submission_fact", [(number, *post_row(facts)) for number, facts in threads.posts.items()])
        points: list[tuple[str, str, int | None]] = []
        for number, facts in threads.posts.items():
            match facts:
                case threads_prose.Question():
                    points = [("tried", remedy.name, 0) for remedy in facts.tried]
                case threads_prose.Opening():
                    points = [("reason", reason, None) for reason in facts.reasons]
                case threads_prose.Report():
                    points = [("aspect", aspect, int(is_good)) for aspect, is_good in facts.opinions]
            insert(db, "submission_point", [(number, position, *point) for position, point in enumerate(points, 1)])
        insert(db, "comment_fact", [(number, *remark_row(facts)) for number, facts in threads.remarks.items()])
    else:
        submissions = draw_submissions(seed, now, places, users)
        threads = Threads(submissions, draw_comments(seed, now, submissions, users), {}, {})
    insert(db, "world", [("seed", str(seed)), ("now", str(now))])
    voice, sizes = Voice(seed, dice, scale), SIZES[scale]
    rows = []
    for user in users:
        has_biography = user.user_id == ME or dice.chance(60 if user.writes else 20)
        biography = voice.sentence("biographies", dice.pick(places)) if has_biography else ""
        rows.append((user.user_id, user.username, user.email, user.password, biography, "auto", "subscribed", user.created_at))
    insert(db, "user", rows)
    _insert_forums(db, dice, users, places, sizes)
    _insert_posts(db, threads)
    _insert_votes(db, dice, now, users, threads, sizes)
    _insert_own(db, voice, now, users, places, threads, sizes)
    fill_words(db)
    sign_in(db, site="reddit", user_id=ME)
    db.commit()


def _insert_forums(db: sqlite3.Connection, dice: Dice, users: list[User], places: list[Forum], sizes: Sizes) -> None:
    """Write forums with their moderators and subscribers. The current user moderates one forum."""
    insert(db, "forum", [(f.forum_id, f.name, f.title, f.description, f.sidebar, f.created_at) for f in places])
    insert(db, "forum_tag", sorted((forum.forum_id, tag) for forum in places for tag in forum.tags))
    my_forum = dice.below(len(places))
    moderators = []
    for index, forum in enumerate(places):
        chosen = dice.some(users[1 : sizes.writers], dice.between(1, 3))
        if index == my_forum:
            chosen = [users[ME - 1], *chosen[:1]]
        moderators += [
            (forum.forum_id, user.user_id, forum.created_at + timedelta(days=30 * place)) for place, user in enumerate(chosen)
        ]
    insert(db, "moderator", moderators)
    rest = [forum for forum in places if forum is not places[my_forum]]
    mine = [places[my_forum], *dice.some(rest, OWN_SUBSCRIPTIONS - 1)]
    subscriptions = [(forum.forum_id, ME) for forum in mine]
    for forum in places:
        subscriptions += [(forum.forum_id, user.user_id) for user in users[1:] if dice.chance(forum.popularity)]
    insert(db, "subscription", sorted(subscriptions))


def _insert_posts(db: sqlite3.Connection, threads: Threads) -> None:
    submissions, comments = threads.submissions, threads.comments
    images = [submission for submission in submissions if submission.image]
    number = {submission.submission_id: image_id for image_id, submission in enumerate(images, 1)}
    insert(db, "image", [(number[submission.submission_id], submission.image) for submission in images])
    rows = [
        (
            s.submission_id, s.forum.forum_id, s.user.user_id, s.title, slug(s.title), s.url or None,
            number.get(s.submission_id), s.body, s.created_at, "removed" if s.is_removed else "visible",
            int(s.is_locked), int(s.is_sticky),
        )
        for s in submissions
    ]  # fmt: skip
    columns = "(submission_id, forum_id, user_id, title, slug, url, image_id, body, created_at, state, is_locked, is_sticky)"
    insert(db, "submission", rows, columns)
    remarks = [(c.comment_id, c.submission_id, c.parent_id, c.user.user_id, c.body, c.created_at) for c in comments]
    insert(db, "comment", remarks, "(comment_id, submission_id, parent_id, user_id, body, created_at)")


def _insert_votes(db: sqlite3.Connection, dice: Dice, now: datetime, users: list[User], threads: Threads, sizes: Sizes) -> None:
    """Write votes. Authors vote for their own posts and comments; the current user votes rarely."""
    for_submissions = []
    for submission in threads.submissions:
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
    for comment in threads.comments:
        reach = dice.pick((0, 1, 1, 2, 4, 7))
        for user in _voters(dice, users, comment.user, sizes.comment_voters):
            if user is comment.user:
                for_comments.append((comment.comment_id, user.user_id, 1))
            elif dice.chance(0.5 if user.user_id == ME else reach):
                for_comments.append((comment.comment_id, user.user_id, 1 if dice.chance(_UP_PERCENT[comment.tone]) else -1))
    insert(db, "comment_vote", for_comments)


def _voters(dice: Dice, users: list[User], author: User, count: int) -> list[User]:
    """Return possible voters: all users, or if there are more than `count`, that many consecutive ones, the current one and the author."""
    if count >= len(users):
        return users
    start = dice.below(len(users) - count)
    near = users[start : start + count]
    return [*near, *(user for user in dict.fromkeys((users[ME - 1], author)) if user not in near)]


def _insert_own(
    db: sqlite3.Connection, voice: Voice, now: datetime, users: list[User], places: list[Forum], threads: Threads, sizes: Sizes
) -> None:
    """Write the blocked users, hidden posts and messages of the current user."""
    dice = voice.dice
    # Only users without posts and comments are blocked, so blocking hides nothing.
    blocked = dice.some(users[sizes.writers :], 3)
    insert(db, "user_block", sorted((ME, user.user_id, now - timedelta(days=dice.between(2, 300))) for user in blocked))
    others = [s for s in threads.submissions if s.user.user_id != ME and not s.is_removed]
    insert(db, "hidden_submission", sorted((ME, submission.submission_id) for submission in dice.some(others, 3)))
    conversations: list[tuple[datetime, int, int, list[tuple[int, str]]]] = []
    for index, other in enumerate(dice.some(users[1 : sizes.writers], CORRESPONDENTS)):
        forum = dice.pick(places)
        sides = (ME, other.user_id) if index % 2 else (other.user_id, ME)
        letters = [(sides[0], voice.sentence("messages", forum)), (sides[1], voice.sentence("replies", forum))]
        # The latest message is from another user and unread.
        start = now - timedelta(days=40 * index + dice.between(1, 30), minutes=dice.below(600))
        conversations.append((start, *sides, letters[: 1 + (index > 0 and dice.chance(70))]))
    conversations.sort()
    insert(db, "message_thread", [(number, *thread[1:3]) for number, thread in enumerate(conversations, 1)])
    messages: list[tuple[Any, ...]] = []
    for number, (start, _, _, letters) in enumerate(conversations, 1):
        for turn, (sender_id, body) in enumerate(letters):
            is_read = int(number < len(conversations))
            messages.append((len(messages) + 1, number, sender_id, body, start + timedelta(minutes=37 * turn), is_read))
    insert(db, "message", messages)
