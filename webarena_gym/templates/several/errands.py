"""Ways on the map, and answers, that another site leads to; files with the addresses of posts."""

from collections.abc import Sequence

from webarena_gym.sites.catalogue import URLS
from webarena_gym.sites.country.geography import KINDS
from webarena_gym.sites.map.geometry import duration, metres_between
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import BICYCLE, CAR
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import PROJECTS, open_project
from webarena_gym.templates.map import (
    LANDMARKS,
    MARGIN,
    SEARCH_BOX,
    open_route,
    other_times,
    places,
    roads,
    route,
    some_place,
    spot,
    stated,
)
from webarena_gym.templates.map import open_place as open_place
from webarena_gym.templates.map.facts import shows_route as shows_route
from webarena_gym.templates.reddit import POSTS, open_forum, thread_url
from webarena_gym.templates.several import MAP_AND_ENCYCLOPEDIA, holds, place_named, tabs, turn_to, without_ties
from webarena_gym.templates.several.posts import make_project, new_readme, project_name
from webarena_gym.templates.shopping import GOODS as GOODS
from webarena_gym.templates.shopping import open_product as open_product
from webarena_gym.templates.shopping_admin import CUSTOMER_NAMES, open_customer
from webarena_gym.templates.ways import question
from webarena_gym.templates.wikipedia import FACTS, country, open_article, open_list
from webarena_gym.templates.wikipedia import decades as decades
from webarena_gym.templates.wikipedia import draw_extreme as draw_extreme

MAPPED = tuple(kind for kind in KINDS if kind != "concert hall")  # of which the encyclopedia measures something


def drive_to_best_university(world: t.Sampler) -> t.Draw:
    """Find the best university of a state or the country, and measure the way there."""
    rows = world.rows(
        FACTS
        + """SELECT p.title, p.number, s.target AS state FROM facts p JOIN facts s USING (article_id)
        WHERE p.label = 'Prize winners' AND s.label = 'State' ORDER BY p.number DESC, p.title""",
        site="wikipedia",
    )
    land = country(world)
    region = world.rng.choice([land, *sorted({row["state"] for row in rows})])
    here = [row for row in rows if region in (land, row["state"])]
    t.skip_if(len(here) < 2 or here[0]["number"] == here[1]["number"], "a university that stands out")
    start = some_place(world, f"{LANDMARKS} AND category NOT IN ('university', 'national park')")
    way, other = (route(world, CAR, start, place_named(world, row["title"])) for row in here[:2])
    unit, number = stated(way.metres)
    t.skip_if(unit != "kilometres", "a way of some length")
    return question(
        {"place": start["name"], "region": region},
        number,
        way=[
            turn_to(1, "The encyclopedia has a list of universities."),
            *open_list(world, "universities"),
            turn_to(0, f"{here[0]['title']} has the most, {int(here[0]['number'])}. Now the way there."),
            *open_route(start["name"], here[0]["title"], CAR),
        ],
        seen=f"It is {number} {unit}.",
        wrong=[each for each in (stated(other.metres)[1], stated(way.metres * 1.2)[1]) if each != number],
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        about=[here[0]["title"]],
    )


def nearest_park(world: t.Sampler) -> t.Draw:
    """Find the birthplace of a person, the park that is nearest to it, and the time by bicycle."""
    person = world.pick(
        FACTS + "SELECT title, target FROM facts WHERE label = 'Birthplace' ORDER BY article_id", site="wikipedia"
    )
    town = world.pick(PLACES + "SELECT * FROM towns WHERE name = ?", person["target"])
    net = roads(world)
    middle = net.crossing(town["node_id"])
    parks = [
        (row, metres_between(net.point(middle), net.point(spot(row))), net.route(BICYCLE, middle, spot(row)))
        for row in places(world, "category = 'national park'")
    ]
    best, second = sorted(parks, key=lambda park: park[1])[:2]
    t.skip_if(
        second[1] < MARGIN * best[1]
        or any(best[2].metres * MARGIN > way.metres for row, _, way in parks if row is not best[0]),
        "a park that is nearer than all others",
    )
    name, time = best[0]["name"], duration(best[2].minutes)
    return question(
        {"person": person["title"]},
        f"{name}; {time}",
        way=[
            turn_to(1),
            *open_article(person["title"]),
            turn_to(0, f"{person['title']} was born in {town['name']}."),
            t.search(SEARCH_BOX, f"national parks near {town['name']}"),
            *open_route(town["name"], name, BICYCLE),
        ],
        seen=f"{name} is the nearest, and it takes {time}.",
        wrong=[
            f"{second[0]['name']}; {duration(second[2].minutes)}",
            *(f"{name}; {other}" for other in other_times(best[2].minutes)),
        ],
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        about=[town["name"]],
    )


def college_drive(world: t.Sampler) -> t.Draw:
    """Find two universities by their students, and the time that it takes from one to the other."""
    rows = world.rows(
        FACTS + "SELECT title, target FROM facts WHERE label = 'Alma mater' ORDER BY article_id", site="wikipedia"
    )
    one, other = world.rng.sample(rows, 2)
    t.skip_if(one["target"] == other["target"], "two universities")
    ends = [place_named(world, row["target"]) for row in (one, other)]
    drive, ride = (route(world, mode, *ends) for mode in (CAR, BICYCLE))
    t.skip_if(drive.minutes < 4, "a way that takes some minutes")
    time = duration(drive.minutes)
    return question(
        {"one": one["title"], "other": other["title"]},
        time,
        way=[
            turn_to(1),
            *open_article(one["title"]),
            *open_article(other["title"], f"The first one studied at {one['target']}."),
            turn_to(0, f"The other one studied at {other['target']}."),
            *open_route(one["target"], other["target"], CAR),
        ],
        wrong=other_times(drive.minutes, ride.minutes),
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        about=[one["target"], other["target"]],
    )


WITH_CUSTOMERS = ("map", "shopping_admin")

SETTLED = (
    CUSTOMER_NAMES
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
        start_url=tabs(*WITH_CUSTOMERS),
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
    t.skip_if(max(minutes) < MARGIN * min(minutes), "one that is clearly nearer")
    near, far = (one, other) if minutes[0] < minutes[1] else (other, one)
    return question(
        {"goal": goal["name"], "one": one["name"], "other": other["name"]},
        near["name"],
        way=[
            turn_to(1),
            *open_customer(one["name"], "Addresses"),
            t.click("Dashboard", f"This one lives in {one['city']}."),
            *open_customer(other["name"], "Addresses"),
            turn_to(0, f"They live in {one['city']} and {other['city']}."),
            *open_route(one["city"], goal["name"], CAR),
            t.type_text("From", other["city"], f"That takes {duration(minutes[0])}."),
            t.click("Get directions"),
        ],
        seen=f"That takes {duration(minutes[1])}.",
        wrong=[far["name"]],
        start_url=tabs(*WITH_CUSTOMERS),
        about=[one["city"], other["city"]],
    )


WITH_LINKS = ("gitlab", "reddit")
LINES = "length(trim(f.content, char(10))) - length(replace(trim(f.content, char(10)), char(10), '')) + 1"
FOLDERS = ("news", "reading", "inbox", "links", "digest")


def address(row: t.Row) -> str:
    """Return the address of a post's thread as the browser shows it."""
    return thread_url(row).replace("__REDDIT__", URLS["__REDDIT__"])


def mark(row: t.Row) -> str:
    """Return the part of the address that no other post has."""
    return f"/f/{row['forum']}/{row['submission_id']}/"


def marks(world: t.Sampler, wanted: Sequence[t.Row]) -> tuple[list[str], list[str]]:
    """Return what tells the addresses of some posts, and what tells those of all others of the whole forum."""
    own = [mark(row) for row in wanted]
    return own, [
        each
        for each in map(mark, world.rows(POSTS + "SELECT * FROM posts ORDER BY submission_id", site="reddit"))
        if each not in own
    ]


def look_up(posts: Sequence[t.Row]) -> list[Step]:
    """Return the steps from a list to each of these posts, to read its address, and back."""
    return [step for row in posts for step in (t.click(row["title"]), t.back(f"Its address is {address(row)}."))]


def posts_of(world: t.Sampler, order: str) -> list[t.Row]:
    """Return the posts of some forum that has no two of the same title, in an order."""
    forum = world.pick(
        POSTS
        + "SELECT forum FROM posts GROUP BY forum HAVING count(*) > 6 AND count(DISTINCT title) = count(*) ORDER BY forum",
        site="reddit",
    )["forum"]
    return world.rows(POSTS + f"SELECT * FROM posts WHERE forum = ? ORDER BY {order}", forum, site="reddit")


def discussed_readme(world: t.Sampler) -> t.Draw:
    """List the most commented posts of a forum."""
    posts = posts_of(world, "comments DESC, submission_id DESC")
    count = world.rng.randint(2, 3)
    t.skip_if(not without_ties(posts, count, "comments"), "posts that stand out")
    name = project_name(world, "ideas", "best-of", "talks")
    return t.Draw(
        start_url=tabs(*WITH_LINKS),
        slots={"name": name, "count": count, "forum": posts[0]["forum"]},
        eval=new_readme(world, name, *marks(world, posts[:count])),
        solution=[
            turn_to(1),
            *open_forum(posts[0]["forum"], "Most commented", "All time"),
            *look_up(posts[:count]),
            turn_to(0),
            *make_project(name, *(address(row) for row in posts[:count])),
            t.leave("", f"The project {name} has its README."),
        ],
    )


def newest_urls(world: t.Sampler) -> t.Draw:
    """Write the addresses of the newest posts of a forum into a new folder."""
    posts = posts_of(world, "newest")
    count = world.rng.randint(2, 4)
    project, folder = project_and_folder(world)
    path = f"{folder}/urls.txt"
    found, parameters = holds("f.content", *marks(world, posts[:count]))
    (before,) = world.rows("SELECT count(*) FROM file WHERE branch_id = ?", project["trunk_id"])[0]
    return t.Draw(
        start_url=tabs(*WITH_LINKS),
        slots={"project": project["name"], "folder": folder, "count": count, "forum": posts[0]["forum"]},
        eval=t.state(
            f"""SELECT {found}, {LINES}, (SELECT count(*) FROM file o WHERE o.branch_id = f.branch_id) FROM file f
            WHERE f.branch_id = ? AND f.path = ?""",
            *parameters,
            project["trunk_id"],
            path,
            expected=[[count, 0, count, before + 1]],
            site="gitlab",
        ),
        solution=[
            turn_to(1),
            *open_forum(posts[0]["forum"], "New"),
            *look_up(posts[:count]),
            turn_to(0),
            *open_project(project, "New file"),
            t.type_text("File name", path),
            t.type_text("File content", "\n".join(address(row) for row in posts[:count])),
            t.click("Commit changes"),
            t.leave("", f"The file {path} is there."),
        ],
    )


def project_and_folder(world: t.Sampler) -> tuple[t.Row, str]:
    """Draw a project of mine and the name of a folder that it has not."""
    project = world.pick(PROJECTS + "SELECT * FROM mine WHERE trunk_id IS NOT NULL ORDER BY project_id")
    folder = world.rng.choice(FOLDERS)
    t.skip_if(
        world.rows(
            "SELECT path FROM file WHERE branch_id = ? AND path LIKE ? ORDER BY path", project["trunk_id"], f"{folder}%"
        ),
        "a folder that is not there yet",
    )
    return project, folder


def company(world: t.Sampler, brand: str) -> t.Row:
    """Return the company behind a brand, with its town and the year of its founding. Raises NothingToDraw."""
    return world.pick(
        FACTS
        + """SELECT a.title AS alias, h.title, h.target AS town, CAST(f.number AS INTEGER) AS founded,
            (SELECT title FROM article o WHERE o.kind = 'town' AND o.title != h.target ORDER BY o.title LIMIT 1) AS another_town
        FROM alias a JOIN facts h USING (article_id) JOIN facts f USING (article_id)
        WHERE a.title = ? AND h.kind = 'company' AND h.label = 'Headquarters' AND f.label = 'Founded'""",
        brand,
        site="wikipedia",
    )


def by_age(one: t.Row, two: t.Row) -> list[t.Row]:
    """Return two companies, the older one first."""
    return sorted((one, two), key=lambda maker: int(maker["founded"]))
