"""Elements that can have the focus, and the order in which the Tab key reaches them."""

import pytest
from lxml import html

from tests.growth import outgrown
from webarena_gym.pages import focus


def document(body):
    return html.document_fromstring(f"<body>{body}</body>")


def by_id(root, name):
    return root.get_element_by_id(name)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<button id=x>a</button>", True), ("<button id=x disabled>a</button>", False), ("<input id=x type=hidden>", False),
        ("<a id=x href=/>a</a>", True), ("<a id=x>a</a>", False), ("<div id=x>a</div>", False), ("<div id=x tabindex=-1>a</div>", True),
        ("<div id=x tabindex=x>a</div>", False), ("<div id=x contenteditable>a</div>", True), ("<div id=x contenteditable=false>a</div>", False),
        ("<details><summary id=x>a</summary></details>", True), ("<summary id=x>a</summary>", False), ("<details id=x><p>a</details>", True),
        ("<details id=x><summary>a</summary></details>", False), ("<embed id=x src=/a>", True), ("<embed id=x>", False),
        ("<audio id=x controls></audio>", True), ("<video id=x></video>", False), ("<iframe id=x></iframe>", True),
        ("<button id=x hidden>a</button>", False), ("<div inert><button id=x>a</button></div>", False),
        ("<img usemap='#m' src=/a><map name=m><area id=x href=/></map>", True), ("<map name=m><area id=x href=/></map>", False),
        ("<img usemap='#n' src=/a><map name=m><area id=x href=/></map>", False),
    ],
)  # fmt: skip
def test_elements_that_a_click_focuses(markup, expected):
    assert focus.is_focusable(by_id(document(markup), "x")) is expected


def test_a_modal_dialog_makes_the_rest_inert():
    root = document("<a id=a href=/>a</a><dialog id=d open data-top-layer=modal><button id=b>b</button></dialog>")
    assert [focus.is_inert(by_id(root, name)) for name in "adb"] == [True, False, False]
    assert [stop.get("id") for stop in focus.tab_stops(root)] == ["b"]
    del by_id(root, "d").attrib["data-top-layer"]
    assert [focus.is_inert(by_id(root, name)) for name in "adb"] == [False, False, False]


@pytest.mark.parametrize(
    ("markup", "order"),
    [
        ("<a id=1 href=/>a</a><button id=2>b</button>", "12"),
        (
            "<a id=1 href=/>a</a><b id=2 tabindex=2>b</b><b id=3 tabindex=1>c</b><b id=4 tabindex=0>d</b><b id=5 tabindex=-1>e</b>",
            "3214",
        ),
        ("<input type=radio name=r id=1><input type=radio name=r id=2 checked><input type=radio name=r id=3>", "2"),
        ("<input type=radio name=r id=1><input type=radio name=r id=2 checked disabled>", "1"),
        ("<input type=radio name=r id=1><input type=radio name=r id=2>", "12"),
        ("<details open><summary id=1>a</summary><a id=2 href=/>b</a></details><b id=3 tabindex=1>c</b>", "312"),
        ("<details><summary id=1>a</summary><a id=2 href=/>b</a></details>", "1"),
        ("<details open tabindex=-1><summary id=1>a</summary><a id=2 href=/>b</a></details><a id=3 href=/>c</a>", "3"),
        (
            "<div id=p popover data-top-layer=popover><a id=1 href=/>a</a></div><a id=2 href=/>b</a><button id=3 popovertarget=p>c</button>",
            "231",
        ),
        ("<dialog open id=1><a id=2 href=/>a</a></dialog>", "2"),
    ],
)
def test_the_order_of_tab_stops(markup, order):
    root = document(markup)
    assert "".join(stop.get("id") for stop in focus.tab_stops(root)) == order


@pytest.mark.parametrize(
    ("markup", "start", "forwards", "backwards"),
    [
        ("<a id=1 href=/>a</a><a id=2 href=/>b</a><a id=3 href=/>c</a>", None, "1", "3"),
        ("<a id=1 href=/>a</a><a id=2 href=/>b</a><a id=3 href=/>c</a>", "2", "3", "1"),
        ("<a id=1 href=/>a</a><a id=2 href=/>b</a>", "2", None, "1"),
        ("<a id=1 href=/>a</a><a id=2 href=/>b</a>", "1", "2", None),
        ("<a id=1 href=/>a</a><p id=2>b</p><a id=3 href=/>c</a>", "2", "3", "1"),
        ("<a id=1 href=/>a</a><b id=2 tabindex=-1>b</b><a id=3 href=/>c</a>", "2", "3", "1"),
        (
            "<b id=1 tabindex=1>a</b><button id=2 tabindex=1 disabled>b</button><b id=3 tabindex=1>c</b><b id=4 tabindex=2>d</b>",
            "2",
            "3",
            "1",
        ),
        ("<b id=1 tabindex=1>a</b><button id=2 tabindex=2 disabled>b</button><b id=3 tabindex=3>c</b>", "2", "3", "1"),
        ("<a id=1 href=/>a</a><input type=radio name=r id=2><input type=radio name=r id=3><a id=4 href=/>d</a>", "2", "4", "1"),
    ],
)
def test_the_tab_key_goes_to_the_next_stop(markup, start, forwards, backwards):
    root = document(markup)
    stops = [focus.next_tab_stop(root, start and by_id(root, start), backwards=direction) for direction in (False, True)]
    assert [stop if stop is None else stop.get("id") for stop in stops] == [forwards, backwards]


def test_the_tab_key_takes_linear_time_in_details():
    def work(size):
        links = "<a href=/>x</a>" * size
        root = html.document_fromstring(f"<body><details open><summary>a</summary>{links}<p>b</p></details><a href=/>c</a>")
        return lambda: focus.next_tab_stop(root, root.find(".//p"), backwards=False)

    assert not outgrown(work, 50, 1_600, 0.02)
