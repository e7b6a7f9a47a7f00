"""My list of things to do on the code host, part of which is settled."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import SPOKEN, entry, new_rows
from webarena_gym.templates.hard.issues import a_project, plant_issue, say, strangers
from webarena_gym.templates.hard.ways import ago

TEMPLATES = t.Templates("hard")

_QUESTIONS = (
    "Which version do we ship this with?", "Do you remember why we chose this number?", "Should this go into the manual, too?",
    "Can you have a look at the wording?", "Is the old file still needed?", "Who else has to know about this?",
    "How long will this take you?", "Did you try it on a slow machine?",
)  # fmt: skip
_ANSWERS = (
    "Version four.",
    "Yes, I have just done it.",
    "No, you can go ahead without it.",
    "Two days at most.",
    "I have asked around, nobody needs it.",
)
_TITLES = (
    "Shadow of the dialog is too dark", "Rename the second tab", "Old links in the help", "Slow start on Mondays", "Missing icon for archives",
    "Wrong unit in the tooltip", "Cursor jumps after a comma", "Sound cannot be turned off", "Tables have no border in print", "Update the list of translators",
)  # fmt: skip
_FATES = ("closed", "open", "answered", "answered before", "answered by another", "taken back", "asked again", "open")


@TEMPLATES.define(
    "On my to-do list, {person} has left a lot. Mark as done what is settled: the issue is closed, or I have replied since {person} asked me last, or {person} has said there that no answer is needed any more. "
    "Everything else, also what others left me, stays on the list.",
    "todo list: go thru everything from {person}. done = issue closed OR i already answered the last question OR {person} took it back. rest stays, and stuff from other people too",
    "My to-do list is much too long. Half of what {person} put there must be out of date. Could you check those entries one by one, and mark as done: closed issues; questions of {person} that I have answered (if "
    "{person} asked again after my answer, that is not settled); and what {person} has withdrawn. Please write nothing and keep the others.",
    "Please tidy up my to-dos from {person}. If the issue is closed, or my reply is later than the latest question of {person}, or {person} does not need me any more, it is done. An answer by somebody else does not count.",
    "Mark {person}'s entries on my to-do list as done where nothing is left for me to do (closed; answered by myself after the last question; revoked by {person}). No comments, and no other entries.",
    sites=("gitlab",),
    difficulty=("exhaustive", "reading", "restraint"),
)
def tidy_todos(world: t.Sampler) -> t.Draw:
    """Mark as done those entries of the to-do list that somebody left and that are settled."""
    row, rng = a_project(world), world.rng
    person, colleague = strangers(world, 2)
    if world.rows(f"SELECT 1 FROM todo WHERE user_id = {ME} AND author_id = ? AND state = 'pending'", person["user_id"]):
        raise t.NothingToDraw("somebody who has left nothing on the list")
    me = world.value(f"SELECT username FROM user WHERE user_id = {ME}")
    fates = list(_FATES) + rng.sample(("closed", "answered", "answered by another", "taken back"), 2)
    rng.shuffle(fates)
    made: list[tuple[t.Row, bool]] = []
    settled: list[int] = []
    texts: list[str] = []
    questions = rng.sample(_QUESTIONS, len(_QUESTIONS)) + rng.sample(_QUESTIONS, 2)
    for place, (fate, title) in enumerate(zip(fates, rng.sample(_TITLES, len(fates)), strict=True)):
        state = "closed" if fate == "closed" else "opened"
        more = {"closed_at": ago(world, days=1, hours=place)} if fate == "closed" else {}
        issue = plant_issue(world, row, title, "As talked about.", person["user_id"], 25 - place, state=state, **more)
        question = f"@{me} {questions[place]}"
        if fate in ("answered before", "asked again"):
            say(world, issue, person["user_id"], f"@{me} What do you think?", 40)
            say(world, issue, ME, rng.choice(_ANSWERS), 36)
        say(world, issue, person["user_id"], question, 20)
        if fate == "answered":
            say(world, issue, ME, rng.choice(_ANSWERS), 14)
        elif fate == "answered by another":
            say(world, issue, colleague["user_id"], rng.choice(_ANSWERS), 14)
        elif fate == "taken back":
            say(world, issue, person["user_id"], "Never mind, I have found it out myself.", 12)
        texts.append(questions[place])
        todo = world.plant(
            "todo", user_id=ME, author_id=person["user_id"], kind="mentioned", issue_id=issue["issue_id"], created_at=ago(world, hours=20, minutes=place),
        )  # fmt: skip
        is_done = fate in ("closed", "answered", "taken back")
        made.append((issue, is_done))
        settled += [todo] if is_done else []
    # The list shows the newest first: more than a page of newer entries would hide these.
    newer = world.value(
        f"SELECT count(*) FROM todo WHERE user_id = {ME} AND state = 'pending' AND created_at > ?", ago(world, hours=20)
    )
    if newer + len(made) > 12:
        raise t.NothingToDraw("a list whose beginning is not crowded")
    steps: list[Step] = [t.click("To-Do List")]
    for issue, is_done in made:
        looks = [] if issue["state"] == "closed" else [t.click(entry(issue["title"])), t.back()]
        steps += [*looks, *([t.click(entry(f"Mark as done: {issue['title']}"))] if is_done else [])]
    query = f"SELECT todo_id, state FROM todo WHERE user_id = {ME} ORDER BY todo_id"
    rows = world.rows(query)
    return t.Draw(
        {"person": person["name"]},
        t.all_of(
            t.state(query, expected=[[number, "done" if number in settled else state] for number, state in rows]),
            new_rows(world, "note", "issue_id, body", [], SPOKEN),
        ),
        [*steps, t.leave("", "Only what is left to do stands there.")],
        evidence=[
            *(issue["title"] for issue, _ in made),
            *(text for text, (issue, _) in zip(texts, made, strict=True) if issue["state"] == "opened"),
        ],
    )
