"""Real work on applications that we did not write: the shop django-oscar and the tracker Roundup, through `gym.make` in Chromium.

Each flow is what one person does, a step a line: what is done, to which element, with what; and, behind "->", what must be
on the page then. Every step of every flow must work: the applications are the measure, not this package's own sites.
"""

import gymnasium
import pytest

import webarena_gym  # noqa: F401 - registers the env
from tests import needs
from tests.bookshop import LOGIN as SHOP_LOGIN
from tests.bookshop import STAFF, selling
from tests.serving import serving
from tests.test_third_party import Late
from tests.tracker import ANN, make_tracker
from tests.tracker import LOGIN as TRACKER_LOGIN
from webarena_gym.actions import Action, Kind
from webarena_gym.errors import ServerError
from webarena_gym.tasks import Task

pytestmark = [needs.chromium, pytest.mark.usefixtures("one_chromium")]

VISITOR = """
Click: Login or register
Type: Email address [2] = eve@shop.test
Type: Password [2] = lamp and 7 books
Type: Confirm password = lamp and 7 books
Click: Register -> Thanks for registering!
Type: Search = bread
Press: Enter -> Products matching "bread"
Click: Home -> 5 results.
Select Dropdown Option: Sort by = Price high to low -> sort_by=price-desc
Select Dropdown Option: Sort by = Title A to Z -> sort_by=title-asc
Click: book -> selected_facets=product_class
Click: Browse store -> aria-expanded="true"
Click: Cooking -> 2 results.
Click: Soup for Two -> Soup for Two, a book about Cooking.
Click: Add to wish list -> was added to your wish list
Click: Write a review -> Leave a product review
Click: Save review -> must be filled in
Type: Title = Warm
Click: fas fa-star [4]
Type: Body = Good for cold days.
Click: Save review -> Thank you for reviewing this product
Click: Account -> Date registered
Click: Edit profile
Type: First name = Eve
Type: Last name = Lee
Click: Save -> Profile updated
Click: Change password
Type: Old password = lamp and 7 books
Type: New password = shelf and 8 books
Type: New password confirmation = shelf and 8 books
Click: Save -> Password updated
Click: Address Book -> There are no addresses
Click: Add a new address
Type: First name = Eve
Type: Last name = Lee
Type: First line of address = 1 Quay
Type: City = Lima
Type: Post/Zip-code = 15001
Select Dropdown Option: Country = Peru
Click: Save -> Address 'Eve Lee, 1 Quay, Lima, 15001, Peru' created
Click: btn btn-secondary dropdown-toggle
Click: Default billing address
Click: Edit
Type: Second line of address = Door 3
Click: Save -> updated
Click: Wish Lists
Click: View -> Soup for Two
Click: Logout -> Login or register
"""

BUYER = """
Click: Login or register
Type: Email address [2] = ben@shop.test
Type: Password [2] = lamp and 7 books
Type: Confirm password = lamp and 7 books
Click: Register -> Thanks for registering!
Click: Browse store
Click: All products -> 5 results.
Click: Add to cart -> Harbour Lights has been added to your cart.
Click: Bread at Home -> a book about Cooking
Click: Add to cart -> Your cart total is now $37.49
Click: Toggle Dropdown -> Total: $37.49
Click: View cart -> form-1-quantity
Type: form-0-quantity = 2
Click: Update -> Your cart total is now
Click: Save for later [2] -> Move to cart
Click: Move to cart -> has been moved back to your cart
Click: I have a coupon code...
Type: Code = NONE
Click: Add coupon -> No coupon found with code 'NONE'
Click: Proceed to checkout -> Where should we ship to?
Click: Continue -> must be filled in
Type: First name = Ben
Type: Last name = Ode
Type: First line of address = 5 Hill
Type: City = Cusco
Type: Post/Zip-code = 08000
Select Dropdown Option: Country = Peru
Type: Instructions = Ring twice.
Click: Continue -> Payment
Click: Continue -> Preview order
Click: Place order -> Your order has been placed
Click: Continue shopping -> 5 results.
Click: Account
Click: Order History -> Order number
Click: 10000 -> Ben Ode
Click: Order History
Go Backward -> Ben Ode
Go Forward -> All orders
"""
GUEST = """
Click: Add to cart -> Harbour Lights has been added to your cart.
Click: Checkout now -> Who are you?
Click: I am a returning customer
Click: I am a new customer and want to checkout as a guest
Type: My email address is = guest@shop.test
Click: Continue -> Where should we ship to?
Type: First name = Gil
Type: Last name = Ray
Type: First line of address = 9 Mole
Type: City = Brest
Type: Post/Zip-code = 29200
Select Dropdown Option: Country = France
Click: Continue -> Payment
Click: Continue -> Preview order
Click: Place order -> Your order has been placed
"""

STAFF_AT_WORK = """
Click: Dashboard -> Your Store Statistics
Click: Catalog -> aria-expanded="true"
Click: Products -> Create new product
Type: Product title: = salt
Click: Search -> The Salt Road
Click: The Salt Road -> book-1
Click: Stock and pricing -> sku-1
Type: stockrecords-0-num_in_stock = 4
Type: stockrecords-0-price = 17.50
Click: Save -> Updated product 'The Salt Road'
Click: New Product -> Create new Book product
Type: Title = Sails of Hemp
Type: UPC = book-9
Type: Rich Text Area = How to sew a sail. -> How to sew a sail.
Click: Bold -> aria-pressed="true"
Click: Is public
Click: Is public -> checked
Click: Categories
Click: --------- -> Crafts
Click: Books > Crafts
Click: Save -> Created product 'Sails of Hemp'
Click: select_all -> 6 of 6 selected
Click: select_all -> selected_product" type="checkbox">
Click: selected_product -> 1 of 6 selected
Click: -- choose action -- -> Update product prices
Click: Make products non-public -> Make products non-public
Click: Go -> Confirm: Make products non-public
Click: Apply: Make products non-public -> Products
Click: Actions -> View on site
Click: Actions -> aria-expanded="false"
Click: Offers
Click: Coupons -> Create new coupon
Click: Create new coupon
Type: Name = Spring
Type: Code = SPRING10
Click: far fa-calendar-alt [2] -> Next Month
Click: Next Month
Click: 15
Click: Name -> Spring
Click: Save -> must be filled in
Click: cancel -> Create new coupon
"""
ORDERS_AND_CUSTOMERS = """
Click: Dashboard -> Your Store Statistics
Click: Fulfilment
Click: Orders -> Order number:
Click: Advanced Search -> Customer name
Type: Customer name = Ray
Type: UPC = book-0
Click: --------- -> Being processed
Click: Pending
Click: HTML
Click: Search -> Gil Ray
Click: 10000 -> Order #10000
Click: Notes
Type: Message = Call before delivery.
Click: Save note -> Note saved
Click: Order contents -> Items ordered
Click: Being processed
Click: Being processed [2]
Click: Change status -> Order status changed from 'Pending' to 'Being processed'
Click: Customers
Click: Customers [2] -> Make inactive
Click: selected_user
Click: Make active
Click: Go! -> active
"""

REPORTER = """
Click: Create New [2] -> Keyword
Type: name = lamps
Click: Submit New Entry -> keyword 1 created
Type: name = night
Click: Submit New Entry -> keyword 2 created
Click: Create New -> New Issue Editing
Click: Submit New Entry -> title
Type: title = Broken lamp
Select Dropdown Option: priority = urgent
Select Dropdown Option: status = in-progress
Select Dropdown Option: assignedto = ann
Type: @note = It flickers. -> It flickers.
Click: (list) [3] -> Tabs:
Click: input
Click: input [2]
Click: apply -> value="lamps,night"
Type: nosy = admin
Click: Submit New Entry -> issue 1 created
Select Dropdown Option: status = testing
Type: @note = Needs a new bulb. -> Needs a new bulb.
Click: Submit Changes -> edited ok
Click: Show Unassigned
Click: Show All -> Broken lamp
Click: Broken lamp
Click: Search [2] -> All text
Type: title = lamp
Select Dropdown Option: keyword = lamps
Select Dropdown Option: status = not resolved
Click: @columns [8]
Click: @sort [9]
Click: @sortdir
Type: @queryname = dim lights
Click: Search [3] -> dim lights
Click: dim lights -> Broken lamp
Click: edit -> dim lights
Click: Your Issues -> Broken lamp
Click: Your Details -> ann@tracker.test
Type: phone = 555 1234
Click: Submit Changes -> edited ok
Type: @search_text = bulb
Click: Search -> Broken lamp
Type: @number = 1
Click: Show issue: -> It flickers.
Click: User List
Click: Logout -> Login
"""


def read(flow):
    """Return the steps of a flow: an action, and the text that must be on the page afterwards."""
    steps = []
    for line in filter(None, map(str.strip, flow.splitlines())):
        does, _, shown = line.partition(" -> ")
        verb, _, rest = does.strip().partition(": ")
        element, _, argument = rest.partition(" = ")
        kind = Kind(verb)
        if kind in (Kind.GOTO, Kind.PRESS):
            element, argument = "", rest
        steps.append((line, Action(kind, element or None, argument or None), shown))
    return steps


def play(env, info, flow):
    """Do the steps of a flow; return those that did not work, with what was said or seen instead."""
    failed = []
    dialect = env.unwrapped.dialect
    for line, action, shown in read(flow):
        before = info["page"]
        _, _, _, _, info = env.step(dialect.format(action))
        refused = info["action_error"] and not (shown and shown in info["action_error"])
        if refused or shown not in info["page"] or "failure" in info:
            failed.append(f"{line}\n{info.get('failure') or info['action_error'] or info['page']}\n(before: {before})")
            break
    return failed


def make(site, address, account, login, **options):
    task = Task("one", (site,), f"__{site.upper()}__/", "Do it.",
                {"eval_types": ["string_match"], "reference_answers": {"exact_match": "yes"}, "reference_url": "", "program_html": []},
                require_login=account is not None)  # fmt: skip
    return gymnasium.make(
        "WebArenaLite-v0", browser="chromium", tasks=[task], sites={site: address}, elements="label", dialect="browsergym",
        max_steps=300, accounts={site: account} if account else None, logins={site: login}, **options,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def sessions_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with selling(tmp_path_factory.mktemp("shop")) as address:
        yield address


@pytest.fixture(scope="module")
def tracker(tmp_path_factory):
    late = Late()
    with serving(late) as address:
        late.app, _ = make_tracker(tmp_path_factory.mktemp("tracker"), address)
        yield address


def test_the_flows_are_long_enough_to_tell_something():
    assert sum(len(read(flow)) for flow in (VISITOR, BUYER, GUEST, STAFF_AT_WORK, ORDERS_AND_CUSTOMERS, REPORTER)) >= 180


@pytest.mark.parametrize(
    ("account", "flows"),
    [
        (None, [VISITOR]),
        *(
            pytest.param(*item, marks=pytest.mark.slow)
            for item in ((None, [BUYER]), (STAFF, [STAFF_AT_WORK]), (STAFF, [GUEST, ORDERS_AND_CUSTOMERS]))
        ),
    ],
    ids=["visitor", "buyer", "staff", "orders"],
)
def test_every_step_works_in_the_shop(shop, account, flows):
    for flow in flows:
        env = make("shopping", shop, None if flow is GUEST else account, SHOP_LOGIN)
        _, info = env.reset()
        assert play(env, info, flow) == []
        env.close()


def test_every_step_works_in_the_tracker(tracker):
    env = make("gitlab", tracker, ANN, TRACKER_LOGIN)
    _, info = env.reset()
    assert play(env, info, REPORTER) == []
    env.close()


@pytest.mark.parametrize(
    ("logins", "said"),
    [
        ({"My Books": SHOP_LOGIN}, "'My Books' is no name of a site"),
        ({"shopping": "/login"}, "the login of shopping is '/login'"),
    ],
)
def test_a_login_that_is_none_is_refused(logins, said):
    with pytest.raises(ServerError, match=said):
        gymnasium.make("WebArenaLite-v0", browser="chromium", sites={"shopping": "http://shop.test"}, logins=logins)


def test_logins_are_for_real_servers():
    with pytest.raises(ValueError, match="accounts, logins and hosts are for real servers"):
        gymnasium.make("WebArenaLite-v0", logins={"shopping": SHOP_LOGIN})
