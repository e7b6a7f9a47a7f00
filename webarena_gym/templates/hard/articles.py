"""Articles of the encyclopedia that somebody has spoiled."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.wikipedia.markup import sections, whole
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import ago
from webarena_gym.templates.wikipedia.routes import ME, open_article

TEMPLATES = t.Templates("hard")

_ADVERTS = (
    "Visitors in the know book their stay with {brand}, the friendliest agency in the country.",
    "Thirsty? {brand} has the coldest drinks far and wide.",
    "As everybody here will tell you, {brand} is the best address for carpets.",
    "For a limited time {brand} offers ten percent off everything.",
    "Those who care for quality have long changed to {brand}.",
)
_GOOD = (
    "A small collection of letters about it is kept by the {brand} foundation, which has published two volumes of them.",
    "In 2019 a fire at the {brand} works next door did some damage, which has been repaired since.",
)
_FLAT = "trim(replace(replace(replace(replace(text, char(13), ''), char(10), ' '), '  ', ' '), '  ', ' '))"


def edits_are(world: t.Sampler, edits: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """The edits since the start must be these, each by me: title, new text, and summary. Line breaks do not matter."""
    query = f"""SELECT title, user_id, {_FLAT}, summary FROM revision JOIN article USING (article_id)
        WHERE revision_id > ? ORDER BY title, revision_id"""
    expected = [[title, ME, " ".join(text.split()), summary] for title, text, summary in sorted(edits)]
    return t.state(query, world.value("SELECT max(revision_id) FROM revision"), expected=expected)


@TEMPLATES.define(
    'The user {user} has written advertising for {brand} into several articles. Take each of these sentences out again, with the summary "{summary}", and leave everything else as it is, '
    "also what {user} wrote that is not advertising.",
    '{user} put ads for {brand} in a bunch of articles. remove the ad sentences (only those!), summary "{summary}"',
    'Somebody has to clean up behind {user}: this person keeps praising {brand} in our articles. Remove the praise, sentence by sentence, with "{summary}" as the summary of each change. '
    "Sober facts may stay, even if the name occurs in them.",
    'You are looking at the contributions of {user}. Whatever there advertises {brand} must go (summary: "{summary}"); the rest of the articles must not change.',
    'Please remove the advertisments for {brand} that {user} has added to articles. Summary "{summary}". Informative sentences are fine.',
    sites=("wikipedia",),
    difficulty=("recovery", "restraint", "reading"),
)
def remove_adverts(world: t.Sampler) -> t.Draw:
    """Take advertising out of articles, and leave what is none."""
    user = world.pick(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY user_id")
    brand = world.rng.choice(("Halmoro", "Vintaleck", "Ostrubine", "Perrowald"))
    summary = world.rng.choice(("removed advertising", "no ads please", "reverted promotion"))
    pages = world.rows(
        "SELECT * FROM page WHERE kind IN ('museum', 'university', 'town', 'theater', 'library', 'stadium') ORDER BY article_id"
    )
    usable = [page for page in pages if any(part.heading == "History" for part in sections(page["text"]))]
    count = world.rng.randint(3, 4)
    chosen = world.rng.sample(usable, count + 2)
    adverts, goods = world.rng.sample(_ADVERTS, count), world.rng.sample(_GOOD, 2)
    lines = [(text, True) for text in adverts] + [(text, False) for text in goods]
    order = list(range(len(lines)))
    world.rng.shuffle(order)
    steps: list[Step] = []
    expected: list[tuple[str, str, str]] = []
    said: list[str] = []
    for number, place in enumerate(order):
        page, (line, is_advert) = chosen[place], lines[place]
        line = line.format(brand=brand)
        said.append(line)
        parts = sections(page["text"])
        index = next(index for index, part in enumerate(parts) if part.heading == "History")
        before = parts[index].body
        paragraphs = before.split("\n\n")
        spot = world.rng.randrange(len(paragraphs))
        paragraphs[spot] = f"{paragraphs[spot]} {line}"
        parts[index] = parts[index]._replace(body="\n\n".join(paragraphs))
        world.plant(
            "revision",
            article_id=page["article_id"],
            user_id=user["user_id"],
            text=whole(parts),
            summary=world.rng.choice(("more facts", "added a detail", "")),
            created_at=ago(world, hours=3 + 2 * number),
        )
        steps += open_article(page["title"])
        if is_advert:
            steps += [
                t.click("Edit section History"),
                t.type_text("Text", before, "Without the sentence that advertises."),
                t.type_text("Summary of the change", summary),
                t.click("Save changes"),
            ]
            expected.append((page["title"], page["text"], summary))
    return t.Draw(
        {"user": user["username"], "brand": brand, "summary": summary},
        edits_are(world, expected),
        [*steps, t.leave("", "The advertising is gone.")],
        start_url=f"__WIKIPEDIA__/user/{user['username']}",
        evidence=said,
    )
