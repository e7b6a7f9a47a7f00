"""Cart price rules of the shop, as a page about its campaigns wants them."""

from datetime import timedelta
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.ways import now, staff_page, turn_into
from webarena_gym.templates.shopping_admin.ledgers import RULES
from webarena_gym.templates.shopping_admin.marketing import rule_form
from webarena_gym.templates.shopping_admin.routes import typed

TEMPLATES = t.Templates("hard")

_NAMES = (
    "Early bird",
    "Full basket",
    "Old friends",
    "Rainy days",
    "Second try",
    "Long weekend",
    "Night owls",
    "Spring clean",
    "New neighbors",
)


@TEMPLATES.define(
    'Bring our cart price rules into line with the content page "{page}". It speaks of some of them; rules that it does not mention stay as they are, and so does everything that is right already.',
    'cart price rules: make them match the content page "{page}" (active or not, percent, end date - also the general remark there). only rules named on that page, and only what is wrong',
    'Marketing has written down on the content page "{page}" how our campaigns go on. Please change the cart price rules that it mentions so that they agree with it, all of it. Other rules are not concerned.',
    'On "{page}" (Content > Pages) you can read what we want of our campaigns. Compare the cart price rules of these names with it and correct them, nothing more and nothing less.',
    'Somebody has to update the cart price rules by what "{page}" among our content pages says. Not all of those named there need a change, and some need more than one, so read it attentively. Hands off the rest.',
    sites=("shopping_admin",),
    difficulty=("policies", "reading", "exhaustive"),
)  # fmt: skip
def rules_of_campaigns(world: t.Sampler) -> t.Draw:
    """Make cart price rules agree with what a page says about them."""
    rng, today, title = (
        world.rng,
        now(world).date(),
        world.rng.choice(("Campaigns", "What our campaigns do", "Plans for the coupons")),
    )
    names = rng.sample(_NAMES, 7)
    if world.rows(f"SELECT 1 FROM cart_rule WHERE name IN ({', '.join('?' * len(names))})", *names):
        raise t.NothingToDraw("names of new rules")
    late, later, last = (
        today + timedelta(days=days) for days in (rng.randint(9, 20), rng.randint(30, 60), rng.randint(100, 150))
    )
    told = {day: f"{day:%B} {day.day}, {day.year}" for day in (late, later, last)}
    lower, higher = rng.choice((6, 8, 11, 13)), rng.choice((15, 18, 21))
    # For each: what the page says, what the rule is like, and what changes.
    going, over, cheaper, longer, planned, begun, kept = names
    cases: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        (going, f"{going} is a success. It goes on as it is.", {"is_active": 1, "to_date": None}, {"to_date": str(last)}),
        (over, f"{over} has done its duty. It is over.", {"is_active": 1, "to_date": str(later)}, {"is_active": 0}),
        (cheaper, f"{cheaper} began with {higher} percent, which was too expensive. Since last week it is {lower} percent, and so it shall be until {told[late]}.", {"is_active": 1, "amount": higher, "to_date": str(late)}, {"amount": lower}),
        (longer, f"{longer} was to end on {told[late]}. Customers have asked for more, so they get it until {told[later]}.", {"is_active": 1, "to_date": str(late)}, {"to_date": str(later)}),
        (planned, f"{planned} is meant for the next holidays. Do not switch it on before somebody from marketing says so.", {"is_active": 0, "to_date": None}, {}),
        (begun, f"{begun} should have begun this morning, and nobody has switched it on.", {"is_active": 0, "to_date": None}, {"is_active": 1, "to_date": str(last)}),
        (kept, f"There was talk of ending {kept} early. We have decided against it: until {told[later]}, as promised.", {"is_active": 1, "to_date": str(later)}, {}),
    ]  # fmt: skip
    rng.shuffle(cases)
    made: list[tuple[t.Row, dict[str, Any]]] = []
    for place, (name, _, columns, changes) in enumerate(cases):
        own = {"amount": 5 + place, **columns}
        number = world.plant(
            "cart_rule", name=name, description="See the page about campaigns.", coupon_code=f"{name.replace(' ', '').upper()}{rng.randint(10, 99)}", action="by_percent",
            from_date=str(today if name == begun else today - timedelta(days=40 + place)), **own,
        )  # fmt: skip
        made.append((world.rows("SELECT * FROM cart_rule WHERE rule_id = ?", number)[0], changes))
    remark = f"In general: no campaign is active without a last day. Where we do not name one here and the rule has none, it is {told[last]}. What is not active needs none."
    way = staff_page(world, title, "\n\n".join([*(text for _, text, _, _ in cases), remark]))
    steps: list[Step] = []
    for rule, changes in made:
        steps += rule_form(world, rule)
        steps += [t.click("Active")] if "is_active" in changes else []
        if "to_date" in changes:
            day = next(day for day in told if str(day) == changes["to_date"])
            steps.append(t.type_text("To", typed(day)))
        steps += [t.type_text("Discount Amount", str(changes["amount"]))] if "amount" in changes else []
        steps += [t.click("Save")] if changes else []
    return t.Draw(
        {"page": title},
        turn_into(world, RULES, {rule["name"]: changes for rule, changes in made if changes}),
        [*way, *steps, t.leave("", "The rules agree with the page.")],
        evidence=[remark, *(text for _, text, _, _ in cases)],
    )
