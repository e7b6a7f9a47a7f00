"""Helpers of the templates of every site: draws of common forms, rows that are templates, long lists and repeated labels.

A row is a query and texts. The texts name the query's columns in braces, and are filled by the row that is drawn.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, ClassVar, cast

from webarena_gym.sites.country.texts import date_time, long_date, money
from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import Ground
from webarena_gym.tasks.task import Step


def on_page(world: t.Sampler, place: int, usual: int) -> tuple[int, int]:
    """Return the page of a long list on which the row at a place stands, and the row's place on that page, all from 0.

    A page has `usual` rows in the plain layout.
    """
    return divmod(place, world.layout.page_size(usual))


def turn_pages(
    world: t.Sampler, place: int, usual: int, thought: str = "There is more on the next page.", label: str = "Next"
) -> list[Step]:
    """Return the steps from the first page of a list to the one on which the row at a place stands."""
    return [t.click(label, thought)] * on_page(world, place, usual)[0]


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
    ground: Ground | None = None,
    **told: Any,
) -> t.Draw:
    """Return a draw that asks for `truth`. `way` leads to the page that shows it, and `seen` is the thought there.

    The wrong answer to a number is the next one, unless `wrong` names others. `ground` says what an answer follows from that no page
    states; `told` is what the task tells about the answer (`t.told`).
    """
    text = str(truth)
    if isinstance(truth, int) and not wrong:
        wrong = [str(truth + 1)]
    check, grounds = t.answer(fuzzy_match=text), {text: ground} if ground else {}
    solution = [*way, t.leave(text, seen)]
    return t.Draw(slots, t.told(check, **told) if told else check, solution, wrong, start_url, grounds)


def instruction(
    slots: dict[str, Any], check: dict[str, Any], *, way: Sequence[Step], seen: str = "", start_url: str = ""
) -> t.Draw:
    """Return a draw that asks for no answer. `check` tells whether the task is done, and `seen` is the thought after `way`."""
    return t.Draw(slots, check, [*way, t.leave("", seen)], start_url=start_url)


def visit(slots: dict[str, Any], url: str, *, way: Sequence[Step], seen: str = "", start_url: str = "") -> t.Draw:
    """Return a draw that asks for a page, at `url`, to be open at the end."""
    return instruction(slots, t.at_url(url), way=way, seen=seen, start_url=start_url)


def impossible(
    slots: dict[str, Any], ground: Ground, *, way: Sequence[Step], seen: str = "", wrong: Sequence[str] = ()
) -> t.Draw:
    """Return a draw of a task that cannot be done, which the page at the end of `way` shows: `ground` says by what."""
    solution = [*way, t.leave("N/A", seen)]
    return t.Draw(slots, t.not_achievable(), solution, wrong_answers=wrong, grounds={"N/A": ground})


FORMATS: Mapping[str, Callable[[Any], str]] = {
    "money": money, "long_date": long_date, "date_time": date_time, "distance": distance, "duration": duration, "lower": str.lower,
}  # fmt: skip
"""Formats behind the colon of a field, beside Python's own."""


class _Formatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return FORMATS[format_spec](value) if format_spec in FORMATS else format(value, format_spec)


_FORMATTER = _Formatter()


@dataclass(frozen=True)
class Row:
    """A template each of whose tasks is a row of a query; a subclass says what kind of task.

    `aim`, `way`, `seen`, `wrong`, `start_url` and `slots` are texts, collections of texts, steps, or functions of the world and the
    row. The slots of the intent that `slots` leaves out are columns of that name.
    """

    make: ClassVar[Callable[..., t.Draw]]

    source: str | tuple[Any, ...] | Callable[[t.Sampler], Any]  # a query, also with parameters, or what returns one row or two
    aim: Any  # the answer, the check, the address of the page, or the ground for N/A
    way: Sequence[Step] | Callable[[t.Sampler, t.Row], Sequence[Step]]
    seen: Any = ""
    wrong: Any = ()
    start_url: Any = ""
    pair: bool = False  # two rows of the query are drawn; texts call the second one `other`
    other: tuple[str, ...] = ()  # a query of another row, and the columns that are its parameters
    also: Mapping[str, Callable[[t.Sampler, t.Row], Any]] = field(default_factory=dict)  # more columns, one after the other
    slots: Mapping[str, Any] = field(default_factory=dict)

    def draw(self, intent: str, world: t.Sampler) -> t.Draw:
        """Return a task with that intent. Raises NothingToDraw."""
        row = self._row(world)
        names = [*self.slots, *(name for _, name, _, _ in _FORMATTER.parse(intent) if name)]
        slots = {name: fill(self.slots.get(name, f"{{{name}}}"), world, row) for name in names}
        given = {"seen": self.seen, "wrong": self.wrong, "start_url": self.start_url}
        texts = {name: fill(each, world, row) for name, each in given.items() if each}
        return type(self).make(slots, fill(self.aim, world, row), way=fill(self.way, world, row), **texts)

    def _row(self, world: t.Sampler) -> t.Row:
        query = self.source if isinstance(self.source, tuple) else (self.source,)
        drawn: Any
        if callable(self.source):
            drawn = self.source(world)
        else:
            drawn = world.rng.sample(world.rows(*query), 2) if self.pair else world.pick(*query)
        first, *others = drawn if isinstance(drawn, list | tuple) else [drawn]
        if self.other:
            others = [world.pick(self.other[0], *(first[name] for name in self.other[1:]))]
        row: Any = {name: first[name] for name in first.keys()}  # noqa: SIM118 - a row of sqlite3 iterates over its values
        if others:
            row["other"] = others[0]
        for name, compute in self.also.items():
            row[name] = compute(world, row)
        return cast(t.Row, row)


class Fact(Row):
    """A question, with its answer."""

    make = staticmethod(question)


class Change(Row):
    """Something to do, with the check that it is done."""

    make = staticmethod(instruction)


class Visit(Row):
    """A page to open, with its address."""

    make = staticmethod(visit)


class Impossible(Row):
    """A question that has no answer, with what a page says or lacks."""

    make = staticmethod(impossible)


def fill(value: Any, world: t.Sampler, row: t.Row) -> Any:
    """Return a text, or what holds texts, with all fields filled; a text that is one field becomes the column's own value."""
    if callable(value):
        return value(world, row)
    if isinstance(value, str):
        whole = re.fullmatch(r"\{(\w+)\}", value)
        return (
            row[whole[1]] if whole else _FORMATTER.vformat(value, (), cast(Mapping[str, Any], row)) if "{" in value else value
        )
    if isinstance(value, Step):
        element, argument, thought = (
            each and str(fill(each, world, row)) for each in (value.action.element, value.action.argument, value.thought)
        )
        return Step(replace(value.action, element=element, argument=argument), thought or "")
    if isinstance(value, Ground):
        return Ground(value.operation, *(tuple(map(str, fill(texts, world, row))) for texts in (value.operands, value.away)))
    if isinstance(value, Mapping):
        return {name: fill(each, world, row) for name, each in value.items()}
    return [fill(each, world, row) for each in value] if isinstance(value, list | tuple) else value
