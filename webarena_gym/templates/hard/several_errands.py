"""Hard templates over several sites that concern people: announcements, complaints, contests, purchases and replies."""

from datetime import timedelta
from typing import Any

from webarena_gym.sites.country.texts import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import MAINTAINER, entry, find_project
from webarena_gym.templates.gitlab.planning import today
from webarena_gym.templates.hard import gitlab_issues as issues
from webarena_gym.templates.hard import reddit
from webarena_gym.templates.hard.gitlab_projects import outsiders, plant_member
from webarena_gym.templates.hard.kit import ago, concatenate, findable, now, of_site, repository_page, turn_into
from webarena_gym.templates.hard.shopping_admin_orders import notes_are, open_order, remark
from webarena_gym.templates.hard.shopping_goods import NEEDS, look_through, own_cart, things_needed
from webarena_gym.templates.map import open_place, places
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.reddit import open_post, submit
from webarena_gym.templates.several import holds, is_clear, tabs, turn_to
from webarena_gym.templates.shopping import GOODS, ME, cart_holds, open_product
from webarena_gym.templates.shopping_admin import ORDERS
from webarena_gym.templates.ways import word
from webarena_gym.templates.wikipedia import FACTS, open_article

TEXTS = read_texts("hard/several")


def release_news(world: t.Sampler) -> t.Draw:
    """Post the finished work of a milestone, except what must not become public."""
    row, rng = issues.a_project(world), world.rng
    label = rng.choice(("internal", "for us", "customer data"))
    label_id = issues.plant_label(world, row, label)
    name = rng.choice(("Heron", "Kestrel", "Plover", "Bittern", "Avocet"))
    if world.rows("SELECT 1 FROM milestone WHERE project_id = ? AND title = ?", row["project_id"], name):
        raise t.NothingToDraw("a name for a milestone")
    milestone = issues.plant_milestone(world, row, name, today(world))
    plan = ["done"] * rng.randint(3, 4) + ["given up", "given up", "confidential", "label", "open"]
    rng.shuffle(plan)
    people = issues.colleagues(world, len(plan))
    made: list[tuple[t.Row, str]] = []
    statements: list[str] = []
    for place, (fate, title, author) in enumerate(zip(plan, rng.sample(TEXTS["titles"], len(plan)), people, strict=True)):
        is_closed = fate != "open"
        labels = [label_id] if fate == "label" else []
        columns: dict[str, Any] = {"milestone_id": milestone, "state": "closed" if is_closed else "opened"}
        columns |= {"is_confidential": int(fate == "confidential")}
        columns |= {"closed_at": ago(world, days=2, hours=place)} if is_closed else {}
        body = "Planned for this milestone."
        issue = issues.plant_issue(world, row, title, body, author["user_id"], 65 - place, *labels, **columns)
        issues.plant_note(
            world, issue, author["user_id"], rng.choice(("Looking forward to this.", "Good plan.", "Who takes it?")), 24 * 20
        )
        if is_closed:
            text = rng.choice(TEXTS["given_up"] if fate == "given up" else TEXTS["done"])
            issues.plant_note(world, issue, author["user_id"], text, 24 * 2 + place)
            statements.append(text)
        made.append((issue, fate))
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id", site="reddit")
    headline = f"What is new in {row['name']}"
    targets = [issue["title"] for issue, fate in made if fate == "done"]
    unwanted = [issue["title"] for issue, fate in made if fate != "done"]
    looks: list[Step] = [*find_project(row), t.click("Milestones"), t.click(name)]
    for issue, _ in made:
        looks += [t.click(entry(issue["title"])), t.back()]
    slots = {"forum": forum["name"], "title": headline, "milestone": name, "project": row["full_path"], "label": label}
    t.skip_if(not is_clear(targets, unwanted), "titles that no other holds")
    condition, parameters = holds("body", targets, unwanted)
    last = world.value("SELECT max(submission_id) FROM submission", site="reddit")
    compared = f"forum_id, user_id, title, {condition}"
    query = f"SELECT {compared} FROM submission WHERE submission_id > ? AND state = 'visible' ORDER BY submission_id"
    expected = [[forum["forum_id"], ME, headline, len(targets), 0]]
    check = t.state(query, *parameters, last, expected=expected, site="reddit")
    steps = [*looks, turn_to(1), *submit(forum["name"], headline, "\n".join(targets))]
    return t.Draw(slots, check, steps, start_url=tabs("gitlab", "reddit"), evidence=[*targets, *unwanted, *statements])


def note_complaints(world: t.Sampler) -> t.Draw:
    """Write notes on the orders about which customers complain with reason."""
    rng, forum = world.rng, world.at("reddit")
    query = """SELECT o.*, sum(qty_ordered - qty_canceled) > sum(qty_shipped) AS is_waiting
        FROM sales_order o JOIN order_item USING (order_id)
        WHERE status IN ('pending', 'processing', 'complete') AND customer_id IS NOT 1
            AND NOT EXISTS (SELECT 1 FROM order_comment c WHERE c.order_id = o.order_id)
        GROUP BY order_id ORDER BY order_id DESC"""
    rows = world.rows(query)
    waiting, sent = [row for row in rows if row["is_waiting"]], [row for row in rows if not row["is_waiting"]][:60]
    plan = ["valid", "valid", "valid", "another name", "taken back", "sent", "sent"]
    rng.shuffle(plan)
    fresh, old = iter(rng.sample(waiting, 5)), iter(rng.sample(sent, 2))
    people = reddit.strangers(forum, len(plan) + 3)
    board = forum.pick("SELECT * FROM forum ORDER BY forum_id")
    title = f"Waiting for parcels from the {word(forum)} street shop"
    post = reddit.plant_post(forum, board, people[-1]["user_id"], title, TEXTS["who_else_waits"], 120)
    talk: list[tuple[t.Row, str]] = []
    later: list[tuple[t.Row, str]] = []
    cases: list[tuple[t.Row, str]] = []
    for fate, person in zip(plan, people, strict=False):
        row = next(old if fate == "sent" else fresh)
        name = row["customer_name"]
        if fate == "another name":
            name = rng.choice([item["customer_name"] for item in rows if item["customer_name"] != name])
        talk.append((person, rng.choice(TEXTS["ask"]).format(number=row["increment_id"], name=name)))
        if fate == "taken back":
            later.append((person, rng.choice(TEXTS["thank"])))
        cases.append((row, fate))
    extra = next(row for row in waiting if row not in [item for item, _ in cases])
    talk.append((people[-2], TEXTS["parcel_came"].format(**dict(extra))))
    reddit.discuss(forum, post, [*talk, *later], 110, 7)
    note = rng.choice(TEXTS["notes"])
    changes: dict[str, dict[str, Any]] = {}
    steps: list[Step] = [turn_to(1), *open_post(title), turn_to(0)]
    for row, fate in cases:
        steps += open_order(row) if fate != "taken back" else []
        if fate == "valid":
            steps += remark(note)
            changes[row["increment_id"]] = {"comments": 1}
    notes = notes_are(world, {row["order_id"]: note for row, fate in cases if fate == "valid"})
    check = t.all_of(turn_into(world, ORDERS, changes), notes, reddit.no_comment(forum))
    steps = [*steps, t.end_task("", "The orders are marked.")]
    evidence = [text for _, text in [*talk, *later]]
    return t.Draw({"title": title, "note": note}, check, steps, start_url=tabs("shopping_admin", "reddit"), evidence=evidence)


def winner_of_quiz(world: t.Sampler) -> t.Draw:
    """Write to the winner of a quiz about the encyclopedia."""
    rng = world.rng
    query = """SELECT title, CAST(number AS INTEGER) AS year FROM facts WHERE label = 'Opened'
        AND kind IN ('museum', 'library', 'zoo', 'stadium', 'theater', 'bridge') ORDER BY title"""
    asked = rng.sample(world.rows(FACTS + query, site="wikipedia"), 4)
    years = [int(row["year"]) for row in asked]
    t.skip_if(len(set(years)) < 4, "four different years")
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    host, champion, twice, edited, late, right, *others = reddit.strangers(world, 12)
    name = word(world)
    title, old = f"Quiz of the {name} club: when was it opened?", f"Quiz of the {name} club: rivers and lakes"
    lines = "\n".join(f"{number}. {row['title']}" for number, row in enumerate(asked, 1))
    rules = TEXTS["winner_of_quiz_rules"].format(lines=lines, old=old)
    last = reddit.plant_post(world, forum, host["user_id"], old, TEXTS["old_quiz"], 24 * 40)
    reddit.plant_comment(world, last, others[0], "I am sure that I have won this.", 24 * 38)
    reddit.plant_comment(world, last, host, f"And the winner is {champion['username']}. The prize is on its way.", 24 * 37)
    post = reddit.plant_post(world, forum, host["user_id"], title, rules, 24 * 6)

    def answers(*wrong: int) -> str:
        """Return a list of years with errors of one or ten years at some indices."""
        stated_years = [year + rng.choice((-10, -1, 1, 10)) if place in wrong else year for place, year in enumerate(years)]
        return ", ".join(map(str, stated_years))

    roles = {"champion": champion, "twice": twice, "edited": edited, "late": late, "right": right}
    roles |= {f"other {place}": person for place, person in enumerate(others)}
    comments = [(roles[role], text.format(years=answers(*wrong)), role == "edited") for role, text, wrong in TEXTS["guesses"]]
    for place, (person, body, is_edited) in enumerate(comments):
        more = {"edited_at": ago(world, hours=139 - 9 * place)} if is_edited else {}
        made = reddit.plant_comment(world, post, person, body, 140 - 9 * place, **more)
        # Threads show the best comments first, so that the first one shown is not the first one written.
        world.alter("comment", {"comment_id": made}, up=rng.randint(1, 30))
    text = rng.choice(TEXTS["prizes"])
    check = reddit.messages_are(world, [right], text)
    steps = [*open_post(title), turn_to(1), *concatenate(*(open_article(row["title"]) for row in asked))]
    steps += [turn_to(0, f"The years are {', '.join(map(str, years))}."), *open_post(old), *reddit.write_to([right], text)]
    steps.append(t.end_task("", f"{right['username']} was the first of those who may win."))
    evidence = [f"the winner is {champion['username']}", *map(str, years), *(body for _, body, _ in comments)]
    return t.Draw({"title": title, "text": text}, check, steps, start_url=tabs("reddit", "wikipedia"), evidence=evidence)


def buy_approved(world: t.Sampler) -> t.Draw:
    """Add the products to the cart that a project's rules allow to buy, and close the requests for them."""
    host, rng = world.at("gitlab"), world.rng
    row, label, file = issues.a_project(host, MAINTAINER), rng.choice(("purchase", "wanted", "please buy")), "BUYING.md"
    t.skip_if(world.rows(f"SELECT 1 FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = {ME}"), "an empty cart")
    limit = rng.choice((4000, 5000, 6000))
    fit = "is_plain AND is_salable AND quantity > 5 AND cents BETWEEN ? AND ?"
    query = GOODS + f"SELECT * FROM goods WHERE {fit} ORDER BY product_id"
    low = rng.sample(findable(world, world.rows(query, 500, limit // 2 - 100), "product"), 4)
    # Two of these cost more than the limit, though one alone does not.
    high = rng.sample(findable(world, world.rows(query, limit // 2 + 100, limit - 100), "product"), 3)
    sold_out = low[3]
    world.alter("product", {"product_id": sold_out["product_id"]}, is_in_stock=0)
    first, second, helper, asking, guest = outsiders(host, row, 5)
    for person, role in ((first, "Maintainer"), (second, "Maintainer"), (helper, "Developer"), (asking, "Reporter")):
        plant_member(host, row, person, role)
    yes, more, no = rng.sample(TEXTS["yes"], 2), rng.choice(TEXTS["talk"]), rng.choice(TEXTS["no"])
    cases = [
        # The product, the quantity, the requester, the text, and whether it may be bought.
        (low[0], 1, asking, [(guest, more), (first, yes[0])], True),
        (low[1], 2, asking, [(helper, yes[0]), (guest, yes[1])], False),
        (high[0], 2, helper, [(second, yes[0]), (helper, more), (first, yes[1])], True),
        (high[1], 2, first, [(first, yes[0]), (second, yes[1])], False),
        (low[2], 1, helper, [(second, yes[0]), (first, no)], False),
        (high[2], 2, asking, [(first, no), (second, yes[0]), (first, TEXTS["yes_after_all"]), (helper, more)], True),
        (sold_out, 1, asking, [(second, yes[1])], False),
    ]  # fmt: skip
    cases = [*rng.sample(cases[:3], 2), cases[5], *rng.sample([cases[3], cases[4], cases[6]], 2)]
    rng.shuffle(cases)
    rules = TEXTS["buy_approved_rules"].format(limit=money(limit))
    label_id = issues.plant_label(host, row, label)
    made: list[tuple[t.Row, t.Row, int, bool]] = []
    statements: list[str] = []
    for place, (product, quantity, person, talk, is_approved) in enumerate(cases):
        title = f"Wish {place + 1}: something for the {rng.choice(('office', 'workshop', 'kitchen', 'archive'))}"
        wish = f"Please buy {quantity} of the {product['name']}."
        issue = issues.plant_issue(host, row, title, wish, person["user_id"], 20 - place, label_id)
        for number, (speaker, text) in enumerate(talk):
            issues.plant_note(host, issue, speaker["user_id"], text, 150 - 20 * number + place)
            statements.append(text)
        made.append((issue, product, quantity, is_approved))
    close = [t.click("Close issue", "It may be bought.")]
    work = [(issue, close if is_approved else []) for issue, _, _, is_approved in made]
    steps = [turn_to(1), *repository_page(host, row, file, rules), *find_project(row), t.click("Members"), *find_project(row)]
    steps += [*issues.visit(issues.labelled_list(label), work, ""), turn_to(0)]
    for _, product, quantity, is_approved in made:
        steps += open_product(product["name"]) if is_approved or product is sold_out or quantity > 1 else []
        if is_approved:
            steps += [*([t.type_text("Qty", str(quantity))] if quantity > 1 else []), t.click("Add to Cart")]
    slots = {"project": row["full_path"], "label": label, "file": file}
    check = t.all_of(
        cart_holds(*((product["sku"], {}, quantity) for _, product, quantity, is_approved in made if is_approved)),
        of_site(
            "gitlab", issues.states_are(host, row, {issue["iid"]: "closed" for issue, _, _, is_approved in made if is_approved})
        ),
    )
    steps = [*steps, t.end_task("", "What may be bought is in the cart.")]
    evidence = ["Nobody says yes to a wish of their own", *statements, *(product["name"] for _, product, *_ in made)]
    return t.Draw(slots, check, steps, start_url=tabs("shopping", "gitlab"), evidence=evidence)


def reply_with_care(world: t.Sampler) -> t.Draw:
    """Answer questions in public as far as a friend allows it in private."""
    rng, refusal = world.rng, world.rng.choice(TEXTS["refusals"])
    friend, *people = reddit.strangers(world, 6)
    fit = """label = name AND phone LIKE '%-%' AND category IN ('cafe', 'restaurant', 'cinema', 'library', 'museum')
        AND EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Wheelchair access')"""
    place = rng.choice(places(world.at("map"), fit))
    query = "SELECT value FROM place_detail WHERE place_id = ? AND name = 'Wheelchair access'"
    access = world.value(query, place["place_id"], site="map")
    day = now(world).date() + timedelta(days=rng.randint(12, 40))
    date_text, price, seats = f"{day:%B} {day.day}", f"{rng.randint(6, 19)} dollars", rng.randint(30, 70)
    club = word(world)
    title = f"The {club} evening: ask me anything"
    is_day_free = rng.random() < 0.5
    slots = {"club": club, "place": place, "told": date_text, "price": price, "seats": seats}
    messages = [text.format(**slots) for text in (*TEXTS["terms"], TEXTS["last_terms"][is_day_free])]
    questions = [
        ("Where will it be?", str(place["name"])),
        ("What does a ticket cost?", refusal),
        ("On which day? I must ask for a day off.", date_text if is_day_free else refusal),
        ("What is the telephone number of the place?", str(place["phone"])),
        ("Wheelchair access: yes, no or limited?", str(access)),
    ]
    rng.shuffle(questions)
    post = reddit.plant_post(world, world.pick("SELECT * FROM forum ORDER BY forum_id"), ME, title, "It will be great.", 60)
    thread = world.plant("message_thread", sender_id=friend["user_id"], receiver_id=ME)
    for number, text in enumerate(messages):
        moment = ago(world, hours=50 - 14 * number)
        world.plant("message", thread_id=thread, sender_id=friend["user_id"], body=text, created_at=moment, is_read=1)
    expected: list[list[object]] = []
    steps: list[Step] = []
    for number, ((question, fact), person) in enumerate(zip(questions, people, strict=True)):
        comment = reddit.plant_comment(world, post, person, question, 40 - 5 * number)
        expected.append([post["submission_id"], comment, ME, fact.lower().rstrip(".")])
        reply = f"Reply to {person['username']}"
        steps += [t.click(reply), t.type_text(f"{reply}'s comment", fact), t.click("Post"), *open_post(title)]
    unread = reddit.unread_messages(world)
    last = world.value("SELECT max(comment_id) FROM comment")
    columns = "submission_id, parent_id, user_id, trim(lower(body), ' .\"')"
    since = "comment_id > ? AND state = 'visible' ORDER BY parent_id, comment_id"
    query = f"SELECT {columns} FROM comment WHERE {since}"
    slots = {"title": title, "friend": friend["username"], "refusal": refusal}
    to_messages = [
        t.click(f"Messages ({unread})" if unread else "Messages"),
        t.click(f"Conversation with {friend['username']}"),
    ]
    looks = [*to_messages, turn_to(1), *open_place(place["name"]), turn_to(0), *open_post(title)]
    steps = [*looks, *steps, t.end_task("", "Everybody has an answer.")]
    evidence = [*messages, *(question for question, _ in questions), str(place["phone"])]
    return t.Draw(slots, t.state(query, last, expected=expected), steps, start_url=tabs("reddit", "map"), evidence=evidence)


def wishes_of_friends(world: t.Sampler) -> t.Draw:
    """Add to the cart the cheapest product for each need of a thread that has not been withdrawn."""
    rng, forum = world.rng, world.at("reddit")
    own_cart(world)
    plain = [(shelf, need, first) for shelf, need, first in things_needed(world, 1, 5) if shelf[first]["is_plain"]]
    by_shelf = {shelf[0]["category"]: (shelf, need, first) for shelf, need, first in rng.sample(plain, len(plain))}
    one, two, three, four = rng.sample([item for _, item in sorted(by_shelf.items())], 4)

    def wish(thing: tuple[list[t.Row], tuple[str, str], int], start: str) -> str:
        shelf, need, _ = thing
        return f"{start} something from {shelf[0]['category']} {NEEDS[need]}."

    people = reddit.strangers(forum, 6)
    title = f"What shall I bring from the {word(forum)} trip?"
    talk = [
        (0, wish(one, rng.choice(("I would love", "Since you ask:", "If it is not too much,")))),
        (1, wish(three, rng.choice(("For me, please,", "I need", "Maybe")))),
        (2, "Nothing, thank you. Just come."),
        (3, wish(four, rng.choice(("My wish is", "What I miss is")))),
        (1, rng.choice(("Forget mine, I have been given one.", "I take that back, there is no room for it in my flat."))),
        (3, wish(two, "I have thought about it, and would like in its place")),
        (4, f"Is {people[0]['username']} serious? I would not give away anything from {one[0][0]['category']}."),
    ]  # fmt: skip
    board, body = (
        forum.pick("SELECT * FROM forum ORDER BY forum_id"),
        "Tell me what you wish for, and I shall see what I can do.",
    )
    post = reddit.plant_post(forum, board, people[5]["user_id"], title, body, 120)
    reddit.discuss(forum, post, [(people[person], text) for person, text in talk], 110, 9)
    steps: list[Step] = [turn_to(1), *open_post(title), turn_to(0)]
    for shelf, _, first in (one, two):
        steps += [*look_through(world, shelf, first), t.click(shelf[first]["name"]), t.click("Add to Cart")]
    check = t.all_of(cart_holds(*((shelf[first]["sku"], {}, 1) for shelf, _, first in (one, two))), reddit.no_comment(forum))
    steps = [*steps, t.end_task("", "The wishes that still stand are in the cart.")]
    evidence = [*(text for _, text in talk), one[1][1], two[1][1]]
    return t.Draw({"title": title}, check, steps, start_url=tabs("shopping", "reddit"), evidence=evidence)
