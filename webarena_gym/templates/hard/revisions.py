"""What a user of the encyclopedia has changed in the last days: figures to be put right, and edits that still stand."""

from datetime import datetime

from webarena_gym.sites.wikipedia.markup import Section, sections, whole
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.articles import edits_are
from webarena_gym.templates.hard.ways import ago
from webarena_gym.templates.wikipedia.changes import WATCHED, watchlist
from webarena_gym.templates.wikipedia.routes import FACTS, ME, open_article

TEMPLATES = t.Templates("hard")

_PART = "In figures"


def misprinted(world: t.Sampler, text: str) -> str:
    """Return a figure with one digit that differs, and is not the first."""
    places = [place for place, sign in enumerate(text) if sign.isdigit()][1:]
    if not places:
        raise t.NothingToDraw("a figure of several digits")
    place = world.rng.choice(places)
    return text[:place] + str((int(text[place]) + world.rng.choice((1, 2, 3, 5))) % 10) + text[place + 1 :]


@TEMPLATES.define(
    'The user {user} has changed figures in the sections "{part}" of several articles. Some of these changes were corrections, others are wrong: the table at the side of the same article tells. Put right each figure that disagrees with the table, with '
    'the summary "{summary}", one edit an article. Articles where everything agrees are not edited.',
    '{user} fiddled with numbers (section "{part}") in a couple of articles. the infobox of each article is right. fix whatever differs from it, summary "{summary}", 1 edit per article max, no edit where nothing is wrong',
    'Please look at what {user} has done lately: numbers in the sections "{part}" were changed, and not always for the better. The box with the facts in each of these articles is reliable. Where a number of the section differs from it, correct the number '
    '(summary of the edit: "{summary}"); keep good changes, and leave correct articles alone.',
    'You are looking at the edits of {user}. In each of the articles compare the section "{part}" with the table of facts, and correct in one edit with the summary "{summary}" every figure that does not agree with the table. Nothing to correct, no edit.',
    'Somebody called {user} "improves" numbers in our articles, section "{part}". Half of it is fine, half is nonsense. The infobox has the truth. Correct the nonsense and only that, article by article, with "{summary}" as the sumary.',
    sites=("wikipedia",),
    difficulty=("recovery", "exhaustive", "restraint"),
)  # fmt: skip
def restore_figures(world: t.Sampler) -> t.Draw:
    """Put right those figures that somebody has changed and that disagree with the facts of the article."""
    rng = world.rng
    user = world.pick(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY user_id")
    summary = rng.choice(("figures as in the table", "wrong numbers corrected", "back to the facts"))
    facts: dict[int, list[t.Row]] = {}
    for row in world.rows(
        FACTS
        + "SELECT * FROM facts WHERE number IS NOT NULL AND kind IN ('museum', 'university', 'airport', 'bridge', 'hospital', 'stadium', 'library', 'company', 'theater') AND length(text) < 40 AND text NOT LIKE '%[%' ORDER BY article_id, position"
    ):
        facts.setdefault(row["article_id"], []).append(row)
    usable = [article for article, rows in facts.items() if len(rows) >= 2]
    plan = ["good", "bad", "bad", "both", "old fault", "harmless", rng.choice(("bad", "both"))]
    rng.shuffle(plan)
    steps: list[Step] = []
    edits: list[tuple[str, str, str]] = []
    evidence: list[str] = []
    for place, (fate, article) in enumerate(zip(plan, rng.sample(usable, len(plan)), strict=True)):
        page = world.rows("SELECT * FROM page WHERE article_id = ?", article)[0]
        rows = facts[article]
        first, second = rng.sample(range(len(rows)), 2)
        right = [f"{row['label']}: {row['text']}" for row in rows]

        def with_faults(*wrong: int, right: list[str] = right) -> str:
            return "\n".join(f"* {misprinted(world, line) if number in wrong else line}" for number, line in enumerate(right))

        before, after = {
            "good": ((first,), ()),
            "bad": ((), (first,)),
            "both": ((first,), (second,)),
            "old fault": ((first, second), (second,)),
            "harmless": ((), ()),
        }[fate]
        parts = [part for part in sections(page["text"]) if part.heading != "See also"]
        rest = [part for part in sections(page["text"]) if part.heading == "See also"]
        texts = [
            whole([*parts, Section(_PART, body), *rest]) for body in (with_faults(*before), with_faults(*after), with_faults())
        ]
        if fate == "old fault":
            # What was wrong before and still is must read the same in both.
            lines = texts[1].split("\n")
            olds = [line for line in texts[0].split("\n") if line.startswith(f"* {rows[second]['label']}: ")]
            texts[0] = "\n".join(
                olds[0] if line.startswith(f"* {rows[second]['label']}: ") else line for line in texts[0].split("\n")
            )
            texts[1] = "\n".join(olds[0] if line.startswith(f"* {rows[second]['label']}: ") else line for line in lines)
        if fate == "harmless":
            texts[1] = texts[1].replace("* ", "*  ", 1)
        world.alter("revision", {"revision_id": page["revision_id"]}, text=texts[0])
        world.plant(
            "revision", article_id=article, user_id=user["user_id"], text=texts[1], summary=rng.choice(("better figures", "number", "corrected", "")),
            created_at=ago(world, hours=5 + 3 * place),
        )  # fmt: skip
        steps += open_article(page["title"])
        evidence += [page["title"], *(row["text"] for row in rows)]
        if fate not in ("good", "harmless"):
            steps += [
                t.click(f"Edit section {_PART}", "A figure disagrees with the table."),
                t.type_text("Text", with_faults()),
                t.type_text("Summary of the change", summary),
                t.click("Save changes"),
            ]
            edits.append((page["title"], texts[2], summary))
    return t.Draw(
        {"user": user["username"], "part": _PART, "summary": summary},
        edits_are(world, edits),
        [*steps, t.leave("", "All figures agree with the tables.")],
        start_url=f"__WIKIPEDIA__/user/{user['username']}",
        evidence=evidence,
    )


@TEMPLATES.define(
    "Of the articles that {user} has edited since {day}, put those on my watchlist in which nobody has changed anything after {user}. If somebody else has the last word in an article, and the article is on my watchlist, take it off.",
    "go thru the articles {user} edited since {day}. last edit of the article is by {user} -> add to my watchlist. someone else edited later -> remove it from watchlist if its there",
    "I keep an eye on {user}. Every article that {user} has edited since {day}, and that has not been edited by anybody else afterwards, belongs on my watchlist. The ones where others have been at work since then do not belong there any more. "
    "The rest of my watchlist stays.",
    "Please bring my watchlist up to date, as far as articles are concerned that {user} edited on {day} or later: those whose newest edit is by {user} on, those whose newest edit is by somebody else off.",
    "Look at the history of each article edited by {user} from {day} on. Newest edit by {user}: watch it. Newest edit by another person: do not watch it (any longer). Older edits of {user} do not interest me, and other watched articels remain.",
    sites=("wikipedia",),
    difficulty=("time", "exhaustive", "restraint"),
)  # fmt: skip
def watch_last_words(world: t.Sampler) -> t.Draw:
    """Watch the articles in which somebody's edits of the last days still stand, and no others of theirs."""
    rng = world.rng
    days = rng.randint(5, 12)
    newest = world.value("SELECT max(created_at) FROM revision")
    if newest > ago(world, days=days + 9):
        raise t.NothingToDraw("days without edits")
    user, *others = rng.sample(world.rows(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY user_id"), 4)
    watched = {row["title"] for row in world.rows(WATCHED)}
    pages = [
        page
        for page in world.rows(
            "SELECT * FROM page WHERE kind IN ('town', 'film', 'novel', 'museum', 'company', 'scientist') ORDER BY article_id"
        )
        if page["title"] not in watched and len(sections(page["text"])) > 2
    ]
    plan = ["stands", "stands", "stands", "changed", "changed, watched", "stands, watched", "changed back", "too old"]
    rng.shuffle(plan)
    looks: list[Step] = []
    plus: list[str] = []
    minus: list[str] = []
    titles: list[str] = []
    for place, (fate, page) in enumerate(zip(plan, rng.sample(pages, len(plan)), strict=True)):
        title, text = page["title"], page["text"]
        first = ago(world, days=days + 3, hours=place) if fate == "too old" else ago(world, days=days - 2, hours=5 * place)
        edited = f"{text} "
        made = [(user, f"{edited}", first)]
        if fate in ("changed", "changed, watched", "changed back"):
            made.append((rng.choice(others), f"{edited} ", ago(world, days=2, hours=place)))
        if fate == "changed back":
            made.append((user, f"{edited}  ", ago(world, days=1, hours=place)))
        for author, changed, moment in made:
            world.plant(
                "revision",
                article_id=page["article_id"],
                user_id=author["user_id"],
                text=changed,
                summary=rng.choice(("spacing", "typo", "")),
                created_at=moment,
            )
        if fate.endswith("watched"):
            world.plant("watch", user_id=ME, article_id=page["article_id"])
        if fate == "too old":
            continue
        titles.append(title)
        looks += [*open_article(title), t.click("View history")]
        if fate in ("stands", "changed back"):
            looks += [t.click("Read", f"{user['username']} has the last word."), t.click("Add to watchlist")]
            plus.append(title)
        elif fate == "changed, watched":
            looks += [t.click("Read", "Somebody else has the last word."), t.click("Remove from watchlist")]
            minus.append(title)
    day = datetime.fromisoformat(ago(world, days=days))
    return t.Draw(
        {"user": user["username"], "day": f"{day:%B} {day.day}, {day.year}"},
        t.state(WATCHED, expected=watchlist(world, plus=plus, minus=minus)),
        [*looks, t.leave("", "The watchlist is up to date.")],
        start_url=f"__WIKIPEDIA__/user/{user['username']}",
        evidence=titles,
    )
