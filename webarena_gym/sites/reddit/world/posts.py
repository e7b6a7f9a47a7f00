"""What people post and what others say to it."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, count
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.reddit.texts import slug
from webarena_gym.sites.reddit.world.forums import LONGEST_TITLE, Forum, Voice, capitalised, pool
from webarena_gym.sites.reddit.world.people import ME, User
from webarena_gym.sites.reddit.world.sizes import SIZES, TWISTS, Sizes

OWN_SUBMISSIONS = 6
OWN_COMMENTS = 14
_DAYS = 1095  # three years
_TRIES = 60  # of a title, before it is told apart from the one that has it

Tone = Literal["good", "neutral", "bad"]


@dataclass(frozen=True)
class Submission:
    """One post; it has a URL, or an image with a description, or neither."""

    submission_id: int
    forum: Forum
    user: User
    title: str
    url: str
    image: str
    body: str
    created_at: datetime
    is_locked: bool
    is_sticky: bool
    is_removed: bool


@dataclass(frozen=True)
class Comment:
    """What somebody says to a submission, or to another comment."""

    comment_id: int
    submission_id: int
    parent_id: int | None
    user: User
    body: str
    tone: Tone
    created_at: datetime


def draw_submissions(
    seed: int,
    now: datetime,
    forums: list[Forum],
    users: list[User],
    scale: Scale = "standard",
) -> list[Submission]:
    """Return the submissions, the oldest first. No two have the same title, and all are older than a quarter of an hour."""
    dice = Dice(f"forum/submissions/{seed}")
    voice, sizes = Voice(seed, dice, scale), SIZES[scale]
    times = moments(dice, now, sizes)
    authors = Authors(users)
    mine = dice.some(range(sizes.submissions // 2, sizes.submissions - 20), OWN_SUBMISSIONS)
    own_forums = dice.some([forum for forum in forums if not forum.image_percent], OWN_SUBMISSIONS)
    titles: set[str] = set()
    sticky: set[str] = set()
    submissions = []
    for index, moment in enumerate(times):
        is_mine = index in mine
        forum = (
            own_forums[mine.index(index)]
            if is_mine
            else forums[index % len(forums)]
            if index < sizes.dealt
            else dice.pick(forums)
        )
        thing = dice.pick(forum.things)
        title = _title(voice, forum, thing, titles)
        is_image = not is_mine and dice.chance(forum.image_percent)
        is_link = not (is_image or is_mine) and dice.chance(30)
        is_sticky = not is_mine and forum.name not in sticky and dice.chance(3)
        if is_sticky:
            sticky.add(forum.name)
        user = users[ME - 1] if is_mine else authors.draw(dice)
        submissions.append(
            Submission(
                submission_id=index + 1,
                forum=forum,
                user=user,
                title=title,
                url=f"https://{slug(dice.pick(forum.works))}.example/{slug(title)}" if is_link else "",
                image=f"{capitalised(thing)}, {dice.pick(pool()['views'])}" if is_image else "",
                body=_body(voice, forum, is_short=is_image or is_link),
                created_at=moment,
                is_locked=not is_mine and dice.chance(2),
                is_sticky=is_sticky,
                is_removed=not is_mine and not is_sticky and dice.chance(1),
            )
        )
    return submissions


def moments(dice: Dice, now: datetime, sizes: Sizes) -> list[datetime]:
    """Return different moments of three years, most of them near the end."""
    seconds: set[int] = set()
    while len(seconds) < sizes.submissions:
        share = dice.below(1_000_000) / 1_000_000
        seconds.add(900 + int(_DAYS * 86400 * share**3))
    return sorted(now - timedelta(seconds=second) for second in seconds)


def _title(voice: Voice, forum: Forum, thing: str, taken: set[str]) -> str:
    for tries in count():
        title = capitalised(voice.fill(voice.dice.pick(forum.titles), forum, thing))
        if tries > _TRIES:
            title = f"{title.rstrip('.?!')}: {voice.dice.pick(TWISTS)}"
        if len(title) <= LONGEST_TITLE and title not in taken:
            taken.add(title)
            return title
    raise AssertionError("counting has an end")


class Authors:
    """Those who write, but me."""

    def __init__(self, users: list[User]) -> None:
        self._writers = [user for user in users if user.writes and user.user_id != ME]
        self._ends = list(accumulate(user.activity for user in self._writers))

    def draw(self, dice: Dice) -> User:
        """Return one of them, as `Dice.weigh` does, each as often as they are active."""
        return self._writers[bisect_right(self._ends, dice.below(self._ends[-1]))]


def _body(voice: Voice, forum: Forum, *, is_short: bool) -> str:
    """Return the body of a submission; a short one has a link or a picture besides."""
    dice = voice.dice
    if is_short:
        return dice.pick(forum.lines) if dice.chance(35) else ""
    first = [voice.say("openers", forum)] if dice.chance(60) else []
    lines = dice.some(forum.lines, dice.between(1, 3))
    last = [voice.say("mentions", forum)] if dice.chance(75) else []
    last += [voice.say("closers", forum)] if dice.chance(70) else []
    return "\n\n".join(" ".join(part) for part in ([*first, *lines], last) if part)


def draw_comments(
    seed: int,
    now: datetime,
    submissions: list[Submission],
    users: list[User],
    scale: Scale = "standard",
) -> list[Comment]:
    """Return the comments, the oldest first; a comment is younger than what it answers."""
    dice = Dice(f"forum/comments/{seed}")
    voice, authors = Voice(seed, dice, scale), Authors(users)
    lengths, weights = zip(*SIZES[scale].comments, strict=True)
    drafts: list[tuple[datetime, int, int | None, User, str, Tone]] = []
    for submission in submissions:
        wanted = dice.between(*dice.weigh(lengths, weights))
        if (now - submission.created_at).total_seconds() < 3 * 3600:
            wanted //= 3
        first = len(drafts)
        for _ in range(wanted):
            parent = dice.between(first, len(drafts) - 1) if len(drafts) > first and dice.chance(55) else None
            user = authors.draw(dice)
            tone = _tone(dice, user)
            since = submission.created_at if parent is None else drafts[parent][0]
            body = _remark(voice, submission.forum, tone)
            drafts.append((later(dice, since, now), submission.submission_id, parent, user, body, tone))
    for index in dice.some(range(len(drafts) // 3, len(drafts)), OWN_COMMENTS):
        moment, submission_id, parent, _, body, _ = drafts[index]
        drafts[index] = (moment, submission_id, parent, users[ME - 1], body, dice.pick(("good", "neutral")))
    order = sorted(range(len(drafts)), key=lambda index: (drafts[index][0], index))
    number = {index: place for place, index in enumerate(order, 1)}
    comments = []
    for index in order:
        moment, submission_id, parent, user, body, tone = drafts[index]
        parent_id = None if parent is None else number[parent]
        comments.append(Comment(number[index], submission_id, parent_id, user, body, tone, moment))
    return comments


def _tone(dice: Dice, user: User) -> Tone:
    return dice.weigh(("good", "neutral", "bad"), (20, 25, 55) if user.is_grumpy else (45, 45, 10))


def later(dice: Dice, since: datetime, now: datetime) -> datetime:
    """Return a moment after `since`, soon after in most cases, and before `now`."""
    room = max(0.0, min((now - since).total_seconds() - 60, 3 * 86400))
    share = (dice.below(10_000) + 1) / 10_000
    return since + timedelta(seconds=int(room * share**2) + 1)


def _remark(voice: Voice, forum: Forum, tone: Tone) -> str:
    dice = voice.dice
    parts = [voice.say(tone, forum), voice.say("reasons", forum)]
    if dice.chance(30):
        parts.append(voice.say("reasons", forum))
    if dice.chance(35):
        parts.append(voice.say("tails", forum))
    return " ".join(dict.fromkeys(parts))
