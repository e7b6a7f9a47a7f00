"""Places on the map that meet several conditions, and ways that must be made in time."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from webarena_gym.sites.map.categories import PLURALS
from webarena_gym.sites.map.routing import FOOT
from webarena_gym.sites.map.units import duration
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.map.changes import saved, saved_are
from webarena_gym.templates.map.ways import PER_PAGE, around, open_nearby, open_place, open_route, places, route, some_place
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")

_NOTES = ("for Sunday", "with grandma", "plan B", "ask Jo", "birthday")


def is_open(hours: str, start: str, end: str) -> bool:
    """Say whether opening hours of a day cover a span of time.

    >>> is_open("08:00-17:30", "17:00", "17:30"), is_open("closed", "09:00", "10:00"), is_open("open all day", "23:00", "23:30")
    (True, False, True)
    """
    if hours == "open all day":
        return True
    opens, _, closes = hours.partition("-")
    return bool(closes) and opens <= start and end <= closes


def details(world: t.Sampler, row: t.Row) -> Mapping[str, str]:
    """Return what the map knows of a place beside its address and hours."""
    return {
        row["name"]: row["value"]
        for row in world.rows("SELECT name, value FROM place_detail WHERE place_id = ? ORDER BY name", row["place_id"])
    }


@TEMPLATES.define(
    'We stay at {hotel} and want to eat on {day} from {start} to {end}, with a wheelchair. Save the nearest {kind} (as the crow flies) that is open all that time and whose wheelchair access '
    'is "yes", with the note "{note}".',
    'closest {kind} to {hotel}, straight line, open {day} {start}-{end} without a break and wheelchair access yes (limited wont do). save it, note: "{note}"',
    "My mother uses a wheelchair, and we are at {hotel} next weekend. I am looking for a {kind} where we can sit on {day} between {start} and {end}. It must have full access, and the nearest one "
    'by straight distance wins. Put it among my saved places with the note "{note}".',
    'Which {kind} around {hotel} is the nearest one (distance as listed) that is open on {day} from {start} until {end} and has wheelchair access "yes"? Save it with the note "{note}".',
    'Starting from {hotel}: find me the nearest {kind}, open on {day} for the whole time {start} to {end}, acessible with a wheelchair without limits, and save it ("{note}").',
    sites=("map",),
    difficulty=("optimum", "needs"),
)  # fmt: skip
def open_and_accessible(world: t.Sampler) -> t.Draw:
    """Save the nearest place of a kind that is open at a time and that a wheelchair can enter."""
    kind = world.rng.choice(("cafe", "restaurant"))
    day, column = world.rng.choice((("Sunday", "sunday"), ("Saturday", "saturday")))
    hotel = some_place(world, "category = 'hotel'")
    start = f"{world.rng.choice((9, 12, 15, 16, 18)):02}:00"
    end = f"{int(start[:2]) + 1:02}:30"
    found = around(world, kind, hotel, most=18)
    fits = [
        place
        for place, (row, _) in enumerate(found)
        if is_open(row[column], start, end) and details(world, row).get("Wheelchair access") == "yes"
    ]
    if not fits or not 3 <= fits[0] <= 14 or (place_of := fits[0]) >= len(found):
        raise t.NothingToDraw("a place that is not the first")
    (best, metres), note = found[place_of], world.rng.choice(_NOTES)
    if [away for _, away in found].count(metres) > 1:
        raise t.NothingToDraw("one that is nearest")
    own = saved(world)
    if best["place_id"] in own:
        raise t.NothingToDraw("one that is not saved")
    steps: list[Step] = open_nearby(hotel, kind)
    turned = 0
    for place, (row, _) in enumerate(found[: place_of + 1]):
        turns = turn_pages(world, place, PER_PAGE)
        steps += turns[turned:]
        turned = len(turns)
        steps.append(t.click(row["label"]))
        if place < place_of:
            steps.append(t.back("It does not fit."))
    return t.Draw(
        {"hotel": hotel["name"], "kind": kind, "day": day, "start": start, "end": end, "note": note},
        saved_are({**own, best["place_id"]: note}),
        [*steps, t.type_text("Note", note), t.click("Save place"), t.leave("", f"It is {best['name']}.")],
        evidence=[row["name"] for row, _ in found[: place_of + 1]],
    )


@TEMPLATES.define(
    'Save all {kinds} in {town} that are open on Sundays, each with the note "{note}". Those that are closed on Sundays are not to be saved.',
    '{kinds} in {town}: save every one thats open on sunday w/ note "{note}"',
    'We move to {town} soon. To be prepared for emergencies I would like to have each of the {kinds} there that opens on Sundays among my saved places, note "{note}". Only those, please.',
    'Look at all the {kinds} of {town}. Whichever has Sunday hours goes to my saved places with the note "{note}".',
    'My saved places should contain all {kinds} from {town} with opening hours on Sunday (note for each: "{note}"), but none that stays closd that day.',
    sites=("map",),
    difficulty=("exhaustive",),
)
def save_open_on_sunday(world: t.Sampler) -> t.Draw:
    """Save all places of a kind in a town that are open on Sundays."""
    kind = world.rng.choice(("cafe", "restaurant", "supermarket", "pharmacy", "petrol station"))
    town = world.pick(
        """SELECT t.* FROM town t JOIN street USING (town_id) JOIN place p USING (street_id) WHERE p.category = ?
        GROUP BY t.town_id HAVING count(*) BETWEEN 6 AND 12 AND sum(sunday != 'closed') BETWEEN 2 AND 8 AND sum(sunday = 'closed') > 0 ORDER BY t.town_id""",
        kind,
    )
    rows = places(
        world, "category = ? AND street_id IN (SELECT street_id FROM street WHERE town_id = ?)", kind, town["town_id"]
    )
    wanted = [row for row in rows if row["sunday"] != "closed"]
    own, note = saved(world), world.rng.choice(_NOTES)
    if any(row["place_id"] in own for row in rows):
        raise t.NothingToDraw("places that are not saved")
    steps: list[Step] = []
    for row in rows:
        steps += open_place(row["label"])
        steps += [t.type_text("Note", note), t.click("Save place")] if row["sunday"] != "closed" else []
    plural = PLURALS[kind]
    return t.Draw(
        {"kinds": plural, "town": town["name"], "note": note},
        saved_are({**own, **{row["place_id"]: note for row in wanted}}),
        [
            *open_place(town["name"]),
            t.click(f"{plural[0].upper()}{plural[1:]}"),
            *steps,
            t.leave("", "All that are open on Sundays are saved."),
        ],
        evidence=[row["name"] for row in rows],
    )


@TEMPLATES.define(
    'On a Saturday I leave {start} at {time} and walk to {first}. If I get there at least {spare} minutes before it closes that day, save {first} with the note "{note}". If not, save {second} instead, '
    "with the same note.",
    'saturday, {time}, on foot from {start}. can i make it to {first} with {spare}+ min left before closing? if yes save it (note "{note}"), if no save {second} (same note)',
    'I am at {start} until {time} this Saturday and would like to see {first} afterwards, for {spare} minutes at least. I walk. Save it with the note "{note}" if that works out before it closes; otherwise '
    'save {second} with that note.',
    'Check whether a walk from {start}, leaving on Saturday at {time}, leaves me {spare} minutes or more at {first} before it closes. Yes: save {first}. No: save {second}. The note is "{note}" in both cases.',
    'Leaving {start} at {time} on Saturday, by foot: is there time for {spare} minutes in {first} befor closing time? Depending on that, save {first} (there is) or {second} (there is not), note "{note}".',
    sites=("map",),
    difficulty=("judgement", "time"),
)  # fmt: skip
def in_time_or_not(world: t.Sampler) -> t.Draw:
    """Save a place that can be reached before it closes, or else another one."""
    start = some_place(world, "category = 'hotel'")
    ends = """saturday LIKE '%-%' AND weekdays LIKE '%-%' AND weekdays != saturday AND category IN ('museum', 'library', 'zoo', 'cafe', 'bookshop', 'supermarket')
        AND street_id IN (SELECT street_id FROM street WHERE town_id = (SELECT town_id FROM street WHERE street_id = ?))"""
    first, second = (some_place(world, ends, start["street_id"]) for _ in range(2))
    way = route(world, FOOT, start, first)
    minutes = way.minutes
    if not 12 <= minutes <= 90 or second["place_id"] == first["place_id"]:
        raise t.NothingToDraw("a walk of some length")
    spare = world.rng.choice((30, 45, 60))
    closes = datetime.strptime(first["saturday"].partition("-")[2], "%H:%M")
    fits = world.rng.random() < 0.5
    slack = world.rng.randint(4, 12) * (1 if fits else -1)
    leaving = closes - timedelta(minutes=minutes + spare + slack)
    opens = datetime.strptime(first["saturday"].partition("-")[0], "%H:%M")
    if leaving < opens:
        raise t.NothingToDraw("an hour at which it is open")
    chosen, note, own = (first if fits else second), world.rng.choice(_NOTES), saved(world)
    if first["place_id"] in own or second["place_id"] in own:
        raise t.NothingToDraw("places that are not saved")
    return t.Draw(
        {
            "start": start["name"],
            "time": f"{leaving:%H:%M}",
            "first": first["name"],
            "second": second["name"],
            "spare": spare,
            "note": note,
        },
        saved_are({**own, chosen["place_id"]: note}),
        [
            *open_route(start["name"], first["name"], FOOT),
            *open_place(first["name"], "How long is it open on Saturdays?"),
            *([] if fits else open_place(second["name"], "That is too late.")),
            t.type_text("Note", note),
            t.click("Save place"),
            t.leave("", f"{chosen['name']} is saved."),
        ],
        evidence=[first["saturday"], duration(minutes)],
    )
