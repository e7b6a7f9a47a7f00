"""Helpers of the templates of all sites: common kinds of draws, pages of long lists, and repeated labels."""

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
    """Return the username of the current user on the code host or in the forum."""
    return str(world.value("SELECT username FROM user WHERE user_id = 1"))


def of_one_value(world: t.Sampler, rows: Iterable[t.Row], column: str) -> list[t.Row]:
    """Draw one of the different values of a column, with equal probability, and return the rows with this value."""
    candidates = list(rows)
    value = world.rng.choice(sorted({row[column] for row in candidates}))
    return [row for row in candidates if row[column] == value]


def amounts(cents: Sequence[int]) -> list[str]:
    """Return amounts of money in the format of pages."""
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
    """Return the steps over the pages of a long list that reach rows in order.

    `stops` are the indices of rows, in order, with the steps on the page that contains each row.
    """
    steps: list[Step] = []
    pages = 0
    for place, rows in stops:
        turns = turn_pages(world, place, usual, thought)
        steps += [*turns[pages:], *rows]
        pages = len(turns)
    return steps


def nth(label: str, place: int) -> str:
    """Return the label of an element with `place` elements of the same name before it.

    >>> nth("Edit", 0), nth("Edit", 1)
    ('Edit', 'Edit [2]')
    """
    return f"{label} [{place + 1}]" if place else label


def question(
    slots: dict[str, Any],
    truth: str | int,
    *,
    way: Sequence[Step],
    thought: str = "",
    wrong: Sequence[str] = (),
    start_url: str = "",
    ground: Ground | Grounds | None = None,
    page: str = "",
    reply: str = "",
    **form: object,
) -> t.Draw:
    """Return a draw that asks for an answer.

    Args:
        slots: Values of the slots in the phrasings.
        truth: The correct answer.
        way: Steps of the solution to the page that shows the answer.
        thought: Thought of the solution's last step, which replies.
        wrong: Wrong answers, which the check must reject; by default the next number, if the answer is a number.
        start_url: URL of the first page, if it is not the start page of the site.
        ground: Derivation of an answer that no page contains, or derivations by part of the answer.
        page: URL that must be open at the end.
        reply: The answer in the wording of the solution, if it differs from the truth.
        form: Requirements on the form of the answer (`t.with_form`).

    """
    text = str(truth)
    if isinstance(truth, int) and not wrong:
        wrong = [str(truth + 1)]
    check, grounds = t.answer(fuzzy_match=text), ground if isinstance(ground, Mapping) else {text: ground} if ground else {}
    solution = [*way, t.end_task(reply or text, thought)]
    check = t.with_form(check, **form) if form else check
    return t.Draw(slots, t.all_of(check, t.at_url(page)) if page else check, solution, wrong, start_url, grounds)


def instruction(
    slots: dict[str, Any], check: dict[str, Any], *, way: Sequence[Step], thought: str = "", start_url: str = ""
) -> t.Draw:
    """Return a draw without an answer, whose success `check` determines. `thought` is that of the last step, which ends the task."""
    return t.Draw(slots, check, [*way, t.end_task("", thought)], start_url=start_url)


def visit(slots: dict[str, Any], url: str, *, way: Sequence[Step], thought: str = "", start_url: str = "") -> t.Draw:
    """Return a draw whose task is to open the page at `url`; `thought` is that of the last step."""
    return instruction(slots, t.at_url(url), way=way, thought=thought, start_url=start_url)


def impossible(
    slots: dict[str, Any],
    ground: Ground,
    *,
    way: Sequence[Step],
    thought: str = "",
    wrong: Sequence[str] = (),
    start_url: str = "",
) -> t.Draw:
    """Return a draw of an unachievable task. `ground` declares how the page at the end of `way` proves that it is unachievable."""
    return t.Draw(slots, t.not_achievable(), [*way, t.end_task("N/A", thought)], wrong, start_url, {"N/A": ground})
