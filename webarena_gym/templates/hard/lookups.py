"""Articles that are told by facts of other articles, or by who has changed them and when."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from webarena_gym.sites.wikipedia.views.editing import HISTORY_PER_PAGE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.baskets import as_written
from webarena_gym.templates.hard.ways import joined
from webarena_gym.templates.ways import turn_pages
from webarena_gym.templates.wikipedia.changes import WATCHED, watchlist
from webarena_gym.templates.wikipedia.routes import FACTS, ME, open_article, open_list

TEMPLATES = t.Templates("hard")


def watched(world: t.Sampler, titles: Sequence[str]) -> dict[str, Any]:
    """My watchlist must hold what it holds now and these articles, none of which it may hold already."""
    if {row["title"] for row in world.rows(WATCHED)} & set(titles):
        raise t.NothingToDraw("articles that I do not watch yet")
    return t.state(WATCHED, expected=watchlist(world, plus=list(titles), minus=[]))


def watch(title: str, thought: str = "") -> list[Step]:
    """Return the steps that put an article on the watchlist."""
    return [*open_article(title, thought), t.click("Add to watchlist")]


@TEMPLATES.define(
    "I am looking for a {genre} film from the years {first} to {last} (both included) in which somebody plays who was born in {town}. There is just one. Put its article on my watchlist.",
    "{genre} film, released {first}-{last}, with an actor born in {town} in it. only one fits, pls add to watchlist",
    "My grandmother keeps talking of a film whose title she has forgotten: {genre}, made between {first} and {last}, and one of the people in it came from {town}, her own town. Only one film fits all that. I would like to watch its article.",
    "Which {genre} film that came out in {first} or later, but not after {last}, stars a native of {town}? Add that one to my watchlist.",
    "Find the film: genre {genre}, year {first} to {last}, someone in the cast was born in {town}. Then add the artcle to my watchlist.",
    sites=("wikipedia",),
    difficulty=("names", "needs"),
)
def film_with_native(world: t.Sampler) -> t.Draw:
    """Watch the film that is told by its genre, its years and where an actor was born."""
    casts = world.rows(
        FACTS
        + """SELECT s.title, lower(g.text) AS genre, CAST(y.number AS INTEGER) AS year, s.target AS actor, b.target AS town
        FROM facts s JOIN facts g ON g.article_id = s.article_id AND g.label = 'Genre'
            JOIN facts y ON y.article_id = s.article_id AND y.label = 'Released'
            JOIN facts b ON b.title = s.target AND b.label = 'Birthplace'
        WHERE s.kind = 'film' AND s.label = 'Starring' ORDER BY s.title, s.position"""
    )
    genre = world.rng.choice(sorted({row["genre"] for row in casts}))
    films = {row["title"]: row["year"] for row in casts if row["genre"] == genre}
    years = sorted(set(films.values()))
    first = world.rng.choice(years[: max(1, len(years) - 3)])
    last = next((year for year in years if sum(first <= each <= year for each in films.values()) >= 5), years[-1])
    span = sorted(title for title, year in films.items() if first <= year <= last)
    pairs = sorted({(row["town"], row["title"]) for row in casts if row["title"] in span})
    single = [(town, title) for town, title in pairs if sum(other == town for other, _ in pairs) == 1 and title in span[2:]]
    others = {row["town"] for row in casts if row["genre"] != genre or row["title"] not in span}
    single = [(town, title) for town, title in single if town in others]
    if not 4 <= len(span) <= 12:
        raise t.NothingToDraw("several films")
    town, wanted = world.rng.choice(single)
    looks = span[: span.index(wanted) + 1]
    actor = next(row["actor"] for row in casts if row["title"] == wanted and row["town"] == town)
    return t.Draw(
        {"genre": genre, "first": first, "last": last, "town": town},
        watched(world, [wanted]),
        [
            *open_list(world, "actors"),
            *open_list(world, "films"),
            *joined(*(open_article(title) for title in looks)),
            t.click("Add to watchlist", f"{actor} was born in {town}."),
            t.leave("", f"It is {wanted}."),
        ],
        evidence=[*looks, actor],
    )


_CALLINGS = {
    "scientist": "scientists",
    "writer": "writers",
    "actor": "actors",
    "musician": "musicians",
    "politician": "politicians",
}


@TEMPLATES.define(
    "Put the articles on my watchlist of all {people} who studied at {college} and whose article names an award. Graduates without one are not meant.",
    "watchlist: every one of the {people} with alma mater {college} AND at least one award in the infobox. nobody else",
    "For an alumni page I follow the prize winners of {college}. Please add those {people} to my watchlist who studied there and have won an award of any kind, as their own articles say. The lists do not show awards, so you have to look at each of them.",
    "Which {people} have {college} as their alma mater and an award to their name? All of these belong on my watchlist.",
    "I want to watch the {people} that went to {college}, but only if theres an award in their article.",
    sites=("wikipedia",),
    difficulty=("exhaustive", "needs"),
)
def prized_graduates(world: t.Sampler) -> t.Draw:
    """Watch the people of a calling who studied somewhere and won something."""
    rows = world.rows(
        FACTS
        + """SELECT m.kind, m.target AS college, m.title, EXISTS (
            SELECT 1 FROM fact a WHERE a.article_id = m.article_id AND a.label = 'Award') AS is_prized
        FROM facts m WHERE m.label = 'Alma mater' ORDER BY m.kind, m.target, m.title"""
    )
    groups: dict[tuple[str, str], list[t.Row]] = {}
    for row in rows:
        if row["kind"] in _CALLINGS:
            groups.setdefault((row["kind"], row["college"]), []).append(row)
    fit = [key for key, own in groups.items() if 3 <= len(own) <= 14 and 1 <= sum(row["is_prized"] for row in own) < len(own)]
    kind, college = world.rng.choice(fit)
    own = groups[kind, college]
    wanted = [row["title"] for row in own if row["is_prized"]]
    looks = joined(*(watch(row["title"]) if row["is_prized"] else open_article(row["title"]) for row in own))
    return t.Draw(
        {"people": _CALLINGS[kind], "college": college},
        watched(world, wanted),
        [*open_list(world, _CALLINGS[kind]), *looks, t.leave("", "The prize winners are on the watchlist.")],
        evidence=[row["title"] for row in own],
    )


@TEMPLATES.define(
    "Who was the youngest winner of the {prize}, by the year of the prize minus the year of birth? Put the article on that person on my watchlist.",
    "youngest person ever to win the {prize} (prize year - birth year) -> watchlist",
    "At what age do people win the {prize}? I would like to follow the one who was youngest at the time; simply take the year of the prize and the year of birth. Add that article to my watchlist, please.",
    "Look at everybody who has won the {prize}, and find out who had the fewest years between birth and prize. That article goes on my watchlist.",
    "The youngest winer of the {prize} (counting whole years from the year of birth to that of the prize) should be on my watchlist.",
    sites=("wikipedia",),
    difficulty=("optimum", "time"),
)
def youngest_winner(world: t.Sampler) -> t.Draw:
    """Watch the person who won a prize at the lowest age."""
    rows = world.rows(
        FACTS
        + """SELECT a.target AS prize, a.title, a.text, CAST(a.number AS INTEGER) AS won, CAST(b.number AS INTEGER) AS born, b.text AS birth
        FROM facts a JOIN facts b ON b.article_id = a.article_id AND b.label = 'Born'
        WHERE a.label = 'Award' ORDER BY a.target, a.title, a.position"""
    )
    prizes: dict[str, list[t.Row]] = {}
    for row in rows:
        prizes.setdefault(row["prize"], []).append(row)
    works = {row[0] for row in world.rows("SELECT DISTINCT target FROM fact JOIN article USING (article_id) WHERE label = 'Award' AND kind IN ('film', 'novel', 'album') ORDER BY 1")}  # fmt: skip
    fit = {prize: own for prize, own in prizes.items() if 4 <= len({row["title"] for row in own}) <= 26 and prize not in works}
    if not fit:
        fit = {prize: own for prize, own in prizes.items() if 4 <= len({row["title"] for row in own}) <= 26}
    prize = world.rng.choice(sorted(fit))
    own = sorted(fit[prize], key=lambda row: (row["won"] - row["born"], row["title"]))
    winners = list(dict.fromkeys(row["title"] for row in own))
    if own[0]["won"] - own[0]["born"] >= next(row["won"] - row["born"] for row in own if row["title"] != winners[0]):
        raise t.NothingToDraw("one who was youngest")
    looks = joined(*(open_article(title) for title in sorted(winners) if title != winners[0]))
    return t.Draw(
        {"prize": prize},
        watched(world, [winners[0]]),
        [
            *open_article(prize),
            *looks,
            *watch(winners[0], "Nobody else was as young."),
            t.leave("", f"It is {winners[0]}, {own[0]['won'] - own[0]['born']} years after the birth."),
        ],
        evidence=[*winners, *(row["birth"] for row in own)],
    )


@TEMPLATES.define(
    "You are looking at the contributions of {user}. Take the articles that {user} changed from {first} to {last}, and put those on my watchlist in which this is still the latest edit of all.",
    "{user}'s edits {first} - {last}: watchlist the articles where nobody edited after that",
    "I review what {user} writes. Of the articles that were edited by {user} in the days from {first} until {last}, some have been changed again since, and these do not interest me. Those that are still as {user} left them go on my watchlist.",
    "Please add to my watchlist: every article that {user} edited between {first} and {last} (both days included) and that has not been edited since then by anybody.",
    "From the list of edits by {user}, days {first} through {last}: which of these articles have had no edit afterwards, not by others and not by {user}? Watch these, and no othres.",
    sites=("wikipedia",),
    difficulty=("time", "exhaustive"),
)
def still_newest(world: t.Sampler) -> t.Draw:
    """Watch the articles that somebody edited in some days and nobody after that."""
    rng = world.rng
    user = world.pick(
        f"SELECT u.* FROM user u JOIN revision USING (user_id) WHERE user_id != {ME} GROUP BY user_id HAVING count(*) >= 8 ORDER BY user_id"
    )
    edits = world.rows(
        """SELECT r.revision_id, a.title, r.created_at, (SELECT max(n.revision_id) FROM revision n WHERE n.article_id = r.article_id) AS newest
        FROM revision r JOIN article a USING (article_id) WHERE user_id = ? ORDER BY r.revision_id DESC""",
        user["user_id"],
    )
    size = rng.randint(6, min(10, len(edits) - 1))
    ordered = sorted(edits, key=lambda row: str(row["created_at"]))
    start = rng.randrange(len(ordered) - size)
    first, last = (date.fromisoformat(ordered[place]["created_at"][:10]) for place in (start, start + size - 1))
    limit = str(last + timedelta(days=1))
    within = [row for row in edits if str(first) <= row["created_at"] < limit]
    titles = [row["title"] for row in within]
    wanted = [row["title"] for row in within if row["revision_id"] == row["newest"]]
    times = world.rows(
        "SELECT title, max(created_at) AS latest FROM revision JOIN article USING (article_id) GROUP BY article_id ORDER BY 1"
    )
    latest = {row["title"]: row["latest"] for row in times}
    if len(set(titles)) < len(titles) or not 1 <= len(wanted) < len(titles) or len(titles) > 12:
        raise t.NothingToDraw("articles of both kinds")
    if any((row["created_at"] == latest[row["title"]]) != (row["title"] in wanted) for row in within):
        raise t.NothingToDraw("edits in the order of time")
    looks = joined(*(watch(title) if title in wanted else open_article(title) for title in titles))
    turns = turn_pages(world, edits.index(within[-1]), HISTORY_PER_PAGE, "Older edits are on the next page.", "Next page")
    return t.Draw(
        {"user": user["username"], "first": as_written(first), "last": as_written(last)},
        watched(world, wanted),
        [*turns, *looks, t.leave("", "Those are watched now.")],
        start_url=f"__WIKIPEDIA__/user/{user['username']}",
        evidence=titles,
    )


@TEMPLATES.define(
    "There is a town in {state}, founded before {year}, whose mayor was born in {birthplace}. Put the article on that mayor (not on the town) on my watchlist.",
    "mayor of a town in {state} (town older than {year}), mayor was born in {birthplace} -> the mayors article on my watchlist",
    "I once met a mayor of some town in {state}, I have forgotten which; it was an old one, founded before {year}. The mayor told me of a childhood in {birthplace}, so born there. I would like to follow the article on this person.",
    "Who is the mayor born in {birthplace} that leads one of the towns in {state} which were founded before {year}? Add that person to my watchlist.",
    "Find the mayor: born in {birthplace}, in office in a town of {state} that was founded earlier then {year}. Watch the article on the mayor.",
    sites=("wikipedia",),
    difficulty=("names", "needs"),
)
def mayor_from_elsewhere(world: t.Sampler) -> t.Draw:
    """Watch the mayor who is told by the state and the age of the town, and by the birthplace."""
    rows = world.rows(
        FACTS
        + """SELECT s.title AS town, s.target AS state, CAST(y.number AS INTEGER) AS founded, m.target AS mayor, b.target AS birthplace
        FROM facts s JOIN facts y ON y.article_id = s.article_id AND y.label = 'Founded'
            JOIN facts m ON m.article_id = s.article_id AND m.label = 'Mayor'
            JOIN facts b ON b.title = m.target AND b.label = 'Birthplace'
        WHERE s.kind = 'town' AND s.label = 'State' ORDER BY s.title"""
    )
    state = world.rng.choice(sorted({row["state"] for row in rows}))
    own = [row for row in rows if row["state"] == state]
    year = world.rng.choice([row["founded"] for row in own]) + 1
    old = [row for row in own if row["founded"] < year]
    births = [row["birthplace"] for row in old]
    single = [row for row in old[1:] if births.count(row["birthplace"]) == 1 and row["birthplace"] != row["town"]]
    if not 3 <= len(old) <= 14 or not single:
        raise t.NothingToDraw("several mayors")
    row = world.rng.choice(single)
    seen = old[: old.index(row) + 1]
    all_towns = world.rows(
        FACTS + "SELECT title FROM facts WHERE kind = 'town' AND label = 'State' AND target = ? ORDER BY title", state
    )
    if len(all_towns) != len(own):
        raise t.NothingToDraw("towns with mayors")
    looks = joined(*([*open_article(each["town"]), t.click(each["mayor"])] for each in seen))
    return t.Draw(
        {"state": state, "year": year, "birthplace": row["birthplace"]},
        watched(world, [row["mayor"]]),
        [*open_list(world, "towns"), *looks, t.click("Add to watchlist"), t.leave("", f"It is {row['mayor']}.")],
        evidence=[text for each in seen for text in (each["town"], each["mayor"], each["birthplace"])],
    )


@TEMPLATES.define(
    "What is the longest novel (by pages) that is set in {state}, that is in a town of that state, and whose author is still alive? Put it on my watchlist.",
    "watchlist: longest novel set in some town of {state} by a living author",
    "I have a long flight ahead and want a thick book. It should be set somewhere in {state} (the articles name the town in which a novel is set), and the author should still be among us. Take the one with the most pages and add its article to my watchlist.",
    "Of all novels by living authors that are set in towns of {state}, which has the most pages? Please watch it for me.",
    "The novel with the most pages, provided the author has not died and that its set in a town in {state}, belongs on my watchlist. Find it.",
    sites=("wikipedia",),
    difficulty=("optimum", "needs"),
)
def longest_novel(world: t.Sampler) -> t.Draw:
    """Watch the longest novel that is set in a state and was written by somebody alive."""
    rows = world.rows(
        FACTS
        + """SELECT p.title, CAST(p.number AS INTEGER) AS pages, w.target AS author, o.target AS town, s.target AS state,
            EXISTS (SELECT 1 FROM facts d WHERE d.title = w.target AND d.label = 'Died') AS is_dead
        FROM facts p JOIN facts w ON w.article_id = p.article_id AND w.label = 'Author'
            LEFT JOIN facts o ON o.article_id = p.article_id AND o.label = 'Set in'
            LEFT JOIN facts s ON s.title = o.target AND s.label = 'State'
        WHERE p.kind = 'novel' AND p.label = 'Pages' ORDER BY p.number DESC, p.title"""
    )
    living = [row for row in rows if not row["is_dead"]]
    found = []
    for state in sorted({row["state"] for row in living if row["state"]}):
        fits = [place for place, row in enumerate(living) if row["state"] == state]
        place = fits[0]
        longer = [row for row in rows if row["pages"] > living[place]["pages"] and row["state"] == state]
        if 2 <= place <= 16 and longer and sum(row["pages"] == living[place]["pages"] for row in living) == 1:
            found.append((state, place))
    if not found:
        raise t.NothingToDraw("a novel that is not the first")
    state, place = world.rng.choice(found)
    looks = joined(*(open_article(row["title"]) for row in living[: place + 1]))
    wanted = living[place]
    return t.Draw(
        {"state": state},
        watched(world, [wanted["title"]]),
        [
            *open_list(world, "novels"),
            *open_list(world, "writers"),
            *open_list(world, "towns"),
            *looks,
            t.click("Add to watchlist", f"It is set in {wanted['town']}."),
            t.leave("", f"It is {wanted['title']}."),
        ],
        evidence=[*(row["title"] for row in living[: place + 1]), wanted["author"], wanted["town"]],
    )
