"""Languages of replies as regular expressions: words, lists, page elements, dates, and the actions of a page."""

import re

import pytest

from agents.rollouts.languages import (
    Alternatives,
    PageElement,
    SeparatedList,
    Spans,
    action_language,
    date_forms,
    one_of,
    parse_page_parts,
    regex,
    word_spans,
)
from webarena_gym.actions import DIALECTS, Action, Kind


def matches(language, *texts):
    pattern = re.compile(regex(language))
    return [pattern.fullmatch(text) is not None for text in texts]


def test_words_are_runs_of_letters_or_single_characters():
    assert [r"5 \" x-1"[start:end] for start, end in word_spans(r"5 \" x-1")] == ["5", r"\"", "x", "-", "1"]


def test_spans_begin_and_end_at_words():
    text = "one two three, four"
    words = [text[start:end] for start, end in word_spans(text)]
    assert words == ["one", "two", "three", ",", "four"]
    runs = {text[start:end] for start, _ in word_spans(text) for _, end in word_spans(text) if end > start}
    parts = {text[start:end] for start in range(len(text)) for end in range(start + 1, len(text) + 1)}
    assert matches((Spans((text,)),), *parts) == [part in runs for part in parts]


def test_alternatives_may_be_empty_and_lists_are_separated():
    assert matches(("a", Alternatives((("b",), ()))), "a", "ab", "b", "abb") == [True, True, False, False]
    assert matches((Alternatives(((), ())),), "") == [True]
    assert matches((SeparatedList(one_of(["x", "y", "x"]), (", ", ".")),), "x", "x, y.x", "x,y", "", "x, ") == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert one_of(["x", "y", "x"]) == Alternatives((("x",), ("y",)))


def test_elements_that_can_be_used_are_parsed():
    page = (
        'Tabs: [0]* One | [12] Two\n<a id="3">x</a><button disabled>B</button><input type="checkbox" label="C"><input label="D" readonly>'
        '<textarea label="E &quot;x&quot;">t</textarea><select label="F"><option>1 &lt; 2</option><option>2</option></select><td>cell</td><a>  </a>'
    )
    elements, tabs, texts = parse_page_parts(page)
    assert elements == (
        PageElement("3", False, ()),
        PageElement("C", False, ()),
        PageElement('E "x"', True, ()),
        PageElement("F", False, ("1 < 2", "2")),
    )
    assert tabs == ("0", "12")
    assert {"x", "cell", "1 < 2", 'E "x"', "B"} < {*texts}
    assert not {"", "3"} & {*texts}


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Apr 5, 2021", ("04/05/2021", "2021-04-05")),
        ("February 2024", ("02/01/2024", "2024-02-01", "02/29/2024", "2024-02-29")),
        ("12/31/2020 and 2020-01-02", ("12/31/2020", "2020-12-31", "01/02/2020", "2020-01-02")),
        ("Feb 30, 2021; 13/1/2021; 2021-00-10; 2021-01-00; 2021-12-32; Foo 2021; May 0000", ()),
        ("0001-01-01", ("01/01/0001", "0001-01-01")),
        ("2021-04-05 is 4/5/2021", ("04/05/2021", "2021-04-05")),
    ],
)
def test_dates_have_two_forms(text, forms):
    assert date_forms(text) == forms


def test_actions_refer_to_usable_elements_of_the_page():
    page = '<a>Shop</a><button disabled>Off</button><input label="City"><select label="Size"><option>Big</option></select>'
    language = action_language("Find Rome by May 2, 2021", page)
    allowed = [
        Action(Kind.CLICK, "Shop"), Action(Kind.CLICK, "City"), Action(Kind.TYPE, "City", "Rome by"), Action(Kind.TYPE, "City", ""),
        Action(Kind.TYPE, "City", "05/02/2021"), Action(Kind.SEARCH, "City", "Rome, Shop"), Action(Kind.SELECT, "Size", "Big"),
        Action(Kind.EXIT, argument="123"), Action(Kind.EXIT, argument="N/A"), Action(Kind.EXIT, argument="Rome near Big"), Action(Kind.GO_BACKWARD),
        Action(Kind.PRESS, argument="Enter"),
    ]  # fmt: skip
    rejected = [
        Action(Kind.CLICK, "Off"), Action(Kind.TYPE, "Shop", "Rome"), Action(Kind.TYPE, "City", "Paris"), Action(Kind.TYPE, "City", "12"),
        Action(Kind.SELECT, "Size", "Rome"), Action(Kind.SELECT, "City", "Big"), Action(Kind.EXIT, argument="1234"), Action(Kind.EXIT, argument="Paris"),
    ]  # fmt: skip
    replies = [DIALECTS["webrl"].format(action) for action in (*allowed, *rejected)]
    assert matches(language, *replies) == [True] * len(allowed) + [False] * len(rejected)


def test_tabs_can_be_switched_to_where_there_are_several():
    page = "URL: http://a.test/\nTabs: [0]* One [7] | [1] Two\n<a>x</a>"
    pattern = re.compile(regex(action_language("goal", page)))
    found = [index for index in range(9) if pattern.fullmatch(f'do(action="Switch Tab", argument="{index}")')]
    assert found == [0, 1]
    assert "Switch Tab" not in regex(action_language("goal", "URL: http://a.test/\n<a>x</a>"))


def test_the_regular_expression_grows_slowly():
    lengths = [len(regex((Spans(("word " * count,)),))) for count in (100, 1_000)]
    assert lengths[1] < 30 * lengths[0]
