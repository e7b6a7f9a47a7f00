"""A thread of the forum in which customers of the shop complain, and the orders that they speak of."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.orders import notes_are, open_order, remark
from webarena_gym.templates.hard.threads import plant_post, strangers
from webarena_gym.templates.hard.ways import ago, of_site, turn_into
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.shopping_admin.ledgers import ORDERS

TEMPLATES = t.Templates("hard")

_ASK = (
    "Order {number}, in the name of {name}: nothing has come so far.",
    "{name} here. I still wait for {number}.",
    "Has anybody got theirs? Mine ({number}, {name}) is nowhere to be seen.",
    "I am {name}, and {number} has been on its way for ages.",
)
_THANK = ("Correction: it was at my neighbor's the whole time.", "Forget what I said, the bell has just rung and there it was.")
_NOTES = ("Asked in the forum", "Complained in public", "See the forum")


@TEMPLATES.define(
    'In the forum thread "{title}", customers of our shop complain that orders have not come. Leave the internal note "{note}" on each order (shop admin) of which this is said there and still stands, if the name given is that of its customer and it has '
    "not been shipped completely. No note anywhere else, and no customer is notified.",
    'forum thread "{title}": people miss their orders. admin: note "{note}" (internal!) on every order named there IF name matches the customer AND something of it isnt shipped yet AND they didnt say later it arrived. nothing on the others',
    'People are angry at us in the forum, see "{title}". I want to see at a glance in the admin which orders are meant: put "{note}" as a comment on them, without notifying anybody. Not if the order belongs to somebody else than the name in the thread says, '
    "not if all of it has been shipped, and not if the person has taken it back.",
    'Please read "{title}" in the forum, and check every order number from there in the shop\'s admin. Where the name is right, at least one piece is unshipped, and the complaint has not been withdrawn, write the note "{note}" on the order (do not notify the customer).',
    'For each complaint in "{title}" (forum): does the order exist under that name, is anything of it not shipped yet, and is the complaint still valid? Three times yes: internal note "{note}" on the order. Otherwise nothing. Do not answer in the forum, and dont notify.',
    sites=("shopping_admin", "reddit"),
    difficulty=("several_sites", "reading", "exhaustive"),
)  # fmt: skip
def note_complaints(world: t.Sampler) -> t.Draw:
    """Leave notes on those orders of which customers complain with reason."""
    rng, forum = world.rng, world.at("reddit")
    rows = world.rows(
        """SELECT o.*, sum(qty_ordered - qty_canceled) > sum(qty_shipped) AS is_waiting FROM sales_order o JOIN order_item USING (order_id)
        WHERE status IN ('pending', 'processing', 'complete') AND customer_id IS NOT 1 AND NOT EXISTS (SELECT 1 FROM order_comment c WHERE c.order_id = o.order_id)
        GROUP BY order_id ORDER BY order_id DESC"""
    )
    waiting, sent = [row for row in rows if row["is_waiting"]], [row for row in rows if not row["is_waiting"]][:60]
    plan = ["valid", "valid", "valid", "another name", "taken back", "sent", "sent"]
    rng.shuffle(plan)
    fresh, old = iter(rng.sample(waiting, 5)), iter(rng.sample(sent, 2))
    people = strangers(forum, len(plan) + 3)
    board = forum.pick("SELECT * FROM forum ORDER BY forum_id")
    title = f"Waiting for parcels from the {word(forum)} street shop"
    post = plant_post(
        forum, board, people[-1]["user_id"], title, "Who else? Please give the number and the name, they may read this.", 120
    )
    talk: list[tuple[t.Row, str]] = []
    later: list[tuple[t.Row, str]] = []
    cases: list[tuple[t.Row, str]] = []
    for fate, person in zip(plan, people, strict=False):
        row = next(old if fate == "sent" else fresh)
        name = row["customer_name"]
        if fate == "another name":
            name = rng.choice([each["customer_name"] for each in rows if each["customer_name"] != name])
        talk.append((person, rng.choice(_ASK).format(number=row["increment_id"], name=name)))
        if fate == "taken back":
            later.append((person, rng.choice(_THANK)))
        cases.append((row, fate))
    extra = next(row for row in waiting if row not in [each for each, _ in cases])
    talk.append((people[-2], f"Mine came within two days, {extra['increment_id']}. They are all right."))
    for place, (person, text) in enumerate([*talk, *later]):
        forum.plant(
            "comment",
            submission_id=post["submission_id"],
            user_id=person["user_id"],
            body=text,
            created_at=ago(world, hours=110 - 7 * place),
        )
    note = rng.choice(_NOTES)
    changes: dict[str, dict[str, Any]] = {}
    steps: list[Step] = [turn_to(1), *open_post(title), turn_to(0)]
    for row, fate in cases:
        steps += open_order(row) if fate != "taken back" else []
        if fate == "valid":
            steps += remark(note)
            changes[row["increment_id"]] = {"comments": 1}
    count = "SELECT count(*) FROM comment"
    return t.Draw(
        {"title": title, "note": note},
        t.all_of(
            turn_into(world, ORDERS, changes),
            notes_are(world, {row["order_id"]: note for row, fate in cases if fate == "valid"}),
            of_site("reddit", t.state(count, expected=[[forum.value(count)]])),
        ),
        [*steps, t.leave("", "The orders are marked.")],
        start_url=tabs("shopping_admin", "reddit"),
        evidence=[text for _, text in [*talk, *later]],
    )
