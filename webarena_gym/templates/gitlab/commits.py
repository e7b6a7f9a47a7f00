"""Questions about who made which commits."""

from datetime import date

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import number_of, sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import COMMITS_PER_PAGE, PROJECTS, open_project, slashed
from webarena_gym.templates.rows import Visit
from webarena_gym.templates.ways import question, turn_pages

MADE = (
    PROJECTS.rstrip()
    + """, made AS (
    SELECT s.*, c.commit_id, c.sha, c.title, c.author_name, c.author_email, c.created_at AS moment,
        date(c.created_at) AS day, substr(c.created_at, 1, 7) AS month,
        substr(c.created_at, 1, 4) AS year,
        c.commit_id IN (SELECT commit_id FROM commit_branch r WHERE r.branch_id = s.trunk_id) AS is_trunk
    FROM seen s JOIN git_commit c USING (project_id)
) """
)
"""The commits to projects that I can see; is_trunk: the default branch has it."""


def filtered(world: t.Sampler, row: t.Row) -> list[t.Row]:
    """Return the commits that a project's list shows when it is narrowed to the author of a row, in order."""
    return world.rows(
        MADE
        + """SELECT * FROM made WHERE project_id = ? AND author_name = ? AND is_trunk
        ORDER BY moment DESC, commit_id DESC""",
        row["project_id"],
        row["author_name"],
    )


def open_commits_of(row: t.Row) -> list[Step]:
    """Return the steps to the commits of the author of a row."""
    return [*open_project(row, "Commits"), t.choose("Author", row["author_name"]), t.click("Filter commits")]


def _count(world: t.Sampler, row: t.Row, column: str, slot: dict[str, str]) -> t.Draw:
    """Return the draw that asks how many commits the author of a row made in its day or month."""
    commits = filtered(world, row)
    last = max(place for place, commit in enumerate(commits) if commit[column] == row[column])
    count = str(row["found"])
    return t.Draw(
        slots={"person": row["author_name"], "project": row["name"], **slot},
        grounds={count: number_of(*(commit["sha"][:8] for commit in commits if commit[column] == row[column]))},
        eval=t.answer(fuzzy_match=count),
        solution=[
            *open_commits_of(row),
            *turn_pages(world, last, COMMITS_PER_PAGE, "Older ones are on the next page."),
            t.leave(count, f"{count} of the {len(commits)} commits fit."),
        ],
        wrong_answers=[str(row["found"] + 1), str(len(commits)) if len(commits) != row["found"] else "0"],
    )


def commits_on_day(world: t.Sampler) -> t.Draw:
    """Count the commits of somebody on a day, often several."""
    row = world.pick(
        MADE
        + """SELECT *, count(*) AS found FROM made GROUP BY project_id, author_name, day
        HAVING min(is_trunk) AND (found > 1 OR commit_id % 5 = 0) ORDER BY project_id, author_name, day"""
    )
    return _count(world, row, "day", {"day": slashed(row["day"])})


def commits_in_month(world: t.Sampler) -> t.Draw:
    """Count the commits of somebody in a month."""
    row = world.pick(
        MADE
        + """SELECT *, count(*) AS found FROM made GROUP BY project_id, author_name, month
        HAVING min(is_trunk) AND found > 1 ORDER BY project_id, author_name, month"""
    )
    return _count(world, row, "month", {"month": f"{date.fromisoformat(row['day']):%B %Y}"})


def commits_in_year(world: t.Sampler) -> t.Draw:
    """Count the commits of somebody in a year, where there are others in another year."""
    row = world.pick(
        MADE
        + """SELECT *, count(*) AS found, (
            SELECT count(*) FROM made o WHERE o.project_id = m.project_id AND o.author_name = m.author_name
        ) AS total FROM made m GROUP BY project_id, author_name, year
        HAVING min(is_trunk) AND found < total ORDER BY project_id, author_name, year"""
    )
    return _count(world, row, "year", {"year": row["year"]})


def commits_of_two_in_month(world: t.Sampler) -> t.Draw:
    """Add up the commits of two people in a month."""
    row = world.pick(
        MADE
        + """SELECT *, count(*) AS found FROM made GROUP BY project_id, month
        HAVING min(is_trunk) AND count(DISTINCT author_name) > 1 AND count(DISTINCT author_name) < found
        ORDER BY project_id, month"""
    )
    names = world.rows(
        MADE + "SELECT DISTINCT author_name AS name FROM made WHERE project_id = ? AND month = ? AND is_trunk ORDER BY name",
        row["project_id"],
        row["month"],
    )
    first, second = (name["name"] for name in world.rng.sample(names, 2))
    commits = world.rows(
        MADE + "SELECT * FROM made WHERE project_id = ? AND is_trunk ORDER BY moment DESC, commit_id DESC", row["project_id"]
    )
    places = [place for place, commit in enumerate(commits) if commit["month"] == row["month"]]
    counts = [sum(commits[place]["author_name"] == name for place in places) for name in (first, second)]
    total = str(sum(counts))
    return t.Draw(
        slots={
            "first": first,
            "second": second,
            "project": row["name"],
            "month": f"{date.fromisoformat(row['day']):%B %Y}",
        },
        grounds={
            total: number_of(
                *(commits[place]["sha"][:8] for place in places if commits[place]["author_name"] in (first, second))
            )
        },
        eval=t.answer(fuzzy_match=total),
        solution=[
            *open_project(row, "Commits"),
            *turn_pages(world, places[-1], COMMITS_PER_PAGE, "That month goes on on the next page."),
            t.leave(total, f"{counts[0]} and {counts[1]}."),
        ],
        wrong_answers=[str(counts[0]), str(sum(counts) + 1)],
    )


def commits_of_two(world: t.Sampler) -> t.Draw:
    """Add up the commits of two contributors."""
    rows = ranked(world, 3)
    first, second = world.rng.sample(rows, 2)
    total = first["found"] + second["found"]
    return t.Draw(
        slots={"first": first["author_name"], "second": second["author_name"], "project": first["name"]},
        grounds={str(total): sum_of(str(first["found"]), str(second["found"]))},
        eval=t.answer(fuzzy_match=str(total)),
        solution=[*open_project(first, "Contributors"), t.leave(str(total), f"{first['found']} and {second['found']}.")],
        wrong_answers=[str(first["found"]), str(total + 1)],
    )


def ranked(world: t.Sampler, least: int) -> list[t.Row]:
    """Return the contributors to the default branch of a project with `least` of them or more, the most active first."""
    project = world.pick(
        MADE
        + """SELECT project_id FROM made WHERE is_trunk GROUP BY project_id
        HAVING count(DISTINCT author_email) >= ? AND count(DISTINCT author_name) = count(DISTINCT author_email)
        ORDER BY project_id""",
        least,
    )
    return world.rows(
        MADE
        + """SELECT *, count(*) AS found, max(moment) AS last FROM made WHERE is_trunk AND project_id = ?
        GROUP BY author_email ORDER BY found DESC, author_name""",
        project["project_id"],
    )


def _top(world: t.Sampler, count: int) -> list[t.Row]:
    """Return the contributors of a project where the first `count` places are not shared. Raises NothingToDraw."""
    rows = ranked(world, count + 1)
    numbers = [row["found"] for row in rows[: count + 1]]
    if len(numbers) != len({*numbers}):
        raise t.NothingToDraw("a project whose most active contributors have different numbers of commits")
    return rows


def top_contributor(world: t.Sampler) -> t.Draw:
    """Ask for the most active contributor."""
    rows = _top(world, 1)
    return question(
        {"project": rows[0]["name"]},
        rows[0]["author_name"],
        way=open_project(rows[0], "Contributors"),
        seen=f"{rows[0]['found']} commits.",
        wrong=[rows[1]["author_name"]],
    )


def top_contributors(world: t.Sampler) -> t.Draw:
    """Ask for the two or three most active contributors."""
    count = world.rng.choice((2, 3))
    rows = _top(world, count)
    names = [row["author_name"] for row in rows]
    return question(
        {"count": count, "project": rows[0]["name"]},
        ", ".join(names[:count]),
        way=open_project(rows[0], "Contributors"),
        seen="The list is in that order.",
        wrong=[", ".join(names[1 : count + 1])],
    )


def top_email(world: t.Sampler) -> t.Draw:
    """Ask for the address of the most active contributor."""
    rows = _top(world, 1)
    return question(
        {"branch": rows[0]["default_branch"], "project": rows[0]["name"]},
        rows[0]["author_email"],
        way=open_project(rows[0], "Contributors"),
        seen=f"{rows[0]['author_name']} made {rows[0]['found']} commits.",
        wrong=[rows[1]["author_email"]],
    )


def last_commit_date(world: t.Sampler) -> t.Draw:
    """Ask for the day of somebody's last commit."""
    rows = ranked(world, 2)
    row = world.rng.choice(rows)
    others = [other["last"][:10] for other in rows if other["last"][:10] != row["last"][:10]]
    if not others:
        raise t.NothingToDraw("contributors who stopped on different days")
    return t.Draw(
        slots={"person": row["author_name"], "project": row["name"]},
        eval=t.answer(fuzzy_match=row["last"][:10]),
        solution=[*open_project(row, "Contributors"), t.leave(slashed(row["last"]), "It stands in the last column.")],
        wrong_answers=[slashed(others[0])],
    )


commit_place = Visit(
    MADE
    + """SELECT * FROM made a WHERE is_trunk AND title != 'Initial commit' AND 1 = (
            SELECT count(*) FROM git_commit c WHERE c.project_id = a.project_id AND instr(lower(c.title), lower(a.title))
        ) ORDER BY project_id, commit_id""",
    "__GITLAB__/{full_path}/-/commit/{sha}",
    way=lambda _, row: [*open_project(row, "Commits"), t.search("Search by message", row["title"]), t.click(row["title"])],
    slots={"person": "{author_name}", "project": "{name}"},
)
