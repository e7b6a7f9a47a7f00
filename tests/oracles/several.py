"""Oracles of tasks over several sites: lists, votes and purchases."""

import re
from collections import Counter
from typing import Any

from tests.oracles import gitlab, map, reddit, shopping, wikipedia
from tests.oracles.framework import Case, Outcome, UnclearError, added, consequence, only
from tests.oracles.shopping_orders import items_of, note, order_of


def _posted(case: Case, title: str, body: Any) -> Outcome:
    """Demand a new post in the forum of the goal; the site adds the vote of its author."""
    forum = reddit.forum_named(case, case["forum"])["forum_id"]
    post = {"forum_id": forum, "user_id": reddit.ME, "title": title, "body": body, "url": None}
    return Outcome(changes=[added("reddit", "submission", **post)], allowed=[consequence("reddit", "submission_vote")])


_FINISHED = {  # last comments of closed issues by whether the thing was done
    r"Merged, thanks to everybody\.": True,
    r"Done\. It was only one line in the end\.": True,
    r"In since Monday\.": True,
    r"Released this morning\.": True,
    r"We will not do this, sorry\.": False,
    r"Nobody has asked for it in a year\. Closing, not doing\.": False,
    r"I could not reproduce it, so I give up\.": False,
    r"Closed without a change: it works as intended\.": False,
}


def release_news(case: Case) -> Outcome:
    """Post the titles of the issues of a milestone that were done and may be told."""
    query = "SELECT milestone_id FROM milestone WHERE project_id = ? AND title = ?"
    milestone = case.value("gitlab", query, gitlab.project(case)["project_id"], case["milestone"])
    secret = {issue["issue_id"] for issue in gitlab.issues(case, case["label"])}
    titles = []
    for issue in gitlab.issues(case, "", "milestone_id = ? AND state = 'closed' AND NOT is_confidential", milestone):
        words = [n["body"] for n in gitlab.notes(case, issue) if not n["is_system"]]
        if issue["issue_id"] not in secret and gitlab.read(words[-1], _FINISHED):
            titles.append(issue["title"])
    return _posted(case, case["title"], lambda body: sorted(filter(None, _lines(body))) == sorted(titles))


def _lines(text: str) -> list[str]:
    """Return the lines of a text without spaces around them."""
    return [line.strip() for line in text.splitlines()]


_COMPLAINTS = (
    r"I am (?P<name>.+), and (?P<number>\d{9}) has been on its way for ages\.",
    r"Has anybody got theirs\? Mine \((?P<number>\d{9}), (?P<name>.+)\) is nowhere to be seen\.",
    r"Order (?P<number>\d{9}), in the name of (?P<name>.+): nothing has come so far\.",
    r"(?P<name>.+) here\. I still wait for (?P<number>\d{9})\.",
)


def note_complaints(case: Case) -> Outcome:
    """Note on the orders that a thread says have not come, where the name is right and something is not shipped."""
    standing: dict[int, dict[str, str]] = {}
    for comment in reddit.comments(case, reddit.post_titled(case, case["title"])):
        matches = [match for text in _COMPLAINTS if (match := re.fullmatch(text, comment["body"]))]
        if matches:
            standing[comment["user_id"]] = only(matches).groupdict()
        elif re.fullmatch(
            r"Correction: it was at my neighbor's the whole time\.|Forget what I said, the bell has just rung.*",
            comment["body"],
        ):
            standing.pop(comment["user_id"], None)
        elif not re.fullmatch(r"Mine came within two days, \d{9}\. They are all right\.", comment["body"]):
            raise UnclearError(f"the comment {comment['body']!r}")
    outcome = Outcome()
    for complaint in standing.values():
        order = order_of(case, complaint["number"])
        missing = any(i["qty_ordered"] - i["qty_canceled"] > i["qty_shipped"] for i in items_of(case, order))
        if order["customer_name"] == complaint["name"] and missing:
            outcome.changes.append(note(order, case["note"]))
    return outcome


def year_of(case: Case, title: str) -> int:
    """Return the year in which a place was opened, as the encyclopedia has it."""
    years = [row["number"] for label in ("Opened", "Founded") for row in wikipedia.facts(case, label, title)]
    return int(only(years, f"years of {title}"))


def winner_of_quiz(case: Case) -> Outcome:
    """Write to the first who names all years and is not out by the rules of a quiz."""
    quiz = reddit.post_titled(case, case["title"])
    years = [year_of(case, name) for name in re.findall(r"^\d\. (.+)$", quiz["body"], re.MULTILINE)]
    last = re.search(r'the winner of "(.+?)" may play, but not win\.', quiz["body"])
    for rule in (
        "Whoever is the first to name all four years wins.",
        "who writes a second list of years is out, with both",
        "Edited comments are out",
    ):
        if not last or rule not in quiz["body"]:
            raise UnclearError(f"the rules {quiz['body']!r}")
    before = reddit.post_titled(case, last[1])
    bodies = [c["body"] for c in reddit.comments(case, before) if c["user_id"] == before["user_id"]]
    earlier = only([name for body in bodies for name in re.findall(r"And the winner is (\S+)\. The prize", body)], "winners")
    lists = [(c, [int(year) for year in re.findall(r"\b\d{4}\b", c["body"])]) for c in reddit.comments(case, quiz)]
    lists = [(comment, guess) for comment, guess in lists if guess]
    counts = Counter(comment["user_id"] for comment, _ in lists)
    out = reddit.user_id(case, earlier)
    for comment, guess in lists:
        user = comment["user_id"]
        if guess == years and counts[user] == 1 and not comment["edited_at"] and user not in (out, quiz["user_id"]):
            return Outcome(changes=reddit.message(user, case["text"]))
    raise UnclearError("nobody wins")


_VOICES = {
    r"Yes, please buy it\.": "yes",
    r"Approved\.": "yes",
    r"Good idea, yes\.": "yes",
    r"Fine with me, go ahead\.": "yes",
    r"I have seen it in use now, and take back my no\. Yes\.": "yes",
    r"No\. We have had enough of these\.": "no",
    r"Not approved, sorry\.": "no",
    r"I am against it\.": "no",
    r"Do we not have that already\?": None,
    r"Which color will it be\?": None,
    r"I would use it every day\.": None,
}


def buy_approved(case: Case) -> Outcome:
    """Put wishes from issues into the cart that a file allows, and close their issues."""
    rules, outcome, expected = gitlab.file_text(case), Outcome(), dict[int, int]()
    limit = re.search(
        r"^- Up to (\$[\d,.]+) \(today's price in the shop times the number of pieces, without shipping\): one member",
        rules,
        re.MULTILINE,
    )
    if not limit or "Above that: two of them." not in rules or "Nobody says yes to a wish of their own." not in rules:
        raise UnclearError(f"the rules {rules!r}")
    query = "SELECT DISTINCT user_id FROM membership WHERE project_id = ? AND role IN ('Maintainer', 'Owner')"
    deciders = set(case.values("gitlab", query, gitlab.project(case)["project_id"]))
    for issue in gitlab.issues(case, case["label"], "state = 'opened'"):
        wish = re.fullmatch(r"Please buy (\d+) of the (.+)\.", issue["description"])
        if not wish:
            raise UnclearError(f"the wish {issue['description']!r}")
        product, pieces = shopping.product_named(case, wish[2]), int(wish[1])
        voices: dict[int, str] = {}
        for message in gitlab.notes(case, issue):
            if message["author_id"] in deciders and not message["is_system"]:
                voice = gitlab.read(message["body"], _VOICES)
                if voice and not (voice == "yes" and message["author_id"] == issue["author_id"]):
                    voices[message["author_id"]] = voice
        needed = 1 if product["today"] * pieces <= shopping.cents(limit[1]) else 2
        in_stock = product["is_enabled"] and product["is_in_stock"] and product["quantity"] > 0
        if in_stock and "no" not in voices.values() and len(voices) >= needed:
            expected[product["product_id"]] = expected.get(product["product_id"], 0) + pieces
            outcome.changes.append(gitlab.close(issue))
    outcome.changes += shopping.into_cart(case, expected)
    return outcome


def reply_with_care(case: Case) -> Outcome:
    """Reply to each question with a fact that may be told, or with a refusal."""
    post = reddit.post_titled(case, case["title"])
    friend = reddit.user_id(case, case["friend"])
    query = """SELECT body FROM message m JOIN message_thread t USING (thread_id) WHERE m.sender_id = ? AND t.receiver_id = ?
        ORDER BY m.created_at, message_id"""
    facts = {}
    may_tell = {"where": False, "day": False, "price": False}
    for body in case.values("reddit", query, friend, reddit.ME):
        if match := re.search(
            r"we meet at (.+)\. The day is (.+), the tickets are (\d+ dollars), and there are (\d+) seats\.", body
        ):
            facts = {"where": match[1], "day": match[2], "price": match[3]}
        elif body.startswith("You may tell people where it is."):
            may_tell |= {
                "where": True,
                "price": "Price and seats you can tell" in body,
                "day": "keep the day to yourself" not in body,
            }
        elif body.startswith("Hello again."):
            may_tell["price"] &= "do not mention the price any more" not in body
            may_tell["day"] |= "The day is safe now, tell everybody." in body
        else:
            raise UnclearError(f"the message {body!r}")
    place = map.place_named(case, facts["where"])
    query = "SELECT value FROM place_detail WHERE place_id = ? AND name = 'Wheelchair access'"
    access = case.value("map", query, place["place_id"])
    answers = {
        "Where will it be?": facts["where"] if may_tell["where"] else case["refusal"],
        "What does a ticket cost?": facts["price"] if may_tell["price"] else case["refusal"],
        "On which day? I must ask for a day off.": facts["day"] if may_tell["day"] else case["refusal"],
        "What is the telephone number of the place?": place["phone"],
        "Wheelchair access: yes, no or limited?": access,
    }
    outcome = Outcome(allowed=[consequence("reddit", "comment_vote")])
    for question in reddit.comments(case, post):
        if question["body"] not in answers:
            raise UnclearError(f"the question {question['body']!r}")
        reply = {"parent_id": question["comment_id"], "user_id": reddit.ME, "body": answers[question["body"]]}
        outcome.changes.append(added("reddit", "comment", submission_id=post["submission_id"], **reply))
    return outcome


def wishes_of_friends(case: Case) -> Outcome:
    """Put the cheapest product that fits each last wish of a thread into the cart."""
    wishes: dict[int, tuple[str, str]] = {}
    for comment in reddit.comments(case, reddit.post_titled(case, case["title"])):
        body = comment["body"]
        wish = re.search(r"something from ([A-Z][\w'-]*(?: (?:&|[A-Z][\w'-]*))*) ([a-z].+)\.$", body)
        if wish:
            wishes[comment["user_id"]] = wish[1], wish[2]
        elif re.fullmatch(r"Forget mine, I have been given one\.|I take that back, there is no room for it in my flat\.", body):
            wishes.pop(comment["user_id"], None)
        elif not re.fullmatch(
            r"Nothing, thank you\. Just come\.|Is \S+ serious\? I would not give away anything from .+\.", body
        ):
            raise UnclearError(f"the wish {body!r}")
    expected: dict[int, int] = {}
    for category, need in wishes.values():
        product = shopping.cheapest_with(case, category, need)["product_id"]
        expected[product] = expected.get(product, 0) + 1
    return Outcome(changes=shopping.into_cart(case, expected))


_NAMES = (  # what a nickname means today
    r"(?P<place>.+) is (?P<name>the [\w ]+), and has always been\.",
    r"(?P<name>the [\w ]+) used to be .+\. Since they have put up the scaffold, everybody means (?P<place>.+) by it\.",
    r"When I say (?P<name>the [\w ]+), and when anybody else does, it is (?P<place>.+)\.",
    r"For tourists: what the guide has as (?P<name>the [\w ]+) is not .+ but (?P<place>.+)\.",
)


def save_by_nicknames(case: Case) -> Outcome:
    """Save the places of a plan that are named by nicknames."""
    places: dict[str, str] = {}
    for comment in reddit.comments(case, reddit.post_titled(case, case["glossary"])):
        two = re.fullmatch(r"Do not mix them up: (the [\w ]+) is (.+), (the [\w ]+) is (.+)\.", comment["body"])
        matches = [match for text in _NAMES if (match := re.fullmatch(text, comment["body"]))]
        if two:
            places |= {two[1]: two[2], two[3]: two[4]}
        elif matches:
            places[matches[0]["name"]] = only(matches)["place"]
        elif not re.fullmatch(r"My aunt calls .+\. Nobody but my aunt does\.", comment["body"]):
            raise UnclearError(f"the comment {comment['body']!r}")
    plan: list[str] = []
    current = ""
    for comment in reddit.comments(case, reddit.post_titled(case, case["plan"])):
        body = comment["body"]
        if match := re.fullmatch(r"I would begin at (the [\w ]+), and go on to (the [\w ]+)\.", body):
            plan += [match[1], match[2]]
        elif match := re.fullmatch(r"Good, and then (the [\w ]+)\?", body):
            plan.append(match[1])
        elif match := re.fullmatch(r"Agreed\. (the [\w ]+) is too crowded for me on Saturdays, can we leave it out\?", body):
            current = match[1]
        elif match := re.fullmatch(r"Yes, it is out\. Let us take (the [\w ]+) in its place\.", body):
            plan = [name for name in plan if name != current] + [match[1]]
        elif match := re.fullmatch(r"So it is settled: no (the [\w ]+), the rest as above\.", body):
            plan = [name for name in plan if name != match[1]]
        elif not re.fullmatch(r"Fine with everybody\. And the [\w ]+ only if it rains, which it will not, they say\.", body):
            raise UnclearError(f"the comment {body!r}")
    return map.save(case, case["note"], *(map.place_named(case, places[name]) for name in plan))


def list_in_issue(case: Case) -> Outcome:
    """Put into the cart what the author of an issue has decided on."""
    author = gitlab.user_named(case, case["person"])
    issue = only(gitlab.issues(case, "", "title = ?", case["title"]), "issues of that title")
    if issue["author_id"] != author:
        raise UnclearError("somebody else has opened the issue")
    lines = re.findall(r"^- (\d+) x (.+)$", issue["description"], re.MULTILINE)
    expected = {name: int(count) for count, name in lines}
    current = ""
    for message in gitlab.notes(case, issue):
        body = message["body"]
        if message["author_id"] != author:
            match = re.fullmatch(
                r"Could we have the (.+) as well\?|Please make it \d+ of the (.+), there are more of us this year\.", body
            )
            current = (match[1] or match[2]) if match else current
        elif match := re.fullmatch(r"Yes, (\d+) of those\. But take the (.+) off the list, Jo still has one at home\.", body):
            expected[current] = int(match[1])
            del expected[match[2]]
        elif match := re.fullmatch(r"(?:\d+) are too many\. (\d+) will do\.", body):
            expected[current] = int(match[1])
        elif body != "It stays, I need it myself.":
            raise UnclearError(f"the comment {body!r}")
    quantities = {shopping.product_named(case, name)["product_id"]: count for name, count in expected.items()}
    return Outcome(changes=shopping.into_cart(case, quantities))


def meeting_place(case: Case) -> Outcome:
    """Save the place with the most last votes, and open an issue with its name."""
    post = reddit.post_titled(case, case["title"])
    choices = re.fullmatch(r"It will be one of these: (.+), (.+) or (.+)\. Please vote below\.", post["body"])
    if not choices:
        raise UnclearError(f"the choices {post['body']!r}")
    names = "(" + "|".join(re.escape(name) for name in sorted(choices.groups(), key=len, reverse=True)) + ")"
    votes = {}
    for comment in reddit.comments(case, post):
        named = re.findall(names, comment["body"])
        if named and not re.fullmatch(
            r"Is .+ still open in the evening\? If not, never mind, my vote stays\.", comment["body"]
        ):
            votes[comment["user_id"]] = named[-1]
    counts = Counter(votes.values())
    winner = only([name for name, count in counts.items() if count == max(counts.values())], "winners")
    of = gitlab.project(case)["project_id"]
    issue = {"project_id": of, "title": winner, "due_on": gitlab.day_of(case["day"]), "author_id": gitlab.ME}
    outcome = map.save(case, case["note"], map.place_named(case, winner))
    outcome.changes.append(added("gitlab", "issue", **issue))
    return outcome


ORACLES = {
    "hard.release_news": release_news,
    "hard.note_complaints": note_complaints,
    "hard.winner_of_quiz": winner_of_quiz,
    "hard.buy_approved": buy_approved,
    "hard.reply_with_care": reply_with_care,
    "hard.wishes_of_friends": wishes_of_friends,
    "hard.save_by_nicknames": save_by_nicknames,
    "hard.list_in_issue": list_in_issue,
    "hard.meeting_place": meeting_place,
}
