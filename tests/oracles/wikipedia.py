"""Oracles of the encyclopedia: watchlists, edits to take back, and articles found by their infoboxes."""

import re
from datetime import datetime
from typing import Any

from tests.oracles.framework import Case, Outcome, UnclearError, added, only, removed

ME = 1  # the signed-in user of the encyclopedia


def facts(case: Case, label: str, title: str) -> list[dict[str, Any]]:
    """Return the lines with that label of the infobox of an article."""
    query = "SELECT f.* FROM fact f JOIN article a USING (article_id) WHERE a.title = ? AND f.label = ?"
    return case.rows("wikipedia", query, title, label)


def fact(case: Case, label: str, title: str, column: str = "target") -> Any:
    """Return the value of the only line with that label."""
    return only(facts(case, label, title), f"{label} of {title}")[column]


def titles(case: Case, kind: str) -> list[str]:
    """Return the titles of all articles of a kind."""
    return case.values("wikipedia", "SELECT title FROM article WHERE kind = ? ORDER BY article_id", kind)


def article_id(case: Case, title: str) -> int:
    return int(case.value("wikipedia", "SELECT article_id FROM article WHERE title = ?", title))


def is_watched(case: Case, article: int) -> bool:
    return bool(case.values("wikipedia", "SELECT 1 FROM watch WHERE user_id = ? AND article_id = ?", ME, article))


def watch(case: Case, *watched: str) -> Outcome:
    """Demand that these articles come onto the watchlist."""
    numbers = [article_id(case, title) for title in watched]
    if any(is_watched(case, number) for number in numbers):
        raise UnclearError(f"one of {watched} is on the watchlist already")
    return Outcome(changes=[added("wikipedia", "watch", user_id=ME, article_id=number) for number in numbers])


def user_id(case: Case, username: str) -> int:
    return int(case.value("wikipedia", "SELECT user_id FROM user WHERE username = ?", username))


def day_of(text: str) -> str:
    """Return the ISO date of a date like March 7, 2022."""
    return datetime.strptime(text, "%B %d, %Y").date().isoformat()


def extreme(candidates: list[tuple[float, str]], word: str) -> str:
    """Return the name with the largest or smallest value. Raises UnclearError for two."""
    most = {"longest": max, "oldest": max, "shortest": min, "youngest": min}[word](value for value, _ in candidates)
    return str(only({name for value, name in candidates if value == most}, word))


def newest(case: Case, article: int) -> dict[str, Any]:
    """Return the newest revision of an article."""
    query = "SELECT * FROM revision WHERE article_id = ? ORDER BY revision_id DESC LIMIT 1"
    return case.row("wikipedia", query, article)


_ADVERTS = {  # sentences about a brand: advertising or not
    "As everybody here will tell you, BRAND is the best address for carpets.": True,
    "For a limited time BRAND offers ten percent off everything.": True,
    "Thirsty? BRAND has the coldest drinks far and wide.": True,
    "Those who care for quality have long changed to BRAND.": True,
    "Visitors in the know book their stay with BRAND, the friendliest agency in the country.": True,
    "A small collection of letters about it is kept by the BRAND foundation, which has published two volumes of them.": False,
    "In 2019 a fire at the BRAND works next door did some damage, which has been repaired since.": False,
}


def remove_adverts(case: Case) -> Outcome:
    """Take the advertising of a user out of articles."""
    outcome, user = Outcome(), user_id(case, case["user"])
    query = "SELECT DISTINCT article_id FROM revision WHERE user_id = ? AND instr(text, ?) ORDER BY article_id"
    for article in case.values("wikipedia", query, user, case["brand"]):
        revision = newest(case, article)
        text, found = revision["text"], 0
        for pattern, is_advert in _ADVERTS.items():
            sentence = pattern.replace("BRAND", case["brand"])
            found += text.count(sentence)
            if is_advert and sentence in text:
                if revision["user_id"] != user:
                    raise UnclearError("somebody has edited the article after the user")
                text = text.replace(f" {sentence}", "").replace(f"\n\n{sentence}", "")
        if found != 1 or revision["text"].count(case["brand"]) != found:
            raise UnclearError(f"what article {article} says of {case['brand']}")
        if text != revision["text"]:
            outcome.changes.append(
                added("wikipedia", "revision", user_id=ME, article_id=article, text=text, summary=case["summary"])
            )
    return outcome


def restore_figures(case: Case) -> Outcome:
    """Correct figures of a section that differ from the infobox, in articles that a user has edited."""
    outcome, user = Outcome(), user_id(case, case["user"])
    heading = f"== {case['part']} =="
    query = "SELECT DISTINCT article_id FROM revision WHERE user_id = ? AND instr(text, ?) ORDER BY article_id"
    for article in case.values("wikipedia", query, user, heading):
        text = newest(case, article)["text"]
        start = text.index(heading)
        end = text.find("\n== ", start + 1)
        section = text[start:] if end < 0 else text[start:end]
        box = {row["label"]: row["text"] for row in case.rows("wikipedia", "SELECT * FROM fact WHERE article_id = ?", article)}

        def right(match: re.Match[str], box: dict[str, str] = box) -> str:
            if match["label"] not in box:
                raise UnclearError(f"the infobox has no line {match['label']}")
            return f"{match['before']}{box[match['label']]}"

        corrected = re.sub(r"(?P<before>\* +(?P<label>[^:\n]+): )[^\n]+", right, section)
        if corrected != section:
            new = text.replace(section, corrected)
            outcome.changes.append(
                added("wikipedia", "revision", user_id=ME, article_id=article, text=new, summary=case["summary"])
            )
    return outcome


def watch_last_words(case: Case) -> Outcome:
    """Watch recent articles of a user whose newest edit is the user's, and no others of them."""
    outcome, user = Outcome(), user_id(case, case["user"])
    query = "SELECT DISTINCT article_id FROM revision WHERE user_id = ? AND date(created_at) >= ? ORDER BY article_id"
    for article in case.values("wikipedia", query, user, day_of(case["day"])):
        is_last, watched = newest(case, article)["user_id"] == user, is_watched(case, article)
        if is_last and not watched:
            outcome.changes.append(added("wikipedia", "watch", user_id=ME, article_id=article))
        if watched and not is_last:
            outcome.changes.append(removed("wikipedia", "watch", user_id=ME, article_id=article))
    return outcome


_ENTRY = {  # sentences about entry: free for everybody at any time, or not
    "A plan to ask for money at the door was buried, so that everybody still comes in free.": True,
    "Entry has cost nothing to anybody since a bequest that pays for the upkeep.": True,
    "It was one of the first in the country to give up its fee for all visitors, and has never gone back on that.": True,
    "Nobody has paid for a ticket here in this century, except for the tickets that the shop sells as souvenirs.": True,
    "The ticket desk was taken out for good some years ago, and since then visitors walk straight in.": True,
    "A proposal to drop the fee was turned down once, and years later once more.": False,
    "Children pay nothing, and adults half of what they paid ten years ago.": False,
    "Entry was free until the roof had to be paid for.": False,
    "Free entry for all, announced for the anniversary, lasted a single weekend.": False,
    "Members of the society and people from the town come in without paying, the others support them with their tickets.": False,
    "On the first Sunday of a month nobody pays; the queue is said to be the longest in the region.": False,
}


def watch_free_entry(case: Case) -> Outcome:
    """Watch those of several articles that tell of free entry for everybody at any time."""
    free = []
    for title in re.split(r", | and (?=[^,]*$)", case["titles"]):
        text = newest(case, article_id(case, title))["text"]
        found = only([is_free for sentence, is_free in _ENTRY.items() if sentence in text], f"sentences on entry to {title}")
        if found:
            free.append(title)
    return watch(case, *free)


def film_with_native(case: Case) -> Outcome:
    """Watch the only film of a genre and some years with a native of a town in the cast."""
    query = """SELECT DISTINCT film.title FROM article film
        JOIN fact genre ON genre.article_id = film.article_id AND genre.label = 'Genre' AND lower(genre.text) = lower(?)
        JOIN fact year ON year.article_id = film.article_id AND year.label = 'Released' AND year.number BETWEEN ? AND ?
        JOIN fact star ON star.article_id = film.article_id AND star.label = 'Starring'
        JOIN article actor ON actor.title = star.target
        JOIN fact birth ON birth.article_id = actor.article_id AND birth.label = 'Birthplace' AND birth.target = ?
        WHERE film.kind = 'film'"""
    parameters = case["genre"], int(case["first"]), int(case["last"]), case["town"]
    return watch(case, case.value("wikipedia", query, *parameters))


def prized_graduates(case: Case) -> Outcome:
    """Watch all people of a profession who studied at a college and have an award."""
    query = """SELECT a.title FROM article a WHERE a.kind = ?
        AND EXISTS (SELECT 1 FROM fact WHERE article_id = a.article_id AND label = 'Alma mater' AND target = ?)
        AND EXISTS (SELECT 1 FROM fact WHERE article_id = a.article_id AND label IN ('Award', 'Awards', 'Prize'))"""
    return watch(case, *case.values("wikipedia", query, case["people"].removesuffix("s"), case["college"]))


def youngest_winner(case: Case) -> Outcome:
    """Watch the winner of a prize who was the youngest or oldest at the time."""
    text = newest(case, article_id(case, case["prize"]))["text"]
    winners = re.findall(r"\| (\d{4}) \| \[\[([^\]|]+)", text)
    ages = [(int(year) - fact(case, "Born", winner, "number"), winner) for year, winner in winners]
    return watch(case, extreme(ages, case["extreme"]))


def still_newest(case: Case) -> Outcome:
    """Watch the articles that a user changed in some days and that nobody has changed since."""
    user = user_id(case, case["user"])
    query = """SELECT a.title FROM article a JOIN revision r ON r.article_id = a.article_id
        WHERE r.revision_id = (SELECT max(revision_id) FROM revision WHERE article_id = a.article_id)
        AND r.user_id = ? AND date(r.created_at) BETWEEN ? AND ?"""
    return watch(case, *case.values("wikipedia", query, user, day_of(case["first"]), day_of(case["last"])))


def extreme_adaptation(case: Case) -> Outcome:
    """Watch the longest or shortest film of a novel by a writer born in a state."""
    candidates = []
    for film in titles(case, "film"):
        for base in facts(case, "Based on", film):
            published = facts(case, "Published", base["target"])
            if not published or published[0]["number"] < int(case["year"]):
                continue
            town = fact(case, "Birthplace", fact(case, "Author", base["target"]))
            if fact(case, "State", town) == case["state"]:
                candidates.append((fact(case, "Running time", film, "number"), film))
    return watch(case, extreme(candidates, case["extreme"]))


def longest_novel(case: Case) -> Outcome:
    """Watch the novel with the most pages among those of living authors set in a state."""
    candidates = []
    for novel in titles(case, "novel"):
        places = facts(case, "Set in", novel)
        if fact(case, "Published", novel, "number") < int(case["year"]) or not places:
            continue
        is_there = case["state"] in {fact(case, "State", place["target"]) for place in places}
        if is_there and not facts(case, "Died", fact(case, "Author", novel)):
            candidates.append((fact(case, "Pages", novel, "number"), novel))
    return watch(case, extreme(candidates, "longest"))


ORACLES = {
    "hard.remove_adverts": remove_adverts,
    "hard.restore_figures": restore_figures,
    "hard.watch_last_words": watch_last_words,
    "hard.watch_free_entry": watch_free_entry,
    "hard.article_for_assistants": watch_free_entry,
    "hard.film_with_native": film_with_native,
    "hard.prized_graduates": prized_graduates,
    "hard.youngest_winner": youngest_winner,
    "hard.still_newest": still_newest,
    "hard.extreme_adaptation": extreme_adaptation,
    "hard.longest_novel": longest_novel,
}
