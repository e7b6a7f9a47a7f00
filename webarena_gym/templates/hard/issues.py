"""Issues on the code host that their threads, a guide of the project, or yesterday's mistakes decide about."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple

from webarena_gym.sites.gitlab.base import day_label
from webarena_gym.sites.layout import page_sizes
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issue_work import ASSIGNED, LABELLED
from webarena_gym.templates.gitlab.issues import MINE, today
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import (
    PER_PAGE,
    PLANNING,
    SPOKEN,
    entry,
    new_rows,
    next_iid,
    open_project,
    option,
    people_of,
)
from webarena_gym.templates.hard.ways import ago

TEMPLATES = t.Templates("hard")

_TROUBLES = (
    "Window opens off screen on the second monitor", "Undo forgets the last word", "Export stops at row 4096", "Fans spin up while nothing runs",
    "Search ignores the first letter", "Clock in the footer is an hour off", "Pasting from a table loses the header", "Splash screen never goes away",
    "Backup runs twice on Sundays", "Shortcut for zoom types a plus sign", "Drag and drop drops the wrong file", "Printing leaves the last page out",
    "Spell check marks the word the", "Progress bar jumps back to 12 percent",
)  # fmt: skip


class _Said(NamedTuple):
    """A comment of a thread: by the reporter or by somebody else."""

    is_reporter: bool
    text: str


def _other(text: str) -> _Said:
    return _Said(False, text)


def _own(text: str) -> _Said:
    return _Said(True, text)


_SOLVED = (
    (_other("Any news on this?"), _own("Installed the new build on all our machines this morning. I cannot make it happen any more, and I have really tried.")),
    (_own("Sorry for the noise: it was gone after the update, I only forgot to say so."),),
    (_other("Should be in 3.2, please try."), _own("First I thought it was still there, but I had started the old binary. With 3.2 everything is as it should be.")),
    (_own("Still there today."), _other("Did you clear the cache after the update?"), _own("I had not. Cleared it, and the trouble went with it. Two weeks and counting.")),
    (_other("Same here by the way."), _own("Not here any longer, the patch did it for me."), _other("Lucky you.")),
)  # fmt: skip
"""Threads of issues whose reporter says that the trouble is gone."""

_UNSOLVED = (
    (_other("Works for me since 3.2, I think this can go."), _other("For me too.")),
    (_own("Gone with 3.2, great!"), _own("I spoke too soon. It took a few days, but it is back.")),
    (_other("Should be in 3.2, please try."), _own('> "Should be in 3.2"\n\nIt is not. Same picture as before, I have tried it twice.')),
    (_own("Wonderful, now it is fixed: the program crashes before I can even see the problem."),),
    (_other("@all is this still an issue for anybody?"), _other("My colleague, who reported it, is on leave. I believe they mentioned that it was better."),),
    (_own("The workaround with the config file helps, but that cannot be the answer."), _other("Closing this soon then, as there is a workaround.")),
    (_own("If the next update brings a solution, I will say so here."), _other("The update is out."), _other("And it solves it.")),
)  # fmt: skip
"""Threads of issues whose reporter does not say so, whatever others say."""


def a_project(world: t.Sampler, least: int = 3) -> t.Row:
    """Draw a project in which I have at least that rank."""
    return world.pick(PLANNING + f"SELECT * FROM place WHERE {MINE} AND rank >= ? ORDER BY project_id", least)


def plant_label(world: t.Sampler, row: t.Row, name: str, color: str = "#5b7a99") -> int:
    """Plant a label of a project."""
    if world.rows("SELECT 1 FROM label WHERE project_id = ? AND name = ?", row["project_id"], name):
        raise t.NothingToDraw("a label that is new")
    return world.plant("label", project_id=row["project_id"], name=name, color=color)


def plant_issue(world: t.Sampler, row: t.Row, title: str, description: str, author: int, days: int, **more: Any) -> t.Row:
    """Plant an issue of a project, and return it."""
    made = world.plant(
        "issue",
        project_id=row["project_id"],
        iid=next_iid(world, "issue", row["project_id"]),
        title=title,
        description=description,
        author_id=author,
        created_at=ago(world, days=days),
        updated_at=max(ago(world, days=max(1, days // 3)), more.get("closed_at", "")),
        **more,
    )
    return world.rows("SELECT * FROM issue WHERE issue_id = ?", made)[0]


def needs_one_page(world: t.Sampler, oldest: t.Row, state: Literal["opened", "closed"]) -> None:
    """Raise NothingToDraw unless the first page of a project's issues of a state shows all since the oldest that was planted, in any layout."""
    newer = "SELECT count(*) FROM issue WHERE project_id = ? AND state = ? AND created_at >= ?"
    if world.value(newer, oldest["project_id"], state, oldest["created_at"]) > page_sizes(PER_PAGE)[0]:
        raise t.NothingToDraw(f"a project whose first page of {state} issues shows them all")


def say(world: t.Sampler, issue: t.Row, author: int, body: str, hours: int, *, is_system: bool = False) -> None:
    """Plant a comment on an issue."""
    comment(world, "issue", issue["issue_id"], author, body, ago(world, hours=hours), is_system=is_system)


def comment(
    world: t.Sampler,
    table: Literal["issue", "merge_request"],
    key: int,
    author: int,
    body: str,
    moment: str,
    *,
    is_system: bool = False,
) -> None:
    """Plant a comment on an issue or a merge request, which is updated by it."""
    about: dict[str, Any] = {f"{table}_id": key}
    world.plant("note", **about, author_id=author, body=body, is_system=int(is_system), created_at=moment)
    if moment > world.value(f"SELECT updated_at FROM {table} WHERE {table}_id = ?", key):
        world.alter(table, about, updated_at=moment)


def strangers(world: t.Sampler, count: int) -> list[t.Row]:
    """Draw that many different people but me."""
    return world.rng.sample(world.rows(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY user_id"), count)


def states_are(world: t.Sampler, row: t.Row, changes: Mapping[int, str]) -> dict[str, Any]:
    """The issues of a project must have these states by number, the others theirs, and nobody may have written anything."""
    query = "SELECT iid, state FROM issue WHERE project_id = ? ORDER BY iid"
    expected = [[iid, changes.get(iid, state)] for iid, state in world.rows(query, row["project_id"])]
    return t.all_of(t.state(query, row["project_id"], expected=expected), new_rows(world, "note", "issue_id, body", [], SPOKEN))


def labelled_list(name: str) -> list[Step]:
    """Return the steps from anywhere in a project to its open issues with a label."""
    return [t.click("Issues"), t.choose("Label", name), t.click("Apply")]


def plant_threads(world: t.Sampler, row: t.Row, label: str, solved: int, unsolved: int) -> list[tuple[t.Row, bool]]:
    """Plant labelled issues with threads, in a drawn order; return each with whether its reporter says that the trouble is gone."""
    label_id = plant_label(world, row, label)
    threads = [(thread, True) for thread in world.rng.sample(_SOLVED, solved)]
    threads += [(thread, False) for thread in world.rng.sample(_UNSOLVED, unsolved)]
    world.rng.shuffle(threads)
    people = strangers(world, 2 * len(threads))
    made = []
    for place, ((thread, is_solved), title) in enumerate(zip(threads, world.rng.sample(_TROUBLES, len(threads)), strict=True)):
        reporter, other = people[2 * place], people[2 * place + 1]
        text = f"I see this with version {world.rng.randint(2, 3)}.{world.rng.randint(0, 1)}, on two machines."
        issue = plant_issue(world, row, title, text, reporter["user_id"], 100 - 5 * place)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        for number, said in enumerate(thread):
            author = reporter if said.is_reporter else other
            say(world, issue, author["user_id"], said.text, 24 * (30 - 7 * number) + place)
        made.append((issue, is_solved))
    return made


def said_in(world: t.Sampler, issues: Sequence[tuple[t.Row, object]]) -> list[str]:
    """Return the titles of issues and what people said there, but for quotations."""
    bodies = [
        body
        for issue, _ in issues
        for (body,) in world.rows(
            "SELECT body FROM note WHERE issue_id = ? AND NOT is_system ORDER BY note_id", issue["issue_id"]
        )
    ]
    return [*(issue["title"] for issue, _ in issues), *(body for body in bodies if not body.startswith((">", "@")))]


def visit_each(label: str, issues: Sequence[tuple[t.Row, bool]]) -> list[Step]:
    """Return the steps that open labelled issues one after the other, from their list, and close those that are to be closed."""
    steps: list[Step] = labelled_list(label)
    for issue, is_solved in issues:
        steps.append(t.click(entry(issue["title"])))
        steps += (
            [t.click("Close issue", "The reporter says that it is gone."), *labelled_list(label)]
            if is_solved
            else [t.back("It may not be closed.")]
        )
    return steps


@TEMPLATES.define(
    'In {project}, close those open issues with the label "{label}" whose own reporter says in the thread that the problem is gone, and has not taken it back since. '
    "What others say does not count. Leave the rest open, and write nothing.",
    'pls clean up the "{label}" issues of {project}: if the person who opened it says its solved (and sticks to that) close it, otherwise leave. no comments',
    "Every release we have the same old issues lying around. In {project} I have put the label {label} on some. Read their threads: where whoever reported the "
    "problem confirms that it is gone for good, close the issue. Not if only other people say so, and please no comments.",
    'Go through the open "{label}" issues in {project} and close the solved ones. Solved means that the reporter, not somebody else, said so last.',
    "Of the issues labelled {label} in {project}, some are solved accoring to the people who reported them. Close exactly these. Do not comment on anything.",
    sites=("gitlab",),
    difficulty=("reading", "exhaustive", "restraint"),
)
def close_solved(world: t.Sampler) -> t.Draw:
    """Close the issues whose reporters say in the end that the trouble is gone."""
    row, label = a_project(world), world.rng.choice(("recheck", "to verify", "still there?"))
    made = plant_threads(world, row, label, world.rng.randint(3, 4), world.rng.randint(4, 5))
    return t.Draw(
        {"project": row["full_path"], "label": label},
        states_are(world, row, {issue["iid"]: "closed" for issue, is_solved in made if is_solved}),
        [*open_project(row), *visit_each(label, made), t.leave("", "The solved ones are closed.")],
        evidence=said_in(world, made),
    )


_REQUESTS = (
    ("crash", "It ends without a word when I open a folder with a comma in its name", "Happens every single time. Unsaved work is gone."),
    ("crash", "Saving to a full disk", "The old file is overwritten with nothing, and the new one is empty as well. I lost a day of work."),
    ("question", "How do I get the totals into the first column?", "I have read the manual and must have missed it."),
    ("question", "Moving to another machine", "Which files do I have to copy so that my settings come along?"),
    ("wish", "A darker theme would be easier on my eyes", "Nothing urgent, the white is just very bright at night."),
    ("wish", "Sorting by the second column", "Today only the first one can be clicked. It would save me a lot of time."),
    ("secret", "Log file", "When I turn on the detailed log, my password stands in it in plain text. Anybody who gets such a log from me can sign in as me."),
    ("secret", "Shared links keep working", "I took the rights away from a former colleague, but the address she has in her history still shows her everything."),
)  # fmt: skip


@TEMPLATES.define(
    'Triage the open issues with the label "{label}" in {project}: the file {file} in the repository says what to do with each kind.',
    "pls triage everything labelled {label} in {project}, rules are in {file} in the repo",
    'New issues keep coming in at {project}, and nobody has looked at those labelled "{label}" yet. We wrote {file} (it is in the repository) for exactly this: '
    "do with every one of them what it says.",
    "In the repository of {project} there is a {file}. Aply it to all open issues that carry the label {label}.",
    'It is your turn to do the triage for {project}. The guide is {file} on the default branch; the issues are those labelled "{label}".',
    sites=("gitlab",),
    difficulty=("policies", "reading", "exhaustive"),
)
def triage_by_guide(world: t.Sampler) -> t.Draw:
    """Label, assign, hide or leave issues as a guide in the repository says."""
    row = world.pick(
        PLANNING
        + f"""SELECT place.*, b.branch_id, b.head_id FROM place JOIN branch b ON b.project_id = place.project_id AND b.name = place.default_branch
        WHERE {MINE} AND rank >= 3 AND b.head_id IS NOT NULL ORDER BY place.project_id"""
    )
    others = people_of(world, row["project_id"])
    if not others:
        raise t.NothingToDraw("somebody to assign")
    person, file = world.rng.choice(others), "TRIAGE.md"
    incoming, urgent, wish = world.rng.choice(
        (("incoming", "blocker", "wishlist"), ("new here", "lost work", "someday"), ("unsorted", "red", "green"))
    )
    labels = {name: plant_label(world, row, name) for name in (incoming, urgent, wish)}
    guide = (
        f"# Triage\n\nEvery issue that comes in carries the label {incoming}. Whoever is on duty takes it off and sorts the issue.\n\n"
        f"- Work of users gets lost, or the program ends by itself: put on the label {urgent} and assign {person['name']}.\n"
        "- Questions about how something is done: they belong into the forum. Close the issue, change nothing else; it keeps its label.\n"
        f"- Something new is asked for: put on the label {wish} and leave it without an assignee.\n"
        "- Strangers could see or do what they should not: mark the issue as confidential at once and leave everything else as it is, the label too.\n"
    )
    if world.rows("SELECT 1 FROM file WHERE branch_id = ? AND path = ?", row["branch_id"], file):
        raise t.NothingToDraw("a project without a guide")
    world.plant("file", branch_id=row["branch_id"], path=file, content=guide, commit_id=row["head_id"])
    kinds = ("crash", "question", "wish", "secret")
    chosen = [
        request
        for kind in kinds
        for request in world.rng.sample([each for each in _REQUESTS if each[0] == kind], world.rng.randint(1, 2))
    ][:6]
    world.rng.shuffle(chosen)
    people = strangers(world, len(chosen))
    made: list[tuple[t.Row, str]] = []
    for place, ((kind, title, text), author) in enumerate(zip(chosen, people, strict=True)):
        issue = plant_issue(world, row, title, text, author["user_id"], 9 - place)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=labels[incoming])
        made.append((issue, kind))
    steps: list[Step] = [*open_project(row), t.click("Repository"), t.click(file)]
    for issue, kind in made:
        steps += [*labelled_list(incoming), t.click(entry(issue["title"]))]
        if kind == "question":
            steps.append(t.click("Close issue"))
            continue
        steps.append(t.click("Edit issue"))
        if kind == "secret":
            steps.append(t.click("This issue is confidential"))
        else:
            steps += [t.click(incoming), t.click(urgent if kind == "crash" else wish)]
        steps += [t.choose("Assignee", option(person))] if kind == "crash" else []
        steps.append(t.click("Save changes"))
    by_iid = {issue["iid"]: kind for issue, kind in made}
    plain = "SELECT iid, state, is_confidential, title FROM issue WHERE project_id = ? ORDER BY iid"
    project = row["project_id"]
    new_labels = {"crash": urgent, "wish": wish}
    return t.Draw(
        {"project": row["full_path"], "label": incoming, "file": file},
        t.all_of(
            t.state(
                plain,
                project,
                expected=[
                    [
                        iid,
                        "closed" if by_iid.get(iid) == "question" else state,
                        1 if by_iid.get(iid) == "secret" else hidden,
                        title,
                    ]
                    for iid, state, hidden, title in world.rows(plain, project)
                ],
            ),
            t.state(
                LABELLED,
                project,
                expected=[[iid, new_labels.get(by_iid.get(iid, ""), names)] for iid, names in world.rows(LABELLED, project)],
            ),
            t.state(
                ASSIGNED,
                project,
                expected=[
                    [iid, person["username"] if by_iid.get(iid) == "crash" else names]
                    for iid, names in world.rows(ASSIGNED, project)
                ],
            ),
        ),
        [*steps, t.leave("", "Everything is sorted.")],
        evidence=["Whoever is on duty takes it off", *(issue["title"] for issue, _ in made)],
    )


_AGREED = ("Fine with me, close it.", "I have no use for it any more, thanks.", "You are right, this was my mistake.")
_PROTESTS = ("", "Why was this closed? Nothing has changed.", "Please have another look, this is not done.")


@TEMPLATES.define(
    "{person} ran a script on {day} that closed issues of {project} which should have stayed open. Reopen every issue that {person} closed on that day, except "
    "where the reporter had agreed to it in the thread. Issues closed by others or on other days stay closed.",
    "{person}s script closed a bunch of issues in {project} on {day}. reopen those, but not the ones where the reporter was ok with closing, and nothing that somebody "
    "else closed",
    "We have to undo something in {project}: on {day}, {person} closed issues by accident. They should be open again, with one exception: if the reporter wrote that "
    "closing is fine, leave it. And keep your hands off what was closed on another day or by another person.",
    "In {project}, open again what {person} closed on {day}, unless the author of the issue agreed. Everything else stays as it is.",
    "Could you repair the damage that {person} did to {project} on {day}? Closed issues of that day by {person} have to be repoened, those to which their reporter said yes excepted.",
    sites=("gitlab",),
    difficulty=("recovery", "restraint", "time"),
)
def reopen_closed(world: t.Sampler) -> t.Draw:
    """Reopen what somebody closed on one day, and nothing that others closed, or that was agreed on."""
    row = a_project(world)
    culprit, colleague, *people = strangers(world, 12)
    days = world.rng.randint(2, 6)
    plan = [
        *(["wrong"] * world.rng.randint(3, 4)), "agreed", "agreed", "by another", "day before", "by another",
    ]  # fmt: skip
    world.rng.shuffle(plan)
    made: list[tuple[t.Row, str]] = []
    for place, (fate, title, author) in enumerate(zip(plan, world.rng.sample(_TROUBLES, len(plan)), people, strict=False)):
        back = days + (1 if fate == "day before" else 0)
        moment = ago(world, days=back, hours=1, minutes=7 * place)
        issue = plant_issue(
            world,
            row,
            title,
            "It began after the last update.",
            author["user_id"],
            65 - place,
            state="closed",
            closed_at=moment,
        )
        if fate == "agreed":
            say(world, issue, author["user_id"], world.rng.choice(_AGREED), 24 * (days + 9))
        elif fate == "wrong" and world.rng.random() < 0.5:
            say(world, issue, colleague["user_id"], world.rng.choice(_AGREED[:2]), 24 * (days + 9))
        closer = colleague if fate == "by another" else culprit
        comment(world, "issue", issue["issue_id"], closer["user_id"], "closed", moment, is_system=True)
        if fate == "wrong" and (protest := world.rng.choice(_PROTESTS)):
            say(world, issue, author["user_id"], protest, 20)
        made.append((issue, fate))
    needs_one_page(world, made[0][0], "closed")
    steps: list[Step] = [*open_project(row), t.click("Issues"), t.click("Closed")]
    for issue, fate in made:
        steps.append(t.click(entry(issue["title"])))
        steps += (
            [t.click("Reopen issue"), t.click("Issues"), t.click("Closed")]
            if fate == "wrong"
            else [t.back("This stays closed.")]
        )
    day = today(world) - timedelta(days=days)
    return t.Draw(
        {"person": culprit["name"], "day": day_label(str(day)), "project": row["full_path"]},
        states_are(world, row, {issue["iid"]: "opened" for issue, fate in made if fate == "wrong"}),
        [*steps, t.leave("", "They are open again.")],
        evidence=[culprit["name"], *said_in(world, made)],
    )


@TEMPLATES.define(
    'In {project}, the milestone "{old}" is over. Move every issue that is still open in it and was due before today to the open milestone that ends next, and give it the due date of '
    "that milestone. Open issues without a due date or due later stay where they are.",
    'overdue stuff in milestone "{old}" of {project}: move those (open + due date in the past) to whichever open milestone ends next and set their due date to its end. leave the rest',
    'Planning day! For {project}: all open issues of "{old}" whose due date has passed go to the next milestone, I mean the one of the open milestones that ends soonest after today, and '
    "their due date becomes its due date.",
    'What was due before today and is still open in the milestone "{old}" of {project} has to be moved to the milestone ending next (open ones only), due on the day it ends.',
    'Please tidy up "{old}" in {project}. Overdue open issues: into the open milestone with the nearest end in the futrue, with its end as their due date. Others: untouched.',
    sites=("gitlab",),
    difficulty=("time", "exhaustive"),
)
def postpone_overdue(world: t.Sampler) -> t.Draw:
    """Move overdue issues of a milestone to the one that ends next."""
    row = a_project(world)
    now = today(world)
    ends = [
        now + timedelta(days=days) for days in (world.rng.randint(30, 50), world.rng.randint(8, 20), world.rng.randint(60, 90))
    ]
    names = world.rng.sample(("Heron", "Kestrel", "Plover", "Bittern", "Avocet", "Curlew"), 5)
    if world.rows(
        "SELECT 1 FROM milestone WHERE project_id = ? AND due_on >= ? AND state = 'active'", row["project_id"], str(now)
    ):
        raise t.NothingToDraw("a project without a milestone ahead")

    def milestone(title: str, due: date, state: str = "active") -> int:
        iid = world.value("SELECT coalesce(max(iid), 0) + 1 FROM milestone WHERE project_id = ?", row["project_id"])
        return world.plant(
            "milestone",
            project_id=row["project_id"],
            iid=iid,
            title=title,
            due_on=str(due),
            starts_on=str(due - timedelta(days=25)),
            state=state,
        )

    old = milestone(names[0], now - timedelta(days=world.rng.randint(3, 12)))
    milestone(names[1], ends[0])
    following = milestone(names[2], ends[1])
    milestone(names[3], ends[2])
    milestone(names[4], now + timedelta(days=world.rng.randint(2, 5)), "closed")
    plan = [*(["late"] * world.rng.randint(4, 5)), "later", "no date", "closed"]
    world.rng.shuffle(plan)
    made: list[tuple[t.Row, str]] = []
    for place, (fate, title, author) in enumerate(
        zip(plan, world.rng.sample(_TROUBLES, len(plan)), strangers(world, len(plan)), strict=True)
    ):
        due = {
            "late": now - timedelta(days=3 + place),
            "later": now + timedelta(days=2 + place),
            "closed": now - timedelta(days=9),
        }.get(fate)
        issue = plant_issue(
            world, row, title, "Planned in our last call.", author["user_id"], 55 - place,
            milestone_id=old, due_on=None if due is None else str(due), state="closed" if fate == "closed" else "opened",
        )  # fmt: skip
        made.append((issue, fate))
    needs_one_page(world, made[0][0], "opened")
    late = [issue for issue, fate in made if fate == "late"]
    steps: list[Step] = [*open_project(row), t.click("Milestones")]
    for issue in late:
        steps += [
            t.click("Issues"),
            t.click(entry(issue["title"])),
            t.click("Edit issue"),
            t.choose("Milestone", names[2]),
            t.type_text("Due date (optional)", str(ends[1])),
            t.click("Save changes"),
        ]
    query = "SELECT iid, milestone_id, due_on, state FROM issue WHERE project_id = ? ORDER BY iid"
    numbers = {issue["iid"] for issue in late}
    return t.Draw(
        {"project": row["full_path"], "old": names[0]},
        t.state(
            query,
            row["project_id"],
            expected=[
                [iid, following, str(ends[1]), state] if iid in numbers else [iid, own, due, state]
                for iid, own, due, state in world.rows(query, row["project_id"])
            ],
        ),
        [*steps, t.leave("", "The overdue issues have moved.")],
        evidence=[names[1], names[2], names[3], *(issue["title"] for issue in late)],
    )


@TEMPLATES.define(
    'We want to get rid of the label "{old}" in {project}. Every issue that has it, open or closed, gets "{new}" instead; its other labels stay. Where "{new}" is there already, only "{old}" comes off.',
    "{project}: replace label {old} with {new} on ALL issues (closed ones too), keep other labels",
    'For historical reasons {project} uses two labels for the same thing. From now on it shall be "{new}". Please go through all issues with the label "{old}", also the closed ones, take it off and make sure that they carry "{new}". Nothing else changes.',
    'In {project}, whatever issue is labelled "{old}" (whether open or closed) should be labelled "{new}" afterwards, and no longer "{old}". Other labels remain as they are.',
    "Move all issues of {project} from the label {old} to the label {new}, includng those that are closed. Do not touch their other labels.",
    sites=("gitlab",),
    difficulty=("exhaustive", "restraint"),
)
def relabel_issues(world: t.Sampler) -> t.Draw:
    """Replace one label by another on all issues, open and closed."""
    row = a_project(world)
    old, new = world.rng.choice((("bugz", "bug"), ("docs", "documentation"), ("feature", "enhancement")))
    target = world.rows("SELECT * FROM label WHERE project_id = ? AND name = ?", row["project_id"], new)
    if not target:
        raise t.NothingToDraw("a project with that label")
    label_id = plant_label(world, row, old)
    count = world.rng.randint(5, 6)
    plan = [("closed" if place % 3 == 2 else "opened", place == 1) for place in range(count)]
    world.rng.shuffle(plan)
    made: list[tuple[t.Row, bool]] = []
    for place, ((state, has_both), title, author) in enumerate(
        zip(plan, world.rng.sample(_TROUBLES, count), strangers(world, count), strict=True)
    ):
        more = {"closed_at": ago(world, days=4 + place)} if state == "closed" else {}
        issue = plant_issue(world, row, title, "Seen on two machines.", author["user_id"], 60 - 6 * place, state=state, **more)
        for label in [label_id, *([target[0]["label_id"]] if has_both else [])]:
            world.plant("issue_label", issue_id=issue["issue_id"], label_id=label)
        made.append((issue, has_both))
    steps: list[Step] = open_project(row)
    for issue, has_both in made:
        steps += (
            [*labelled_list(old)]
            if issue["state"] == "opened"
            else [t.click("Issues"), t.click("Closed"), t.choose("Label", old), t.click("Apply")]
        )
        steps += [
            t.click(entry(issue["title"])),
            t.click("Edit issue"),
            t.click(old),
            *([] if has_both else [t.click(new)]),
            t.click("Save changes"),
        ]
    numbers = {issue["iid"] for issue, _ in made}
    return t.Draw(
        {"project": row["full_path"], "old": old, "new": new},
        t.all_of(
            t.state(
                LABELLED,
                row["project_id"],
                expected=[[iid, new if iid in numbers else names] for iid, names in world.rows(LABELLED, row["project_id"])],
            ),
            states_are(world, row, {}),
        ),
        [*steps, t.leave("", "The old label is gone.")],
        evidence=[issue["title"] for issue, _ in made],
    )
