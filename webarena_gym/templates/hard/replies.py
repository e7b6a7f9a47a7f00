"""Questions that people ask me in public, and what a friend who knows the answers lets me tell."""

from datetime import timedelta

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.threads import plant_post, strangers
from webarena_gym.templates.hard.ways import ago, now
from webarena_gym.templates.map.ways import open_place, places
from webarena_gym.templates.reddit.routes import ME, open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to

TEMPLATES = t.Templates("hard")

_REFUSALS = ("I may not say that here.", "This is not for the public, sorry.", "Please wait for the official word.")


@TEMPLATES.define(
    'People ask questions under my post "{title}" in the forum. {friend} has told me by private message what I may tell in public. Reply to each question: with the bare fact (nothing else) if it may be told, otherwise with "{refusal}" '
    "What {friend} does not know may be on the map; write it as it stands there. What was said last counts.",
    'answer every question in the comments of my post "{title}". {friend} (private messages) says what is public. allowed -> reply with just the fact, some facts are on the map. not allowed -> reply "{refusal}"',
    'Under "{title}" some people want to know things. Please answer each of their comments for me, with the fact alone, no sentence around it. But be careful: by the private messages of {friend}, some of it must not be told. '
    'To such questions the reply is "{refusal}" Facts about the place that are not in the messages are on the map.',
    'Could you reply to the comments on my post "{title}"? Look at what {friend} wrote me (private messages; the later ones count more), and at the map for the rest. Replies are bare facts, as they stand there. For what has to stay among us: "{refusal}"',
    'My post "{title}" has questions below it. One reply to each, please. Either it is the pure fact, from {friend}\'s messages to me or from the map, or, where {friend} does not want it to be public, "{refusal}" Do not let anything slip that is not meant for evrybody.',
    sites=("reddit", "map"),
    difficulty=("restraint", "several_sites", "reading"),
)  # fmt: skip
def reply_with_care(world: t.Sampler) -> t.Draw:
    """Answer questions in public as far as a friend allows it in private."""
    rng, refusal = world.rng, world.rng.choice(_REFUSALS)
    friend, *people = strangers(world, 6)
    rows = places(
        world.at("map"),
        """label = name AND phone LIKE '%-%' AND category IN ('cafe', 'restaurant', 'cinema', 'library', 'museum')
        AND EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Wheelchair access')""",
    )
    place = rng.choice(rows)
    access = world.value(
        "SELECT value FROM place_detail WHERE place_id = ? AND name = 'Wheelchair access'", place["place_id"], site="map"
    )
    day = now(world).date() + timedelta(days=rng.randint(12, 40))
    told, price, seats = f"{day:%B} {day.day}", f"{rng.randint(6, 19)} dollars", rng.randint(30, 70)
    club = word(world)
    title = f"The {club} evening: ask me anything"
    is_day_free = rng.random() < 0.5
    messages = [
        f"About the {club} evening: we meet at {place['name']}. The day is {told}, the tickets are {price}, and there are {seats} seats.",
        "You may tell people where it is. What is on the map anyway is no secret either. Price and seats you can tell as well, but keep the day to yourself for now.",
        "Hello again. The caterer wants more money, so please do not mention the price any more until I know it."
        + (" The day is safe now, tell everybody." if is_day_free else " And with the day it is as I said."),
    ]
    questions = [
        ("Where will it be?", str(place["name"])),
        ("What does a ticket cost?", refusal),
        ("On which day? I must ask for a day off.", told if is_day_free else refusal),
        ("What is the telephone number of the place?", str(place["phone"])),
        ("Wheelchair access: yes, no or limited?", str(access)),
    ]
    rng.shuffle(questions)
    post = plant_post(world, world.pick("SELECT * FROM forum ORDER BY forum_id"), ME, title, "It will be great.", 60)
    thread = world.plant("message_thread", sender_id=friend["user_id"], receiver_id=ME)
    for number, text in enumerate(messages):
        world.plant(
            "message",
            thread_id=thread,
            sender_id=friend["user_id"],
            body=text,
            created_at=ago(world, hours=50 - 14 * number),
            is_read=1,
        )
    expected: list[list[object]] = []
    steps: list[Step] = []
    for number, ((question, fact), person) in enumerate(zip(questions, people, strict=True)):
        comment = world.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=person["user_id"],
            body=question,
            created_at=ago(world, hours=40 - 5 * number),
        )
        expected.append([post["submission_id"], comment, ME, fact.lower().rstrip(".")])
        steps += [
            t.click(f"Reply to {person['username']}"),
            t.type_text(f"Reply to {person['username']}'s comment", fact),
            t.click("Post"),
            *open_post(title),
        ]
    unread = world.value(
        f"""SELECT count(*) FROM message m JOIN message_thread t USING (thread_id)
        WHERE NOT is_read AND m.sender_id != {ME} AND {ME} IN (t.sender_id, t.receiver_id)"""
    )
    last = world.value("SELECT max(comment_id) FROM comment")
    query = "SELECT submission_id, parent_id, user_id, trim(lower(body), ' .\"') FROM comment WHERE comment_id > ? AND state = 'visible' ORDER BY parent_id, comment_id"
    return t.Draw(
        {"title": title, "friend": friend["username"], "refusal": refusal},
        t.state(query, last, expected=expected),
        [
            t.click(f"Messages ({unread})" if unread else "Messages"),
            t.click(f"Conversation with {friend['username']}"),
            turn_to(1),
            *open_place(place["name"]),
            turn_to(0),
            *open_post(title),
            *steps,
            t.leave("", "Everybody has an answer."),
        ],
        start_url=tabs("reddit", "map"),
        evidence=[*messages, *(question for question, _ in questions), str(place["phone"])],
    )
