"""Forum posts, comments and threads. `draw_discussion` draws the facts of a thread; `compose_post` and `compose_comment` write texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import (
    Facts,
    Speaker,
    apply_register,
    capitalize_sentences,
    count_phrase,
    draw_register,
    paragraphs,
    sections,
)
from webarena_gym.sites.prose.reviews import SPANS, TitledText
from webarena_gym.sites.prose.things import WORKS, Claim, Problem, Remedy, Thing, draw_problem, draw_sides, has_problems, names

_TITLES = 12  # attempts at a title that is short enough
_LONG = 25  # percentage of posts with a digression
Duration = tuple[int, str]  # (3, "week")


@dataclass(frozen=True, kw_only=True)
class Question(Facts):
    """A post that asks for help with a problem."""

    problem: Problem
    tried: tuple[Remedy, ...] = ()  # remedies that did not help
    lasting: Duration | None = None  # duration of the problem, if the post mentions it
    asked_for: str = ""  # the person with the problem; "": the author
    place: str = ""  # the author's town, if the post mentions it


@dataclass(frozen=True, kw_only=True)
class Opening(Facts):
    """A post that takes a side in a debate."""

    side: Claim
    reasons: tuple[str, ...]
    has_turned: bool = False  # the author used to take the other side
    experience: Duration | None = None  # duration of the author's experience, if the opinion is based on it
    heard_from: str = ""  # source of the opinion, if it is hearsay
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Report(Facts):
    """A post with opinions about a work or product."""

    name: str
    thing: Thing
    opinions: tuple[tuple[str, bool], ...]  # (aspect, True if the opinion is good)
    experience: Duration | None = None  # duration of the author's experience, if the opinions are first-hand
    heard_from: str = ""  # source of the opinions, if they are hearsay
    place: str = ""


Post = Question | Opening | Report
AnswerKind = Literal["worked", "failed", "heard", "idea"]
PositionKind = Literal["side", "agree", "disagree", "changed"]


@dataclass(frozen=True, kw_only=True)
class Answer(Facts):
    """A comment about a remedy, which worked or failed for its author, was recommended by `heard_from`, or is an untested idea."""

    remedy: Remedy
    kind: AnswerKind
    heard_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Thanks(Facts):
    """A comment in which the author of the question reports the result of the remedy that `user` proposed."""

    remedy: Remedy
    user: str
    has_helped: bool = True


@dataclass(frozen=True, kw_only=True)
class Position(Facts):
    """A comment that takes a side in a debate.

    Its kind is "side" for a comment on the post, "agree" or "disagree" for a reply to `user`, and "changed" if the reason of `user`
    made the author change sides.
    """

    side: Claim
    kind: PositionKind
    reason: str = ""
    user: str = ""
    experience: Duration | None = None  # duration of the author's experience, if the comment mentions it


@dataclass(frozen=True, kw_only=True)
class Impression(Facts):
    """A comment with an opinion on one aspect of a report's subject; with `heard_from`, the opinion of that person."""

    thing: Thing
    aspect: str
    is_good: bool
    heard_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Detail(Facts):
    """A comment that asks for details; with `lasting`, the reply that states the duration of the problem."""

    lasting: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Chatter(Facts):
    """A comment without facts."""


Comment = Answer | Thanks | Position | Impression | Detail | Chatter


def compose_post(facts: Post, dice: Dice, *, is_held_out: bool, longest_title: int = 100) -> TitledText:
    """Return the post that states these facts. Its title has at most `longest_title` characters if a short enough one is found."""
    speaker = Speaker("threads", dice, {"place": facts.place}, is_held_out=is_held_out)
    if isinstance(facts, Question):
        title, parts = _question(speaker, facts, longest_title)
    elif isinstance(facts, Opening):
        title, parts = _opening(speaker, facts, longest_title)
    else:
        title, parts = _report(speaker, facts, is_held_out, longest_title)
    if facts.place:
        parts[-1].append(speaker.sentence("from"))
    if dice.chance(_LONG):
        parts.insert(-1, [speaker.sentence("digression") for _ in range(dice.between(2, 5))])
    register = facts.register
    return TitledText(apply_register(title, register, dice).rstrip("."), apply_register(paragraphs(*parts), register, dice))


def _title(speaker: Speaker, section: str, longest: int, **slots: str) -> str:
    """Return the first of up to 12 titles with at most `longest` characters, or the shortest of them."""
    titles = [speaker.phrase(section, **slots)]
    while len(titles[-1]) > longest and len(titles) < _TITLES:
        titles.append(speaker.phrase(section, **slots))
    return min(titles, key=len)


def _question(speaker: Speaker, facts: Question, longest: int) -> tuple[str, list[list[str]]]:
    problem, dice = facts.problem, speaker.dice
    title = _title(
        speaker,
        "question title",
        longest,
        topic=problem.name,
        span=count_phrase(*facts.lasting) if facts.lasting else "",
        tried=facts.tried[0].name if facts.tried else "",
    )
    start = [speaker.sentence("question open")] if dice.chance(55) else []
    if facts.asked_for:
        statement = speaker.sentence("question for", who=facts.asked_for, Problem=capitalize_sentences(problem.clause))
    else:
        statement = speaker.sentence("question problem", problem=problem.clause)
    more = [speaker.sentence("lasting", span=count_phrase(*facts.lasting))] if facts.lasting else []
    tried = [speaker.sentence("tried", done=remedy.doing) for remedy in facts.tried]
    ask = [speaker.sentence("ask")]
    if dice.chance(50):
        return title, [[*start, statement, *more, *tried, *ask]]
    return title, [[*start, statement, *more], [*tried, *ask]]


def _opening(speaker: Speaker, facts: Opening, longest: int) -> tuple[str, list[list[str]]]:
    side, dice = facts.side, speaker.dice
    title = _title(
        speaker,
        "debate title",
        longest,
        claim=side.text,
        reason=dice.pick(facts.reasons) if facts.reasons else "",
        span=count_phrase(*facts.experience) if facts.experience else "",
        who=facts.heard_from,
    )
    position = speaker.sentence("turned" if facts.has_turned else "stand", claim=side.text, opposite=side.opposite)
    reasons = [
        speaker.sentence("reason" if index == 0 else "reason more", reason=reason) for index, reason in enumerate(facts.reasons)
    ]
    ground = _ground(speaker, facts.experience, facts.heard_from)
    return title, ([[position, *reasons], ground] if len(reasons) > 1 else [[position, *reasons, *ground]])


def _ground(speaker: Speaker, experience: Duration | None, heard_from: str) -> list[str]:
    """Return sentences that state the source of an opinion."""
    if experience:
        return [speaker.sentence("seen", span=count_phrase(*experience))]
    return [speaker.sentence("told", who=heard_from)] if heard_from else []


def _report(speaker: Speaker, facts: Report, is_held_out: bool, longest: int) -> tuple[str, list[list[str]]]:
    voice = "heard" if facts.heard_from else "own"
    span = count_phrase(*(facts.experience or (2, "week")))
    kind = "hearsay" if facts.heard_from else "experience"
    about = names()[facts.thing.families[facts.opinions[0][0]]] if facts.opinions else ""
    title = _title(speaker, f"{kind} title", longest, work=facts.name, who=facts.heard_from, span=span, name=about)
    start = speaker.sentence(f"{kind} open", work=facts.name, who=facts.heard_from, span=span)
    sentences = [
        _impression(speaker, facts.thing, aspect, is_good, voice, facts.heard_from, is_held_out)
        for aspect, is_good in facts.opinions
    ]
    end = [speaker.sentence("experience end")] if speaker.dice.chance(60) else []
    return title, ([[start, *sentences, *end]] if len(sentences) < 3 else [[start], sentences, end])


def _impression(speaker: Speaker, thing: Thing, aspect: str, is_good: bool, voice: str, who: str, is_held_out: bool) -> str:
    family = thing.families[aspect]
    clauses = Speaker("aspects", speaker.dice, thing.slots, is_held_out=is_held_out)
    clause = clauses.phrase(f"{family} {'good' if is_good else 'bad'}")
    name = names()[family]
    return speaker.sentence(f"said {voice}", clause=clause, who=who, name="" if name.rsplit(" ", 1)[-1] in clause else name)


def compose_comment(facts: Comment, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment that states these facts."""
    speaker = Speaker("threads", dice, {}, is_held_out=is_held_out)
    sentences = _comment(speaker, facts, is_held_out)
    if not isinstance(facts, Chatter | Detail) and dice.chance(25):
        sentences.append(speaker.sentence("tail"))
    return apply_register(" ".join(sentences), facts.register, dice)


def _comment(speaker: Speaker, facts: Comment, is_held_out: bool) -> list[str]:
    match facts:
        case Answer():
            doing, name = facts.remedy.doing, facts.remedy.name
            return [speaker.sentence(f"answer {facts.kind}", done=doing, remedy=name, who=facts.heard_from)]
        case Thanks():
            section = "thanks helped" if facts.has_helped else "thanks failed"
            return [speaker.sentence(section, done=facts.remedy.doing, remedy=facts.remedy.name, user=facts.user)]
        case Position():
            side = {"claim": facts.side.text, "opposite": facts.side.opposite}
            sentences = [speaker.sentence(facts.kind, **side, user=facts.user, reason=facts.reason)]
            if facts.reason and facts.kind in {"agree", "disagree"}:
                sentences.append(speaker.sentence("reason", reason=facts.reason))
            return [*sentences, *_ground(speaker, facts.experience, "")]
        case Impression():
            voice = "heard" if facts.heard_from else "own"
            return [_impression(speaker, facts.thing, facts.aspect, facts.is_good, voice, facts.heard_from, is_held_out)]
        case Detail():
            return [
                speaker.sentence("detail reply", span=count_phrase(*facts.lasting))
                if facts.lasting
                else speaker.sentence("detail")
            ]
        case Chatter():
            return [speaker.sentence("chatter")]


_ANSWERS: tuple[AnswerKind, ...] = ("worked", "failed", "heard", "idea")


@dataclass(frozen=True)
class ThreadComment:
    """A comment of a thread: its author, the index of the comment that it answers (None: the post), and its facts."""

    author: str
    parent: int | None
    facts: Comment


@dataclass(frozen=True)
class Discussion:
    """A thread: the author and facts of the post, and the comments, each after the comment that it answers."""

    author: str
    post: Post
    comments: tuple[ThreadComment, ...]


def draw_discussion(
    dice: Dice,
    forum: str,
    users: Sequence[str],
    count: int,
    *,
    works: Sequence[str] = (),
    places: Sequence[str] = (),
    is_held_out: bool,
) -> Discussion:
    """Draw a thread of a forum.

    Args:
        dice: Stream of random draws.
        forum: Name of the forum, which determines the topics.
        users: Names of the users who may post and comment.
        count: Number of comments.
        works: Names of books, games and other works that the post may be about.
        places: Names of towns in which the author of the post may live.
        is_held_out: True for worlds reserved for evaluation.

    """
    author, chance = dice.pick(users), dice.below(100)
    if works and forum in WORKS and chance < 35:
        thread = _about_a_work(dice, author, forum, dice.pick(works), users, count)
    elif chance < 70 and has_problems(forum):
        thread = _about_a_problem(dice, author, forum, users, count, is_held_out)
    else:
        thread = _about_a_claim(dice, author, forum, users, count, is_held_out)
    if not places or dice.chance(50):
        return thread
    return replace(thread, post=replace(thread.post, place=dice.pick(places)))


def _about_a_problem(dice: Dice, author: str, forum: str, users: Sequence[str], count: int, is_held_out: bool) -> Discussion:
    problem = draw_problem(dice, forum, is_held_out=is_held_out)
    remedies = dice.some(problem.remedies, len(problem.remedies))
    tried = remedies[: dice.weigh((0, 1, 2), (45, 40, 15))]
    open_ones = remedies[len(tried) :]
    post = Question(
        problem=problem,
        tried=tuple(tried),
        lasting=dice.pick(SPANS[3:]) if problem.is_lasting and dice.chance(55) else None,
        asked_for=_person(dice) if dice.chance(15) else "",
        register=draw_register(dice),
    )
    # In a solved thread one remedy helps, and the author of the post gives thanks once, after an answer that proposes it.
    solution = open_ones[0] if dice.chance(60) else None
    comments: list[ThreadComment] = []
    is_solved = False
    for _ in range(count):
        proposals = [
            (index, comment.author, comment.facts)
            for index, comment in enumerate(comments)
            if isinstance(comment.facts, Answer) and comment.facts.kind != "failed" and comment.author != author
        ]
        right = [proposal for proposal in proposals if proposal[2].remedy == solution]
        wrong = [proposal for proposal in proposals if proposal[2].remedy in open_ones and proposal[2].remedy != solution]
        reported = [comment.facts.remedy.name for comment in comments if isinstance(comment.facts, Thanks)]
        chance = dice.below(100)
        if right and not is_solved and chance < 25:
            index, user, answer = dice.pick(right)
            comments.append(ThreadComment(author, index, Thanks(remedy=answer.remedy, user=user, register=draw_register(dice))))
            is_solved = True
        elif wrong and not is_solved and chance < 32 and wrong[-1][2].remedy.name not in reported:
            index, user, answer = wrong[-1]
            facts = Thanks(remedy=answer.remedy, user=user, has_helped=False, register=draw_register(dice))
            comments.append(ThreadComment(author, index, facts))
        else:
            comments.append(_help(dice, author, users, comments, post))
    return Discussion(author, post, tuple(comments))


def _help(dice: Dice, author: str, users: Sequence[str], comments: list[ThreadComment], post: Question) -> ThreadComment:
    """Draw an answer, a question for details or its reply, or chatter."""
    chance = dice.below(100)
    register = draw_register(dice)
    helper = _another_user(
        dice, users, {author, *(comment.author for comment in comments if isinstance(comment.facts, Answer))}
    )
    if chance < 62:
        remedy = dice.pick(post.problem.remedies)
        kind = dice.weigh(_ANSWERS, (35, 65, 0, 0) if remedy in post.tried else (40, 18, 20, 22))
        heard = _person(dice) if kind == "heard" else ""
        return ThreadComment(
            helper, _parent(dice, comments, 25), Answer(remedy=remedy, kind=kind, heard_from=heard, register=register)
        )
    if chance < 72:
        is_solved = any(isinstance(comment.facts, Thanks) and comment.facts.has_helped for comment in comments)
        asked = [
            index for index, comment in enumerate(comments) if isinstance(comment.facts, Detail) and not comment.facts.lasting
        ]
        replied = [comment.parent for comment in comments if isinstance(comment.facts, Detail)]
        open_questions = [] if is_solved else [index for index in asked if index not in replied]
        if open_questions and post.lasting and dice.chance(60):
            return ThreadComment(author, open_questions[0], Detail(lasting=post.lasting, register=register))
        return ThreadComment(helper, None, Detail(register=register))
    return ThreadComment(helper, _parent(dice, comments, 60), Chatter(register=register))


def _about_a_claim(dice: Dice, author: str, forum: str, users: Sequence[str], count: int, is_held_out: bool) -> Discussion:
    pair = draw_sides(dice, forum, is_held_out=is_held_out)
    first = dice.below(2)
    side = pair[first]
    is_first_hand = has_problems(forum) and dice.chance(35)
    post = Opening(
        side=side,
        reasons=tuple(dice.some(side.reasons, dice.between(1, 3))),
        has_turned=dice.chance(15),
        experience=dice.pick(SPANS[6:]) if is_first_hand else None,
        heard_from=_person(dice) if not is_first_hand and dice.chance(30) else "",
        register=draw_register(dice),
    )
    sides = {author: first}
    turned: set[str] = set()
    comments: list[ThreadComment] = []
    for _ in range(count):
        user = dice.pick(users) if dice.chance(85) else author
        register = draw_register(dice)
        if dice.chance(28):
            comments.append(ThreadComment(user, _parent(dice, comments, 60), Chatter(register=register)))
            continue
        positions = [  # comments of users who have changed sides since are not answered
            (index, comment.author)
            for index, comment in enumerate(comments)
            if isinstance(comment.facts, Position) and comment.facts.side == pair[sides[comment.author]]
        ]
        user_side = sides.get(user)
        against = [(index, name) for index, name in positions if sides[name] != user_side and name != user]
        if user_side is not None and against and user not in turned and dice.chance(18):
            index, name = dice.pick(against)
            answered = comments[index].facts
            reason = (answered.reason if isinstance(answered, Position) else "") or dice.pick(pair[sides[name]].reasons)
            sides[user] = 1 - user_side
            turned.add(user)
            facts = Position(side=pair[sides[user]], kind="changed", reason=reason, user=name, register=register)
            comments.append(ThreadComment(user, index, facts))
            continue
        is_new = user_side is None
        if user_side is None:
            user_side = sides[user] = dice.below(2)
        side = pair[user_side]
        if positions and dice.chance(45):
            index, name = dice.pick(positions)
            if name != user:
                reason = dice.pick(side.reasons) if dice.chance(60) else ""
                kind: PositionKind = "agree" if sides[name] == user_side else "disagree"
                comments.append(
                    ThreadComment(user, index, Position(side=side, kind=kind, user=name, reason=reason, register=register))
                )
                continue
        if not is_new:  # a user states a position on the post only once
            user = _another_user(dice, users, set(sides))
            side = pair[sides.setdefault(user, dice.below(2))]
        reason = dice.pick(side.reasons)
        experience = dice.pick(SPANS[6:]) if has_problems(forum) and dice.chance(20) else None
        comments.append(
            ThreadComment(user, None, Position(side=side, kind="side", reason=reason, register=register, experience=experience))
        )
    return Discussion(author, post, tuple(comments))


def _about_a_work(dice: Dice, author: str, forum: str, work: str, users: Sequence[str], count: int) -> Discussion:
    thing = Thing(WORKS[forum])
    aspects = list(thing.families)
    is_heard = dice.chance(25)
    post = Report(
        name=work,
        thing=thing,
        opinions=tuple((aspect, dice.chance(55)) for aspect in dice.some(aspects, dice.between(1, 4))),
        experience=None if is_heard else dice.pick(SPANS[1:8]),
        heard_from=_person(dice) if is_heard else "",
        register=draw_register(dice),
    )
    comments: list[ThreadComment] = []
    for _ in range(count):
        user = _another_user(
            dice, users, {author, *(comment.author for comment in comments if isinstance(comment.facts, Impression))}
        )
        if dice.chance(40):
            comments.append(ThreadComment(user, _parent(dice, comments, 60), Chatter(register=draw_register(dice))))
            continue
        heard = _person(dice) if dice.chance(25) else ""
        facts = Impression(
            thing=thing, aspect=dice.pick(aspects), is_good=dice.chance(55), heard_from=heard, register=draw_register(dice)
        )
        comments.append(ThreadComment(user, _parent(dice, comments, 30), facts))
    return Discussion(author, post, tuple(comments))


def _parent(dice: Dice, comments: Sequence[ThreadComment], percent: int) -> int | None:
    """Return the index of an earlier comment with a probability of `percent` / 100, else None for the post."""
    return dice.below(len(comments)) if comments and dice.chance(percent) else None


def _another_user(dice: Dice, users: Sequence[str], excluded: set[str]) -> str:
    """Return a user who is not in `excluded`, unless 12 draws find none: users should not contradict themselves."""
    for _ in range(12):
        if (user := dice.pick(users)) not in excluded:
            break
    return user


def _person(dice: Dice) -> str:
    return dice.pick(sections("people")["who"])
