"""The users, forums, submissions and comments of a world's forum, and their numbers at each scale."""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import accumulate, count
from pathlib import Path
from typing import Any, Literal

from webarena_gym.sites.country import texts
from webarena_gym.sites.country.dice import Dice, Scale, share
from webarena_gym.sites.country.geography import Country, country
from webarena_gym.sites.country.names import WORDS, Person, invented_word, population
from webarena_gym.sites.country.texts import capitalize, read_sizes, span

_LONGEST_SLUG = 60


def slug(title: str) -> str:
    """Return a submission's title in the form used in URL paths, without characters other than ASCII letters and digits.

    >>> slug("Is it any good? A guide"), slug("???")
    ('is-it-any-good-a-guide', '-')
    """
    return texts.slug(title.replace("'", ""))[:_LONGEST_SLUG].strip("-") or "-"


def ago(value: str, now: datetime) -> str:
    """Return the time from a moment to `now` as text, in its largest unit.

    >>> ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 13, 5)), ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 10, 0, 30))
    ('3 hours ago', 'just now')
    """
    size = span((now - datetime.fromisoformat(value)).total_seconds())
    return f"{size} ago" if size else "just now"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the forum at one scale."""

    people: int  # users
    writers: int  # users who post and comment
    towns: int  # towns with a forum
    works: int  # invented names of works and products that a forum mentions
    submissions: int
    dealt: int  # number of submissions that are assigned to the forums in turn; the forums of the others are drawn
    comments: tuple[tuple[tuple[int, int], int], ...]  # ((smallest, largest number of comments of a thread), weight)
    voters: int  # users who may vote for a submission
    comment_voters: int  # users who may vote for a comment


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")

ME = 1  # id of the current user of tasks


@dataclass(frozen=True)
class User:
    """A user."""

    user_id: int
    username: str
    email: str
    password: str
    created_at: datetime
    activity: int  # weight of the user among the authors
    is_grumpy: bool  # the user's comments are mostly negative
    writes: bool  # the user posts and comments


def draw_people(seed: int, now: datetime, scale: Scale = "standard") -> list[User]:
    """Draw the users, in the order of the population."""
    dice, sizes = Dice(f"forum/people/{seed}"), SIZES[scale]
    usernames: set[str] = set()
    users = []
    for user_id, person in enumerate(population(seed, scale)[: sizes.people], 1):
        name = _username(dice, person, seed)
        while name.lower() in usernames:
            name = _username(dice, person, seed)
        usernames.add(name.lower())
        users.append(
            User(
                user_id=user_id,
                username=name,
                email=f"{person.first}.{person.last}@example.com".lower(),
                password=f"{person.first.lower()}{dice.digits(4)}",
                created_at=now - timedelta(days=dice.between(1100, 2400), seconds=dice.below(86400)),
                activity=dice.pick((1, 1, 2, 3, 5, 8)),
                is_grumpy=user_id != ME and dice.chance(25),
                writes=user_id <= sizes.writers,
            )
        )
    return users


def _username(dice: Dice, person: Person, seed: int) -> str:
    """Draw a username from a person's name. Those without the full name have a number, which training and held-out worlds do not share."""
    first, last = person
    number = dice.pick(share(range(10, 100), seed))
    return dice.pick((
        f"{first}_{last}", f"{first}{last}", f"{first[0]}{last}{number}".lower(), f"{last}-{first}".lower(),
        f"{first}{last[0]}{number}", f"The{last}{number}",
    ))  # fmt: skip


LONGEST_TITLE = 60  # characters; labels of buttons contain the title


@dataclass(frozen=True)
class Forum:
    """A forum. `works` are invented names that its texts mention; `town` is "" unless the forum is about a town."""

    forum_id: int
    name: str
    title: str
    description: str
    sidebar: str
    tags: tuple[str, ...]
    created_at: datetime
    popularity: int
    image_percent: int
    things: tuple[str, ...]
    titles: tuple[str, ...]
    lines: tuple[str, ...]
    works: tuple[str, ...]
    town: str


@cache
def pool() -> dict[str, Any]:
    """Return the forums, and lists of sentences by kind."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "forums.json").read_text(encoding="utf-8"))
    return content


def draw_forums(seed: int, now: datetime, scale: Scale = "standard") -> list[Forum]:
    """Draw the forums, oldest first."""
    dice = Dice(f"forum/forums/{seed}")
    land, sizes = country(seed, scale), SIZES[scale]
    towns = [
        pool()["town"] | {"name": town.name, "title": f"{town.name}, {town.state}", "town": town.name, "kind": "town"}
        for town in land.towns[: sizes.towns]
    ]
    kinds = dice.some([*pool()["forums"], *towns], len(pool()["forums"]) + sizes.towns)
    ages = sorted((dice.between(1100, 2000) for _ in kinds), reverse=True)
    return [_forum(dice, seed, scale, index, kind, now - timedelta(days=ages[index])) for index, kind in enumerate(kinds)]


def _forum(dice: Dice, seed: int, scale: Scale, index: int, kind: dict[str, Any], created_at: datetime) -> Forum:
    town = kind.get("town", "")
    names, works = pool()["names"].get(kind["kind"], ["{w}"]), SIZES[scale].works
    rules = dice.some(pool()["rules"], dice.between(3, 5))
    return Forum(
        forum_id=index + 1,
        name=kind["name"],
        title=kind["title"],
        description=kind["description"].format(town=town),
        sidebar="Rules\n" + "\n".join(f"{number}. {rule}" for number, rule in enumerate(rules, 1)),
        tags=tuple(kind["tags"]),
        created_at=created_at + timedelta(seconds=dice.below(86400)),
        popularity=dice.between(5, 60),
        image_percent=kind.get("images", 0),
        things=tuple(kind["things"]),
        titles=tuple(kind["titles"]),
        lines=tuple(kind["lines"]),
        works=tuple(
            dice.pick(names).format(w=invented_word(seed, index * works + number, "title", scale)) for number in range(works)
        ),
        town=town,
    )


class Voice:
    """Fills the slots of sentences with names of the world and topics of a forum."""

    def __init__(self, seed: int, dice: Dice, scale: Scale = "standard") -> None:
        self.dice, sizes = dice, SIZES[scale]
        self._country: Country = country(seed, scale)
        self._people: tuple[Person, ...] = population(seed, scale)
        # Words that no forum uses for its works name the books that all forums mention.
        first_book = sizes.works * (len(pool()["forums"]) + sizes.towns)
        self._books = [
            pool()["names"]["book"][index % 6].format(w=invented_word(seed, index, "title", scale))
            for index in range(first_book, WORDS[scale])
        ]

    def fill(self, sentence: str, forum: Forum, thing: str = "") -> str:
        """Return the sentence with values for its slots; in a forum about a town, the town is that one. `thing` is drawn if it is ""."""
        dice = self.dice
        town = self._country.town(forum.town) if forum.town else dice.pick(self._country.towns)
        landmarks = [mark for mark in self._country.landmarks if mark.town == forum.town] or self._country.landmarks
        work = dice.pick(forum.works)
        return sentence.format(
            town=town.name,
            street=dice.pick(town.streets),
            landmark=dice.pick(landmarks).name,
            team=dice.pick(self._country.teams).name,
            thing=thing or dice.pick(forum.things),
            work=work,
            device=work,
            book=dice.pick(self._books),
            person=dice.pick(self._people).first,
        )

    def sentence(self, kind: str, forum: Forum) -> str:
        """Draw a sentence of a kind that all forums use."""
        return capitalize(self.fill(self.dice.pick(pool()[kind]), forum))


OWN_SUBMISSIONS = 6
OWN_COMMENTS = 14
_DAYS = 1095  # three years
_TRIES = 60  # draws of a title before a suffix makes it unique

Tone = Literal["good", "neutral", "bad"]


@dataclass(frozen=True)
class Submission:
    """A post. It has a URL, or an image, of which `image` is the description, or neither."""

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
    """Comment on a submission, or on another comment."""

    comment_id: int
    submission_id: int
    parent_id: int | None
    user: User
    body: str
    tone: Tone
    created_at: datetime


def submit(
    dice: Dice,
    sticky: set[str],
    number: int,
    forum: Forum,
    title: str,
    moment: datetime,
    *,
    is_mine: bool,
    thing: str = "",
    author: Callable[[], User],
    body: str | Callable[[bool], str],
) -> Submission:
    """Draw a submission with a given title and text.

    Args:
        dice: Stream of random draws.
        sticky: Names of the forums with a sticky submission, to which the forum of a new one is added.
        number: Id of the submission.
        forum: Its forum.
        title: Its title.
        moment: Its time.
        is_mine: True if the current user wrote it.
        thing: Subject of its image; "": any topic of the forum.
        author: Returns the author.
        body: Its text, or a function that returns the text and whose argument is True if the submission has a link or an image.

    """
    is_image = not is_mine and dice.chance(forum.image_percent)
    is_link = not (is_image or is_mine) and dice.chance(30)
    is_sticky = not is_mine and forum.name not in sticky and dice.chance(3)
    if is_sticky:
        sticky.add(forum.name)
    return Submission(
        submission_id=number,
        forum=forum,
        user=author(),
        title=title,
        url=f"https://{slug(dice.pick(forum.works))}.example/{slug(title)}" if is_link else "",
        image=f"{capitalize(thing or dice.pick(forum.things))}, {dice.pick(pool()['views'])}" if is_image else "",
        body=body if isinstance(body, str) else body(is_image or is_link),
        created_at=moment,
        is_locked=not is_mine and dice.chance(2),
        is_sticky=is_sticky,
        is_removed=not is_mine and not is_sticky and dice.chance(1),
    )


def draw_submissions(seed: int, now: datetime, forums: list[Forum], users: list[User]) -> list[Submission]:
    """Draw the submissions of a standard world, oldest first. Titles are unique, and all are at least 15 minutes old."""
    dice, sizes, titles = Dice(f"forum/submissions/{seed}"), SIZES["standard"], set[str]()
    voice, sticky, authors = Voice(seed, dice), set[str](), Authors(users)
    times = moments(dice, now, sizes)
    mine = dice.some(range(sizes.submissions // 2, sizes.submissions - 20), OWN_SUBMISSIONS)
    own_forums = dice.some([forum for forum in forums if not forum.image_percent], OWN_SUBMISSIONS)
    submissions = []
    for index, moment in enumerate(times):
        is_mine = index in mine
        if is_mine:
            forum = own_forums[mine.index(index)]
        else:
            forum = forums[index % len(forums)] if index < sizes.dealt else dice.pick(forums)
        thing = dice.pick(forum.things)
        title = _title(voice, forum, thing, titles)
        author = partial(users.__getitem__, ME - 1) if is_mine else partial(authors.draw, dice)
        body = partial(_body, voice, forum)
        submissions.append(
            submit(dice, sticky, index + 1, forum, title, moment, is_mine=is_mine, thing=thing, author=author, body=body)
        )
    return submissions


def moments(dice: Dice, now: datetime, sizes: Sizes) -> list[datetime]:
    """Draw the times of all submissions, in order, within the three years before `now`; most are recent."""
    seconds: set[int] = set()
    while len(seconds) < sizes.submissions:
        share = dice.below(1_000_000) / 1_000_000
        seconds.add(900 + int(_DAYS * 86400 * share**3))
    return sorted(now - timedelta(seconds=second) for second in seconds)


def _title(voice: Voice, forum: Forum, thing: str, titles: set[str]) -> str:
    for tries in count():
        title = capitalize(voice.fill(voice.dice.pick(forum.titles), forum, thing))
        if tries > _TRIES:
            title = f"{title.rstrip('.?!')}: {voice.dice.pick(pool()['twists'])}"
        if len(title) <= LONGEST_TITLE and title not in titles:
            titles.add(title)
            return title
    raise AssertionError("counting has an end")


class Authors:
    """The users who post and comment, except the current user."""

    def __init__(self, users: list[User]) -> None:
        self._writers = [user for user in users if user.writes and user.user_id != ME]
        self._ends = list(accumulate(user.activity for user in self._writers))

    def draw(self, dice: Dice) -> User:
        """Draw a user, weighted by activity; like `Dice.weigh`, in logarithmic time."""
        return self._writers[bisect_right(self._ends, dice.below(self._ends[-1]))]


def _body(voice: Voice, forum: Forum, is_short: bool) -> str:
    """Draw the text of a submission; `is_short` for submissions with a link or an image."""
    dice = voice.dice
    if is_short:
        return dice.pick(forum.lines) if dice.chance(35) else ""
    first = [voice.sentence("openers", forum)] if dice.chance(60) else []
    lines = dice.some(forum.lines, dice.between(1, 3))
    last = [voice.sentence("mentions", forum)] if dice.chance(75) else []
    last += [voice.sentence("closers", forum)] if dice.chance(70) else []
    return "\n\n".join(" ".join(part) for part in ([*first, *lines], last) if part)


def number_comments(drafts: list[Comment]) -> tuple[list[Comment], list[int]]:
    """Return the comments with ids, oldest first, and their indices in `drafts`. `parent_id` of a draft is such an index."""
    order = sorted(range(len(drafts)), key=lambda index: (drafts[index].created_at, index))
    ids: dict[int | None, int] = {index: comment_id for comment_id, index in enumerate(order, 1)}
    return [replace(drafts[index], comment_id=ids[index], parent_id=ids.get(drafts[index].parent_id)) for index in order], order


def comment_count(dice: Dice, sizes: Sizes, age: timedelta) -> int:
    """Draw the number of comments of a thread. Threads younger than three hours have a third of it."""
    lengths, weights = zip(*sizes.comments, strict=True)
    number = dice.between(*dice.weigh(lengths, weights))
    return number // 3 if age < timedelta(hours=3) else number


def draw_comments(seed: int, now: datetime, submissions: list[Submission], users: list[User]) -> list[Comment]:
    """Draw the comments of a standard world, oldest first; each is later than the post or comment that it answers."""
    dice = Dice(f"forum/comments/{seed}")
    voice, authors, drafts = Voice(seed, dice), Authors(users), list[Comment]()
    for submission in submissions:
        first = len(drafts)
        for _ in range(comment_count(dice, SIZES["standard"], now - submission.created_at)):
            parent = dice.between(first, len(drafts) - 1) if len(drafts) > first and dice.chance(55) else None
            user = authors.draw(dice)
            tone: Tone = dice.weigh(("good", "neutral", "bad"), (20, 25, 55) if user.is_grumpy else (45, 45, 10))
            since = submission.created_at if parent is None else drafts[parent].created_at
            parts = [voice.sentence(tone, submission.forum), voice.sentence("reasons", submission.forum)]
            parts += [
                voice.sentence(kind, submission.forum)
                for kind, percent in (("reasons", 30), ("tails", 35))
                if dice.chance(percent)
            ]
            body = " ".join(dict.fromkeys(parts))
            drafts.append(Comment(0, submission.submission_id, parent, user, body, tone, later(dice, since, now)))
    for index in dice.some(range(len(drafts) // 3, len(drafts)), OWN_COMMENTS):
        drafts[index] = replace(drafts[index], user=users[ME - 1], tone=dice.pick(("good", "neutral")))
    return number_comments(drafts)[0]


def later(dice: Dice, since: datetime, now: datetime) -> datetime:
    """Draw a time between `since` and `now`, at most three days after `since` and mostly soon after it."""
    room = max(0.0, min((now - since).total_seconds() - 60, 3 * 86400))
    share = (dice.below(10_000) + 1) / 10_000
    return since + timedelta(seconds=int(room * share**2) + 1)
