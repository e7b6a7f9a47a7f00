"""Things that people of a project want to have bought, which its rules and its members allow or do not."""

from webarena_gym.sites.country.formats import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.ways import MAINTAINER, entry, open_project
from webarena_gym.templates.hard.access import outsiders
from webarena_gym.templates.hard.issues import a_project, labelled_list, plant_issue, plant_label, say, states_are
from webarena_gym.templates.hard.ways import findable, of_site, repository_page
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.shopping.buying import cart_holds
from webarena_gym.templates.shopping.routes import GOODS, ME, open_product

TEMPLATES = t.Templates("hard")

_YES = ("Yes, please buy it.", "Approved.", "Fine with me, go ahead.", "Good idea, yes.")
_NO = ("No. We have had enough of these.", "I am against it.", "Not approved, sorry.")
_TALK = ("Do we not have that already?", "I would use it every day.", "Which color will it be?")


@TEMPLATES.define(
    'On the code host, the open issues of {project} labelled "{label}" ask for things from the shop. {file} in the repository says which of them may be bought. Put exactly these into my shopping cart, in the quantities asked for, and close their issues. '
    "The other issues stay open. No comments, no checkout.",
    'purchase requests: {project}, label "{label}" (code host). rules for approval in {file}. approved ones -> into my cart (right qty) + close the issue. all others: leave open, dont buy. no comments, dont check out',
    "People of {project} keep asking me to buy things. Their wishes are issues with the label {label}, and the rules are in {file}. Whatever may be bought according to these rules goes into my cart at the shop, as many as they want, and its issue is closed. "
    "I will tell the others myself, so leave theirs open and write nothing. I also pay myself.",
    'Which of the open "{label}" issues in {project} are approved by the rules of {file}? Close these, and see to it that my cart in the shop holds what they ask for, and nothing more. Do not order or comment anything.',
    "Please work through the {label} issues of {project}: check each against {file} (who has agreed, what it costs, whether the shop has it). If it may be bought, put it in the cart and close the issue, if not, dont touch it. The order itself is not your job.",
    sites=("shopping", "gitlab"),
    difficulty=("several_sites", "policies", "judgement"),
)  # fmt: skip
def buy_approved(world: t.Sampler) -> t.Draw:
    """Put into the cart what a project's rules allow to buy, and close the wishes for it."""
    host, rng = world.at("gitlab"), world.rng
    row, label, file = a_project(host, MAINTAINER), rng.choice(("purchase", "wanted", "please buy")), "BUYING.md"
    if world.rows(f"SELECT 1 FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = {ME}"):
        raise t.NothingToDraw("an empty cart")
    limit = rng.choice((4000, 5000, 6000))
    query = (
        GOODS
        + "SELECT * FROM goods WHERE is_plain AND is_salable AND quantity > 5 AND cents BETWEEN ? AND ? ORDER BY product_id"
    )
    low = rng.sample(findable(world, world.rows(query, 500, limit // 2 - 100), "product"), 4)
    # Two of these cost more than the limit, though one alone does not.
    high = rng.sample(findable(world, world.rows(query, limit // 2 + 100, limit - 100), "product"), 3)
    sold_out = low[3]
    world.alter("product", {"product_id": sold_out["product_id"]}, is_in_stock=0)
    first, second, helper, asking, guest = outsiders(host, row, 5)
    for person, role in ((first, "Maintainer"), (second, "Maintainer"), (helper, "Developer"), (asking, "Reporter")):
        host.plant(
            "project_member",
            project_id=row["project_id"],
            user_id=person["user_id"],
            role=role,
            created_at="2021-03-04 09:00:00",
        )
    yes, more, no = rng.sample(_YES, 2), rng.choice(_TALK), rng.choice(_NO)
    cases = [
        # The product, how many, who asks, what is said, and whether it may be bought.
        (low[0], 1, asking, [(guest, more), (first, yes[0])], True),
        (low[1], 2, asking, [(helper, yes[0]), (guest, yes[1])], False),
        (high[0], 2, helper, [(second, yes[0]), (helper, more), (first, yes[1])], True),
        (high[1], 2, first, [(first, yes[0]), (second, yes[1])], False),
        (low[2], 1, helper, [(second, yes[0]), (first, no)], False),
        (high[2], 2, asking, [(first, no), (second, yes[0]), (first, "I have seen it in use now, and take back my no. Yes."), (helper, more)], True),
        (sold_out, 1, asking, [(second, yes[1])], False),
    ]  # fmt: skip
    cases = [*rng.sample(cases[:3], 2), cases[5], *rng.sample([cases[3], cases[4], cases[6]], 2)]
    rng.shuffle(cases)
    rules = (
        f"# What we buy\n\n- Up to {money(limit)} (today's price in the shop times the number of pieces, without shipping): one member with the role Maintainer or Owner has to say yes.\n"
        "- Above that: two of them.\n- Members with other roles and strangers may say what they like, it does not count. Nobody says yes to a wish of their own.\n"
        "- As long as a Maintainer or Owner is against it, it is not bought.\n- What the shop does not have in stock is not bought, and nothing else in its place.\n"
    )
    label_id = plant_label(host, row, label)
    made: list[tuple[t.Row, t.Row, int, bool]] = []
    said: list[str] = []
    for place, (product, quantity, person, talk, is_approved) in enumerate(cases):
        issue = plant_issue(
            host,
            row,
            f"Wish {place + 1}: something for the {rng.choice(('office', 'workshop', 'kitchen', 'archive'))}",
            f"Please buy {quantity} of the {product['name']}.",
            person["user_id"],
            20 - place,
        )
        host.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        for number, (speaker, text) in enumerate(talk):
            say(host, issue, speaker["user_id"], text, 150 - 20 * number + place)
            said.append(text)
        made.append((issue, product, quantity, is_approved))
    steps: list[Step] = [
        turn_to(1),
        *repository_page(host, row, file, rules),
        *open_project(row),
        t.click("Members"),
        *open_project(row),
        *labelled_list(label),
    ]
    for issue, _, _, is_approved in made:
        steps.append(t.click(entry(issue["title"])))
        steps += [t.back()] if not is_approved else []
        steps += [t.click("Close issue", "It may be bought."), *labelled_list(label)] if is_approved else []
    steps.append(turn_to(0))
    for _, product, quantity, is_approved in made:
        steps += open_product(product["name"]) if is_approved or product is sold_out or quantity > 1 else []
        if is_approved:
            steps += [*([t.type_text("Qty", str(quantity))] if quantity > 1 else []), t.click("Add to Cart")]
    return t.Draw(
        {"project": row["full_path"], "label": label, "file": file},
        t.all_of(
            cart_holds(*((product["sku"], {}, quantity) for _, product, quantity, is_approved in made if is_approved)),
            of_site(
                "gitlab", states_are(host, row, {issue["iid"]: "closed" for issue, _, _, is_approved in made if is_approved})
            ),
        ),
        [*steps, t.leave("", "What may be bought is in the cart.")],
        start_url=tabs("shopping", "gitlab"),
        evidence=["Nobody says yes to a wish of their own", *said, *(product["name"] for _, product, *_ in made)],
    )
