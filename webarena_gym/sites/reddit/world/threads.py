"""Whole threads of a large world, composed of facts: each comment answers what it is a reply to.

The facts stay with the texts (`Said`), so that the tables hold what is true of each.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from webarena_gym.sites import prose
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import country
from webarena_gym.sites.country.holdout import is_held_out
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.prose import Discussion
from webarena_gym.sites.reddit.texts import slug
from webarena_gym.sites.reddit.world.forums import LONGEST_TITLE, Forum, capitalised, pool
from webarena_gym.sites.reddit.world.people import ME, User
from webarena_gym.sites.reddit.world.posts import (
    OWN_COMMENTS,
    OWN_SUBMISSIONS,
    Authors,
    Comment,
    Submission,
    Tone,
    later,
    moments,
)
from webarena_gym.sites.reddit.world.sizes import SIZES

_TRIAL = timedelta(
    days=2
)  # of a remedy, before it is called a success or a failure; half of the time there is, where that is less
_TRIES = 8  # of a thread, before its title is told apart from the one that has it
_AGAIN = (
    "again",
    "part two",
    "revisited",
    "my turn",
    "the long version",
    "once more",
    "my story",
    "a long post",
    "my two cents",
)
"""What is added to a title that somebody else has used already."""


class Threads(NamedTuple):
    """All that is said, the oldest first, and the facts of the texts by the ids of posts and comments."""

    submissions: list[Submission]
    comments: list[Comment]
    posts: dict[int, prose.Post]
    remarks: dict[int, prose.Comment]


def draw(seed: int, now: datetime, forums: list[Forum], users: list[User], scale: Scale) -> Threads:
    """Return the threads of a world. No two posts have the same title."""
    return _Drawer(seed, now, forums, users, scale).draw()


class _Drawer:
    def __init__(self, seed: int, now: datetime, forums: list[Forum], users: list[User], scale: Scale) -> None:
        self.dice = Dice(f"forum/threads/{seed}")
        self.now, self.forums, self.users, self.sizes = now, forums, users, SIZES[scale]
        self.is_held_out = is_held_out(seed)
        self.authors = Authors(users)
        self.by_name = {user.username: user for user in users}
        self.towns = [town.name for town in country(seed, scale).towns]
        self.titles: set[str] = set()
        self.sticky: set[str] = set()

    def draw(self) -> Threads:
        dice, sizes = self.dice, self.sizes
        mine = dice.some(range(sizes.submissions // 2, sizes.submissions - 20), OWN_SUBMISSIONS)
        own_forums = dice.some([forum for forum in self.forums if not forum.image_percent], OWN_SUBMISSIONS)
        answered = dice.some(range(sizes.submissions // 3, sizes.submissions), 2 * OWN_COMMENTS)
        submissions, posts = [], {}
        drafts: list[tuple[datetime, int, int | None, prose.Said, str]] = []
        own_comments = 0
        for index, moment in enumerate(moments(dice, self.now, sizes)):
            is_mine = index in mine
            forum = own_forums[mine.index(index)] if is_mine else dice.pick(self.forums)
            if not is_mine and index < sizes.dealt:
                forum = self.forums[index % len(self.forums)]
            thread, title, body = self._thread(forum, self._wanted(moment))
            others = [said.author for said in thread.comments if said.author != thread.author]
            if is_mine:
                thread = self._as_mine(thread, thread.author)
            elif index in answered and others and own_comments < OWN_COMMENTS:
                thread = self._as_mine(thread, others[0])
                own_comments += 1
            number = index + 1
            submissions.append(self._submission(number, forum, thread, title, body, moment, is_mine=is_mine))
            posts[number] = thread.post
            first = len(drafts)
            last: dict[str, list[datetime]] = {}  # when each last wrote: nobody takes back what he has not said yet
            for said in thread.comments:
                parent = None if said.parent is None else first + said.parent
                since = max([moment, *([] if parent is None else [drafts[parent][0]]), *last.get(said.author, [])])
                if isinstance(said.facts, prose.Thanks):
                    since += min(_TRIAL, (self.now - since) / 2)
                text = prose.compose_comment(said.facts, dice, is_held_out=self.is_held_out)
                drafts.append((later(dice, since, self.now), number, parent, said, text))
                last[said.author] = [drafts[-1][0]]
        order = sorted(range(len(drafts)), key=lambda place: (drafts[place][0], place))
        ids = {place: comment_id for comment_id, place in enumerate(order, 1)}
        comments, remarks = [], {}
        for place in order:
            moment, number, parent, said, text = drafts[place]
            parent_id = None if parent is None else ids[parent]
            user = self.by_name[said.author]
            comments.append(Comment(ids[place], number, parent_id, user, text, _tone(said.facts), moment))
            remarks[ids[place]] = said.facts
        return Threads(submissions, comments, posts, remarks)

    def _wanted(self, moment: datetime) -> int:
        """Return how many comments a thread gets; one that is new has few."""
        lengths, weights = zip(*self.sizes.comments, strict=True)
        wanted = self.dice.between(*self.dice.weigh(lengths, weights))
        return wanted // 3 if (self.now - moment).total_seconds() < 3 * 3600 else wanted

    def _thread(self, forum: Forum, count: int) -> tuple[Discussion, str, str]:
        """Return a thread whose title nobody has used, and the title and the text of its post."""
        dice = self.dice
        crowd = [self.authors.draw(dice).username for _ in range(count + 4)]
        places = [forum.town] if forum.town else self.towns
        tries = 0
        while True:
            thread = prose.draw_discussion(
                dice, forum.name, crowd, count, works=forum.works, places=places, is_held_out=self.is_held_out
            )
            title, body = prose.compose_post(thread.post, dice, is_held_out=self.is_held_out, longest_title=LONGEST_TITLE)
            tries += 1
            if tries > _TRIES:
                title = f"{title.rstrip('.?!')}: {dice.pick(_AGAIN)}"
            if len(title) <= LONGEST_TITLE and title not in self.titles:
                self.titles.add(title)
                return thread, title, body

    def _as_mine(self, thread: Discussion, name: str) -> Discussion:
        """Return a thread in which somebody is me."""
        me = self.users[ME - 1].username
        comments = tuple(
            replace(said, author=me if said.author == name else said.author, facts=_addressed(said.facts, name, me))
            for said in thread.comments
        )
        return replace(thread, author=me if thread.author == name else thread.author, comments=comments)

    def _submission(
        self, number: int, forum: Forum, thread: Discussion, title: str, body: str, moment: datetime, *, is_mine: bool
    ) -> Submission:
        dice = self.dice
        is_image = not is_mine and dice.chance(forum.image_percent)
        is_link = not (is_image or is_mine) and dice.chance(30)
        is_sticky = not is_mine and forum.name not in self.sticky and dice.chance(3)
        if is_sticky:
            self.sticky.add(forum.name)
        return Submission(
            submission_id=number,
            forum=forum,
            user=self.by_name[thread.author],
            title=title,
            url=f"https://{slug(dice.pick(forum.works))}.example/{slug(title)}" if is_link else "",
            image=f"{capitalised(dice.pick(forum.things))}, {dice.pick(pool()['views'])}" if is_image else "",
            body=body,
            created_at=moment,
            is_locked=not is_mine and dice.chance(2),
            is_sticky=is_sticky,
            is_removed=not is_mine and not is_sticky and dice.chance(1),
        )


def _addressed(facts: prose.Comment, name: str, me: str) -> prose.Comment:
    """Return facts in which who was addressed by a name is addressed by mine."""
    return replace(facts, user=me) if isinstance(facts, prose.Thanks | prose.Stand) and facts.user == name else facts


def _tone(facts: prose.Comment) -> Tone:
    """Return how a comment is liked by those who vote."""
    match facts:
        case prose.Answer(kind="worked") | prose.Thanks(has_helped=True) | prose.Stand(kind="agree" | "changed"):
            return "good"
        case prose.Answer(kind="failed") | prose.Stand(kind="disagree"):
            return "bad"
        case _:
            return "neutral"


def post_row(facts: prose.Post) -> tuple[str, str, str, str, str, int, int]:
    """Return what `submission_fact` holds of a post, but its id."""
    first_hand = int(not (facts.asked_for if isinstance(facts, prose.Question) else facts.heard_from))
    match facts:
        case prose.Question():
            return ("question", facts.problem.name, facts.asked_for, _span(facts.lasting), facts.place, first_hand, 0)
        case prose.Opening():
            span = _span(facts.experience)
            return ("opening", facts.side.text, facts.heard_from, span, facts.place, first_hand, int(facts.has_turned))
        case prose.Report():
            return ("report", facts.name, facts.heard_from, _span(facts.experience), facts.place, first_hand, 0)


def post_points(facts: prose.Post) -> Sequence[tuple[str, str, int | None]]:
    """Return what `submission_point` holds of a post: remedies that were tried, reasons, or aspects with their verdicts."""
    match facts:
        case prose.Question():
            return [("tried", remedy.name, 0) for remedy in facts.tried]
        case prose.Opening():
            return [("reason", reason, None) for reason in facts.reasons]
        case prose.Report():
            return [("aspect", aspect, int(is_good)) for aspect, is_good in facts.opinions]


def remark_row(facts: prose.Comment) -> tuple[str, str, str, str, str, str, int | None]:
    """Return what `comment_fact` holds of a comment, but its id: kind, stance, subject, reason, whom it names, time, verdict."""
    match facts:
        case prose.Answer():
            verdict = {"worked": 1, "failed": 0}.get(facts.kind)
            return ("answer", facts.kind, facts.remedy.name, "", facts.heard_from, "", verdict)
        case prose.Thanks():
            stance = "helped" if facts.has_helped else "failed"
            return ("thanks", stance, facts.remedy.name, "", facts.user, "", int(facts.has_helped))
        case prose.Stand():
            return ("stand", facts.kind, facts.side.text, facts.reason, facts.user, _span(facts.experience), None)
        case prose.Impression():
            is_heard = "heard" if facts.heard_from else "own"
            return ("impression", is_heard, facts.aspect, "", facts.heard_from, "", int(facts.is_good))
        case prose.Detail():
            return ("detail", "reply" if facts.lasting else "asks", "", "", "", _span(facts.lasting), None)
        case prose.Chatter():
            return ("chatter", "", "", "", "", "", None)


def _span(span: tuple[int, str] | None) -> str:
    return f"{span[0]} {span[1]}" if span else ""
