"""Posts and comments of a forum, and whole threads of them. Facts hold all that a text says; `compose_post` and `compose_comment` say it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import Facts, Speaker, capitalized, counted, draw_register, paragraphs, sections, written
from webarena_gym.sites.prose.reviews import SPANS, Titled
from webarena_gym.sites.prose.things import WORKS, Claim, Problem, Remedy, Thing, draw_problem, draw_sides, has_problems, names

_TITLES = 12  # are tried for a short one
_LONG = 25  # percent of the posts that digress
Duration = tuple[int, str]  # (3, "week")


@dataclass(frozen=True, kw_only=True)
class Question(Facts):
    """A post that asks for help. `asked_for` is whose problem it is, "" for the writer's own; `tried` did not help."""

    problem: Problem
    tried: tuple[Remedy, ...] = ()
    lasting: Duration | None = None
    asked_for: str = ""
    place: str = ""  # where the writer lives


@dataclass(frozen=True, kw_only=True)
class Opening(Facts):
    """A post that takes a side. It is first-hand with `experience`, hearsay with `heard_from`, and a mere view with neither."""

    side: Claim
    reasons: tuple[str, ...]
    has_turned: bool = False  # the writer used to hold the opposite
    experience: Duration | None = None
    heard_from: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Report(Facts):
    """A post about a work or a thing by name: what is said of its aspects, first-hand, or as `heard_from` somebody."""

    name: str
    thing: Thing
    opinions: tuple[tuple[str, bool], ...]  # aspect and whether what is said of it is good
    experience: Duration | None = None
    heard_from: str = ""
    place: str = ""


Post = Question | Opening | Report
AnswerKind = Literal["worked", "failed", "heard", "idea"]
StandKind = Literal["side", "agree", "disagree", "changed"]


@dataclass(frozen=True, kw_only=True)
class Answer(Facts):
    """A comment on a remedy: it worked or failed for the writer, was heard from `heard_from`, or is a mere idea."""

    remedy: Remedy
    kind: AnswerKind
    heard_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Thanks(Facts):
    """The asker's comment on what came of the remedy that `user` proposed."""

    remedy: Remedy
    user: str
    has_helped: bool = True


@dataclass(frozen=True, kw_only=True)
class Stand(Facts):
    """A comment that takes a side: for itself, with or against `user`, or having been turned round by `user`'s reason."""

    side: Claim
    kind: StandKind
    reason: str = ""
    user: str = ""
    experience: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Impression(Facts):
    """A comment on an aspect of what a report is about, first-hand or as `heard_from` somebody."""

    thing: Thing
    aspect: str
    is_good: bool
    heard_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Detail(Facts):
    """A question for details, or with `lasting` the asker's reply how long it has lasted."""

    lasting: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Chatter(Facts):
    """A comment that says nothing."""


Comment = Answer | Thanks | Stand | Impression | Detail | Chatter


def compose_post(facts: Post, dice: Dice, *, is_held_out: bool, longest_title: int = 100) -> Titled:
    """Return the post that says these facts, with a title of at most so many characters if one is found."""
    speaker = Speaker("threads", dice, {"place": facts.place}, is_held_out=is_held_out)
    if isinstance(facts, Question):
        title, parts = _question(speaker, facts, longest_title)
    elif isinstance(facts, Opening):
        title, parts = _opening(speaker, facts, longest_title)
    else:
        title, parts = _report(speaker, facts, is_held_out, longest_title)
    if facts.place:
        parts[-1].append(speaker.say("from"))
    if dice.chance(_LONG):
        parts.insert(-1, [speaker.say("digression") for _ in range(dice.between(2, 5))])
    register = facts.register
    return Titled(written(title, register, dice).rstrip("."), written(paragraphs(*parts), register, dice))


def _title(speaker: Speaker, section: str, longest: int, **slots: str) -> str:
    """Return the first of some titles that is short enough, or the shortest of them."""
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
        span=counted(*facts.lasting) if facts.lasting else "",
        tried=facts.tried[0].name if facts.tried else "",
    )
    start = [speaker.say("question open")] if dice.chance(55) else []
    if facts.asked_for:
        told = speaker.say("question for", who=facts.asked_for, Problem=capitalized(problem.clause))
    else:
        told = speaker.say("question problem", problem=problem.clause)
    more = [speaker.say("lasting", span=counted(*facts.lasting))] if facts.lasting else []
    tried = [speaker.say("tried", done=remedy.doing) for remedy in facts.tried]
    ask = [speaker.say("ask")]
    if dice.chance(50):
        return title, [[*start, told, *more, *tried, *ask]]
    return title, [[*start, told, *more], [*tried, *ask]]


def _opening(speaker: Speaker, facts: Opening, longest: int) -> tuple[str, list[list[str]]]:
    side, dice = facts.side, speaker.dice
    title = _title(
        speaker,
        "debate title",
        longest,
        claim=side.text,
        reason=dice.pick(facts.reasons) if facts.reasons else "",
        span=counted(*facts.experience) if facts.experience else "",
        who=facts.heard_from,
    )
    stand = speaker.say("turned" if facts.has_turned else "stand", claim=side.text, opposite=side.opposite)
    reasons = [
        speaker.say("reason" if place == 0 else "reason more", reason=reason) for place, reason in enumerate(facts.reasons)
    ]
    ground = _ground(speaker, facts.experience, facts.heard_from)
    return title, ([[stand, *reasons], ground] if len(reasons) > 1 else [[stand, *reasons, *ground]])


def _ground(speaker: Speaker, experience: Duration | None, heard_from: str) -> list[str]:
    """Say where an opinion comes from."""
    if experience:
        return [speaker.say("seen", span=counted(*experience))]
    return [speaker.say("told", who=heard_from)] if heard_from else []


def _report(speaker: Speaker, facts: Report, is_held_out: bool, longest: int) -> tuple[str, list[list[str]]]:
    voice = "heard" if facts.heard_from else "own"
    span = counted(*(facts.experience or (2, "week")))
    kind = "hearsay" if facts.heard_from else "experience"
    about = names()[facts.thing.families[facts.opinions[0][0]]] if facts.opinions else ""
    title = _title(speaker, f"{kind} title", longest, work=facts.name, who=facts.heard_from, span=span, name=about)
    start = speaker.say(f"{kind} open", work=facts.name, who=facts.heard_from, span=span)
    said = [
        _impression(speaker, facts.thing, aspect, is_good, voice, facts.heard_from, is_held_out)
        for aspect, is_good in facts.opinions
    ]
    end = [speaker.say("experience end")] if speaker.dice.chance(60) else []
    return title, ([[start, *said, *end]] if len(said) < 3 else [[start], said, end])


def _impression(speaker: Speaker, thing: Thing, aspect: str, is_good: bool, voice: str, who: str, is_held_out: bool) -> str:
    family = thing.families[aspect]
    clauses = Speaker("aspects", speaker.dice, thing.slots, is_held_out=is_held_out)
    clause = clauses.phrase(f"{family} {'good' if is_good else 'bad'}")
    name = names()[family]
    return speaker.say(f"said {voice}", clause=clause, who=who, name="" if name.rsplit(" ", 1)[-1] in clause else name)


def compose_comment(facts: Comment, dice: Dice, *, is_held_out: bool) -> str:
    """Return the comment that says these facts."""
    speaker = Speaker("threads", dice, {}, is_held_out=is_held_out)
    said = _comment(speaker, facts, is_held_out)
    if not isinstance(facts, Chatter | Detail) and dice.chance(25):
        said.append(speaker.say("tail"))
    return written(" ".join(said), facts.register, dice)


def _comment(speaker: Speaker, facts: Comment, is_held_out: bool) -> list[str]:
    match facts:
        case Answer():
            doing, name = facts.remedy.doing, facts.remedy.name
            return [speaker.say(f"answer {facts.kind}", done=doing, remedy=name, who=facts.heard_from)]
        case Thanks():
            section = "thanks helped" if facts.has_helped else "thanks failed"
            return [speaker.say(section, done=facts.remedy.doing, remedy=facts.remedy.name, user=facts.user)]
        case Stand():
            side = {"claim": facts.side.text, "opposite": facts.side.opposite}
            said = [speaker.say(facts.kind, **side, user=facts.user, reason=facts.reason)]
            if facts.reason and facts.kind in {"agree", "disagree"}:
                said.append(speaker.say("reason", reason=facts.reason))
            return [*said, *_ground(speaker, facts.experience, "")]
        case Impression():
            voice = "heard" if facts.heard_from else "own"
            return [_impression(speaker, facts.thing, facts.aspect, facts.is_good, voice, facts.heard_from, is_held_out)]
        case Detail():
            return [speaker.say("detail reply", span=counted(*facts.lasting)) if facts.lasting else speaker.say("detail")]
        case Chatter():
            return [speaker.say("chatter")]


_ANSWERS: tuple[AnswerKind, ...] = ("worked", "failed", "heard", "idea")


@dataclass(frozen=True)
class Said:
    """A comment of a thread: who wrote it, the place of the comment that it answers (None: the post), and its facts."""

    author: str
    parent: int | None
    facts: Comment


@dataclass(frozen=True)
class Discussion:
    """A thread: who posted, the facts of the post, and the comments, each after the one that it answers."""

    author: str
    post: Post
    comments: tuple[Said, ...]


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
    """Draw a thread of a forum with `count` comments.

    `works` are names of books, games and the like that it may be about, `places` names of towns where its author may live.
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
        asked_for=_somebody(dice) if dice.chance(15) else "",
        register=draw_register(dice),
    )
    # One remedy is what helped the asker, if the thread is solved; the asker thanks once, after an answer that names it.
    solution = open_ones[0] if dice.chance(60) else None
    comments: list[Said] = []
    is_solved = False
    for _ in range(count):
        proposals = [
            (place, said.author, said.facts)
            for place, said in enumerate(comments)
            if isinstance(said.facts, Answer) and said.facts.kind != "failed" and said.author != author
        ]
        right = [proposal for proposal in proposals if proposal[2].remedy == solution]
        wrong = [proposal for proposal in proposals if proposal[2].remedy in open_ones and proposal[2].remedy != solution]
        reported = [said.facts.remedy.name for said in comments if isinstance(said.facts, Thanks)]
        chance = dice.below(100)
        if right and not is_solved and chance < 25:
            place, user, answer = dice.pick(right)
            comments.append(Said(author, place, Thanks(remedy=answer.remedy, user=user, register=draw_register(dice))))
            is_solved = True
        elif wrong and not is_solved and chance < 32 and wrong[-1][2].remedy.name not in reported:
            place, user, answer = wrong[-1]
            facts = Thanks(remedy=answer.remedy, user=user, has_helped=False, register=draw_register(dice))
            comments.append(Said(author, place, facts))
        else:
            comments.append(_help(dice, author, users, comments, post))
    return Discussion(author, post, tuple(comments))


def _help(dice: Dice, author: str, users: Sequence[str], comments: list[Said], post: Question) -> Said:
    """Draw an answer, a question for details or its reply, or chatter."""
    chance = dice.below(100)
    register = draw_register(dice)
    helper = _other(dice, users, {author, *(said.author for said in comments if isinstance(said.facts, Answer))})
    if chance < 62:
        remedy = dice.pick(post.problem.remedies)
        kind = dice.weigh(_ANSWERS, (35, 65, 0, 0) if remedy in post.tried else (40, 18, 20, 22))
        heard = _somebody(dice) if kind == "heard" else ""
        return Said(helper, _parent(dice, comments, 25), Answer(remedy=remedy, kind=kind, heard_from=heard, register=register))
    if chance < 72:
        is_solved = any(isinstance(said.facts, Thanks) and said.facts.has_helped for said in comments)
        asked = [place for place, said in enumerate(comments) if isinstance(said.facts, Detail) and not said.facts.lasting]
        replied = [said.parent for said in comments if isinstance(said.facts, Detail)]
        open_questions = [] if is_solved else [place for place in asked if place not in replied]
        if open_questions and post.lasting and dice.chance(60):
            return Said(author, open_questions[0], Detail(lasting=post.lasting, register=register))
        return Said(helper, None, Detail(register=register))
    return Said(helper, _parent(dice, comments, 60), Chatter(register=register))


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
        heard_from=_somebody(dice) if not is_first_hand and dice.chance(30) else "",
        register=draw_register(dice),
    )
    held = {author: first}
    turned: set[str] = set()
    comments: list[Said] = []
    for _ in range(count):
        user = dice.pick(users) if dice.chance(85) else author
        register = draw_register(dice)
        if dice.chance(28):
            comments.append(Said(user, _parent(dice, comments, 60), Chatter(register=register)))
            continue
        stands = [  # what somebody said before they changed their mind is not answered any more
            (place, said.author)
            for place, said in enumerate(comments)
            if isinstance(said.facts, Stand) and said.facts.side == pair[held[said.author]]
        ]
        own = held.get(user)
        against = [(place, name) for place, name in stands if held[name] != own and name != user]
        if own is not None and against and user not in turned and dice.chance(18):
            place, name = dice.pick(against)
            given = comments[place].facts
            reason = (given.reason if isinstance(given, Stand) else "") or dice.pick(pair[held[name]].reasons)
            held[user] = 1 - own
            turned.add(user)
            facts = Stand(side=pair[held[user]], kind="changed", reason=reason, user=name, register=register)
            comments.append(Said(user, place, facts))
            continue
        is_new = own is None
        if own is None:
            own = held[user] = dice.below(2)
        side = pair[own]
        if stands and dice.chance(45):
            place, name = dice.pick(stands)
            if name != user:
                reason = dice.pick(side.reasons) if dice.chance(60) else ""
                kind: StandKind = "agree" if held[name] == own else "disagree"
                comments.append(Said(user, place, Stand(side=side, kind=kind, user=name, reason=reason, register=register)))
                continue
        if not is_new:  # nobody says the same again to nobody in particular
            user = _other(dice, users, set(held))
            side = pair[held.setdefault(user, dice.below(2))]
        reason = dice.pick(side.reasons)
        seen = dice.pick(SPANS[6:]) if has_problems(forum) and dice.chance(20) else None
        comments.append(Said(user, None, Stand(side=side, kind="side", reason=reason, register=register, experience=seen)))
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
        heard_from=_somebody(dice) if is_heard else "",
        register=draw_register(dice),
    )
    comments: list[Said] = []
    for _ in range(count):
        user = _other(dice, users, {author, *(said.author for said in comments if isinstance(said.facts, Impression))})
        if dice.chance(40):
            comments.append(Said(user, _parent(dice, comments, 60), Chatter(register=draw_register(dice))))
            continue
        heard = _somebody(dice) if dice.chance(25) else ""
        facts = Impression(
            thing=thing, aspect=dice.pick(aspects), is_good=dice.chance(55), heard_from=heard, register=draw_register(dice)
        )
        comments.append(Said(user, _parent(dice, comments, 30), facts))
    return Discussion(author, post, tuple(comments))


def _parent(dice: Dice, comments: Sequence[Said], percent: int) -> int | None:
    """Return an earlier comment in so many of a hundred cases."""
    return dice.below(len(comments)) if comments and dice.chance(percent) else None


def _other(dice: Dice, users: Sequence[str], taken: set[str]) -> str:
    """Return a user who is none of those, where one is soon found: nobody should contradict himself."""
    for _ in range(12):
        if (user := dice.pick(users)) not in taken:
            break
    return user


def _somebody(dice: Dice) -> str:
    return dice.pick(sections("people")["who"])
