"""Work over two to four sites: what one of them tells is needed on the next."""

from datetime import timedelta

from webarena_gym.sites.gitlab.base import day_label
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.map.routing import CAR
from webarena_gym.sites.map.units import duration
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import MINE, today
from webarena_gym.templates.gitlab.ways import PLANNING, entry, new_rows, next_iid, open_project
from webarena_gym.templates.gitlab.ways import open_list as open_issues
from webarena_gym.templates.hard.issues import a_project, plant_issue, say
from webarena_gym.templates.hard.issues import strangers as people_of_the_host
from webarena_gym.templates.hard.places import is_open
from webarena_gym.templates.hard.threads import plant_post
from webarena_gym.templates.hard.threads import strangers as people_of_the_forum
from webarena_gym.templates.hard.ways import ago, of_site
from webarena_gym.templates.map.changes import saved, saved_are
from webarena_gym.templates.map.ways import open_place, open_routes, places, roads, some_place, spot
from webarena_gym.templates.reddit.routes import open_forum, open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.shopping.buying import cart_holds
from webarena_gym.templates.shopping.routes import GOODS, ME, open_product
from webarena_gym.templates.wikipedia.routes import FACTS, FILMS, open_article

TEMPLATES = t.Templates("hard")
_NEW_POSTS = """SELECT forum_id, title, trim(body, ' ."'), url, image_id FROM submission
WHERE submission_id > ? AND state = 'visible' ORDER BY submission_id"""


@TEMPLATES.define(
    "{director} has made several films, and the encyclopedia says where each was shot. Find out which of these places is the quickest to reach by car from {hotel}, and post its name to the "
    'forum {forum}: the title is "{title}", and the text is the name of the place and nothing else.',
    'where were the films of {director} shot (encyclopedia)? which of these places has the shortest drive (time) from {hotel} (map)? post it in {forum}, title "{title}", text = just the name of the place',
    'I plan a small trip to the places where {director} made films. I start at {hotel} and only have time for one of them, so it should be the one with the shortest time by car. Tell the people in the forum {forum}: '
    'title "{title}", and as the text only the name of the place.',
    'Of all places at which films directed by {director} were shot, which one can be reached in the least time by car from {hotel}? Create a post "{title}" in the forum {forum} whose text is that name.',
    'Three sites, one job: look up the filming locations of the films by {director}, compare the driving times from {hotel}, and submit the name of the closest one (in minutes) as the text of a post called "{title}" to {forum}. '
    "Nothing esle in the text, please.",
    sites=("map", "wikipedia", "reddit"),
    difficulty=("several_sites", "optimum"),
)  # fmt: skip
def film_trip(world: t.Sampler) -> t.Draw:
    """Post the place of some films that is the quickest to reach."""
    rows = world.rows(
        FILMS
        + """SELECT films.*, f.target AS place FROM films JOIN facts f USING (article_id) WHERE f.label = 'Filmed in' ORDER BY director, year, title""",
        site="wikipedia",
    )
    made: dict[str, list[t.Row]] = {}
    for row in rows:
        made.setdefault(row["director"], []).append(row)
    known = {row["name"]: spot(row) for row in places(world, "1")}
    known |= {row["name"]: roads(world).crossing(row["node_id"]) for row in world.rows("SELECT * FROM town ORDER BY town_id")}
    fit = [
        name
        for name in sorted(made)
        if len({row["place"] for row in made[name]}) > 2 and all(row["place"] in known for row in made[name])
    ]
    if not fit:
        raise t.NothingToDraw("a director whose places are on the map")
    director = world.rng.choice(fit)
    films = made[director]
    hotel = some_place(world, "category = 'hotel'")
    goals = list(dict.fromkeys(row["place"] for row in films))
    times = sorted((roads(world).route(CAR, spot(hotel), known[goal]).minutes, goal) for goal in goals)
    if times[1][0] - times[0][0] < 2:
        raise t.NothingToDraw("one that is nearest")
    best = times[0][1]
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id", site="reddit")
    title = world.rng.choice(("My next stop", "A place from the movies", "Off to the pictures"))
    last = world.value("SELECT max(submission_id) FROM submission", site="reddit")
    return t.Draw(
        {"director": director, "hotel": hotel["name"], "forum": forum["name"], "title": title},
        t.state(
            _NEW_POSTS,
            last,
            expected=[[forum["forum_id"], title, best, None, None]],
            site="reddit",
        ),
        [
            turn_to(1),
            *open_article(f"List of films directed by {director}"),
            *(step for row in films for step in open_article(row["title"])),
            turn_to(0, f"The places are {', '.join(goals)}."),
            *open_routes(hotel["name"], goals, CAR),
            turn_to(2, f"The quickest is {best}."),
            *open_forum(forum["name"]),
            t.click("Submit"),
            t.type_text("Title", title),
            t.type_text("Body", best),
            t.click("Create submission"),
            t.leave("", "It is posted."),
        ],
        start_url=tabs("map", "wikipedia", "reddit"),
        evidence=[*(row["title"] for row in films), *goals, *(duration(minutes) for minutes, _ in times)],
    )


@TEMPLATES.define(
    'What we need for the office day is being discussed in the issue "{title}" of {project} on the code host. Put everything into my shopping cart that {person}, who opened the issue, has decided on in the end. '
    "Wishes of others count only as far as {person} agreed. Do not order.",
    'issue "{title}" in {project} = shopping list. put the final version into my cart (what {person} says goes, it is {person}s issue). no checkout',
    'I was asked to do the shopping for our office day. The list is in {project}, in the issue "{title}", but people have been arguing about it ever since. {person} opened it and has the last word on '
    "everything. Fill my cart accordingly; I pay later.",
    'Fill my shopping cart with the things from the issue "{title}" ({project}), in the quantities on which {person} has settled in the discussion. Nothing that {person} has not agreed to.',
    'Please get the cart ready for the office day: see the issue "{title}" in {project}. Mind that {person}, its author, has changed the list since, and that not every wish in the comments was granted.',
    sites=("shopping", "gitlab"),
    difficulty=("several_sites", "reading"),
)  # fmt: skip
def list_in_issue(world: t.Sampler) -> t.Draw:
    """Put a shopping list into the cart that was changed in a discussion."""
    host = world.at("gitlab")
    row = a_project(host, 2)
    author, *others = people_of_the_host(host, 4)
    goods = world.rows(GOODS + "SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 9 ORDER BY product_id")
    if world.rows(f"SELECT 1 FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = {ME}"):
        raise t.NothingToDraw("an empty cart")
    a, b, c, d, e, f = world.rng.sample(goods, 6)
    amounts = [world.rng.randint(1, 3) for _ in range(5)]
    more = amounts[2] + 2
    title = world.rng.choice(("Things for the office day", "Shopping for Friday", "What do we still need?"))
    lines = "\n".join(f"- {amount} x {product['name']}" for amount, product in zip(amounts, (a, b, c, d), strict=False))
    issue = plant_issue(host, row, title, f"For the office day we need:\n\n{lines}\n\nAnything else?", author["user_id"], 9)
    talk = [
        (others[0], f"Could we have the {e['name']} as well?"),
        (author, f"Yes, {amounts[4]} of those. But take the {b['name']} off the list, Jo still has one at home."),
        (others[1], f"Please make it {more + 2} of the {c['name']}, there are more of us this year."),
        (author, f"{more + 2} are too many. {more} will do."),
        (others[2], f"And what about the {f['name']}? I think that we agreed on {amounts[0]} of them in the kitchen."),
        (others[0], f"Nobody needs the {d['name']}. Leave it out."),
        (author, "It stays, I need it myself."),
    ]
    for place, (person, text) in enumerate(talk):
        say(host, issue, person["user_id"], text, 150 - 12 * place)
    final = sorted(((a, amounts[0]), (c, more), (d, amounts[3]), (e, amounts[4])), key=lambda pair: str(pair[0]["name"]))
    steps: list[Step] = []
    for product, amount in final:
        quantity = [t.type_text("Qty", str(amount))] if amount > 1 else []
        steps += [*open_product(product["name"]), *quantity, t.click("Add to Cart")]
    return t.Draw(
        {"title": title, "project": row["full_path"], "person": author["name"]},
        cart_holds(*((product["sku"], {}, amount) for product, amount in final)),
        [
            turn_to(1),
            *open_issues(ISSUE, row),
            t.click(entry(title)),
            turn_to(0, f"{author['name']} has decided."),
            *steps,
            t.click("My Cart"),
            t.leave("", "The cart holds what was decided."),
        ],
        start_url=tabs("shopping", "gitlab"),
        evidence=[title, *(text for _, text in talk)],
    )


@TEMPLATES.define(
    'In the thread "{title}" of the forum, people vote on where to meet. Count the last word of each, and find the place that wins. Save it on the map with the note "{note}", and create an issue in {project} with the name '
    "of the place as its title, due on {day}.",
    'where do we meet? votes are in the forum thread "{title}" (everyones LAST vote counts). winner: save on map, note "{note}"; then new issue in {project}, title = name of the place, due date {day}',
    'The vote under "{title}" in the forum is closed. Some have changed their minds, so only what each of them said last is valid. Whatever place has most votes: put it among my saved places on the map (note "{note}"), and open an '
    "issue in {project} that has exactly the place's name as its title and is due on {day}.",
    'Please find the winner of the vote in "{title}" (forum; one vote for each person, the last one counts). I need it twice: as a saved place on the map with the note "{note}", and as the title of a new issue in {project} with the due date {day}.',
    'Forum, map, code host: count the votes in "{title}" (people may correct themselves, then the later one counts), save the winning place with "{note}" as the note, create an issue named like the place in {project}, due {day}.',
    sites=("map", "reddit", "gitlab"),
    difficulty=("several_sites", "reading", "exhaustive"),
)  # fmt: skip
def meeting_place(world: t.Sampler) -> t.Draw:
    """Count the votes of a thread, save the place that wins, and open an issue about it."""
    forum, host = world.at("reddit"), world.at("gitlab")
    kind = world.rng.choice(("cafe", "restaurant", "park"))
    options = [row for row in places(world, "category = ? AND label = name", kind) if row["place_id"] not in saved(world)]
    if len(options) < 3:
        raise t.NothingToDraw("three places")
    one, two, three = world.rng.sample(options, 3)
    people = people_of_the_forum(forum, 9)
    title = f"Where shall the {word(forum)} club meet?"
    place = forum.pick("SELECT * FROM forum ORDER BY forum_id")
    post = plant_post(
        forum,
        place,
        people[8]["user_id"],
        title,
        f"It will be one of these: {one['name']}, {two['name']} or {three['name']}. Please vote below.",
        120,
    )
    # The first is ahead at first sight and in the number of mentions; the second wins by the last words.
    talk = [
        (0, f"{one['name']}, clearly."),
        (1, f"I am for {one['name']}."),
        (2, f"My vote goes to {two['name']}."),
        (3, f"{one['name']} for me, too."),
        (4, f"Anything but {one['name']}! So: {two['name']}."),
        (5, f"I like {one['name']} and {two['name']}, but if I must choose, {three['name']}."),
        (6, f"{two['name']}. It has been too long since we went there."),
        (1, f"Having thought about it, I change my vote from {one['name']} to {two['name']}."),
        (7, f"Who would not want to go to {one['name']}? I, for one. {three['name']}."),
        (3, f"Is {one['name']} still open in the evening? If not, never mind, my vote stays."),
    ]
    for number, (person, text) in enumerate(talk):
        forum.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=people[person]["user_id"],
            body=text,
            created_at=ago(world, hours=110 - 9 * number),
        )
    row = a_project(host)
    due = today(host) + timedelta(days=world.rng.randint(5, 25))
    note = world.rng.choice(("club evening", "the next meeting", "first Friday"))
    iid = next_iid(host, "issue", row["project_id"])
    return t.Draw(
        {"title": title, "note": note, "project": row["full_path"], "day": day_label(str(due))},
        t.all_of(
            saved_are({**saved(world), two["place_id"]: note}),
            of_site(
                "gitlab",
                new_rows(
                    host,
                    "issue",
                    "project_id, iid, title, due_on, state",
                    [[row["project_id"], iid, two["name"], str(due), "opened"]],
                ),
            ),
        ),
        [
            turn_to(1),
            *open_post(title),
            turn_to(0, f"{two['name']} has four votes."),
            *open_place(two["name"]),
            t.type_text("Note", note),
            t.click("Save place"),
            turn_to(2),
            *open_project(row),
            t.click("Issues"),
            t.click("New issue"),
            t.type_text("Title", two["name"]),
            t.type_text("Due date (optional)", str(due)),
            t.click("Create issue"),
            t.leave("", "Both are done."),
        ],
        start_url=tabs("map", "reddit", "gitlab"),
        evidence=[text for _, text in talk],
    )


@TEMPLATES.define(
    "Our next outing: the file {file} in {project} (code host) lists where we might go, and when. Of the places on that list which are open at that time according to the map, find the one that the encyclopedia says is the oldest. "
    'Post its name as the text of a new post "{title}" in the forum {forum}.',
    'see {file} in the repo {project}. which of the places there is open then (map!) and was opened first (encyclopedia)? post the name to forum {forum}, title "{title}", text just the name',
    "Four sites for one small question. {project} has a file {file} with candidates for our outing and the hour. The map tells who is open at that hour. The encyclopedia tells in which year each was opened. "
    'The oldest that is open wins: put its name (only the name) into a post with the title "{title}" in {forum}.',
    'Please choose the goal of our outing. Candidates and time: {file} in {project}. Must be open then for as long as it says there (map). Among these, the one with the earliest year of opening (encyclopedia). Then a post to {forum}: title "{title}", text: the name.',
    'In the forum {forum}, submit a post "{title}" whose text is the name of the oldest place from {file} ({project}) that is open at the time which the file gives. Opening hours are on the map, years in the enclycopedia.',
    sites=("map", "wikipedia", "gitlab", "reddit"),
    difficulty=("several_sites", "optimum", "time"),
)  # fmt: skip
def outing(world: t.Sampler) -> t.Draw:
    """Post the oldest of the places of a list that are open at a time."""
    host = world.at("gitlab")
    years = {
        row["title"]: int(row["number"])
        for row in world.rows(
            FACTS
            + "SELECT title, number FROM facts WHERE label = 'Opened' AND kind IN ('museum', 'library', 'zoo', 'stadium', 'theater') ORDER BY title",
            site="wikipedia",
        )
    }
    known = {row["name"]: row for row in places(world, "1") if row["name"] in years}
    if len(known) < 6:
        raise t.NothingToDraw("places that the map knows")
    chosen = world.rng.sample(sorted(known), 6)
    day, column = world.rng.choice((("Sunday", "sunday"), ("Saturday", "saturday")))
    start = world.rng.choice((10, 11, 16, 17))
    fits = [name for name in chosen if is_open(known[name][column], f"{start}:00", f"{start + 1}:00")]
    oldest = sorted(fits, key=lambda name: years[name])
    if not 2 <= len(fits) <= 5 or years[oldest[0]] == years[oldest[1]]:
        raise t.NothingToDraw("one that is the oldest")
    if min(years[name] for name in chosen if name not in fits) > years[oldest[0]]:
        raise t.NothingToDraw("an older one that is closed")
    row = host.pick(
        PLANNING
        + f"""SELECT place.*, b.branch_id, b.head_id FROM place JOIN branch b ON b.project_id = place.project_id AND b.name = place.default_branch
        WHERE {MINE} AND b.head_id IS NOT NULL ORDER BY place.project_id"""
    )
    file = "OUTING.md"
    lines = "\n".join(f"- {name}" for name in chosen)
    rule = f"We get there on a {day} at {start}:00 sharp and stay for an hour. It has to be open from the first to the last minute."
    host.plant(
        "file", branch_id=row["branch_id"], path=file, content=f"# Outing\n\n{lines}\n\n{rule}\n", commit_id=row["head_id"]
    )
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id", site="reddit")
    title = world.rng.choice(("This is where we go", "The goal of our outing", "See you there"))
    last = world.value("SELECT max(submission_id) FROM submission", site="reddit")
    looks = [step for name in chosen for step in open_place(name)]
    return t.Draw(
        {"file": file, "project": row["full_path"], "title": title, "forum": forum["name"]},
        t.state(_NEW_POSTS, last, expected=[[forum["forum_id"], title, oldest[0], None, None]], site="reddit"),
        [
            turn_to(2),
            *open_project(row),
            t.click("Repository"),
            t.click(file),
            turn_to(0),
            *looks,
            turn_to(1, f"Open at that time: {', '.join(fits)}."),
            *(step for name in fits for step in open_article(name)),
            turn_to(3, f"{oldest[0]} is the oldest."),
            *open_forum(forum["name"]),
            t.click("Submit"),
            t.type_text("Title", title),
            t.type_text("Body", oldest[0]),
            t.click("Create submission"),
            t.leave("", "It is posted."),
        ],
        start_url=tabs("map", "wikipedia", "gitlab", "reddit"),
        evidence=[rule, *chosen, *(str(years[name]) for name in fits), *(known[name][column] for name in chosen)],
    )
