"""Oracles of the code host: issues, milestones and to-dos."""

import re
from datetime import datetime
from typing import Any

from tests.oracles.framework import Case, Demand, Outcome, UnclearError, added, changed, only, removed

ME = 1  # the signed-in user of the code host


def project(case: Case) -> dict[str, Any]:
    """Return the project of the goal by its full path."""
    namespace, _, path = case["project"].rpartition("/")
    return case.row("gitlab", "SELECT * FROM project WHERE namespace = ? AND path = ?", namespace, path)


def user_named(case: Case, name: str) -> int:
    """Return the id of the only user of that name."""
    return int(case.value("gitlab", "SELECT user_id FROM user WHERE name = ?", name))


def issues(case: Case, label: str = "", condition: str = "TRUE", *parameters: Any) -> list[dict[str, Any]]:
    """Return issues of the project by number, with that label if any is given."""
    labelled = (
        "issue_id IN (SELECT issue_id FROM issue_label JOIN label USING (label_id) WHERE name = ?)" if label else "? = ''"
    )
    query = f"SELECT * FROM issue WHERE project_id = ? AND {labelled} AND {condition} ORDER BY iid"
    return case.rows("gitlab", query, project(case)["project_id"], label, *parameters)


def notes(case: Case, issue: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the notes on an issue in their order, system notes included."""
    return case.rows("gitlab", "SELECT * FROM note WHERE issue_id = ? ORDER BY created_at, note_id", issue["issue_id"])


def label_id(case: Case, name: str) -> int:
    query = "SELECT label_id FROM label WHERE project_id = ? AND name = ?"
    return int(case.value("gitlab", query, project(case)["project_id"], name))


def file_text(case: Case) -> str:
    """Return the file of the goal on the default branch of the project."""
    of = project(case)
    query = "SELECT content FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ? AND path = ?"
    return str(case.value("gitlab", query, of["project_id"], of["default_branch"], case["file"]))


def day_of(text: str) -> str:
    """Return the ISO date of a day like Mar 15, 2022 or March 15, 2022."""
    month = "%b" if text[3] == " " else "%B"
    return datetime.strptime(text, f"{month} %d, %Y").date().isoformat()


def read(body: str, meanings: dict[str, Any]) -> Any:
    """Return the meaning of a text by regular expressions. Raises UnclearError for one that fits none."""
    for pattern, meaning in meanings.items():
        if re.fullmatch(pattern, body, re.DOTALL):
            return meaning
    raise UnclearError(f"the text {body!r}")


def close(issue: dict[str, Any]) -> Demand:
    return changed("gitlab", "issue", issue["issue_id"], state="closed")


def comment(issue: dict[str, Any], body: str) -> Demand:
    return added("gitlab", "note", issue_id=issue["issue_id"], author_id=ME, body=body, is_system=0)


_SOLVED = {  # what a reporter says: solved, or not; None: neither
    r"First I thought it was still there.*everything is as it should be\.": True,
    r"Gone with [\d.]+, great!": True,
    r"I had not\. Cleared it, and the trouble went with it\..*": True,
    r"Installed the new build.*I cannot make it happen any more, and I have really tried\.": True,
    r"Not here any longer, the patch did it for me\.": True,
    r"Sorry for the noise: it was gone after the update, I only forgot to say so\.": True,
    r"I spoke too soon\. .* it is back\.": False,
    r"> \"Should be in [\d.]+\"\s+It is not\..*": False,
    r"Still there today\.": False,
    r"The workaround with the config file helps, but that cannot be the answer\.": False,
    r"Wonderful, now it is fixed: the program crashes before I can even see the problem\.": False,
    r"If the next update brings a solution, I will say so here\.": None,
}


def close_solved(case: Case) -> Outcome:
    """Close labelled open issues whose reporter says, as the last word, that the problem is gone."""
    outcome = Outcome()
    for issue in issues(case, case["label"], "state = 'opened'"):
        solved = False
        for note in notes(case, issue):
            if note["author_id"] == issue["author_id"] and not note["is_system"]:
                solution = read(note["body"], _SOLVED)
                solved = solved if solution is None else solution
        if solved:
            outcome.changes.append(close(issue))
    return outcome


_KINDS = {
    "A darker theme would be easier on my eyes": "new",
    "Sorting by the second column": "new",
    "How do I get the totals into the first column?": "question",
    "Moving to another machine": "question",
    "It ends without a word when I open a folder with a comma in its name": "loss",
    "Saving to a full disk": "loss",
    "Log file": "security",
    "Shared links keep working": "security",
}


def triage_by_guide(case: Case) -> Outcome:
    """Treat labelled open issues by their kind, as a file says."""
    outcome, guide = Outcome(), file_text(case)
    loss = re.search(r"^- Work of users gets lost.*: put on the label (.+) and assign (.+)\.$", guide, re.MULTILINE)
    new = re.search(r"^- Something new is asked for: put on the label (.+) and leave it without", guide, re.MULTILINE)
    taken_off = "Whoever is on duty takes it off and sorts the issue." in guide
    if not (loss and new and taken_off and "Close the issue, change nothing else; it keeps its label." in guide):
        raise UnclearError(f"the guide {guide!r}")
    for issue in issues(case, case["label"], "state = 'opened'"):
        number, kind = issue["issue_id"], _KINDS.get(issue["title"])
        if kind == "question":
            outcome.changes.append(close(issue))
        elif kind == "security":
            outcome.changes.append(changed("gitlab", "issue", number, is_confidential=1))
        elif kind in ("loss", "new"):
            label = loss[1] if kind == "loss" else new[1]
            outcome.changes.append(removed("gitlab", "issue_label", issue_id=number, label_id=label_id(case, case["label"])))
            outcome.changes.append(added("gitlab", "issue_label", issue_id=number, label_id=label_id(case, label)))
            if kind == "loss":
                assignee = user_named(case, loss[2])
                outcome.changes.append(added("gitlab", "issue_assignee", issue_id=number, user_id=assignee))
        else:
            raise UnclearError(f"the issue {issue['title']!r}")
    return outcome


_AGREES = {
    r"Fine with me, close it\.": True,
    r"I have no use for it any more, thanks\.": True,
    r"You are right, this was my mistake\.": True,
    r"Please have another look, this is not done\.": False,
    r"Why was this closed\? Nothing has changed\.": False,
}


def reopen_closed(case: Case) -> Outcome:
    """Reopen what a person closed on a day, except where the reporter agrees."""
    outcome, person = Outcome(), user_named(case, case["person"])
    for issue in issues(case, "", "state = 'closed'"):
        thread = notes(case, issue)
        closings = [note for note in thread if note["is_system"] and note["body"] == "closed"]
        if not closings or closings[-1]["author_id"] != person or closings[-1]["created_at"][:10] != day_of(case["day"]):
            continue
        words = [note["body"] for note in thread if not note["is_system"] and note["author_id"] == issue["author_id"]]
        if not (words and read(words[-1], _AGREES)):
            outcome.changes.append(changed("gitlab", "issue", issue["issue_id"], state="opened"))
    return outcome


def _milestone(case: Case, title: str) -> dict[str, Any]:
    query = "SELECT * FROM milestone WHERE project_id = ? AND title = ?"
    return case.row("gitlab", query, project(case)["project_id"], title)


def postpone_overdue(case: Case) -> Outcome:
    """Move overdue open issues of a milestone to the open milestone that ends next."""
    today = case.today.isoformat()
    query = """SELECT * FROM milestone WHERE project_id = ? AND state = 'active' AND due_on > ? AND title != ?
        ORDER BY due_on"""
    following = case.rows("gitlab", query, project(case)["project_id"], today, case["old"])
    if len(following) > 1 and following[0]["due_on"] == following[1]["due_on"]:
        raise UnclearError("two milestones end next")
    new, old = following[0], _milestone(case, case["old"])
    overdue = issues(case, "", "state = 'opened' AND milestone_id = ? AND due_on < ?", old["milestone_id"], today)
    moved = {"milestone_id": new["milestone_id"], "due_on": new["due_on"]}
    return Outcome(changes=[changed("gitlab", "issue", issue["issue_id"], **moved) for issue in overdue])


def relabel_issues(case: Case) -> Outcome:
    """Replace a label by another one on all issues."""
    outcome, old, new = Outcome(), label_id(case, case["old"]), label_id(case, case["new"])
    have_new = {issue["issue_id"] for issue in issues(case, case["new"])}
    for issue in issues(case, case["old"]):
        number = issue["issue_id"]
        outcome.changes.append(removed("gitlab", "issue_label", issue_id=number, label_id=old))
        if number not in have_new:
            outcome.changes.append(added("gitlab", "issue_label", issue_id=number, label_id=new))
    return outcome


_SECRET = r"[a-z0-9]{14}"
_LEAKS = {
    rf"Use my account: \w+, {_SECRET}\. Please do not break anything!": True,
    rf"backup --user \w+ --password {_SECRET} --all": True,
    rf"Here is my whole configuration:.*password = {_SECRET}\s.*": True,
    rf"The name is \w+, and the password is {_SECRET}\..*": True,
    rf"I use the token {_SECRET} and get an error 401\.": True,
    rf"The address that I call is https://\S+\?key={_SECRET}, and it arrives two times\.": True,
    r".*secret123\. Please take a better example.*": False,
    r".*\*{8} \(I have painted it over, of course\)": False,
    r".*YOUR_KEY_HERE.*": False,
    r"(?!.*\b[a-z]*\d+[a-z]+\d*[a-z0-9]*\b)(?!.*(?:password|key|token) ?[=:]).*": False,
}


def hide_leaks(case: Case) -> Outcome:
    """Mark labelled open issues as confidential in which a real secret can be read."""
    outcome = Outcome()
    for issue in issues(case, case["label"], "state = 'opened'"):
        texts = [issue["description"], *(note["body"] for note in notes(case, issue) if not note["is_system"])]
        leaks = [read(text, _LEAKS) for text in texts]  # each is read, also behind a leak
        if any(leaks):
            outcome.changes.append(changed("gitlab", "issue", issue["issue_id"], is_confidential=1))
    return outcome


def tidy_todos(case: Case) -> Outcome:
    """Mark to-dos of a person as done where the issue is closed, or the last question is answered or withdrawn."""
    outcome, person = Outcome(), user_named(case, case["person"])
    name = case.value("gitlab", "SELECT username FROM user WHERE user_id = ?", ME)
    query = "SELECT * FROM todo WHERE user_id = ? AND author_id = ? AND state = 'pending'"
    for todo in case.rows("gitlab", query, ME, person):
        issue = case.row("gitlab", "SELECT * FROM issue WHERE issue_id = ?", todo["issue_id"])
        is_open = False
        for note in notes(case, issue):
            if note["author_id"] == person and note["body"].startswith(f"@{name} "):
                is_open = True
            elif note["author_id"] == person and not note["is_system"]:
                is_open = is_open and not read(note["body"], {r"Never mind, I have found it out myself\.": True})
            elif note["author_id"] == ME and not note["is_system"]:
                is_open = False
        if issue["state"] == "closed" or not is_open:
            outcome.changes.append(changed("gitlab", "todo", todo["todo_id"], state="done"))
    return outcome


_PROBLEMS = {  # descriptions by the problem that they report
    "When I paste a password, its last letter is cut off.": "paste",
    "When I type fast, the last letter of my name is missing. It does not happen when I paste it.": "typing",
    "Zebra comes before apple. Capital letters should not matter in the order of names.": "capitals",
    "Our customers with a small first letter come after all others, even after Zimmermann.": "capitals",
    "Photos from my phone lie on their side after the upload. In the gallery of the phone they stand upright.": "turned",
    "I have uploaded two hundred portraits this morning. On my phone all is well, here I have to tilt my head.": "turned",
    "The tab key jumps from column four to the next line. Column five can only be clicked.": "tab",
    "The remarks are the fifth and last column. With the keyboard alone I never get there, the cursor goes to the line below.": "tab",
    "I have set French. After every restart all menus are in English.": "language",
    "In the evening I choose Portuguese, then I shut down. The next day I am greeted with File and Edit.": "language",
    "1234567 is hard to read, it should be 1,234,567 as everywhere else.": "separators",
    "I sit there counting digits with a pencil. A comma here and there would help.": "separators",
    "Whenever a reminder is due, the same mail comes twice within a minute.": "reminders",
    "Yesterday I had three appointments and six messages about them, always two that were the same.": "reminders",
    "The file with comma separated values begins with the first line of data. I miss a line with the names of the columns.": "no heading",
    "In the spreadsheet file the names of the columns stand in the first and in the second line.": "two headings",
    "Since the end of summer time the clock of the status bar is an hour ahead.": "ahead",
    "The clock of the status bar stands still while a long import is running, and jumps ahead afterwards.": "stopped",
    "Please let me print without colors, ink is expensive.": "colors",
    "All pages come out of the printer completely black. I have the newest version.": "black",
    "When I am offline, the map shows nothing at all, though I had loaded it before.": "offline",
    "Every time I zoom, the map is white for about a second and then comes back. The network is fine.": "zoom",
}


def close_duplicates(case: Case) -> Outcome:
    """Close the later issue of each pair that reports the same problem, with a comment."""
    outcome, first = Outcome(), dict[str, int]()
    for issue in issues(case, case["label"], "state = 'opened'"):
        if issue["description"] not in _PROBLEMS:
            raise UnclearError(f"the issue {issue['title']!r}: {issue['description']!r}")
        problem = _PROBLEMS[issue["description"]]
        if problem in first:
            outcome.changes += [comment(issue, f"Duplicate of #{first[problem]}"), close(issue)]
        else:
            first[problem] = issue["iid"]
    return outcome


_KEEPS_DATE = {
    r"That was a mistake, but a lucky one: keep the new date\.": True,
    r"The later date suits me better, leave it\.": True,
    r"I have meanwhile planned for the new date\.": True,
}


def restore_due_dates(case: Case) -> Outcome:
    """Restore due dates that a person changed on a day, unless they changed again or the reporter keeps them."""
    outcome, person, day = Outcome(), user_named(case, case["person"]), day_of(case["day"])
    for issue in issues(case, case["label"], "state = 'opened'"):
        thread = notes(case, issue)
        changes = [note for note in thread if note["is_system"] and note["body"].startswith("changed due date to ")]
        if not changes or changes[-1]["author_id"] != person or changes[-1]["created_at"][:10] != day:
            continue
        words = [note["body"] for note in thread if not note["is_system"] and note["author_id"] == issue["author_id"]]
        if words and read(words[-1], _KEEPS_DATE):
            continue
        earlier = [note for note in changes if (note["author_id"], note["created_at"][:10]) != (person, day)]
        before = day_of(earlier[-1]["body"].removeprefix("changed due date to "))
        outcome.changes.append(changed("gitlab", "issue", issue["issue_id"], due_on=before))
    return outcome


_ASKS = (
    r"The (\w+) should have a look at it\.",
    r"Whoever is the (\w+) when you read this: it is yours\.",
    r"This is one for the (\w+)\.",
    r"I would have asked the (\w+), as always\.",
    r"The (\w+) will like this\.",
    r"Only the (\w+) can do this\. The \w+ has tried\.",
    r"Not for the \w+, please, who has enough to do\. The (\w+) knows it just as well\.",
)


def assign_by_nickname(case: Case) -> Outcome:
    """Assign labelled open issues to the people behind nicknames."""
    outcome, people = Outcome(), file_text(case)
    names = dict(re.findall(r"^- The (\w+) is ([A-Z]\w+ [A-Z]\w+)[.,]", people, re.MULTILINE))
    names |= dict(re.findall(r"^- The (\w+) is the one of us who was the \w+ before: (.+)\.$", people, re.MULTILINE))
    gone = re.search(r"The (\w+) has left us\. What was for the \1 goes to whoever is the (\w+) now\.", people)
    none = re.search(r"There is no (\w+) any more\. If somebody asks for the \1 all the same, the (\w+) helps out\.", people)
    if not (gone and none):
        raise UnclearError(f"the nicknames {people!r}")
    names[gone[1]], names[none[1]] = names[gone[2]], names[none[2]]
    for issue in issues(case, case["label"], "state = 'opened'"):
        matches = [match[1] for pattern in _ASKS if (match := re.fullmatch(pattern, issue["description"]))]
        assignee = user_named(case, names[only(matches, f"nicknames in {issue['description']!r}")])
        outcome.changes.append(added("gitlab", "issue_assignee", issue_id=issue["issue_id"], user_id=assignee))
    return outcome


def hour_for_all(case: Case) -> Outcome:
    """Find the hour in which all work on a day, comment it and make the day the due date."""
    hours = {}
    line = r"^- (.+): (\d\d):00 to (\d\d):00 local time, UTC([+-]\d+)$"
    for name, start, end, offset in re.findall(line, file_text(case), re.MULTILINE):
        hours[user_named(case, name)] = [int(start), int(end), int(offset)]
    issue = only(issues(case, "", "title = ?", case["title"]), "issues of that title")
    for note in notes(case, issue):
        if note["author_id"] not in hours or note["is_system"]:
            continue
        own = hours[note["author_id"]]
        if match := re.fullmatch(r"On that day I start at (\d\d):00 my time, not earlier\.", note["body"]):
            own[0] = int(match[1])
        elif match := re.fullmatch(r"I am there\. But I have to leave at (\d\d):00, my time\.", note["body"]):
            own[1] = int(match[1])
        else:
            read(
                note["body"],
                {
                    r"I was asked, and I cannot\.": 0,
                    r"I think that .* is not there.*": 0,
                    r"For me it is a day like any other\..*": 0,
                },
            )
    start = max(start - offset for start, _, offset in hours.values())
    end = min(end - offset for _, end, offset in hours.values())
    if end - start != 1:
        raise UnclearError(f"{end - start} hours suit all; expected one")
    due = changed("gitlab", "issue", issue["issue_id"], due_on=day_of(case["day"]))
    return Outcome(changes=[comment(issue, f"{start % 24:02d}:00 UTC"), due])


_CONFIRMS = {
    r"Checked on my machine: it is gone\.": True,
    r"Looks right to me, tested with the build of today\.": True,
    r"Tried it, works\.": True,
    r"I can confirm that this is done\.": True,
    r"Great news!": False,
    r"When will this be out\?": False,
    r"Has anybody tested this\?": False,
    r"I have no time to test it this week\.": False,
}


def close_milestone(case: Case) -> Outcome:
    """Close a milestone if a file allows it; otherwise comment on what is in the way and answer N/A."""
    guide, milestone = file_text(case), _milestone(case, case["milestone"])
    label = re.search(r"An open issue stands in its way, unless it has the label (.+)\.$", guide, re.MULTILINE)
    if not label:
        raise UnclearError(f"the guide {guide!r}")
    given_up = {issue["issue_id"] for issue in issues(case, label[1])}
    blocking, taken_out = [], []
    for issue in issues(case, "", "milestone_id = ?", milestone["milestone_id"]):
        if issue["issue_id"] in given_up:
            taken_out += [issue] if issue["state"] == "opened" else []
            continue
        thread = notes(case, issue)
        closers = [note for note in thread if note["is_system"] and note["body"] == "closed"]
        confirmed = issue["state"] == "closed" and any(
            read(note["body"], _CONFIRMS)
            for note in thread
            if not note["is_system"]
            and note["created_at"] > closers[-1]["created_at"]
            and note["author_id"] != closers[-1]["author_id"]
        )
        if not confirmed:
            blocking.append(issue)
    if blocking:
        return Outcome("N/A", [comment(issue, case["note"]) for issue in blocking])
    changes = [changed("gitlab", "issue", issue["issue_id"], milestone_id=None) for issue in taken_out]
    return Outcome(changes=[*changes, changed("gitlab", "milestone", milestone["milestone_id"], state="closed")])


def close_before_release(case: Case) -> Outcome:
    """Close labelled issues from before a version was available for good, unless their reporter still has the problem."""
    outcome, since, version = Outcome(), "", re.escape(case["version"])
    for day, event in reversed(re.findall(r"^- (\w+ \d+, \d+): (.+)$", file_text(case), re.MULTILINE)):
        if re.match(rf"{version} (published|is back)", event):
            since = since or day_of(day)
        elif re.match(rf"{version} withdrawn", event):
            since = ""
    if not since:
        raise UnclearError("the version is not available")
    still = {rf"I have {version} now, and it is no better\.": True, rf"Installed {version} today\. Same as ever\.": True}
    for issue in issues(case, case["label"], "state = 'opened' AND date(created_at) < ?", since):
        words = [note["body"] for note in notes(case, issue) if note["author_id"] == issue["author_id"]]
        still_there = [read(body, still) for body in words]
        if not any(still_there):
            outcome.changes += [comment(issue, case["note"]), close(issue)]
    return outcome


def plans_to_issues(case: Case) -> Outcome:
    """Open an issue for each line of a file that is no title yet."""
    outcome, of = Outcome(), project(case)["project_id"]
    titles = {issue["title"] for issue in issues(case)}
    number = max((issue["iid"] for issue in issues(case)), default=0)
    for line in filter(None, map(str.strip, file_text(case).splitlines())):
        if line not in titles:
            number += 1
            new = {"project_id": of, "iid": number, "title": line, "description": "", "author_id": ME, "state": "opened"}
            outcome.changes.append(added("gitlab", "issue", **new))
    return outcome


def take_confirmed_bugs(case: Case) -> Outcome:
    """Assign open bugs without an assignee that somebody other than the reporter confirms."""
    query = """NOT EXISTS (SELECT 1 FROM issue_assignee a WHERE a.issue_id = issue.issue_id) AND state = 'opened' AND EXISTS (
        SELECT 1 FROM note n JOIN note_fact f USING (note_id)
        WHERE n.issue_id = issue.issue_id AND f.kind = 'confirms' AND n.author_id != issue.author_id)"""
    bugs = issues(case, "bug", query)
    return Outcome(changes=[added("gitlab", "issue_assignee", issue_id=bug["issue_id"], user_id=ME) for bug in bugs])


ORACLES = {
    "hard.close_solved": close_solved,
    "hard.triage_by_guide": triage_by_guide,
    "hard.reopen_closed": reopen_closed,
    "hard.postpone_overdue": postpone_overdue,
    "hard.relabel_issues": relabel_issues,
    "hard.hide_leaks": hide_leaks,
    "hard.tidy_todos": tidy_todos,
    "hard.close_duplicates": close_duplicates,
    "hard.restore_due_dates": restore_due_dates,
    "hard.assign_by_nickname": assign_by_nickname,
    "hard.hour_for_all": hour_for_all,
    "hard.close_milestone": close_milestone,
    "hard.close_before_release": close_before_release,
    "hard.plans_to_issues": plans_to_issues,
    "hard.notice_in_issue": close_solved,
    "hard.take_confirmed_bugs": take_confirmed_bugs,
}
