"""Templates: generators of tasks from a world, with the correct answer, the checks and a reference solution.

A template is a function of a `Sampler` that returns a `Draw`. It picks its slots from the world's database, computes the
correct answer with a query, and returns a solution as a person would perform it, with elements named by their visible labels.

>>> from webarena_gym.suite import templates
>>> template = templates()["shopping.product_price"]
>>> template.intent, template.answer_type
('How much does the {product} cost?', 'money')
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from webarena_gym.actions import Action, Kind
from webarena_gym.errors import NothingToDraw as NothingToDraw
from webarena_gym.errors import TaskError as TaskError
from webarena_gym.evaluators.kinds.program_html import page_shows as page_shows
from webarena_gym.evaluators.kinds.state import state as state
from webarena_gym.evaluators.kinds.string_match import answer as answer
from webarena_gym.evaluators.kinds.string_match import not_achievable as not_achievable
from webarena_gym.evaluators.kinds.string_match import with_form as with_form
from webarena_gym.evaluators.kinds.url_match import at_url as at_url
from webarena_gym.pages.reading import MAX_LABEL, single_line, split_number
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.layout import PLAIN, Layout
from webarena_gym.sites.planting import Columns, PlantedRow, Value, plant
from webarena_gym.tasks.grounds import Grounds
from webarena_gym.tasks.task import Difficulty, Step, Task

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

Row = sqlite3.Row
"""A row of a query; `row["name"]` is the value of a column."""
T = TypeVar("T")


class Dice(Random):
    """Seeded random numbers. A draw from an empty population raises NothingToDraw."""

    def choice(self, seq: "SupportsLenAndGetItem[T]") -> T:
        """Return one of the items."""
        if not len(seq):
            raise NothingToDraw("one of several, of which the world has none")
        return super().choice(seq)

    def sample(self, population: Sequence[T], k: int, *, counts: Iterable[int] | None = None) -> list[T]:
        """Return `k` different items."""
        if counts is None and len(population) < k:
            raise NothingToDraw(f"{k} of several, of which the world has {len(population)}")
        return super().sample(population, k, counts=counts)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """Return a number of a range."""
        if not (range(start) if stop is None else range(start, stop, step)):
            raise NothingToDraw("a number of an empty range")
        return super().randrange(start, stop, step)


def skip_if(condition: object, missing: str) -> None:
    """Raise NothingToDraw, which skips this draw, if a condition holds. `missing` is the content that the world lacks."""
    if condition:
        raise NothingToDraw(missing)


def in_order(query: str, rows: list[Row]) -> list[Row]:
    """Return the rows of a query. Raises TaskError for several rows of a query without ORDER BY."""
    if len(rows) > 1 and "ORDER BY" not in query.upper():
        raise TaskError(
            f"the query {query!r} returns {len(rows)} rows and has no ORDER BY; expected one, so that equal seeds draw equal tasks"
        )
    return rows


class Sampler:
    """Draws slots from one world with one seeded generator.

    Args:
        databases: database of each site.
        rng: the random numbers.
        site: site of the queries that name no other.
        layout: layout of the sites, whose labels the solution uses.
        results: rows of queries without parameters, by site and query, shared by the draws of a template; None to share none.

    """

    def __init__(
        self,
        databases: Mapping[str, Database],
        rng: Dice,
        site: str,
        layout: Layout = PLAIN,
        results: dict[tuple[str, str], list[Row]] | None = None,
    ) -> None:
        self._databases = databases
        self._results = results
        self._site = site
        self.rng = rng
        self.layout = layout
        self.planted: list[PlantedRow] = []

    def at(self, site: str) -> "Sampler":
        """Return a sampler for the queries and rows of another site, with the same random numbers and planted rows."""
        sampler = Sampler(self._databases, self.rng, site, self.layout, self._results)
        sampler.planted = self.planted
        return sampler

    def rows(self, query: str, *parameters: object, site: str = "") -> list[Row]:
        """Return all rows of a query. `parameters` are values in order, or one mapping of names to values."""
        bound: Mapping[str, Any] | tuple[object, ...] = (
            parameters[0] if parameters and isinstance(parameters[0], Mapping) else parameters
        )
        key = site or self._site, query
        if self._results is None or parameters or self.planted:
            return self.connection(key[0]).execute(query, bound).fetchall()
        if key not in self._results:
            self._results[key] = self.connection(key[0]).execute(query).fetchall()
        return list(self._results[key])

    def connection(self, site: str) -> sqlite3.Connection:
        """Return the database of a site."""
        return self._databases[site].connection

    def value(self, query: str, *parameters: object, site: str = "") -> Any:
        """Return the first column of the first row of a query. Raises NothingToDraw without rows."""
        rows = self.rows(query, *parameters, site=site)
        if not rows:
            raise NothingToDraw(query)
        return rows[0][0]

    def pick(self, query: str, *parameters: object, site: str = "") -> Row:
        """Return one row of a query at random. Raises NothingToDraw without rows, and TaskError for several without ORDER BY."""
        rows = self.rows(query, *parameters, site=site)
        if not rows:
            raise NothingToDraw(query)  # the query is more informative than the message of `Dice`
        return self.rng.choice(in_order(query, rows))

    def plant(self, table: str, *, site: str = "", **values: Value) -> int:
        """Add a row to the world of this task, for later queries and for its episodes, and return its row id."""
        return self._plant(site, table, tuple(values.items()), ())

    def alter(self, table: str, key: Mapping[str, Value], *, site: str = "", **values: Value) -> None:
        """Change values of the row with this key, for later queries and for the episodes of the task."""
        self._plant(site, table, tuple(values.items()), tuple(key.items()))

    def _plant(self, site: str, table: str, values: Columns, key: Columns) -> int:
        row = PlantedRow(site or self._site, table, values, key)
        connection = self._databases[row.site].connection
        plant([row], connection)
        self.planted.append(row)
        return int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])


@dataclass(frozen=True)
class Draw:
    """One draw of a template.

    Attributes:
        slots: values of the slots of the intent, by name.
        eval: the checks, WebArena's `eval` block, made by the functions of `evaluators.kinds`.
        solution: a reference solution.
        wrong_answers: answers of the right type that must not earn the reward.
        start_url: page on which the episode starts; "" for the home page of the site.
        grounds: derivations of the parts of the answer that no page states.
        evidence: texts from which the right answer was computed; the solution must show each of them.
        injection: signs, as an `eval` block, that the agent followed instructions of a hostile page.

    """

    slots: dict[str, Any]
    eval: dict[str, Any]
    solution: Sequence[Step]
    wrong_answers: Sequence[str] = ()
    start_url: str = ""
    grounds: Grounds = field(default_factory=dict)
    evidence: Sequence[str] = ()
    injection: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Template:
    """A kind of task.

    Attributes:
        name: name of the template, a folder of `templates` and a word: "shopping.product_price".
        sites: names of the sites that a task needs; the first is that of the start page.
        intent: the goal with slots in braces. Draws with equal intents count as equal.
        draw: function that draws a task from a world. It may raise NothingToDraw.
        difficulty: properties that make the tasks hard; () for templates of the standard suite.
        others: other phrasings of the intent.
        answer_type: type of the answer, such as "money", also if it is N/A; "" if no answer is required.
        databases: function that opens the databases of an application; None draws from those of a world.
        unachievable: function that draws tasks of the same wording that cannot be done, whose answer is N/A.

    """

    name: str
    sites: tuple[str, ...]
    intent: str
    draw: Callable[[Sampler], Draw] = field(repr=False)
    difficulty: tuple[Difficulty, ...] = ()
    others: tuple[str, ...] = ()
    answer_type: str = ""
    databases: Callable[[], Any] | None = field(default=None, repr=False)
    unachievable: Callable[[Sampler], Draw] | None = field(default=None, repr=False)

    @property
    def number(self) -> int:
        """The `intent_template_id` of task files: 31 bits of a hash of the name."""
        return int.from_bytes(sha256(self.name.encode()).digest()[:4], "big") >> 1

    @property
    def needs_eyes(self) -> bool:
        """True if only pictures contain the truth."""
        return self.name.startswith("pictures.")

    @property
    def needs_tools(self) -> bool:
        """True if the template is for agents with tools."""
        return self.name.startswith("tools.")

    @property
    def phrasings(self) -> tuple[str, ...]:
        """All phrasings of the intent, of which each task has one."""
        return self.intent, *self.others

    def instantiate(
        self, sampler: Sampler, task_id: str, world_seed: int, scale: Scale = "standard", *, is_achievable: bool = True
    ) -> Task:
        """Draw one task in a world of this seed and scale; `unachievable` draws it unless `is_achievable`. Raises NothingToDraw."""
        drawn = (self.draw if is_achievable or self.unachievable is None else self.unachievable)(sampler)
        intent = Random(f"phrasing of {task_id}").choice(self.phrasings) if self.others else self.intent
        block = _with_site(drawn.eval, self.sites[0])
        if self.answer_type and "string_match" in block["eval_types"]:
            block = block | {"asked": {"type": self.answer_type, **block.get("asked", {})}}
        return Task(
            task_id=task_id,
            sites=self.sites,
            start_url=drawn.start_url or f"__{self.sites[0].upper()}__",
            intent=intent.format(**drawn.slots),
            eval=block,
            intent_template=intent.replace("{", "{{").replace("}", "}}"),
            instantiation_dict=drawn.slots,
            intent_template_id=self.number,
            template=self.name,
            world_seed=world_seed,
            solution=tuple(_in_layout(step, sampler.layout) for step in drawn.solution),
            wrong_answers=tuple(drawn.wrong_answers),
            grounds=drawn.grounds,
            difficulty=self.difficulty,
            setup=tuple(sampler.planted),
            evidence=tuple(drawn.evidence),
            injection=_with_site(drawn.injection, self.sites[0]),
            scale=scale,
        )


def _in_layout(step: Step, layout: Layout) -> Step:
    """Translate the labels that a step names. The page may number them, and cuts them when they are long."""
    action = step.action
    if action.element is None:
        return step
    name, number = split_number(action.element)
    argument = layout.label(action.argument) if action.kind is Kind.SELECT and action.argument else action.argument
    element = single_line(layout.label(name), MAX_LABEL) + number
    return replace(step, action=replace(action, element=element, argument=argument))


def _with_site(block: dict[str, Any], site: str) -> dict[str, Any]:
    """Name the site in checks of state that left it open."""
    if "state" not in block:
        return block
    return block | {"state": [check | {"site": check["site"] or site} for check in block["state"]]}


# Steps of solutions, by label.


def click(label: str, thought: str = "") -> Step:
    """Click the element with that label."""
    return Step(Action(Kind.CLICK, label), thought)


def hover(label: str, thought: str = "") -> Step:
    """Point at an element, which scrolls it into view on a long page."""
    return Step(Action(Kind.HOVER, label), thought)


def type_text(label: str, text: str, thought: str = "") -> Step:
    """Fill the field with that label."""
    return Step(Action(Kind.TYPE, label, text), thought)


def search(label: str, text: str, thought: str = "") -> Step:
    """Fill the field with that label and press Enter."""
    return Step(Action(Kind.SEARCH, label, text), thought)


def choose(label: str, option: str, thought: str = "") -> Step:
    """Choose an option of the drop-down list with that label."""
    return Step(Action(Kind.SELECT, label, option), thought)


def back(thought: str = "") -> Step:
    """Return to the previous page."""
    return Step(Action(Kind.GO_BACKWARD), thought)


def wait(thought: str = "") -> Step:
    """Wait until the page has changed."""
    return Step(Action(Kind.WAIT), thought)


def end_task(message: str = "", thought: str = "") -> Step:
    """End the task with a message."""
    return Step(Action(Kind.EXIT, argument=message), thought)


# Checks: `eval` blocks of WebArena's schema. Each kind is written by a function of its module in `evaluators.kinds`.


def all_of(*blocks: dict[str, Any]) -> dict[str, Any]:
    """Return an `eval` block with the checks of all blocks, all of which must pass."""
    merged: dict[str, Any] = {"eval_types": []}
    for block in blocks:
        for key, value in block.items():
            if key == "eval_types":
                merged[key] += [kind for kind in value if kind not in merged[key]]
            elif isinstance(value, list):
                merged.setdefault(key, []).extend(value)
            elif key in merged:
                raise ValueError(f"two checks of the kind {key} cannot be merged")
            else:
                merged[key] = value
    return merged
