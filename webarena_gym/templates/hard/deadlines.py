"""What was in time and what was not: entries of a contest, reports from before a release, and products that went offline too early."""

from datetime import timedelta
from typing import Any

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.gitlab.base import day_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import today
from webarena_gym.templates.gitlab.ways import entry, open_project
from webarena_gym.templates.hard.doubles import remarks_are
from webarena_gym.templates.hard.goods import in_form
from webarena_gym.templates.hard.issues import a_project, labelled_list, plant_issue, plant_label, say
from webarena_gym.templates.hard.issues import strangers as people_of_the_host
from webarena_gym.templates.hard.threads import plant_post, strangers
from webarena_gym.templates.hard.ways import findable, now, repository_page, staff_page, turn_into
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.reddit.votes import votes_are
from webarena_gym.templates.shopping_admin.ledgers import PRODUCTS

TEMPLATES = t.Templates("hard")

_NAMES = ("Pudding", "Sir Barks", "Anchovy", "Duchess", "Turnip", "Comet", "Old Nick", "Biscuit", "Noodle")


@TEMPLATES.define(
    'My contest "{title}" in the forum is over. Upvote every comment there that is a valid entry by the rules in the post, and no other comment. The forum shows UTC.',
    'contest "{title}" (forum): upvote all valid entries, rules in the post. careful w/ the deadline, forum times are UTC',
    'People could enter my contest "{title}" until a certain moment, and of course some came late, some twice, and some only wanted to talk. Please give an upvote to each entry that is valid according to the rules in the post. Times in the forum are UTC, while the rules go by the clock where I live.',
    'By the rules of "{title}", which of the comments are entries that count? These get an upvote from me; nothing else does. (The times next to comments are in UTC.)',
    'Go through the comments on "{title}", and upvote what is a vallid entry. Deadline and the rest stand in the post, in local time; the forum itself counts in UTC.',
    sites=("reddit",),
    difficulty=("time", "policies", "restraint"),
)  # fmt: skip
def upvote_in_time(world: t.Sampler) -> t.Draw:
    """Upvote the entries of a contest that came before a deadline in another time zone, one a person."""
    rng, zone = world.rng, world.rng.choice((-8, -7, -6, -5, 3, 5, 8))
    day = (now(world) - timedelta(days=rng.randint(3, 6))).replace(hour=0, minute=0, second=0, microsecond=0)
    limit = day + timedelta(hours=rng.choice((18, 20, 21)))
    deadline = limit - timedelta(hours=zone)  # as the forum shows it
    title = f"Name the dog of the {word(world)} station"
    rules = (
        f"Whoever finds the best name wins a calendar. Rules: one name for each person, the first that you write; further ones are ignored. "
        f"Entries have to be here by {limit:%H}:{limit:%M} on {limit:%B} {limit.day}, as our station clock shows it (UTC{zone:+d}). Talk as much as you like, but only a comment that proposes a name is an entry."
    )
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    author, *people = strangers(world, 9)
    post = plant_post(world, forum, author["user_id"], title, rules, 24 * 9)
    names = rng.sample(_NAMES, 8)
    gap = timedelta(minutes=rng.randint(9, 40))
    zone_gap = abs(timedelta(hours=zone)) / 2
    plan = [
        (people[0], f"{names[0]}!", deadline - timedelta(hours=30), True),
        (people[1], f"I would call it {names[1]}.", deadline - zone_gap, True),
        (people[2], "Is it a he or a she?", deadline - timedelta(hours=20), False),
        (people[3], f"{names[2]}, what else.", deadline - gap, True),
        (people[4], f"{names[3]}, because of the ears.", deadline + gap, False),
        (people[0], f"Or {names[4]}, even better.", deadline - timedelta(hours=11), False),
        (people[5], f"{names[5]}. I hope that I am not too late.", deadline + zone_gap, False),
        (people[6], f"Whoever proposes {names[6]} has never met a dog.", deadline - timedelta(hours=7), False),
        (people[7], f"My daughter says {names[7]}, and so do I.", deadline - timedelta(hours=25), True),
    ]
    dropped = rng.sample([case for case in plan if case[0] is not people[0]], 2)
    plan = [case for case in plan if case not in dropped]
    plan.sort(key=lambda case: case[2])
    made: list[tuple[int, t.Row, bool]] = []
    for person, text, moment, is_valid in plan:
        comment = world.plant(
            "comment", submission_id=post["submission_id"], user_id=person["user_id"], body=text, created_at=str(moment)
        )
        made.append((comment, person, is_valid))
    return t.Draw(
        {"title": title},
        votes_are(world, {}, [comment for comment, _, is_valid in made if is_valid]),
        [
            *open_post(title),
            *(t.click(f"Upvote {person['username']}'s comment", "It is valid.") for _, person, is_valid in made if is_valid),
            t.leave("", "The valid entries have my vote."),
        ],
        evidence=[f"(UTC{zone:+d})", *(text for _, text, *_ in plan)],
    )  # fmt: skip


_OLD_TROUBLES = (
    "Tabs cannot be moved", "Sound comes too late", "Names are cut at a dash", "Two clicks open two windows", "Search stops in the middle", "Red is shown as brown",
    "Lists lose their order", "Settings forget the language", "Pages overlap in print", "Dates before 1970 are refused",
)  # fmt: skip


@TEMPLATES.define(
    'Close the open issues of {project} labelled "{label}" that were reported before version {version} was finally available (see {file} in the repository), each with the comment "{note}". Issues that were reported on that day or since stay open, and so do those whose reporter has tried {version} and still has the problem.',
    '{project}: label "{label}", open, reported before {version} was really out ({file} in the repo tells when) -> comment "{note}" + close. newer ones stay. reporter says still there in {version} -> stays too',
    'Version {version} of {project} has solved a lot. Please close what was reported before it was there to stay (the dates are in {file}, and there was some back and forth), among the open issues with the label {label}. Each gets the comment "{note}" when you close it. If the reporter writes that the problem is still there in {version}, or if the issue came on that very day or later, leave it alone.',
    'Since which day has {version} been available without interruption? {file} of {project} says so. Open "{label}" issues from before that day are to be closed with the comment "{note}", unless their reporter says that {version} does not help.',
    'Clean up the "{label}" issues in {project}. Everything from the time before {version} (as {file} has it, mind that a release may have been withdrawn) is closed with "{note}" as a comment, except where the reporter has still seen the problem with {version}. Later issues stay as thay are.',
    sites=("gitlab",),
    difficulty=("time", "reading", "exhaustive"),
)  # fmt: skip
def close_before_release(world: t.Sampler) -> t.Draw:
    """Close the issues from before a release that was withdrawn once, but for those that it has not solved."""
    row, rng, file = a_project(world), world.rng, "HISTORY.md"
    label, version = rng.choice(("old trouble", "needs check", "maybe solved")), f"{rng.randint(4, 9)}.{rng.randint(1, 9)}"
    note = rng.choice((f"Please try {version}.", f"This should be better in {version}.", f"Solved by {version}, we hope."))
    label_id = plant_label(world, row, label)
    last = rng.randint(20, 30)  # days ago
    pulled, first = last + rng.randint(6, 9), last + rng.randint(14, 18)

    def told(days: int) -> str:
        return day_label(str(today(world) - timedelta(days=days)))

    content = (
        f"# History\n\n- {told(last - 8)}: corrected words in the manual\n- {told(last)}: {version} is back, with the fault taken out\n"
        f"- {told(pulled)}: {version} withdrawn, because it lost settings\n- {told(first)}: {version} published\n- {told(first + 40)}: first preview of {version}\n"
    )
    plan = [
        ("old", first + 5), ("between", pulled + 2), ("between", last + 2), ("still there", first + 9), ("still there, says another", last + 4),
        ("same day", last), ("new", last - 3), ("new", last - 9),
    ]  # fmt: skip
    plan.sort(key=lambda case: -case[1])  # issues are numbered in the order in which they were reported
    people = people_of_the_host(world, 2 * len(plan))
    made: list[tuple[t.Row, bool]] = []
    said: list[str] = []
    for place, ((fate, days), title) in enumerate(zip(plan, rng.sample(_OLD_TROUBLES, len(plan)), strict=True)):
        reporter, other = people[2 * place], people[2 * place + 1]
        issue = plant_issue(world, row, title, "It happens every day.", reporter["user_id"], days)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        if fate.startswith("still there"):
            text = rng.choice((f"I have {version} now, and it is no better.", f"Installed {version} today. Same as ever."))
            say(world, issue, (reporter if fate == "still there" else other)["user_id"], text, 24 * 5 + place)
            said.append(text)
        made.append((issue, days > last and fate != "still there"))
    steps: list[Step] = [*repository_page(world, row, file, content), *open_project(row), *labelled_list(label)]
    for issue, is_old in made:
        steps.append(t.click(entry(issue["title"])))
        steps += (
            [t.type_text("Write a comment", note), t.click("Comment and close issue"), *labelled_list(label)]
            if is_old
            else [t.back("This stays open.")]
        )
    closed = {issue["iid"]: issue["issue_id"] for issue, is_old in made if is_old}
    states = "SELECT iid, state FROM issue WHERE project_id = ? ORDER BY iid"
    expected = [[iid, "closed" if iid in closed else state] for iid, state in world.rows(states, row["project_id"])]
    return t.Draw(
        {"project": row["full_path"], "label": label, "version": version, "file": file, "note": note},
        t.all_of(
            t.state(states, row["project_id"], expected=expected),
            remarks_are(world, {number: note.rstrip(".") for number in closed.values()}),
        ),
        [*steps, t.leave("", "What is old is closed.")],
        evidence=[told(last), told(pulled), told(first), *(issue["title"] for issue, _ in made), *said],
    )


@TEMPLATES.define(
    'The products on our page "{page}" (Content) were all taken offline last night, most of them by mistake. Enable again those that should not have been disabled according to that page; the others stay offline.',
    'pls repair: everything listed on content page "{page}" got disabled, the page says which of them really should be. re-enable the rest, change nothing else',
    'A colleague has disabled too many products. The page "{page}" among our content pages has the list, and what the rule should have been, and what was decided since. Please enable everything on that list that the rule does not cover and about which nothing else was decided.',
    'Compare the products on "{page}" (Content > Pages) with the rule on that page. What is offline without a reason is to be enabled again, product by product; what is rightly offline is not touched.',
    'Which of the products from "{page}" should be online? They are all disabled at the momment. The page tells when a product has to be offline, so enable the ones to which that does not apply, exceptions at the end of the page included.',
    sites=("shopping_admin",),
    difficulty=("recovery", "policies", "exhaustive"),
)  # fmt: skip
def enable_again(world: t.Sampler) -> t.Draw:
    """Enable again what was disabled against a rule."""
    rng, title = world.rng, world.rng.choice(("Taken offline", "Offline list", "The clean-up of the catalog"))
    limit = rng.choice((3000, 4000, 5000))
    plain = """is_enabled AND special_price_cents IS NULL AND NOT EXISTS (SELECT 1 FROM product_option o WHERE o.product_id = p.product_id)"""
    cheap, dear = (
        findable(world, world.rows(f"SELECT * FROM product p WHERE {plain} AND quantity > 3 AND price_cents BETWEEN ? AND ? ORDER BY product_id", low, high), "product")
        for low, high in ((500, limit - 1), (limit, 4 * limit))
    )  # fmt: skip
    low, high = rng.sample(cheap, 5), rng.sample(dear, 4)
    cases = [
        # The product, whether nothing is left of it, whether it has to stay offline, and what was decided about it.
        (low[0], True, True, ""),
        (low[1], True, True, ""),
        (low[2], False, False, ""),
        (low[3], True, False, "The {name} comes back next week, so it stays online, stock or no stock."),
        (high[0], True, False, ""),
        (high[1], False, False, ""),
        (high[2], False, True, "The {name} is being looked at by the lawyers. Offline until they are done."),
        (low[4], False, False, "We have talked about the {name}, and nothing changes for it."),
    ]
    rng.shuffle(cases)
    for product, is_empty, _, _ in cases:
        empty: dict[str, Any] = {"quantity": 0, "is_in_stock": 0} if is_empty else {}
        world.alter("product", {"product_id": product["product_id"]}, is_enabled=0, **empty)
    decided = [text.format(name=product["name"]) for product, _, _, text in cases if text]
    names = [str(product["name"]) for product, *_ in cases]
    rules = "\n\n".join(
        [
            f"The rule: a product goes offline when nothing of it is left (quantity 0) and its regular price is below {money(limit)}. Both, not one of them.",
            "What was disabled last night:",
            *names,
            "Decided since, and more important than the rule:",
            *decided,
        ]
    )
    way = staff_page(world, title, rules)
    steps: list[Step] = []
    changes: dict[str, dict[str, int]] = {}
    for product, _, is_right, _ in cases:
        steps += in_form(product, *([] if is_right else [t.click("Enable Product", "It should be online."), t.click("Save")]))
        if not is_right:
            changes[product["sku"]] = {"is_enabled": 1}
    return t.Draw(
        {"page": title},
        turn_into(world, PRODUCTS, changes),
        [*way, *steps, t.leave("", "The catalog is as it should be.")],
        evidence=[f"below {money(limit)}", *names, *decided],
    )
