"""Cases print as pages with actions, and become smaller one part at a time."""

from webarena_gym.tools.fuzz import shrinking
from webarena_gym.tools.fuzz.shrinking import Case, Node, PageAction, Redirect, nodes, reductions, shape, shortest_replies

FIELD = Node("input", (("id", "e1"), ("type", "date"), ("required", None), ("title", 'a "b"')))
FORM = Node("form", (("id", "f"),), (FIELD, "Text <b>bold</b>"), "</form>")
CASE = Case(
    Node("", (), ("<!doctype html>", FORM)),
    (PageAction("type", "e1", "x"), PageAction("back")),
    ("n=1", "m=2; Path=/"),
    (Redirect(302, "/e", ("n=3",)), Redirect(204, "")),
)


def test_a_case_prints_its_markup_with_escaped_values_then_cookies_redirects_and_actions():
    page, *rest = str(CASE).splitlines()
    assert page == ('<!doctype html><form id=f><input id=e1 type=date required title="a &quot;b&quot;">Text <b>bold</b></form>')
    assert rest == [
        "Set-Cookie: n=1", "Set-Cookie: m=2; Path=/", "/r0: 302 /e ('n=3',)", "/r1: 204  ()", "type('e1', 'x')", "back()",
    ]  # fmt: skip


def test_all_nodes_are_found_in_the_order_of_the_document():
    assert [node.tag for node in nodes(CASE.page)] == ["", "form", "input"]


def test_the_shape_has_tags_types_and_names_of_attributes_also_in_markup():
    assert shape(CASE.page) == {"form", "input", "input type=date", "input required", "input title", "<b", "</b"}
    assert shape(Node("", (), ("only text",))) == frozenset()


def test_each_reduction_removes_one_part():
    smaller = list(reductions(CASE))
    assert all(case != CASE for case in smaller)
    assert [len(case.actions) for case in smaller[:2]] == [1, 1]
    assert [len(case.redirects) for case in smaller[2:4]] == [1, 1]
    assert [len(case.cookies) for case in smaller[4:6]] == [1, 1]
    assert smaller[6].redirects == (Redirect(302, "/e"), Redirect(204, ""))
    pages = [str(case.page) for case in smaller[7:]]
    assert len(pages) == len({*pages}) == len(smaller) - 7
    assert all(len(page) < len(str(CASE.page)) for page in pages)
    assert str(Node("", (), ("<!doctype html>", FIELD, "Text <b>bold</b>"))) in pages  # a pair of tags is removed
    assert str(CASE.page).replace(" required", "") in pages
    assert str(CASE.page).replace("<!doctype html>", "") in pages


def test_reductions_end():
    case, steps = CASE, 0
    while (smaller := next(reductions(case), None)) is not None:
        case, steps = smaller, steps + 1
        assert steps < 100
    assert str(case) == ""


def test_a_wrong_end_tag_is_replaced_by_the_right_one():
    page = Node("div", (), (), "</p>")
    assert [str(case.page) for case in reductions(Case(page))] == ["<div></div>"]


def test_long_lists_of_children_are_halved_first():
    page = Node("ul", (), tuple("abcd"), "</ul>")
    assert [str(case.page) for case in reductions(Case(page))][:2] == ["<ul>cd</ul>", "<ul>ab</ul>"]


REPLIES = [str(number) for number in range(64)]


def test_only_the_replies_that_a_fault_needs_are_left():
    needed = {"3", "40", "41"}
    shortest, fault = shortest_replies(REPLIES, "first", lambda replies: "last" if needed <= {*replies} else "")
    assert (shortest, fault) == (("3", "40", "41"), "last")


def test_a_fault_that_does_not_occur_again_keeps_its_replies():
    shortest, fault = shortest_replies(REPLIES, "it fails", lambda _: "")
    assert shortest == tuple(REPLIES)
    assert fault.startswith("it fails (")


def test_a_fault_is_shortened_for_a_limited_time(monkeypatch):
    replays = []

    def replay(replies):
        replays.append(replies)
        return "it fails"

    assert shortest_replies(REPLIES, "it fails", replay) == ((), "it fails")
    monkeypatch.setattr(shrinking, "_REPLAY_S", 0.0)
    replays.clear()
    assert shortest_replies(REPLIES, "it fails", replay) == (tuple(REPLIES), "it fails")
    assert len(replays) == 1
