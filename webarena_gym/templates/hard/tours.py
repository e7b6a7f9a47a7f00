"""A walk over several places that must all be open, which works out or does not."""

from datetime import datetime, timedelta

from webarena_gym.sites.map.routing import FOOT
from webarena_gym.sites.map.units import duration
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import listed
from webarena_gym.templates.map.changes import saved, saved_are
from webarena_gym.templates.map.ways import open_place, open_route, places, route, some_place

TEMPLATES = t.Templates("hard")

_OPEN_LONG = "label = name AND category IN ('museum', 'library', 'cafe', 'bookshop', 'supermarket', 'bakery', 'pharmacy', 'zoo', 'post office', 'gym')"


def _clock(text: str) -> datetime:
    return datetime.strptime(text, "%H:%M")


@TEMPLATES.define(
    'On Saturday I leave {start} at {time} and walk to {stops}, in this order, each time straight on, staying {stays} minutes at each. We never wait: a place must be open when we arrive and until we leave it. If that works for all of them, save '
    'each of the {count} with the note "{note}". If it fails anywhere, save nothing and answer N/A.',
    'saturday walk: start {start} {time}, then {stops} (this order, on foot, {stays} min at each, no waiting). if they are open the whole time we are there, all of them: save all {count}, note "{note}". if not: N/A and save nothing',
    "This is the plan for Saturday: we set off from {start} at {time}, walk to {stops} one after the other, and spend {stays} minutes in each of them. Nobody likes to stand in front of a closed door, or to be thrown out early. Does the plan work, by the map's "
    'walking times and opening hours? Then put all {count} places among my saved places ("{note}"). Otherwise leave my list alone and tell me N/A.',
    'Check a walk for me: from {start} at {time} on Saturday to {stops} (on foot, in that order, {stays} minutes inside each). If every one of them is open from our arrival to our departure, save the {count} of them with the note "{note}"; else N/A, and no place is saved.',
    'Is it posible on a Saturday to start at {start} at {time} and visit {stops} on foot, in the given order and for {stays} minutes each, always within the opening hours and without waiting? If so: save these {count}, note "{note}". If not: answer N/A, save none.',
    sites=("map",),
    difficulty=("judgement", "time", "exhaustive"),
)  # fmt: skip
def walk_in_time(world: t.Sampler) -> t.Draw:
    """Save the stops of a walk if all of them are open in time, or none; both are as likely."""
    rng, stay = world.rng, world.rng.choice((40, 45, 50))
    own, note = saved(world), rng.choice(("Saturday walk", "the long walk", "with the nephews"))
    start = some_place(world, "category = 'hotel'")
    near = "EXISTS (SELECT 1 FROM street s WHERE s.street_id = p.street_id AND s.town_id = ?)"
    town = world.value("SELECT town_id FROM street WHERE street_id = ?", start["street_id"])
    around = [
        row
        for row in places(world, f"{_OPEN_LONG} AND saturday LIKE '%-%' AND saturday != weekdays AND {near}", town)
        if row["place_id"] not in own
    ]
    stops = rng.sample(around, 4)
    ways = [route(world, FOOT, one, two).minutes for one, two in zip([start, *stops], stops, strict=False)]
    if not all(4 <= way <= 75 for way in ways):
        raise t.NothingToDraw("a walk from place to place")
    is_possible = rng.random() < 0.5
    hours = [tuple(map(_clock, row["saturday"].split("-"))) for row in stops]
    found: list[datetime] = []
    for quarter in range(4 * 6, 4 * 17):
        leaving = moment = _clock("00:00") + timedelta(minutes=15 * quarter)
        slacks: list[float] = []
        for (opens, closes), way in zip(hours, ways, strict=True):
            arriving = moment + timedelta(minutes=way)
            moment = arriving + timedelta(minutes=stay)
            slacks.append(min((arriving - opens).total_seconds(), (closes - moment).total_seconds()) / 60)
        tight = sorted(slacks)
        if (is_possible and 4 <= tight[0] <= 70) or (not is_possible and -40 <= tight[0] <= -4 and tight[1] >= 4):
            found.append(leaving)
    if not found:
        raise t.NothingToDraw("an hour to leave")
    leaving = rng.choice(found)
    slots = {
        "start": start["name"], "time": f"{leaving:%H:%M}", "stops": listed([row["name"] for row in stops]), "stays": stay, "count": len(stops), "note": note,
    }  # fmt: skip
    looks: list[Step] = []
    for one, two in zip([start, *stops], stops, strict=False):
        looks += open_route(one["name"], two["name"], FOOT)
        looks += open_place(two["name"], "When is it open?")
    evidence = [*(duration(way) for way in ways), *(row["saturday"] for row in stops)]
    if is_possible:
        saves = [step for row in stops for step in (*open_place(row["name"]), t.type_text("Note", note), t.click("Save place"))]
        return t.Draw(
            slots,
            saved_are({**own, **{row["place_id"]: note for row in stops}}),
            [*looks, *saves, t.leave("", "All of them are open in time.")],
            evidence=evidence,
        )
    return t.Draw(
        slots,
        t.all_of(t.not_achievable(), saved_are(own)),
        [*looks, t.leave("N/A", "One of them is closed then.")],
        grounds={"N/A": says(*evidence)},
        evidence=evidence,
    )
