"""Pages to open."""

from webarena_gym.sites.reddit.queries import PERIODS, SORTS, WITH_PERIOD
from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit.routes import PER_PAGE, POSTS, my_name, open_best, open_forum, open_user, thread_url
from webarena_gym.templates.rows import Visit
from webarena_gym.templates.ways import turn_pages, visit

WISHES = {
    "top": "the best posts",
    "controversial": "the most controversial posts",
    "most_commented": "the most commented posts",
}
SPANS = {"week": "the past week", "month": "the past month", "year": "the past year", "all": "all time"}


def forum_list(world: t.Sampler) -> t.Draw:
    """Open a forum's list in some order."""
    forum = world.pick("SELECT name FROM forum ORDER BY name")["name"]
    sort, period = world.rng.choice(WITH_PERIOD), world.rng.choice(list(SPANS))
    return visit(
        {"wish": WISHES[sort], "span": SPANS[period], "forum": forum},
        f"__REDDIT__/f/{forum}/{sort}?t={period}",
        way=open_forum(forum, SORTS[sort], PERIODS[period]),
        seen="This is the list.",
    )


newest_of_user = Visit(
    POSTS
    + """SELECT * FROM posts p WHERE NOT EXISTS
        (SELECT 1 FROM submission s WHERE s.user_id = p.user_id AND s.state = 'visible' AND s.submission_id > p.submission_id)
        ORDER BY submission_id""",
    lambda _, row: thread_url(row),
    way=[*open_user("{author}"), t.click("{title}", "It stands first.")],
    seen="This is the thread.",
    slots={"user": "{author}"},
)


def extreme_post(world: t.Sampler) -> t.Draw:
    """Open the best or the worst post of a forum."""
    is_best = world.rng.choice((True, False))
    row = world.pick(
        POSTS
        + """SELECT * FROM posts p WHERE best = (CASE WHEN ? THEN 1 ELSE in_forum END)
        AND (SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1
        ORDER BY submission_id""",
        is_best,
    )
    return visit(
        {"place": "most" if is_best else "fewest", "forum": row["forum"]},
        thread_url(row),
        way=[
            *open_best(row["forum"]),
            *turn_pages(world, row["best"] - 1, PER_PAGE, "The list goes on."),
            t.click(row["title"], f"{row['score']} points."),
        ],
        seen="This is the post.",
    )


def own_page(world: t.Sampler) -> t.Draw:
    """Open a page of my account."""
    name = my_name(world)
    place, path, steps = world.rng.choice(
        (
            ("block list", f"user/{name}/block_list", ("Block list",)),
            ("list of hidden submissions", f"user/{name}/hidden_submissions", ("Hidden submissions",)),
            ("account settings", f"user/{name}/account", ("Account settings",)),
            ("profile", f"user/{name}", ()),
        )
    )
    return visit({"place": place}, f"__REDDIT__/{path}", way=[t.click(name), *map(t.click, steps)], seen="Here it is.")
