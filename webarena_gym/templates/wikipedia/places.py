"""Pages to open."""

from webarena_gym.sites.country.formats import date_time
from webarena_gym.sites.wikipedia.markup import path
from webarena_gym.tasks import template as t
from webarena_gym.templates.rows import Visit
from webarena_gym.templates.ways import visit
from webarena_gym.templates.wikipedia.routes import FACTS, country, draw_extreme, open_article, open_category, url

article_place = Visit(
    "SELECT title FROM article WHERE kind NOT IN ('list', 'disambiguation', 'country') ORDER BY article_id",
    lambda _, row: url(row["title"]),
    way=open_article("{title}"),
)


category_place = Visit(
    "SELECT DISTINCT name FROM category ORDER BY name",
    lambda _, row: f"__WIKIPEDIA__{path('Category:' + row['name'])}",
    way=lambda world, row: open_category(world, row["name"]),
    slots={"category": "{name}"},
)


def extreme_place(world: t.Sampler) -> t.Draw:
    """Find the landmark at one end of a measure and open its article."""
    end = draw_extreme(world)
    return visit(
        {"extreme": end.words, "country": country(world)},
        url(end.row["title"]),
        way=[*end.way, t.click(end.row["title"], f"It has {end.shown}.")],
    )


source_place = Visit(
    FACTS + "SELECT title, target FROM facts WHERE label = 'Based on' ORDER BY article_id",
    lambda _, row: url(row["target"]),
    way=[*open_article("{title}"), t.click("{target}", "Based on: {target}.")],
    slots={"film": "{title}"},
)


links_place = Visit(
    "SELECT title FROM article WHERE kind NOT IN ('list', 'disambiguation') ORDER BY article_id",
    lambda _, row: f"__WIKIPEDIA__{path(row['title']).replace('/wiki/', '/links/', 1)}",
    way=[*open_article("{title}"), t.click("What links here")],
)


first_revision_place = Visit(
    """SELECT title, min(revision_id) AS oldest, count(*) AS edits FROM revision JOIN article USING (article_id)
        GROUP BY article_id HAVING edits > 1 ORDER BY article_id""",
    lambda _, row: f"{url(row['title'])}?oldid={row['oldest']}",
    way=[*open_article("{title}"), t.click("View history"), t.click("{stamp}", "The last line is the oldest.")],
    also={
        "stamp": lambda world, row: date_time(
            world.value("SELECT created_at FROM revision WHERE revision_id = ?", row["oldest"])
        )
    },
)


university_place = Visit(
    FACTS + "SELECT title, target FROM facts WHERE label = 'Alma mater' ORDER BY article_id",
    lambda _, row: url(row["target"]),
    way=[*open_article("{title}"), t.click("{target}", "Alma mater: {target}.")],
    slots={"person": "{title}"},
)
