"""The people, forums, submissions and comments of a world's forum, and how many there are at each scale."""

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
    """Return the part of an address that tells a submission's title; letters that are not ASCII are left out.

    >>> slug("Is it any good? A guide"), slug("???")
    ('is-it-any-good-a-guide', '-')
    """
    return texts.slug(title.replace("'", ""))[:_LONGEST_SLUG].strip("-") or "-"


def ago(value: str, now: datetime) -> str:
    """Return how long before `now` a moment was, in its largest unit.

    >>> ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 13, 5)), ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 10, 0, 30))
    ('3 hours ago', 'just now')
    """
    size = span((now - datetime.fromisoformat(value)).total_seconds())
    return f"{size} ago" if size else "just now"


@dataclass(frozen=True)
class Sizes:
    """The numbers that the forum's generator goes by."""

    people: int
    writers: int
    towns: int  # that have a forum of their own
    works: int  # invented names that a forum talks about
    submissions: int
    dealt: int  # submissions that are dealt to the forums in turn, before others are drawn
    comments: tuple[tuple[tuple[int, int], int], ...]  # how many at least and at most, and how often
    voters: int  # of the people, who may vote for a submission
    comment_voters: int  # and for a comment


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")

ME = 1  # the id of the user whom tasks speak of as "me"


@dataclass(frozen=True)
class User:
    """Somebody with an account."""

    user_id: int
    username: str
    email: str
    password: str
    created_at: datetime
    activity: int  # how much they write, compared with others
    is_grumpy: bool
    writes: bool  # whether they post and comment at all


def draw_people(seed: int, now: datetime, scale: Scale = "standard") -> list[User]:
    """Return everybody, in the order of the population."""
    dice, sizes = Dice(f"forum/people/{seed}"), SIZES[scale]
    taken: set[str] = set()
    users = []
    for user_id, person in enumerate(population(seed, scale)[: sizes.people], 1):
        name = _username(dice, person, seed)
        while name.lower() in taken:
            name = _username(dice, person, seed)
        taken.add(name.lower())
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
    """Return a name made of a person's. What leaves out a part of theirs has a number, which training never shares."""
    first, last = person
    number = dice.pick(share(range(10, 100), seed))
    return dice.pick((
        f"{first}_{last}", f"{first}{last}", f"{first[0]}{last}{number}".lower(), f"{last}-{first}".lower(),
        f"{first}{last[0]}{number}", f"The{last}{number}",
    ))  # fmt: skip


LONGEST_TITLE = 60  # characters; labels of buttons hold the whole title


@dataclass(frozen=True)
class Forum:
    """One forum. `works` are the invented names that its people talk about; `town` is empty where it is about no town."""

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
    """Return the pools of sentences."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "forums.json").read_text(encoding="utf-8"))
    return content


def draw_forums(seed: int, now: datetime, scale: Scale = "standard") -> list[Forum]:
    """Return the forums, the oldest first."""
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
        sidebar="Rules\n" + "\n".join(f"{place}. {rule}" for place, rule in enumerate(rules, 1)),
        tags=tuple(kind["tags"]),
        created_at=created_at + timedelta(seconds=dice.below(86400)),
        popularity=dice.between(5, 60),
        image_percent=kind.get("images", 0),
        things=tuple(kind["things"]),
        titles=tuple(kind["titles"]),
        lines=tuple(kind["lines"]),
        works=tuple(
            dice.pick(names).format(w=invented_word(seed, index * works + place, "title", scale)) for place in range(works)
        ),
        town=town,
    )


class Voice:
    """Fills the blanks of sentences with things of the world and of a forum."""

    def __init__(self, seed: int, dice: Dice, scale: Scale = "standard") -> None:
        self.dice, sizes = dice, SIZES[scale]
        self._country: Country = country(seed, scale)
        self._people: tuple[Person, ...] = population(seed, scale)
        # The words that no forum has taken are the books that everybody mentions.
        taken = sizes.works * (len(pool()["forums"]) + sizes.towns)
        self._books = [
            pool()["names"]["book"][index % 6].format(w=invented_word(seed, index, "title", scale))
            for index in range(taken, WORDS[scale])
        ]

    def fill(self, sentence: str, forum: Forum, thing: str = "") -> str:
        """Return the sentence with its blanks filled; a forum about a town speaks of that town. `thing` may be given."""
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

    def say(self, kind: str, forum: Forum) -> str:
        """Return a sentence of a kind that all forums share."""
        return capitalize(self.fill(self.dice.pick(pool()[kind]), forum))


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
    """Draw what all submissions have, whoever writes their texts; at most one of a forum is `sticky`.

    A `body` that is to be written is told whether there is a link or a picture, of the `thing` or of any.
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
    """Return the submissions, the oldest first. No two have the same title, and all are older than a quarter of an hour."""
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
    """Return different moments of three years, most of them near the end."""
    seconds: set[int] = set()
    while len(seconds) < sizes.submissions:
        share = dice.below(1_000_000) / 1_000_000
        seconds.add(900 + int(_DAYS * 86400 * share**3))
    return sorted(now - timedelta(seconds=second) for second in seconds)


def _title(voice: Voice, forum: Forum, thing: str, taken: set[str]) -> str:
    for tries in count():
        title = capitalize(voice.fill(voice.dice.pick(forum.titles), forum, thing))
        if tries > _TRIES:
            title = f"{title.rstrip('.?!')}: {voice.dice.pick(pool()['twists'])}"
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


def _body(voice: Voice, forum: Forum, is_short: bool) -> str:
    """Return the body of a submission; a short one has a link or a picture besides."""
    dice = voice.dice
    if is_short:
        return dice.pick(forum.lines) if dice.chance(35) else ""
    first = [voice.say("openers", forum)] if dice.chance(60) else []
    lines = dice.some(forum.lines, dice.between(1, 3))
    last = [voice.say("mentions", forum)] if dice.chance(75) else []
    last += [voice.say("closers", forum)] if dice.chance(70) else []
    return "\n\n".join(" ".join(part) for part in ([*first, *lines], last) if part)


def numbered(drafts: list[Comment]) -> tuple[list[Comment], list[int]]:
    """Return the comments, the oldest first, numbered, and their places among the drafts, which `parent_id` of a draft is."""
    order = sorted(range(len(drafts)), key=lambda place: (drafts[place].created_at, place))
    ids: dict[int | None, int] = {place: comment_id for comment_id, place in enumerate(order, 1)}
    return [replace(drafts[place], comment_id=ids[place], parent_id=ids.get(drafts[place].parent_id)) for place in order], order


def wanted_comments(dice: Dice, sizes: Sizes, age: timedelta) -> int:
    """Return how many comments a thread gets; one that is new has few."""
    lengths, weights = zip(*sizes.comments, strict=True)
    wanted = dice.between(*dice.weigh(lengths, weights))
    return wanted // 3 if age < timedelta(hours=3) else wanted


def draw_comments(seed: int, now: datetime, submissions: list[Submission], users: list[User]) -> list[Comment]:
    """Return the comments, the oldest first; a comment is younger than what it answers."""
    dice = Dice(f"forum/comments/{seed}")
    voice, authors, drafts = Voice(seed, dice), Authors(users), list[Comment]()
    for submission in submissions:
        first = len(drafts)
        for _ in range(wanted_comments(dice, SIZES["standard"], now - submission.created_at)):
            parent = dice.between(first, len(drafts) - 1) if len(drafts) > first and dice.chance(55) else None
            user = authors.draw(dice)
            tone: Tone = dice.weigh(("good", "neutral", "bad"), (20, 25, 55) if user.is_grumpy else (45, 45, 10))
            since = submission.created_at if parent is None else drafts[parent].created_at
            parts = [voice.say(tone, submission.forum), voice.say("reasons", submission.forum)]
            parts += [
                voice.say(kind, submission.forum) for kind, percent in (("reasons", 30), ("tails", 35)) if dice.chance(percent)
            ]
            body = " ".join(dict.fromkeys(parts))
            drafts.append(Comment(0, submission.submission_id, parent, user, body, tone, later(dice, since, now)))
    for index in dice.some(range(len(drafts) // 3, len(drafts)), OWN_COMMENTS):
        drafts[index] = replace(drafts[index], user=users[ME - 1], tone=dice.pick(("good", "neutral")))
    return numbered(drafts)[0]


def later(dice: Dice, since: datetime, now: datetime) -> datetime:
    """Return a moment after `since`, soon after in most cases, and before `now`."""
    room = max(0.0, min((now - since).total_seconds() - 60, 3 * 86400))
    share = (dice.below(10_000) + 1) / 10_000
    return since + timedelta(seconds=int(room * share**2) + 1)
