"""What an agent sees of a page, how it may name what it sees, and what stays of it in the chat."""

import re
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.documents import ROOT
from tests.pages import page
from webarena_gym.errors import ActionError
from webarena_gym.observation import Style, history, observe, scrolled_top
from webarena_gym.observation.history import PLACEHOLDER, Turn, as_text, compress
from webarena_gym.pages.page import Tab
from webarena_gym.texts import cut

SHOP = """<html><head><title>Bags</title><style>p {}</style></head><body>
<header><a href="/">Shop</a> <form><label for="q">Search entire store here...</label><input id="q" name="q" value="red">
<button>Search</button></form></header>
<main><h1>Bags <a href="/x">all</a></h1><p>Good <b>bags</b>, for you &amp; me &lt;b&gt;</p><script>var a;</script>
<ul><li><a href="/a">Blue  Bag</a> $3.00 <button>Add to Cart</button></li>
<li><a href="/b">Red Bag</a><span> $4.00</span><button disabled>Add to Cart</button></li></ul>
<table><tr><th>Order</th><th>Link</th></tr><tr><td>1</td><td><a href="/v">View</a><br>now</td></tr></table>
<label>Qty <select name="s"><option>1</option><option selected>2</option></select></label>
<label><input type="checkbox" checked> Gift</label><input type="hidden" name="t"><p hidden>never</p>
<textarea name="note">one
two</textarea><div onclick="x()"><a href="/z">inner</a></div><img src="x" alt="A photo"><img src="y" alt=""></main></body></html>"""

BY_ID = """URL: http://shop.test/
<a id="0">Shop</a>
<input id="1" label="Search entire store here..." value="red"> <button id="2">Search</button>
<h1>Bags <a id="3">all</a></h1>
Good bags, for you & me &lt;b>
<a id="4">Blue Bag</a> $3.00 <button id="5">Add to Cart</button>
<a id="6">Red Bag</a> $4.00 <button id="7" disabled>Add to Cart</button>
<tr><th>Order</th><th>Link</th></tr>
<tr><td>1</td><td><a id="8">View</a> now</td></tr>
<select id="9" label="Qty"><option>1</option><option selected>2</option></select> <input id="10" label="Gift" type="checkbox" checked>
<textarea id="11" label="note">one
two</textarea>
<a id="12">inner</a>
<img alt="A photo">"""


TABLE = (
    (ROOT / "docs" / "observations.md")
    .read_text(encoding="utf-8")
    .partition("<!-- begin elements -->")[2]
    .partition("<!-- end")[0]
)
ROWS = re.findall(r"^\| ([a-z ,-]+) \| `([^`]+)` \| (.*) \| (.*) \|$", TABLE, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_elements_are_written_as_in_the_table_of_the_documents(row):
    document = page(f"<body>{row[1]}</body>")
    written = [observe(document, header=False, **keywords).text for keywords in ({"elements": "label"}, {"style": "axtree"})]
    assert [re.findall(r"`([^`]+)`", cell) for cell in row[2:]] == [
        [line.strip() for line in text.splitlines()] for text in written
    ]


def test_the_table_of_the_documents_has_all_its_rows():
    assert len(ROWS) == len(TABLE.strip().splitlines()) - 2 > 20


def test_simplified_html_and_the_accessibility_tree_name_the_same_elements_by_id_and_label():
    document = page(SHOP)
    numbered, named, tree = observe(document), observe(document, elements="label"), observe(document, style="axtree")
    assert numbered.text == BY_ID
    assert "id=" not in named.text
    assert "<button disabled>Add to Cart [2]</button>" in named.text
    assert list(named.nodes) == [
        "Shop", "Search entire store here...", "Search", "all", "Blue Bag", "Add to Cart", "Red Bag", "Add to Cart [2]", "View",
        "Qty", "Gift", "note", "inner",
    ]  # fmt: skip
    elements = [node.element for node in numbered.nodes.values()]
    assert [node.element for node in named.nodes.values()] == [node.element for node in tree.nodes.values()] == elements
    assert set(tree.text.splitlines()) >= {
        "RootWebArea 'Bags'",
        "\t[1] textbox 'Search entire store here...' value: 'red'",
        "\t[9] combobox 'Qty' options: '1', '2' (selected)",
        "\t[10] checkbox 'Gift' checked: true",
        "\t\t[8] link 'View'",
    }


def test_labels_that_resemble_numbered_ones_stay_unique():
    for labels, names in (
        (["Part [2]", "Part", "Part"], ["Part [2]", "Part", "Part [3]"]),
        (["Part", "Part", "Part [2]"], ["Part", "Part [2]", "Part [2] [2]"]),
    ):
        links = "".join(f'<a href="/{number}">{label}</a>' for number, label in enumerate(labels))
        seen = observe(page(links), elements="label")
        assert list(seen.nodes) == names
        assert [node.element.get("href") for node in seen.nodes.values()] == ["/0", "/1", "/2"]


def test_headers_show_tabs_and_labels_match_by_case_folding_or_unique_part():
    tabs = [Tab("Bags", "u"), Tab("Hats", "v")]
    assert observe(page(SHOP, tabs=tabs)).text.splitlines()[1] == "Tabs: [0]* Bags | [1] Hats"
    assert observe(page(SHOP), header=False).text.startswith("<a id")
    html = '<body><input id="q" name="q" data-bbox="1,2,3,4"></body>'
    assert '<input id="0" label="q" focused>' in observe(page(html, focused="q")).text
    assert 'data-bbox="1,2,3,4"' in observe(page(html), bbox=True).text
    seen = observe(page(SHOP), elements="label")
    named = {"Blue Bag": "Blue Bag", "blue  bag": "Blue Bag", "search entire": "Search entire store here..."}
    for target, label in (named | {"Add to Cart [2]": "Add to Cart [2]", "Add to Cart [1]": "Add to Cart"}).items():
        assert seen.nodes[label].element is seen.element(target)


@pytest.mark.parametrize(("html", "elements", "target", "message"), [
    (SHOP, "label", "bag", "ambiguous; the nearest labels are 'Blue Bag', 'Red Bag'"),
    (SHOP, "label", "Blue Bog", "no element 'Blue Bog'; the nearest labels are 'Blue Bag'"),
    (SHOP, "label", "Zzz", "no element 'Zzz'; labels on this page include '"),
    (SHOP, "label", "6", "no element '6'; name the element by its label, not by a number; labels on this page include '"),
    (SHOP, "label", "", "no element ''"),
    (SHOP, "label", "Add to Cart [3]", "'Add to Cart'"),
    (SHOP, "id", "99", "the ids on this page are 0 to 12"),
    ("<p>x</p>", "id", "0", "no interactive elements"),
])  # fmt: skip
def test_other_addresses_are_errors_that_name_the_nearest(html, elements, target, message):
    with pytest.raises(ActionError) as caught:
        observe(page(html), elements=elements).element(target)
    assert message in str(caught.value)


LONG = "<body>" + "".join(f'<p>Line {number} <a href="/{number}">link</a></p>' for number in range(100)) + "</body>"


def test_windows_show_the_remaining_lines_and_scroll_to_both_ends():
    seen = observe(page(LONG), window=400)
    assert (seen.top, seen.total, len(seen.nodes)) == (0, 100, 100)
    assert seen.text.endswith(f"[{100 - seen.height} more lines below]")
    assert "Line 99" not in seen.text
    while (top := scrolled_top(seen, down=True)) != seen.top:
        assert top <= seen.top + seen.height, "no line may be skipped"
        seen = observe(page(LONG), window=400, top=top)
    assert "Line 99" in seen.text
    assert "more lines above" in seen.text
    while (top := scrolled_top(seen, down=False)) != seen.top:
        seen = observe(page(LONG), window=400, top=top)
    assert seen.top == 0
    assert observe(page("<p>" + "word " * 80 + "</p>"), window=10).total == 79  # a longer line is split


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=60))
def test_text_of_a_page_cannot_look_like_markup(text):
    document = page("<body><p>x</p><a href='/'>y</a></body>")
    document.root.find(".//p").text = text
    document.root.find(".//a").text = text
    lines = observe(document, header=False).text
    assert lines.count("<") == 2  # the link's own tags


@given(
    st.recursive(
        st.sampled_from(["x", " y ", "<br>", "<a href=/>l</a>", "<input name=n>", "<img alt=i>", "&amp;", ""]),
        lambda inner: st.builds(
            lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
            st.sampled_from(
                ["div", "span", "p", "table", "tr", "td", "ul", "li", "h1", "label", "select", "option", "button", "form", "a"]
            ),
            st.lists(inner, max_size=4),
        ),
        max_leaves=20,
    )
)
@example("<h1><select><a href=/>l</a></select></h1>")
@example("<label>x<input><a href=/><button>y</button></a></label>")
@example("<table><tr><td onclick=x>y</td></tr></table>")
def test_any_tree_can_be_observed_in_every_way(html):
    document = page(f"<body>{html}</body>")
    first, *others = (
        [node.element for node in observe(document, elements=elements, style=style).nodes.values()]
        for elements in ("id", "label")
        for style in get_args(Style)
    )
    assert all(seen == first for seen in others)
    assert len(set(first)) == len(first)


STATES = st.sampled_from([f"aria-{name}" for name in ("checked", "pressed", "selected", "expanded", "valuenow", "valuetext")])
USED = st.sampled_from(
    ("<button {}>", "<a href=/x {}>", "<div role=checkbox {}>", "<span tabindex=0 {}>", "<li onclick=x() {}>")
)


@given(USED, st.dictionaries(STATES, st.sampled_from(["true", "false", "mixed", "7", "7 of 9"]), min_size=1))
def test_the_state_of_a_widget_is_shown_in_both_styles(opening, states):
    attributes = " ".join(f"{name}='{value}'" for name, value in states.items())
    document = page(f"<body>{opening.format(attributes)}Widget")
    lines = [observe(document, style=style).text.splitlines()[-1] for style in ("html", "axtree")]
    for name, value in states.items():
        assert f'{name}="{value}"' in lines[0]
        assert f"{name.removeprefix('aria-')}: {value}" in lines[1]


@pytest.mark.parametrize(("markup", "shown"), [
    ("<button aria-label=Cart>3</button>", '<button id="0" value="3">Cart</button>'),
    ("<a href=/ aria-label=Total>$4.50</a>", '<a id="0" value="$4.50">Total</a>'),
    ("<div role=combobox aria-label=Land>Peru</div>", '<div id="0" value="Peru">Land</div>'),
    ("<button aria-haspopup=menu aria-label=Sort>Newest</button>", '<button id="0" value="Newest">Sort</button>'),
    ("<button aria-label='Page 2'>2</button>", '<button id="0">Page 2</button>'),
    ("<button aria-label='Delete Ann'>Delete member</button>", '<button id="0">Delete Ann</button>'),
    ("<a href=/ aria-label=Up>\u25b2</a>", '<a id="0">Up</a>'),
    ("<p id=p>City</p><div role=textbox aria-labelledby='p q'>Ulm</div>", 'City\n<div id="0" value="Ulm">City</div>'),
])  # fmt: skip
def test_values_of_widgets_are_shown_beside_their_names(markup, shown):
    assert observe(page(f"<body>{markup}"), header=False).text == shown
    assert ("value: '" in observe(page(f"<body>{markup}"), style="axtree").text) == ("value=" in shown)


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_the_order_of_a_table_is_shown_once(order):
    table = f"<table><tr><th aria-sort={order}>{{}}<th aria-sort=none>B<tr><td>1<td>2</table>"
    assert observe(page(table.format("A")), header=False).text.startswith(f'<tr><th aria-sort="{order}">A</th><th>B</th></tr>')
    assert f"sorted: {order}" in observe(page(table.format("A")), style="axtree").text
    for arrow in "\u2191\u2193\u25b2\u25bc\u2195":
        assert order not in observe(page(table.format(f"A {arrow}"))).text


@pytest.mark.parametrize(("markup", "name"), [
    ("<a href=/cart/ title=Basket aria-label=Cart></a>", "Cart"), ("<a href=/cart/ title=Basket></a>", "Basket"),
    ("<a href=/cart/><i title=Basket class=icon></i></a>", "Basket"),
    ("<a href=/cart/><i aria-label=Basket></i></a>", "Basket"), ("<a href=/cart/><img alt=Basket></a>", "Basket"),
    ("<a href=/cart/><svg><title>Basket</title></svg></a>", "Basket"), ("<a href=/shop/cart/><i class=icon></i></a>", "cart"),
    ("<a href='/shop/my%20cart.html'></a>", "my cart"), ("<a href='?sort=price'></a>", "?sort=price"),
    ("<a href='https://shop.test/'></a>", "shop.test"),
    ("<a href='#'><i class='fa fa-bars'></i></a>", "fa fa-bars"),
    ("<a href='javascript:void(0)' id=menu></a>", "menu"), ("<button name=delete><i></i></button>", "delete"),
    ("<button><i></i></button>", "button"),
])  # fmt: skip
def test_elements_without_text_are_named_by_the_best_attribute(markup, name):
    assert list(observe(page(f"<body>{markup}"), elements="label").nodes) == [name]


def test_long_field_values_and_interactive_blocks_are_shown_completely():
    for style in ("html", "axtree"):  # as what must be read to be edited
        assert "word the end" in observe(page(f"<textarea>{'word ' * 600}the end</textarea>"), style=style).text
    words = " ".join(f"word{number}" for number in range(60))
    text = observe(page(f"<body><div tabindex=0><p>{words}</p><p>end</p></div>"), header=False).text
    assert text.splitlines()[1:] == [words, "end"]
    assert text.startswith('<div id="0">word0 word1')


TURNS = st.lists(st.builds(Turn, st.text(max_size=20), st.text(max_size=20)), max_size=6)
THINKING = Turn("<h1>One</h1>", "<think>Two?</think>\n<answer>go_backward()</answer>")


def test_history_modes_of_the_paper_with_and_without_thoughts():
    chat = compress("Find it", [Turn("<h1>A</h1>", "go_forward()"), Turn("<h1>B</h1>", "go_backward()")], "<h1>C</h1>")
    assert [
        {"role": "user", "content": f"Task Instruction: Find it\n\nRound 0\n\n{PLACEHOLDER}"},
        {"role": "assistant", "content": "go_forward()"},
        {"role": "user", "content": f"Round 1\n\n{PLACEHOLDER}"},
        {"role": "assistant", "content": "go_backward()"},
        {"role": "user", "content": "Round 2\n\n<h1>C</h1>"},
    ] == chat
    assert compress("G", [], "P") == [{"role": "user", "content": "Task Instruction: G\n\nRound 0\n\nP"}]
    assert "<h1>One</h1>" in as_text(compress("G", [THINKING], "P", "full"))
    assert compress("G", [THINKING], "P", "none") == [{"role": "user", "content": "Task Instruction: G\n\nRound 1\n\nP"}]
    for thoughts, expected in ((True, THINKING.reply), (False, "go_backward()")):
        assert expected == compress("G", [THINKING], "P", thoughts=thoughts)[1]["content"]


@given(st.text(max_size=20), TURNS, st.text(max_size=20))
def test_chats_of_successive_steps_share_a_prefix(goal, turns, page):
    chat = compress(goal, turns, page)
    longer = compress(goal, [*turns, Turn(page, "go_backward()")], "next")
    assert chat[:-1] == longer[: len(chat) - 1]
    assert [turn.reply for turn in turns] == [message["content"] for message in chat if message["role"] == "assistant"]
    assert chat[-1]["content"].endswith(page)


LIMITS = {"MAX_OBSERVATION": 2_000, "MAX_PAGE": 900, "MAX_GOAL": 200, "MAX_REPLY": 300}
LONG_PAGE = st.sampled_from(["", "a", "b" * 90, "c" * 301, "d" * 5_000, "</think>" * 200, "<answer>" * 200])


@pytest.fixture(scope="module")
def small_limits():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setattr(history, name, value)
        yield


@given(
    goal=LONG_PAGE,
    turns=st.lists(st.builds(Turn, LONG_PAGE, LONG_PAGE), max_size=40),
    page=LONG_PAGE,
    mode=st.sampled_from(["compressed", "full", "none"]),
    thoughts=st.booleans(),
)
def test_chats_stay_within_their_limit_and_report_omissions(small_limits, goal, turns, page, mode, thoughts):
    chat = compress(goal, turns, page, mode, thoughts=thoughts)
    text = as_text(chat)
    assert len(text) <= LIMITS["MAX_OBSERVATION"]
    assert all(message["content"] in text for message in chat)
    kept = sum(message["role"] == "assistant" for message in chat)
    assert chat[-1]["content"].split("\n\n")[-1] == cut(page, LIMITS["MAX_PAGE"])
    assert f"Round {len(turns)}\n\n" in chat[-1]["content"]
    missing = len(turns) - kept if mode != "none" else 0
    assert (f"[{missing} earlier rounds are left out]" in chat[0]["content"]) == (missing > 0)
    assert ("characters were cut]" in text) >= (len(goal) > LIMITS["MAX_GOAL"] or len(page) > LIMITS["MAX_PAGE"])
    numbers = [int(message["content"].split("Round ")[1].split("\n")[0]) for message in chat if message["role"] == "user"]
    assert numbers == list(range(len(turns) - kept, len(turns) + 1))


def test_the_newest_rounds_stay(small_limits):
    turns = [Turn("p", f"reply {number} " + "x" * 200) for number in range(30)]
    chat = compress("G", turns, "P")
    assert chat[-2]["content"] == turns[-1].reply
    assert chat[0]["content"].startswith("Task Instruction: G\n\n[")
    assert 3 < len(chat) < 30


WORDS = [f"word{number:04}" for number in range(300)]


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize(
    "markup",
    ["<p>{}</p>", "<table><tr><td>{}</td></tr></table>", "<pre>{}</pre>", "<h2>{}</h2>", "<p>{} <a href=/x>link</a></p>"],
)
def test_a_long_text_is_read_to_its_end_by_scrolling(style, markup):
    document = page(markup.format(" ".join(WORDS)))
    seen, tops, top = "", list[int](), 0
    while top not in tops:
        tops.append(top)
        window = observe(document, style=style, window=1_000, top=top)
        assert len("\n".join(line for line in window.text.split("\n") if not line.startswith(("[", "URL", "Root")))) <= 1_000
        seen, top = f"{seen}\n{window.text}", scrolled_top(window, down=True)
    assert [word for word in WORDS if word not in seen] == []
    assert "..." not in seen
    cut_at_500 = observe(document, style=style, max_text=500).text
    assert WORDS[50] in cut_at_500
    assert "..." in cut_at_500
    assert WORDS[60] not in cut_at_500


def test_a_long_line_is_split_between_words_and_outside_of_tags():
    cells = "".join(f'<td>{number} <a href="/{number}">the item number {number}</a></td>' for number in range(40))
    document = page(f"<p>before<table><tr>{cells}</tr></table><p>after <a href=/z>last</a>")
    whole = observe(document, header=False)
    window = observe(document, header=False, window=100)
    parts = []
    for top in range(window.total):
        part = observe(document, header=False, window=100, top=top)
        lines = [line for line in part.text.split("\n") if not line.startswith("[")]
        assert all(len(line) < 100 for line in lines)
        parts.append(lines[0])
    assert " ".join(parts) == " ".join(whole.text.split("\n"))
    assert all(line.count("<") == line.count(">") for line in parts)
    assert window.nodes.keys() == whole.nodes.keys()
    assert parts[window.nodes["40"].line].startswith("after")


def test_the_value_of_an_input_is_shown_whole():
    value = " ".join(WORDS)
    for style in get_args(Style):
        assert f"{WORDS[0]} {WORDS[1]}" in (text := observe(page(f'<input name=a value="{value}">'), style=style).text)
        assert text.count(WORDS[-1]) == 1


@pytest.mark.parametrize(
    ("markup", "html", "axtree", "occam"),
    [
        ("<p>Lamp <s>$9</s> $7", "Lamp <s>$9</s> $7", "StaticText 'Lamp ~~$9~~ $7'", "text 'Lamp ~~$9~~ $7'"),
        ("<h2>Lamp <del>$9</del> $7</h2>", "<h2>Lamp <del>$9</del> $7</h2>", "heading 'Lamp ~~$9~~ $7'", "heading 'Lamp ~~$9~~ $7'"),
        ("<a href=/x><i>Lamp</i> <strike>$9</strike></a>", "Lamp ~~$9~~</a>", "link 'Lamp ~~$9~~'", "'Lamp ~~$9~~'"),
        ("<ol start=4><li>Sand<li>Oil</ol>", "4. Sand\n5. Oil", "'4. Sand'\n\tStaticText '5. Oil'", "'4. Sand'\n\ttext '5. Oil'"),
        ("<ol reversed><li>Sand<li>Oil</ol>", "2. Sand\n1. Oil", "'2. Sand'", "'2. Sand'"),
        ("<ol type=a><li>Sand<li value=27>Oil</ol>", "a. Sand\naa. Oil", "'a. Sand'", "'a. Sand'"),
        ("<ol type=i start=9><li>Sand</ol>", "ix. Sand", "'ix. Sand'", "'ix. Sand'"),
        ("<ol><li>Sand<li>Oil</ol>", "Sand\nOil", "'Sand'", "'Sand'"),
        ("<ol start=4><li><a href=/x>Sand</a> 3 km</ol>", '<a id="0">Sand</a> 3 km', "link 'Sand'", "'Sand' text '3 km'"),
        (
            "<table><tr><td rowspan=2>B<td>2<tr><td>3</table>",
            '<tr><td rowspan="2">B</td><td>2</td></tr>\n<tr><td>3</td></tr>',
            "row\n\t\tStaticText 'B'\n\t\tStaticText '3'",
            "| B | 2 |\n\t| B | 3 |",
        ),
        (
            "<table><tr><td>A<td rowspan=0 colspan=2>B<tr><td>1<td>2<tr><td>3</table>",
            '<tr><td>A</td><td rowspan="0" colspan="2">B</td></tr>',
            "row\n\t\tStaticText '3'\n\t\tStaticText 'B'",
            "| A | B |\n\t| 1 | B | 2 |\n\t| 3 | B |",
        ),
        (
            "<select name=a><option>One<optgroup label=G><option disabled>Two<option>One</optgroup><option>Six</select>",
            '<option>One</option><optgroup label="G"><option disabled>Two</option><option>One [2]</option></optgroup><option>Six',
            "options: 'One', 'Two' (disabled) (in 'G'), 'One [2]' (in 'G'), 'Six'",
            "'Two' (disabled) (in 'G')",
        ),
    ],
)  # fmt: skip
def test_marks_that_change_the_meaning_of_a_text_are_written(markup, html, axtree, occam):
    document = page(markup)
    assert html in observe(document).text
    assert axtree in observe(document, style="axtree").text
    assert occam in observe(document, style="occam").text


@pytest.mark.parametrize("label", ["Cafe\u0301 au lait", "Ca\u00adf\u00e9 au\u200b lait", "Caf\u00e9\u200d au lait\ufeff"])
def test_elements_are_named_without_characters_that_nobody_types(label):
    observation = observe(page(f"<a href=/x>{label}</a><a href=/y>Tea</a>"), elements="label")
    for name in ("Caf\u00e9 au lait", "Cafe\u0301 au lait", "caf\u00e9 au"):
        assert observation.element(name).get("href") == "/x"
