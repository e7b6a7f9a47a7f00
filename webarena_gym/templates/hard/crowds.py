"""What very many reviewers of one product say together: what they find fault with, what has become of it, for whom it was.

Nothing is planted. The reviews are composed of facts, and the tables that hold these give the truth. Each review has to be read.
"""

from collections.abc import Mapping, Sequence

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import number_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.testimonies import needs_facts, opening
from webarena_gym.templates.shopping.routes import GOODS, open_reviews
from webarena_gym.templates.shopping.routes import PER_PAGE as PAGE_OF_REVIEWS

TEMPLATES = t.Templates("hard")
LEAST = 40  # reviews of a product


def a_product(world: t.Sampler) -> t.Row:
    """Draw a product that very many have reviewed."""
    needs_facts(world, "review_fact")
    return world.pick(
        GOODS
        + """SELECT *, (SELECT count(*) FROM review r WHERE r.product_id = goods.product_id AND r.status = 'Approved') AS count
        FROM goods WHERE count >= ? ORDER BY product_id""",
        LEAST,
    )


def written_on(world: t.Sampler, product: t.Row) -> list[t.Row]:
    """Return the reviews of a product with what they say as a whole."""
    return world.rows(
        """SELECT * FROM review JOIN review_fact USING (review_id) WHERE product_id = ? AND status = 'Approved' ORDER BY review_id""",
        product["product_id"],
    )


def faults(world: t.Sampler, product: t.Row) -> Mapping[str, Sequence[int]]:
    """Return, by the name of an aspect, the reviews whose writers find fault with it in the end."""
    found: dict[str, list[int]] = {}
    for row in world.rows(
        """SELECT o.name, o.review_id FROM review_opinion o JOIN review r USING (review_id)
        WHERE r.product_id = ? AND r.status = 'Approved' AND o.verdict = 0 ORDER BY o.name, o.review_id""",
        product["product_id"],
    ):
        found.setdefault(row["name"], []).append(row["review_id"])
    return found


def read(world: t.Sampler, product: t.Row) -> list[Step]:
    """Return the steps to the reviews of a product and through all of their pages."""
    pages = -(-product["count"] // world.layout.page_size(PAGE_OF_REVIEWS))
    turns = [t.click("Next", "There are more reviews.")] * (pages - 1)
    return [*open_reviews(product), *turns, t.hover("Previous", "This is the end of the last page.")]


def beginning(text: str) -> str:
    """Return so much of a review that no other begins with the same."""
    return text if len(text) < 240 else text[:240].rpartition(" ")[0]


def tally(world: t.Sampler, product: t.Row, counted: Sequence[t.Row], *, least: int = 8, **slots: str) -> t.Draw:
    """Return a draw that asks how many reviews something is true of. Raises NothingToDraw where they are few."""
    total = len(counted)
    if total < least:
        raise t.NothingToDraw("a number that is not small")
    return t.Draw(
        {"product": product["name"], **slots},
        t.answer(fuzzy_match=str(total)),
        [*read(world, product), t.leave(str(total), "I have counted them.")],
        wrong_answers=[str(total + 1), str(total - 1)],
        grounds={str(total): number_of(*(beginning(row["detail"]) for row in counted))},
        evidence=sorted({opening(row["detail"]) for row in counted}),
    )


@TEMPLATES.define(
    "How many reviewers of the {product} find fault with {aspect}? Count what they think themselves in the end: neither what others have told them, nor what they took back later. Irony counts as what it means. Who writes on behalf of the owner counts like the owner. Answer with the number.",
    "{product}: number of reviews in which the writer is (finally, and in their own opinion, or that of the owner for whom they write) unhappy with {aspect}",
    "I write to the maker of the {product} about {aspect}. For this I need to know how many of the reviewers complain of it. Some only quote other people and disagree, some say the contrary of what they mean, and some have changed their mind in an update. What counts is what each of them thinks in the end, or the owner on whose behalf they write. One number, please.",
    "Please go through all the reviews of the {product} and count those whose writers are not content with {aspect}, all updates and jokes taken into account. A review that passes on the words of the owner counts, too.",
    "Complaints about {aspect} in the reviews of the {product}: how many reviewers have one? Their own final opinion only, not that of neighbours and cousins, unless they agree with it or write for them as the owners.",
    sites=("shopping",),
    difficulty=("reading", "exhaustive"),
)
def faults_with(world: t.Sampler) -> t.Draw:
    """Count the reviewers who find fault with an aspect of a product."""
    product = a_product(world)
    found = {name: own for name, own in faults(world, product).items() if len(own) >= 8}
    aspect = world.rng.choice(sorted(found))
    counted = [row for row in written_on(world, product) if row["review_id"] in found[aspect]]
    return tally(world, product, counted, aspect=aspect)


@TEMPLATES.define(
    "How many reviewers of the {product} give it four or five stars, and are not content with {aspect} all the same? Their own final opinion counts, or that of the owner for whom they write. Answer with the number.",
    "{product}: count reviews with 4 or 5 stars whose writers nevertheless (in the end) find fault with {aspect}, for themselves or for the owner on whose behalf they write",
    "Do the stars tell the truth? Take the reviews of the {product} with four stars or five, and tell me how many of their writers complain of {aspect}. Whoever has taken the complaint back, or only quotes somebody without agreeing, does not complain. Who passes on the owner's words does.",
    "Please count: reviewers of the {product} who are satisfied as a whole, that is with four or more stars, but not with {aspect}. Reviews on behalf of the owner count as well.",
    "Of the four and five star reviews of the {product}, how many say something bad about {aspect} that is the last word of the reviewer on it, or of the owner whose words the reviewer passes on?",
    sites=("shopping",),
    difficulty=("reading", "exhaustive"),
)
def content_but_for(world: t.Sampler) -> t.Draw:
    """Count the reviewers who praise a product as a whole and find fault with an aspect."""
    product = a_product(world)
    content = [row for row in written_on(world, product) if row["rating"] >= 4]
    found = {name: [row for row in content if row["review_id"] in own] for name, own in faults(world, product).items()}
    aspect = world.rng.choice([name for name, own in sorted(found.items()) if len(own) >= 4])
    return tally(world, product, found[aspect], least=4, aspect=aspect)


@TEMPLATES.define(
    "How many reviewers of the {product} have not kept it? Count those who say that they sent it back, had it exchanged or gave it away. Answer with the number.",
    "{product}: how many reviews say the thing was returned / exchanged / given away?",
    "I would like to know how often the {product} does not stay with its buyers. Please read its reviews, and count everybody who returned it, swapped it or passed it on to somebody. Those who say nothing about it have kept it, as far as I am concerned.",
    "Of all those who have reviewed the {product}, how many got rid of it again (back to the shop, exchanged for another, given away)?",
    "Please read the reviews of the {product} and tell me the number of poeple who did not keep theirs, by what they write: sent back, swapped, or given to someone else.",
    sites=("shopping",),
    difficulty=("reading", "exhaustive"),
)
def not_kept(world: t.Sampler) -> t.Draw:
    """Count the reviewers who got rid of a product."""
    product = a_product(world)
    gone = {"returned", "exchanged", "given away"}
    return tally(world, product, [row for row in written_on(world, product) if row["outcome"] in gone])


@TEMPLATES.define(
    "How many reviewers of the {product} write about one that was not for themselves, but for somebody else from the beginning, such as a relative or a neighbor? Answer with the number.",
    "{product}: number of reviews by people who got it for someone else (not those who gave it away later)",
    "We think of selling the {product} as a present. How many of its reviewers say that theirs was bought for another person, or is used by another person on whose behalf they write? Who bought it for themselves and passed it on later is not meant.",
    "Please count the reviews of the {product} whose writers speak for somebody else, who owns or uses it: mothers, bosses, roommates and so on.",
    "In how many reviews of the {product} is the owner not the writer, but a relativ, friend or colleague of the writer? Going by what they say. Number only.",
    sites=("shopping",),
    difficulty=("reading", "exhaustive"),
)
def for_somebody_else(world: t.Sampler) -> t.Draw:
    """Count the reviews of a product that somebody else owns."""
    product = a_product(world)
    return tally(world, product, [row for row in written_on(world, product) if row["user"]])


@TEMPLATES.define(
    "How many reviewers of the {product} have added something to their review later? Answer with the number of reviews that have such an addition.",
    "{product}: how many reviews contain an update / later addition by their writer?",
    "People come back to their reviews when something has changed. For the {product}, how many of them did? Please read the reviews and count those with something in them that was added after a while, whatever it says.",
    "Count the reviews of the {product} that were not written in one go: at some point the writer came back and added how it went on.",
    "How many reviewers of the {product} wrote an update after some days, weeks or months? It is in the texts of their reviews.",
    sites=("shopping",),
    difficulty=("reading", "exhaustive"),
)
def came_back(world: t.Sampler) -> t.Draw:
    """Count the reviews that their writers have added to."""
    product = a_product(world)
    return tally(world, product, [row for row in written_on(world, product) if row["edited_after"]])
