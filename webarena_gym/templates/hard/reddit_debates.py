"""Hard templates of the forum that need large worlds: aggregates over hundreds of posts and comments.

Nothing is planted. Texts are composed from facts, and answers are computed from the tables of these facts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from webarena_gym.sites.layout import page_sizes
from webarena_gym.sites.prose.things import WORKS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.kit import counting_draw, findable, needs_facts, opening
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.reddit import ME, PER_PAGE, POSTS, open_forum, open_post, votes_are
from webarena_gym.templates.ways import along, nth

TEXTS = read_texts("hard/reddit")

LEAST, MOST = 150, 430  # comments of a thread


DEEPEST = 8  # answers below answers that a page shows; the rest is behind a link


def a_thread(world: t.Sampler, kind: str, *, apart_from: str = "") -> t.Row:
    """Draw a post of a kind with very many comments, none of them by the current user."""
    needs_facts(world, "comment_fact")
    rows = world.rows(
        POSTS
        + """SELECT p.*, f.subject FROM posts p JOIN submission_fact f USING (submission_id)
        WHERE f.kind = ? AND p.comments BETWEEN ? AND ? AND f.subject != ?
            AND NOT EXISTS (SELECT 1 FROM comment c
                WHERE c.submission_id = p.submission_id AND (c.user_id = ? OR c.state != 'visible'))
        ORDER BY p.submission_id""",
        kind,
        LEAST,
        MOST,
        apart_from,
        ME,
    )
    return world.rng.choice(findable(world, rows, "submission", "title"))


def comments_of(world: t.Sampler, thread: t.Row) -> list[t.Row]:
    """Return the comments of a thread with their facts, oldest first."""
    query = """SELECT c.*, u.username, f.kind, f.stance, f.subject, f.reason, f.somebody FROM comment c
        JOIN comment_fact f USING (comment_id) JOIN user u USING (user_id)
        WHERE c.submission_id = ? ORDER BY c.created_at, c.comment_id"""
    return world.rows(query, thread["submission_id"])


def sides(comments: Iterable[t.Row]) -> dict[str, str]:
    """Return the final position of each user who takes a side."""
    return {row["username"]: row["subject"] for row in comments if row["kind"] == "stand"}


def read(world: t.Sampler, thread: t.Row) -> list[Step]:
    """Return the steps through all of a thread: over its pages, and behind each link to deeper comments."""
    answers: dict[int | None, list[int]] = {}
    for row in world.rows(
        "SELECT comment_id, parent_id FROM comment WHERE submission_id = ? ORDER BY up - down DESC, comment_id",
        thread["submission_id"],
    ):
        answers.setdefault(row["parent_id"], []).append(row["comment_id"])

    def hidden_comments(comment: int, depth: int = 0) -> Iterator[int]:
        if depth == DEEPEST:
            yield from [comment] if comment in answers else ()
        else:
            for answer in answers.get(comment, ()):
                yield from hidden_comments(answer, depth + 1)

    def below(roots: Iterable[int]) -> list[Step]:
        steps: list[Step] = []
        for place, comment in enumerate(item for root in roots for item in hidden_comments(root)):
            steps += [t.click(nth("Continue this thread", place), "It goes on below."), *below([comment]), t.back()]
        return steps

    firsts = answers[None]
    size = world.layout.page_size(PER_PAGE)
    t.skip_if(len(firsts) <= page_sizes(PER_PAGE)[1], "a thread of several pages")
    pages = [below(firsts[first : first + size]) for first in range(0, len(firsts), size)]
    turn = t.click("Next", "There are more comments on the next page.")
    end = t.hover("Previous", "This is the end of the last page.")
    return [*open_post(thread["title"]), *pages[0], *(step for page in pages[1:] for step in (turn, *page)), end]


def tally(
    slots: dict[str, str], names: Iterable[str], way: Sequence[Step], evidence: Iterable[t.Row], *, least: int = 12
) -> t.Draw:
    """Return a draw that asks for a number of users. Raises NothingToDraw if there are too few."""
    shown = sorted({opening(row["body"]) for row in evidence})
    return counting_draw(slots, sorted(set(names)), way, shown, "I have counted them, each once.", least=least)


def roll(slots: dict[str, str], names: Iterable[str], way: Sequence[Step], evidence: Iterable[t.Row], most: int = 30) -> t.Draw:
    """Return a draw that asks for the names of users. Raises NothingToDraw if there are too few or too many."""
    distinct = sorted(set(names))
    t.skip_if(not 5 <= len(distinct) <= most, "a list of names of some length")
    text = "; ".join(distinct)
    check = t.answer(fuzzy_match=text)
    steps = [*way, t.end_task(text, "These are all.")]
    wrong_answers = ["; ".join(distinct[1:]), "; ".join(distinct[:-1])]
    return t.Draw(slots, check, steps, wrong_answers=wrong_answers, evidence=sorted({opening(row["body"]) for row in evidence}))


def stand_in_the_end(world: t.Sampler) -> t.Draw:
    """Count the users who hold a claim when a debate is over."""
    thread = a_thread(world, "opening")
    statements = comments_of(world, thread)
    final = sides(statements)
    claim = world.rng.choice(sorted(set(final.values())))
    slots = {"title": thread["title"], "forum": thread["forum"], "claim": claim}
    names = [name for name, side in final.items() if side == claim]
    return tally(slots, names, read(world, thread), [row for row in statements if row["kind"] == "stand"])


def changed_sides(world: t.Sampler) -> t.Draw:
    """List the users who changed sides in a debate."""
    thread = a_thread(world, "opening")
    turned = [row for row in comments_of(world, thread) if row["stance"] == "changed"]
    slots = {"title": thread["title"], "forum": thread["forum"]}
    return roll(slots, [row["username"] for row in turned], read(world, thread), turned)


def of_two_opinions(world: t.Sampler) -> t.Draw:
    """List the users who support one claim in a debate and another claim in a second debate."""
    thread = a_thread(world, "opening")
    other = a_thread(world, "opening", apart_from=thread["subject"])
    statements, said_there = comments_of(world, thread), comments_of(world, other)
    here, there = sides(statements), sides(said_there)
    first, second = world.rng.choice(sorted(set(here.values()))), world.rng.choice(sorted(set(there.values())))
    names = [name for name, side in here.items() if side == first and there.get(name) == second]
    slots = {"title": thread["title"], "forum": thread["forum"], "first": first}
    slots |= {"other_title": other["title"], "other_forum": other["forum"], "second": second}
    shown = [row for row in (*statements, *said_there) if row["kind"] == "stand" and row["username"] in names]
    return roll(slots, names, [*read(world, thread), *read(world, other)], shown)


def reason_given(world: t.Sampler) -> t.Draw:
    """Count the users who give a reason in a debate."""
    thread = a_thread(world, "opening")
    statements = [row for row in comments_of(world, thread) if row["kind"] == "stand" and row["reason"]]
    reason = world.rng.choice(sorted({row["reason"] for row in statements}))
    supporters = [row for row in statements if row["reason"] == reason]
    slots = {"title": thread["title"], "forum": thread["forum"], "reason": reason}
    return tally(slots, [row["username"] for row in supporters], read(world, thread), supporters)


def most_convincing(world: t.Sampler) -> t.Draw:
    """Find the user who has convinced most others in a debate."""
    thread = a_thread(world, "opening")
    turned = [row for row in comments_of(world, thread) if row["stance"] == "changed" and row["somebody"]]
    counts = Counter(row["somebody"] for row in turned).most_common()
    t.skip_if(len(counts) < 5 or counts[0][1] == counts[1][1], "somebody who has convinced more than anybody else")
    best = counts[0][0]
    slots = {"title": thread["title"], "forum": thread["forum"]}
    steps = [*read(world, thread), t.end_task(best, f"{counts[0][1]} people name {best}.")]
    evidence = sorted({opening(row["body"]) for row in turned})
    return t.Draw(slots, t.answer(fuzzy_match=best), steps, wrong_answers=[name for name, _ in counts[1:3]], evidence=evidence)


def remedy_statements(world: t.Sampler, thread: t.Row) -> list[t.Row]:
    """Return the statements of commenters about remedies that they have tried, without those of the thread's author."""
    statements = [row for row in comments_of(world, thread) if row["kind"] == "answer" and row["user_id"] != thread["user_id"]]
    return [row for row in statements if row["stance"] in {"worked", "failed"}]


def worked_for(world: t.Sampler) -> t.Draw:
    """Count the users for whom a remedy has worked."""
    thread = a_thread(world, "question")
    tried = remedy_statements(world, thread)
    remedy = world.rng.choice(sorted({row["subject"] for row in tried}))
    rows = [row for row in tried if row["subject"] == remedy]
    names = {row["username"] for row in rows if row["stance"] == "worked"}
    t.skip_if(names & {row["username"] for row in rows if row["stance"] == "failed"}, "a remedy of which nobody says both")
    return tally({"title": thread["title"], "forum": thread["forum"], "remedy": remedy}, names, read(world, thread), rows)


def hearsay_of(world: t.Sampler) -> t.Draw:
    """Count the users whose advice is at second hand."""
    thread = a_thread(world, "question")
    statements = [row for row in comments_of(world, thread) if row["kind"] == "answer"]
    heard = [row for row in statements if row["stance"] == "heard"]
    names = {row["username"] for row in heard}
    if names & {row["username"] for row in statements if row["stance"] != "heard"}:
        raise t.NothingToDraw("a thread in which nobody gives advice of both kinds")
    return tally({"title": thread["title"], "forum": thread["forum"]}, names, read(world, thread), heard)


def tried_by(world: t.Sampler) -> t.Draw:
    """Count the users who have tried a remedy."""
    thread = a_thread(world, "question")
    tried = remedy_statements(world, thread)
    remedy = world.rng.choice(sorted({row["subject"] for row in tried}))
    rows = [row for row in tried if row["subject"] == remedy]
    slots = {"title": thread["title"], "forum": thread["forum"], "remedy": remedy}
    return tally(slots, [row["username"] for row in rows], read(world, thread), rows, least=20)


def upvote_first_hand(world: t.Sampler) -> t.Draw:
    """Upvote the reports of some days that are first-hand."""
    needs_facts(world, "submission_fact")
    forum = world.rng.choice(sorted(WORKS))
    rows = world.rows(
        POSTS
        + """SELECT p.*, f.kind, f.is_first_hand, v.choice,
            julianday((SELECT value FROM world WHERE key = 'now')) - julianday(p.created_at) AS age
        FROM posts p JOIN submission_fact f USING (submission_id)
        LEFT JOIN submission_vote v ON v.submission_id = p.submission_id AND v.user_id = ?
        WHERE p.forum = ? ORDER BY p.newest""",
        ME,
        forum,
    )
    spans = [days for days in range(2, 13) if _is_span(rows, days)]
    t.skip_if(not spans, "a forum with reports of both kinds by others, on which I have not voted")
    days = world.rng.choice(spans)
    rows = [row for row in rows if row["age"] < days]
    firsthand, hearsay = _reports(rows)
    stops = []
    for row in rows:
        vote = [t.click(f"Upvote {row['title']}", "The author knows it at first hand.")] if row in firsthand else []
        stops += [(row["newest"] - 1, [t.click(row["title"]), t.back(), *vote])] if row["kind"] == "report" else []
    steps = [*open_forum(forum, "New"), *along(world, stops, PER_PAGE)]
    check = votes_are(world, {row["submission_id"]: 1 for row in firsthand})
    steps = [*steps, t.end_task("", "All first-hand reports have my vote.")]
    evidence = [text for row in (*firsthand, *hearsay) for text in (row["title"], opening(row["body"]))]
    return t.Draw({"forum": forum, "days": days, "work": WORKS[forum]}, check, steps, evidence=evidence)


def _reports(rows: Sequence[t.Row]) -> tuple[list[t.Row], list[t.Row]]:
    """Return the first-hand reports and the second-hand reports."""
    reports = [row for row in rows if row["kind"] == "report"]
    return [row for row in reports if row["is_first_hand"]], [row for row in reports if not row["is_first_hand"]]


def _is_span(rows: Sequence[t.Row], days: int) -> bool:
    """Return True if the posts of a number of days are suitable for a task, and none is close to the limit."""
    near = [row for row in rows if abs(row["age"] - days) < 1 / 8]
    rows = [row for row in rows if row["age"] < days]
    firsthand, hearsay = _reports(rows)
    entries = [row for row in (*firsthand, *hearsay) if row["choice"] or row["user_id"] == ME]
    return not near and not entries and 5 <= len(firsthand) <= 12 and len(hearsay) >= 2 and len(rows) <= 36
