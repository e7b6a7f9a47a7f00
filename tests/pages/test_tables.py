"""Cells that span rows are repeated in the rows below, and items of numbered lists have the markers that browsers show."""

import pytest
from lxml import html

from webarena_gym.pages.tables import RowSpans, list_markers, span_of


def cell(attributes):
    return html.fragment_fromstring(f"<table><tr><td {attributes}>x</td></tr></table>").find(".//td")


@pytest.mark.parametrize(
    ("attributes", "columns", "rows"),
    [
        ("", 1, 1), ("colspan=3 rowspan=2", 3, 2), ("colspan=0 rowspan=0", 1, 0), ("colspan=-1 rowspan=-1", 1, 1),
        ("colspan=2x rowspan=' 2'", 2, 2), ("colspan=x rowspan=x", 1, 1), ("colspan=1001 rowspan=65535", 1000, 65534),
    ],
)  # fmt: skip
def test_spans_are_limited_as_in_the_standard(attributes, columns, rows):
    assert (span_of(cell(attributes), "colspan"), span_of(cell(attributes), "rowspan")) == (columns, rows)


def rows_of(table):
    spans = RowSpans()
    rows = html.fragment_fromstring(f"<table>{table}</table>").iter("tr")
    return [[text if child is None else child.text for child, text in spans.cells(row)] for row in rows]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("<tr><td>a<td>b<tr><td>c", [["a", "b"], ["c"]]),
        ("<tr><td rowspan=2>a<td>b<tr><td>c<tr><td>d", [["a", "b"], ["a", "c"], ["d"]]),
        ("<tr><td>a<td rowspan=2>b<tr><td>c", [["a", "b"], ["c", "b"]]),
        ("<tr><td rowspan=2 colspan=2>a<td>b<tr><td>c", [["a", "b"], ["a", "c"]]),
        ("<tr><td colspan=2>a<td rowspan=2>b<tr><td>c<td>d", [["a", "b"], ["c", "d", "b"]]),
        ("<tr><td rowspan=3>a<tr><td>b<tr><td>c<tr><td>d", [["a"], ["a", "b"], ["a", "c"], ["d"]]),
        ("<tr><td rowspan=0>a<tr><td>b<tr><td>c", [["a"], ["a", "b"], ["a", "c"]]),
        ("<tbody><tr><td rowspan=0>a<tr><td>b</tbody><tbody><tr><td>c</tbody>", [["a"], ["a", "b"], ["c"]]),
    ],
)
def test_cells_of_earlier_rows_are_repeated_at_their_column(table, rows):
    assert rows_of(table) == rows


@pytest.mark.parametrize(
    ("markup", "markers"),
    [
        ("<ol><li>a<li>b</ol>", []),
        ("<ol start=5><li>a<li>b</ol>", ["5.", "6."]),
        ("<ol reversed><li>a<li>b</ol>", ["2.", "1."]),
        ("<ol reversed start=9><li>a<li>b</ol>", ["9.", "8."]),
        ("<ol><li value=3>a<li>b</ol>", ["3.", "4."]),
        ("<ol type=a start=26><li>a<li>b</ol>", ["z.", "aa."]),
        ("<ol type=i start=3999><li>a<li>b</ol>", ["mmmcmxcix.", "4000."]),
        ("<ol type=I><li>a<li type=A>b</ol>", ["I.", "B."]),
        ("<ol type=I start=0><li>a<li>b</ol>", ["0.", "I."]),
        ("<ol start=2><li><b>a</b><li><a href=/>b</a><li><i></i>c<li> </ol>", ["2.", "4."]),
    ],
)
def test_numbered_lists_have_markers(markup, markers):
    assert list(list_markers(html.fragment_fromstring(markup)).values()) == markers
