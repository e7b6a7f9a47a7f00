"""Tasks for agents with tools: questions over articles of the encyclopedia and other sites, and computations over tables.

The reference solutions use the pages only, so the tasks can be solved without tools, but in more steps: `lookup` finds a described article
directly, and `table_sql` computes over a table. In tasks of the shop and the map, `lookup` does not know the answer.
"""

from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import CAR
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.map import open_place as open_place
from webarena_gym.templates.map import open_route as open_route
from webarena_gym.templates.map import other_times as other_times
from webarena_gym.templates.map import roads, some_place, spot
from webarena_gym.templates.several import company as company
from webarena_gym.templates.several import turn_to as turn_to
from webarena_gym.templates.shopping import GOODS as GOODS
from webarena_gym.templates.shopping import MINE as MINE
from webarena_gym.templates.shopping import PER_PAGE, open_account
from webarena_gym.templates.shopping import open_product as open_product
from webarena_gym.templates.ways import amounts as amounts
from webarena_gym.templates.ways import turn_pages
from webarena_gym.templates.wikipedia import FACTS as FACTS
from webarena_gym.templates.wikipedia import FILMS as FILMS
from webarena_gym.templates.wikipedia import WATCHED as WATCHED
from webarena_gym.templates.wikipedia import open_article as open_article
from webarena_gym.templates.wikipedia import open_list as open_list


def on_map(world: t.Sampler, name: str, column: str, form: str = "_%") -> list[t.Row]:
    """Return a place with a unique name on the map, and a place of its category with another value of a column. Raises NothingToDraw.

    `form` is a pattern of LIKE that both values match.
    """
    chosen = f"{PLACES}SELECT * FROM places p WHERE name = ? AND label = name AND {column} LIKE ? ORDER BY place_id"
    place = world.pick(chosen, name, form, site="map")
    others = f"{PLACES}SELECT * FROM places p WHERE category = ? AND {column} LIKE ? AND {column} <> ? ORDER BY place_id"
    return [place, world.pick(others, place["category"], form, place[column], site="map")]


def drive_minutes(world: t.Sampler, town: str, place: str) -> int:
    """Return the minutes by car from the middle of a town to a place with a unique name. Raises NothingToDraw."""
    on_site = world.at("map")
    start = on_site.pick(f"{PLACES}SELECT * FROM towns WHERE name = ?", town)
    net, goal = roads(on_site), some_place(on_site, "name = ?", place)
    minutes = net.route(CAR, net.crossing(start["node_id"]), spot(goal)).minutes
    t.skip_if(minutes < 4, "a drive of some minutes")
    return minutes


def plural_of(kind: str) -> str:
    """Return the plural of a kind of landmark, as in the names of lists.

    >>> plural_of("library"), plural_of("concert hall")
    ('libraries', 'concert halls')
    """
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def population(world: t.Sampler, town: str) -> t.Row:
    """Return the population of a town in the encyclopedia, as text and number. Raises NothingToDraw."""
    query = f"{FACTS}SELECT text, CAST(number AS INTEGER) AS number FROM facts WHERE title = ? AND label = 'Population'"
    return world.pick(query, town, site="wikipedia")


def open_latest_orders(world: t.Sampler, count: int) -> list[Step]:
    """Return the steps over the pages of the current user's order list that contain the latest orders."""
    return [*open_account("My Orders"), *turn_pages(world, count - 1, PER_PAGE)]
