"""Templates in TOML files: how rows fill them, and mistakes in them."""

import sqlite3
from collections import Counter
from importlib import import_module
from itertools import product
from random import Random
from types import SimpleNamespace

import pytest

from tests.errors import expect_error
from tests.pages import page
from webarena_gym.errors import NothingToDraw, TaskError
from webarena_gym.evaluation.agents import random_action
from webarena_gym.observation import observe
from webarena_gym.sites.country.texts import money
from webarena_gym.tasks.template import Dice, Sampler, click
from webarena_gym.templates import reader
from webarena_gym.templates.reader import Row


@pytest.fixture
def shelf():
    """A sampler of a world with three books."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.executescript(
        "CREATE TABLE book (title, cents, pages); INSERT INTO book VALUES ('A', 1200, 90), ('B', 350, 40), ('C', 99, 7)"
    )
    yield Sampler({"shelf": SimpleNamespace(connection=connection)}, Dice("seed"), "shelf")
    connection.close()


def test_a_row_is_filled_with_the_columns_of_its_query(shelf):
    entry = {
        "intent": "What does {book} ({it}, {pages}) cost?",
        "query": "SELECT title AS book, cents, pages FROM $SHELF ORDER BY title",
        "other": "SELECT * FROM book WHERE title <> :book ORDER BY title",
        "also": {"twice": {"sql": "2 * :cents"}, "kind": {"KINDS_OF": ["{pages}"]}},
        "answer": "{cents:money}",
        "way": ["search Search | {book}", "click {book} -- It has {pages:,} pages.", "leaf {kind}"],
        "seen": "{book} costs {cents:money}, not {other[cents]} cents.",
        "wrong": ["{twice:money}", "{cents+1:money}"],
        "slots": {"it": "{book:lower}"},
    }
    names = {"SHELF": "book", "KINDS_OF": lambda world, pages: len(world.rows("SELECT 1 FROM book")) * pages}
    drawn = Row("price", entry, {**names, "leaf": lambda row, text: click(f"{row['book']} {text}")})(shelf)
    prices, pages = {"A": "$12.00", "B": "$3.50", "C": "$0.99"}, {"A": 90, "B": 40, "C": 7}
    book = drawn.slots["book"]
    assert drawn.slots == {"it": book.lower(), "book": book, "pages": pages[book]}
    assert drawn.eval["reference_answers"] == {"fuzzy_match": prices[book]}
    assert [step.action.element for step in drawn.solution] == ["Search", book, f"{book} {3 * pages[book]}", None]
    assert drawn.solution[1].thought == f"It has {pages[book]} pages."
    assert drawn.solution[3].thought.startswith(f"{book} costs {prices[book]}, not ")
    cents = {"A": 1200, "B": 350, "C": 99}[book]
    assert drawn.wrong_answers == [money(2 * cents), money(cents + 1)]


def test_a_pair_is_two_rows_of_one_query(shelf):
    entry = {"intent": "Compare.", "query": "SELECT * FROM book ORDER BY title", "pair": True, "way": []}
    drawn = Row("pair", {**entry, "url": "/{title}/{other[title]}"}, {})(shelf)
    first, second = drawn.eval["reference_url"].strip("/").split("/")
    assert {first, second} < {"A", "B", "C"}
    assert first != second
    with expect_error(NothingToDraw, "a thick book"):
        Row("pair", {**entry, "url": "/", "also": {"thick": {"sql": "0"}}, "needs": {"thick": "a thick book"}}, {})(shelf)


def test_draws_share_cached_rows_without_sharing_changes(shelf):
    executed, results = [], {}
    shelf.connection("shelf").set_trace_callback(executed.append)
    query = "SELECT title FROM book ORDER BY title"
    for _ in range(3):
        world = Sampler(shelf._databases, Dice("seed"), "shelf", results=results)
        rows = world.rows(query)
        assert [row["title"] for row in rows] == ["A", "B", "C"]
        rows.reverse()
        assert world.rows("SELECT title FROM book WHERE title = ?", "B")[0][0] == "B"
        assert world.at("shelf").rows(query)[0][0] == "A"
    assert [executed.count(text) for text in dict.fromkeys(executed)] == [1, 3]
    world.planted.append("a row")
    shelf.connection("shelf").execute("DELETE FROM book WHERE title = 'A'")
    assert [row[0] for row in world.rows(query)] == ["B", "C"]


def test_values_are_drawn_evenly_where_most_rows_share_one(shelf):
    query = "SELECT column1 AS found FROM (VALUES (1), (1), (1), (1), (1), (1), (1), (1), (1), (2)) ORDER BY 1"
    row = Row("count", {"intent": "Count.", "query": query, "evenly": "found", "url": "/{found}", "way": []}, {})
    drawn = Counter(row(shelf).eval["reference_url"] for _ in range(60))
    assert drawn.keys() == {"/1", "/2"}
    assert 15 < drawn["/2"] < 45


@pytest.mark.parametrize(("text", "values"), [
    ('fly = "Fly to {place}."', ("`way`", "function fly")),
    ("fly = 3", ("fly", "AttributeError: 'int'")),
    ("[fly]\nintent = 'Fly'\n[fly]", ("templates.toml", "line 3")),
    ("[fly]\nintent = 'Fly.'\nway = []\nanswer = ''\nhow = 1", ("fly", "how")),
    ("[fly]\nintent = 'Fly.'\nway = []", ("fly", "0 of draw, answer, url, check, says, lacks")),
    ("[fly]\nintent = 'Fly.'\nway = ['soar high']\nanswer = ''", ("fly", "'soar high'", "click, hover, type")),
    ("[fly]\nintent = 'Fly.'\nway = []\nanswer = '$NOWHERE'", ("fly", "$NOWHERE")),
    ("[fly]\nintent = 'Fly.'\nway = []\ncheck = {soars = []}", ("fly", "soars")),
    ("[fly]\nintent = 'Fly.'\nway = []\nanswer = '{a:wings}'", ("fly", "format wings")),
    ("[fly]\nintent = 'Fly.'\nway = ['type Name']\nanswer = ''", ("fly", "'type Name'", 2)),
    ("[fly]\nintent = 'Fly.'\nway = []\nanswer = '{a'", ("'{a'", "'}'")),
    ("[fly]\nintent = 'Fly.'\nway = 'back'\nanswer = ''", ("fly", "way", "'back'", "list")),
    ("[fly]\nintent = 'Fly.'\nway = []\nanswer = ''", ("fly", "`answer`", "`type`")),
    ("[fly]\nintent = 'Fly.'\nway = []\nsays = ['No']\nachievable = 'walk'", ("fly", "'walk'")),
    ("[fly]\nintent = 'Fly.'\nway = []\nurl = '/'\nachievable = 'fly'", ("fly", "`achievable`", "`says`", "`lacks`")),
    ("[fly]\nintent = 'Fly.'\nway = []\nurl = '/'\nevenly = 'wings'", ("fly", "evenly = 'wings'")),
    ("[fly]\nintent = 'Fly.'\nway = []\nsays = ['No']\n[fly.achievable]\nway = []", ("fly.achievable", "0 of draw, answer, url")),
    ("[fly]\nintent = 'Fly.'\ntype = 'day'\nway = []\nanswer = ''", ("fly", "ValueError", "type", "'day'")),
])  # fmt: skip
def test_an_entry_that_cannot_be_drawn_is_refused_by_name(text, values, tmp_path, monkeypatch):
    package = import_module("webarena_gym.templates.map")
    monkeypatch.setattr(reader, "_FOLDER", tmp_path)
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "templates.toml").write_text(text)
    with expect_error(TaskError, *values):
        reader.read_templates(package)


@pytest.mark.parametrize(("change", "values"), [
    ({"answer": "{titel}"}, ("it.toml: price", "'{titel}'", "title, cents")),
    ({"needs": {"titel": "a title"}}, ("price", "'{titel}'")),
    ({"query": "SELECT * FROM book"}, ("'SELECT * FROM book'", "3 rows", "ORDER BY")),
    ({"query": "SELECT titel FROM book"}, ("price", "titel")),
    ({"query": "SELECT title AS other FROM book ORDER BY 1", "other": "SELECT 1"}, ("price", "column `other`")),
    ({"way": ["leaf {title}"]}, ("price", "leaf", "`world`", "`row`")),
])  # fmt: skip
def test_invalid_template_entries_are_reported_by_name(shelf, change, values):
    entry = {"intent": "What?", "query": "SELECT * FROM book ORDER BY title", "way": [], "answer": "{cents:money}"} | change
    with expect_error(TaskError, *values):
        Row("it.toml: price", entry, {"leaf": lambda row: [click(row["title"])]})(shelf)


def test_random_actions_need_no_words_and_no_elements():
    nodes_of_page = observe(page("<textarea></textarea><select></select><input><a href=/>a</a>")).nodes
    for goal, nodes in product(("", " \n", "two words"), ({}, nodes_of_page)):
        rng = Random(1)
        for _ in range(200):
            random_action(nodes, "", goal, rng)
