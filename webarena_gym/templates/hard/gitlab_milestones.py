"""Hard templates of the code host: due dates, milestones, and an hour for a call."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from webarena_gym.sites.country.texts import long_date
from webarena_gym.sites.gitlab.site import day_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import entry, find_project
from webarena_gym.templates.gitlab.planning import today
from webarena_gym.templates.hard.gitlab_issues import (
    a_project,
    colleagues,
    issues_become,
    labelled_list,
    needs_one_page,
    plant_issue,
    plant_label,
    plant_milestone,
    plant_note,
    remarks_are,
    visit,
)
from webarena_gym.templates.hard.kit import ago, repository_page, rows_become
from webarena_gym.templates.reader import read_texts

TEXTS = read_texts("hard/gitlab")


def postpone_overdue(world: t.Sampler) -> t.Draw:
    """Move the overdue issues of a milestone to the milestone that ends next."""
    row = a_project(world)
    now = today(world)
    spans = (30, 50), (8, 20), (60, 90)
    ends = [now + timedelta(days=world.rng.randint(*span)) for span in spans]
    names = world.rng.sample(("Heron", "Kestrel", "Plover", "Bittern", "Avocet", "Curlew"), 5)
    ahead = "SELECT 1 FROM milestone WHERE project_id = ? AND due_on >= ? AND state = 'active'"
    t.skip_if(world.rows(ahead, row["project_id"], str(now)), "a project without a milestone ahead")

    def milestone(title: str, due: date, state: str = "active") -> int:
        return plant_milestone(world, row, title, due, starts_on=str(due - timedelta(days=25)), state=state)

    old = milestone(names[0], now - timedelta(days=world.rng.randint(3, 12)))
    milestone(names[1], ends[0])
    following = milestone(names[2], ends[1])
    milestone(names[3], ends[2])
    milestone(names[4], now + timedelta(days=world.rng.randint(2, 5)), "closed")
    plan = [*(["late"] * world.rng.randint(4, 5)), "later", "no date", "closed"]
    world.rng.shuffle(plan)
    made: list[tuple[t.Row, str]] = []
    cases = zip(plan, world.rng.sample(TEXTS["troubles"], len(plan)), colleagues(world, len(plan)), strict=True)
    for place, (fate, title, author) in enumerate(cases):
        shift = {"late": -3 - place, "later": 2 + place, "closed": -9}.get(fate)
        due = None if shift is None else now + timedelta(days=shift)
        more = {"milestone_id": old, "due_on": None if due is None else str(due)}
        more |= {"state": "closed" if fate == "closed" else "opened"}
        text = "Planned in our last call."
        made.append((plant_issue(world, row, title, text, author["user_id"], 55 - place, **more), fate))
    needs_one_page(world, made[0][0], "opened")
    late = [issue for issue, fate in made if fate == "late"]
    steps: list[Step] = [*find_project(row), t.click("Milestones")]
    for issue in late:
        steps += [t.click("Issues"), t.click(entry(issue["title"])), t.click("Edit issue")]
        steps += [t.choose("Milestone", names[2]), t.type_text("Due date (optional)", str(ends[1]))]
        steps += [t.click("Save changes")]
    query = "SELECT iid, milestone_id, due_on, state FROM issue WHERE project_id = ? ORDER BY iid"
    moved = {issue["iid"]: {"milestone_id": following, "due_on": str(ends[1])} for issue in late}
    check = rows_become(world, query, row["project_id"], changes=moved)
    steps = [*steps, t.end_task("", "The overdue issues have moved.")]
    evidence = [names[1], names[2], names[3], *(issue["title"] for issue in late)]
    return t.Draw({"project": row["full_path"], "old": names[0]}, check, steps, evidence=evidence)


def restore_due_dates(world: t.Sampler) -> t.Draw:
    """Restore due dates that somebody changed on one day, unless they were changed again or the change was wanted."""
    row, rng = a_project(world), world.rng
    label, days = rng.choice(("autumn plan", "review round", "housework")), rng.randint(4, 7)
    label_id = plant_label(world, row, label)
    culprit, colleague, *people = colleagues(world, 12)
    plan = ["moved", "moved", "moved twice", "agreed", "agreed by another", "changed since", "by another", "another day"]
    rng.shuffle(plan)
    made: list[tuple[t.Row, str, str]] = []
    statements: list[str] = []
    for place, (fate, title, reporter) in enumerate(zip(plan, rng.sample(TEXTS["due_work"], len(plan)), people, strict=False)):
        first, before, after, last = (str(today(world) + timedelta(days=item)) for item in rng.sample(range(9, 90), 4))
        due = last if fate == "changed since" else after
        issue = plant_issue(
            world, row, title, "As we have talked about.", reporter["user_id"], 75 - place, label_id, due_on=due
        )
        history = [(colleague, before, 24 * 30)]
        if fate == "moved twice":
            history.insert(0, (culprit, first, 24 * 40))
        shift = 24 if fate == "another day" else 0
        history.append((colleague if fate == "by another" else culprit, after, 24 * days + 1 + shift))
        if fate == "changed since":
            history.append((reporter, last, 24 * (days - 2)))
        for person, moment, hours in history:
            text = f"changed due date to {long_date(moment)}"
            plant_note(world, issue, person["user_id"], text, hours, is_system=True)
            statements.append(text)
        if fate.startswith("agreed"):
            text = rng.choice(TEXTS["agreed_splits"])
            plant_note(world, issue, (reporter if fate == "agreed" else colleague)["user_id"], text, 20)
            statements.append(text)
        made.append((issue, fate, before))
    wrong = {issue["iid"]: before for issue, fate, before in made if fate in ("moved", "moved twice", "agreed by another")}
    work: list[tuple[t.Row, list[Step]]] = []
    for issue, _, before in made:
        date_before = t.type_text("Due date (optional)", before, "That was the date before.")
        changes = [t.click("Edit issue"), date_before, t.click("Save changes")]
        work.append((issue, changes if issue["iid"] in wrong else []))
    steps = [*find_project(row), *visit(labelled_list(label), work, "This date stays.")]
    day = today(world) - timedelta(days=days)
    slots = {"day": day_label(str(day)), "person": culprit["name"], "project": row["full_path"], "label": label}
    check = t.all_of(issues_become(world, row, "due_on", wrong), remarks_are(world, {}))
    return t.Draw(slots, check, [*steps, t.end_task("", "The dates are back.")], evidence=[culprit["name"], *statements])


def hour_for_all(world: t.Sampler) -> t.Draw:
    """Find the one hour of a day in which people in several time zones are all at work."""
    row, rng, file = a_project(world), world.rng, "HOURS.md"
    people = colleagues(world, 5)
    day: date = today(world) + timedelta(days=rng.randint(6, 20))
    for _ in range(400):
        zones = [rng.choice(choice) for choice in ((-5, -4, -3), (-1, 0, 1), (1, 2), (2, 3, 4), (5, 6))]
        shifts = [rng.choice(((7, 15), (8, 16), (9, 17), (10, 18), (12, 20))) for _ in people]
        # The availability of two of them: one starts later on that day, one leaves earlier.
        late, early = rng.sample(range(5), 2)
        begin, end = shifts[late][0] + rng.choice((1, 2, 3)), shifts[early][1] - rng.choice((1, 2, 3))
        hours = list(shifts)
        hours[late], hours[early] = (begin, shifts[late][1]), (shifts[early][0], end)

        def free(spans: Sequence[tuple[int, int]], zones: Sequence[int] = zones) -> list[int]:
            pairs = list(zip(zones, spans, strict=True))
            return [hour for hour in range(24) if all(a <= hour + zone < b for zone, (a, b) in pairs)]

        fits, plain = free(hours), free(shifts)
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
    roles = {"late": late, "early": early, "third": third}
    slots: dict[str, Any] = {"begin": begin, "end": end, "usual": shifts[late][0]}
    slots |= {name: people[place]["name"] for name, place in roles.items()}
    talk = [(roles[role], text.format(**slots)) for role, text in TEXTS["talk_of_hour"]]
    for place, (person, text) in enumerate(talk):
        plant_note(world, issue, people[person]["user_id"], text, 100 - 11 * place)
    answer = f"{fits[0]:02}:00 UTC"
    content = "# Working hours\n\n" + "\n".join(lines) + "\n"
    slots = {"day": long_date(str(day)), "file": file, "project": row["full_path"], "title": title}
    dates = issues_become(world, row, "due_on", {issue["iid"]: str(day)})
    check = t.all_of(dates, remarks_are(world, {issue["issue_id"]: answer}))
    steps = [*repository_page(world, row, file, content), *find_project(row), t.click("Issues"), t.click(entry(title))]
    steps += [t.type_text("Write a comment", answer, "All are at work then."), t.click("Comment"), t.click("Edit issue")]
    steps += [t.type_text("Due date (optional)", str(day)), t.click("Save changes"), t.end_task("", "The hour is found.")]
    return t.Draw(slots, check, steps, evidence=[*(line.removeprefix("- ") for line in lines), *(text for _, text in talk)])


def close_milestone(world: t.Sampler) -> t.Draw:
    """Close a milestone, or name the obstacle, according to a file of the project; both outcomes are equally likely."""
    row, rng = a_project(world), world.rng
    later = rng.choice(("postponed", "not now", "next time"))
    file, note = "RELEASING.md", rng.choice(TEXTS["milestone_notes"])
    rules = TEXTS["close_milestone_rules"].format(later=later)
    label_id = plant_label(world, row, later)
    title = rng.choice(("Heron", "Kestrel", "Plover", "Bittern", "Avocet", "Curlew"))
    if world.rows("SELECT 1 FROM milestone WHERE project_id = ? AND title = ?", row["project_id"], title):
        raise t.NothingToDraw("a name for a milestone")
    milestone = plant_milestone(world, row, title, today(world))
    is_allowed = rng.random() < 0.5
    plan = ["confirmed", "confirmed", "confirmed late", "given up", "later", "later"]
    blocks = {"unconfirmed": 1, "only by closer": 1, "confirmed too early": 1, "open": 1}
    plan += [] if is_allowed else rng.sample(sorted(blocks), rng.randint(2, 3))
    rng.shuffle(plan)
    people = colleagues(world, 2 * len(plan))
    made: list[tuple[t.Row, str]] = []
    statements: list[str] = []
    for place, (fate, name) in enumerate(zip(plan, rng.sample(TEXTS["stage_titles"], len(plan)), strict=True)):
        closer, other = people[2 * place], people[2 * place + 1]
        is_closed = fate not in ("open", "later")
        moment = {"closed_at": ago(world, hours=100)} if is_closed else {}
        labels = [label_id] if fate in ("given up", "later") else []
        more = {"milestone_id": milestone, "state": "closed" if is_closed else "opened", **moment}
        issue = plant_issue(world, row, name, "Part of the plan.", other["user_id"], 60 - place, *labels, **more)
        yes, no = rng.choice(TEXTS["confirmed"]), rng.choice(TEXTS["not_confirmed"])
        if fate == "confirmed too early":
            plant_note(world, issue, other["user_id"], yes, 130)
        if is_closed:
            plant_note(world, issue, closer["user_id"], "closed", 100, is_system=True)
        if fate in ("unconfirmed", "confirmed late", "open"):
            plant_note(world, issue, other["user_id"], no, 80)
        if fate == "only by closer":
            plant_note(world, issue, closer["user_id"], yes, 70)
        if fate in ("confirmed", "confirmed late"):
            plant_note(world, issue, other["user_id"], yes, 60)
        if fate in ("confirmed", "confirmed late", "only by closer", "confirmed too early"):
            statements.append(yes)
        statements += [no] if fate == "unconfirmed" else []
        made.append((issue, fate))
    blocking = [issue for issue, fate in made if fate in blocks]
    to_milestone = [*find_project(row), t.click("Milestones"), t.click(title)]
    looks: list[Step] = [*repository_page(world, row, file, rules), *to_milestone]
    for issue, _ in made:
        looks += [t.click(entry(issue["title"])), t.back()]
    issues = "SELECT iid, state, milestone_id FROM issue WHERE project_id = ? ORDER BY iid"
    taken_out = {issue["iid"]: {"milestone_id": None} for issue, fate in made if fate == "later" and is_allowed}
    stages = "SELECT title, state FROM milestone WHERE project_id = ? ORDER BY iid"
    checks = (
        rows_become(world, issues, row["project_id"], changes=taken_out),
        rows_become(world, stages, row["project_id"], changes={title: {"state": "closed"}} if is_allowed else {}),
        remarks_are(world, {issue["issue_id"]: note.rstrip(".") for issue in blocking}),
    )
    slots = {"milestone": title, "project": row["full_path"], "file": file, "note": note}
    evidence = ["Questions and congratulations are no confirmation", *(issue["title"] for issue, _ in made), *statements]
    changes: list[Step] = []
    if is_allowed:
        take_out = [t.click("Edit issue"), t.choose("Milestone", "No milestone"), t.click("Save changes"), *to_milestone]
        for issue, fate in made:
            changes += [t.click(entry(issue["title"])), *take_out] if fate == "later" else []
        changes.append(t.click("Close milestone", "Nothing is in its way."))
        return t.Draw(slots, t.all_of(*checks), [*looks, *changes, t.end_task("", "It is closed.")], evidence=evidence)
    for issue in blocking:
        changes += [t.click(entry(issue["title"])), t.type_text("Write a comment", note), t.click("Comment"), *to_milestone]
    steps = [*looks, *changes, t.end_task("N/A", "It has to wait.")]
    grounds = {"N/A": says("A closed issue stands in its way as long as", blocking[0]["title"])}
    return t.Draw(slots, t.all_of(t.not_achievable(), *checks), steps, grounds=grounds, evidence=evidence)


def close_before_release(world: t.Sampler) -> t.Draw:
    """Close the issues from before a release that was withdrawn once, but for those that it has not solved."""
    row, rng, file = a_project(world), world.rng, "HISTORY.md"
    label, version = rng.choice(("old trouble", "needs check", "maybe solved")), f"{rng.randint(4, 9)}.{rng.randint(1, 9)}"
    note = rng.choice((f"Please try {version}.", f"This should be better in {version}.", f"Solved by {version}, we hope."))
    label_id = plant_label(world, row, label)
    last = rng.randint(20, 30)  # days ago
    pulled, first = last + rng.randint(6, 9), last + rng.randint(14, 18)

    def label_of(days: int) -> str:
        return day_label(str(today(world) - timedelta(days=days)))

    days_told = {"later": last - 8, "last": last, "pulled": pulled, "first": first, "preview": first + 40}
    days_as_told = {name: label_of(days) for name, days in days_told.items()}
    content = TEXTS["close_before_release_content"].format(version=version, **days_as_told)
    plan = [("old", first + 5), ("between", pulled + 2), ("between", last + 2), ("still there", first + 9)]
    plan += [("still there, says another", last + 4), ("same day", last), ("new", last - 3), ("new", last - 9)]
    plan.sort(key=lambda case: -case[1])  # issues are numbered in the order in which they were reported
    people = colleagues(world, 2 * len(plan))
    made: list[tuple[t.Row, bool]] = []
    statements: list[str] = []
    for place, ((fate, days), title) in enumerate(zip(plan, rng.sample(TEXTS["old_troubles"], len(plan)), strict=True)):
        reporter, other = people[2 * place], people[2 * place + 1]
        issue = plant_issue(world, row, title, "It happens every day.", reporter["user_id"], days, label_id)
        if fate.startswith("still there"):
            text = rng.choice((f"I have {version} now, and it is no better.", f"Installed {version} today. Same as ever."))
            plant_note(world, issue, (reporter if fate == "still there" else other)["user_id"], text, 24 * 5 + place)
            statements.append(text)
        made.append((issue, days > last and fate != "still there"))
    close = [t.type_text("Write a comment", note), t.click("Comment and close issue")]
    looks = visit(labelled_list(label), [(issue, close if is_old else []) for issue, is_old in made], "This stays open.")
    steps = [*repository_page(world, row, file, content), *find_project(row), *looks]
    closed = [issue for issue, is_old in made if is_old]
    slots = {"project": row["full_path"], "label": label, "version": version, "file": file, "note": note}
    states = issues_become(world, row, "state", {issue["iid"]: "closed" for issue in closed})
    check = t.all_of(states, remarks_are(world, {issue["issue_id"]: note.rstrip(".") for issue in closed}))
    evidence = [label_of(last), label_of(pulled), label_of(first), *(issue["title"] for issue, _ in made), *statements]
    return t.Draw(slots, check, [*steps, t.end_task("", "What is old is closed.")], evidence=evidence)
