"""Helpers of the templates of every site: draws of common forms, long lists and repeated labels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webarena_gym.sites.country.names import WORDS_PER_WORLD, invented_word
from webarena_gym.sites.country.texts import money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import Ground, Grounds
from webarena_gym.tasks.task import Step


def word(world: t.Sampler) -> str:
    """Return an invented word that no other world has."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    return invented_word(seed, world.rng.randrange(WORDS_PER_WORLD), "title")


def my_name(world: t.Sampler) -> str:
    """Return my user name on the code host or in the forum."""
    return str(world.value("SELECT username FROM user WHERE user_id = 1"))


def of_one_value(world: t.Sampler, rows: Iterable[t.Row], column: str) -> list[t.Row]:
    """Draw one of the values that a column has, each as likely as the others, and return the rows that have it."""
    candidates = list(rows)
    value = world.rng.choice(sorted({row[column] for row in candidates}))
    return [row for row in candidates if row[column] == value]


def amounts(cents: Sequence[int]) -> list[str]:
    """Return amounts of money as pages write them."""
    return [money(item) for item in cents]


def on_page(world: t.Sampler, place: int, usual: int) -> tuple[int, int]:
    """Return the page of a long list that contains the row at an index, and the row's index on that page, all from 0.

    A page has `usual` rows in the plain layout.
    """
    return divmod(place, world.layout.page_size(usual))


def turn_pages(
    world: t.Sampler, place: int, usual: int, thought: str = "There is more on the next page.", label: str = "Next"
) -> list[Step]:
    """Return the steps from the first page of a list to the page that contains the row at an index."""
    return [t.click(label, thought)] * on_page(world, place, usual)[0]


def along(
    world: t.Sampler, stops: Iterable[tuple[int, Sequence[Step]]], usual: int, thought: str = "There are more on the next page."
) -> list[Step]:
    """Return the steps over the pages of a long list, including the given steps on the page that contains each row."""
    steps: list[Step] = []
    turned = 0
    for place, rows in stops:
        turns = turn_pages(world, place, usual, thought)
        steps += [*turns[turned:], *rows]
        turned = len(turns)
    return steps


def nth(label: str, place: int) -> str:
    """Return the label of an element that has that many of the same name before it.

    >>> nth("Edit", 0), nth("Edit", 1)
    ('Edit', 'Edit [2]')
    """
    return f"{label} [{place + 1}]" if place else label


def question(
    slots: dict[str, Any],
    truth: str | int,
    *,
    way: Sequence[Step],
    seen: str = "",
    wrong: Sequence[str] = (),
    start_url: str = "",
    ground: Ground | Grounds | None = None,
    page: str = "",
    said: str = "",
    **told: Any,
) -> t.Draw:
    """Return a draw that asks for `truth`. `way` leads to the page that shows it, and `seen` is the thought there.

    The wrong answer to a number is the next one, unless `wrong` is given. `ground` declares how an answer that no page contains is
    derived, or, as a mapping, some of its parts; `page` is the URL that must be open at the end; `said` is the answer as
    written by the solution, if it differs from the truth; `told` are the instructions about the form of the answer (`t.with_form`).
    """
    text = str(truth)
    if isinstance(truth, int) and not wrong:
        wrong = [str(truth + 1)]
    check, grounds = t.answer(fuzzy_match=text), ground if isinstance(ground, Mapping) else {text: ground} if ground else {}
    solution = [*way, t.leave(said or text, seen)]
    check = t.with_form(check, **told) if told else check
    return t.Draw(slots, t.all_of(check, t.at_url(page)) if page else check, solution, wrong, start_url, grounds)


def instruction(
    slots: dict[str, Any], check: dict[str, Any], *, way: Sequence[Step], seen: str = "", start_url: str = ""
) -> t.Draw:
    """Return a draw without an answer. `check` decides whether the task is done, and `seen` is the thought after `way`."""
    return t.Draw(slots, check, [*way, t.leave("", seen)], start_url=start_url)


def visit(slots: dict[str, Any], url: str, *, way: Sequence[Step], seen: str = "", start_url: str = "") -> t.Draw:
    """Return a draw that asks for a page, at `url`, to be open at the end."""
    return instruction(slots, t.at_url(url), way=way, seen=seen, start_url=start_url)


def impossible(
    slots: dict[str, Any],
    ground: Ground,
    *,
    way: Sequence[Step],
    seen: str = "",
    wrong: Sequence[str] = (),
    start_url: str = "",
) -> t.Draw:
    """Return a draw of an unachievable task. The page at the end of `way` proves it: `ground` declares how."""
    return t.Draw(slots, t.not_achievable(), [*way, t.leave("N/A", seen)], wrong, start_url, {"N/A": ground})
