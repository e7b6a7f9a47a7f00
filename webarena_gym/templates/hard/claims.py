"""Threads of the forum whose claims the encyclopedia and the map confirm or refute, and names that only locals use."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.threads import plant_post, strangers
from webarena_gym.templates.hard.ways import ago, of_site
from webarena_gym.templates.map.changes import saved, saved_are
from webarena_gym.templates.map.ways import open_place, places
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.reddit.votes import votes_are
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.wikipedia.routes import FACTS, open_article

TEMPLATES = t.Templates("hard")


def plant_talk(forum: t.Sampler, title: str, body: str, said: list[str], hours: int) -> list[tuple[int, str]]:
    """Plant a thread with a comment of somebody else for each text; return the comments with the names of who wrote them."""
    people = strangers(forum, len(said) + 1)
    board = forum.pick("SELECT * FROM forum ORDER BY forum_id")
    post = plant_post(forum, board, people[-1]["user_id"], title, body, hours)
    return [
        (
            forum.plant(
                "comment",
                submission_id=post["submission_id"],
                user_id=person["user_id"],
                body=text,
                created_at=ago(forum, hours=hours - 3 - 4 * place),
            ),
            str(person["username"]),
        )
        for place, (person, text) in enumerate(zip(people, said, strict=False))
    ]


@TEMPLATES.define(
    'Check the thread "{title}" in the forum. Years of opening count as in the encyclopedia; hours and telephone numbers as on the map. Upvote each comment in which everything is right, and give no vote to the others.',
    'fact check pls: forum thread "{title}". years -> encyclopedia, opening hours + phones -> map. upvote the comments that are completely right, leave the rest alone',
    'Under "{title}" people in the forum tell each other things about places, and some of it is nonsense. Could you look it all up? The encyclopedia knows when places were opened, the map has the hours and the phone numbers. Whoever got everything right gets an upvote from me, the others nothing.',
    'I want to reward those who do not make things up in "{title}" (forum): an upvote for every comment without a mistake. The map decides about hours and telephone, the encyclopedia about years. No downvotes.',
    'Which comments under "{title}" are true in all they say? Vote these up, and only these. For years trust the encyclopedia, for opening hours and telephone numbers trust the map, even if the thread dissagrees.',
    sites=("reddit", "wikipedia", "map"),
    difficulty=("several_sites", "reading", "exhaustive"),
)  # fmt: skip
def upvote_true_claims(world: t.Sampler) -> t.Draw:
    """Upvote the comments all of whose claims the map and the encyclopedia confirm."""
    rng, chart = world.rng, world.at("map")
    years = {
        row["title"]: int(row["number"])
        for row in world.rows(
            FACTS + "SELECT title, number FROM facts WHERE label = 'Opened' AND kind IN ('museum', 'library', 'stadium', 'theater', 'zoo') ORDER BY title", site="wikipedia",
        )
    }  # fmt: skip
    marks = ", ".join("?" * len(years))
    known = places(chart, f"label = name AND phone LIKE '%-%' AND sunday LIKE '%-%' AND name IN ({marks})", *years)
    a, b, c, d, e, f = rng.sample(known, 6)
    older, younger = (a, b) if years[a["name"]] < years[b["name"]] else (b, a)
    if years[a["name"]] == years[b["name"]]:
        raise t.NothingToDraw("two places of different age")

    def year(row: t.Row, off: int = 0) -> int:
        return years[row["name"]] + off

    def other(row: t.Row, field: str) -> str:
        return str(rng.choice([each[field] for each in known if each[field] != row[field]]))

    off = rng.choice((-11, -3, 2, 7))
    cases = [
        (f"{c['name']} was opened in {year(c)}. My grandmother was there that day.", True),
        (f"{d['name']} was opened in {year(d, off)}, it says so on my mug.", False),
        (f"If you want to go to {e['name']} on a Sunday: {e['sunday']}.", True),
        (f"On Sundays {c['name']} has {other(c, 'sunday')}. I work around the corner.", False),
        (f"{older['name']} has been there for longer than {younger['name']}.", True),
        (f"I always took {younger['name']} for the older one, and I was right: {older['name']} came later.", False),
        (f"{f['name']} was not opened in {year(f, off)}, whatever they tell you.", True),
        (f"You reach {d['name']} at {d['phone']}. And it is from {year(d)}, by the way.", True),
        (f"{e['name']}: from {year(e)}, telephone {other(e, 'phone')}.", False),
        (f"People say that {f['name']} was opened in {year(f)}. It was not.", False),
    ]
    cases = rng.sample(cases, 8)
    if not 2 <= sum(is_true for _, is_true in cases) <= 6:
        raise t.NothingToDraw("claims of both kinds")
    title = f"Things about the {word(world)} region that nobody knows"
    made = plant_talk(world, title, "I begin: nothing. And you?", [text for text, _ in cases], 120)
    true = [comment for comment, (_, is_true) in zip(made, cases, strict=True) if is_true]
    names = [str(row["name"]) for row in (a, b, c, d, e, f) if any(row["name"] in text for text, _ in cases)]
    looks: list[Step] = [turn_to(1), *(step for name in names for step in open_article(name))]
    looks += [turn_to(2), *(step for name in names for step in open_place(name)), turn_to(0)]
    return t.Draw(
        {"title": title},
        votes_are(world, {}, [comment for comment, _ in true]),
        [
            *open_post(title),
            *looks,
            *(t.click(f"Upvote {name}'s comment", "All of it is right.") for _, name in true),
            t.leave("", "The true ones have my vote."),
        ],
        start_url=tabs("reddit", "wikipedia", "map"),
        evidence=[*(text for text, _ in cases), *(str(years[name]) for name in names)],
    )


_NICKNAMES = (
    "the Shoebox",
    "the Pickle",
    "the Teapot",
    "the Submarine",
    "the Cheese",
    "the Old Lady",
    "the Greenhouse",
    "the Piano",
)


@TEMPLATES.define(
    'In the forum, "{plan}" says where we are going, in names that only locals use. "{glossary}" tells what these names mean today. Save the places of the plan on the map with the note "{note}". Nothing else is saved.',
    'map: save all stops from the forum thread "{plan}", note "{note}". they use nicknames there, see thread "{glossary}" for what is what (as of now!)',
    'We have agreed on the stops of our tour in "{plan}" (forum). Being locals, the others call places whatever they like; somebody has collected these names in "{glossary}". Please put our stops among my saved places on the map, each with the note "{note}". Names move from place to place, so read to the end.',
    'Find out from the forum threads "{plan}" and "{glossary}" which places our tour goes to in the end. Those I want on my map as saved places (note: "{note}"), without the stops that were dropped.',
    'Save our stops: the thread "{plan}" in the forum has them by nickname, changes included, and the thread "{glossary}" has the real names behind the nicknames, as they are now. Note for each: "{note}". Nothing more, nothing less, thank you.',
    sites=("map", "reddit"),
    difficulty=("names", "several_sites", "reading"),
)  # fmt: skip
def save_by_nicknames(world: t.Sampler) -> t.Draw:
    """Save the stops of a plan that names them by nicknames, some of which have moved to other places."""
    rng, forum = world.rng, world.at("reddit")
    own = saved(world)
    options = [
        row
        for row in places(world, "label = name AND category IN ('cafe', 'library', 'cinema', 'museum', 'town hall', 'theater')")
        if row["place_id"] not in own
    ]
    a, b, c, d, e, f, g, h = rng.sample(options, 8)
    one, two, three, four, five, six = rng.sample(_NICKNAMES, 6)
    note = rng.choice(("our tour", "stop of the tour", "Saturday tour"))
    club = f"the {word(forum)} walking club"
    glossary, plan = f"What we of {club} call things", f"The next tour of {club}"
    names = [
        f"{a['name']} is {one}, and has always been.",
        f"{two} used to be {b['name']}. Since they have put up the scaffold, everybody means {c['name']} by it.",
        f"My aunt calls {d['name']} {three}. Nobody but my aunt does.",
        f"When I say {three}, and when anybody else does, it is {e['name']}.",
        f"Do not mix them up: {four} is {f['name']}, {five} is {g['name']}.",
        f"For tourists: what the guide has as {six} is not {b['name']} but {h['name']}.",
    ]
    stops = [
        f"I would begin at {one}, and go on to {two}.",
        f"Good, and then {three}?",
        f"Agreed. {four} is too crowded for me on Saturdays, can we leave it out?",
        f"Yes, it is out. Let us take {six} in its place.",
        f"Fine with everybody. And {five} only if it rains, which it will not, they say.",
        f"So it is settled: no {five}, the rest as above.",
    ]
    plant_talk(forum, glossary, "For people who have just moved here.", names, 300)
    plant_talk(forum, plan, "Where do we go, and in which order?", stops, 60)
    goals = [a, c, e, h]
    steps: list[Step] = [turn_to(1), *open_post(plan), *open_post(glossary), turn_to(0)]
    for row in goals:
        steps += [*open_place(row["name"]), t.type_text("Note", note), t.click("Save place")]
    count = "SELECT count(*) FROM comment"
    return t.Draw(
        {"plan": plan, "glossary": glossary, "note": note},
        t.all_of(
            saved_are({**own, **{row["place_id"]: note for row in goals}}),
            of_site("reddit", t.state(count, expected=[[forum.value(count)]])),
        ),
        [*steps, t.leave("", "The stops are saved.")],
        start_url=tabs("map", "reddit"),
        evidence=[*names, *stops],
    )
