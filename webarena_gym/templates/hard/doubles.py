"""Issues on the code host that say once more what an older one says, in other words, and some that only seem to."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.ways import SPOKEN, entry, open_project
from webarena_gym.templates.hard.issues import a_project, labelled_list, plant_issue, plant_label, strangers

TEMPLATES = t.Templates("hard")

_SAME = (
    (("Pictures are turned by a quarter", "Photos from my phone lie on their side after the upload. In the gallery of the phone they stand upright."),
     ("Everybody in my holiday album is lying down", "I have uploaded two hundred portraits this morning. On my phone all is well, here I have to tilt my head.")),
    (("Two mails for each reminder", "Whenever a reminder is due, the same mail comes twice within a minute."),
     ("My mailbox is filling up", "Yesterday I had three appointments and six messages about them, always two that were the same.")),
    (("Language switches back to English", "I have set French. After every restart all menus are in English."),
     ("Menu speaks the wrong language in the morning", "In the evening I choose Portuguese, then I shut down. The next day I am greeted with File and Edit.")),
    (("Large numbers have no separators", "1234567 is hard to read, it should be 1,234,567 as everywhere else."),
     ("Cannot tell a million from ten millions", "I sit there counting digits with a pencil. A comma here and there would help.")),
    (("Keyboard does not reach the last column", "The tab key jumps from column four to the next line. Column five can only be clicked."),
     ("No way to fill in remarks without a mouse", "The remarks are the fifth and last column. With the keyboard alone I never get there, the cursor goes to the line below.")),
    (("Lists are sorted by capital letters", "Zebra comes before apple. Capital letters should not matter in the order of names."),
     ("van der Meer is at the very end", "Our customers with a small first letter come after all others, even after Zimmermann.")),
)  # fmt: skip
"""Pairs of an issue and another one that is about the same."""

_ALIKE = (
    (("Map is blank without a network", "When I am offline, the map shows nothing at all, though I had loaded it before."),
     ("Map is blank for a second", "Every time I zoom, the map is white for about a second and then comes back. The network is fine.")),
    (("Password field loses the last letter", "When I paste a password, its last letter is cut off."),
     ("Name field loses the last letter", "When I type fast, the last letter of my name is missing. It does not happen when I paste it.")),
    (("Export has no headings", "The file with comma separated values begins with the first line of data. I miss a line with the names of the columns."),
     ("Export has headings twice", "In the spreadsheet file the names of the columns stand in the first and in the second line.")),
    (("Clock is an hour ahead", "Since the end of summer time the clock of the status bar is an hour ahead."),
     ("Clock stops", "The clock of the status bar stands still while a long import is running, and jumps ahead afterwards.")),
    (("Printing in black and white", "Please let me print without colors, ink is expensive."),
     ("Printing comes out black", "All pages come out of the printer completely black. I have the newest version.")),
)  # fmt: skip
"""Pairs of issues that have words in common and nothing else."""


@TEMPLATES.define(
    'Some open issues labelled "{label}" in {project} say in other words what another open issue with this label has said before. Close the later one of each such pair with the comment "Duplicate of #N", where N is '
    "the number of the earlier one. Issues that only resemble each other stay open.",
    '{project}, label "{label}": find the duplicates (same problem, other words). newer one of each pair: comment "Duplicate of #<number of the older>" and close. older one stays. similar but not the same = hands off',
    "I am sure that the list of open issues in {project} with the label {label} holds several things twice, only in different words. For each double, comment \"Duplicate of #N\" on the younger issue, N being the number of the "
    "older one, and close it. Please read them properly: some look alike and are about different things.",
    'Clean up the open "{label}" issues of {project}: whatever reports a problem that an older one among them reports already gets the comment "Duplicate of #N" (N: number of the older one) and is closed. Nothing else changes.',
    'Look for duplicates among the open {label} issues of {project}. The newer of two goes: comment on it with "Duplicate of #N", with the number of the other in place of N, then close. Only real ones, not those with similiar titles.',
    sites=("gitlab",),
    difficulty=("reading", "exhaustive", "restraint"),
)  # fmt: skip
def close_duplicates(world: t.Sampler) -> t.Draw:
    """Close the issues that repeat an older one, each with its number."""
    row, rng = a_project(world), world.rng
    label = rng.choice(("intake", "from users", "to be sorted"))
    label_id = plant_label(world, row, label)
    same, alike = rng.sample(_SAME, 3), rng.sample(_ALIKE, 2)
    plan = [(pair[0], place) for place, pair in enumerate(same + alike)]
    rng.shuffle(plan)
    later = [(pair[1], place) for place, pair in enumerate(same + alike)]
    rng.shuffle(later)
    plan += later
    people = strangers(world, len(plan))
    made: list[tuple[t.Row, int]] = []
    for number, (((title, text), place), author) in enumerate(zip(plan, people, strict=True)):
        issue = plant_issue(world, row, title, text, author["user_id"], 3 * (len(plan) - number) + 2)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        made.append((issue, place))
    first = {place: issue["iid"] for issue, place in made[: len(later)]}
    doubles = [(issue, f"Duplicate of #{first[place]}") for issue, place in made[len(later) :] if place < len(same)]
    steps: list[Step] = [*open_project(row), *labelled_list(label)]
    for issue, _ in made:
        steps += [t.click(entry(issue["title"])), t.back()]
    for issue, text in doubles:
        steps += [
            t.click(entry(issue["title"])),
            t.type_text("Write a comment", text, "I have read this before."),
            t.click("Comment and close issue"),
            *labelled_list(label),
        ]
    states = "SELECT iid, state FROM issue WHERE project_id = ? ORDER BY iid"
    closed = {issue["iid"] for issue, _ in doubles}
    return t.Draw(
        {"project": row["full_path"], "label": label},
        t.all_of(
            t.state(
                states,
                row["project_id"],
                expected=[[iid, "closed" if iid in closed else state] for iid, state in world.rows(states, row["project_id"])],
            ),
            remarks_are(world, {issue["issue_id"]: text for issue, text in doubles}),
        ),
        [*steps, t.leave("", "Each double is closed.")],
        evidence=[issue["title"] for issue, _ in made] + [f"#{issue['iid']}" for issue, _ in made],
    )


def remarks_are(world: t.Sampler, texts: dict[int, str]) -> dict[str, Any]:
    """What was said on issues since the start must be these texts, one on each of these issues."""
    last = world.value("SELECT coalesce(max(note_id), 0) FROM note")
    query = f"""SELECT issue_id, merge_request_id, trim(body, ' ."') FROM note WHERE note_id > ? AND {SPOKEN} ORDER BY issue_id, note_id"""
    return t.state(query, last, expected=[[issue, None, text] for issue, text in sorted(texts.items())])
