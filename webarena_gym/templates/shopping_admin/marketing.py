"""Changes to reviews, cart price rules, search terms and the newsletter."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping_admin.fields import written_cents
from webarena_gym.sites.shopping_admin.views.marketing import APPLY
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Change
from webarena_gym.templates.shopping_admin.ledgers import (
    REVIEWS,
    RULES,
    SUBSCRIBERS,
    TERMS,
    becomes,
    others_stay,
    vanish,
)
from webarena_gym.templates.shopping_admin.routes import KEYWORD, PER_PAGE, filtered, open_menu
from webarena_gym.templates.ways import instruction, nth, turn_pages

OCCASIONS = ("Spring", "Summer", "Autumn", "Winter", "Birthday", "Weekend", "Launch", "Farewell")
_PENDING = """SELECT r.*, p.name FROM review r JOIN product p USING (product_id) WHERE r.status = 'Pending'
    AND (SELECT count(*) FROM review s WHERE s.status = 'Pending' AND s.product_id = p.product_id) = 1
    AND (SELECT count(*) FROM product q WHERE instr(q.name, p.name)) = 1 ORDER BY review_id"""


def open_pending(review: t.Row) -> list[Step]:
    """Return the steps to the form of the one review of its product that is pending."""
    return [*open_menu("Marketing", "Pending Reviews"), t.search(KEYWORD, review["name"]), t.click("Edit")]


def tick(rows: list[t.Row], key: str, action: str) -> list[Step]:
    """Return the steps that do something with several rows of the list on this page."""
    return [*[t.click(f"Select {row[key]}") for row in rows], t.choose("Actions", action), t.click("Submit")]


def moderate(world: t.Sampler, status: str, seen: str) -> t.Draw:
    """Return a draw in which the status of a pending review is set."""
    row = world.pick(_PENDING)
    return instruction(
        {"nickname": row["nickname"], "product": row["name"]},
        becomes(world, REVIEWS, row["review_id"], status=status),
        way=[*open_pending(row), t.choose("Status", status), t.click("Save Review")],
        seen=seen,
    )


def approve_review(world: t.Sampler) -> t.Draw:
    """Publish a review."""
    return moderate(world, "Approved", "The review is approved.")


def reject_review(world: t.Sampler) -> t.Draw:
    """Refuse a review, without deleting it."""
    return moderate(world, "Not Approved", "The review is not approved.")


delete_review = Change(
    _PENDING,
    lambda world, row: vanish(world, REVIEWS, row["review_id"]),
    way=lambda _, row: [*open_pending(row), t.click("Delete Review")],
    seen="The review has been deleted.",
    slots={"product": "{name}"},
)


def delete_reviews_of(world: t.Sampler) -> t.Draw:
    """Delete all reviews of a nickname that is no part of another."""
    nickname = world.pick(
        """SELECT nickname FROM review r GROUP BY nickname HAVING count(*) BETWEEN 2 AND 4
           AND count(*) = (SELECT count(*) FROM review s WHERE instr(lower(s.nickname), lower(r.nickname))) ORDER BY nickname"""
    )["nickname"]
    rows = world.rows("SELECT review_id FROM review WHERE nickname = ? ORDER BY created_at DESC", nickname)
    return instruction(
        {"nickname": nickname},
        vanish(world, REVIEWS, *[row["review_id"] for row in rows]),
        way=[
            *open_menu("Marketing", "All Reviews"),
            *filtered(t.type_text("Nickname", nickname)),
            *tick(rows, "review_id", "Delete"),
        ],
        seen=f"The {len(rows)} reviews are deleted.",
    )


def judge_reviews_of(world: t.Sampler) -> t.Draw:
    """Decide about all pending reviews of a nickname that is no part of another."""
    verb, status = world.rng.choice((("Approve", "Approved"), ("Reject", "Not Approved")))
    nickname = world.pick(
        """SELECT nickname FROM review r WHERE status = 'Pending' GROUP BY nickname HAVING count(*) <= 4 AND count(*) =
           (SELECT count(*) FROM review s WHERE status = 'Pending' AND instr(lower(s.nickname), lower(r.nickname)))
           ORDER BY nickname"""
    )["nickname"]
    rows = world.rows(
        "SELECT review_id FROM review WHERE status = 'Pending' AND nickname = ? ORDER BY created_at DESC", nickname
    )
    return instruction(
        {"verb": verb, "nickname": nickname},
        becomes(world, REVIEWS, *[row["review_id"] for row in rows], status=status),
        way=[
            *open_menu("Marketing", "Pending Reviews"),
            *filtered(t.type_text("Nickname", nickname)),
            *tick(rows, "review_id", f"Update Status to {status}"),
        ],
        seen=f"Reviews updated: {len(rows)}.",
    )


def rule_form(world: t.Sampler, rule: t.Row) -> list[Step]:
    """Return the steps to the form of a cart price rule; the newest stands first in the list."""
    place = world.value("SELECT count(*) FROM cart_rule WHERE rule_id > ?", rule["rule_id"])
    return [*open_menu("Marketing", "Cart Price Rules"), t.click(nth("Edit", place), f"This is the rule {rule['name']}.")]


def create_rule(world: t.Sampler) -> t.Draw:
    """Make a new coupon."""
    occasion, number = world.rng.choice(OCCASIONS), world.rng.randint(2, 60)
    name, code = f"{occasion} Promotion {number}", f"{occasion.upper()}X{number}"
    is_percent = world.rng.randrange(2)
    action, amount = ("by_percent", number) if is_percent else ("cart_fixed", number * 100)
    kind = [] if is_percent else [t.choose("Apply", APPLY["cart_fixed"])]
    if world.rows("SELECT 1 FROM cart_rule WHERE name = ? OR coupon_code = ? ORDER BY 1", name, code):
        raise t.NothingToDraw(name)
    return instruction(
        {
            "name": name,
            "discount": f"{number} percent off" if is_percent else f"{money(amount)} off the whole cart",
            "code": code,
        },
        t.all_of(
            t.state(
                "SELECT coupon_code, action, amount, is_active, to_date FROM cart_rule WHERE name = ?",
                name,
                expected=[[code, action, amount, 1, None]],
            ),
            others_stay(world, RULES, name),
        ),
        way=[
            *open_menu("Marketing", "Cart Price Rules"),
            t.click("Add New Rule"),
            t.type_text("Rule Name", name),
            t.type_text("Coupon Code", code),
            *kind,
            t.type_text("Discount Amount", str(number) if is_percent else written_cents(amount)),
            t.click("Save", "The rule is active from the start."),
        ],
        seen="The rule is in the list.",
    )


def switch_rule(world: t.Sampler) -> t.Draw:
    """Activate a rule that is not active, or the other way round; a world has eight rules."""
    row = world.pick("SELECT * FROM cart_rule ORDER BY rule_id")
    return instruction(
        {"verb": "Deactivate" if row["is_active"] else "Activate", "name": row["name"]},
        becomes(world, RULES, row["name"], is_active=1 - row["is_active"]),
        way=[
            *rule_form(world, row),
            t.click("Active", "It is active." if row["is_active"] else "It is not active."),
            t.click("Save"),
        ],
        seen="The status has changed.",
    )


def change_discount(world: t.Sampler) -> t.Draw:
    """Give a rule another amount."""
    row, number = world.pick("SELECT * FROM cart_rule ORDER BY rule_id"), world.rng.randint(3, 45)
    is_percent = row["action"] == "by_percent"
    amount = number if is_percent else number * 100
    if amount == row["amount"]:
        raise t.NothingToDraw(row["name"])
    return instruction(
        {"name": row["name"], "discount": f"{number} percent" if is_percent else money(amount)},
        becomes(world, RULES, row["name"], amount=amount),
        way=[
            *rule_form(world, row),
            t.type_text("Discount Amount", str(number) if is_percent else written_cents(amount)),
            t.click("Save"),
        ],
        seen="The rule is saved.",
    )


def delete_term(world: t.Sampler) -> t.Draw:
    """Delete what people searched for."""
    rows = world.rows("SELECT * FROM search_term ORDER BY query_text COLLATE NOCASE, query_id")
    place = world.rng.randrange(len(rows))
    row = rows[place]
    return instruction(
        {"term": row["query_text"]},
        vanish(world, TERMS, row["query_text"]),
        way=[
            *open_menu("Marketing", "Search Terms"),
            *turn_pages(world, place, PER_PAGE, "The terms stand in the order of the alphabet.", "Next page"),
            *tick([row], "query_id", "Delete"),
        ],
        seen="The search term is deleted.",
    )


unsubscribe = Change(
    """SELECT email, firstname || ' ' || lastname AS name FROM newsletter_subscriber JOIN customer USING (email)
           WHERE status = 'Subscribed' ORDER BY email""",
    lambda world, row: becomes(world, SUBSCRIBERS, row["email"], status="Unsubscribed"),
    way=lambda _, row: [
        *open_menu("Marketing", "Newsletter Subscribers"),
        t.search(KEYWORD, row["name"].split()[-1]),
        *tick([row], "email", "Unsubscribe"),
    ],
    seen="The status is Unsubscribed.",
    slots={"customer": "{name}"},
)


delete_subscriber = Change(
    """SELECT email FROM newsletter_subscriber s
           WHERE (SELECT count(*) FROM newsletter_subscriber q WHERE instr(q.email, s.email)) = 1 ORDER BY email""",
    lambda world, row: vanish(world, SUBSCRIBERS, row["email"]),
    way=lambda _, row: [
        *open_menu("Marketing", "Newsletter Subscribers"),
        t.search(KEYWORD, row["email"]),
        *tick([row], "email", "Delete"),
    ],
    seen="The address is not in the list any more.",
)
