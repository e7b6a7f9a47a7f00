"""The generator of the forum's database, with the whole threads of large worlds, composed of facts."""

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
    draw_comments,
    draw_forums,
    draw_people,
    draw_submissions,
    later,
    moments,
    numbered,
    pool,
    slug,
    submit,
    wanted_comments,
)

_TRIAL = timedelta(days=2)  # of a remedy, before it is called a success or a failure, or half of the time that is left
_TRIES = 8  # of a thread, before its title is told apart from the one that has it


class Threads(NamedTuple):
    """All that is said, the oldest first, and in large worlds the facts of the texts by the ids of posts and comments."""

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
            thread, title, body = self._thread(forum, wanted_comments(dice, sizes, self.now - posted))
            others = [said.author for said in thread.comments if said.author != thread.author]
            if is_mine:
                thread = self._as_mine(thread, thread.author)
            elif index in answered and others and own_comments < OWN_COMMENTS:
                thread = self._as_mine(thread, others[0])
                own_comments += 1
            author = partial(self.by_name.__getitem__, thread.author)
            submissions.append(submit(dice, sticky, number, forum, title, posted, is_mine=is_mine, author=author, body=body))
            posts[number] = thread.post
            first = len(drafts)
            last: dict[str, datetime] = {}  # when each last wrote: nobody takes back what he has not said yet
            for said in thread.comments:
                parent = None if said.parent is None else first + said.parent
                since = max(posted, posted if parent is None else drafts[parent].created_at, last.get(said.author, posted))
                if isinstance(said.facts, threads_prose.Thanks):
                    since += min(_TRIAL, (self.now - since) / 2)
                remark = threads_prose.compose_comment(said.facts, dice, is_held_out=self.is_held_out)
                last[said.author] = moment = later(dice, since, self.now)
                drafts.append(Comment(0, number, parent, self.by_name[said.author], remark, _tone(said.facts), moment))
                facts.append(said.facts)
        comments, order = numbered(drafts)
        return Threads(submissions, comments, posts, {number: facts[place] for number, place in enumerate(order, 1)})

    def _thread(self, forum: Forum, count: int) -> tuple[Discussion, str, str]:
        """Return a thread whose title nobody has used, and the title and the text of its post."""
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
        """Return a thread in which somebody is me."""
        me = self.users[ME - 1].username
        comments = []
        for said in thread.comments:
            facts = said.facts
            if isinstance(facts, threads_prose.Thanks | threads_prose.Position) and facts.user == name:
                facts = replace(facts, user=me)  # who was addressed by that name is addressed by mine
            comments.append(replace(said, author=me if said.author == name else said.author, facts=facts))
        return replace(thread, author=me if thread.author == name else thread.author, comments=tuple(comments))


def _tone(facts: threads_prose.Comment) -> Tone:
    """Return how a comment is liked by those who vote."""
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
    """Return what `submission_fact` holds of a post, but its id."""
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
    """Return what `comment_fact` holds of a comment, but its id: kind, stance, subject, reason, whom it names, time, verdict."""
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
CORRESPONDENTS = 4  # people with whom I have exchanged messages
_UP_PERCENT = {"good": 92, "neutral": 72, "bad": 22}


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer, and commit."""
    dice = Dice(f"forum/{seed}")
    now = moment(seed)
    users = draw_people(seed, now, scale)
    places = draw_forums(seed, now, scale)
    if scale == "large":
        said = _Drawer(seed, now, places, users, scale).draw()
        insert(db, "submission_fact", [(number, *post_row(facts)) for number, facts in said.posts.items()])
        points: list[tuple[str, str, int | None]] = []
        for number, facts in said.posts.items():
            match facts:
                case threads_prose.Question():
                    points = [("tried", remedy.name, 0) for remedy in facts.tried]
                case threads_prose.Opening():
                    points = [("reason", reason, None) for reason in facts.reasons]
                case threads_prose.Report():
                    points = [("aspect", aspect, int(is_good)) for aspect, is_good in facts.opinions]
            insert(db, "submission_point", [(number, position, *point) for position, point in enumerate(points, 1)])
        insert(db, "comment_fact", [(number, *remark_row(facts)) for number, facts in said.remarks.items()])
    else:
        submissions = draw_submissions(seed, now, places, users)
        said = Threads(submissions, draw_comments(seed, now, submissions, users), {}, {})
    insert(db, "world", [("seed", str(seed)), ("now", str(now))])
    voice, sizes = Voice(seed, dice, scale), SIZES[scale]
    rows = []
    for user in users:
        has_biography = user.user_id == ME or dice.chance(60 if user.writes else 20)
        biography = voice.say("biographies", dice.pick(places)) if has_biography else ""
        rows.append((user.user_id, user.username, user.email, user.password, biography, "auto", "subscribed", user.created_at))
    insert(db, "user", rows)
    _insert_forums(db, dice, users, places, sizes)
    _insert_posts(db, said)
    _insert_votes(db, dice, now, users, said, sizes)
    _insert_own(db, voice, now, users, places, said, sizes)
    fill_words(db)
    sign_in(db, site="reddit", user_id=ME)
    db.commit()


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


def _insert_posts(db: sqlite3.Connection, said: Threads) -> None:
    submissions, comments = said.submissions, said.comments
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


def _insert_votes(db: sqlite3.Connection, dice: Dice, now: datetime, users: list[User], said: Threads, sizes: Sizes) -> None:
    """Write who voted for what. Everybody is for what they wrote; I vote now and then."""
    for_submissions = []
    for submission in said.submissions:
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
    for comment in said.comments:
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
    db: sqlite3.Connection, voice: Voice, now: datetime, users: list[User], places: list[Forum], said: Threads, sizes: Sizes
) -> None:
    """Write whom I have blocked, what I have hidden, and the messages that I got and sent."""
    dice = voice.dice
    # Only people who write nothing are blocked, so that what others see is what I see.
    blocked = dice.some(users[sizes.writers :], 3)
    insert(db, "user_block", sorted((ME, user.user_id, now - timedelta(days=dice.between(2, 300))) for user in blocked))
    others = [s for s in said.submissions if s.user.user_id != ME and not s.is_removed]
    insert(db, "hidden_submission", sorted((ME, submission.submission_id) for submission in dice.some(others, 3)))
    threads: list[tuple[datetime, int, int, list[tuple[int, str]]]] = []
    for place, other in enumerate(dice.some(users[1 : sizes.writers], CORRESPONDENTS)):
        forum = dice.pick(places)
        sides = (ME, other.user_id) if place % 2 else (other.user_id, ME)
        letters = [(sides[0], voice.say("messages", forum)), (sides[1], voice.say("replies", forum))]
        # The latest message is from somebody else, and still to be read.
        start = now - timedelta(days=40 * place + dice.between(1, 30), minutes=dice.below(600))
        threads.append((start, *sides, letters[: 1 + (place > 0 and dice.chance(70))]))
    threads.sort()
    insert(db, "message_thread", [(number, *thread[1:3]) for number, thread in enumerate(threads, 1)])
    messages: list[tuple[Any, ...]] = []
    for number, (start, _, _, letters) in enumerate(threads, 1):
        for turn, (sender_id, body) in enumerate(letters):
            is_read = int(number < len(threads))
            messages.append((len(messages) + 1, number, sender_id, body, start + timedelta(minutes=37 * turn), is_read))
    insert(db, "message", messages)
