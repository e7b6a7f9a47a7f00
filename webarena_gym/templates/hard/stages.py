"""Milestones of the code host that may be closed, or may not yet."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import today
from webarena_gym.templates.gitlab.ways import entry, open_project
from webarena_gym.templates.hard.doubles import remarks_are
from webarena_gym.templates.hard.issues import a_project, plant_issue, plant_label, say, strangers
from webarena_gym.templates.hard.ways import ago, repository_page

TEMPLATES = t.Templates("hard")

_CONFIRMED = (
    "Tried it, works.",
    "Checked on my machine: it is gone.",
    "I can confirm that this is done.",
    "Looks right to me, tested with the build of today.",
)
_NOT_CONFIRMED = ("Great news!", "Has anybody tested this?", "When will this be out?", "I have no time to test it this week.")
_TITLES = (
    "Second page of the report is empty", "Let users choose the font", "Faster start", "New picture on the start screen", "Sum of hidden rows is wrong",
    "Remember the size of the window", "Warn before files are overwritten", "Help for the new menu", "Shorter names for the exports",
)  # fmt: skip


@TEMPLATES.define(
    'Close the milestone "{milestone}" of {project} if {file} in the repository allows it, and do what it asks for before. If it is not allowed, change nothing, but write "{note}" on every issue that stands in the way, and answer N/A.',
    'can milestone "{milestone}" in {project} be closed? rules: {file} in the repo. yes -> prepare + close it as described there. no -> comment "{note}" on each issue thats in the way, leave everything else, answer N/A',
    'We would like to be through with "{milestone}" ({project}). Please check it against {file}. Either it can be closed: then do so, after what has to be done first. Or something is in the way: then tell the people by a '
    'comment "{note}" on each of these issues, and tell me N/A.',
    'According to {file} of {project}, is the milestone "{milestone}" complete? If it is, follow the file and close it. If not, comment "{note}" on all issues because of which it is not, touch nothing else, and reply with N/A.',
    'Somebody promised that "{milestone}" would be closed today. Have a look at {file} in {project} and at the issues of the milestone. Alowed: do it by the book. Not allowed: the comment "{note}" on whatever blocks it, and N/A as the answer.',
    sites=("gitlab",),
    difficulty=("judgement", "policies", "reading"),
)  # fmt: skip
def close_milestone(world: t.Sampler) -> t.Draw:
    """Close a milestone, or say what is in the way, as a file of the project says; both are as likely."""
    row, rng = a_project(world), world.rng
    later = rng.choice(("postponed", "not now", "next time"))
    file, note = (
        "RELEASING.md",
        rng.choice(
            ("This is still in the way of the milestone.", "The milestone waits for this.", "Please finish this first.")
        ),
    )
    rules = (
        "# Closing a milestone\n\nA milestone can be closed when nothing stands in its way.\n\n"
        f"- An open issue stands in its way, unless it has the label {later}.\n"
        "- A closed issue stands in its way as long as nobody but the person who closed it has written there that it works. Questions and congratulations are no confirmation, and what was said before it was closed does not count.\n"
        f"- Closed issues with the label {later} were given up. They need no confirmation.\n\n"
        f"Before it is closed, open issues with the label {later} are taken out of the milestone (no milestone instead). They keep the label.\n"
    )
    label_id = plant_label(world, row, later)
    title = rng.choice(("Heron", "Kestrel", "Plover", "Bittern", "Avocet", "Curlew"))
    if world.rows("SELECT 1 FROM milestone WHERE project_id = ? AND title = ?", row["project_id"], title):
        raise t.NothingToDraw("a name for a milestone")
    milestone = world.plant(
        "milestone",
        project_id=row["project_id"],
        iid=world.value("SELECT coalesce(max(iid), 0) + 1 FROM milestone WHERE project_id = ?", row["project_id"]),
        title=title,
        due_on=str(today(world)),
    )
    is_allowed = rng.random() < 0.5
    plan = ["confirmed", "confirmed", "confirmed late", "given up", "later", "later"]
    blocks = {"unconfirmed": 1, "only by closer": 1, "confirmed too early": 1, "open": 1}
    plan += [] if is_allowed else rng.sample(sorted(blocks), rng.randint(2, 3))
    rng.shuffle(plan)
    people = strangers(world, 2 * len(plan))
    made: list[tuple[t.Row, str]] = []
    said: list[str] = []
    for place, (fate, name) in enumerate(zip(plan, rng.sample(_TITLES, len(plan)), strict=True)):
        closer, other = people[2 * place], people[2 * place + 1]
        is_closed = fate not in ("open", "later")
        moment = {"closed_at": ago(world, hours=100)} if is_closed else {}
        issue = plant_issue(
            world, row, name, "Part of the plan.", other["user_id"], 60 - place,
            milestone_id=milestone, state="closed" if is_closed else "opened", **moment,
        )  # fmt: skip
        if fate in ("given up", "later"):
            world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        yes, no = rng.choice(_CONFIRMED), rng.choice(_NOT_CONFIRMED)
        if fate == "confirmed too early":
            say(world, issue, other["user_id"], yes, 130)
        if is_closed:
            say(world, issue, closer["user_id"], "closed", 100, is_system=True)
        if fate in ("unconfirmed", "confirmed late", "open"):
            say(world, issue, other["user_id"], no, 80)
        if fate == "only by closer":
            say(world, issue, closer["user_id"], yes, 70)
        if fate in ("confirmed", "confirmed late"):
            say(world, issue, other["user_id"], yes, 60)
        said += [
            text
            for text, is_there in (
                (yes, fate in ("confirmed", "confirmed late", "only by closer", "confirmed too early")),
                (no, fate == "unconfirmed"),
            )
            if is_there
        ]
        made.append((issue, fate))
    blocking = [issue for issue, fate in made if fate in blocks]
    to_milestone = [*open_project(row), t.click("Milestones"), t.click(title)]
    looks: list[Step] = [*repository_page(world, row, file, rules), *to_milestone]
    for issue, _ in made:
        looks += [t.click(entry(issue["title"])), t.back()]
    issues = "SELECT iid, state, milestone_id FROM issue WHERE project_id = ? ORDER BY iid"
    stages = "SELECT title, state FROM milestone WHERE project_id = ? ORDER BY iid"
    taken_out = {issue["iid"] for issue, fate in made if fate == "later" and is_allowed}
    checks = (
        t.state(
            issues,
            row["project_id"],
            expected=[[iid, state, None if iid in taken_out else own] for iid, state, own in world.rows(issues, row["project_id"])],
        ),
        t.state(
            stages,
            row["project_id"],
            expected=[[name, "closed" if is_allowed and name == title else state] for name, state in world.rows(stages, row["project_id"])],
        ),
        remarks_are(world, {issue["issue_id"]: note.rstrip(".") for issue in blocking}),
    )  # fmt: skip
    slots = {"milestone": title, "project": row["full_path"], "file": file, "note": note}
    evidence = ["Questions and congratulations are no confirmation", *(issue["title"] for issue, _ in made), *said]
    changes: list[Step] = []
    if is_allowed:
        for issue, fate in made:
            if fate == "later":
                changes += [
                    t.click(entry(issue["title"])), t.click("Edit issue"), t.choose("Milestone", "No milestone"), t.click("Save changes"), *to_milestone,
                ]  # fmt: skip
        changes.append(t.click("Close milestone", "Nothing is in its way."))
        return t.Draw(slots, t.all_of(*checks), [*looks, *changes, t.leave("", "It is closed.")], evidence=evidence)
    for issue in blocking:
        changes += [t.click(entry(issue["title"])), t.type_text("Write a comment", note), t.click("Comment"), *to_milestone]
    return t.Draw(
        slots,
        t.all_of(t.not_achievable(), *checks),
        [*looks, *changes, t.leave("N/A", "It has to wait.")],
        grounds={"N/A": says("A closed issue stands in its way as long as", blocking[0]["title"])},
        evidence=evidence,
    )
