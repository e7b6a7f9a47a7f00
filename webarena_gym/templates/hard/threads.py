"""Threads and forums: who was really there, what a forum's rules remove, and posts to vote on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from webarena_gym.sites.reddit.texts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import ago, findable
from webarena_gym.templates.reddit.communities import OWN
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, open_forum, open_post, open_user, word
from webarena_gym.templates.reddit.votes import votes_are
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")
_LIVELY = 5000  # posts of a world in which people write so much that a month is long


class Subject(NamedTuple):
    """Something that a thread is about: its title, what witnesses are called in a goal, and what both kinds of people write."""

    title: str
    done: str
    witnesses: tuple[str, ...]
    others: tuple[str, ...]


SUBJECTS = (
    Subject(
        "The night train to {word}: is it worth it?",
        "taken that train themselves",
        (
            "Took it in autumn. Hard beds, friendly crew, on time to the minute.",
            "I was on it twice last year and would do it again, but bring a pillow.",
            "Never again. Nine hours in a compartment with a broken heater, and the breakfast was a biscuit.",
            "Everybody here seems to quote the brochure. I got out at six in the morning last Friday and had actually slept.",
            "My husband laughed at me for taking earplugs along. He did not laugh any more when we arrived.",
            "Correction to what I wrote elsewhere: it was not the one to the coast, it was this one. The upper bunk is far too short for me.",
        ),
        (
            "My neighbor swears by it, so it must be good.",
            "I have read every review there is, and they sound wonderful. Next month will be my first time!",
            "Oh, I slept like a king. At home, that is, because it was canceled once more.",
            "Had a ticket, then fell ill and gave it to my sister. She says that the beds are fine.",
            "It was quiet, the staff was kind, and the coffee was decent. EDIT: sorry, wrong thread, I meant the ferry.",
            "> Took it in autumn. Hard beds, friendly crew.\n\nHow hard are they? I have a bad back.",
            "People who complain about a heater have never seen a winter in the north. Of course it is worth it, trains always are.",
        ),
    ),
    Subject(
        "Has anybody finished the {word} trail?",
        "walked that trail to its end themselves",
        (
            "Done, last summer. The final two days are the best, do not leave before them.",
            "It took us eleven days, and my knees have not forgiven me. The last hut was closed.",
            "Finished it in the rain. There is a small bell at the end that you may ring, and I did.",
            "They told me that nobody over sixty gets to the end. I am sixty-eight and I did, with two sticks and much chocolate.",
            "Reached the lighthouse on a Sunday, and found that no bus goes back from there on Sundays. Otherwise perfect.",
        ),
        (
            "Almost. We turned back at the third hut because of my shoes.",
            "My whole family has, and at dinner they talk of nothing else.",
            "The pictures of the end are stunning, I have them as my wallpaper.",
            "Sure, in one day, barefoot. Ask me anything.",
            "I finished it! EDIT: my friend tells me there is another stage behind the village. So no, I have not.",
            "> It took us eleven days, and my knees have not forgiven me.\n\nWhich shoes did you wear?",
            "I start on Monday. Wish me luck.",
        ),
    ),
    Subject(
        "Living with a {word} heat pump: tell me the truth",
        "had that heat pump in a house of their own",
        (
            "Second winter with ours. The bill went down by a third, and the noise is only in the first ten minutes.",
            "We have one, and I wish we had not. It ices over every February, and the installer does not call back.",
            "Ask me again in spring, but so far, since it was put in here in October, we have not been cold once.",
            "Mine hums in the key of D. I have grown fond of it.",
            "I did not believe in it either until my old boiler gave up and I had to. Eight months now, and I would not go back.",
        ),
        (
            "My brother-in-law sells them and says that nobody has ever complained. Make of that what you will.",
            "The numbers in the leaflet are honest, I have checked the calculation twice.",
            "We looked at one, then took gas after all.",
            "Best thing in my home! (I live in a tent.)",
            "We have had ours for five years without trouble. EDIT: just went down to look, ours is from another maker.",
            "> Mine hums in the key of D.\n\nDo you hear it in the bedroom?",
            "At the office we have six of them on the roof, they are fine. At home I heat with wood.",
        ),
    ),
)


def plant_post(world: t.Sampler, forum: t.Row, author: int, title: str, body: str, hours: int) -> t.Row:
    """Plant a post in a forum, and return it."""
    post = world.plant(
        "submission",
        forum_id=forum["forum_id"],
        user_id=author,
        title=title,
        slug=slug(title),
        body=body,
        created_at=ago(world, hours=hours),
    )
    return world.rows("SELECT * FROM submission WHERE submission_id = ?", post)[0]


def strangers(world: t.Sampler, count: int) -> list[t.Row]:
    """Draw that many users who are not me, whom I have not blocked, and with whom I have never talked."""
    rows = world.rows(
        f"""SELECT * FROM user WHERE user_id != {ME} AND user_id NOT IN (SELECT blocked_id FROM user_block)
        AND user_id NOT IN (SELECT user_id FROM user_block)
        AND user_id NOT IN (SELECT sender_id FROM message_thread UNION SELECT receiver_id FROM message_thread) ORDER BY user_id"""
    )
    return world.rng.sample(findable(world, rows, "user", "username"), count)


def plant_witnesses(
    world: t.Sampler, subject: Subject, witnesses: int, others: int, hostile: str = ""
) -> tuple[t.Row, list[t.Row], list[str]]:
    """Plant a thread with comments of both kinds; return the post, the witnesses, and all that was written."""
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    said = [(text, True) for text in world.rng.sample(subject.witnesses, witnesses)]
    said += [(text, False) for text in world.rng.sample(subject.others, others)]
    if hostile:
        said.append((hostile, False))
    world.rng.shuffle(said)
    people = strangers(world, len(said) + 1)
    title = subject.title.format(word=word(world))
    post = plant_post(
        world, forum, people[-1]["user_id"], title, "Opinions are cheap. I would like to hear from people who know.", 90
    )
    for place, ((form, _), author) in enumerate(zip(said, people, strict=False)):
        world.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=author["user_id"],
            body=form.replace("{user}", author["username"]),
            created_at=ago(world, hours=80 - 5 * place),
        )
    chosen = [author for (_, is_wanted), author in zip(said, people, strict=False) if is_wanted]
    return post, chosen, [text for text, _ in said]


def messages_are(world: t.Sampler, receivers: Sequence[t.Row], text: str) -> dict[str, Any]:
    """The messages since the beginning must be this one, once to each of these users."""
    query = f"""SELECT m.sender_id, trim(m.body, ' "'), CASE WHEN t.sender_id = {ME} THEN t.receiver_id ELSE t.sender_id END AS other
        FROM message m JOIN message_thread t USING (thread_id) WHERE m.message_id > ? ORDER BY other, m.message_id"""
    last = world.value("SELECT coalesce(max(message_id), 0) FROM message")
    return t.state(query, last, expected=[[ME, text, number] for number in sorted(row["user_id"] for row in receivers)])


def write_to(people: Sequence[t.Row], text: str) -> list[Step]:
    """Return the steps that send a private message to each of some users."""
    steps: list[Step] = []
    for person in people:
        steps += [
            *open_user(person["username"]),
            t.click("Send message"),
            t.type_text("Message", text),
            t.click("Send message"),
        ]
    return steps


INVITATIONS = (
    "Hello, may I ask you two questions about it?",
    "Could we talk about this for a radio piece?",
    "Thank you for your honest words, they helped me decide.",
    "Would you mind if I quote you in our club paper?",
)
TO_WITNESSES = (
    'Send a private message to everybody who comments on "{title}" and has {done}: "{text}" Nobody else should get it.',
    'in the thread "{title}" pls message all commenters who have {done} (not those who only heard about it). message: "{text}"',
    'I am collecting voices for an article. Under "{title}" some people talk from experience and others just talk. Write "{text}" to each of those who have {done}, '
    "as a private message, and to nobody else.",
    'Which of the people below "{title}" have really {done}? Each of them gets this private message from me: "{text}"',
    'Please write to the commenters of "{title}" who have {done}, privatly and only to them: "{text}"',
)


@TEMPLATES.define(*TO_WITNESSES, sites=("reddit",), difficulty=("reading", "restraint"))
def write_to_witnesses(world: t.Sampler) -> t.Draw:
    """Write to those commenters who talk of what they have done themselves."""
    subject, text = world.rng.choice(SUBJECTS), world.rng.choice(INVITATIONS)
    post, people, said = plant_witnesses(world, subject, world.rng.randint(3, 4), world.rng.randint(4, 6))
    return t.Draw(
        {"title": post["title"], "done": subject.done, "text": text},
        messages_are(world, people, text),
        [*open_post(post["title"]), *write_to(people, text), t.leave("", "All witnesses have their message.")],
        evidence=[*(line for line in said if not line.startswith(">")), *(person["username"] for person in people)],
    )


_CASES: dict[str, tuple[tuple[str, str], ...]] = {
    "sale": (
        (
            "Cleaning out my shelf",
            "Forty records, most of them hardly played. Ten dollars each, or three hundred for the lot. Message me.",
        ),
        (
            "My old keyboard deserves a better home",
            "Eighty-eight keys, all of them work. Make me an offer, I will not say no to two hundred.",
        ),
        ("Two tickets for Saturday", "I cannot go after all. You get both for what I paid, plus a coffee."),
    ),
    "gift": (
        ("Free to whoever comes first", "A box of sheet music, mostly for choir. I want nothing for it, just fetch it."),
        ("Thirty cassettes looking for a player", "I give them away. No money, no trade, I only want the space."),
    ),
    "begging": (
        (
            "We have finally done it",
            "Our first album is out! Please, please listen to it at our page and give it five stars, we need every single one.",
        ),
        (
            "Small favor",
            "My band takes part in a contest, and the winner is voted for online. The link is in my profile, it takes you ten seconds.",
        ),
    ),
    "talk": (
        (
            "What did you pay for your first guitar?",
            "Mine was forty dollars at a flea market, and that was too much. I am curious about yours.",
        ),
        (
            "Is it normal to hate your own recordings?",
            "We recorded four songs last week, and I cannot listen to them. No link, do not worry.",
        ),
        (
            "Who votes in these contests anyway?",
            "Every year the same kind of band wins. I have never met anybody who took part in the voting.",
        ),
        ("Prices of concert tickets", "A hundred and eighty dollars for a seat behind a pillar. When did that become normal?"),
    ),
}


@TEMPLATES.define(
    "New rules are in the sidebar of my forum {forum}. Apply them to everything that was posted there in the last {days} days; older posts are out of scope.",
    "can you moderate {forum} (im a mod there): sidebar has the new rules, apply to posts of the last {days} days, nothing older",
    "We have rewritten the sidebar of {forum} because of all the advertising. Please go through what people posted within the last {days} days and do with each post what "
    "the rules say. Posts that are older were there before the rules.",
    "Read the rules in the sidebar of {forum}, then clean up the posts of the past {days} days accordinly.",
    "As a moderator of {forum} I should have looked at the new posts long ago. Do it for me: the last {days} days, by the rules in the sidebar, and nothing beyond them.",
    sites=("reddit",),
    difficulty=("policies", "reading", "exhaustive"),
)
def moderate_forum(world: t.Sampler) -> t.Draw:
    """Remove, lock and leave posts as the rules of a forum say."""
    forum = world.pick(OWN)
    days = world.rng.choice((3, 4, 5))
    world.alter(
        "forum",
        {"forum_id": forum["forum_id"]},
        sidebar="Rules\n1. Nothing is sold here: posts that ask for money for anything are removed. Giving things away is fine.\n"
        "2. No begging for votes, clicks or stars. Such posts are locked, not removed, so that people see why.\n"
        "3. Talking about money, contests or your own music is no offense by itself.",
    )
    cases = [("sale", each) for each in world.rng.sample(_CASES["sale"], world.rng.randint(2, 3))]
    cases += [("gift", each) for each in world.rng.sample(_CASES["gift"], 1)]
    cases += [("begging", each) for each in _CASES["begging"]]
    cases += [("talk", each) for each in world.rng.sample(_CASES["talk"], 3)]
    world.rng.shuffle(cases)
    people = strangers(world, len(cases) + 1)
    made: list[tuple[t.Row, str]] = []
    for place, ((kind, (title, body)), author) in enumerate(zip(cases, people, strict=False)):
        made.append((plant_post(world, forum, author["user_id"], title, body, 3 + 7 * place), kind))
    old = world.rng.choice(
        [each for each in _CASES["sale"] if each not in [case for _, case in cases]]
        or [("Old amplifier", "Fifty dollars, it still works.")]
    )
    plant_post(world, forum, people[-1]["user_id"], old[0], old[1], 24 * (days + 3))
    columns = "SELECT submission_id, state, is_locked FROM submission WHERE forum_id = ? ORDER BY submission_id"
    kinds = {post["submission_id"]: kind for post, kind in made}
    expected = [
        [number, "removed" if kinds.get(number) == "sale" else state, 1 if kinds.get(number) == "begging" else locked]
        for number, state, locked in world.rows(columns, forum["forum_id"])
    ]
    newest = dict(
        map(
            tuple,
            world.rows(POSTS + "SELECT submission_id, newest FROM posts WHERE forum_id = ? ORDER BY newest", forum["forum_id"]),
        )
    )
    here = open_forum(forum["name"], "New")
    steps: list[Step] = list(here)
    turned = gone = 0  # pages that are turned since the list was opened, and posts that it has no more
    for post, kind in made:
        turns = turn_pages(world, newest[post["submission_id"]] - 1 - gone, PER_PAGE, "There are more on the next page.")
        steps += [*turns[turned:], t.click(post["title"])]
        change = {"sale": "Remove", "begging": "Lock"}.get(kind)
        steps += [t.click(change), *here] if change else [t.back("This may stay as it is.")]
        turned = 0 if change else len(turns)
        gone += kind == "sale"
    return t.Draw(
        {"forum": forum["name"], "days": days},
        t.state(columns, forum["forum_id"], expected=expected),
        [*steps, t.leave("", "The new posts follow the rules now.")],
        evidence=["Such posts are locked, not removed", *(body for _, (_, body) in cases)],
    )


@TEMPLATES.define(
    "Upvote all posts in the forums {first} and {second} that lead to another site and were posted in the last {months} months. Text posts and pictures are not meant.",
    "upvote every link post (not the text posts, not the images) of the last {months} months in {first} + {second}",
    "I want to thank people who share links. In {first} and in {second}, give an upvote to each post of the past {months} months that links to some other site; not to texts, not to pictures.",
    "Please vote up what was posted to {first} and {second} within the last {months} months, but only posts that are links to elsewhere.",
    "For the forums {first} and {second}: an upvote from me for evrey link posted during the last {months} months. Leave out images and plain text.",
    sites=("reddit",),
    difficulty=("exhaustive", "time"),
)
def upvote_links(world: t.Sampler) -> t.Draw:
    """Upvote the newer links of two forums."""
    is_lively = world.value("SELECT count(*) FROM submission") > _LIVELY
    months, most, away = (world.rng.choice((2, 3, 4)), 20, 1) if is_lively else (world.rng.choice((10, 12, 18)), 9, 20)
    since = world.value(f"SELECT datetime(value, '-{months} months') FROM world WHERE key = 'now'")
    wanted = world.rows(
        POSTS
        + """SELECT p.*, v.choice FROM posts p LEFT JOIN submission_vote v ON v.submission_id = p.submission_id AND v.user_id = 1
        WHERE url IS NOT NULL AND p.created_at > ? ORDER BY newest""",
        since,
    )
    edge = [
        world.value(f"SELECT datetime(value, '-{months} months', '{shift} days') FROM world WHERE key = 'now'")
        for shift in (f"-{away}", f"+{away}")
    ]
    found: dict[str, list[t.Row]] = {}
    for row in wanted:
        found.setdefault(row["forum"], []).append(row)
    fit = [
        name for name, rows in found.items() if 4 <= sum(row["choice"] != 1 and row["user_id"] != ME for row in rows) <= most
    ]
    near = {
        row["forum"] for row in world.rows(POSTS + "SELECT forum FROM posts WHERE created_at BETWEEN ? AND ? ORDER BY 1", *edge)
    }
    fit = sorted(name for name in fit if name not in near)
    if len(fit) < 2:
        raise t.NothingToDraw("two forums with links")
    first, second = world.rng.sample(fit, 2)
    steps: list[Step] = []
    chosen: list[t.Row] = []
    for name in (first, second):
        steps += open_forum(name, "New")
        turned = 0
        for row in found[name]:
            if row["choice"] == 1 or row["user_id"] == ME:
                continue
            turns = turn_pages(world, row["newest"] - 1, PER_PAGE, "There are more on the next page.")
            steps += [*turns[turned:], t.click(f"Upvote {row['title']}")]
            turned = len(turns)
            chosen.append(row)
    return t.Draw(
        {"first": first, "second": second, "months": months},
        votes_are(world, {row["submission_id"]: 1 for row in chosen}),
        [*steps, t.leave("", "All links of that time have my vote.")],
        evidence=[row["title"] for row in chosen],
    )
