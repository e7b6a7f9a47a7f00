"""Pages as experts and pointer networks read them: rows, facts, amounts, dates, and the lines nearest to a topic."""

from datetime import date

import pytest

from agents.data.readings import (
    COUNT,
    DURATION,
    MONEY,
    ParsedPage,
    Row,
    find_limit,
    find_month,
    nearest_lines,
    pieces,
    plain,
    quote_all,
    read_date,
    unit_of,
    words,
)

LINES = (
    "<h1>Order <b>7</b></h1>", "Status: Complete", "<h2>Grand Total</h2>", "$12.00", "<tr><th>Name</th><th>Qty</th></tr>",
    "<tr><td>Lamp</td><td>2</td></tr>", "<tr><td>Vase</td><td>1</td><td>new</td></tr>", "<p>After</p>", "<tr><th>Color</th><td>Red</td></tr>",
    "<tr><td>Alone</td></tr>", "<input name=q>", "<select><option>A</option><option selected>B</option></select>",
)  # fmt: skip
PAGE = ParsedPage("http://a.test/", "\n".join(LINES), LINES)


def test_rows_have_the_headings_of_their_table_if_they_fit():
    assert PAGE.tables == (
        [Row(("Name", "Qty"), ("Lamp", "2")), Row((), ("Vase", "1", "new"))],
        [Row((), ("Alone",))],
    )  # fmt: skip
    assert [row.cells[0] for row in PAGE.rows] == ["Lamp", "Vase", "Alone"]


def test_facts_are_found_in_three_layouts():
    assert {("Status", "Complete"), ("Grand Total", "$12.00"), ("Color", "Red")} <= {*PAGE.facts}
    assert all(label and value for label, value in PAGE.facts)


def test_texts_have_no_markup_and_no_fields():
    assert PAGE.title == "Order 7"
    assert "Grand Total" in PAGE.texts
    assert not any("<" in text or text == "B" for text in PAGE.texts)
    assert plain("<a>View [2]</a> <select><option>A</option><option selected>B</option></select>") == "View B"
    assert pieces("a &lt; b<br>c") == ["a < b", "c"]


def test_only_texts_of_the_observation_can_be_quoted():
    page = ParsedPage("", 'Lamp "big" <b>', ())
    assert page.contains("Lamp")
    assert not page.contains("")
    assert [page.can_quote(text) for text in ("Lamp", '"big"', "<b>", "Vase")] == [True, False, False, False]


@pytest.mark.parametrize(
    ("unit", "amounts"),
    [
        (MONEY, {"$1,120.94": 112094, "$0.05": 5}),
        (DURATION, {"2h 7min": 127, "45 min": 45, "1h 0min": 60}),
        (COUNT, {"0": 0, "17": 17}),
    ],
)
def test_amounts_are_read_and_written_back(unit, amounts):
    for text, value in amounts.items():
        assert unit.read(text) == value
        assert unit.write(value) == text
        assert unit_of(text) is unit
    assert unit.read_all([*amounts]) == [*amounts.values()]
    assert unit.read_all([*amounts, "blue"]) == []
    assert unit.read("blue") is None


@pytest.mark.parametrize(
    ("text", "day"),
    [("2/29/2024", date(2024, 2, 29)), ("2/30/2024", None), ("March 5, 2023 at noon", date(2023, 3, 5)), ("on 3/5/2023", None)],
)
def test_dates_are_read_at_the_beginning(text, day):
    assert read_date(text) == day


def test_a_month_has_its_dates_and_reports():
    month = find_month("in May 2022 or June 2023")
    assert (month.year, month.number) == (2022, 5)
    assert [month.has(text) for text in ("5/2022", "5/31/22", "May 1, 2022", "6/1/2022", "5/2023", "soon")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert find_month("in may 2022") is None


@pytest.mark.parametrize(
    ("text", "minutes"), [("within 90 minutes", 90), ("at most three hours", 180), ("at least 5 minutes", None)]
)
def test_limits_of_time(text, minutes):
    assert find_limit(text) == minutes


def test_lines_nearest_to_a_topic_are_in_page_order():
    topic = words("Which orders of lamps are late?")
    texts = ("late", "an order of a lamp", "nothing", "lamps", "late order of lamps")
    assert nearest_lines(texts, topic, 2) == ["an order of a lamp", "late order of lamps"]
    assert nearest_lines(texts, topic, 9) == ["late", "an order of a lamp", "lamps", "late order of lamps"]
    assert nearest_lines(("lamps " * 40,), topic, 1) == []


def test_quotations_are_joined():
    assert quote_all(["A"]) == '"A"'
    assert quote_all(["A", "B"]) == '"A" and "B"'


def test_only_short_texts_without_markup_or_with_a_heading_are_labels():
    lines = ("Total", "$5", "<p>Note</p>", "one", "x" * 41, "two", "<h3>Size</h3>", "<b>big</b>")
    assert ParsedPage("", "", lines).facts == (
        ("Total", "$5"),
        ("$5", "Note"),
        ("one", "x" * 41),
        ("two", "Size"),
        ("Size", "big"),
    )
