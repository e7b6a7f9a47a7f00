"""Blocks of checks, and the outcome of an episode that they judge."""

import sqlite3
from contextlib import nullcontext

from tests.pages import page
from webarena_gym.evaluators import Outcome, View, evaluate, no_scripts

FINAL = page(
    '<body><h1>Red Bag</h1><p class="qty">12 left, 130 sold</p><input id="q" value="typed"><textarea id="t">note</textarea>'
    '<select id="s"><option>a<option selected>b</select><input type="checkbox" id="c" checked></body>',
    url="http://shop.test/bag.html?color=red&size=2",
)
OTHER = page("<body><ul><li>Hat</li></ul></body>", url="http://shop.test/wishlist/")


def outcome(answer=""):
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE TABLE cart (name TEXT, quantity INTEGER)")
    db.execute("INSERT INTO cart VALUES ('Hat', 2)")
    return Outcome(
        answer,
        View(FINAL, no_scripts),
        lambda url: nullcontext(View({"http://shop.test/wishlist/": OTHER}[url], no_scripts)),
        {"shopping": db}.__getitem__,
        {"__SHOPPING__": "http://shop.test"},
    )


def passes(block, answer=""):
    return all(verdict.passed for verdict in evaluate(block, "intent", outcome(answer)))


def string(**references):
    return {"eval_types": ["string_match"], "reference_answers": references}


def rows(query, expected, parameters=(), **more):
    part = {"site": "shopping", "query": query, "parameters": list(parameters), "expected": expected} | more
    return {"eval_types": ["state"], "state": [part]}
