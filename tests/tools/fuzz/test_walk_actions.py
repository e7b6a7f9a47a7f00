"""Replies of random walks: equal seeds, all kinds of actions, forms that are filled in, and addresses that were not visited."""

from collections import Counter
from random import Random

import pytest

from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.browsers.document import parse
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Page, Tab
from webarena_gym.sites.catalogue import Account
from webarena_gym.tools.fuzz.walk_actions import AddressPool, WalkState, next_reply

HOME = "http://shop.test/"
BODY = """<h1 id=top>Tea and cups</h1><a href=/item/3>Item</a><a href="/item/4?page=2">Other item</a><a href="#top">Up</a>
<a href=/logout>Sign out</a><a href="http://other.test/item/5">Elsewhere</a>
<form action=/search><input aria-label=Find><button>Search</button></form>
<form action=/write><input aria-label=Title><select aria-label=Size><option>Small<option>Large</select><button>Delete item</button></form>"""
DIALECT = DIALECTS["browsergym"].naming_by("label")
ANN = Account("ann", "secret")


def state(body=BODY, url=HOME, tabs=1, **options):
    page = Page(url, "Shop", parse(f"<title>Shop</title>{body}".encode()), (Tab("Shop", url),) * tabs, 0)
    return WalkState(page, observe(page, elements="label"), (HOME,), **{"accounts": (ANN,), **options})


def actions(state, count=600, *, seed=0, **options):
    """Return the actions in the first `count` replies, without replies that are no actions."""
    found = []
    dice = Random(seed)
    for _ in range(count):
        try:
            found.append(DIALECT.parse(next_reply(state, DIALECT, dice, **options)))
        except ActionError:
            continue
    return found


def test_equal_seeds_give_equal_walks():
    first, again, other = (
        [next_reply(state(), DIALECT, dice) for _ in range(20)] for dice in (Random(3), Random(3), Random(4))
    )
    assert first == again != other


def test_walks_perform_actions_of_all_kinds_and_some_nonsense():
    found = actions(state(tabs=2))
    kinds = {action.kind for action in found}
    assert kinds >= {
        Kind.CLICK, Kind.HOVER, Kind.TYPE, Kind.SELECT, Kind.PRESS, Kind.GOTO, Kind.GO_BACKWARD, Kind.GO_FORWARD,
        Kind.NEW_TAB, Kind.CLOSE_TAB, Kind.SWITCH_TAB, Kind.SCROLL_DOWN, Kind.SCROLL_UP, Kind.WAIT,
    }  # fmt: skip
    assert len(found) < 600, "some replies are no actions"
    sizes = [action.argument for action in found if action.kind is Kind.SELECT and action.element == "Size"]
    assert {"Small", "Large", "SMA", "LAR", "no such option", ""} <= {*sizes}


def test_a_page_without_elements_is_left_by_addresses_tabs_or_keys():
    kinds = Counter(action.kind for action in actions(state("<p>Nothing")))
    assert not {Kind.TYPE, Kind.SELECT, Kind.SWITCH_TAB} & kinds.keys()
    assert kinds[Kind.GO_BACKWARD] > 0 < kinds[Kind.GOTO]


def test_destructive_walks_delete_submit_forms_and_open_unvisited_pages():
    found = actions(state(unvisited=(f"{HOME}item/9",)), is_destructive=True)
    counts = Counter((action.kind, action.element or action.argument) for action in found)
    usual = Counter((action.kind, action.element or action.argument) for action in actions(state()))
    assert counts[Kind.CLICK, "Delete item"] > 3 * usual[Kind.CLICK, "Delete item"]
    assert counts[Kind.CLICK, "Delete item"] > counts[Kind.CLICK, "Search"], "search forms change nothing"
    assert counts[Kind.GOTO, f"{HOME}item/9"] > 50 > usual[Kind.GOTO, f"{HOME}item/9"] == 0


def test_destructive_walks_try_other_numbers_in_addresses():
    def opened(link):
        found = actions(state(f"<a href={link}>Link</a>"), 2000, is_destructive=True)
        return {action.argument for action in found if action.kind is Kind.GOTO}

    assert opened("/item/3") >= {f"{HOME}item/{number}" for number in (0, 1, 2, 4, -1, "x", "9" * 30)}
    assert not any("9" * 30 in url for url in opened("/about"))


@pytest.mark.parametrize(("accounts", "is_filled"), [((ANN,), True), ((), False)])
def test_login_forms_are_mostly_filled_in_with_an_account(accounts, is_filled):
    form = "<form><input aria-label=User><input type=password aria-label=Password></form>"
    found = Counter(
        (action.element, action.argument)
        for action in actions(state(form, accounts=accounts))
        if action.kind in (Kind.TYPE, Kind.SEARCH)
    )
    assert (found["User", "ann"] > 20) is (found["Password", "secret"] > 20) is is_filled
    assert found["User", "secret"] == found["Password", "ann"] == 0


def test_the_least_visited_kinds_of_addresses_come_first():
    pool = AddressPool("shop.test")
    page = state().page
    assert set(pool.least_visited(page)) == {f"{HOME}item/3", f"{HOME}item/4?page=2", f"{HOME}#top"} - {f"{HOME}#top"}
    item = state('<a href="/list">List</a>', url=f"{HOME}item/3").page
    assert pool.least_visited(item) == [f"{HOME}list"]
