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
    "I am looking for a {genre} film from the years {first} to {last} (both included) with somebody in the cast who was born in {town}. There is just one. Put its article on my watchlist.",
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
    "Who was the {extreme} winner of the {prize}, by the year of the prize minus the year of birth? Put the article on that person on my watchlist.",
    "{extreme} person ever to win the {prize} (prize year - birth year) -> watchlist",
    "At what age do people win the {prize}? I would like to follow the one who was {extreme} at the time; simply take the year of the prize and the year of birth. Add that article to my watchlist, please.",
    "Look at everybody who has won the {prize}, and find out who was {extreme}, by the years between birth and prize. That article goes on my watchlist.",
    "The {extreme} winer of the {prize} (counting whole years from the year of birth to that of the prize) should be on my watchlist.",
    sites=("wikipedia",),
    difficulty=("optimum", "time"),
)
def youngest_winner(world: t.Sampler) -> t.Draw:
    """Watch the person who won a prize at the lowest or at the highest age."""
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
    extreme = world.rng.choice(("youngest", "oldest"))
    sign = 1 if extreme == "youngest" else -1
    own = sorted(fit[prize], key=lambda row: (sign * (row["won"] - row["born"]), row["title"]))
    winners = list(dict.fromkeys(row["title"] for row in own))
    if own[0]["won"] - own[0]["born"] == next(row["won"] - row["born"] for row in own if row["title"] != winners[0]):
        raise t.NothingToDraw(f"one who was {extreme}")
    looks = joined(*(open_article(title) for title in sorted(winners) if title != winners[0]))
    return t.Draw(
        {"prize": prize, "extreme": extreme},
        watched(world, [winners[0]]),
        [
            *open_article(prize),
            *looks,
            *watch(winners[0], f"Nobody else was the {extreme}."),
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
        FROM revision r JOIN article a USING (article_id) WHERE user_id = ? ORDER BY r.created_at DESC, r.revision_id DESC""",
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
    "Of all films that are based on novels from {year} or later by writers born in {state} (in any town there), which is the {extreme}, by running time? Put that film on my watchlist.",
    "{extreme} film based on a novel (published {year} or later) whose author was born in {state} -> watchlist (the film)",
    "We plan an evening with films made from books of our region. The author of the book must have been born in a town of {state}, and the book published in {year} or after that; where the film was made does not matter. Please add the {extreme} film of this kind, in minutes, to my watchlist.",
    "Look at the novels by natives of {state} that appeared in {year} or later, and at the films that were made from them. The film with the {extreme} running time goes on my watchlist.",
    "Which {extreme} film has been made from a novel that came out in {year} or later, by a writer who was born in one of the towns of {state}? I want it on my wachlist, the film and not the novel.",
    sites=("wikipedia",),
    difficulty=("optimum", "needs"),
)
def extreme_adaptation(world: t.Sampler) -> t.Draw:
    """Watch the longest or the shortest film that was made of a book by somebody from a state."""
    rows = world.rows(
        FACTS
        + """SELECT w.title AS novel, w.target AS author, s.target AS state, f.title AS film, CAST(r.number AS INTEGER) AS minutes, r.text,
            CAST(y.number AS INTEGER) AS year
        FROM facts w JOIN facts y ON y.article_id = w.article_id AND y.label = 'Published'
            JOIN facts b ON b.title = w.target AND b.label = 'Birthplace'
            JOIN facts s ON s.title = b.target AND s.label = 'State'
            LEFT JOIN facts f ON f.target = w.title AND f.label = 'Based on'
            LEFT JOIN facts r ON r.article_id = f.article_id AND r.label = 'Running time'
        WHERE w.kind = 'novel' AND w.label = 'Author' ORDER BY w.title, f.title"""
    )
    extreme = world.rng.choice(("longest", "shortest"))
    found = []
    for state in sorted({row["state"] for row in rows}):
        for year in sorted({row["year"] for row in rows if row["state"] == state}):
            own = [row for row in rows if row["state"] == state and row["year"] >= year]
            films = sorted(
                (row for row in own if row["film"]), key=lambda row: int(row["minutes"]), reverse=extreme == "longest"
            )
            novels = list(dict.fromkeys(row["novel"] for row in own))
            if len(films) > 1 and films[0]["minutes"] != films[1]["minutes"] and 5 <= len(novels) <= 20:
                found.append((state, year, films, novels))
    if not found:
        raise t.NothingToDraw("films to compare")
    state, year, films, novels = world.rng.choice(found)
    wanted = films[0]["film"]
    return t.Draw(
        {"state": state, "extreme": extreme, "year": year},
        watched(world, [wanted]),
        [
            *open_list(world, "towns"),
            *open_list(world, "writers"),
            *open_list(world, "novels"),
            *joined(*(open_article(title) for title in novels)),
            *open_list(world, "films"),
            *watch(wanted, f"It has {films[0]['text']}."),
            t.leave("", f"It is {wanted}."),
        ],
        evidence=[*novels, *(text for row in films for text in (row["film"], row["text"]))],
    )


@TEMPLATES.define(
    "What is the longest novel (by pages) published in {year} or later that is set in {state}, that is in a town of that state, and whose author is still alive? Put it on my watchlist.",
    "watchlist: longest novel set in some town of {state} by a living author, published {year} or later",
    "I have a long flight ahead and want a thick book. It should be set somewhere in {state} (the articles name the town in which a novel is set), and the author should still be among us. Nothing from before {year}, please. Take the one with the most pages and add its article to my watchlist.",
    "Of all novels by living authors that came out in {year} or later and are set in towns of {state}, which has the most pages? Please watch it for me.",
    "The novel with the most pages, provided the author has not died, it appeared no earlier than {year} and its set in a town in {state}, belongs on my watchlist. Find it.",
    sites=("wikipedia",),
    difficulty=("optimum", "needs"),
)
def longest_novel(world: t.Sampler) -> t.Draw:
    """Watch the longest novel that is set in a state and was written by somebody alive."""
    rows = world.rows(
        FACTS
        + """SELECT p.title, CAST(p.number AS INTEGER) AS pages, CAST(y.number AS INTEGER) AS year, w.target AS author, o.target AS town, s.target AS state,
            EXISTS (SELECT 1 FROM facts d WHERE d.title = w.target AND d.label = 'Died') AS is_dead
        FROM facts p JOIN facts w ON w.article_id = p.article_id AND w.label = 'Author'
            JOIN facts y ON y.article_id = p.article_id AND y.label = 'Published'
            LEFT JOIN facts o ON o.article_id = p.article_id AND o.label = 'Set in'
            LEFT JOIN facts s ON s.title = o.target AND s.label = 'State'
        WHERE p.kind = 'novel' AND p.label = 'Pages' ORDER BY p.number DESC, p.title"""
    )
    alive = [row for row in rows if not row["is_dead"]]
    found = []
    for year in sorted({row["year"] for row in alive}):
        living = [row for row in alive if row["year"] >= year]
        for state in sorted({row["state"] for row in living if row["state"]}):
            place = next(place for place, row in enumerate(living) if row["state"] == state)
            if 3 <= place <= 16 and sum(row["pages"] == living[place]["pages"] for row in living) == 1:
                found.append((year, state, living[: place + 1]))
    if not found:
        raise t.NothingToDraw("a novel that is not the first")
    year, state, seen = world.rng.choice(found)
    wanted = seen[-1]
    looks = joined(*(open_article(row["title"]) for row in seen))
    return t.Draw(
        {"state": state, "year": year},
        watched(world, [wanted["title"]]),
        [
            *open_list(world, "novels"),
            *open_list(world, "writers"),
            *open_list(world, "towns"),
            *looks,
            t.click("Add to watchlist", f"It is set in {wanted['town']}."),
            t.leave("", f"It is {wanted['title']}."),
        ],
        evidence=[*(row["title"] for row in seen), wanted["author"], wanted["town"]],
    )
