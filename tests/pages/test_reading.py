"""Texts and names of elements: visible text, controls, labels, options, and names from markup that nobody sees."""

import pytest
from lxml.html import document_fromstring

from webarena_gym.pages import reading


def element(markup):
    return document_fromstring(f"<body>{markup}</body>").body[0]


def names(markup):
    root = document_fromstring(f"<body>{markup}</body>")
    labels = reading.Labels(root)
    return [
        labels.name_of(part)
        for part in root.iter("input", "button", "a", "select", "textarea", "div")
        if reading.is_interactive(part)
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a<b>b</b>c</p>", "abc"), ("<div>a<p>b</p>c</div>", "a b c"), ("<p>a<br>b</p>", "a b"), ("<p>a <img alt=pic> b</p>", "a pic b"),
        ("<p>a<span hidden>b</span>c</p>", "ac"), ("<p>a<script>b</script><style>c</style></p>", "a"), ("<details><summary>s</summary>x</details>", "s"),
        ("<details open><summary>s</summary><p>x</details>", "s x"), ("<p style='display:none'>a</p>", ""),
    ],
)  # fmt: skip
def test_visible_text(markup, text):
    root = document_fromstring(f"<body>{markup}</body>")
    assert reading.visible_text(root) == text


def test_struck_text_is_marked_and_names_leave_out_fields():
    price = element("<p>was <del>$5</del> $4</p>")
    assert reading.visible_text(price, marks_struck=True) == "was ~~$5~~ $4"
    label = element("<label>Name <select><option>A</option></select><span aria-label=Star>*</span></label>")
    assert reading.visible_text(label, for_name=True) == "Name Star"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<a href=/>x</a>", True), ("<a>x</a>", False), ("<button>x</button>", True), ("<div onclick=f()>x</div>", True), ("<div role=button>x</div>", True),
        ("<div role=note>x</div>", False), ("<div tabindex=0>x</div>", True), ("<div tabindex=0><!-- x --> </div>", False), ("<i tabindex=0 aria-label=x></i>", True),
        ("<i tabindex=0 title=x></i>", True), ("<canvas tabindex=0></canvas>", True), ("<i tabindex=0><img src=x></i>", True),
        ("<i tabindex=0 role=button></i>", True), ("<i tabindex=0 data-listens></i>", True), ("<i tabindex=0 draggable=true></i>", True),
        ("<div tabindex=-1>x</div>", False), ("<div draggable=true>x</div>", True),
        ("<div contenteditable=true>x</div>", True), ("<div data-listens>x</div>", True), ("<input>", True),
    ],
)  # fmt: skip
def test_interactive_elements(markup, expected):
    part = element(markup)
    assert reading.is_interactive(part) == expected
    if reading.is_plain_container(part.tag, part.keys()):
        assert not expected


def test_inner_controls_replace_their_nested_outer_control():
    outer = element("<div onclick=f()><p><a href=/>x</a> y <button>z</button></p></div>")
    assert [part.tag for part in reading.inner_controls(outer)] == ["a", "button"]
    assert not reading.is_control(outer)
    assert reading.is_control(outer.find(".//a"))
    assert reading.is_control(element("<div onclick=f()><b>x</b></div>"))
    hidden = element("<div onclick=f()><button hidden>x</button></div>")
    assert reading.is_control(hidden)


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        ("<input aria-label=A placeholder=B>", "A"), ("<p id=p>From <b>here</b></p><input aria-labelledby=p aria-label=A>", "From here"),
        ("<label for=i>L</label><input id=i title=T>", "L"), ("<label>L <input title=T></label>", "L"), ("<input title=T placeholder=P name=n>", "T"),
        ("<input placeholder=P name=n>", "P"), ("<input name=n>", "n"), ("<input>", "input"), ("<input type=submit>", "Submit"), ("<input type=reset>", "Reset"),
        ("<input type=image alt=A value=V>", "A"), ("<button title=T></button>", "T"), ("<a href=/a/b%20c.html></a>", "b c"), ("<a href='#'><i class=icon-x></i></a>", "icon-x"),
        ("<a href=/><img alt=Logo></a>", "Logo"), ("<a href=/>" + "x" * 100 + "</a>", "x" * 77 + "..."), ("<a href=/></a>", "/"),
        ("<button><svg><title>Menu</title></svg></button>", "Menu"), ("<div contenteditable=true data-placeholder=Write></div>", "Write"),
    ],
)  # fmt: skip
def test_accessible_names(markup, name):
    assert names(markup) == [name]


def test_a_label_is_not_repeated_next_to_its_field():
    root = document_fromstring(
        "<label id=a>Name <input></label><label id=b>Go <input type=submit></label><label id=c>Other</label><label id=d for=x>File</label><input type=checkbox id=x hidden>"
    )
    labels = reading.Labels(root)
    shown = [labels.is_shown_by_control(root.get_element_by_id(name)) for name in "abcd"]
    assert shown == [True, False, False, False]
    assert labels.hidden_control_of(root.get_element_by_id("d")).get("id") == "x"
    assert labels.hidden_control_of(root.get_element_by_id("a")) is None


def test_options_of_equal_texts_are_numbered_and_hidden_ones_have_no_name():
    select = element("<select><option>A<option>A<optgroup label=' G  x '><option>B</optgroup><option hidden>C</select>")
    assert [(option.name, option.group) for option in reading.options(select)] == [
        ("A", ""),
        ("A [2]", ""),
        ("B", "G x"),
        ("", ""),
    ]


@pytest.mark.parametrize(
    ("markup", "value"),
    [
        ("<div role=combobox aria-label=Sort>Newest</div>", "Newest"), ("<button aria-label=Cart>3</button>", "3"), ("<button aria-label='Cart 3'>3</button>", ""),
        ("<button aria-label=Cart>Open</button>", ""), ("<div role=combobox>Newest</div>", ""), ("<input aria-label=x value=5>", ""),
    ],
)  # fmt: skip
def test_values_next_to_a_name(markup, value):
    assert reading.displayed_value(element(markup)) == value


def test_values_of_fields_keep_their_lines():
    assert reading.displayed_field_value(element("<input value='  a   b '>")) == "a b"
    assert reading.displayed_field_value(element("<textarea>a\n  b \n</textarea>")) == "a\n  b"
    assert len(reading.displayed_field_value(element(f"<input value='{'x' * 100}'>"), 30)) <= 60
    assert reading.sort_order(element("<div aria-sort=ascending>Name</div>")) == "ascending"
    assert reading.sort_order(element("<div aria-sort=ascending>Name \u2191</div>")) == ""


def test_texts_on_one_line():
    assert reading.single_line(" a\n b ") == "a b"
    assert reading.single_line("abcdef gh", 8) == "abcde..."
    assert reading.plain_name("A\u00adb  c") == reading.plain_name("Ab c")
