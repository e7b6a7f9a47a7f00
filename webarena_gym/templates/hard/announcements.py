"""What a project of the code host may tell the public in the forum, and what must stay inside."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import today
from webarena_gym.templates.gitlab.ways import entry, open_project
from webarena_gym.templates.hard.issues import a_project, plant_issue, plant_label, say
from webarena_gym.templates.hard.issues import strangers as people_of_the_host
from webarena_gym.templates.hard.ways import ago
from webarena_gym.templates.reddit.posting import submit
from webarena_gym.templates.reddit.routes import ME
from webarena_gym.templates.several.routes import holds, is_clear, tabs, turn_to

TEMPLATES = t.Templates("hard")

_DONE = ("Released this morning.", "In since Monday.", "Merged, thanks to everybody.", "Done. It was only one line in the end.")
_GIVEN_UP = (
    "We will not do this, sorry.",
    "I could not reproduce it, so I give up.",
    "Closed without a change: it works as intended.",
    "Nobody has asked for it in a year. Closing, not doing.",
)
_TITLES = (
    "Faster search in long lists", "Keyboard works in all dialogs", "Export of whole folders", "Colors can be chosen", "No more crash after waking up", "Times in the local zone",
    "Undo for moved files", "Search finds parts of words", "Smaller pictures in mails", "Notes may be as long as you like", "Second language in the menus",
)  # fmt: skip


def body_lists(world: t.Sampler, forum: t.Row, title: str, wanted: list[str], unwanted: list[str]) -> dict[str, Any]:
    """The one new post must be mine, in that forum and with that title, and its text must hold what is wanted and not what is unwanted."""
    if not is_clear(wanted, unwanted):
        raise t.NothingToDraw("titles that no other holds")
    found, parameters = holds("body", wanted, unwanted)
    last = world.value("SELECT max(submission_id) FROM submission", site="reddit")
    return t.state(
        f"SELECT forum_id, user_id, title, {found} FROM submission WHERE submission_id > ? AND state = 'visible' ORDER BY submission_id",
        *parameters,
        last,
        expected=[[forum["forum_id"], ME, title, len(wanted), 0]],
        site="reddit",
    )


@TEMPLATES.define(
    'Tell the forum {forum} what is new: a post "{title}" whose text lists, one a line, the titles of the issues of the milestone "{milestone}" in {project} (code host) that were really done. Not those that are open or were given up, '
    'nothing that is confidential, and nothing with the label "{label}".',
    'pls write the release post: forum {forum}, title "{title}", text = titles of the finished issues from milestone "{milestone}" of {project}, one per line. leave out: open, closed without doing it, confidential, label {label}',
    'The milestone "{milestone}" of {project} is over, and people in the forum {forum} want to know what they get. Submit "{title}" there, with the titles of what was done as the text (each on its own line). Some issues were closed '
    'without anything being done, read the last comment. Confidential ones and those labelled "{label}" must not become public under any circumstances.',
    'From the issues in "{milestone}" ({project}), make a list of those that are closed, have been carried out, are not confidential, and do not have the label "{label}". Post their titles line by line in {forum} under the title "{title}".',
    'For {forum}: a post called "{title}" with what was achieved in the milestone "{milestone}" of {project}, as a list of the issues\' titles. Be carefull, {label} issues and confidential ones stay among us, and what was dropped or is still open is no news.',
    sites=("gitlab", "reddit"),
    difficulty=("restraint", "several_sites", "reading"),
)  # fmt: skip
def release_news(world: t.Sampler) -> t.Draw:
    """Post what was done in a milestone, but for what must not become public."""
    row, rng = a_project(world), world.rng
    label = rng.choice(("internal", "for us", "customer data"))
    label_id = plant_label(world, row, label)
    name = rng.choice(("Heron", "Kestrel", "Plover", "Bittern", "Avocet"))
    if world.rows("SELECT 1 FROM milestone WHERE project_id = ? AND title = ?", row["project_id"], name):
        raise t.NothingToDraw("a name for a milestone")
    milestone = world.plant(
        "milestone",
        project_id=row["project_id"],
        iid=world.value("SELECT coalesce(max(iid), 0) + 1 FROM milestone WHERE project_id = ?", row["project_id"]),
        title=name,
        due_on=str(today(world)),
    )
    plan = ["done"] * rng.randint(3, 4) + ["given up", "given up", "confidential", "label", "open"]
    rng.shuffle(plan)
    people = people_of_the_host(world, len(plan))
    made: list[tuple[t.Row, str]] = []
    said: list[str] = []
    for place, (fate, title, author) in enumerate(zip(plan, rng.sample(_TITLES, len(plan)), people, strict=True)):
        is_closed = fate != "open"
        issue = plant_issue(
            world, row, title, "Planned for this milestone.", author["user_id"], 65 - place, milestone_id=milestone,
            state="closed" if is_closed else "opened", is_confidential=int(fate == "confidential"), **({"closed_at": ago(world, days=2, hours=place)} if is_closed else {}),
        )  # fmt: skip
        if fate == "label":
            world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        say(world, issue, author["user_id"], rng.choice(("Looking forward to this.", "Good plan.", "Who takes it?")), 24 * 20)
        if is_closed:
            text = rng.choice(_GIVEN_UP if fate == "given up" else _DONE)
            say(world, issue, author["user_id"], text, 24 * 2 + place)
            said.append(text)
        made.append((issue, fate))
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id", site="reddit")
    headline = f"What is new in {row['name']}"
    wanted = [issue["title"] for issue, fate in made if fate == "done"]
    unwanted = [issue["title"] for issue, fate in made if fate != "done"]
    looks: list[Step] = [*open_project(row), t.click("Milestones"), t.click(name)]
    for issue, _ in made:
        looks += [t.click(entry(issue["title"])), t.back()]
    return t.Draw(
        {"forum": forum["name"], "title": headline, "milestone": name, "project": row["full_path"], "label": label},
        body_lists(world, forum, headline, wanted, unwanted),
        [*looks, turn_to(1), *submit(forum["name"], headline, "\n".join(wanted))],
        start_url=tabs("gitlab", "reddit"),
        evidence=[*wanted, *unwanted, *said],
    )
