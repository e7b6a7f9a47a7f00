"""Changes to make: my saved places, notes on the map, and suggestions."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.map.ways import open_place, places, some_place
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction, turn_pages

ME = 1  # the mapper who is signed in when a task starts
NOTES_PER_PAGE = 15
SAVED = f"SELECT place_id, note FROM saved_place WHERE user_id = {ME} ORDER BY place_id"
MINE = f"EXISTS (SELECT 1 FROM saved_place s WHERE s.place_id = p.place_id AND user_id = {ME})"
REMINDERS = (
    "Book a table for six", "Ask for the side entrance", "Closed when I came last time", "Bring cash", "Pick up the parcel on Friday",
    "Good place to wait", "Show it to my parents", "Park behind the house",
)  # fmt: skip
FAULTS = (
    "The entrance has moved to the back.", "There is a ramp for wheelchairs now.", "The building is being rebuilt until spring.",
    "Bicycles can be left in front of it.", "It was closed for good last week.", "The name on the sign is spelled differently.",
)  # fmt: skip


def saved_are(wanted: dict[int, str]) -> dict[str, Any]:
    """My saved places must be exactly these, with these notes."""
    return t.state(SAVED, expected=[list(item) for item in sorted(wanted.items())])


def saved(world: t.Sampler) -> dict[int, str]:
    """Return the notes of my saved places."""
    return {row["place_id"]: row["note"] for row in world.rows(SAVED)}


save_place = Change(
    lambda world: some_place(world, f"NOT {MINE}"),
    lambda world, row: saved_are({**saved(world), row["place_id"]: row["note"]}),
    way=[*open_place("{name}"), t.type_text("Note", "{note}"), t.click("Save place")],
    also={"note": lambda world, _row: world.rng.choice(REMINDERS)},
    slots={"place": "{name}"},
)


forget_place = Change(
    lambda world: some_place(world, MINE),
    lambda world, row: saved_are({key: note for key, note in saved(world).items() if key != row["place_id"]}),
    way=[t.click("Saved places"), t.click("Remove {name}")],
    slots={"place": "{name}"},
)


change_reminder = Change(
    lambda world: some_place(world, MINE),
    lambda world, row: saved_are({**saved(world), row["place_id"]: row["note"]}),
    way=[t.click("Saved places"), t.click("{name}"), t.type_text("Note", "{note}"), t.click("Update note")],
    also={"note": lambda world, _row: world.rng.choice(REMINDERS)},
    slots={"place": "{name}"},
)


def forget_kind(world: t.Sampler) -> t.Draw:
    """Remove all saved places of a kind."""
    kind = some_place(world, MINE)["category"]
    rows = sorted(places(world, f"{MINE} AND category = ?", kind), key=lambda row: str(row["name"]))
    gone = {row["place_id"] for row in rows}
    return instruction(
        {"kind": kind},
        saved_are({key: note for key, note in saved(world).items() if key not in gone}),
        way=[t.click("Saved places"), *(t.click(f"Remove {row['name']}") for row in rows)],
    )


def add_note(world: t.Sampler) -> t.Draw:
    """Put a note on the map at a place."""
    row, text = some_place(world, "1"), world.rng.choice(FAULTS)
    total = world.value("SELECT count(*) FROM map_note")
    return instruction(
        {"place": row["name"], "text": text},
        t.state(
            "SELECT user_id, latitude, longitude, text, status FROM map_note ORDER BY note_id LIMIT -1 OFFSET ?",
            total,
            expected=[[ME, row["latitude"], row["longitude"], text, "open"]],
        ),
        way=[*open_place(row["name"]), t.click("Add a note here"), t.type_text("Note", text), t.click("Add note")],
    )


def resolve_note(world: t.Sampler) -> t.Draw:
    """Resolve an open note of the newest ones."""
    rows = world.rows(
        "SELECT n.*, name FROM map_note n JOIN user USING (user_id) WHERE status = 'open' ORDER BY n.created_at DESC, note_id DESC"
    )
    row = world.rng.choice(rows[:NOTES_PER_PAGE])
    beginning = " ".join(row["text"].split()[:6])
    if sum(each["text"].startswith(beginning) and each["name"] == row["name"] for each in rows) > 1:
        raise t.NothingToDraw("a note of its own")
    resolved = world.rows("SELECT note_id FROM map_note WHERE status = 'resolved' ORDER BY note_id")
    expected = sorted([each["note_id"] for each in resolved] + [row["note_id"]])
    return instruction(
        {"author": row["name"], "beginning": beginning},
        t.state(
            "SELECT note_id FROM map_note WHERE status = 'resolved' ORDER BY note_id", expected=[[each] for each in expected]
        ),
        way=[
            t.click("Notes"),
            *turn_pages(world, rows.index(row), NOTES_PER_PAGE),
            t.click(f"Note {row['note_id']}"),
            t.click("Resolve note"),
        ],
    )


def comment_note(world: t.Sampler) -> t.Draw:
    """Say something about one of the notes, which is found in the list of all."""
    rows = world.rows("SELECT note_id FROM map_note ORDER BY created_at DESC, note_id DESC")
    place = world.rng.randrange(len(rows))
    number, text = (
        rows[place]["note_id"],
        world.rng.choice(("I have seen it, too.", "Thank you for telling us.", "Is this still so?")),
    )
    return instruction(
        {"text": text, "number": number},
        t.state(
            "SELECT note_id, user_id, text FROM note_comment ORDER BY comment_id LIMIT -1 OFFSET ?",
            world.value("SELECT count(*) FROM note_comment"),
            expected=[[number, ME, text]],
        ),
        way=[
            t.click("Notes"),
            t.click("Show all"),
            *turn_pages(world, place, NOTES_PER_PAGE),
            t.click(f"Note {number}"),
            t.type_text("Comment", text),
            t.click("Add comment"),
        ],
    )


def suggest_edit(world: t.Sampler) -> t.Draw:
    """Suggest how a place's page should read."""
    row, other = some_place(world, "phone != '' AND website != ''"), some_place(world, "phone != '' AND website != ''")
    part = world.rng.choice(("Phone", "Website"))
    value = {"Phone": other["phone"], "Website": f"{row['website'].removesuffix('.example')}-new.example"}[part]
    if value == row[part.lower()]:
        raise t.NothingToDraw("something else")
    return instruction(
        {"part": part.lower(), "place": row["name"], "value": value},
        t.state(
            "SELECT user_id, place_id, field, value, status FROM suggestion WHERE status != 'withdrawn' ORDER BY suggestion_id",
            expected=[[ME, row["place_id"], part, value, "waiting"]],
        ),
        way=[
            *open_place(row["name"]),
            t.click("Suggest an edit"),
            t.choose("What is wrong?", part),
            t.type_text("It should read", value),
            t.click("Send suggestion"),
        ],
    )
