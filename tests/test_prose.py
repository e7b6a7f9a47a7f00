"""Composed texts: the phrasings are sound, the texts are well formed, and a reader finds the facts in them again."""

import re
from dataclasses import replace
from itertools import product

import pytest

from tests.errors import expect_error
from tests.prose_reader import expansions, read_opinions, read_outcomes, says
from tests.sites.prose.drawn import HALVES, NOUNS, drawn_issues, drawn_threads
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import grammar, reviews, things
from webarena_gym.sites.prose.grammar import apply_register

FILES = ("aspects", "reviews", "threads", "issues")


def drawn_reviews(count, is_held_out, register=None):
    dice = Dice(f"reviews/{is_held_out}/{count}")
    for number in range(count):
        attributes = (("Battery Life", "10 hours"), ("Dishwasher Safe", "Yes" if number % 2 else "No"))
        thing = things.Thing(dice.pick(NOUNS), "Bako", attributes)
        facts = reviews.draw_review(dice, thing, number % 5 + 1)
        facts = replace(facts, register=register) if register else facts
        yield facts, reviews.compose_review(facts, dice, is_held_out=is_held_out)


def test_both_halves_of_the_grammar_are_large_and_disjoint():
    for section, lines in (item for name in FILES for item in grammar.sections(name).items()):
        assert len(lines) >= 4, section
        assert len(set(lines) - {"{clause}"}) == len([line for line in lines if line != "{clause}"]), section
        halves = [
            {text for line in grammar.half(lines, is_held_out) for text in expansions(grammar.read(line).parts)}
            for is_held_out in (False, True)
        ]
        assert all(halves), section
        assert not (halves[0] & halves[1]) - {"{clause}"}, section


PRAISE = r"\b(wonderful|excellent|lovely|superb|brilliant|a joy|pleasant|outstanding)\b"
BLAME = r"\b(terrible|awful|useless|hopeless|horrible|flimsy|unbearable|broke|painfully)\b"
MATERIALS = {"steel", "tritan", "bamboo", "ceramic", "cotton", "linen", "leather", "aluminum", "copper", "oak", "walnut", "brass"}  # fmt: skip


def test_clauses_are_either_positive_or_negative_and_name_no_writer_or_material():
    sides = {"good": set(), "bad": set()}
    for section, lines in grammar.sections("aspects").items():
        sides[section.rpartition(" ")[2]].update(text for line in lines for text in expansions(grammar.read(line).parts))
    assert len(sides["good"]) > 700
    assert len(sides["bad"]) > 700
    assert sides["good"] & sides["bad"] == set()
    for section, lines in grammar.sections("aspects").items():
        for line in lines:
            assert not re.search(r"\b(I|my|me|mine|we|our|us)\b", line), line
            assert line[:1] != line[:1].upper() or not line[:1].isalpha(), line
            assert not re.search(PRAISE if section.endswith("bad") else BLAME, line), (section, line)
            assert not set(re.findall(r"[a-z]+", line)) & MATERIALS, line


SAYS = {
    "reviews": {
        "ironic": "clause", "retract": "clause name", "heard": "clause who", "quoted agree": "clause who", "quoted deny": "clause who",
        "compared good": "clause other", "compared bad": "clause other", "strong good": "clause", "strong bad": "clause",
        "mild good": "clause", "mild bad": "clause", "plain": "clause", "use own": "use", "use other": "use user", "other": "user",
        "span own": "span", "span other": "span", "because": "name", "report": "user",
    },
    "threads": {
        "question title": "topic", "debate title": "claim", "experience title": "work", "hearsay title": "work", "question problem": "problem", "question for": "who Problem", "tried": "done", "lasting": "span",
        "stand": "claim", "turned": "claim opposite", "reason": "reason", "from": "place", "reason more": "reason", "seen": "span", "told": "who",
        "experience open": "work span", "hearsay open": "who work", "said own": "clause", "said heard": "clause who",
        "answer worked": "done|remedy", "answer failed": "done|remedy", "answer heard": "who done", "answer idea": "done|remedy",
        "thanks helped": "user done|remedy", "thanks failed": "user done|remedy", "side": "claim reason", "agree": "user claim",
        "disagree": "user claim", "changed": "user claim reason", "detail reply": "span",
    },
    "issues": {
        "bug": "symptom trigger", "where": "version platform", "since": "since", "wish": "wish reason", "confirms": "version platform",
        "cannot reproduce": "version platform", "cause": "cause", "suspects": "cause", "workaround works": "workaround",
        "workaround fails": "workaround", "duplicate": "number", "fixed": "version number", "verified": "version",
        "still broken": "version", "declined": "ground", "request": "fix issue", "request alone": "fix", "wish request": "wish issue",
        "question": "symptom trigger", "docs": "symptom workaround", "asks change": "change", "suggests change": "change",
        "did change": "change_quoted", "refuses change": "change_quoted why", "objects": "why", "waits": "number",
    },
}  # fmt: skip
"""The slots that every phrasing of a section must have: without them a fact would be lost."""


@pytest.mark.parametrize("name", SAYS)
def test_every_phrasing_contains_its_facts(name):
    for section, facts in SAYS[name].items():
        for line in grammar.sections(name)[section]:
            slots = re.findall(r"\{(?:a )?(\w+)\}", line.replace("{Clause}", "{clause}"))
            assert all(set(fact.split("|")) & set(slots) for fact in facts.split()), line


def test_broken_phrasings_and_lines_outside_of_sections_are_refused(tmp_path, monkeypatch):
    for text in ("a [b", "a b]", "a {b", "a | b", "{"):
        with expect_error(ValueError, repr(text)):
            grammar.read(text)
    monkeypatch.setattr(grammar, "DATA", tmp_path)
    for text, words in (("a line\n", "expected a section"), ("[a]\nb\n[a]\n", "occurs twice")):
        (tmp_path / "made.txt").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=words):
            grammar.sections("made")


def all_texts(is_held_out):
    """Yield whether a text is careless, and the text; of every kind."""
    for facts, text in drawn_reviews(250, is_held_out):
        yield from ((facts.register == "careless", part) for part in text)
    for thread, post, comments in drawn_threads(60, is_held_out):
        yield from ((thread.post.register == "careless", part) for part in post)
        yield from (
            (comment.facts.register == "careless", text) for comment, text in zip(thread.comments, comments, strict=True)
        )
    for _, issue in drawn_issues(60, is_held_out):
        yield from ((False, part) for part in issue)


@HALVES
def test_texts_are_well_formed_the_same_from_equal_dice_and_many(is_held_out):
    texts = list(all_texts(is_held_out))
    assert texts == list(all_texts(is_held_out))
    assert len({part for _, text in texts for part in re.split(r"(?<=[.!?])\s+", text)}) > 2000  # of 900 texts or so
    for is_careless, text in texts:
        assert text == text.strip() != ""
        assert not re.search(r"[{}\[\]|]|  | [,.;!?]|\.\.|,,|\b(an?) \1\b", text), text
        assert text.count('"') % 2 == 0, text
        assert not re.search(r"\b[aA] [aeio]\w+|\ban [bcdfgjklmnpqrstvwxz]", text.replace("a one", "")), text
        if not is_careless:
            assert not re.search(r'(^|[.!?] |\n)"?[a-z]', text), text


@HALVES
def test_a_reader_finds_the_opinions_and_what_became_of_the_thing(is_held_out):
    for facts, (_, body) in drawn_reviews(200, is_held_out, register="formal"):
        found = read_opinions(body, facts.thing, is_held_out)
        for opinion in facts.opinions:
            assert says(found, opinion), (opinion, found, body)
            assert opinion.compared_with.lower() in body.lower()
        assert read_outcomes(body, is_held_out) == ({facts.outcome} if facts.outcome else set()), body
        for text in (facts.use, facts.user):
            assert text.lower() in body.lower()
        assert not facts.used_for or grammar.count_phrase(*facts.used_for) in body.lower()


@HALVES
def test_other_facts_give_other_texts(is_held_out):
    thing = things.Thing("Water Bottle", "Bako")
    own = reviews.Opinion(aspect="leak", is_good=False)
    heard = {"who": "my aunt"}
    changes = ({}, {"is_good": True}, {"voice": "ironic"}, {"voice": "quoted", **heard}, {"voice": "quoted", **heard, "agrees": False},
               {"voice": "heard", **heard}, {"strength": "strong"}, {"strength": "mild"}, {"compared_with": "my old one"},
               {"is_retracted": True})  # fmt: skip
    variants = [reviews.ReviewFacts(thing=thing, rating=2, opinions=(replace(own, **change),)) for change in changes]
    for number in range(40):
        texts = [reviews.compose_review(facts, Dice(str(number)), is_held_out=is_held_out).body for facts in variants]
        assert len(set(texts)) == len(variants)


NEGATION = re.compile(r"\b(?:not|never|no|nothing|nobody|none|cannot)\b|n'?t\b", re.IGNORECASE)


def test_registers_keep_every_negation():
    text = "it does not leak. I cannot say no, and I have not seen it. Nobody never did. It is not so, I would not say that."
    target = len(NEGATION.findall(text))
    for register, number in product(grammar.REGISTERS, range(20)):
        from_it = apply_register(text, register, Dice(f"{register}/{number}"))
        message = re.sub(r"\b(does|is|have|would|do|did|was|could|has|wo|ca)nt\b", r"\1n't", from_it)
        assert len(NEGATION.findall(message)) == target, from_it


def test_contradictory_opinions_are_rejected_and_verdicts_come_last():
    odd = {"ironic": {"voice": "ironic"}, "who": {"voice": "heard"}, "retracted": {"strength": "strong", "is_retracted": True}}
    for words, values in odd.items():
        with pytest.raises(ValueError, match=words):
            reviews.Opinion(aspect="leak", is_good=True, **values)
    zipper = reviews.Opinion(aspect="zipper", is_good=True)
    with expect_error(ValueError, "'Water Bottle'", ["zipper"]):
        reviews.ReviewFacts(thing=things.Thing("Water Bottle"), rating=3, opinions=(zipper,))
    heard = reviews.Opinion(aspect="taste", is_good=True, voice="heard", who="my aunt")
    denied = reviews.Opinion(aspect="leak", is_good=True, voice="quoted", who="my aunt", agrees=False)
    turned = reviews.Opinion(aspect="size", is_good=False, is_retracted=True)
    facts = reviews.ReviewFacts(thing=things.Thing("Water Bottle"), rating=2, opinions=(heard, denied, turned))
    assert [facts.verdict(aspect) for aspect in ("taste", "leak", "size", "color")] == [None, False, False, None]
    assert facts.complaints == ("leak", "size")
