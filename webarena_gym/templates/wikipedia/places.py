"""Pages to open."""

from webarena_gym.sites.country.formats import date_time
from webarena_gym.sites.wikipedia.markup import path
from webarena_gym.tasks import template as t
from webarena_gym.templates.ways import visit
from webarena_gym.templates.wikipedia.routes import FACTS, country, draw_extreme, open_article, open_category, url

TEMPLATES = t.Templates("wikipedia")


@TEMPLATES.define("Open the article on {title}.")
def article_place(world: t.Sampler) -> t.Draw:
    """Open an article by its title."""
    row = world.pick("SELECT title FROM article WHERE kind NOT IN ('list', 'disambiguation', 'country') ORDER BY article_id")
    return visit({"title": row["title"]}, url(row["title"]), way=open_article(row["title"]))


@TEMPLATES.define("Show me the category {category}.")
def category_place(world: t.Sampler) -> t.Draw:
    """Open a category."""
    name = world.pick("SELECT DISTINCT name FROM category ORDER BY name")["name"]
    return visit({"category": name}, f"__WIKIPEDIA__{path('Category:' + name)}", way=open_category(world, name))


@TEMPLATES.define("Bring me to the article on {extreme} in {country}.")
def extreme_place(world: t.Sampler) -> t.Draw:
    """Find the landmark at one end of a measure and open its article."""
    end = draw_extreme(world)
    return visit(
        {"extreme": end.words, "country": country(world)},
        url(end.row["title"]),
        way=[*end.way, t.click(end.row["title"], f"It has {end.shown}.")],
    )


@TEMPLATES.define("Open the article on the novel on which the film {film} is based.")
def source_place(world: t.Sampler) -> t.Draw:
    """Go from a film to the book behind it."""
    row = world.pick(FACTS + "SELECT title, target FROM facts WHERE label = 'Based on' ORDER BY article_id")
    return visit(
        {"film": row["title"]},
        url(row["target"]),
        way=[*open_article(row["title"]), t.click(row["target"], f"Based on: {row['target']}.")],
    )


@TEMPLATES.define("Show me the page that lists everything that links to the article on {title}.")
def links_place(world: t.Sampler) -> t.Draw:
    """Open what links to an article."""
    title = world.pick("SELECT title FROM article WHERE kind NOT IN ('list', 'disambiguation') ORDER BY article_id")["title"]
    return visit(
        {"title": title},
        f"__WIKIPEDIA__{path(title).replace('/wiki/', '/links/', 1)}",
        way=[*open_article(title), t.click("What links here")],
    )


@TEMPLATES.define("Show me the very first version of the article on {title}.")
def first_revision_place(world: t.Sampler) -> t.Draw:
    """Open the oldest revision of an article that has several."""
    row = world.pick(
        """SELECT title, min(revision_id) AS oldest, count(*) AS edits FROM revision JOIN article USING (article_id)
        GROUP BY article_id HAVING edits > 1 ORDER BY article_id"""
    )
    stamp = date_time(world.value("SELECT created_at FROM revision WHERE revision_id = ?", row["oldest"]))
    return visit(
        {"title": row["title"]},
        f"{url(row['title'])}?oldid={row['oldest']}",
        way=[*open_article(row["title"]), t.click("View history"), t.click(stamp, "The last line is the oldest.")],
    )


@TEMPLATES.define("Open the article on the university where {person} studied.")
def university_place(world: t.Sampler) -> t.Draw:
    """Go from a person to the university."""
    row = world.pick(FACTS + "SELECT title, target FROM facts WHERE label = 'Alma mater' ORDER BY article_id")
    return visit(
        {"person": row["title"]},
        url(row["target"]),
        way=[*open_article(row["title"]), t.click(row["target"], f"Alma mater: {row['target']}.")],
    )
