"""What people of a large world tell of their own accord: whether they were there, met the same trouble, or sent a thing back.

Nothing is planted. Texts are composed of facts, and the tables that hold these give the truth.
"""

import re
from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.prose.topics import WORKS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issue_work import ASSIGNED
from webarena_gym.templates.gitlab.issues import my_name
from webarena_gym.templates.gitlab.ways import SPOKEN, entry, new_rows, open_project
from webarena_gym.templates.hard.buying import wishes_are
from webarena_gym.templates.hard.issues import a_project, labelled_list
from webarena_gym.templates.hard.ways import joined
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, open_forum
from webarena_gym.templates.reddit.votes import votes_are
from webarena_gym.templates.shopping.routes import GOODS, open_category, sort_by_price
from webarena_gym.templates.shopping.routes import PER_PAGE as PAGE_OF_REVIEWS
from webarena_gym.templates.shopping.shelves import ONE_PAGE
from webarena_gym.templates.ways import on_page, turn_pages

TEMPLATES = t.Templates("hard")


def needs_facts(world: t.Sampler, table: str) -> None:
    """Raise NothingToDraw where texts are not composed of facts: in worlds of the standard size."""
    if not world.rows("SELECT 1 FROM sqlite_master WHERE name = ?", table):
        raise t.NothingToDraw("texts that are composed of facts")


def opening(text: str) -> str:
    """Return the first sentence of a text, as evidence that it was shown."""
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


@TEMPLATES.define(
    "Upvote every post in {forum} from the last {days} days in which somebody tells of a {work} that they know from their own experience. What was only heard from other people does not count, nor do questions and debates.",
    "upvote all posts of the past {days} days in {forum} where the author has tried the {work} themselves (a report, not a question). hearsay: no vote",
    "In {forum} I would like to thank people who write about a {work} from their own experience. Please go through the posts of the last {days} days and upvote those. Some only repeat what a friend or an aunt has told them; those get nothing from me, "
    "and neither do questions or arguments about principles.",
    "Who in {forum} has, in the last {days} days, reported on a {work} that they had in their own hands, or saw, heard, visited themselves? Give an upvote to each of these posts, and to no others (reports at second hand, questions, discussions).",
    "Please read what was posted to {forum} within the last {days} days. Upvote the reports on a {work} by people who know it themselves. No votes for things they were told, for questions, for debates.",
    sites=("reddit",),
    difficulty=("reading", "exhaustive", "time"),
)
def upvote_first_hand(world: t.Sampler) -> t.Draw:
    """Upvote the reports of some days that are first-hand."""
    needs_facts(world, "submission_fact")
    forum = world.rng.choice(sorted(WORKS))
    rows = world.rows(
        POSTS
        + """SELECT p.*, f.kind, f.is_first_hand, v.choice, julianday((SELECT value FROM world WHERE key = 'now')) - julianday(p.created_at) AS age
        FROM posts p JOIN submission_fact f USING (submission_id)
        LEFT JOIN submission_vote v ON v.submission_id = p.submission_id AND v.user_id = ?
        WHERE p.forum = ? ORDER BY p.newest""",
        ME,
        forum,
    )
    spans = [days for days in range(2, 13) if _is_span(rows, days)]
    if not spans:
        raise t.NothingToDraw("a forum with reports of both kinds by others, on which I have not voted")
    days = world.rng.choice(spans)
    rows = [row for row in rows if row["age"] < days]
    wanted, told = _reports(rows)
    steps = open_forum(forum, "New")
    turned = 0
    for row in rows:
        if row["kind"] != "report":
            continue
        turns = turn_pages(world, row["newest"] - 1, PER_PAGE, "There are more on the next page.")
        steps += [*turns[turned:], t.click(row["title"]), t.back()]
        turned = len(turns)
        if row in wanted:
            steps.append(t.click(f"Upvote {row['title']}", "The author knows it at first hand."))
    return t.Draw(
        {"forum": forum, "days": days, "work": WORKS[forum]},
        votes_are(world, {row["submission_id"]: 1 for row in wanted}),
        [*steps, t.leave("", "All first-hand reports have my vote.")],
        evidence=[text for row in (*wanted, *told) for text in (row["title"], opening(row["body"]))],
    )


def _reports(rows: Sequence[t.Row]) -> tuple[list[t.Row], list[t.Row]]:
    """Return the reports at first hand, and those that tell what others say."""
    reports = [row for row in rows if row["kind"] == "report"]
    return [row for row in reports if row["is_first_hand"]], [row for row in reports if not row["is_first_hand"]]


def _is_span(rows: Sequence[t.Row], days: int) -> bool:
    """Tell whether the posts of so many days make a task, and none of them is of nearly that age."""
    near = [row for row in rows if abs(row["age"] - days) < 1 / 8]
    rows = [row for row in rows if row["age"] < days]
    wanted, told = _reports(rows)
    own = [row for row in (*wanted, *told) if row["choice"] or row["user_id"] == ME]
    return not near and not own and 5 <= len(wanted) <= 12 and len(told) >= 2 and len(rows) <= 36


def assignees_are(world: t.Sampler, row: t.Row, mine: set[int]) -> dict[str, Any]:
    """The issues of a project with these numbers must be mine, all others must have the assignees of the start; nobody wrote."""
    expected = [[iid, my_name(world) if iid in mine else names] for iid, names in world.rows(ASSIGNED, row["project_id"])]
    return t.all_of(
        t.state(ASSIGNED, row["project_id"], expected=expected), new_rows(world, "note", "issue_id, body", [], SPOKEN)
    )


@TEMPLATES.define(
    'In {project}, assign to me every open issue labeled "bug" that nobody has yet and that at least one other person says they have run into as well. If all comments say it cannot be reproduced, or nobody says either, leave it.',
    "{project}: take over (assign to me) all open bugs without assignee that somebody else could reproduce. bugs nobody confirmed stay as they are",
    "I have some time for {project} this week. Which of its open bugs (label bug) have no assignee and have been seen by somebody besides the reporter, going by the comments? Assign those to me. Guesses about the cause and ways round it are no confirmation.",
    "For the open issues of {project} with the label bug that are assigned to nobody: where a comment confirms that the trouble happens to others too, put me down as the assignee. All others remain without one.",
    "Go thru the open, unassigned bugs in {project} and asign those to me which another user says they see too. Please change nothing else.",
    sites=("gitlab",),
    difficulty=("reading", "exhaustive"),
)
def take_confirmed_bugs(world: t.Sampler) -> t.Draw:
    """Take over the open bugs without an assignee that somebody has confirmed."""
    needs_facts(world, "note_fact")
    row = a_project(world)
    issues = world.rows(
        """SELECT i.*, (SELECT count(*) FROM note n JOIN note_fact f USING (note_id) WHERE n.issue_id = i.issue_id
            AND f.kind = 'confirms' AND n.author_id != i.author_id) AS confirmed,
            (SELECT count(*) FROM note n WHERE n.issue_id = i.issue_id AND NOT n.is_system) AS said
        FROM issue i JOIN issue_label l USING (issue_id) JOIN label USING (label_id)
        WHERE i.project_id = ? AND i.state = 'opened' AND label.name = 'bug'
            AND i.issue_id NOT IN (SELECT issue_id FROM issue_assignee) ORDER BY i.created_at DESC, i.issue_id DESC""",
        row["project_id"],
    )
    wanted = [issue for issue in issues if issue["confirmed"]]
    if not 2 <= len(wanted) <= 9 or not any(issue["said"] and not issue["confirmed"] for issue in issues) or len(issues) > 16:
        raise t.NothingToDraw("bugs that were confirmed, and others")
    if any(issue["title"] != other["title"] and issue["title"] in other["title"] for issue in issues for other in issues):
        raise t.NothingToDraw("titles that tell issues apart")
    narrow = [*labelled_list("bug")[:-1], t.choose("Assignee", "Nobody"), t.click("Apply")]
    steps = joined(
        *(
            [
                *narrow,
                t.click(entry(issue["title"])),
                *([t.click("Assign to me", "Somebody else has seen it.")] if issue in wanted else []),
            ]
            for issue in issues
            if issue["said"]
        )
    )
    said = [
        note["body"]
        for issue in wanted
        for note in world.rows(
            "SELECT body FROM note JOIN note_fact USING (note_id) WHERE issue_id = ? AND kind = 'confirms' ORDER BY note_id",
            issue["issue_id"],
        )
    ]
    return t.Draw(
        {"project": row["full_path"]},
        assignees_are(world, row, {issue["iid"] for issue in wanted}),
        [*open_project(row), *steps, t.leave("", "What others have seen is mine now.")],
        evidence=[*(issue["title"] for issue in wanted), *said],
    )


@TEMPLATES.define(
    "I want something from {category} that people do not regret. Take the products with at least {least} reviews, cheapest first, and put the first one on my wish list that is in stock and that no reviewer says they sent back, exchanged or gave away.",
    "{category}: cheapest in-stock product with {least}+ reviews where NOBODY in the reviews returned it / swapped it / gave it away -> wish list",
    "My last three purchases went straight back to the shop. This time I would like to learn from others: in {category}, which is the cheapest product in stock that has {least} reviews or more and that none of its reviewers has returned, exchanged or passed on? "
    "Put it on my wish list, please. What they think of it otherwise does not matter.",
    "Add to my wish list: from {category}, the least expensive thing that is available, has at least {least} reviews, and was kept by everybody who reviewed it (so no review tells that it went back, was exchanged or given away).",
    "Please read the reviews in {category}. I'm after the cheapest product, in stock, {least} or more reviews, that no reviewer got rid of (sent back, exchanged, gave away). It goes on my wishlist, nothing else.",
    sites=("shopping",),
    difficulty=("reading", "needs", "optimum"),
)
def nobody_returned(world: t.Sampler) -> t.Draw:
    """Find the cheapest product of a category that all reviewers have kept."""
    needs_facts(world, "review_fact")
    rows = world.rows(
        GOODS
        + """SELECT *, (SELECT count(*) FROM review r JOIN review_fact f USING (review_id) WHERE r.product_id = goods.product_id
            AND r.status = 'Approved' AND outcome IN ('returned', 'exchanged', 'given away')) AS regrets
        FROM goods ORDER BY category_id, cents, product_id"""
    )
    found = []
    for category in sorted({row["category_id"] for row in rows}):
        shelf = [row for row in rows if row["category_id"] == category]
        for least in (2, 3, 4):
            looks = [row for row in shelf if row["is_salable"] and row["reviews"] >= least]
            place = next((place for place, row in enumerate(looks) if not row["regrets"]), None)
            if place is None or not 2 <= place <= 6:
                continue
            looks = looks[: place + 1]
            if all(row["reviews"] <= PAGE_OF_REVIEWS for row in looks) and looks[-1]["cents"] > looks[-2]["cents"]:
                found.append((shelf, least, looks))
    if not found:
        raise t.NothingToDraw("a product that all have kept, behind others that were returned")
    shelf, least, looks = world.rng.choice(found)
    steps: list[Step] = [*open_category(shelf[0]), *sort_by_price()]
    page = 0
    for row in looks:
        own_page, _ = on_page(world, shelf.index(row), ONE_PAGE)
        steps += [t.click("Next", "None on this page fits.")] * (own_page - page)
        page = own_page
        steps += [t.click(row["name"]), t.click("Reviews")]
        if row is looks[-1]:
            steps += [t.back("Everybody has kept it."), t.click("Add to Wish List")]
        else:
            steps += [t.back("Somebody got rid of it."), t.back()]
    regrets = [
        review["detail"]
        for row in looks[:-1]
        for review in world.rows(
            """SELECT detail FROM review JOIN review_fact USING (review_id) WHERE product_id = ? AND status = 'Approved'
            AND outcome IN ('returned', 'exchanged', 'given away') ORDER BY review_id""",
            row["product_id"],
        )
    ]
    return t.Draw(
        {"category": shelf[0]["category"], "least": least},
        wishes_are(world, [looks[-1]["product_id"]]),
        [*steps, t.leave("", "It is on the wish list.")],
        evidence=[*(row["name"] for row in looks), *map(opening, regrets)],
    )
