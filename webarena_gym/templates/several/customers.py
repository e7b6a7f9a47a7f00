"""Ways to the towns where the shop's customers live."""

from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import BICYCLE, CAR
from webarena_gym.sites.map.units import duration
from webarena_gym.tasks import template as t
from webarena_gym.templates.map.pages import shows_route
from webarena_gym.templates.map.ways import MARGIN, open_route, other_times, roads
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.shopping_admin.routes import CUSTOMERS, open_customer

SITES = ("map", "shopping_admin")

SETTLED = (
    CUSTOMERS
    + """SELECT * FROM people p WHERE city IS NOT NULL AND
    (SELECT count(*) FROM customer_address a WHERE a.customer_id = p.customer_id) = 1 ORDER BY customer_id"""
)
"""The customers with one address."""


def town(world: t.Sampler, name: str) -> t.Row:
    """Return the row of a town on the map. Raises NothingToDraw."""
    return world.pick(PLACES + "SELECT * FROM towns WHERE name = ?", name)


def customer_route(world: t.Sampler) -> t.Draw:
    """Show the way to a customer and tell how long it takes."""
    customer = world.pick(SETTLED, site="shopping_admin")
    goal = town(world, customer["city"])
    start = world.pick(PLACES + "SELECT * FROM towns WHERE name != ? ORDER BY town_id", goal["name"])
    net = roads(world)
    ends = net.crossing(start["node_id"]), net.crossing(goal["node_id"])
    drive, ride = (net.route(mode, *ends).minutes for mode in (CAR, BICYCLE))
    return t.Draw(
        start_url=tabs(*SITES),
        slots={"start": start["name"], "customer": customer["name"]},
        eval=t.all_of(
            shows_route(start["name"], goal["name"], CAR), t.told(t.answer(fuzzy_match=duration(drive)), about=[goal["name"]])
        ),
        solution=[
            turn_to(1),
            *open_customer(customer["name"], "Addresses"),
            turn_to(0, f"The address is in {goal['name']}."),
            *open_route(start["name"], goal["name"], CAR),
            t.leave(duration(drive)),
        ],
        wrong_answers=other_times(drive, ride),
    )


def nearer_customer(world: t.Sampler) -> t.Draw:
    """Compare the ways from two customers to a town."""
    one, other = world.rng.sample(world.rows(SETTLED, site="shopping_admin"), 2)
    goal = world.pick(PLACES + "SELECT * FROM towns WHERE name NOT IN (?, ?) ORDER BY town_id", one["city"], other["city"])
    net = roads(world)
    minutes = [
        net.route(CAR, net.crossing(town(world, row["city"])["node_id"]), net.crossing(goal["node_id"])).minutes
        for row in (one, other)
    ]
    if max(minutes) < MARGIN * min(minutes):
        raise t.NothingToDraw("one that is clearly nearer")
    near, far = (one, other) if minutes[0] < minutes[1] else (other, one)
    return t.Draw(
        start_url=tabs(*SITES),
        slots={"goal": goal["name"], "one": one["name"], "other": other["name"]},
        eval=t.told(t.answer(fuzzy_match=near["name"]), about=[one["city"], other["city"]]),
        solution=[
            turn_to(1),
            *open_customer(one["name"], "Addresses"),
            t.click("Dashboard", f"This one lives in {one['city']}."),
            *open_customer(other["name"], "Addresses"),
            turn_to(0, f"They live in {one['city']} and {other['city']}."),
            *open_route(one["city"], goal["name"], CAR),
            t.type_text("From", other["city"], f"That takes {duration(minutes[0])}."),
            t.click("Get directions"),
            t.leave(near["name"], f"That takes {duration(minutes[1])}."),
        ],
        wrong_answers=[far["name"]],
    )
