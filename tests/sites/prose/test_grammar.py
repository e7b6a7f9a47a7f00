"""Phrasings: alternatives, slots with conditions, articles, and registers that keep the words."""

from collections import Counter

import pytest

from tests.errors import expect_error
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import (
    MANY,
    MASS,
    NUMBERS,
    ONE,
    REGISTERS,
    Speaker,
    apply_register,
    capitalize_sentences,
    count_phrase,
    enumerate_items,
    paragraphs,
    pool,
    read,
    sections,
    sentence,
    with_article,
)


def texts(phrasing, slots=None, count=200):
    dice = Dice("texts")
    return Counter(read(phrasing).fill(dice, slots or {}) for _ in range(count))


def test_each_alternative_is_drawn_also_nested_and_empty_ones():
    assert texts("a[b|c[d|]]").keys() == {"ab", "acd", "ac"}
    assert min(texts("[x|y]").values()) > 70


def test_slots_are_filled_with_their_article():
    assert texts("{a thing} for {name}", {"thing": "oven", "name": "Ann"}).keys() == {"an oven for Ann"}


def test_a_phrasing_suits_slots_that_it_needs_and_not_those_that_it_bans():
    phrasing = read("{?lid}{!cord}the {part} and {a tool}{s}")
    assert phrasing.needs == {"lid", "part", "tool"}
    assert phrasing.bans == {"cord"}
    fitting = {"lid": "x", "part": "y", "tool": "z", "s": ""}
    assert phrasing.suits(fitting)
    for change in ({"lid": ""}, {"part": ""}, {"cord": "long"}):
        assert not phrasing.suits({**fitting, **change})
    assert phrasing.fill(Dice("a"), fitting) == "the y and a z"
    assert [read(text).is_bare for text in ("{name}", "{name}!", "name")] == [True, False, False]


@pytest.mark.parametrize("text", ["[a", "a]", "[a|[b]", "{a", "a}", "{a{b}}"])
def test_brackets_and_braces_match(text):
    with expect_error(ValueError, repr(text)):
        read(text)


def test_words_agree_with_a_noun():
    form = "{it} work{s}, {it} {is} {its} own"
    assert [read(form).fill(Dice("a"), slots) for slots in (ONE, MANY, MASS)] == [
        "it works, it is its own", "they work, they are their own", "it works, it is its own",
    ]  # fmt: skip
    assert NUMBERS["many"] is MANY
    assert not read("{one}").suits(MASS)


@pytest.mark.parametrize(
    ("text", "article"),
    [
        ("apple", "an"),
        ("house", "a"),
        ("FM radio", "an"),
        ("umbrella", "an"),
        ("heirloom", "an"),
        ("European", "a"),
        ("80 l bin", "an"),
    ],
)
def test_articles_follow_the_sound(text, article):
    assert with_article(text) == f"{article} {text}"


def test_sentences_end_once_and_begin_with_capitals():
    assert [sentence(text) for text in ("a", "a.", 'a."', "a:", "a)")] == ["a.", "a.", 'a."', "a:", "a)."]
    assert capitalize_sentences("one. two! e.g. three\nfour") == "One. Two! E.g. Three\nFour"
    assert [enumerate_items(list(items), "or") for items in ("", "a", "ab", "abc")] == ["", "a", "a or b", "a, b or c"]
    assert count_phrase(2, "day") == "two days"
    assert paragraphs([], ["a."], []) == "a."


def test_files_are_halved_between_training_and_held_out_worlds():
    for name in ("aspects", "defects"):
        titles = sections(name)
        ours, held_out = pool(name, False), pool(name, True)
        for title, lines in titles.items():
            assert [phrasing.text for phrasing in ours[title]] == lines[::2]
            assert [phrasing.text for phrasing in held_out[title]] == lines[1::2]


def test_a_speaker_repeats_a_phrasing_only_if_it_must(tmp_path, monkeypatch):
    from webarena_gym.sites.prose import grammar  # noqa: PLC0415 - its folder of data is replaced

    (tmp_path / "spoken.txt").write_text(
        "# a comment\n[greeting]\nhi\nunused\nhello {name}\nunused\nhey\nunused\n\n[empty]\n{?other}x\n"
    )
    monkeypatch.setattr(grammar, "DATA", tmp_path)
    speaker = Speaker("spoken", Dice("a"), {"name": "Ann"}, is_held_out=False)
    assert {speaker.phrase("greeting") for _ in range(3)} == {"hi", "hello Ann", "hey"}
    assert speaker.sentence("greeting", name="Bob") in ("hi.", "hello Bob.", "hey.")
    with expect_error(ValueError, "[empty]", ["name"]):
        speaker.phrase("empty")
    (tmp_path / "twice.txt").write_text("[a]\nx\n[a]\ny\n")
    (tmp_path / "none.txt").write_text("x\n")
    for name in ("twice", "none"):
        with pytest.raises(ValueError, match=f"{name}.txt, line"):
            sections(name)


def test_registers_change_the_form_and_keep_the_numbers():
    text = "it does not work after 3 days. I definitely do not like it."
    written = {register: apply_register(text, register, Dice("a")) for register in REGISTERS}
    assert len({*written.values()}) >= 3
    assert all("3 days" in text for text in written.values())
    assert written["formal"] == "It does not work after 3 days. I definitely do not like it."
    assert written["chatty"].endswith("!")
    assert "doesn't" in written["chatty"]
    assert written["careless"] == written["careless"].lower()
    assert not written["careless"].endswith(".")
