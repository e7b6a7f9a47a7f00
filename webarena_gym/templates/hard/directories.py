"""A list of telephone numbers on the code host, by which the map is put right."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import MINE
from webarena_gym.templates.gitlab.ways import PLANNING
from webarena_gym.templates.hard.ways import ago, of_site, repository_page
from webarena_gym.templates.map.changes import ME
from webarena_gym.templates.map.ways import open_place, places
from webarena_gym.templates.several.routes import tabs, turn_to

TEMPLATES = t.Templates("hard")


def other_number(world: t.Sampler, phone: str) -> str:
    """Return a telephone number with one digit that differs."""
    places_of_digits = [place for place, sign in enumerate(phone) if sign.isdigit()][-4:]
    place = world.rng.choice(places_of_digits)
    digit = str((int(phone[place]) + world.rng.choice((1, 2, 5))) % 10)
    return phone[:place] + digit + phone[place + 1 :]


def in_other_style(world: t.Sampler, phone: str) -> str:
    """Return a telephone number as somebody else writes it."""
    area, _, rest = phone.partition("-")
    return world.rng.choice((f"({area}) {rest}", phone.replace("-", "."), phone.replace("-", " ")))


@TEMPLATES.define(
    "The file {file} in {project} (code host) has the right telephone numbers of some places. For each place whose number on the map is another one, suggest an edit of the phone, written with hyphens as the map does. Some of my suggestions may "
    "be waiting already: leave those that are right, and withdraw those that are wrong and suggest the right number instead. Places without an error get no suggestion.",
    "check the phones in {file} ({project}) against the map. differs (really, not just dots or brackets) -> suggest edit, phone with hyphens like on the map. my waiting suggestions: right ones stay and are not sent twice, wrong ones withdraw + send the right one",
    "I have begun to correct telephone numbers on the map and got lost. The right ones are in {file}, project {project}, on the code host. Please finish it: one waiting suggestion for each place whose number is wrong on the map, with the right number "
    "(hyphens, as the map writes them), none for the others. Suggestions of mine with a wrong number are to be withdrawn.",
    "By {file} of {project}, some phone numbers on the map are wrong. In the end there should be exactly one waiting suggestion of mine for each of these places (field: phone, the number in the map's style), and none for places that are right. "
    "Have a look at what I have suggested so far, part of that is all right and part is not.",
    "Compare the numbers in {file} (repository {project}) with those on the map. Suggest the right phone, with hyphens, wherever the map has a different one and I have not done so yet; withdraw what I have suggested wrongly, and suggest it anew. Another way of writting is no difference.",
    sites=("map", "gitlab"),
    difficulty=("several_sites", "exhaustive", "recovery"),
)  # fmt: skip
def correct_phones(world: t.Sampler) -> t.Draw:
    """Suggest the right telephone numbers of a list, where the map has others."""
    host, rng, file = world.at("gitlab"), world.rng, "PHONES.md"
    row = host.pick(PLANNING + f"SELECT place.* FROM place WHERE {MINE} ORDER BY place.project_id")
    if world.rows(f"SELECT 1 FROM suggestion WHERE user_id = {ME} AND status = 'waiting'"):
        raise t.NothingToDraw("nothing that is suggested yet")
    plan = [
        "right",
        "right",
        "other style",
        "other style",
        "wrong",
        "wrong",
        "suggested",
        "suggested wrongly",
        "suggested needlessly",
    ]
    rng.shuffle(plan)
    found = rng.sample(
        places(
            world,
            "label = name AND phone LIKE '%-%-%' AND category IN ('bank', 'hotel', 'pharmacy', 'bakery', 'school', 'gym')",
        ),
        len(plan),
    )
    lines: list[str] = []
    wanted: list[tuple[int, str]] = []
    looks: list[Step] = []
    changes: list[Step] = []
    for fate, place in zip(plan, found, strict=True):
        phone = str(place["phone"])
        is_wrong = fate in ("wrong", "suggested", "suggested wrongly")
        right = other_number(world, phone) if is_wrong else phone
        told = in_other_style(world, right) if fate == "other style" or rng.random() < 0.3 else right
        lines.append(f"- {place['name']}: {told}")
        if fate.startswith("suggested"):
            value = right if fate == "suggested" else other_number(world, right)
            world.plant(
                "suggestion", user_id=ME, place_id=place["place_id"], field="Phone", value=value, comment="", status="waiting", created_at=ago(world, days=1),
            )  # fmt: skip
        if is_wrong:
            wanted.append((place["place_id"], right))
        if fate in ("suggested wrongly", "suggested needlessly"):
            changes += [t.click("Suggestions"), t.click(f"Withdraw the suggestion for {place['name']}")]
        looks += open_place(place["name"])
        if fate in ("wrong", "suggested wrongly"):
            looks += [
                t.click("Suggest an edit", f"It should be {right}."),
                t.choose("What is wrong?", "Phone"),
                t.type_text("It should read", right),
                t.click("Send suggestion"),
            ]
    content = "# Telephone numbers\n\nCalled and checked, all of them.\n\n" + "\n".join(lines) + "\n"
    files = "SELECT content FROM file f JOIN branch b USING (branch_id) WHERE project_id = ? AND path = ? AND b.name = ?"
    way = repository_page(host, row, file, content)
    query = "SELECT user_id, place_id, field, value, status FROM suggestion WHERE status != 'withdrawn' ORDER BY place_id, suggestion_id"
    expected = [list(each) for each in world.rows(query) if each["user_id"] != ME]
    expected += [[ME, place, "Phone", phone, "waiting"] for place, phone in wanted]
    return t.Draw(
        {"file": file, "project": row["full_path"]},
        t.all_of(
            t.state(query, expected=sorted(expected, key=lambda each: int(each[1]))),
            of_site("gitlab", t.state(files, row["project_id"], file, row["default_branch"], expected=[[content]])),
        ),
        [
            turn_to(1),
            *way,
            turn_to(0),
            t.click("Suggestions"),
            *changes,
            *looks,
            t.leave("", "Every wrong number has its suggestion."),
        ],
        start_url=tabs("map", "gitlab"),
        evidence=[line.partition(": ")[2] for line in lines] + [str(place["phone"]) for place in found],
    )
