"""Changes to make: to the watchlist, to articles, to the user's preferences."""

from webarena_gym.sites.wikipedia.markup import sections, whole
from webarena_gym.tasks import template as t
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction
from webarena_gym.templates.wikipedia.routes import FACTS, ME, draw_extreme, open_article, url

WATCHED = f"SELECT title FROM watch JOIN article USING (article_id) WHERE user_id = {ME} ORDER BY title"
_NEW_TEXTS = """SELECT title, r.user_id, r.text, r.summary FROM page JOIN revision r USING (revision_id)
WHERE revision_id > ? ORDER BY revision_id"""
_SUMMARIES = (
    "shortened",
    "corrected after the town archive",
    "simpler words",
    "removed what was not proved",
    "brought up to date",
)
_SENTENCES = (
    "This part is being written anew by {name}.",
    "Little is known for certain; {name} collects the sources.",
    "The older text was removed by {name} because it could not be proved.",
)


def watchlist(world: t.Sampler, *, plus: list[str], minus: list[str]) -> list[list[str]]:
    """Return the watchlist as it should be after some titles came and some went."""
    titles = [row["title"] for row in world.rows(WATCHED)]
    return [[title] for title in sorted([title for title in titles if title not in minus] + plus)]


watch_add = Change(
    f"SELECT title FROM article WHERE kind != 'list' AND title NOT IN ({WATCHED}) ORDER BY article_id",
    lambda world, row: t.state(WATCHED, expected=watchlist(world, plus=[row["title"]], minus=[])),
    way=[*open_article("{title}"), t.click("Add to watchlist")],
    seen="{title} is on the watchlist.",
)


def watch_extreme(world: t.Sampler) -> t.Draw:
    """Find the landmark at one end of a measure and watch its article."""
    end = draw_extreme(world)
    title = end.row["title"]
    return instruction(
        {"extreme": end.words},
        t.state(WATCHED, expected=watchlist(world, plus=[title], minus=[])),
        way=[*end.way, t.click(title, f"It has {end.shown}."), t.click("Add to watchlist")],
    )


watch_remove = Change(
    WATCHED,
    lambda world, row: t.state(WATCHED, expected=watchlist(world, plus=[], minus=[row["title"]])),
    way=[t.click("Watchlist"), t.click("Stop watching {title}")],
)


def watch_films(world: t.Sampler) -> t.Draw:
    """Watch every film of a director."""
    director = world.pick(
        FACTS
        + "SELECT target FROM facts WHERE label = 'Directed by' GROUP BY target HAVING count(*) BETWEEN 3 AND 4 ORDER BY target"
    )["target"]
    films = [
        row["title"]
        for row in world.rows(
            FACTS + "SELECT title FROM facts WHERE label = 'Directed by' AND target = ? ORDER BY title", director
        )
    ]
    return instruction(
        {"director": director},
        t.state(WATCHED, expected=watchlist(world, plus=films, minus=[])),
        way=[
            *open_article(director, "The article on the director names the films."),
            *(step for film in films for step in (*open_article(film), t.click("Add to watchlist"))),
        ],
        seen=f"All {len(films)} are on the watchlist.",
    )


def edit_section(world: t.Sampler) -> t.Draw:
    """Write a section of an article anew."""
    page = world.pick("SELECT title, text FROM page WHERE kind IN ('museum', 'university', 'town', 'film') ORDER BY article_id")
    parts = sections(page["text"])
    place = world.rng.choice([place for place, part in enumerate(parts) if part.heading in ("History", "Reception", "Culture")])
    name = world.value(f"SELECT real_name FROM user WHERE user_id = {ME}")
    text, summary = world.rng.choice(_SENTENCES).format(name=name), world.rng.choice(_SUMMARIES)
    heading = parts[place].heading
    parts[place] = parts[place]._replace(body=text)
    return instruction(
        {"heading": heading, "title": page["title"], "text": text, "summary": summary},
        t.all_of(
            t.at_url(url(page["title"])),
            t.state(
                _NEW_TEXTS,
                world.value("SELECT max(revision_id) FROM revision"),
                expected=[[page["title"], ME, whole(parts), summary]],
            ),
        ),
        way=[
            *open_article(page["title"]),
            t.click(f"Edit section {heading}"),
            t.type_text("Text", text),
            t.type_text("Summary of the change", summary),
            t.click("Save changes"),
        ],
        seen="The edit was saved.",
    )


preferences = Change(
    f"SELECT username, real_name FROM user WHERE user_id = {ME}",
    lambda _, row: t.state(
        "SELECT username, real_name, email, wants_mail FROM user WHERE user_id = ?",
        ME,
        expected=[[row["username"], row["real_name"], row["email"], 1]],
    ),
    way=[
        t.click("Preferences"),
        t.type_text("Email", "{email}"),
        t.click("Email me when a page on my watchlist changes"),
        t.click("Save preferences"),
    ],
    seen="The preferences were saved.",
    also={
        "email": lambda world, row: (
            f"{row['username'].replace('.', world.rng.choice(('_', '-', '')))}{world.rng.randint(10, 999)}@mail.example"
        )
    },
)
