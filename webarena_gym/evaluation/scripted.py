"""Agents that need no model: one that acts at random, and the expert. Both look behind the page."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.observation import visible_text

_NO_TEXT = ("checkbox", "radio", "submit", "button", "reset", "image")  # inputs that cannot be typed into


def random_action(nodes: Mapping[str, Any], page: str, goal: str, rng: Random, exit_rate: float = 0.15) -> Action:
    """Return something that the page allows: to click, type words of the goal, choose an option, or leave with a word of the page.

    `nodes` are those of an `Observation`, `page` is its text. It leaves with the probability `exit_rate`, half the time without an
    answer. It never claims that a task cannot be done: that is no text of a page, and saying it blindly earns the tasks whose right
    answer it is.
    """
    if not nodes or rng.random() < exit_rate:
        words = re.findall(r"[$\w.,-]+", page)
        return Action(Kind.EXIT, argument=rng.choice(["", rng.choice(words or [""])]))
    address = rng.choice(list(nodes))
    element = nodes[address].element
    if element.tag == "select":
        options = [visible_text(option) for option in element.iter("option")]
        return Action(Kind.SELECT, address, rng.choice(options or [""]))
    if element.tag == "textarea" or (element.tag == "input" and element.get("type", "text") not in _NO_TEXT):
        words = goal.split() or [""]
        start = rng.randrange(len(words))
        typed = " ".join(words[start : start + rng.randint(1, 4)])
        return Action(rng.choice([Kind.TYPE, Kind.SEARCH]), address, typed)
    return Action(Kind.CLICK, address)
