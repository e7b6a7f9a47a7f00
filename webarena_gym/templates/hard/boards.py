"""Forums whose rules say what may be posted there and who may look after them."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.threads import messages_are, plant_post, strangers, write_to
from webarena_gym.templates.hard.ways import ago, listed
from webarena_gym.templates.reddit.communities import OWN, SUBSCRIPTIONS
from webarena_gym.templates.reddit.posting import submit
from webarena_gym.templates.reddit.routes import ME, open_forum, open_post, open_rules, open_user

TEMPLATES = t.Templates("hard")

NEW_POSTS = """SELECT forum_id, user_id, title, trim(body, ' ."'), url, image_id FROM submission
    WHERE submission_id > ? AND state = 'visible' ORDER BY submission_id"""


def posts_are(world: t.Sampler, *rows: Sequence[Any]) -> dict[str, Any]:
    """The posts that were made since the start must be these: forum, title and text, each by me."""
    last = world.value("SELECT max(submission_id) FROM submission")
    expected = [[forum, ME, title, body, None, None] for forum, title, body in rows]
    return t.state(NEW_POSTS, last, expected=expected)


_OFFERS = (
    ("For sale: four-drawer cabinet, {price} dollars", "Oak, a scratch on one side. Pick it up any evening"),
    ("For sale: road bike, size 56, {price} dollars", "Ten years old, new tires. Try it before you buy it"),
    ("For sale: twelve-string guitar, {price} dollars", "With a case and three sets of strings. Message me"),
)
_EARLIER = (
    "For sale: box of old comics, 15 dollars",
    "For sale: sewing machine, 40 dollars",
    "For sale: pair of skis, 25 dollars",
)


@TEMPLATES.define(
    'I want to sell something, and only one of the forums {forums} allows it, if any. Read their rules in the sidebars and my own older posts, and submit it to the forum where I may: title "{title}", text "{text}". '
    "Post it nowhere else. If none of them allows it, post nothing and answer N/A.",
    'post my offer in whichever of {forums} allows it (sidebar rules!! also check what i posted before). title "{title}" text "{text}". exactly one forum fits or none - if none dont post, answer N/A',
    'Could you put up an ad for me? Title: "{title}". Text: "{text}". It should go to one of these forums: {forums}. They are all picky about sales, so find the one whose rules permit mine, given what I have posted and '
    "where I am subscribed. In case there is no such forum: no post, just N/A.",
    'Which of the forums {forums} would accept my ad "{title}"? Judge by the rules in their sidebars. Submit it there, with the text "{text}". Do not change anything about the ad or my subscriptions to make it fit; if it fits nowhere, answer N/A.',
    'My ad ("{title}", text: "{text}") must follow the rules of the forum it is posted to. Candidates: {forums}. One may be all right, then post it there and only there. If every one of them excludes it, say N/A and leave it. '
    "Do not subscribe to anythng.",
    sites=("reddit",),
    difficulty=("judgement", "policies", "time"),
)  # fmt: skip
def sell_where_allowed(world: t.Sampler) -> t.Draw:
    """Post an offer to the one forum whose rules allow it, or nowhere; both are as likely."""
    rng = world.rng
    subscribed = {row[0] for row in world.rows(SUBSCRIPTIONS)}
    mine = {row["forum_id"] for row in world.rows(OWN)}
    forums = world.rows("SELECT * FROM forum ORDER BY forum_id")
    own = [row for row in forums if row["forum_id"] in subscribed - mine]
    other = [row for row in forums if row["forum_id"] not in subscribed | mine]
    inside, outside = rng.sample(own, 4), rng.sample(other, 1)
    price, days = rng.choice((60, 75, 90)), rng.choice((30, 40))
    form, text = rng.choice(_OFFERS)
    title = form.format(price=price)
    is_allowed = rng.random() < 0.5
    first, second = rng.sample(_EARLIER, 2)
    me = world.rows(f"SELECT * FROM user WHERE user_id = {ME}")[0]
    # Of the four where I am subscribed: one whose limit is too low, two that count earlier sales, one that asks for a title.
    low, twice, once, titled = inside
    sidebars = {
        low["forum_id"]: f"Rules\n1. Private sales are welcome, one thing a post.\n2. Nothing for {price - 10} dollars or more, and no shops.\n3. Be kind to each other.",
        twice["forum_id"]: f"Rules\n1. You may sell what is yours, whatever it costs.\n2. One sale in {days} days and person, counted from day to day. It does not matter whether the last one went well.\n3. Search before you ask.",
        titled["forum_id"]: "Rules\n1. Sales are all right.\n2. Their titles begin with the price, so that we can sort them. Others are removed.\n3. No shouting in titles.",
        outside[0]["forum_id"]: "Rules\n1. Everything may be sold here, at any price.\n2. Only subscribers sell. Who comes for the money alone may look for another place.\n3. Stay on topic.",
        once["forum_id"]: f"Rules\n1. Sales are tolerated up to {price} dollars, that sum included.\n2. Wait {days} days after one sale here before you post the next one.\n3. Sales elsewhere are not counted.",
    }  # fmt: skip
    for forum_id, sidebar in sidebars.items():
        world.alter("forum", {"forum_id": forum_id}, sidebar=sidebar)
    old = [
        row
        for row in world.rows(f"SELECT * FROM submission WHERE user_id = {ME} ORDER BY submission_id")
        if row["title"] in _EARLIER
    ]
    if old:
        raise t.NothingToDraw("somebody who has sold nothing yet")
    plant_post(world, twice, ME, first, "Message me.", 24 * (days - rng.randint(4, 9)))
    back = days + rng.randint(3, 9) if is_allowed else days - rng.randint(3, 9)
    plant_post(world, once, ME, second, "Message me.", 24 * back)
    posts = world.value(f"SELECT count(*) FROM submission WHERE user_id = {ME} AND state = 'visible'")
    named = [low, twice, once, titled, outside[0]]
    rng.shuffle(named)
    looks: list[Step] = []
    for forum in named:
        looks += open_rules(forum["name"])
    looks += [*open_user(me["username"]), t.click(f"Submissions ({posts})", "What have I sold, and when?")]
    slots = {"forums": listed([forum["name"] for forum in named]), "title": title, "text": text}
    evidence = [
        f"Nothing for {price - 10} dollars or more",
        "Only subscribers sell",
        "Their titles begin with the price",
        first,
        second,
    ]
    if is_allowed:
        return t.Draw(
            slots,
            posts_are(world, (once["forum_id"], title, text)),
            [*looks, *submit(once["name"], title, text)],
            evidence=evidence,
        )
    return t.Draw(
        slots,
        t.all_of(t.not_achievable(), posts_are(world)),
        [*looks, t.leave("N/A", "None of them allows it.")],
        grounds={"N/A": says("Only subscribers sell", "Their titles begin with the price", second)},
        evidence=evidence,
    )


_REFUSALS = (
    "Thank you, but our rules do not allow it yet.",
    "I am sorry, you cannot become a moderator now.",
    "Not this time, please see the rules.",
)


_POSTS = (
    ("Does anybody else save the threads here?", "I keep a folder of the best ones and read them again in winter."),
    ("A small thank-you", "Two weeks ago I asked a beginner's question, and eleven people answered. That is all."),
    ("What did you change your mind about this year?", "I will begin: I used to think that longer is better."),
    ("How do you explain this forum to your parents?", "Mine believe that I am looking for a job here."),
    ("The best advice that I did not follow", "It was given to me right here, in June. You may laugh."),
    ("Is there a list of good places to begin?", "The sidebar helps, but it is rather short."),
    ("One year later", "Last year I wrote that I would give up. I have not, and here is why: stubbornness."),
    ("Which question is asked too often?", "And which one not often enough?"),
    ("Reading on the train", "Half an hour each way. Tell me what I should look at next."),
    ("My neighbor found this place through me", "Be nice to her, she knows more than all of us."),
    ("An experiment", "For a week I only read, and wrote nothing. It was harder than I thought."),
    ("Where do you stand on lists?", "Numbered lists, top tens, that sort of thing. I cannot make up my mind."),
    ("Found in a drawer", "My notes of ten years ago. Everything in them is wrong, and I was so sure."),
    ("What I would tell a beginner", "Go slowly, ask early, write things down."),
    ("Is it only me, or has it become quieter?", "Not that I mind."),
    ("Saturday plans", "Rain all day, so I will finally sort everything out. What about you?"),
)
"""What somebody may have posted to any forum."""


@TEMPLATES.define(
    '{people} want to become moderators of my forum {forum}. Its sidebar says who can. Make those moderators who meet all the conditions, and send each of the others the private message "{text}"',
    'candidates for mod in {forum}: {people}. check each against the sidebar. ok -> make mod. not ok -> pm "{text}"',
    'I have promised to decide about new moderators for {forum} today. {people} have applied. The conditions stand in the sidebar of the forum, and what you need to know about people is on their profiles. Whoever qualifies becomes a '
    'moderator, and whoever does not gets this private message: "{text}"',
    'Please check {people} by the conditions for moderators in the sidebar of {forum}, strictly. Add those that pass to the moderators. The ones that fail are told so in a private message each: "{text}"',
    'For my forum {forum}: decide who of {people} may be a moderator (conditions: sidebar). Appoint them; write "{text}" to the rejected ones, privatly. Nobody gets both.',
    sites=("reddit",),
    difficulty=("policies", "judgement", "exhaustive"),
)  # fmt: skip
def appoint_moderators(world: t.Sampler) -> t.Draw:
    """Make moderators of those who meet a forum's conditions, and refuse the others."""
    rng, forum, text = world.rng, world.pick(OWN), world.rng.choice(_REFUSALS)
    years, least = rng.choice((2, 3)), 3
    world.alter(
        "forum",
        {"forum_id": forum["forum_id"]},
        sidebar=f"Who can become a moderator\n1. Whoever has been on this site for {years} years or more,\n"
        f"2. has posted at least {least} submissions of their own to this forum (comments and other forums do not count),\n"
        "3. and does not moderate any other forum already.\n4. Whoever sells things in the biography cannot, whatever else is true.",
    )
    plan = ["fits", *rng.sample(("fits", "too new", "too few", "elsewhere", "sells"), 4)]
    rng.shuffle(plan)
    busy = {row[0] for row in world.rows("SELECT user_id FROM moderator ORDER BY user_id")}
    active = f"""SELECT u.user_id FROM user u WHERE (SELECT count(*) FROM submission s WHERE s.user_id = u.user_id AND state = 'visible') <= 8
        AND NOT EXISTS (SELECT 1 FROM submission s WHERE s.user_id = u.user_id AND forum_id = {forum["forum_id"]}) ORDER BY 1"""
    usable = {row[0] for row in world.rows(active)} - busy
    people = [person for person in strangers(world, 60) if person["user_id"] in usable][: len(plan)]
    if len(people) < len(plan):
        raise t.NothingToDraw("people with a short list of posts")
    another = world.pick("SELECT * FROM forum WHERE forum_id != ? ORDER BY forum_id", forum["forum_id"])
    chosen: list[t.Row] = []
    refused: list[t.Row] = []
    looks = open_rules(forum["name"])
    posts = iter(rng.sample(_POSTS, len(_POSTS)))
    for place, (fate, person) in enumerate(zip(plan, people, strict=True)):
        since = ago(world, days=365 * years + (-rng.randint(20, 60) if fate == "too new" else rng.randint(20, 900)))
        biography = (
            "Hand-made bowls, order them at my profile page. Ships everywhere." if fate == "sells" else "Happy to be here."
        )
        world.alter("user", {"user_id": person["user_id"]}, created_at=since, biography=biography)
        for number in range(least - 1 if fate == "too few" else least):
            plant_post(
                world,
                forum,
                person["user_id"],
                *next(posts),
                50 + 31 * number + place,
            )
        if fate == "too few":
            plant_post(world, another, person["user_id"], *next(posts), 45)
        if fate == "elsewhere":
            world.plant("moderator", forum_id=another["forum_id"], user_id=person["user_id"], since=since)
        (chosen if fate == "fits" else refused).append(person)
        count = world.value("SELECT count(*) FROM submission WHERE user_id = ? AND state = 'visible'", person["user_id"])
        looks += [*open_user(person["username"]), t.click(f"Submissions ({count})")]
    query = "SELECT forum_id, user_id FROM moderator ORDER BY forum_id, user_id"
    expected = [list(row) for row in world.rows(query)] + [[forum["forum_id"], person["user_id"]] for person in chosen]
    appoint = [
        *open_forum(forum["name"]),
        t.click("Moderators"),
        *(step for person in chosen for step in (t.type_text("Username", person["username"]), t.click("Add moderator"))),
    ]
    return t.Draw(
        {"people": listed([person["username"] for person in people]), "forum": forum["name"], "text": text},
        t.all_of(t.state(query, expected=sorted(expected)), messages_are(world, refused, text)),
        [*looks, *appoint, *write_to(refused, text), t.leave("", "All of them have their answer.")],
        evidence=["does not moderate any other forum already", *(person["username"] for person in people)],
    )


_LOCKED = (
    ("Please vote for my dog in the contest", "The link is in my profile. Every vote helps, it takes ten seconds.", True),
    ("We need two hundred stars until Friday", "Give our recording five stars, please, please. We count on you.", True),
    ("Click here and make my day", "A click on our page costs you nothing and brings us a step further.", True),
    ("Who won the contest with the dogs?", "I missed the last day and cannot find the result.", False),
    ("Why are stars worth so much?", "A friend of mine reads nothing but the number of stars. I do not understand it.", False),
    ("Do votes of strangers count for you?", "I have never asked anybody for a vote and will not begin now. What about you?", False),
    ("How many clicks does your page have?", "Mine had eleven last week, and eight of them were my mother. No need to add to it.", False),
    ("I will never again beg for stars", "Last year I did that here, and I am ashamed of it. Sorry, everybody.", False),
)  # fmt: skip
"""Posts, and whether they beg for votes, clicks or stars."""


@TEMPLATES.define(
    "My fellow moderator {user} has locked posts of {forum} and sent me a message about it. Unlock each of those posts that does not break the rule about begging in the sidebar. Whatever else is locked stays locked.",
    "{user} locked a bunch of posts in {forum}, see the message i got. undo it for those which dont break the begging rule (sidebar). dont touch other locked posts",
    "Have a look at the message from {user}, please: a list of posts in {forum} that were locked last night, rather in a hurry. Compare every one with the sidebar of the forum. If it does not beg, unlock it. If it does, the lock is right. "
    "Posts that {user} has not locked are not to be changed.",
    "{user} wrote me which posts of our forum {forum} were locked yesterday. By the sidebar, some of these locks are wrong. Take back the wrong ones, and only those from the message.",
    "Please undo the wrong locks in {forum} ({user} tells in a private message which posts are concerned; the sidebar tells what may be locked). The right ones remain, and so do older locks that are not mentioned.",
    sites=("reddit",),
    difficulty=("recovery", "reading", "restraint"),
)  # fmt: skip
def undo_locks(world: t.Sampler) -> t.Draw:
    """Unlock those posts that another moderator has locked against the rules."""
    rng, forum = world.rng, world.pick(OWN)
    mate, *authors = strangers(world, len(_LOCKED) + 3)
    world.plant("moderator", forum_id=forum["forum_id"], user_id=mate["user_id"], since=ago(world, days=200))
    world.alter(
        "forum",
        {"forum_id": forum["forum_id"]},
        sidebar="Rules\n1. Stay on topic.\n2. No begging for votes, clicks or stars: whoever asks readers for them gets the post locked. Talking about votes, clicks and stars is no begging.\n3. Be kind to each other.",
    )
    cases = rng.sample(_LOCKED, len(_LOCKED))
    aside = next(place for place, case in enumerate(cases) if not case[2])
    made: list[tuple[t.Row, bool]] = []
    for place, ((title, body, is_begging), author) in enumerate(zip(cases, authors, strict=False)):
        post = plant_post(world, forum, author["user_id"], title, body, 30 + 11 * place)
        world.alter("submission", {"submission_id": post["submission_id"]}, is_locked=1)
        if place != aside:
            made.append((post, is_begging))
    titles = "\n".join(f"- {post['title']}" for post, _ in made)
    thread = world.plant("message_thread", sender_id=mate["user_id"], receiver_id=ME)
    for hours, body in (
        (9, f"Last night I locked these in {forum['name']}:\n\n{titles}"),
        (
            8,
            f'Perhaps I was a bit fast, please check them. The one about "{cases[aside][0]}" was locked before, that was not me, and there was a reason for it.',
        ),
    ):
        world.plant("message", thread_id=thread, sender_id=mate["user_id"], body=body, created_at=ago(world, hours=hours))
    unread = world.value(
        f"""SELECT count(*) FROM message m JOIN message_thread t USING (thread_id)
        WHERE NOT is_read AND m.sender_id != {ME} AND {ME} IN (t.sender_id, t.receiver_id)"""
    )
    steps: list[Step] = [t.click(f"Messages ({unread})"), t.click(f"Conversation with {mate['username']}")]
    for post, is_begging in made:
        steps += [*open_post(post["title"]), *([] if is_begging else [t.click("Unlock", "That is no begging.")])]
    freed = {post["submission_id"] for post, is_begging in made if not is_begging}
    query = "SELECT submission_id, state, is_locked, is_sticky FROM submission WHERE forum_id = ? ORDER BY submission_id"
    expected = [
        [number, state, 0 if number in freed else locked, sticky]
        for number, state, locked, sticky in world.rows(query, forum["forum_id"])
    ]
    return t.Draw(
        {"user": mate["username"], "forum": forum["name"]},
        t.state(query, forum["forum_id"], expected=expected),
        [*steps, t.leave("", "Only the right locks are left.")],
        evidence=[
            "whoever asks readers for them gets the post locked",
            *(body for place, (_, body, _) in enumerate(cases) if place != aside),
        ],
    )
