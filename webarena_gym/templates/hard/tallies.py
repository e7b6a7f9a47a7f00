"""What hundreds of comments say together: who stands where in the end, what helped whom, who has convinced whom.

Nothing is planted. The comments are composed of facts, and the tables that hold these give the truth. Each comment has to be read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from webarena_gym.sites.layout import page_sizes
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import number_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.testimonies import needs_facts, opening
from webarena_gym.templates.hard.ways import findable
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, open_post
from webarena_gym.templates.ways import nth

TEMPLATES = t.Templates("hard")
LEAST, MOST = 150, 430  # comments of a thread
DEEPEST = 8  # answers below answers that a page shows; the rest is behind a link


def a_thread(world: t.Sampler, kind: str, *, apart_from: str = "") -> t.Row:
    """Draw a post of a kind that very many have commented on, none of them I."""
    needs_facts(world, "comment_fact")
    rows = world.rows(
        POSTS
        + """SELECT p.*, f.subject FROM posts p JOIN submission_fact f USING (submission_id)
        WHERE f.kind = ? AND p.comments BETWEEN ? AND ? AND f.subject != ?
            AND NOT EXISTS (SELECT 1 FROM comment c WHERE c.submission_id = p.submission_id AND (c.user_id = ? OR c.state != 'visible'))
        ORDER BY p.submission_id""",
        kind,
        LEAST,
        MOST,
        apart_from,
        ME,
    )
    return world.rng.choice(findable(world, rows, "submission", "title"))


def said_in(world: t.Sampler, thread: t.Row) -> list[t.Row]:
    """Return the comments of a thread with what they say, the oldest first."""
    return world.rows(
        """SELECT c.*, u.username, f.kind, f.stance, f.subject, f.reason, f.somebody FROM comment c
        JOIN comment_fact f USING (comment_id) JOIN user u USING (user_id) WHERE c.submission_id = ? ORDER BY c.created_at, c.comment_id""",
        thread["submission_id"],
    )


def sides(said: Iterable[t.Row]) -> dict[str, str]:
    """Return where everybody stands in the end who ever takes a side."""
    return {row["username"]: row["subject"] for row in said if row["kind"] == "stand"}


def read(world: t.Sampler, thread: t.Row) -> list[Step]:
    """Return the steps to a thread and through all of it: page by page, and behind each link that leads deeper."""
    answers: dict[int | None, list[int]] = {}
    for row in world.rows(
        "SELECT comment_id, parent_id FROM comment WHERE submission_id = ? ORDER BY up - down DESC, comment_id",
        thread["submission_id"],
    ):
        answers.setdefault(row["parent_id"], []).append(row["comment_id"])

    def folded(comment: int, depth: int = 0) -> Iterator[int]:
        if depth == DEEPEST:
            yield from [comment] if comment in answers else ()
        else:
            for answer in answers.get(comment, ()):
                yield from folded(answer, depth + 1)

    def below(roots: Iterable[int]) -> list[Step]:
        steps: list[Step] = []
        for place, comment in enumerate(each for root in roots for each in folded(root)):
            steps += [t.click(nth("Continue this thread", place), "It goes on below."), *below([comment]), t.back()]
        return steps

    firsts = answers[None]
    size = world.layout.page_size(PER_PAGE)
    if len(firsts) <= page_sizes(PER_PAGE)[1]:
        raise t.NothingToDraw("a thread of several pages")
    pages = [below(firsts[first : first + size]) for first in range(0, len(firsts), size)]
    turn = t.click("Next", "There are more comments on the next page.")
    end = t.hover("Previous", "This is the end of the last page.")
    return [*open_post(thread["title"]), *pages[0], *(step for page in pages[1:] for step in (turn, *page)), end]


def tally(
    slots: dict[str, str], names: Iterable[str], way: Sequence[Step], evidence: Iterable[t.Row], *, least: int = 12
) -> t.Draw:
    """Return a draw that asks how many users something is true of. Raises NothingToDraw where they are few."""
    found = sorted(set(names))
    total = len(found)
    if total < least:
        raise t.NothingToDraw("a number that is not small")
    shown = sorted({opening(row["body"]) for row in evidence})
    return t.Draw(
        slots,
        t.answer(fuzzy_match=str(total)),
        [*way, t.leave(str(total), "I have counted them, each once.")],
        wrong_answers=[str(total + 1), str(total - 1)],
        grounds={str(total): number_of(*found)},
        evidence=shown,
    )


def roll(slots: dict[str, str], names: Iterable[str], way: Sequence[Step], evidence: Iterable[t.Row], most: int = 30) -> t.Draw:
    """Return a draw that asks for the names of users. Raises NothingToDraw where they are too few or too many."""
    found = sorted(set(names))
    if not 5 <= len(found) <= most:
        raise t.NothingToDraw("a list of names of some length")
    text = "; ".join(found)
    return t.Draw(
        slots,
        t.answer(fuzzy_match=text),
        [*way, t.leave(text, "These are all.")],
        wrong_answers=["; ".join(found[1:]), "; ".join(found[:-1])],
        evidence=sorted({opening(row["body"]) for row in evidence}),
    )


@TEMPLATES.define(
    'Somebody has to count how the debate "{title}" in {forum} has ended. How many of the users who comment there are, in the end, of the opinion that {claim}? Each user counts once, by the last comment in which they take a side. Answer with the number.',
    '"{title}" ({forum}): number of commenters who think in the end that {claim}. one vote per user, last word counts',
    'For our newsletter: please go through the whole discussion "{title}" in the forum {forum} and count the people who hold there that {claim}. Some write more than once, and some let themselves be convinced, so take everybody once, with the opinion that they have arrived at. Whoever never says what they think is not counted. Just the number, please.',
    'How many different users in the thread "{title}" of {forum} end up on the side of those who say that {claim}? If someone changes their mind, only the new opinion counts.',
    'Count heads for me in {forum}, thread "{title}": who is of the opinion, in the end, that {claim}? Not comments but people, and only what they said last. I only need the total.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def stand_in_the_end(world: t.Sampler) -> t.Draw:
    """Count the users who hold a claim when a debate is over."""
    thread = a_thread(world, "opening")
    said = said_in(world, thread)
    final = sides(said)
    claim = world.rng.choice(sorted(set(final.values())))
    slots = {"title": thread["title"], "forum": thread["forum"], "claim": claim}
    names = [name for name, side in final.items() if side == claim]
    return tally(slots, names, read(world, thread), [row for row in said if row["kind"] == "stand"])


@TEMPLATES.define(
    'Who has changed sides in the discussion "{title}" in {forum}? Give me the usernames of all who say there that they have changed their mind.',
    '"{title}", {forum}: list everybody who changed their mind in the comments (usernames)',
    'I am writing about people who can be convinced. The thread "{title}" in the forum {forum} is long, but somewhere in it people admit that they were wrong and take the other side from then on. Please list the usernames of all of them.',
    'In {forum} there is a debate called "{title}". Which users let themselves be convinced of the opposite in it? All of their names, please, and nobody elses.',
    'Please read all comments under "{title}" ({forum}), and name every user who has given up their opinion for that of the other side there.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def changed_sides(world: t.Sampler) -> t.Draw:
    """List the users who have changed their mind in a debate."""
    thread = a_thread(world, "opening")
    turned = [row for row in said_in(world, thread) if row["stance"] == "changed"]
    slots = {"title": thread["title"], "forum": thread["forum"]}
    return roll(slots, [row["username"] for row in turned], read(world, thread), turned)


@TEMPLATES.define(
    'I look for people who think as I do. Which users are in the end of the opinion that {first} in the discussion "{title}" in {forum}, and also that {second} in "{other_title}" in {other_forum}? Give me their usernames.',
    'usernames of all who (finally) say {first} in "{title}" ({forum}) AND {second} in "{other_title}" ({other_forum})',
    'There are two long debates, "{title}" in {forum} and "{other_title}" in {other_forum}. I would like to invite those users who hold in the first that {first}, and in the second that {second}. Where somebody changes their mind, the last word counts. Who are they?',
    'Find all users who comment on both "{title}" ({forum}) and "{other_title}" ({other_forum}), and who in the end hold that {first} in the one and that {second} in the other. List the names.',
    'Who agrees with me twice? My opinions: {first} (discussed in {forum} as "{title}"), and {second} (discussed in {other_forum} as "{other_title}"). Names of all users who have said both in these threads, and not taken it back.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def of_two_opinions(world: t.Sampler) -> t.Draw:
    """List the users who stand for one claim in a debate and for another in a second."""
    thread = a_thread(world, "opening")
    other = a_thread(world, "opening", apart_from=thread["subject"])
    said, said_there = said_in(world, thread), said_in(world, other)
    here, there = sides(said), sides(said_there)
    first, second = world.rng.choice(sorted(set(here.values()))), world.rng.choice(sorted(set(there.values())))
    names = [name for name, side in here.items() if side == first and there.get(name) == second]
    slots = {"title": thread["title"], "forum": thread["forum"], "first": first}
    slots |= {"other_title": other["title"], "other_forum": other["forum"], "second": second}
    shown = [row for row in (*said, *said_there) if row["kind"] == "stand" and row["username"] in names]
    return roll(slots, names, [*read(world, thread), *read(world, other)], shown)


@TEMPLATES.define(
    'How many different users argue in the discussion "{title}" in {forum} with the reason that {reason}? Answer with the number.',
    '"{title}" in {forum}: how many users give the reason "{reason}"? (users, not comments)',
    'I prepare a talk, and the argument that {reason} interests me. In the thread "{title}" of the forum {forum} it comes up again and again. By how many people, counting each of them once, however often they say it?',
    'Please count the users who bring forward in "{title}" ({forum}) that {reason}. The same user twice is one user. The number is enough.',
    'Thread "{title}", forum {forum}. Number of people who say {reason}, in whatever words, in the comments. Nobody is to be counted twise.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def reason_given(world: t.Sampler) -> t.Draw:
    """Count the users who give a reason in a debate."""
    thread = a_thread(world, "opening")
    said = [row for row in said_in(world, thread) if row["kind"] == "stand" and row["reason"]]
    reason = world.rng.choice(sorted({row["reason"] for row in said}))
    given = [row for row in said if row["reason"] == reason]
    slots = {"title": thread["title"], "forum": thread["forum"], "reason": reason}
    return tally(slots, [row["username"] for row in given], read(world, thread), given)


@TEMPLATES.define(
    'Who has convinced most people in the discussion "{title}" in {forum}? Those who change their mind say who it was. Give me the username.',
    '{forum}, "{title}": which user is named most often by those who changed their mind?',
    'In the thread "{title}" of the forum {forum} some people change their mind, and thank somebody for it. I would like to know who has turned the most of them around. One username, please.',
    'Please find out whose arguments have changed the most minds under "{title}" in {forum}, going by what the converted say themselves.',
    'The best debater of "{title}" ({forum}) is the one who has brought most people over to their side, as these people say. Who is it?',
    sites=("reddit",),
    difficulty=("reading", "optimum"),
)
def most_convincing(world: t.Sampler) -> t.Draw:
    """Find the user who has convinced most others in a debate."""
    thread = a_thread(world, "opening")
    turned = [row for row in said_in(world, thread) if row["stance"] == "changed" and row["somebody"]]
    counts = Counter(row["somebody"] for row in turned).most_common()
    if len(counts) < 5 or counts[0][1] == counts[1][1]:
        raise t.NothingToDraw("somebody who has convinced more than anybody else")
    best = counts[0][0]
    return t.Draw(
        {"title": thread["title"], "forum": thread["forum"]},
        t.answer(fuzzy_match=best),
        [*read(world, thread), t.leave(best, f"{counts[0][1]} people name {best}.")],
        wrong_answers=[name for name, _ in counts[1:3]],
        evidence=sorted({opening(row["body"]) for row in turned}),
    )


def advised(world: t.Sampler, thread: t.Row) -> list[t.Row]:
    """Return what commenters say of remedies from experience of their own. The one who asked is not among them."""
    said = [row for row in said_in(world, thread) if row["kind"] == "answer" and row["user_id"] != thread["user_id"]]
    return [row for row in said if row["stance"] in {"worked", "failed"}]


@TEMPLATES.define(
    'How many of those who answer in "{title}" in {forum} say that {remedy} has worked for themselves? Advice that was only heard, or never tried, does not count, and neither does the author of the question. Answer with the number of users.',
    '{forum}, "{title}": for how many users did {remedy} work (own experience only, without the one who asks)? number',
    'Before I try it: in the thread "{title}" of the forum {forum}, how many different people report that they did it ({remedy}) and that it helped? What friends and uncles say is not what I am after, and not what the one who asked reports either. The number, please.',
    'Count the users under "{title}" ({forum}) who say that {remedy} really worked for themselves. Failures, hearsay and ideas are not counted, nor is the author of the post.',
    'In {forum}, thread "{title}", people recommend all kinds of things. With {remedy}, how many users have had success themselves, the one who asked left aside? I need one number.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def worked_for(world: t.Sampler) -> t.Draw:
    """Count the users for whom a remedy has worked."""
    thread = a_thread(world, "question")
    tried = advised(world, thread)
    remedy = world.rng.choice(sorted({row["subject"] for row in tried}))
    own = [row for row in tried if row["subject"] == remedy]
    names = {row["username"] for row in own if row["stance"] == "worked"}
    if names & {row["username"] for row in own if row["stance"] == "failed"}:
        raise t.NothingToDraw("a remedy of which nobody says both")
    return tally({"title": thread["title"], "forum": thread["forum"], "remedy": remedy}, names, read(world, thread), own)


@TEMPLATES.define(
    'How many users recommend something in "{title}" in {forum} which they know from other people alone, and have not tried themselves? Who only has an idea of their own does not count. Answer with the number.',
    '"{title}" ({forum}): number of users who only pass on what somebody else told them',
    'Half of the advice on the net is hearsay. In the thread "{title}" of the forum {forum}, how many users give some? I mean advice that they have from a friend, a relative or somebody else, without experience of their own. Mere guesses are something different.',
    'Please count the users under "{title}" ({forum}) whose advice is second-hand: somebody has told them that it helps.',
    'Hearsay in "{title}", forum {forum}: of how many users does the advice come from someone they know, and not from themselves? One number.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def hearsay_of(world: t.Sampler) -> t.Draw:
    """Count the users whose advice is at second hand."""
    thread = a_thread(world, "question")
    said = [row for row in said_in(world, thread) if row["kind"] == "answer"]
    heard = [row for row in said if row["stance"] == "heard"]
    names = {row["username"] for row in heard}
    if names & {row["username"] for row in said if row["stance"] != "heard"}:
        raise t.NothingToDraw("a thread in which nobody gives advice of both kinds")
    return tally({"title": thread["title"], "forum": thread["forum"]}, names, read(world, thread), heard)


@TEMPLATES.define(
    'How many of the users who answer "{title}" in {forum} have tried {remedy} themselves, whether it worked or not? The author of the question does not count. Answer with the number.',
    '"{title}" ({forum}): {remedy}, number of users with own experience (good or bad), the one who asks excluded',
    'I keep a list of what people really do. For {remedy} I need the number of users in the thread "{title}" of the forum {forum} who have done it themselves, with or without success. Each is counted once; who only passes something on, or has an idea, is not, and neither is the one who asks.',
    'Please go through "{title}" in {forum}: how many different users speak there from experience of their own about {remedy}? Praise and disappointment both count; what the author of the question reports does not.',
    'Own trials of {remedy} in "{title}" ({forum}): how many people were they, all in all? What was only heard of does not count, nor does the one who asked.',
    sites=("reddit",),
    difficulty=("reading", "exhaustive"),
)
def tried_by(world: t.Sampler) -> t.Draw:
    """Count the users who have tried a remedy."""
    thread = a_thread(world, "question")
    tried = advised(world, thread)
    remedy = world.rng.choice(sorted({row["subject"] for row in tried}))
    own = [row for row in tried if row["subject"] == remedy]
    slots = {"title": thread["title"], "forum": thread["forum"], "remedy": remedy}
    return tally(slots, [row["username"] for row in own], read(world, thread), own, least=20)
