"""Goals read into names, numbers, dates and spans, and the overlap of other texts with them."""

import pytest

from agents.models.pointer.goals import (
    MATCH_FEATURES,
    amount_of,
    context_words,
    date_of,
    format_like,
    match_features,
    name_context,
    parse_goal,
    shape_of,
    words_of,
)

GOAL = parse_goal(
    'Add "Blue Lamp" and two chairs of Ann Lee to my order from March 5, 2023 in May 2022. It costs $12.50. Note: be quick'
)


def forms(text):
    return {(span.form, span.text) for span in parse_goal(text).spans}


def test_names_are_capitalised_within_a_sentence_or_have_digits():
    assert {"blue", "lamp", "ann", "lee", "march", "2023"} <= GOAL.names
    assert not {"add", "it", "note", "chair"} & GOAL.names
    assert parse_goal("I am in a room. Nobody").names == frozenset()


def test_numbers_dates_and_quotations():
    assert GOAL.quotations == ("Blue Lamp",)
    assert {2.0, 2023.0, 5.0} <= {*GOAL.numbers}
    assert (GOAL.months, GOAL.days) == ({(2022, 5)}, {(2023, 3, 5)})
    assert [parse_goal(text).ordinal for text in ("the second one", "the one", "first and third")] == [2, 1, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('say "a b"', {("quoted", "a b")}),
        ("in July 2022", {("first day", "07/01/2022"), ("last day", "07/31/2022")}),
        ("in February 2024", {("last day", "02/29/2024")}),
        ("on 3/5/23", {("iso date", "2023-03-05"), ("us date", "03/05/2023")}),
        ("of group/project now", {("last part", "project")}),
        ("for $5.20 each", {("amount", "5.20")}),
        ("all lamp posts", {("plural", "lamps")}),
        ("at Red now", {("lowered", "red")}),
        ("order 0012", {("number", "12")}),
        ("Write: see you", {("after colon", "see you")}),
    ],
)
def test_spans_have_derived_forms(text, expected):
    assert expected <= forms(text)


def test_plain_spans_neither_begin_nor_end_with_a_function_word_nor_cross_sentences():
    texts = {text for form, text in forms("the red lamp of the shop. Then leave") if form == "span"}
    assert {"red lamp", "red lamp of the shop", "shop"} <= texts
    assert not any(text.startswith("the ") or text.endswith((" of", " the")) for text in texts)
    assert not any("Then" in text and "shop" in text for text in texts)


def test_spans_know_their_place_and_the_words_around_them():
    (span,) = [span for span in GOAL.spans if span.form == "quoted"]
    assert GOAL.text[span.start :].startswith(span.text)
    assert (span.before, span.after) == ("add", "and")


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Mar 5, 2023", (2023, 3, 5)),
        ("12/20/1999", (1999, 12, 20)),
        ("2022-07-01 00:00", (2022, 7, 1)),
        ("Foo 5, 2023", None),
        ("May 2022", (2022, 5, 0)),
        ("", None),
    ],
)
def test_the_first_date_of_a_text(text, date):
    assert date_of(text) == date


@pytest.mark.parametrize(
    ("text", "amount", "shape"),
    [
        ("$1,200.50", 1200.5, "money"),
        ("2h 5min", 125, "duration"),
        ("45 min", 45, "duration"),
        ("3h", 180, "duration"),
        ("1.5 km", 1500, "distance"),
        ("12345", 12345, "digits"),
        ("a@b.c", None, "mail"),
        ("http://a.b/", None, "address"),
        ("", None, "empty"),
        ("a\nb", None, "lines"),
        ("one two three four five six", None, "sentence"),
        ("-3", -3, "figures"),
    ],
)
def test_amounts_and_shapes(text, amount, shape):
    assert (amount_of(text), shape_of(text)) == (amount, shape)


@pytest.mark.parametrize(
    ("amount", "like", "text"),
    [(1234.5, "1,000", "1,234"), (2.5, "3", "2.50"), (60, "5 min", "1h 0min"), (3, "$1.00", "$3.00")],
)
def test_amounts_are_written_like_others(amount, like, text):
    assert format_like(amount, like) == text


def test_features_of_the_overlap_lie_between_0_and_1():
    exact, part, other = (match_features(GOAL, text) for text in ("Blue Lamp", "Lamp of Bob", "garden hose"))
    assert all(len(features) == MATCH_FEATURES for features in (exact, part, other))
    assert all(0 <= feature <= 1 for features in (exact, part, other) for feature in features)
    assert (exact[0], exact[2:4], exact[6:]) == (1.0, (1.0, 1.0), (1.0, 1.0))
    assert part[0] == pytest.approx(2 / 3)  # "of" is in the goal, too
    assert other == (0.0,) * MATCH_FEATURES


def test_the_words_around_a_text_in_the_goal():
    assert context_words(GOAL, "Blue Lamp") == "#before_add #after_and"
    assert context_words(GOAL, "Red Lamp") == ""
    assert name_context(GOAL, "1 x Blue Lamp in stock") == context_words(GOAL, "Blue Lamp")
    assert words_of("Glass boxes, axes") == ("glass", "boxe", "axe")


def test_derived_forms_are_those_of_words_of_one_kind():
    assert ("last part", "b") not in forms("see http://a/b now")
    assert ("lowered", "red") not in forms("see RED now")
    assert ("lowered", "a") not in forms("plan A")
    assert ("plural", "lamp 2s") not in forms("lamp 2")
    assert not {text for form, text in forms("three old red lamps") if form == "plural" and text.count(" ") > 1}
