"""Files on the code host with the addresses of posts of the forum."""

from collections.abc import Sequence

from webarena_gym.sites.catalogue import URLS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import PROJECTS, open_project
from webarena_gym.templates.reddit.routes import POSTS, open_forum, thread_url
from webarena_gym.templates.several.projects import make_project, new_readme, project_name
from webarena_gym.templates.several.routes import holds, tabs, turn_to, without_ties

SITES = ("gitlab", "reddit")
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
    if not without_ties(posts, count, "comments"):
        raise t.NothingToDraw("posts that stand out")
    name = project_name(world, "ideas", "best-of", "talks")
    return t.Draw(
        start_url=tabs(*SITES),
        slots={"name": name, "count": count, "forum": posts[0]["forum"]},
        eval=new_readme(world, name, *marks(world, posts[:count])),
        solution=[
            turn_to(1),
            *open_forum(posts[0]["forum"], "Most commented", "All time"),
            *look_up(posts[:count]),
            turn_to(0),
            *make_project(name, [address(row) for row in posts[:count]]),
        ],
    )


def newest_urls(world: t.Sampler) -> t.Draw:
    """Write the addresses of the newest posts of a forum into a new folder."""
    posts = posts_of(world, "newest")
    count = world.rng.randint(2, 4)
    project, folder = _project_and_folder(world)
    path = f"{folder}/urls.txt"
    found, parameters = holds("f.content", *marks(world, posts[:count]))
    (before,) = world.rows("SELECT count(*) FROM file WHERE branch_id = ?", project["trunk_id"])[0]
    return t.Draw(
        start_url=tabs(*SITES),
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


def urls_of_missing_forum(world: t.Sampler) -> t.Draw:
    """Ask for the posts of a forum that does not exist: the answer is N/A."""
    project, folder = _project_and_folder(world)
    forums = [row["name"] for row in world.rows("SELECT name FROM forum ORDER BY name", site="reddit")]
    missing = [
        name for name in ("astronomers", "cars", "chess", "knitting", "motorbikes", "opera", "philately") if name not in forums
    ]
    forum = world.rng.choice(missing)
    return t.Draw(
        start_url=tabs(*SITES),
        slots={"project": project["name"], "folder": folder, "forum": forum},
        grounds={"N/A": says("No forum fits these words")},
        eval=t.not_achievable(),
        solution=[
            turn_to(1),
            *open_forum(forum)[:2],
            t.leave("N/A", "There is no forum of that name."),
        ],
    )


def _project_and_folder(world: t.Sampler) -> tuple[t.Row, str]:
    """Draw a project of mine and the name of a folder that it has not."""
    project = world.pick(PROJECTS + "SELECT * FROM mine WHERE trunk_id IS NOT NULL ORDER BY project_id")
    folder = world.rng.choice(FOLDERS)
    if world.rows("SELECT path FROM file WHERE branch_id = ? AND path LIKE ? ORDER BY path", project["trunk_id"], f"{folder}%"):
        raise t.NothingToDraw("a folder that is not there yet")
    return project, folder
