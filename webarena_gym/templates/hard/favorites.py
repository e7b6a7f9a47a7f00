"""My saved places on the map, part of which has become useless."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import ago
from webarena_gym.templates.map.changes import ME, saved, saved_are
from webarena_gym.templates.map.ways import places
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")

_PER_PAGE = 20  # saved places on one page of the plain layout

_PLAIN = (
    "nice",
    "Jo told me about it",
    "blue door",
    "good cake, they say",
    "for the walk along the river",
    "was recommended in the paper",
    "next to the old mill",
)
_KEPT = (
    "do not throw this one out, whatever happens",
    "my dentist's sister works here, so it stays",
    "must stay on the list until the summer is over",
    "keep, for Monday meetings",
)
_LIKE_KEPT = (
    "I have kept the bill",
    "will not last long on this list",
    "should have been thrown out long ago",
    "never on a Monday",
)


@TEMPLATES.define(
    "I use my saved places for Sunday trips. Remove every one that is closed on Sundays, unless its note tells that I want to keep it anyway. In the notes of those that stay on the list and are closed on Sundays, nothing changes. "
    'Those that open on Sundays, but only after {hour}, get the new note "{note}" in place of the old one.',
    'saved places: delete all that are closed sundays EXCEPT if my note says i want to keep them. open on sunday but opening later than {hour}: replace note with "{note}". rest untouched',
    "Please go through my saved places, one after the other. Closed on Sunday: out, unless my own note says that it shall stay (in whatever words). Open on Sunday, but not before {hour}: change the note to \"{note}\" and nothing else. "
    "Open all day or opening at {hour} or earlier: leave it.",
    'My list of saved places needs some care. What is closed on Sundays goes, but read my notes first, some places I want to keep all the same. Where Sunday begins later than {hour}, the note becomes "{note}". The others remain as they are.',
    'For the Sundays ahead: drop the saved places that have no Sunday hours (not those which my note protects), and for those opening after {hour} on Sundays write "{note}" as the note. Do not tuch anything else.',
    sites=("map",),
    difficulty=("exhaustive", "reading", "restraint"),
)  # fmt: skip
def tidy_saved(world: t.Sampler) -> t.Draw:
    """Remove the saved places that are closed on Sundays but for those that notes protect, and mark those that open late."""
    rng, own, hour, note = world.rng, saved(world), "09:00", rng_note(world)
    if len(own) > 10:
        raise t.NothingToDraw("a short list of saved places")
    for place in own:
        world.alter("saved_place", {"user_id": ME, "place_id": place}, note=rng.choice(_PLAIN))
    late = "sunday LIKE '%-%' AND sunday > '09:00' AND sunday NOT LIKE '09:00%'"
    kinds = "label = name AND category IN ('cafe', 'restaurant', 'museum', 'bakery', 'bookshop', 'library', 'supermarket')"
    groups = (
        ("sunday = 'closed'", [rng.choice(_PLAIN), *rng.sample(_LIKE_KEPT, 2)]),
        ("sunday = 'closed'", rng.sample(_KEPT, 2)),
        (late, [rng.choice(_LIKE_KEPT)]),
        (f"sunday LIKE '%-%' AND NOT ({late})", [rng.choice(_PLAIN)]),
    )
    planted: list[tuple[t.Row, bool]] = []
    for number, (condition, texts) in enumerate(groups):
        taken = [row["place_id"] for row, _ in planted]
        rows = [
            row
            for row in places(world, f"{kinds} AND {condition}")
            if row["place_id"] not in own and row["place_id"] not in taken
        ]
        for row, text in zip(rng.sample(rows, len(texts)), texts, strict=True):
            world.plant(
                "saved_place", user_id=ME, place_id=row["place_id"], note=text, saved_at=ago(world, days=30 + len(planted))
            )
            planted.append((row, number == 1))
    kept = {row["place_id"] for row, is_kept in planted if is_kept}
    everything = places(world, f"place_id IN (SELECT place_id FROM saved_place WHERE user_id = {ME})")
    everything.sort(key=lambda row: str(row["name"]))
    if len({row["name"] for row in everything}) < len(everything):
        raise t.NothingToDraw("places of different names")
    after = saved(world)
    looks: list[Step] = []
    for row in everything:
        number, hours = row["place_id"], row["sunday"]
        before = [other for other in everything if other["place_id"] in after and other["name"] < row["name"]]
        looks += [t.click("Saved places"), *turn_pages(world, len(before), _PER_PAGE), t.click(row["name"])]
        if hours == "closed" and number not in kept:
            looks.append(t.click("Remove from saved places"))
            del after[number]
        elif "-" in hours and hours[:5] > hour:
            looks += [t.type_text("Note", note, f"It opens at {hours[:5]}."), t.click("Update note")]
            after[number] = note
    return t.Draw(
        {"hour": hour, "note": note},
        saved_are(after),
        [*looks, t.leave("", "The list is fit for Sundays.")],
        evidence=[row["name"] for row in everything],
    )


def rng_note(world: t.Sampler) -> str:
    """Draw a note for places that open late."""
    return str(world.rng.choice(("late riser", "not too early", "second breakfast")))
