"""Changes to my account: the wish list, the newsletter, names, addresses; what I say to the shop and about its goods."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping import GOODS, ME, TEXTS, open_account, open_reviews
from webarena_gym.templates.ways import instruction, nth

WISHES = f"SELECT sku, w.quantity FROM wishlist_item w JOIN product USING (product_id) WHERE customer_id = {ME} ORDER BY sku"
NOT_WISHED = GOODS + f"SELECT name, sku FROM goods WHERE sku NOT IN (SELECT sku FROM ({WISHES})) ORDER BY product_id"
ADDRESS = (
    "firstname",
    "lastname",
    "company",
    "street",
    "city",
    "region",
    "postcode",
    "country",
    "telephone",
    "is_default_billing",
    "is_default_shipping",
)
BOOK = f"SELECT {', '.join(ADDRESS)} FROM customer_address WHERE customer_id = {ME} ORDER BY street"
COMPARED = "SELECT sku FROM compare_item JOIN product USING (product_id) ORDER BY sku"
OPINIONS = {
    5: ("Better than I hoped", "I use it every day and would buy it again at once."),
    4: ("Good value", "It does what it should. The box was a little dented."),
    3: ("Neither good nor bad", "It works, but I had expected more for the price."),
    2: ("Not for me", "It looks cheap and feels like it, too."),
    1: ("Sent it back", "It broke on the second day, so I returned it."),
}
"""Reviews to write: stars, summary and text."""


def remove_wishes(world: t.Sampler) -> list[Step]:
    """Return the steps that take what is on my wish list now off it; it comes first."""
    return [t.click("Remove", f"{count} to take off.") for count in range(len(world.rows(WISHES)), 0, -1)]


def book_holds(addresses: list[dict[str, Any]]) -> dict[str, Any]:
    """My address book must hold exactly these addresses."""
    rows = ([address[name] for name in ADDRESS] for address in addresses)
    return t.state(BOOK, expected=sorted(rows, key=lambda row: str(row[ADDRESS.index("street")])))


def my_addresses(world: t.Sampler) -> list[dict[str, Any]]:
    """Return my addresses as they stand in the book."""
    return [dict(row) for row in world.rows(f"SELECT * FROM customer_address WHERE customer_id = {ME} ORDER BY address_id")]


def rename(world: t.Sampler) -> t.Draw:
    """Change the first or the last name of the account."""
    me = world.rows(f"SELECT firstname, lastname, email FROM customer WHERE customer_id = {ME}")[0]
    part = world.rng.choice(("firstname", "lastname"))
    name = world.pick(f"SELECT DISTINCT {part} AS name FROM customer WHERE {part} != ? ORDER BY 1", me[part])["name"]
    label = {"firstname": "First Name", "lastname": "Last Name"}[part]
    return instruction(
        {"part": label.lower(), "name": name},
        t.state(
            f"SELECT firstname, lastname, email FROM customer WHERE customer_id = {ME}",
            expected=[list({**dict(me), part: name}.values())],
        ),
        way=[*open_account("Account Information"), t.type_text(label, name), t.click("Save")],
        seen="The account page shows the new name.",
    )


def address_change(world: t.Sampler) -> t.Draw:
    """Change one line of the default address."""
    addresses = my_addresses(world)
    place = next(place for place, address in enumerate(addresses) if address["is_default_shipping"])
    part, label = world.rng.choice((("street", "Street Address"), ("telephone", "Phone Number")))
    value = world.pick(f"SELECT {part} AS value FROM customer_address WHERE customer_id != {ME} ORDER BY address_id")["value"]
    addresses[place][part] = value
    return instruction(
        {"part": label.lower(), "value": value},
        book_holds(addresses),
        way=[
            *open_account("Address Book"),
            t.click(nth("Edit", place), "This is the default address."),
            t.type_text(label, value),
            t.click("Save Address"),
        ],
        seen="The address is saved.",
    )


def address_add(world: t.Sampler) -> t.Draw:
    """Enter a whole address."""
    other = world.pick(f"SELECT * FROM customer_address WHERE customer_id != {ME} ORDER BY address_id")
    addresses = my_addresses(world)
    typed = {
        "Street Address": "street",
        "City": "city",
        "State/Province": "region",
        "Zip/Postal Code": "postcode",
        "Phone Number": "telephone",
    }
    values = {name: other[name] for name in typed.values()}
    me = dict(world.rows(f"SELECT firstname, lastname FROM customer WHERE customer_id = {ME}")[0])
    added = {**me, "company": "", "country": other["country"], "is_default_billing": 0, "is_default_shipping": 0, **values}
    return instruction(
        values,
        book_holds([*addresses, added]),
        way=[
            *open_account("Address Book", "Add New Address"),
            *(t.type_text(label, values[name]) for label, name in typed.items()),
            t.click("Save Address"),
        ],
        seen="The address is in the book.",
    )


def contact_message(world: t.Sampler) -> t.Draw:
    """Send a message; name and email are filled in already."""
    number = world.pick(f"SELECT increment_id FROM sales_order WHERE customer_id = {ME} ORDER BY order_id")["increment_id"]
    message = world.rng.choice(TEXTS["messages"]).format(number)
    me = world.rows(f"SELECT firstname || ' ' || lastname AS name, email FROM customer WHERE customer_id = {ME}")[0]
    return instruction(
        {"message": message},
        t.state(
            "SELECT name, email, comment FROM contact_message ORDER BY message_id LIMIT -1 OFFSET ?",
            world.value("SELECT count(*) FROM contact_message"),
            expected=[[me["name"], me["email"], message]],
        ),
        way=[t.click("Contact Us"), t.type_text("What's on your mind?", message), t.click("Submit")],
        seen="The message was sent.",
    )


def review_write(world: t.Sampler) -> t.Draw:
    """Write a review; the nickname is filled in already."""
    row = world.pick(GOODS + "SELECT * FROM goods ORDER BY product_id")
    number = world.rng.randint(1, 5)
    nickname = world.value(f"SELECT firstname FROM customer WHERE customer_id = {ME}")
    stars, (summary, text) = f"{number} star{'s' if number > 1 else ''}", OPINIONS[number]
    return instruction(
        {"product": row["name"], "stars": stars, "summary": summary, "text": text},
        t.state(
            "SELECT product_id, customer_id, nickname, title, detail, rating FROM review ORDER BY review_id LIMIT -1 OFFSET ?",
            world.value("SELECT count(*) FROM review"),
            expected=[[row["product_id"], ME, nickname, summary, text, number]],
        ),
        way=[
            *open_reviews(row),
            t.click(stars),
            t.type_text("Summary", summary),
            t.type_text("Review", text),
            t.click("Submit Review"),
        ],
        seen="The review waits for approval.",
    )
