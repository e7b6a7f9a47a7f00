"""Due dates and assignees of issues: dates that somebody has moved by mistake, people who go by nicknames, and a call over time zones."""

from datetime import date, timedelta

from webarena_gym.sites.country.formats import long_date
from webarena_gym.sites.gitlab.base import day_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issue_work import ASSIGNED
from webarena_gym.templates.gitlab.issues import today
from webarena_gym.templates.gitlab.ways import entry, open_project, option, people_of
from webarena_gym.templates.hard.doubles import remarks_are
from webarena_gym.templates.hard.issues import a_project, labelled_list, plant_issue, plant_label, say, strangers
from webarena_gym.templates.hard.ways import repository_page

TEMPLATES = t.Templates("hard")

_WORK = (
    "Rewrite the page about printing", "Look through the old translations", "Draw the missing icons", "Measure how long a start takes", "Throw out the second parser",
    "Order the settings by use", "Ask users about the colors", "Try the new compiler", "Shorten the welcome mail", "Find a home for the old wiki",
)  # fmt: skip
_AGREED = (
    "The later date suits me better, leave it.",
    "That was a mistake, but a lucky one: keep the new date.",
    "I have meanwhile planned for the new date.",
)


@TEMPLATES.define(
    'On {day}, {person} changed due dates of issues in {project} labelled "{label}" by mistake. Put back the date that each had before, as its history tells, unless somebody has given it yet another date since, or its reporter wants to keep the new one. '
    "Dates that others changed, or that were changed on other days, stay.",
    '{project}, label "{label}": {person} moved due dates on {day} by accident. restore the previous date (see history). exceptions: date changed again later by someone, or reporter is fine with the new one. nothing else changes',
    'A script of {person} went wild in {project} on {day} and moved the due dates of issues with the label {label}. Please undo that, with the dates from the history of each issue. Two things to mind: a date that has been changed once more after that day is deliberate, and if the reporter has written that the new date may stay, it stays.',
    'Undo what {person} did to the due dates of the "{label}" issues of {project} on {day}. Only what is still in place and what the reporter does not want to keep; changes of other people or of other days were all right.',
    'For each open issue labelled "{label}" in {project}, look at the history: if {person} moved its due date on {day}, and nobody has moved it since, it gets back the date that was valid before. But not where the reporter of the isue has accepted the new date.',
    sites=("gitlab",),
    difficulty=("recovery", "time", "restraint"),
)  # fmt: skip
def restore_due_dates(world: t.Sampler) -> t.Draw:
    """Put back due dates that somebody moved on one day, where that still stands and is not wanted."""
    row, rng = a_project(world), world.rng
    label, days = rng.choice(("autumn plan", "review round", "housework")), rng.randint(4, 7)
    label_id = plant_label(world, row, label)
    culprit, colleague, *people = strangers(world, 12)
    plan = ["moved", "moved", "moved twice", "agreed", "agreed by another", "changed since", "by another", "another day"]
    rng.shuffle(plan)
    made: list[tuple[t.Row, str, str]] = []
    said: list[str] = []
    for place, (fate, title, reporter) in enumerate(zip(plan, rng.sample(_WORK, len(plan)), people, strict=False)):
        first, before, after, last = (str(today(world) + timedelta(days=each)) for each in rng.sample(range(9, 90), 4))
        due = last if fate == "changed since" else after
        issue = plant_issue(world, row, title, "As we have talked about.", reporter["user_id"], 75 - place, due_on=due)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        history = [(colleague, before, 24 * 30)]
        if fate == "moved twice":
            history.insert(0, (culprit, first, 24 * 40))
        shift = 24 if fate == "another day" else 0
        history.append((colleague if fate == "by another" else culprit, after, 24 * days + 1 + shift))
        if fate == "changed since":
            history.append((reporter, last, 24 * (days - 2)))
        for person, moment, hours in history:
            text = f"changed due date to {long_date(moment)}"
            say(world, issue, person["user_id"], text, hours, is_system=True)
            said.append(text)
        if fate.startswith("agreed"):
            text = rng.choice(_AGREED)
            say(world, issue, (reporter if fate == "agreed" else colleague)["user_id"], text, 20)
            said.append(text)
        made.append((issue, fate, before))
    wrong = {issue["iid"]: before for issue, fate, before in made if fate in ("moved", "moved twice", "agreed by another")}
    steps: list[Step] = [*open_project(row), *labelled_list(label)]
    for issue, _, before in made:
        steps.append(t.click(entry(issue["title"])))
        if issue["iid"] in wrong:
            steps += [
                t.click("Edit issue"),
                t.type_text("Due date (optional)", before, "That was the date before."),
                t.click("Save changes"),
                *labelled_list(label),
            ]
        else:
            steps.append(t.back("This date stays."))
    query = "SELECT iid, due_on, state FROM issue WHERE project_id = ? ORDER BY iid"
    day = today(world) - timedelta(days=days)
    return t.Draw(
        {"day": day_label(str(day)), "person": culprit["name"], "project": row["full_path"], "label": label},
        t.all_of(
            t.state(
                query,
                row["project_id"],
                expected=[[iid, wrong.get(iid, due), state] for iid, due, state in world.rows(query, row["project_id"])],
            ),
            remarks_are(world, {}),
        ),
        [*steps, t.leave("", "The dates are back.")],
        evidence=[culprit["name"], *said],
    )


_TITLES = ("Captain", "Owl", "Professor", "Admiral", "Squirrel", "Baker")


@TEMPLATES.define(
    'Assign the open issues labelled "{label}" in {project}, each to the one person that its description asks for. We call each other by nicknames; {file} in the repository says who is who now.',
    '{project}: assign the "{label}" issues. descriptions say who (nicknames...), {file} in the repo has the people behind the names. one assignee each',
    'In {project} hardly anybody goes by their real name. The issues with the label {label} say in their descriptions whom they are for. With the help of {file} in the repository, enter the right assignee for every one of them. Nothing else is to be changed.',
    'Who is meant in the open "{label}" issues of {project}? Look up the nicknames in {file} (it has been changed more than once, so read all of it), then give each issue its assignee.',
    'Please enter assignees for the issues labelled {label} in {project}. Each descripton tells whom it wants, only not by name. The list of names is {file} in the repository. Exactly one person for each issue.',
    sites=("gitlab",),
    difficulty=("names", "reading", "exhaustive"),
)  # fmt: skip
def assign_by_nickname(world: t.Sampler) -> t.Draw:
    """Assign issues to people that are told by nicknames, some of which have passed to others."""
    row, rng, file = a_project(world), world.rng, "NAMES.md"
    people = rng.sample(people_of(world, row["project_id"]), 4)
    a, b, c, d = people
    one, two, three, four, five, six = rng.sample(_TITLES, 6)
    label = rng.choice(("to hand out", "unassigned", "who takes it"))
    label_id = plant_label(world, row, label)
    guide = (
        f"# Who is who\n\n- The {one} is {a['name']}.\n- The {two} is {b['name']}, until the end of last year the {three}.\n"
        f"- The {three} is the one of us who was the {four} before: {c['name']}.\n- The {five} is {d['name']}.\n\n"
        f"The {six} has left us. What was for the {six} goes to whoever is the {three} now.\n\n"
        f"There is no {four} any more. If somebody asks for the {four} all the same, the {five} helps out.\n"
    )
    cases = [
        (f"This is one for the {one}.", a),
        (f"The {three} should have a look at it.", c),
        (f"I would have asked the {six}, as always.", c),
        (f"Not for the {one}, please, who has enough to do. The {two} knows it just as well.", b),
        (f"The {four} will like this.", d),
        (f"Only the {five} can do this. The {three} has tried.", d),
        (f"Whoever is the {one} when you read this: it is yours.", a),
    ]
    cases = rng.sample(cases, 6)
    reporters = strangers(world, len(cases))
    made: list[tuple[t.Row, t.Row]] = []
    for place, ((text, person), title, reporter) in enumerate(zip(cases, rng.sample(_WORK, 6), reporters, strict=True)):
        issue = plant_issue(world, row, title, text, reporter["user_id"], 25 - place)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        made.append((issue, person))
    steps: list[Step] = [*repository_page(world, row, file, guide), *open_project(row)]
    for issue, person in made:
        steps += [
            *labelled_list(label),
            t.click(entry(issue["title"])),
            t.click("Edit issue"),
            t.choose("Assignee", option(person), f"That is {person['name']}."),
            t.click("Save changes"),
        ]
    wanted = {issue["iid"]: person["username"] for issue, person in made}
    return t.Draw(
        {"label": label, "project": row["full_path"], "file": file},
        t.state(
            ASSIGNED,
            row["project_id"],
            expected=[[iid, wanted.get(iid, names)] for iid, names in world.rows(ASSIGNED, row["project_id"])],
        ),
        [*steps, t.leave("", "Each issue has its assignee.")],
        evidence=["goes to whoever is", *(person["name"] for person in people), *(text for text, _ in cases)],
    )


@TEMPLATES.define(
    'When can we call on {day}? {file} in the repository of {project} says where everybody is and when they work; in the issue "{title}" people tell what is different on that day, and only what they say of themselves counts. There is exactly one full hour that suits all. '
    'Write it on that issue as a comment like "08:00 UTC", and make {day} the due date of the issue.',
    '{project}: find the hour for our call on {day}. hours + time zones: {file} in the repo, changes for that day: comments of issue "{title}" (each person for him/herself only). comment the result there, e.g. "08:00 UTC", and set the due date to {day}',
    'Our call on {day} needs a time, and we live all over the world. You find the working hours and the offsets from UTC in {file} ({project}), and what people cannot do on that day in the issue "{title}". What one says about another is not to be trusted. One hour is left in which all are at work from its first to its last minute. '
    'Comment on the issue with its beginning, in the form "08:00 UTC", and set its due date to {day}.',
    'Please settle the issue "{title}" in {project}: the one hour on {day} (full hour, in UTC) in which everybody from {file} can take part, given what they have written in the issue about themselves. The comment reads like "08:00 UTC" and nothing more; the due date becomes {day}.',
    'By {file} of {project} and the comments to the issue "{title}", at which full hour UTC can all of us talk for an hour on {day}? Answer in a comment there ("08:00 UTC" is the form), and enter {day} as the due date. Dont rely on what people say about others.',
    sites=("gitlab",),
    difficulty=("time", "optimum", "reading"),
)  # fmt: skip
def hour_for_all(world: t.Sampler) -> t.Draw:
    """Find the one hour of a day in which people in several time zones are all at work."""
    row, rng, file = a_project(world), world.rng, "HOURS.md"
    people = strangers(world, 5)
    day: date = today(world) + timedelta(days=rng.randint(6, 20))
    for _ in range(400):
        zones = [rng.choice(choice) for choice in ((-5, -4, -3), (-1, 0, 1), (1, 2), (2, 3, 4), (5, 6))]
        shifts = [rng.choice(((7, 15), (8, 16), (9, 17), (10, 18), (12, 20))) for _ in people]
        # What two of them say of themselves: one begins later on that day, one leaves earlier.
        late, early = rng.sample(range(5), 2)
        begin, end = shifts[late][0] + rng.choice((1, 2, 3)), shifts[early][1] - rng.choice((1, 2, 3))
        hours = list(shifts)
        hours[late], hours[early] = (begin, shifts[late][1]), (shifts[early][0], end)
        fits, plain = (
            [hour for hour in range(24) if all(a <= hour + zone and hour + zone + 1 <= b for zone, (a, b) in zip(zones, each, strict=True))]
            for each in (hours, shifts)
        )  # fmt: skip
        if len(fits) == 1 and len(plain) > 2:
            break
    else:
        raise t.NothingToDraw("one hour for all")
    lines = [
        f"- {person['name']}: {a:02}:00 to {b:02}:00 local time, UTC{zone:+d}"
        for person, zone, (a, b) in zip(people, zones, shifts, strict=True)
    ]
    third = next(place for place in range(5) if place not in (late, early))
    title = rng.choice(("Our next call", "Finding an hour", "A call with everybody"))
    issue = plant_issue(world, row, title, f"It will be on {long_date(str(day))}.", people[third]["user_id"], 9)
    talk = [
        (late, f"On that day I start at {begin:02}:00 my time, not earlier."),
        (third, f"I think that {people[early]['name']} is not there at all on that day."),
        (early, f"I am there. But I have to leave at {end:02}:00, my time."),
        (third, f"For me it is a day like any other. Could somebody ask whether {people[late]['name']} can start at {shifts[late][0]:02}:00 after all?"),
        (late, "I was asked, and I cannot."),
    ]  # fmt: skip
    for place, (person, text) in enumerate(talk):
        say(world, issue, people[person]["user_id"], text, 100 - 11 * place)
    answer = f"{fits[0]:02}:00 UTC"
    query = "SELECT iid, due_on, state FROM issue WHERE project_id = ? ORDER BY iid"
    content = "# Working hours\n\n" + "\n".join(lines) + "\n"
    return t.Draw(
        {"day": long_date(str(day)), "file": file, "project": row["full_path"], "title": title},
        t.all_of(
            t.state(
                query,
                row["project_id"],
                expected=[
                    [iid, str(day) if iid == issue["iid"] else due, state]
                    for iid, due, state in world.rows(query, row["project_id"])
                ],
            ),
            remarks_are(world, {issue["issue_id"]: answer}),
        ),
        [
            *repository_page(world, row, file, content),
            *open_project(row),
            t.click("Issues"),
            t.click(entry(title)),
            t.type_text("Write a comment", answer, "All are at work then."),
            t.click("Comment"),
            t.click("Edit issue"),
            t.type_text("Due date (optional)", str(day)),
            t.click("Save changes"),
            t.leave("", "The hour is found."),
        ],
        evidence=[*(line.removeprefix("- ") for line in lines), *(text for _, text in talk)],
    )
