"""Templates as data: the sections of each site's `templates.toml`, with their wordings and queries.

An entry is an intent, drawn by a function of the same name, or a row: a section that needs no function. A row draws one row of
a query; its texts name the columns in braces: `{cents:money}`, `{other[name]}`, `{found+1}`, `{title:url}`. A text that consists of one
field is the column's value. `$NAME` is the object of that name in the site's modules. The keys of a section:

- `intent`: one phrasing or several; `sites`, if they differ from the folder's; `on`: the site of the queries, if it is not the first one;
  `type`: the type of the answer (docs/answers.md), required also for N/A;
- `given`: columns computed before the row is drawn, in the format of `also`;
- `query`, or `source`, a call that returns one row or two, or neither; with `pair`, two rows of the query are drawn; `other`: the query of a
  second row. Queries refer to columns as `:column`; texts call the second row `other`, queries `:other_column`;
- `evenly`, with `query`: a column. One of its values is drawn first, with equal probability, and then a row with that value;
- `also`: further columns, computed in order: texts, calls, `{sql = "..."}` for one value, `{column = "..."}` for a list, and
  `{rows = "..."}` for a list of lists;
- `needs`: columns that must not be false or empty, each with a description of what the world lacks otherwise;
- one of `answer`, `url` (the page to open), `check` (a call, or several), `says` and `lacks` (which prove the answer N/A);
- `page`, with an answer: the URL that must be open at the end; `said`: the answer in the solution's wording;
- `way`: steps, `verb argument | argument -- thought`. A verb is click, hover, type, search, choose, back, wait or a function of the site;
  a single field is replaced by the steps in it, and `if {column} ` before a step omits it if the column is empty;
- `seen`: the last thought; `wrong`, `start_url`, `ground`, and the keywords of `t.with_form`;
- `achievable`, with `says` or `lacks`: the name of another section of the file, or a table of these keys. Nine of ten draws come from it,
  with this section's intent and type, so that the wording does not reveal that the answer is N/A. Both must draw equal slots;
- `slots`: texts by name; slots that are not listed are the columns of their names.

Entries of hard templates have `difficulty` and several phrasings in `goals`, or use those of the entry named by `like`. An entry that
`spoils` another is drawn by the other's function with `is_spoiled`: one of its pages has an instruction to its readers.

An entry with `draw`, a call of a function that draws several templates, has no other keys. A user's application has one file of rows, which
may call the functions of `BUILT_IN`.

A call is a table: a function's name with its positional arguments, then keyword arguments. Functions with parameters `world` and `row`
receive these. `*{list}` among arguments is expanded to the items of the list.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import Parameter, signature
from itertools import islice
from operator import itemgetter
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter
from types import ModuleType
from typing import Any, NamedTuple, cast
from urllib.parse import quote_plus

from webarena_gym.answers import read_form
from webarena_gym.arguments import suggestion
from webarena_gym.evaluators.kinds.file import file_holds
from webarena_gym.evaluators.kinds.http import answers_json
from webarena_gym.sites.catalogue import SITES
from webarena_gym.sites.country.texts import date_time, long_date, money, read_data, read_toml
from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.tasks import grounds
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import Ground, Grounds
from webarena_gym.tasks.task import Step, check_types
from webarena_gym.templates import ways

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"\$([A-Z]\w*)((?:\[\w+\]|\.[a-z]\w*)?)")
_FIELD = re.compile(r"\{([\w.\[\]]+)\}")
_SUM = re.compile(r"(.+?)([+-]\d[\d.]*)")
_MAKE: Mapping[str, Callable[..., t.Draw]] = {
    "draw": t.Draw,
    "answer": ways.question,
    "url": ways.visit,
    "check": ways.instruction,
    "says": ways.impossible,
    "lacks": ways.impossible,
}
_OWN = {
    "intent", "sites", "type", "on", "given", "query", "evenly", "source", "pair", "other", "also", "needs", "way", "slots", "achievable",
}  # fmt: skip
_TYPES: Mapping[str, tuple[type, ...]] = {
    "intent": (str, list), "type": (str,), "on": (str,), "query": (str,), "evenly": (str,), "other": (str,), "way": (list,), "sites": (list,),
    "given": (dict,), "also": (dict,), "needs": (dict,), "slots": (dict,), "pair": (bool,), "achievable": (str, dict),
}  # fmt: skip
_REST = {"seen", "wrong", "start_url", "ground", "about", "yes", "no", "ordered", "labels", "page", "said"}
_KEYWORDS = {"seen": "thought", "said": "reply"}  # keywords of the functions of _MAKE, if they differ from the keys


def choice(world: t.Sampler, items: Sequence[Any] | Mapping[Any, Any]) -> Any:
    """Return a random item, or a random key of a mapping."""
    return world.rng.choice(list(items))


def randint(world: t.Sampler, low: int, high: int) -> int:
    """Return a random integer from `low` to `high`."""
    return world.rng.randint(low, high)


def randrange(world: t.Sampler, start: int, stop: int, step: int) -> int:
    """Return a random integer from `start` to before `stop`, in steps."""
    return world.rng.randrange(start, stop, step)


def sample(world: t.Sampler, items: Sequence[Any], count: int) -> list[Any]:
    """Return `count` different items in random order."""
    return world.rng.sample(items, count)


def shuffle(world: t.Sampler, items: list[Any]) -> list[Any]:
    """Shuffle a list in place and return it."""
    world.rng.shuffle(items)
    return items


def follow(*labels: str) -> list[Step]:
    """Return the steps that click elements, one after the other."""
    return [t.click(label) for label in labels]


def click_nth(label: str, place: int, thought: str) -> Step:
    """Return the step that clicks the element with the index `place` among those with the same label."""
    return t.click(ways.nth(label, place), thought)


def pick(world: t.Sampler, row: Mapping[str, Any], query: str) -> t.Row:
    """Return a random row of a query. Raises NothingToDraw if there is none."""
    return world.pick(query, row)


def first(world: t.Sampler, row: Mapping[str, Any], query: str) -> t.Row:
    """Return the first row of a query. Raises NothingToDraw if there is none."""
    rows = t.in_order(query, world.rows(query, row))
    t.skip_if(not rows, query)
    return rows[0]


def every(world: t.Sampler, row: Mapping[str, Any], query: str) -> list[t.Row]:
    """Return all rows of a query."""
    return world.rows(query, row)


def row_at_rank(world: t.Sampler, row: Mapping[str, Any], query: str, place: int, column: str) -> tuple[t.Row, t.Row]:
    """Return the row at the index `place` of a ranking by `column`, and an adjacent row.

    Raises NothingToDraw if there are too few rows, or if another row has the same value.
    """
    rows = t.in_order(query, world.rows(query, row))
    t.skip_if(len(rows) <= max(place, 1) or [item[column] for item in rows].count(rows[place][column]) > 1, column)
    return rows[place], rows[place - 1 if place else 1]


def row_becomes(world: t.Sampler, query: str, *parameters: object, **changes: object) -> dict[str, Any]:
    """Return a check that the query returns its present rows with changed columns."""
    rows = world.rows(query, *parameters)
    return t.state(query, *parameters, expected=[list({**dict(row), **changes}.values()) for row in rows])


def fill_text(row: Mapping[str, Any], text: str) -> str:
    """Return a text with the values of the columns that it names in braces."""
    return text.format_map(row)


def part_follows(part: str, ground: Ground) -> Grounds:
    """Return the derivation of one part of an answer, such as a count before a name."""
    return {part: ground}


def without(items: Iterable[Any], item: object) -> list[Any]:
    """Return the items without one of them."""
    return [entry for entry in items if entry != item]


def ordered_by(rows: Iterable[Sequence[Any]], place: int) -> list[Sequence[Any]]:
    """Return rows sorted by the column with the index `place`."""
    return sorted(rows, key=itemgetter(place))


def part(items: Sequence[Any], start: int, end: int) -> Sequence[Any]:
    """Return the items from index `start` to before `end`."""
    return items[start:end]


def values(rows: Iterable[Any], column: str | int) -> list[Any]:
    """Return a column of rows, by name or index."""
    return [row[column] for row in rows]


BUILT_IN: Mapping[str, Any] = {
    "click": t.click, "hover": t.hover, "type": t.type_text, "search": t.search, "choose": t.choose, "back": t.back, "wait": t.wait,
    "turn_pages": ways.turn_pages, "on_page": ways.on_page, "click_nth": click_nth, "follow": follow, "state": t.state, "at_url": t.at_url, "page_shows": t.page_shows,
    "http": answers_json, "file": file_holds,
    "says": grounds.says, "lacks": grounds.lacks, "sum_of": grounds.sum_of, "number_of": grounds.number_of, "joined": grounds.joined, "difference_of": grounds.difference_of, "part_follows": part_follows,
    "choice": choice, "randint": randint, "randrange": randrange, "shuffled": shuffle, "without": without, "filled": fill_text,
    "sample": sample, "pick": pick, "first": first, "every": every, "ranked": row_at_rank, "row_becomes": row_becomes,
    "money": money, "long_date": long_date, "date_time": date_time, "distance": distance, "duration": duration,
    "length": len, "total": sum, "values": values, "part": part, "ordered_by": ordered_by, "lower": str.lower, "capitalize": str.capitalize, "quoted": quote_plus, "commas": ", ".join, "semicolons": "; ".join, "ands": " and ".join, "lines": "\n".join, "pluses": " + ".join,
}  # fmt: skip
"""Verbs, checks, grounds and formats for the rows of all sites, in addition to the functions and tables of their site."""
_STEPS = {"click": 1, "hover": 1, "type": 2, "search": 2, "choose": 2, "back": 0, "wait": 0}  # number of arguments of each verb


class _Constant(NamedTuple):
    """A value of a site's modules other than a text, which contains no fields."""

    value: object


class Row(Formatter):
    """A template defined by a section of a data file. Raises TaskError for an unknown key or name."""

    def __init__(self, where: str, entry: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        kinds = [kind for kind in _MAKE if kind in entry]
        known = sorted({*_OWN, *_REST, *_MAKE})
        if unknown := sorted(entry.keys() - set(known)):
            hint = suggestion(unknown[0], known, list_all=False) or f"expected keys among {', '.join(known)}"
            raise t.TaskError(f"{where} has the unknown key {unknown[0]!r}; {hint}")
        if len(kinds) != 1:
            raise t.TaskError(f"{where} has {len(kinds)} of {', '.join(_MAKE)}; expected one")
        check_types(entry, _TYPES, where)
        if "evenly" in entry and "query" not in entry:
            raise t.TaskError(f"{where} has evenly = {entry['evenly']!r} and no query to draw from")
        self._where, self._names, self._kind = where, {**BUILT_IN, **names}, kinds[0]
        self._way = [self._step(line) for line in entry.get("way", ())]
        tables = ("given", "also", "needs", "slots")  # tables of values by name, which are not calls
        special = ("intent", "type", "way", "achievable", *tables)
        self._entry = {key: self._resolve(value) for key, value in entry.items() if key not in special}
        self._entry |= {key: {name: self._resolve(value) for name, value in entry.get(key, {}).items()} for key in tables}
        slots = self._entry["slots"]
        fields = (field for intent in phrasings(entry) for _, field, _, _ in self.parse(intent) if field)
        self._slots = {**slots, **{field: f"{{{field}}}" for field in fields if field not in slots}}

    def __call__(self, world: t.Sampler) -> t.Draw:
        """Draw a task. Raises NothingToDraw if the world has no suitable rows, and TaskError for a fault of the section."""
        row: dict[str, Any] = {}
        if self._kind == "draw":
            return cast(t.Draw, self._fill(self._entry["draw"], world, row))
        self._compute("given", world, row)
        first, *others = self._draw_rows(world, row)
        row |= {name: first[name] for name in first.keys()}  # noqa: SIM118 - a row of sqlite3 iterates over its values
        if "other" in row and (others or "other" in self._entry):
            raise t.TaskError(f"{self._where} has a column `other`; expected a different name, which is that of the second row")
        if "other" in self._entry:
            others = [world.rng.choice(t.in_order(self._entry["other"], self._rows(world, row, self._entry["other"])))]
        row |= {"other": others[0]} if others else {}
        self._compute("also", world, row)
        for column, missing in self._entry["needs"].items():
            t.skip_if(not self._fill(f"{{{column}}}", world, row), missing)
        rest = {_KEYWORDS.get(key, key): self._fill(value, world, row) for key, value in self._entry.items() if key in _REST}
        aim = self._entry[self._kind]
        if self._kind in ("says", "lacks"):
            aim = {self._kind: aim}
        blocks = [self._fill(item, world, row) for item in (aim if self._kind == "check" and isinstance(aim, list) else [aim])]
        way = [step for line in self._way for step in self._steps(line, world, row)]
        slots = {name: self._fill(text, world, row) for name, text in self._slots.items()}
        return _MAKE[self._kind](slots, t.all_of(*blocks) if len(blocks) > 1 else blocks[0], way=way, **rest)

    def _draw_rows(self, world: t.Sampler, row: dict[str, Any]) -> Sequence[Any]:
        """Return the row of the task, and the second row of `source` or `pair`, if there is one."""
        if "source" in self._entry:
            drawn = self._fill(self._entry["source"], world, row)
            return drawn if isinstance(drawn, list | tuple) else [drawn]
        if "query" not in self._entry:
            return [{}]
        rows = t.in_order(self._entry["query"], self._rows(world, row, self._entry["query"]))
        if column := self._entry.get("evenly"):
            rows = ways.of_one_value(world, rows, column)
        return world.rng.sample(rows, 2) if self._entry.get("pair") else [world.rng.choice(rows)]

    def _rows(self, world: t.Sampler, row: Mapping[str, Any], query: str) -> list[t.Row]:
        other: t.Row | dict[str, object] = row.get("other", {})
        known = {f"other_{name}": other[name] for name in other.keys()}  # noqa: SIM118
        site = self._entry.get("on", "")
        try:
            return world.rows(query, *[{**row, **known}] * (":" in query), site=site)
        except sqlite3.Error as error:
            raise t.TaskError(f"{self._where} has a query that fails: {error}, in {query!r}") from error

    def _compute(self, key: str, world: t.Sampler, row: dict[str, Any]) -> None:
        for name, value in self._entry[key].items():
            row[name] = self._fill(value, world, row)

    def _resolve(self, value: object) -> Any:
        """Return a value with `$NAME` replaced by the object of that name. Raises TaskError for unknown names, functions and formats."""
        if isinstance(value, dict):
            function = next(iter(value), None)
            if isinstance(value.get(function), list) and function not in self._names and function not in ("column", "rows"):
                raise t.TaskError(f"{self._where} calls {function}, which no module of its site has")
            return {key: self._resolve(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolve(item) for item in value]
        if not isinstance(value, str):
            return value
        for _, _, form, _ in self.parse(value) if "{" in value else ():
            name = (form or "").partition("[")[0]
            if len(name) > 1 and name.isidentifier() and name not in self._names:
                raise t.TaskError(f"{self._where} has the format {form}, which no module of its site has")
        whole = _NAME.fullmatch(value)
        if whole:
            value_of_name = self._find(whole)
            return value_of_name if isinstance(value_of_name, str) else _Constant(value_of_name)
        return _NAME.sub(lambda value_of_name: str(self._find(value_of_name)), value)

    def _find(self, name: re.Match[str]) -> Any:
        if name[1] not in self._names:
            raise t.TaskError(f"{self._where} names ${name[1]}, which no module of its site has")
        return super().get_field(name[1] + name[2], (), self._names)[0]

    def _step(self, line: str) -> tuple[str, str, list[Any], str]:
        if _FIELD.fullmatch(line):
            return "", "", [line], ""
        if line.startswith("if "):
            condition, _, line = line.removeprefix("if ").partition(" ")
            return (condition, *self._step(line)[1:])
        words, _, thought = line.partition(" -- ")
        verb, _, rest = words.partition(" ")
        if verb not in self._names:
            raise t.TaskError(f"{self._where} has the step {line!r}; expected {', '.join(_STEPS)} or a function of its site")
        arguments = [self._resolve(item) for item in rest.split(" | ")] if rest else []
        if len(arguments) != _STEPS.get(verb, len(arguments)):
            raise t.TaskError(
                f"{self._where} has the step {line!r}; {verb} takes {_STEPS[verb]} arguments, with | between them"
            )
        return "", verb, arguments, thought

    def _steps(self, line: tuple[str, str, list[Any], str], world: t.Sampler, row: Mapping[str, Any]) -> list[Step]:
        condition, verb, arguments, thought = line
        if condition and not self._fill(condition, world, row):
            return []
        if not verb:
            return list(self._fill(arguments[0], world, row))
        values = self._fill(arguments, world, row)
        if verb in _STEPS:
            return [BUILT_IN[verb](*map(str, values), self._fill(thought, world, row))]
        steps = self._call(verb, values, {}, world, row)
        return steps if isinstance(steps, list) else [steps]

    def _call(self, name: str, arguments: list[Any], keywords: dict[str, Any], world: t.Sampler, row: Mapping[str, Any]) -> Any:
        function, implicit, remaining = self._names[name], {"world": world, "row": row}, iter(arguments)
        bound: list[Any] = []
        for parameter in signature(function).parameters.values():
            if parameter.name in implicit:
                bound.append(implicit[parameter.name])
            elif parameter.kind is Parameter.VAR_POSITIONAL:
                bound += remaining
            elif parameter.kind is not Parameter.KEYWORD_ONLY:
                bound += [int(item) if parameter.annotation is int else item for item in islice(remaining, 1)]
        if rest := list(remaining):
            raise t.TaskError(
                f"{self._where} gives {name} the additional arguments {rest}; `world` and `row` must not be in the list"
            )
        return function(*bound, **keywords)

    def _fill(self, value: object, world: t.Sampler, row: Mapping[str, Any]) -> Any:
        """Return a text, or a structure of texts, with all fields filled and all calls evaluated."""
        if isinstance(value, str):
            whole = _FIELD.fullmatch(value)
            try:
                if whole:
                    return super().get_field(whole[1], (), row)[0]
                return self.vformat(value, (), row) if "{" in value else value
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                why = f"{type(error).__name__}: {error}; the columns are {', '.join(row)}"
                raise t.TaskError(f"{self._where} has {value!r}, which cannot be filled: {why}") from error
        if isinstance(value, _Constant):
            return value.value
        if isinstance(value, list):
            items: list[Any] = []
            for item in value:
                is_several = isinstance(item, str) and item.startswith("*{")
                items += self._fill(item[1:], world, row) if is_several else [self._fill(item, world, row)]
            return items
        if not isinstance(value, dict) or not value:
            return value
        (name, arguments), *_ = value.items()
        if name in ("sql", "column", "rows"):
            rows = self._rows(world, row, arguments if "SELECT" in arguments else f"SELECT {arguments}")
            if name == "sql":
                t.skip_if(not rows, arguments)
                return rows[0][0]
            return [item[0] if name == "column" else list(item) for item in rows]
        (name, arguments), *keywords = (
            (self._fill(key, world, row), self._fill(item, world, row)) for key, item in value.items()
        )
        return self._call(name, arguments, dict(keywords), world, row)

    def parse(self, format_string: str) -> list[Any]:
        """Return the parts of a text. Raises TaskError for unbalanced braces."""
        try:
            return list(super().parse(format_string))
        except ValueError as error:
            raise t.TaskError(f"{self._where} has {format_string!r}: {error}") from error

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return a column, or the sum of a column and a number."""
        addition = _SUM.fullmatch(field_name)
        value, key = super().get_field(addition[1] if addition else field_name, args, kwargs)
        return (value + float(addition[2]) if "." in addition[2] else value + int(addition[2])) if addition else value, key

    def format_field(self, value: object, format_spec: str) -> str:
        """Return a value formatted by the function or table with the name `format_spec`, otherwise by Python."""
        if format_spec.partition("[")[0] not in self._names:
            return format(value, format_spec)
        formatter = super().get_field(format_spec, (), self._names)[0]
        return str(formatter(value) if callable(formatter) else formatter[value])


_GOAL = {"intent", "sites", "type", "difficulty", "goals", "like", "spoils"}  # keys of entries whose other keys are texts


def read_texts(name: str) -> dict[str, Any]:
    """Return the texts of a folder of templates, from its texts.toml, or of a file such as "hard/map", without its intents, by name."""
    if (_FOLDER / name).is_dir():
        return read_toml(_FOLDER / name / "texts.toml")
    texts: dict[str, Any] = {}
    for section, values in read_data(_FOLDER / f"{name}.toml").items():
        for key in values.keys() - _GOAL:
            if key in texts:
                raise ValueError(f"{name}.toml has two texts {key}, the second in {section}; expected different names")
            texts[key] = values[key]
    return texts


def phrasings(entry: Mapping[str, Any]) -> Sequence[str]:
    """Return the phrasings of a section, of which each task has one."""
    return [entry["intent"]] if isinstance(entry["intent"], str) else entry["intent"]


def read_all() -> dict[str, t.Template]:
    """Return the templates of all folders by name, in a fixed order: by site, then those with several sites."""
    folders = {module.name for module in iter_modules([str(_FOLDER)]) if module.ispkg}
    known: dict[str, t.Template] = {}
    for folder in (*(site for site in SITES if site in folders), *sorted(folders - SITES.keys())):
        known |= read_templates(import_module(f"{__package__}.{folder}"))
    return known


def read_templates(package: ModuleType) -> dict[str, t.Template]:
    """Return the templates of a folder by name, from its `templates.toml` or otherwise from all its files. Raises TaskError."""
    folder = package.__name__.rpartition(".")[2]
    names = dict(vars(package))
    for module in (import_module(item.name) for item in iter_modules(package.__path__, f"{package.__name__}.")):
        names |= vars(module)
    templates: dict[str, t.Template] = {}
    own_file = _FOLDER / folder / "templates.toml"
    # shopping_admin comes before shopping, which keeps the order of the tasks in the bundled splits
    for path in [own_file] if own_file.exists() else sorted(own_file.parent.glob("*.toml"), key=lambda path: f"{path.stem}~"):
        templates |= templates_of(path, folder, names)
    return templates


def templates_of(
    path: Path, folder: str, names: Mapping[str, Any], databases: Callable[[], Any] | None = None
) -> dict[str, t.Template]:
    """Return the templates of a file by name. Raises TaskError.

    Args:
        path: The file.
        folder: Site or group of the templates, the first part of their names.
        names: Functions and tables that sections may use in addition to `BUILT_IN`.
        databases: Returns the databases of a user's application.

    """
    templates: dict[str, t.Template] = {}
    entries = read_toml(path)
    for key in entries:
        try:
            template = _template(f"{path}: {key}", folder, key, entries, names)
        except t.TaskError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise t.TaskError(f"{path}: {key} cannot be read: {type(error).__name__}: {error}") from error
        templates[template.name] = replace(template, databases=databases)
    return templates


_TRIES = 30  # draws of achievable and of unachievable tasks, so that the rarer kind in a world is not drawn less often


def _achievable(where: str, entry: Mapping[str, Any], entries: Mapping[str, Any], names: Mapping[str, Any]) -> Row:
    """Return the row that draws the achievable tasks of a section's phrasings. Raises TaskError."""
    other = entry["achievable"]
    if not entry.keys() & {"says", "lacks"}:
        raise t.TaskError(f"{where} has `achievable`, but neither `says` nor `lacks`, which make its own tasks unachievable")
    if isinstance(other, str) and not isinstance(entries.get(other), Mapping):
        raise t.TaskError(f"{where} names the achievable section {other!r}, which its file does not have")
    row = entries[other] if isinstance(other, str) else other
    return Row(f"{where}.achievable", {**row, "intent": entry["intent"]}, names)


def _persist(row: Callable[[t.Sampler], t.Draw], world: t.Sampler) -> t.Draw:
    """Draw from a row. Raises NothingToDraw after 30 draws without a task."""
    for _ in range(_TRIES - 1):
        try:
            return row(world)
        except t.NothingToDraw:
            if world.planted:  # these rows would also be there for the next draw
                raise
    return row(world)


def _template(where: str, folder: str, key: str, entries: Mapping[str, Any], names: Mapping[str, Any]) -> t.Template:
    entry: Mapping[str, Any] = {"intent": entries[key]} if isinstance(entries[key], str) else entries[key]
    function = names.get(entry.get("spoils", key))
    unachievable = None
    if "intent" in entry and entry.keys() & {"way", "draw"}:
        draw: Callable[[t.Sampler], t.Draw] = Row(where, entry, names)
        if "achievable" in entry:
            unachievable = partial(_persist, draw)
            draw = partial(_persist, _achievable(where, entry, entries, names))
    elif callable(function):
        draw = partial(function, is_spoiled=True) if "spoils" in entry else function
    else:
        if names:
            raise t.TaskError(f"{where} has no `way`, and no module of its site has a function {key}")
        known = sorted(_OWN | _REST | _MAKE.keys())
        hints = (f"; {name!r} is unknown: {suggestion(name, known)}" for name in entry if name not in known)
        raise t.TaskError(
            f"{where} lacks {'`way`' if 'intent' in entry else '`intent`'}; expected both `intent` and `way`{next(hints, '')}"
        )
    if "answer" in entry and "type" not in entry:
        raise t.TaskError(f"{where} has an `answer` and no `type`; expected a type of docs/answers.md")
    kind = read_form({"type": entry.get("type", "")}).type
    same = entries[entry.get("spoils", entry.get("like", key))]
    intent, *others = phrasings(entry) if "intent" in entry else same["goals"]
    sites, difficulty = tuple(entry.get("sites", (folder,))), tuple(entry.get("difficulty", ()))
    return t.Template(f"{folder}.{key}", sites, intent, draw, difficulty, tuple(others), kind, unachievable=unachievable)
