"""A table on the code host whose entries come from other sites, with a page that says which of them counts for what."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.files import files_become
from webarena_gym.templates.gitlab.issues import MINE
from webarena_gym.templates.gitlab.ways import DEVELOPER, PLANNING
from webarena_gym.templates.hard.threads import plant_post, strangers
from webarena_gym.templates.hard.ways import ago, of_site, repository_page
from webarena_gym.templates.map.ways import open_place, places
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.wikipedia.routes import FACTS, open_article

TEMPLATES = t.Templates("hard")

_TABLE = "PLACES.txt"
_GUIDE = "SOURCES.md"


@TEMPLATES.define(
    "Correct {table} in {project} (code host). Which source counts for what is written in {guide} next to it; the sources are the map, the encyclopedia and the forum. Change only what is wrong there, keep the form of the lines, and commit to the default branch.",
    "{project}: fix {table} according to {guide}. sources = map, encyclopedia, forum thread, see there. only wrong values, same format, commit on default branch",
    "The list {table} in the repository of {project} has mistakes in it, and the sites that we took it from contradict each other. Luckily {guide} says which of them is to be believed in which question. Please check all entries and correct the file; whatever is right stays as it is.",
    "By the rules in {guide} ({project}), some values in {table} are out of date or were wrong from the start. Look them up in the sources named there, and edit the file accordingly, without changing anything else about it.",
    "Please check {table} of {project} line by line against the sources. {guide} explains which sorce decides about years, hours and phone numbers. The corrected file goes onto the default branch, in the same format.",
    sites=("map", "wikipedia", "gitlab", "reddit"),
    difficulty=("several_sites", "policies", "exhaustive"),
)  # fmt: skip
def table_by_sources(world: t.Sampler) -> t.Draw:
    """Correct a table by the source that a guide names for each of its columns."""
    host, forum, rng = world.at("gitlab"), world.at("reddit"), world.rng
    years = {
        row["title"]: int(row["number"])
        for row in world.rows(
            FACTS + "SELECT title, number FROM facts WHERE label = 'Opened' AND kind IN ('museum', 'library', 'stadium', 'theater', 'zoo') ORDER BY title", site="wikipedia",
        )
    }  # fmt: skip
    marks = ", ".join("?" * len(years))
    known = places(world, f"label = name AND phone LIKE '%-%' AND sunday LIKE '%-%' AND name IN ({marks})", *years)
    chosen = rng.sample(known, 4)
    row = host.pick(PLANNING + f"SELECT place.* FROM place WHERE {MINE} AND rank >= {DEVELOPER} ORDER BY place.project_id")
    board = forum.pick("SELECT * FROM forum ORDER BY forum_id")
    people = strangers(forum, 8)
    keeper = people[0]
    forum.plant("moderator", forum_id=board["forum_id"], user_id=keeper["user_id"], since=ago(world, days=300))
    title = f"Opening hours in the {word(forum)} region: what has changed?"
    guide = (
        "# Sources\n\nEach line of the list: name; year of opening; hours on Sundays; telephone.\n\n"
        "- Years are those of the encyclopedia. The map has none.\n"
        f'- Hours on Sundays are those of the map, unless a moderator of the forum {board["name"]} says otherwise in the thread "{title}". What others write there does not count, and of several statements by moderators the latest does.\n'
        "- Telephone numbers are those of the map. What people write about them anywhere else does not count.\n"
    )
    truths = {place["name"]: [str(years[place["name"]]), str(place["sunday"]), str(place["phone"])] for place in chosen}
    one, two, three, four = rng.sample([str(place["name"]) for place in chosen], 4)
    before, after, rumor, third = rng.sample(("10:30-13:30", "11:15-16:45", "12:00-15:30", "13:00-19:00", "14:30-17:00"), 4)
    talk = [
        (people[1], f"{one} is open {before} on Sundays now, I have seen the sign."),
        (keeper, f"I have called {two}: on Sundays it is {before} from now on."),
        (people[2], f"For {three} it says {rumor} on the door."),
        (keeper, f"{two} again: they have thought better of it. Sundays {after}."),
        (people[3], f"That cannot be right, {two} had {third} yesterday."),
        (keeper, f"Nothing new from {three}. Please stop guessing."),
        (people[4], f"{four} has the telephone number 555-0100 now."),
        (keeper, f"{four} will change its hours next year, they say. Not yet."),
    ]
    post = plant_post(forum, board, people[5]["user_id"], title, "Please collect here what you know.", 200)
    for place, (person, text) in enumerate(talk):
        forum.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=person["user_id"],
            body=text,
            created_at=ago(world, hours=190 - 12 * place),
        )
    truths[two][1] = after
    shown = {name: list(values) for name, values in truths.items()}
    shown[one][1] = before
    shown[two][1] = rng.choice((before, third))
    shown[three][0] = str(int(truths[three][0]) + rng.choice((-10, -2, 3, 20)))
    shown[four][2] = "768-555-0100"
    if rng.random() < 0.5:
        shown[one][0] = str(int(truths[one][0]) + rng.choice((-1, 1, 10)))
    names = [str(place["name"]) for place in chosen]
    texts = ["".join(f"{name}; {'; '.join(values[name])}\n" for name in names) for values in (shown, truths)]
    if host.rows(
        "SELECT 1 FROM file f JOIN branch b USING (branch_id) WHERE project_id = ? AND path = ?", row["project_id"], _TABLE
    ):
        raise t.NothingToDraw("a project without that file")
    way = repository_page(host, row, _GUIDE, guide)
    table = repository_page(host, row, _TABLE, texts[0])
    looks: list[Step] = [turn_to(0), *(step for name in names for step in open_place(name))]
    looks += [turn_to(1), *(step for name in names for step in open_article(name))]
    return t.Draw(
        {"table": _TABLE, "project": row["full_path"], "guide": _GUIDE},
        of_site("gitlab", files_become(host, row, {_TABLE: texts[1]})),
        [
            turn_to(2),
            *way,
            *table,
            *looks,
            turn_to(3),
            *open_post(title),
            turn_to(2),
            t.click("Edit file"),
            t.type_text("File content", texts[1]),
            t.click("Commit changes"),
            t.leave("", "The list is right now."),
        ],
        start_url=tabs("map", "wikipedia", "gitlab", "reddit"),
        evidence=[
            "of several statements by moderators the latest does",
            *(text for _, text in talk),
            *(str(years[name]) for name in names),
            *(value for values in truths.values() for value in values[2:]),
        ],
    )
