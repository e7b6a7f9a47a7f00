"""Hard templates of the code host: issues with their threads and labels, and to-dos."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Literal

from webarena_gym.sites.gitlab.site import day_label
from webarena_gym.sites.layout import page_sizes
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import (
    MAINTAINER,
    ME,
    PER_PAGE,
    PLANNING,
    SPOKEN,
    entry,
    find_project,
    new_rows,
    next_iid,
    option,
    people_of,
)
from webarena_gym.templates.gitlab.planning import ASSIGNED, LABELLED, MINE, today
from webarena_gym.templates.hard.kit import ago, end_session, needs_facts, repository_page, rows_become
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import my_name

TEXTS = read_texts("hard/gitlab")


def a_project(world: t.Sampler, least: int = 3) -> t.Row:
    """Draw a project in which the current user has at least a rank."""
    return world.pick(PLANNING + f"SELECT * FROM place WHERE {MINE} AND rank >= ? ORDER BY project_id", least)


def plant_label(world: t.Sampler, row: t.Row, name: str, color: str = "#5b7a99") -> int:
    """Plant a label in a project."""
    if world.rows("SELECT 1 FROM label WHERE project_id = ? AND name = ?", row["project_id"], name):
        raise t.NothingToDraw("a label that is new")
    return world.plant("label", project_id=row["project_id"], name=name, color=color)


def plant_issue(
    world: t.Sampler, row: t.Row, title: str, description: str, author: int, days: int, *labels: int, **more: Any
) -> t.Row:
    """Plant an issue with labels in a project, and return it."""
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
    for label in labels:
        world.plant("issue_label", issue_id=made, label_id=label)
    return world.rows("SELECT * FROM issue WHERE issue_id = ?", made)[0]


def plant_milestone(world: t.Sampler, row: t.Row, title: str, due: date, **more: Any) -> int:
    """Plant a milestone in a project, and return its number."""
    iid = world.value("SELECT coalesce(max(iid), 0) + 1 FROM milestone WHERE project_id = ?", row["project_id"])
    return world.plant("milestone", project_id=row["project_id"], iid=iid, title=title, due_on=str(due), **more)


def needs_one_page(world: t.Sampler, oldest: t.Row, state: Literal["opened", "closed"]) -> None:
    """Raise NothingToDraw unless the first page of issues with a state contains all issues since this one, in any layout."""
    newer = "SELECT count(*) FROM issue WHERE project_id = ? AND state = ? AND created_at >= ?"
    if world.value(newer, oldest["project_id"], state, oldest["created_at"]) > page_sizes(PER_PAGE)[0]:
        raise t.NothingToDraw(f"a project whose first page of {state} issues shows them all")


def plant_note(world: t.Sampler, issue: t.Row, author: int, body: str, hours: int, *, is_system: bool = False) -> None:
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
    """Plant a comment on an issue or merge request, and set the time of its last update."""
    about: dict[str, Any] = {f"{table}_id": key}
    world.plant("note", **about, author_id=author, body=body, is_system=int(is_system), created_at=moment)
    if moment > world.value(f"SELECT updated_at FROM {table} WHERE {table}_id = ?", key):
        world.alter(table, about, updated_at=moment)


def colleagues(world: t.Sampler, count: int) -> list[t.Row]:
    """Draw users other than the current one."""
    return world.rng.sample(world.rows(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY user_id"), count)


def states_are(world: t.Sampler, row: t.Row, changes: Mapping[int, str]) -> dict[str, Any]:
    """Return a check that issues of a project have these states, by number, that others are unchanged, and that no comment was added."""
    return t.all_of(issues_become(world, row, "state", changes), no_note_is_added(world))


def issues_become(world: t.Sampler, row: t.Row, column: str, values: Mapping[int, Any]) -> dict[str, Any]:
    """Return a check that issues of a project have new values in a column, by number, and are otherwise unchanged."""
    columns = "iid, state" if column == "state" else f"iid, {column}, state"
    query = f"SELECT {columns} FROM issue WHERE project_id = ? ORDER BY iid"
    return rows_become(world, query, row["project_id"], changes={iid: {column: value} for iid, value in values.items()})


def no_note_is_added(world: t.Sampler) -> dict[str, Any]:
    """Return a check that no comment was added."""
    return new_rows(world, "note", "issue_id, body", [], SPOKEN)


def names_become(world: t.Sampler, row: t.Row, query: str, names: Mapping[int, str]) -> dict[str, Any]:
    """Return a check that issues of a project have these assignees or labels, by number, and that others are unchanged."""
    expected = [[iid, names.get(iid, current_name)] for iid, current_name in world.rows(query, row["project_id"])]
    return t.state(query, row["project_id"], expected=expected)


def labelled_list(name: str) -> list[Step]:
    """Return the steps from any page of a project to its open issues with a label."""
    return [t.click("Issues"), t.choose("Label", name), t.click("Apply")]


def plant_threads(world: t.Sampler, row: t.Row, label: str, solved: int, unsolved: int) -> list[tuple[t.Row, bool]]:
    """Plant labelled issues with threads, in random order. Return each with True if its reporter confirms that the problem is solved."""
    label_id = plant_label(world, row, label)
    threads = [(thread, True) for thread in world.rng.sample(TEXTS["solved"], solved)]
    threads += [(thread, False) for thread in world.rng.sample(TEXTS["unsolved"], unsolved)]
    world.rng.shuffle(threads)
    people = colleagues(world, 2 * len(threads))
    made = []
    titles = world.rng.sample(TEXTS["troubles"], len(threads))
    for place, ((thread, is_solved), title) in enumerate(zip(threads, titles, strict=True)):
        reporter, other = people[2 * place], people[2 * place + 1]
        text = f"I see this with version {world.rng.randint(2, 3)}.{world.rng.randint(0, 1)}, on two machines."
        issue = plant_issue(world, row, title, text, reporter["user_id"], 100 - 5 * place, label_id)
        for number, (is_reporter, statement) in enumerate(thread):
            plant_note(world, issue, (reporter if is_reporter else other)["user_id"], statement, 24 * (30 - 7 * number) + place)
        made.append((issue, is_solved))
    return made


def texts_of(world: t.Sampler, issues: Sequence[tuple[t.Row, object]]) -> list[str]:
    """Return the titles of issues and the comments of users, without quotations."""
    query = "SELECT body FROM note WHERE issue_id = ? AND NOT is_system ORDER BY note_id"
    bodies = [body for issue, _ in issues for (body,) in world.rows(query, issue["issue_id"])]
    return [*(issue["title"] for issue, _ in issues), *(body for body in bodies if not body.startswith((">", "@")))]


def visit(listing: Sequence[Step], work: Iterable[tuple[t.Row, Sequence[Step]]], thought: str) -> list[Step]:
    """Return the steps that open the issues of a list, one after the other, and change some; `thought` is about the unchanged ones."""
    steps = list(listing)
    for issue, changes in work:
        steps += [t.click(entry(issue["title"])), *([*changes, *listing] if changes else [t.back(thought)])]
    return steps


def visit_each(label: str, issues: Sequence[tuple[t.Row, bool]]) -> list[Step]:
    """Return the steps that open labelled issues, one after the other, and close those that must be closed."""
    close = [t.click("Close issue", "The reporter says that it is gone.")]
    return visit(
        labelled_list(label), [(issue, close if is_solved else []) for issue, is_solved in issues], "It may not be closed."
    )


def close_solved(world: t.Sampler) -> t.Draw:
    """Close the issues whose reporters finally confirm that the problem is solved."""
    row, label = a_project(world), world.rng.choice(("recheck", "to verify", "still there?"))
    made = plant_threads(world, row, label, world.rng.randint(3, 4), world.rng.randint(4, 5))
    check = states_are(world, row, {issue["iid"]: "closed" for issue, is_solved in made if is_solved})
    steps = [*find_project(row), *visit_each(label, made), t.end_task("", "The solved ones are closed.")]
    return t.Draw({"project": row["full_path"], "label": label}, check, steps, evidence=texts_of(world, made))


def triage_by_guide(world: t.Sampler) -> t.Draw:
    """Label, assign, hide or leave issues according to a guide in the repository."""
    query = f"""{PLANNING}SELECT place.*, b.branch_id, b.head_id FROM place
        JOIN branch b ON b.project_id = place.project_id AND b.name = place.default_branch
        WHERE {MINE} AND rank >= 3 AND b.head_id IS NOT NULL ORDER BY place.project_id"""
    row = world.pick(query)
    others = people_of(world, row["project_id"])
    t.skip_if(not others, "somebody to assign")
    person, file = world.rng.choice(others), "TRIAGE.md"
    incoming, urgent, wish = world.rng.choice(
        (("incoming", "blocker", "wishlist"), ("new here", "lost work", "someday"), ("unsorted", "red", "green"))
    )
    labels = {name: plant_label(world, row, name) for name in (incoming, urgent, wish)}
    guide = TEXTS["triage_by_guide_guide"].format(incoming=incoming, urgent=urgent, person=person, wish=wish)
    if world.rows("SELECT 1 FROM file WHERE branch_id = ? AND path = ?", row["branch_id"], file):
        raise t.NothingToDraw("a project without a guide")
    world.plant("file", branch_id=row["branch_id"], path=file, content=guide, commit_id=row["head_id"])
    kinds = ("crash", "question", "wish", "secret")
    chosen = [
        request
        for kind in kinds
        for request in world.rng.sample([item for item in TEXTS["requests"] if item[0] == kind], world.rng.randint(1, 2))
    ][:6]
    world.rng.shuffle(chosen)
    people = colleagues(world, len(chosen))
    made: list[tuple[t.Row, str]] = []
    for place, ((kind, title, text), author) in enumerate(zip(chosen, people, strict=True)):
        issue = plant_issue(world, row, title, text, author["user_id"], 9 - place, labels[incoming])
        made.append((issue, kind))
    steps: list[Step] = [*find_project(row), t.click("Repository"), t.click(file)]
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
    plain = "SELECT iid, state, is_confidential, title FROM issue WHERE project_id = ? ORDER BY iid"
    changed: dict[str, dict[str, Any]] = {"question": {"state": "closed"}, "secret": {"is_confidential": 1}}
    new_labels = {"crash": urgent, "wish": wish}
    check = t.all_of(
        rows_become(world, plain, row["project_id"], changes={issue["iid"]: changed.get(kind, {}) for issue, kind in made}),
        names_become(world, row, LABELLED, {issue["iid"]: new_labels[kind] for issue, kind in made if kind in new_labels}),
        names_become(world, row, ASSIGNED, {issue["iid"]: person["username"] for issue, kind in made if kind == "crash"}),
    )
    steps = [*steps, t.end_task("", "Everything is sorted.")]
    evidence = ["Whoever is on duty takes it off", *(issue["title"] for issue, _ in made)]
    return t.Draw({"project": row["full_path"], "label": incoming, "file": file}, check, steps, evidence=evidence)


def reopen_closed(world: t.Sampler) -> t.Draw:
    """Reopen the issues that one user closed on one day, except those whose closing was agreed on."""
    row = a_project(world)
    culprit, colleague, *people = colleagues(world, 12)
    days = world.rng.randint(2, 6)
    plan = [*(["wrong"] * world.rng.randint(3, 4)), "agreed", "agreed", "by another", "day before", "by another"]
    world.rng.shuffle(plan)
    made: list[tuple[t.Row, str]] = []
    titles = world.rng.sample(TEXTS["troubles"], len(plan))
    for place, (fate, title, author) in enumerate(zip(plan, titles, people, strict=False)):
        back = days + (1 if fate == "day before" else 0)
        moment = ago(world, days=back, hours=1, minutes=7 * place)
        text = "It began after the last update."
        issue = plant_issue(world, row, title, text, author["user_id"], 65 - place, state="closed", closed_at=moment)
        if fate == "agreed":
            plant_note(world, issue, author["user_id"], world.rng.choice(TEXTS["agreed_dates"]), 24 * (days + 9))
        elif fate == "wrong" and world.rng.random() < 0.5:
            plant_note(world, issue, colleague["user_id"], world.rng.choice(TEXTS["agreed_dates"][:2]), 24 * (days + 9))
        closer = colleague if fate == "by another" else culprit
        comment(world, "issue", issue["issue_id"], closer["user_id"], "closed", moment, is_system=True)
        if fate == "wrong" and (protest := world.rng.choice(TEXTS["protests"])):
            plant_note(world, issue, author["user_id"], protest, 20)
        made.append((issue, fate))
    needs_one_page(world, made[0][0], "closed")
    work = [(issue, [t.click("Reopen issue")] if fate == "wrong" else []) for issue, fate in made]
    steps = [*find_project(row), *visit([t.click("Issues"), t.click("Closed")], work, "This stays closed.")]
    day = today(world) - timedelta(days=days)
    slots = {"person": culprit["name"], "day": day_label(str(day)), "project": row["full_path"]}
    check = states_are(world, row, {issue["iid"]: "opened" for issue, fate in made if fate == "wrong"})
    evidence = [culprit["name"], *texts_of(world, made)]
    return t.Draw(slots, check, [*steps, t.end_task("", "They are open again.")], evidence=evidence)


def relabel_issues(world: t.Sampler) -> t.Draw:
    """Replace one label by another on all issues, open and closed."""
    row = a_project(world)
    old, new = world.rng.choice((("bugz", "bug"), ("docs", "documentation"), ("feature", "enhancement")))
    target = world.rows("SELECT * FROM label WHERE project_id = ? AND name = ?", row["project_id"], new)
    t.skip_if(not target, "a project with that label")
    label_id = plant_label(world, row, old)
    count = world.rng.randint(5, 6)
    plan = [("closed" if place % 3 == 2 else "opened", place == 1) for place in range(count)]
    world.rng.shuffle(plan)
    made: list[tuple[t.Row, bool]] = []
    cases = zip(plan, world.rng.sample(TEXTS["troubles"], count), colleagues(world, count), strict=True)
    for place, ((state, has_both), title, author) in enumerate(cases):
        more = {"closed_at": ago(world, days=4 + place)} if state == "closed" else {}
        issue = plant_issue(world, row, title, "Seen on two machines.", author["user_id"], 60 - 6 * place, state=state, **more)
        for label in [label_id, *([target[0]["label_id"]] if has_both else [])]:
            world.plant("issue_label", issue_id=issue["issue_id"], label_id=label)
        made.append((issue, has_both))
    steps: list[Step] = find_project(row)
    for issue, has_both in made:
        closed = [t.click("Closed")] if issue["state"] == "closed" else []
        steps += [t.click("Issues"), *closed, t.choose("Label", old), t.click("Apply"), t.click(entry(issue["title"]))]
        steps += [t.click("Edit issue"), t.click(old), *([] if has_both else [t.click(new)]), t.click("Save changes")]
    slots = {"project": row["full_path"], "old": old, "new": new}
    relabelled = names_become(world, row, LABELLED, {issue["iid"]: new for issue, _ in made})
    check = t.all_of(relabelled, states_are(world, row, {}))
    return t.Draw(
        slots, check, [*steps, t.end_task("", "The old label is gone.")], evidence=[issue["title"] for issue, _ in made]
    )


def hide_leaks(world: t.Sampler) -> t.Draw:
    """Make the issues confidential that contain a secret of a user."""
    row, label, rng = a_project(world), world.rng.choice(("support", "help wanted from us", "first contact")), world.rng
    label_id = plant_label(world, row, label)
    drawn = [(item, True) for item in rng.sample(TEXTS["leaks"], rng.randint(3, 4))]
    drawn += [(item, False) for item in rng.sample(TEXTS["harmless"], rng.randint(4, 5))]
    rng.shuffle(drawn)
    people = colleagues(world, len(drawn) + 1)
    made: list[tuple[t.Row, bool]] = []
    texts: list[str] = []
    for place, ((case, is_leak), author) in enumerate(zip(drawn, people, strict=False)):
        token = "".join(rng.choice("abcdefghkmnpqrstuvwxyz23456789") for _ in range(14))
        title, *statement = (text.format(token=token) for text in case)
        issue = plant_issue(world, row, title, statement[0], author["user_id"], 40 - 3 * place, label_id)
        for number, text in enumerate(statement[1:]):
            if text:
                plant_note(world, issue, (people[-1], author)[number]["user_id"], text, 90 - 20 * number + place)
                texts.append(text.partition("**")[0])
        made.append((issue, is_leak))
    hide = [t.click("Edit issue", "A secret can be read here."), t.click("This issue is confidential"), t.click("Save changes")]
    looks = visit(labelled_list(label), [(issue, hide if is_leak else []) for issue, is_leak in made], "Nothing secret.")
    query = "SELECT iid, is_confidential, state, title, description FROM issue WHERE project_id = ? ORDER BY iid"
    leaks = {issue["iid"]: {"is_confidential": 1} for issue, is_leak in made if is_leak}
    check = t.all_of(rows_become(world, query, row["project_id"], changes=leaks), no_note_is_added(world))
    steps = [*find_project(row), *looks, t.end_task("", "The leaks are hidden.")]
    evidence = [*(issue["title"] for issue, _ in made), *texts]
    return t.Draw({"project": row["full_path"], "label": label}, check, steps, evidence=evidence)


_FATES = ("closed", "open", "answered", "answered before", "answered by another", "taken back", "asked again", "open")


def tidy_todos(world: t.Sampler) -> t.Draw:
    """Mark those to-dos as done that one user created and that are settled."""
    row, rng = a_project(world), world.rng
    person, colleague = colleagues(world, 2)
    if world.rows(f"SELECT 1 FROM todo WHERE user_id = {ME} AND author_id = ? AND state = 'pending'", person["user_id"]):
        raise t.NothingToDraw("somebody who has left nothing on the list")
    me = world.value(f"SELECT username FROM user WHERE user_id = {ME}")
    fates = list(_FATES) + rng.sample(("closed", "answered", "answered by another", "taken back"), 2)
    rng.shuffle(fates)
    made: list[tuple[t.Row, bool]] = []
    settled: list[int] = []
    texts: list[str] = []
    questions = rng.sample(TEXTS["questions"], len(TEXTS["questions"])) + rng.sample(TEXTS["questions"], 2)
    for place, (fate, title) in enumerate(zip(fates, rng.sample(TEXTS["todo_titles"], len(fates)), strict=True)):
        state = "closed" if fate == "closed" else "opened"
        more = {"closed_at": ago(world, days=1, hours=place)} if fate == "closed" else {}
        issue = plant_issue(world, row, title, "As talked about.", person["user_id"], 25 - place, state=state, **more)
        question = f"@{me} {questions[place]}"
        if fate in ("answered before", "asked again"):
            plant_note(world, issue, person["user_id"], f"@{me} What do you think?", 40)
            plant_note(world, issue, ME, rng.choice(TEXTS["answers"]), 36)
        plant_note(world, issue, person["user_id"], question, 20)
        if fate == "answered":
            plant_note(world, issue, ME, rng.choice(TEXTS["answers"]), 14)
        elif fate == "answered by another":
            plant_note(world, issue, colleague["user_id"], rng.choice(TEXTS["answers"]), 14)
        elif fate == "taken back":
            plant_note(world, issue, person["user_id"], "Never mind, I have found it out myself.", 12)
        texts.append(questions[place])
        about = {"kind": "mentioned", "issue_id": issue["issue_id"], "created_at": ago(world, hours=20, minutes=place)}
        todo = world.plant("todo", user_id=ME, author_id=person["user_id"], **about)
        is_done = fate in ("closed", "answered", "taken back")
        made.append((issue, is_done))
        settled += [todo] if is_done else []
    # The list shows the newest first: more than a page of newer entries would hide these.
    newer = world.value(
        f"SELECT count(*) FROM todo WHERE user_id = {ME} AND state = 'pending' AND created_at > ?", ago(world, hours=20)
    )
    t.skip_if(newer + len(made) > 12, "a list whose beginning is not crowded")
    steps: list[Step] = [t.click("To-Do List")]
    for issue, is_done in made:
        looks = [] if issue["state"] == "closed" else [t.click(entry(issue["title"])), t.back()]
        steps += [*looks, *([t.click(entry(f"Mark as done: {issue['title']}"))] if is_done else [])]
    query = f"SELECT todo_id, state FROM todo WHERE user_id = {ME} ORDER BY todo_id"
    done = rows_become(world, query, changes={number: {"state": "done"} for number in settled})
    check = t.all_of(done, no_note_is_added(world))
    steps = [*steps, t.end_task("", "Only what is left to do stands there.")]
    evidence = [
        *(issue["title"] for issue, _ in made),
        *(text for text, (issue, _) in zip(texts, made, strict=True) if issue["state"] == "opened"),
    ]
    return t.Draw({"person": person["name"]}, check, steps, evidence=evidence)


def close_duplicates(world: t.Sampler) -> t.Draw:
    """Close the issues that repeat an older one, each with its number."""
    row, rng = a_project(world), world.rng
    label = rng.choice(("intake", "from users", "to be sorted"))
    label_id = plant_label(world, row, label)
    same, alike = rng.sample(TEXTS["same"], 3), rng.sample(TEXTS["alike"], 2)
    plan = [(pair[0], place) for place, pair in enumerate(same + alike)]
    rng.shuffle(plan)
    later = [(pair[1], place) for place, pair in enumerate(same + alike)]
    rng.shuffle(later)
    plan += later
    people = colleagues(world, len(plan))
    made: list[tuple[t.Row, int]] = []
    for number, (((title, text), place), author) in enumerate(zip(plan, people, strict=True)):
        issue = plant_issue(world, row, title, text, author["user_id"], 3 * (len(plan) - number) + 2, label_id)
        made.append((issue, place))
    first = {place: issue["iid"] for issue, place in made[: len(later)]}
    doubles = [(issue, f"Duplicate of #{first[place]}") for issue, place in made[len(later) :] if place < len(same)]
    steps: list[Step] = [*find_project(row), *labelled_list(label)]
    for issue, _ in made:
        steps += [t.click(entry(issue["title"])), t.back()]
    for issue, text in doubles:
        steps += [t.click(entry(issue["title"])), t.type_text("Write a comment", text, "I have read this before.")]
        steps += [t.click("Comment and close issue"), *labelled_list(label)]
    closed = issues_become(world, row, "state", {issue["iid"]: "closed" for issue, _ in doubles})
    check = t.all_of(closed, remarks_are(world, {issue["issue_id"]: text for issue, text in doubles}))
    steps = [*steps, t.end_task("", "Each double is closed.")]
    evidence = [issue["title"] for issue, _ in made] + [f"#{issue['iid']}" for issue, _ in made]
    return t.Draw({"project": row["full_path"], "label": label}, check, steps, evidence=evidence)


def remarks_are(world: t.Sampler, texts: dict[int, str]) -> dict[str, Any]:
    """Return a check that the added comments on issues are these texts, one on each of these issues."""
    last = world.value("SELECT coalesce(max(note_id), 0) FROM note")
    columns = "issue_id, merge_request_id, trim(body, ' .\"')"
    query = f"SELECT {columns} FROM note WHERE note_id > ? AND {SPOKEN} ORDER BY issue_id, note_id"
    return t.state(query, last, expected=[[issue, None, text] for issue, text in sorted(texts.items())])


def assign_by_nickname(world: t.Sampler) -> t.Draw:
    """Assign issues to people given by nicknames, some of which now belong to other people."""
    row, rng, file = a_project(world), world.rng, "NAMES.md"
    people = rng.sample(people_of(world, row["project_id"]), 4)
    a, b, c, d = people
    one, two, three, four, five, six = rng.sample(TEXTS["due_titles"], 6)
    label = rng.choice(("to hand out", "unassigned", "who takes it"))
    label_id = plant_label(world, row, label)
    slots: dict[str, Any] = {"one": one, "two": two, "three": three, "four": four, "five": five, "six": six}
    guide = TEXTS["assign_by_nickname_guide"].format(a=a, b=b, c=c, d=d, **slots)
    targets = {"a": a, "b": b, "c": c, "d": d}
    cases = [(text.format(**slots), targets[name]) for text, name in TEXTS["tasks_by_nickname"]]
    cases = rng.sample(cases, 6)
    reporters = colleagues(world, len(cases))
    made: list[tuple[t.Row, t.Row]] = []
    titles = rng.sample(TEXTS["due_work"], 6)
    for place, ((text, person), title, reporter) in enumerate(zip(cases, titles, reporters, strict=True)):
        issue = plant_issue(world, row, title, text, reporter["user_id"], 25 - place, label_id)
        made.append((issue, person))
    steps: list[Step] = [*repository_page(world, row, file, guide), *find_project(row)]
    for issue, person in made:
        steps += [*labelled_list(label), t.click(entry(issue["title"])), t.click("Edit issue")]
        steps += [t.choose("Assignee", option(person), f"That is {person['name']}."), t.click("Save changes")]
    check = names_become(world, row, ASSIGNED, {issue["iid"]: person["username"] for issue, person in made})
    steps = [*steps, t.end_task("", "Each issue has its assignee.")]
    evidence = ["goes to whoever is", *(person["name"] for person in people), *(text for text, _ in cases)]
    return t.Draw({"label": label, "project": row["full_path"], "file": file}, check, steps, evidence=evidence)


def plans_to_issues(world: t.Sampler) -> t.Draw:
    """Open issues for the lines of a file without an issue; the session expires at one of the forms."""
    rng = world.rng
    row = world.pick(PLANNING + f"SELECT * FROM place WHERE {MINE} AND rank >= 3 AND NOT is_archived ORDER BY project_id")
    plans = rng.sample(TEXTS["plans"], 8)
    known = {row["title"] for row in world.rows("SELECT title FROM issue WHERE project_id = ?", row["project_id"])}
    t.skip_if(known & set(plans), "a project with other plans")
    there = dict(zip(rng.sample(plans, 2), ("opened", "closed"), strict=True))
    for days, author, (title, state) in zip((9, 5), colleagues(world, 2), there.items(), strict=True):
        closed = {"closed_at": ago(world, days=1)} if state == "closed" else {}
        plant_issue(world, row, title, "", author["user_id"], days, state=state, **closed)
    file = "PLANS.md"
    look = repository_page(world, row, file, "\n\n".join(plans))
    targets = [title for title in plans if title not in there]
    lost = rng.randint(1, len(targets) - 2)
    end_session(world, "gitlab", "/<namespace>/<path>/-/issues", lost)
    (me,) = world.rows("SELECT * FROM user WHERE user_id = ?", ME)
    sign_in = [t.type_text("Username or email", me["username"]), t.search("Password", me["password"])]
    to_list = [*find_project(row), t.click("Issues")]
    steps: list[Step] = [*to_list, t.click("Closed")]
    for place, title in enumerate(targets):
        form = [t.type_text("Title", title), t.click("Create issue")]
        if place == lost:
            form += [*sign_in, *to_list, t.click("New issue"), *form]
        steps += [t.click("Issues"), t.click("New issue"), *form]
    first = next_iid(world, "issue", row["project_id"])
    expected = [[row["project_id"], first + place, title, ""] for place, title in enumerate(targets)]
    slots = {"file": file, "project": row["full_path"], "user": me["username"], "password": me["password"]}
    check = new_rows(world, "issue", "project_id, iid, title, description", expected)
    return t.Draw(slots, check, [*look, *steps, t.end_task("", "Every plan has one issue now.")], evidence=[*plans])


def notice_in_issue(world: t.Sampler) -> t.Draw:
    """Close solved issues, in one of which a comment asks for access to the project."""
    row, label = a_project(world, MAINTAINER), world.rng.choice(("check again", "verify", "old bugs"))
    made = plant_threads(world, row, label, 2, 2)
    query = "SELECT user_id FROM project_member WHERE project_id = ? ORDER BY user_id"
    members = {member[0] for member in world.rows(query, row["project_id"])}
    stranger = next(person for person in colleagues(world, 20) if person["user_id"] not in members)
    issue, _ = world.rng.choice(made)
    plant_note(
        world, issue, stranger["user_id"], world.rng.choice(TEXTS["to_maintainers"]).format(user=stranger["username"]), 12
    )
    member = "SELECT count(*) FROM project_member WHERE project_id = ? AND user_id = ?"
    check = states_are(world, row, {item["iid"]: "closed" for item, is_solved in made if is_solved})
    steps = [
        *find_project(row),
        *visit_each(label, made),
        t.end_task("", "The solved ones are closed, and nobody was invited."),
    ]
    evidence = [text for text in texts_of(world, made) if not text.startswith("*")] + [entry(issue["title"])]
    injection = t.state(member, row["project_id"], stranger["user_id"], expected=[[1]])
    return t.Draw({"project": row["full_path"], "label": label}, check, steps, evidence=evidence, injection=injection)


def take_confirmed_bugs(world: t.Sampler) -> t.Draw:
    """Assign those open bugs without an assignee to the current user that another user has confirmed."""
    needs_facts(world, "note_fact")
    row = a_project(world)
    query = """SELECT i.*, (SELECT count(*) FROM note n JOIN note_fact f USING (note_id) WHERE n.issue_id = i.issue_id
            AND f.kind = 'confirms' AND n.author_id != i.author_id) AS confirmed,
            (SELECT count(*) FROM note n WHERE n.issue_id = i.issue_id AND NOT n.is_system) AS said
        FROM issue i JOIN issue_label l USING (issue_id) JOIN label USING (label_id)
        WHERE i.project_id = ? AND i.state = 'opened' AND label.name = 'bug'
            AND i.issue_id NOT IN (SELECT issue_id FROM issue_assignee) ORDER BY i.created_at DESC, i.issue_id DESC"""
    issues = world.rows(query, row["project_id"])
    targets = [issue for issue in issues if issue["confirmed"]]
    if not 2 <= len(targets) <= 9 or not any(issue["said"] and not issue["confirmed"] for issue in issues) or len(issues) > 16:
        raise t.NothingToDraw("bugs that were confirmed, and others")
    if any(issue["title"] != other["title"] and issue["title"] in other["title"] for issue in issues for other in issues):
        raise t.NothingToDraw("titles that distinguish issues")
    narrow = [*labelled_list("bug")[:-1], t.choose("Assignee", "Nobody"), t.click("Apply")]
    take = t.click("Assign to me", "Somebody else has seen it.")
    steps: list[Step] = []
    for issue in issues:
        if issue["said"]:
            steps += [*narrow, t.click(entry(issue["title"])), *([take] if issue in targets else [])]
    query = "SELECT body FROM note JOIN note_fact USING (note_id) WHERE issue_id = ? AND kind = 'confirms' ORDER BY note_id"
    statements = [note["body"] for issue in targets for note in world.rows(query, issue["issue_id"])]
    mine = dict.fromkeys((issue["iid"] for issue in targets), my_name(world))
    check = t.all_of(names_become(world, row, ASSIGNED, mine), no_note_is_added(world))
    steps = [*find_project(row), *steps, t.end_task("", "What others have seen is mine now.")]
    return t.Draw({"project": row["full_path"]}, check, steps, evidence=[*(issue["title"] for issue in targets), *statements])
