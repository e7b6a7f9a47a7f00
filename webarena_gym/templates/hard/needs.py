"""What several people need at once, told in a thread: a place that suits all of them, and an article that fits best."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.claims import plant_talk
from webarena_gym.templates.hard.places import is_open
from webarena_gym.templates.hard.ways import listed, of_site
from webarena_gym.templates.map.changes import saved, saved_are
from webarena_gym.templates.map.ways import open_place, places
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.wikipedia.changes import WATCHED, watchlist
from webarena_gym.templates.wikipedia.routes import FACTS, open_article

TEMPLATES = t.Templates("hard")


@TEMPLATES.define(
    'In the forum thread "{title}" my friends say where we could meet, and what each of them needs. Exactly one place suits everybody. Save it on the map with the note "{note}".',
    'where can we all meet? forum thread "{title}" has the candidates + what everyone needs. check the map, one place fits all: save it, note "{note}"',
    'My friends are not easy to please. Under "{title}" in the forum they have proposed places and told what they cannot do without. Wishes that somebody calls nice to have are just that. Please find the one place that meets all needs, according to the map, and put it among my saved places with the note "{note}".',
    'Read "{title}" in the forum, look up every place proposed there on the map, and save the only one with which all of us can live. The note is "{note}". Nothing else is to be saved.',
    'One of the places from the thread "{title}" (forum) fulfills everything that people there say they need. Which? The map knows about hours, access and telephone. Save that place for me ("{note}" as note), no other.',
    sites=("map", "reddit"),
    difficulty=("needs", "several_sites", "reading"),
)  # fmt: skip
def place_for_all(world: t.Sampler) -> t.Draw:
    """Save the one place of several that meets what everybody in a thread needs."""
    rng, forum, own = world.rng, world.at("reddit"), saved(world)
    late, early = rng.choice((16, 17, 18)), rng.choice((8, 9, 10))
    rows = [
        row
        for row in places(
            world,
            """label = name AND phone != '' AND category IN ('cafe', 'restaurant', 'museum', 'library', 'cinema', 'bakery', 'bookshop')
            AND EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Wheelchair access')""",
        )
        if row["place_id"] not in own
    ]
    access = dict(map(tuple, world.rows("SELECT place_id, value FROM place_detail WHERE name = 'Wheelchair access'")))
    groups: dict[tuple[bool, bool, bool], list[t.Row]] = {}
    for row in rows:
        meets = (
            access[row["place_id"]] == "yes",
            is_open(row["sunday"], f"{late}:00", f"{late + 1}:00"),
            is_open(row["saturday"], f"{early:02}:00", f"{early + 1:02}:00"),
        )
        groups.setdefault(meets, []).append(row)
    best = rng.choice(groups.get((True, True, True), []))
    others = [rng.choice(groups.get(meets, [])) for meets in ((False, True, True), (True, False, True), (True, True, False))]
    others += rng.sample([row for row in groups.get((False, True, True), []) if row is not others[0]], 1)
    others += rng.sample([row for meets, each in sorted(groups.items()) if sum(meets) < 2 for row in each], 1)
    candidates = [best, *others]
    rng.shuffle(candidates)
    names = [str(row["name"]) for row in candidates]
    said = [
        f"What about {names[0]}, {names[1]} or {names[2]}?",
        f"I would add {names[3]} and {names[4]}. And {names[5]}, for completeness.",
        "Wherever it is, I want to roll in by myself. Where they write that access is limited I have always found two steps.",
        f"We meet twice, do not forget: on Saturday at {early}, and on Sunday at {late}, an hour each time. It should be the same place, and they should not throw us out before the hour is over.",
        "Something near the river would be nice to have.",
        f"I have heard that {best['name']} is closing down. No, wait, that was another one.",
        "Is there not another that opens even earlier? Not that I need it.",
    ]
    title = f"Where do the friends of {word(forum)} meet?"
    plant_talk(forum, title, "Proposals and needs, please.", said, 100)
    note = rng.choice(("suits everybody", "both meetings", "our place"))
    count = "SELECT count(*) FROM comment"
    looks: list[Step] = [step for name in names for step in open_place(name)]
    return t.Draw(
        {"title": title, "note": note},
        t.all_of(
            saved_are({**own, best["place_id"]: note}),
            of_site("reddit", t.state(count, expected=[[forum.value(count)]])),
        ),
        [
            turn_to(1),
            *open_post(title),
            turn_to(0),
            *looks,
            *open_place(best["name"], "This one suits all."),
            t.type_text("Note", note),
            t.click("Save place"),
            t.leave("", "It is saved."),
        ],
        start_url=tabs("map", "reddit"),
        evidence=[*said, *names, *(access[row["place_id"]] for row in candidates)],
    )


@TEMPLATES.define(
    'In the forum, "{title}" collects museums for our trip, and tells what the travelers want. Put on my watchlist in the encyclopedia the article on the museum that the encyclopedia says suits them best, and no other.',
    'forum thread "{title}": list of museums + what people want from it. look them up in the encyclopedia, add THE one that fits best to my watchlist',
    'Before we travel I would like to keep an eye on the article about the museum that we will visit. Which one it is follows from "{title}" in the forum: candidates are named there, and what we want from a museum. The figures are in the encyclopedia. Please add that one article to my watchlist.',
    'Decide on a museum by what is written in "{title}" (forum) and by the facts of the encyclopedia, then watch its article. Only one of them is right.',
    'See the thread "{title}" in the forum, where we have agreed on what our museum has to be like and which ones we could visit. Compare them in the encylopedia, and watch the article on the winner.',
    sites=("wikipedia", "reddit"),
    difficulty=("needs", "optimum", "several_sites"),
)  # fmt: skip
def watch_best_museum(world: t.Sampler) -> t.Draw:
    """Watch the article on the museum that meets the wishes of a thread best."""
    rng, forum = world.rng, world.at("reddit")
    watched = {row["title"] for row in world.rows(WATCHED)}
    facts: dict[str, dict[str, t.Row]] = {}
    for row in world.rows(
        FACTS
        + "SELECT * FROM facts WHERE kind = 'museum' AND label IN ('Opened', 'Collection', 'Visitors') AND number IS NOT NULL ORDER BY title, position"
    ):
        facts.setdefault(row["title"], {})[row["label"]] = row
    usable = sorted(title for title, own in facts.items() if len(own) == 3 and title not in watched)
    chosen = rng.sample(usable, min(7, len(usable)))
    if len(chosen) < 5:
        raise t.NothingToDraw("museums to choose from")

    def number(title: str, label: str) -> int:
        return int(facts[title][label]["number"])

    born = sorted(number(title, "Opened") for title in chosen)[len(chosen) // 2 + 1] + 1
    pieces = sorted(number(title, "Collection") for title in chosen)[len(chosen) // 3] // 100 * 100
    fits = [title for title in chosen if number(title, "Opened") < born and number(title, "Collection") > pieces]
    ranked = sorted(fits, key=lambda title: number(title, "Visitors"))
    quietest = min(number(title, "Visitors") for title in chosen)
    if (
        len(ranked) < 2
        or number(ranked[0], "Visitors") == number(ranked[1], "Visitors")
        or number(ranked[0], "Visitors") == quietest
    ):
        raise t.NothingToDraw("one that is the quietest of several")
    if any(number(title, "Opened") == born or number(title, "Collection") == pieces for title in chosen):
        raise t.NothingToDraw("figures that are clear")
    said = [
        f"In question are {listed(chosen[:4])}.",
        f"Also {listed(chosen[4:])}, if you ask me.",
        f"My grandmother was born in {born}. I would like to see one that was open to people before she was.",
        f"I am through with a museum in an hour if it does not show more than {pieces:,} things. So please none of those.",
        "And I hate crowds. Among what is left then, I vote for the one that the fewest people go to.",
        "Good. I would have taken the largest, but I give in.",
    ]
    title = f"A museum for the {word(forum)} trip"
    plant_talk(forum, title, "We can see one of them, no more. What do you want from it?", said, 90)
    count = "SELECT count(*) FROM comment"
    return t.Draw(
        {"title": title},
        t.all_of(
            t.state(WATCHED, expected=watchlist(world, plus=[ranked[0]], minus=[])),
            of_site("reddit", t.state(count, expected=[[forum.value(count)]])),
        ),
        [
            turn_to(1),
            *open_post(title),
            turn_to(0),
            *(step for name in chosen for step in open_article(name)),
            *open_article(ranked[0], "It is the quietest of those that are left."),
            t.click("Add to watchlist"),
            t.leave("", "It is on the watchlist."),
        ],
        start_url=tabs("wikipedia", "reddit"),
        evidence=[*said, *(facts[name][label]["text"] for name in chosen for label in ("Opened", "Collection", "Visitors"))],
    )  # fmt: skip
