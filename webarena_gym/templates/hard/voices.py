"""Threads in which it matters who said what, when, and whether it still holds."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.threads import messages_are, plant_post, strangers, write_to
from webarena_gym.templates.hard.ways import ago, joined, now
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, open_forum, open_post, word
from webarena_gym.templates.reddit.votes import votes_are
from webarena_gym.templates.ways import turn_pages

TEMPLATES = t.Templates("hard")
OTHERS = "SELECT * FROM forum WHERE forum_id NOT IN (SELECT forum_id FROM moderator WHERE user_id = 1) ORDER BY forum_id"
"""The forums that I do not moderate."""


class Voice(NamedTuple):
    """A comment to plant: who writes, what, how many hours ago, and what it means to the task."""

    author: t.Row
    body: str
    hours: int
    meaning: str = ""


def me(world: t.Sampler) -> t.Row:
    """Return the row of the user who is signed in."""
    return world.rows("SELECT * FROM user WHERE user_id = ?", ME)[0]


def speak(world: t.Sampler, post: t.Row, voices: Sequence[Voice], points: Sequence[int] = ()) -> list[int]:
    """Plant comments below a post, with so many points each, and return their numbers."""
    return [
        world.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=voice.author["user_id"],
            body=voice.body,
            created_at=ago(world, hours=voice.hours),
            up=points[place] if points else 0,
        )
        for place, voice in enumerate(voices)
    ]


def comment_is(world: t.Sampler, post: t.Row, text: str) -> dict[str, Any]:
    """The comments since the beginning must be this one, of mine, below this post."""
    query = """SELECT submission_id, parent_id, user_id, trim(body, ' ."''') FROM comment
        WHERE comment_id > ? AND state = 'visible' ORDER BY comment_id"""
    return t.state(
        query, world.value("SELECT max(comment_id) FROM comment"), expected=[[post["submission_id"], None, ME, text]]
    )


_VOTES = (
    "I am for {x}.",
    "{x} for me, please.",
    "Count me in for {x}!",
    "My vote goes to {x}, as always.",
    "{x}. No need to think about it.",
    "Anything but {y}... so it is {x}, if I must choose.",
    "My wife would say {y}, but it is me who votes here: {x}.",
    "{y} would be nice with children. We have none, so {x}.",
    "If it were up to my kids we would go to {y}. It is not. {x}!",
    "{y}! EDIT: no, {x}. Sorry for the mess.",
    "I still dream of {y}, but with this knee I vote {x}.",
    "Everybody here shouts {y}. Well, I do not. {x}.",
    "put me down for {x} pls",
    "{x}, and I bring the cake.",
    "Hard to say no to {x}, so I will not: that is my vote.",
)
_NO_VOTES = (
    "Has anybody been to {x} lately? Is the path open again?",
    "Whatever you decide, I am abroad then and leave it to you. I would have taken {x}.",
    "How does one get to {x} without a car?",
    "Last year I voted for {x}, and look what happened. No vote from me this time.",
    "My neighbor, who is not in the club, wants me to tell you that {x} is the best. Just saying.",
    "> I am for {x}.\n\nReally? I lost a shoe there.",
)
_CHANGES = (
    "I take back what I wrote before: {x} instead.",
    "After talking it over at home, please change mine to {x}.",
    "You have convinced me. Not what I said first, but {x}.",
)
_WITHDRAWALS = (
    "Sorry, I cannot come at all. Please do not count my vote.",
    "Something has come up on that day, so I withdraw my vote.",
)
_STAYS = (
    "I have read all the objections, and stay with what I said.",
    "To those who wrote to me: no, I will not change my mind.",
)


@TEMPLATES.define(
    'Somebody has to count the votes in the thread "{title}". The rules are in the post. Comment on it with the result in this form, with the places in the order of the post: "Result: {form}"',
    'count the votes under "{title}" (rules see post) and post the result there as a comment, exactly like "Result: {form}" but with the real numbers',
    'We have voted in "{title}", and as so often nobody can agree on how it ended. Please read it all, apply the rules that the post gives, and write one comment there: "Result: {form}", with numbers for the letters.',
    'How did the vote in "{title}" end? Write it below the post as "Result: {form}" (n = votes). Dont forget the rules in the post.',
    'I promised to announce the result of "{title}". Count by the rules of the post, then leave the comment "Result: {form}", where each n is the number of votes for that place.',
    sites=("reddit",),
    difficulty=("reading", "time"),
)
def count_votes(world: t.Sampler) -> t.Draw:
    """Count the votes of a thread, some of which were changed, taken back or came too late."""
    places = [word(world) for _ in range(3)]
    if len(set(places)) < 3:
        raise t.NothingToDraw("three places")
    days, rng = rng_days(world), world.rng
    people = strangers(world, 25)
    organiser, members = people[0], people[1:]
    title = f"{places[0]}, {places[1]} or {places[2]}: where does the club go this year?"
    start = 24 * (days + 4)
    body = (
        f"You choose: {places[0]}, {places[1]} or {places[2]}. Write below what you want. One person, one vote; who changes their mind may say so, and the last word counts. "
        f"The vote is open for {days} days from this post on, to the minute. What comes later is too late, votes and changes alike. I do not vote myself."
    )
    post = plant_post(world, world.pick(OTHERS), organiser["user_id"], title, body, start)
    forms = rng.sample(_VOTES, 13)
    first = rng.choices(places, weights=(5, 4, 3), k=13)
    last = start - 24 * days
    voices: list[Voice] = []
    counted: dict[str, str] = {}
    for place, (form, choice) in enumerate(zip(forms, first, strict=True)):
        author = members[place]
        late = place in (11, 12)
        hours = rng.randint(8, last - 6) if late else rng.randint(last + 40, start - 2)
        rival = rng.choice([each for each in places if each != choice])
        voices.append(Voice(author, form.format(x=choice, y=rival), hours))
        if not late:
            counted[author["username"]] = choice
    for place, form in zip(range(3), rng.sample(_CHANGES, 3), strict=True):
        late = place == 2
        choice = rng.choice([each for each in places if each != first[place]])
        hours = rng.randint(8, last - 6) if late else rng.randint(last + 5, last + 35)
        voices.append(Voice(members[place], form.format(x=choice), hours))
        if not late:
            counted[members[place]["username"]] = choice
    voices.append(Voice(members[3], rng.choice(_WITHDRAWALS), last + rng.randint(5, 35)))
    counted.pop(members[3]["username"])
    voices.append(Voice(members[4], rng.choice(_STAYS), last + rng.randint(5, 35)))
    voices += [
        Voice(members[14 + place], form.format(x=rng.choice(places)), rng.randint(last + 5, start - 2))
        for place, form in enumerate(rng.sample(_NO_VOTES, 4))
    ]
    voices.sort(key=lambda voice: -voice.hours)
    speak(world, post, voices)
    numbers = [list(counted.values()).count(place) for place in places]
    result = "Result: " + ", ".join(f"{place} {number}" for place, number in zip(places, numbers, strict=True))
    return t.Draw(
        {"title": title, "form": ", ".join(f"{place} n" for place in places)},
        comment_is(world, post, result),
        [
            *open_post(title),
            *turn_pages(world, len(voices) - 1, PER_PAGE, "There are more voices on the next page."),
            t.type_text("Comment", result),
            t.click("Post"),
            t.leave("", "The result is announced."),
        ],
        evidence=[f"open for {days} days", *(voice.body for voice in voices if not voice.body.startswith(">"))],
    )


def rng_days(world: t.Sampler) -> int:
    """Draw for how many days a vote is open."""
    return int(world.rng.choice((4, 5, 6, 7)))


class Trouble(NamedTuple):
    """A question of mine: its title and text, what people advise, and how a reply names each piece of advice."""

    title: str
    body: str
    advice: tuple[tuple[str, str], ...]


_TROUBLES = (
    Trouble("My {word} kettle is full of lime", "Nothing I have tried helps. What do you do?", (
        ("Half vinegar, half water, boil it, leave it for an hour.", "the vinegar"),
        ("Citric acid from the drugstore, cold, overnight.", "the citric acid"),
        ("Boil some potato skins in it, my grandmother did.", "the potato skins"),
    )),
    Trouble("The door of my {word} cupboard keeps opening by itself", "It is driving me mad, especially at night.", (
        ("Loosen the upper hinge, push the door to the left, tighten it again.", "the hinge"),
        ("There are small magnets for a dollar, one is enough.", "the magnet"),
        ("Put a folded card under the front feet.", "the card under the feet"),
    )),
    Trouble("How do I get my bread from {word} flour to rise?", "Mine comes out flat as a plate each time.", (
        ("Leave it in the oven with only the lamp on, two hours.", "the oven lamp"),
        ("More water than you think. It should stick to your hands.", "more water"),
        ("Your yeast is dead, buy a new one.", "new yeast"),
    )),
    Trouble("My {word} bicycle clicks with every turn of the pedals", "I have oiled everything that can be oiled.", (
        ("Grease the seat post. I know how that sounds.", "the seat post"),
        ("Tighten the bolts of the chainring.", "the chainring"),
        ("The pedals themselves: unscrew, clean, grease, screw in.", "the pedals"),
    )),
    Trouble("The {word} radio hums when the lamp is on", "Without the lamp it is silent.", (
        ("Plug the lamp into another wall.", "the other wall"),
        ("Wind the cable of the radio three times through a ferrite ring.", "the ferrite ring"),
        ("Change the bulb, cheap ones do that.", "the bulb"),
    )),
    Trouble("Ants in my kitchen in {word}", "They come back every spring, in a line from the window.", (
        ("Find the gap and close it with silicone.", "the silicone"),
        ("Cinnamon on the sill. They do not cross it.", "the cinnamon"),
        ("Wipe their path with soap, then they lose it.", "the soap"),
    )),
)  # fmt: skip
_OF_THE_HOUSE = ("DIY", "woodworking", "gardening", "gadgets", "explainlikeimfive")  # forums in which one may ask such things
_OUTCOMES = (
    (("I tried {a} first, no difference. Then {b}: solved, thank you!",), 1),
    (("{a} did it!", "I was too quick yesterday: it is back, so {a} did not last. With {b} it seems to be gone for good."), 1),
    (("Cannot do {b} here, I rent. {a} was enough though, case closed.",), 0),
    (("Sounds as if {b} were the answer, I will try that tonight.", "Update: {b} made it worse, of all things. {a} has solved it."), 0),
    (("I did {a} and {b} on the same day and it is gone, but which was it?", "Undid {a} to find out, still gone. So it was {b}."), 1),
    (("{a} helped my neighbor with the same thing. For me nothing has worked so far, neither that nor {b}.",), 2),
)  # fmt: skip


@TEMPLATES.define(
    "I asked for advice in {forum} lately. In each of these threads of mine, upvote the one comment that solved my problem according to what I wrote there myself; my last word counts. If nothing helped, no vote.",
    "my posts in {forum}: upvote the tip that solved it in each thread (see my own replies, the latest is right). none solved = no upvote",
    "It is only fair to thank people. Go through the questions that I posted in {forum} and give an upvote to the piece of advice that worked, as I said there. Sometimes I changed my mind later. Where nothing has worked, vote for nothing.",
    "Please upvote, for every post of mine in {forum}, the comment with the advice that in the end solved my problem. I wrote in the threads what did. Not more than that.",
    "Could you catch up on upvotes for me? In {forum} I have some question threads; whoevers advice did the trick (I report back in the comments) deserves one. Those without success get none.",
    sites=("reddit",),
    difficulty=("reading", "exhaustive", "restraint"),
)
def thank_helpers(world: t.Sampler) -> t.Draw:
    """Upvote the advice that I have said has helped me, in several threads of mine."""
    own = world.rows("SELECT DISTINCT forum_id FROM submission WHERE user_id = ? ORDER BY forum_id", ME)
    taken = {row["forum_id"] for row in own}
    free = [row for row in world.rows("SELECT * FROM forum ORDER BY forum_id") if row["forum_id"] not in taken]
    forum = world.rng.choice([row for row in free if row["name"] in _OF_THE_HOUSE] or free)
    troubles = world.rng.sample(_TROUBLES, 5)
    outcomes = [*world.rng.sample(_OUTCOMES[:5], 4), _OUTCOMES[5]]
    world.rng.shuffle(outcomes)
    people, mine = strangers(world, 15), me(world)
    posts: list[t.Row] = []
    votes: list[list[Step]] = []
    said: list[str] = []
    thanked: list[int] = []
    for number, (trouble, (replies, solved)) in enumerate(zip(troubles, outcomes, strict=True)):
        hours = 100 + 70 * (4 - number)
        title = trouble.title.format(word=word(world))
        post = plant_post(world, forum, ME, title, trouble.body, hours)
        order = world.rng.sample(trouble.advice, 3)
        helpers = people[3 * number : 3 * number + 3]
        voices = [
            Voice(helper, text, hours - 5 - place) for place, (helper, (text, _)) in enumerate(zip(helpers, order, strict=True))
        ]
        a, b = world.rng.sample(range(3), 2)
        lines = [line.format(a=order[a][1], b=order[b][1]) for line in replies]
        lines = [f"{line[0].upper()}{line[1:]}" for line in lines]
        voices += [Voice(mine, line, hours - 20 - 30 * place) for place, line in enumerate(lines)]
        made = speak(world, post, voices)
        said += [voice.body for voice in voices]
        posts.append(post)
        votes.append([])
        if solved < 2:
            place = (a, b)[solved]
            thanked.append(made[place])
            votes[-1] = [t.click(f"Upvote {helpers[place]['username']}'s comment", "That did it, by my own words.")]
    ranks = {
        row["submission_id"]: row["newest"]
        for row in world.rows(POSTS + "SELECT * FROM posts WHERE user_id = ? ORDER BY 1", ME)
    }
    steps: list[Step] = []
    for post, vote in zip(posts, votes, strict=True):
        turns = turn_pages(world, ranks[post["submission_id"]] - 1, PER_PAGE)
        steps += [*open_forum(forum["name"], "New"), *turns, t.click(post["title"]), *vote]
    return t.Draw(
        {"forum": forum["name"]},
        votes_are(world, {}, thanked),
        [*steps, t.leave("", "All who helped have my vote.")],
        evidence=said,
    )


_ORDINALS = ("one week", "two weeks")


@TEMPLATES.define(
    'On which day is the walk that is announced in "{walk}"? Comment on that post with "I will come on " and the date, written like 2024-01-31.',
    'comment "I will come on YYYY-MM-DD" on "{walk}", with the day it really takes place (check what the date depends on)',
    'I would like to join the walk of "{walk}". Tell them so below the post, with the right day: "I will come on ...", date in the form 2024-01-31. Mind that such dates get moved around here, and only the organiser can do that.',
    'Please sign me up for "{walk}" by a comment: "I will come on" plus the date as year-month-day, like 2024-01-31. Work out the date from what the people in charge have written.',
    'The post "{walk}" gives its date in a roundabout way. Find out wich day it is now, and comment there: "I will come on 2024-01-31", but with the real date.',
    sites=("reddit",),
    difficulty=("time", "reading"),
)
def walk_before_fair(world: t.Sampler) -> t.Draw:
    """Tell the day of an event that is set from the day of another one, which was moved."""
    rng, forum = world.rng, world.pick(OTHERS)
    name = word(world)
    host, guide, *people = strangers(world, 8)
    fair, walk = f"The {name} repair fair", f"A walk along the river before the {name} repair fair"
    posted = 24 * rng.randint(9, 14)
    when = now(world) - timedelta(hours=posted)
    weekday = rng.choice(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"))
    day = when.date() + timedelta(days=1)
    while f"{day:%A}" != weekday:
        day += timedelta(days=1)
    weeks, shift, back, before = rng.choice((3, 4, 5)), rng.choice((1, 2)), rng.choice((1, 2, 3)), rng.choice((5, 8, 10, 12))
    day += timedelta(weeks=weeks - 1)
    final = day + timedelta(weeks=shift) - timedelta(days=back) - timedelta(days=before)
    body = f"We repair what you bring. The date is set: the {('third', 'fourth', 'fifth')[weeks - 3]} {weekday} after today, from ten o'clock on."
    one = plant_post(world, forum, host["user_id"], fair, body, posted)
    moves = [
        Voice(people[0], f"I have heard that it is {shift + 1} weeks later than planned now. Or was it earlier?", posted - 20),
        Voice(host, f"Bad news, the hall is taken on our day. We move the fair to {_ORDINALS[shift - 1]} later, same weekday.", posted - 44),
        Voice(people[1], "Could we not take the Sunday before that instead?", posted - 60),
        Voice(host, f"The city has a word in this as well: from the new day, we go back by {back} day{'s' if back > 1 else ''}. That is final.", posted - 80),
        Voice(people[2], "My sister says that it will be canceled anyway, as it is each year.", posted - 100),
    ]  # fmt: skip
    speak(world, one, moves, points=[rng.randrange(9) for _ in moves])
    two = plant_post(world, forum, guide["user_id"], walk, f"We walk {before} days before the fair, whenever that is. If the fair is moved, the walk moves with it.", posted - 10)  # fmt: skip
    talk = [
        Voice(people[3], f"Then the walk must be {before - 3} days before, I think, because of the holiday.", posted - 30),
        Voice(guide, f"No, it stays as I said: {before} days before the fair.", posted - 33),
        Voice(people[4], "Is the path dry?", posted - 70),
    ]
    speak(world, two, talk, points=[rng.randrange(9) for _ in talk])
    text = f"I will come on {final}"
    return t.Draw(
        {"walk": walk},
        comment_is(world, two, text),
        [
            *open_post(walk),
            t.search("Search query", fair, "When is the fair?"),
            t.click(fair),
            *open_post(walk),
            t.type_text("Comment", text, f"The fair is on {final + timedelta(days=before)}."),
            t.click("Post"),
            t.leave("", "They know that I come."),
        ],
        evidence=[body, *(voice.body for voice in (*moves, *talk))],
    )


_JOBS = (
    ("baker", ("I get up at two so that you have your rolls at six.", "Flour in my hair, and asleep by eight in the evening: that is me.", "Third generation at the same oven. I hate croissants and make four hundred a day.")),
    ("teacher", ("Twenty-six ten-year-olds, and all of them talk at once. I would not swap it for anything.", "I correct essays until midnight, and yes, I do have long summers.", "Fractions in the morning, geography in the afternoon, parents in the evening.")),
    ("nurse", ("Night shifts, ward four, too much coffee. Ask me anything but for a diagnosis.", "I have been taking people's blood pressure for twenty years; yours is too high.", "Sister on a children's ward, so I know all the songs.")),
    ("carpenter", ("If your stairs creak, I may have built them. Sorry.", "I make tables for a living and eat standing up.", "Oak, beech, ash. My fingers are all still there.")),
)  # fmt: skip
_PLANS = (
    ("is about to move to the coast", ("The van is ordered for the first: we are leaving for the seaside for good.", "From next month on I will wake up to gulls. The flat has a view of the harbor.", "Goodbye, mountains. My boxes are packed, and there will be sand in all of them.")),
    ("is learning to play the cello", ("Four strings, one bow, and neighbors who do not greet me any more. Lesson five was yesterday.", "I have rented an instrument that is taller than my daughter. The teacher says that I hold it like a broom.", "Bach, they said, is easy to begin with. On a thing this size nothing is.")),
    ("keeps bees", ("Two hives on the roof, and no stings this week.", "The first honey is in the jars, all eleven of them.", "A swarm left me on Sunday, and the fire brigade brought it back.")),
    ("is training for a marathon", ("Thirty kilometers on Sunday, and I can still walk. Twelve to go.", "My toenails are blue, my plan says eighteen more weeks, and the start number has come.", "I run before work now, in the dark, with a lamp on my head. In October it is forty-two of them.")),
)  # fmt: skip


@TEMPLATES.define(
    'I want to write to the {job} here who {plan}, but I forgot the name. People told about themselves in "{first}" and "{second}". Send this private message: "{text}"',
    'pls message the {job} that {plan}. name? no idea, see the threads "{first}" + "{second}". text: "{text}"',
    'There is this {job} in the forum, the one who {plan}. It must follow from "{first}" and "{second}" who that is. Write to that person privately, and to nobody else: "{text}"',
    'Send "{text}" as a private message to somebody whose name I cannot remember: a {job}, and somebody who {plan}. Look in "{first}" and "{second}".',
    'Whats the name of the {job} who {plan}? They introduced themselves in "{first}" and said more in "{second}". I would like to tell them privately: "{text}"',
    sites=("reddit",),
    difficulty=("names", "reading"),
)
def message_to_described(world: t.Sampler) -> t.Draw:
    """Write to a user who is told by what was said of a job in one thread and of plans in another."""
    rng, forum, name = world.rng, world.pick(OTHERS), word(world)
    people = strangers(world, 13)
    jobs, plans = rng.sample(_JOBS, 3), rng.sample(_PLANS, 3)
    wanted = people[0]
    first, second = f"Who are we? The {name} round", f"What are you up to, {name} people?"
    # Of the first nine, three have each job; the one that is meant shares the job with two, and the plans with two others.
    trade = [(people[place], jobs[place // 3][1][place % 3]) for place in range(9)]
    chosen = [0, 4, 8, 1, 3, 7, 2, 5, 6]
    plan_of = [(people[place], plans[number // 3][1][number % 3]) for number, place in enumerate(chosen)]
    extra = [
        (people[9], f"No {jobs[0][0]}, whatever they say of me. I only married one."),
        (people[10], "I sell insurance. Do not run away!"),
    ]
    hopes = [
        (people[9], f"A friend of mine {plans[0][0]}, and I am only jealous."),
        (people[11], "Nothing at all, and I enjoy it."),
        (people[12], "If I had the time... but I do not."),
    ]
    said: list[str] = []
    for title, texts, body, hours in (
        (first, [*trade, *extra], "Tell us what you do all day, in a line or two.", 300),
        (second, [*plan_of, *hopes], "Anything new in your life? Tell us.", 150),
    ):
        author = people[rng.randrange(13)]
        post = plant_post(world, forum, author["user_id"], title, body, hours)
        rng.shuffle(texts)
        speak(world, post, [Voice(person, text, hours - 4 - 3 * place) for place, (person, text) in enumerate(texts)])
        said += [text for _, text in texts]
    text = rng.choice(("Are you still looking for company?", "May I ask you something about it?", "Your line made my day."))
    return t.Draw(
        {"job": jobs[0][0], "plan": plans[0][0], "first": first, "second": second, "text": text},
        messages_are(world, [wanted], text),
        [*open_post(first), *open_post(second), *write_to([wanted], text), t.leave("", f"It must be {wanted['username']}.")],
        evidence=said,
    )


_TIPS = ("a drop of dish soap", "cold coffee grounds", "an old toothbrush", "a cork on the blade")
_EARLY = (
    "My uncle swears by {tip}. I have never tried it.",
    "Is it true that {tip} does it? I have only read of that.",
    "Do not believe those who will tell you to use {tip}. I did, and had to buy a new one.",
    "I wanted to try {tip} last year and never got around to it.",
)
_RIGHT = (
    "Take {tip}. It took me ten minutes, and it has been fine ever since.",
    "I did it with {tip} in March and was surprised myself how well it went. Do it.",
    "Nobody would believe me, but {tip} was all that I needed. Recommended.",
    "Spent two Sundays on it, then used {tip} and was done before lunch. You should, too.",
)


@TEMPLATES.define(
    'Who in the threads "{first}" and "{second}" was the first of all to recommend {tip} from their own experience? Send that user the private message "{text}".',
    'first person in "{first}" / "{second}" that recommends {tip} because it worked for them: message them "{text}" (whichever thread, earliest one)',
    'Several people mention {tip} in "{first}" and in "{second}", and now two of them claim that it was their idea. Whoever was really the first to recommend it after having done it themselves gets this private message from me: "{text}"',
    'Look at "{first}" and "{second}": who of those that have tried {tip} themselves and advise it was the earliest? Write "{text}" to this user, privately, and to nobody else.',
    'I want to give credit to the right person. In "{first}" and "{second}", {tip} is recommended by people for whom it has worked. To the one who said so first I would like to send "{text}". The order on the pages isnt the order in time.',
    sites=("reddit",),
    difficulty=("reading", "time"),
)
def first_to_recommend(world: t.Sampler) -> t.Draw:
    """Write to who was the first to recommend something that they have done, over two threads that are not in the order of time."""
    rng = world.rng
    tip, decoy = rng.sample(_TIPS, 2)
    people, forum = strangers(world, 16), world.pick(OTHERS)
    titles = (
        f"How do I get the {word(world)} stain out of my mower?",
        f"My mower is still stained, and {word(world)} is no help",
    )
    body = "It has been there since Easter. All ideas are welcome."
    posts = [
        plant_post(world, forum, people[-1]["user_id"], title, body, 250 - 20 * place) for place, title in enumerate(titles)
    ]
    early = [form.format(tip=tip) for form in rng.sample(_EARLY, 4)]
    right = [form.format(tip=tip) for form in rng.sample(_RIGHT, 4)]
    other = [form.format(tip=decoy) for form in rng.sample(_RIGHT, 3)]
    before = [early[0], early[1], other[0], other[1]]
    rng.shuffle(before)
    texts = [*before, right[0], early[2], right[1], other[2], right[2], early[3], right[3]]
    hours = sorted(rng.sample(range(10, 220), len(texts)), reverse=True)
    voices = [Voice(person, text, hour) for person, text, hour in zip(people, texts, hours, strict=False)]
    points = rng.sample(range(8, 60), len(voices))
    points[4] = rng.randint(1, 7)  # the first in time must not be the first on the page
    sides = [place % 2 for place in range(len(voices))]
    rng.shuffle(sides)
    for side, post in enumerate(posts):
        places = [place for place in range(len(voices)) if sides[place] == side]
        speak(world, post, [voices[place] for place in places], [points[place] for place in places])
    wanted = voices[4].author
    text = rng.choice(("The credit is yours.", "You were the first, thank you!", "May I name you as the one who found it?"))
    return t.Draw(
        {"first": titles[0], "second": titles[1], "tip": tip, "text": text},
        messages_are(world, [wanted], text),
        [
            *joined(*(open_post(title) for title in titles)),
            *write_to([wanted], text),
            t.leave("", "The others only heard of it, or came later."),
        ],
        evidence=[voice.body for voice in voices],
    )


@TEMPLATES.define(
    "Upvote every post in {forum} from the week before last (Monday to Sunday) that nobody has commented on yet. Leave my own and all others alone.",
    "upvote all posts of the week before last in {forum} w/o any comments (weeks start on monday). not mine",
    "Some posts in {forum} got no answer at all, which is sad. Those from the week before last, I mean the full week from Monday to Sunday that ended before last week began, should get an upvote from me if they still have no comments. My own posts are not meant.",
    "In {forum}: look at what was posted in the week before last, Monday through Sunday. Whatever has no comment, and is not mine, gets my upvote.",
    "Please give an upvote to the uncommented posts of other people in {forum}, but only those of the week before last. Weeks go from monday to sunday.",
    sites=("reddit",),
    difficulty=("time", "exhaustive"),
)
def upvote_unanswered(world: t.Sampler) -> t.Draw:
    """Upvote the posts of a week that have no comments."""
    rng = world.rng
    forum = world.pick(OTHERS)
    today = now(world)
    monday = (today - timedelta(days=today.weekday() + 14)).replace(hour=0, minute=0, second=0)
    people, name = strangers(world, 20), word(world)
    subjects = rng.sample(_SUBJECTS, 14)
    spans = [(-5, 0)] * 2 + [(0, 2)] * 3 + [(2, 5)] * 2 + [(5, 7)] * 3 + [(7, 10)] * 3 + [(10, 13)]
    for place, (subject, (start, end)) in enumerate(zip(subjects, spans, strict=True)):
        moment = monday + timedelta(minutes=rng.randint(start * 1440 + 45, end * 1440 - 45))
        hours = int((today - moment).total_seconds() // 3600)
        post = plant_post(world, forum, people[place]["user_id"], subject.format(word=name), "What do you think?", hours)
        if place in (3, 6, 9, 11) or rng.random() < 0.15:
            speak(world, post, [Voice(people[19 - place % 4], "Good question.", max(1, hours - 9))])
    rows = world.rows(POSTS + "SELECT * FROM posts WHERE forum_id = ? ORDER BY newest", forum["forum_id"])
    week = [row for row in rows if str(monday) <= row["created_at"] < str(monday + timedelta(days=7))]
    voted = {row[0] for row in world.rows("SELECT submission_id FROM submission_vote WHERE user_id = ? ORDER BY 1", ME)}
    wanted = [row for row in week if not row["comments"] and row["user_id"] != ME]
    if any(row["submission_id"] in voted for row in wanted) or any(row["comments"] != _said(world, row) for row in week):
        raise t.NothingToDraw("posts without votes of mine")
    steps: list[Step] = open_forum(forum["name"], "New")
    turned = 0
    for row in wanted:
        turns = turn_pages(world, row["newest"] - 1, PER_PAGE)
        steps += [*turns[turned:], t.click(f"Upvote {row['title']}")]
        turned = len(turns)
    steps += turn_pages(world, week[-1]["newest"] - 1, PER_PAGE)[turned:]  # to see where the week begins
    return t.Draw(
        {"forum": forum["name"]},
        votes_are(world, {row["submission_id"]: 1 for row in wanted}),
        [*steps, t.leave("", "These are all.")],
        evidence=[row["title"] for row in week],
    )


def _said(world: t.Sampler, row: t.Row) -> int:
    """Count the comments on a post whatever their state, so that "none" means the same to all readers."""
    return int(world.value("SELECT count(*) FROM comment WHERE submission_id = ?", row["submission_id"]))


_SUBJECTS = (
    "Does anybody remember the old {word} cinema?",
    "I have found a {word} clock in the attic",
    "What is the right word for {word} rain?",
    "My first {word} soup",
    "Lost: one {word} umbrella",
    "How long does a {word} keep?",
    "Three things I learned in {word}",
    "Why is nobody talking about {word}?",
    "A {word} on my balcony",
    "Is {word} worth a detour?",
    "The {word} bus is late again",
    "Songs about {word}",
    "My {word} has stopped ticking",
    "Where do you buy {word} thread?",
    "Best month for {word}?",
    "An ode to {word}",
)
