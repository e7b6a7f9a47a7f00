"""Lines of pages in both formats: states of elements, options, headings, tables and long texts."""

import pytest

from tests.pages import page
from webarena_gym.observation import observe


def written(body, style="html", **options):
    document = page(f"<!doctype html><title>T</title><body>{body}</body>", focused=options.pop("focused", None))
    return observe(document, header=False, elements="label", style=style, **options).text


@pytest.mark.parametrize(
    ("body", "html", "axtree"),
    [
        ("<input aria-label=a type=number value=3>", '<input label="a" type="number" value="3">', "spinbutton 'a' value: '3'"),
        ("<input aria-label=a type=search value=x>", '<input label="a" value="x">', "searchbox 'a' value: 'x'"),
        ("<input aria-label=a type=password value=x>", '<input label="a" type="password" value="(hidden)">', "textbox 'a'"),
        ("<input aria-label=a type=password>", '<input label="a" type="password">', "textbox 'a'"),
        ("<input aria-label=a type=radio checked>", '<input label="a" type="radio" checked>', "radio 'a' checked: true"),
        ("<input aria-label=a type=checkbox value=x>", '<input label="a" type="checkbox">', "checkbox 'a' checked: false"),
        (
            "<input aria-label=a disabled readonly>",
            '<input label="a" disabled readonly>',
            "textbox 'a' value: '' disabled: True readonly: True",
        ),
        ("<input type=submit value=Go>", "<button>Go</button>", "button 'Go'"),
        ("<button aria-disabled=true>Go</button>", "<button disabled>Go</button>", "button 'Go' disabled: True"),
        ("<button aria-disabled=true disabled>Go</button>", "<button disabled>Go</button>", "button 'Go' disabled: True"),
        ("<button aria-expanded=false>Go</button>", '<button aria-expanded="false">Go</button>', "button 'Go' expanded: false"),
        ("<textarea aria-label=a>x &lt; y</textarea>", '<textarea label="a">x &lt; y</textarea>', "textbox 'a' value: 'x < y'"),
        ("<textarea aria-label=a>x\\\ny</textarea>", '<textarea label="a">x\\\ny</textarea>', "textbox 'a' value: 'x\\\\\\ny'"),
        ("<a href=/>5 &lt; 6</a>", "<a>5 &lt; 6</a>", "link '5 < 6'"),
        (
            "<select aria-label=a><option>x<optgroup label=g><option disabled>y<option selected>z</optgroup></select>",
            '<select label="a"><option>x</option><optgroup label="g"><option disabled>y</option><option selected>z</option></optgroup></select>',
            "combobox 'a' options: 'x', 'y' (disabled) (in 'g'), 'z' (selected) (in 'g')",
        ),
    ],
)
def test_states_of_elements(body, html, axtree):
    assert written(body) == html
    assert written(body, "axtree").strip() == axtree


def test_the_focused_element_is_marked():
    body = "<input id=one aria-label=a><input id=two aria-label=b>"
    assert written(body, focused="two") == '<input label="a"> <input label="b" focused>'
    assert written(body, "axtree", focused="two").splitlines()[1].endswith("focused: True")


def test_headings_and_cells_are_written_on_one_line_with_their_controls():
    body = "<h1>Bags <a href=/x>all</a></h1><h2> </h2><table><tr><th aria-sort=ascending>N<th>M<tr><td colspan=2>a<p>b</table>"
    assert written(body).splitlines() == [
        "<h1>Bags <a>all</a></h1>",
        '<tr><th aria-sort="ascending">N</th><th>M</th></tr>',
        '<tr><td colspan="2">a b</td></tr>',
    ]
    assert written(body, "axtree").splitlines() == [
        "\theading 'Bags all'",
        "\t\tlink 'all'",
        "\trow",
        "\t\tStaticText 'N'",
        "\t\tStaticText 'sorted: ascending'",
        "\t\tStaticText 'M'",
        "\trow",
        "\t\tStaticText 'a'",
        "\t\tStaticText 'b'",
    ]


def test_spaces_collapse_and_long_texts_are_cut():
    body = "<p> a \n b<b> c</b>\t d</p><p>LONG</p><img alt='A \"photo\"'><p>1 &lt; 2</p>".replace("LONG", "x" * 50)
    assert written(body).splitlines() == ["a b c d", "x" * 50, '<img alt="A &quot;photo&quot;">', "1 &lt; 2"]
    cut = written(body, max_text=20).splitlines()[1]
    assert cut.startswith("x" * 10)
    assert cut.count("x") <= 20


def test_struck_text_is_marked():
    assert written("<p><del>$9</del> $5</p>") == "<del>$9</del> $5"
