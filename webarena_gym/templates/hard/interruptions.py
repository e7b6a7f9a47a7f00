"""Work that the end of a session interrupts: the form that is sent then is lost, and whoever goes on has to find out which."""

import json

from webarena_gym.sites.kit.sessions import ENDS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import MINE
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import PLANNING, new_rows, next_iid, open_project
from webarena_gym.templates.hard.goods import in_form
from webarena_gym.templates.hard.issues import plant_issue, strangers
from webarena_gym.templates.hard.ways import ago, findable, repository_page, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import PRODUCTS

TEMPLATES = t.Templates("hard")


def end_session(world: t.Sampler, site: str, rule: str, times: int) -> None:
    """Let the session that the task begins with end with a form, which its rule tells, that is sent once more than so often."""
    (row,) = world.rows("SELECT * FROM session WHERE json_extract(data, '$.site') = ?", site)
    data = {**json.loads(row["data"]), ENDS: [rule, times]}
    world.alter("session", {"session_id": row["session_id"]}, data=json.dumps(data))


@TEMPLATES.define(
    'Book today\'s delivery into the stock: the content page "{page}" says how many pieces of what have come, and they are on top of what we have. If you are asked to sign in: {user} / {password}.',
    'pls add the delivery to the stock quantities, list is on "{page}" (Content > Pages). pieces come ON TOP of the present quantity. login if needed: {user}, {password}',
    "A truck was here this morning. Somebody has typed the delivery note into our content pages, as \"{page}\". Could you add these pieces to the quantities of the products? The system has a habit of throwing people out "
    "in the middle of their work; the user name is {user} and the password {password}.",
    'For every product on the page "{page}" under Content, raise the quantity by the number of pieces that stands there. Each of them once, please: last week some were booked twice. User {user}, password {password}, in case you need to sign in again.',
    'The content page "{page}" is a delivery note. Add the deliverd pieces to the quantity of each product that it names. Should the session end, sign in as {user} with the password {password}.',
    sites=("shopping_admin",),
    difficulty=("recovery", "exhaustive"),
)  # fmt: skip
def book_delivery(world: t.Sampler) -> t.Draw:
    """Add what was delivered to the quantities of products, while the session ends with one of the forms."""
    rng = world.rng
    rows = world.rows(
        "SELECT * FROM product WHERE is_enabled AND is_in_stock AND quantity BETWEEN 3 AND 90 ORDER BY product_id"
    )
    goods = findable(world, rows, "product")
    if len(goods) < 30:
        raise t.NothingToDraw("products to deliver")
    came = [(row, rng.randint(6, 60)) for row in rng.sample(goods, rng.randint(6, 8))]
    title = f"Delivery note {rng.randint(2100, 9800)}"
    lines = "\n\n".join(f"{count} pieces: {row['name']} ({row['sku']})" for row, count in came)
    way = staff_page(world, title, f"Received this morning, two pallets, nothing damaged.\n\n{lines}\n\nPlease book it today.")
    lost = rng.randint(1, len(came) - 2)
    end_session(world, "shopping_admin", "/admin/catalog/product/edit/id/<int:product_id>/", lost)
    (admin,) = world.rows("SELECT * FROM admin_user")
    sign_in = [t.type_text("Username", admin["username"]), t.search("Password", admin["password"])]
    steps: list[Step] = []
    for place, (row, count) in enumerate(came):
        form = in_form(row, t.type_text("Quantity", str(row["quantity"] + count)), t.click("Save"))
        steps += [*form, *sign_in, *form] if place == lost else form
    return t.Draw(
        {"page": title, "user": admin["username"], "password": admin["password"]},
        turn_into(world, PRODUCTS, {row["sku"]: {"quantity": row["quantity"] + count} for row, count in came}),
        [*way, *steps, t.leave("", "All that has come is booked, each of it once.")],
        evidence=[f"{count} pieces: {row['name']} ({row['sku']})" for row, count in came],
    )


_PLANS = (
    "Write down how releases are made", "Say in the readme what is needed to build", "Take the old logo out of the manual",
    "Warn before a file is overwritten", "Let the window remember its size", "Show dates as the system does",
    "Make the tests run without a network", "Explain the error codes", "Drop the settings that nobody uses",
    "Print tables with borders", "Offer a list of the latest files", "Sort the contributors by name",
    "Ask before a branch is deleted", "Keep the log below ten megabytes", "Open links in the same tab",
)  # fmt: skip


@TEMPLATES.define(
    "{file} in the repository of {project} lists what is planned. Open an issue for each line, in that order, with the words of the line as its title and nothing else. Leave out lines that an issue, open or closed, has as its title already. "
    "If you have to sign in again: {user} / {password}.",
    "make issues from {file} in {project}: one per line, same order, title = the line, no description/labels. skip the ones where theres an issue with that title already (closed counts too). login {user} {password} if it asks",
    "We want to work with issues instead of the file {file} in {project}. Please turn each of its lines into an issue of that title, from the first to the last. Some exist already, maybe closed: these must not be there twice. "
    "The site sometimes signs people out at the wrong moment; my account is {user} with the password {password}.",
    "Take the plans in {file} (project {project}) over into issues, titles word by word and in the order of the file; what has an issue already, in whatever state, is not taken over. Sign in as {user}, password {password}, if need be.",
    "For every line of {file} in {project} for which there is no issue yet (open or closed), create one with the line as title, top to bottom, nothing filled in besides. Credentials in case the sesion ends: {user}, {password}",
    sites=("gitlab",),
    difficulty=("recovery", "exhaustive"),
)  # fmt: skip
def plans_to_issues(world: t.Sampler) -> t.Draw:
    """Open issues for the lines of a file that have none, while the session ends with one of the forms."""
    row, rng = (
        world.pick(PLANNING + f"SELECT * FROM place WHERE {MINE} AND rank >= 3 AND NOT is_archived ORDER BY project_id"),
        world.rng,
    )
    plans = rng.sample(_PLANS, 8)
    known = {row["title"] for row in world.rows("SELECT title FROM issue WHERE project_id = ?", row["project_id"])}
    if known & set(plans):
        raise t.NothingToDraw("a project with other plans")
    there = dict(zip(rng.sample(plans, 2), ("opened", "closed"), strict=True))
    for days, author, (title, state) in zip((9, 5), strangers(world, 2), there.items(), strict=True):
        closed = {"closed_at": ago(world, days=1)} if state == "closed" else {}
        plant_issue(world, row, title, "", author["user_id"], days, state=state, **closed)
    file = "PLANS.md"
    look = repository_page(world, row, file, "\n\n".join(plans))
    wanted = [title for title in plans if title not in there]
    lost = rng.randint(1, len(wanted) - 2)
    end_session(world, "gitlab", "/<namespace>/<path>/-/issues", lost)
    (me,) = world.rows("SELECT * FROM user WHERE user_id = ?", ME)
    sign_in = [t.type_text("Username or email", me["username"]), t.search("Password", me["password"])]
    to_list = [*open_project(row), t.click("Issues")]
    steps: list[Step] = [*to_list, t.click("Closed")]
    for place, title in enumerate(wanted):
        form = [t.type_text("Title", title), t.click("Create issue")]
        if place == lost:
            form += [*sign_in, *to_list, t.click("New issue"), *form]
        steps += [t.click("Issues"), t.click("New issue"), *form]
    first = next_iid(world, "issue", row["project_id"])
    expected = [[row["project_id"], first + place, title, ""] for place, title in enumerate(wanted)]
    return t.Draw(
        {"file": file, "project": row["full_path"], "user": me["username"], "password": me["password"]},
        new_rows(world, "issue", "project_id, iid, title, description", expected),
        [*look, *steps, t.leave("", "Every plan has one issue now.")],
        evidence=[*plans],
    )
