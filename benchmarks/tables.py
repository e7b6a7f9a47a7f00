"""Write the tables of the documents from the result files and from the package: `python -m benchmarks.tables`.

A table is enclosed in `<!-- begin NAME -->` and `<!-- end NAME -->` in one of the DOCUMENTS, and is not edited by hand. A row is a
mapping from the heads of its columns to its cells. Documents show few columns; `--print NAME` shows every field of a result file.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from textwrap import wrap
from typing import Any

from benchmarks import api, reference
from benchmarks.machine import RESULTS
from webarena_gym import console
from webarena_gym.actions import DIALECTS, Action, Dialect, Kind
from webarena_gym.actions.action import NEEDS_ARGUMENT, NEEDS_ELEMENT
from webarena_gym.evaluation.statistics import wilson

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    *(
        ROOT / "docs" / name
        for name in (
            "actions.md",
            "applications.md",
            "keywords.md",
            "measurements.md",
            "metrics.md",
            "results-details.md",
            "settings.md",
        )
    ),
    ROOT / "docs" / "guides" / "reproduce-the-tables.md",
    *api.PAGES,
)

with (Path(__file__).parent / "tables.toml").open("rb") as _file:
    TITLES, PAPER_8B, PAPER_3B, OTHERS = tomllib.load(_file).values()

_FROM_SCRATCH = ("ppo", "masked_ppo")
"""Methods that start from random weights, so that they have no improvement over the BC agent."""

Row = Mapping[str, object]
Result = dict[str, Any]


def main() -> None:
    """Write the tables into the documents, or print a result file."""
    parser = console.Parser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--print", metavar="NAME", choices=sorted(path.stem for path in RESULTS.glob("*.json")))
    if name := parser.parse_args().print:
        print(every_field(name), end="")
        return
    for path in DOCUMENTS:
        path.write_text(update_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


def update_tables(document: str) -> str:
    """Return the document with all its tables updated. Raises KeyError for an unknown name of a table."""
    return re.sub(
        r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)",
        lambda match: match[1] + TABLES[match[2]]() + match[3],
        document,
        flags=re.DOTALL,
    )


def every_field(name: str) -> str:
    """Return the rows of a result file with all their fields as a table, and its other fields, one a line."""
    result = _read(name)
    del result["name"]
    rows = [dict(_fields(row)) for row in result.pop("rows", [])]
    return (_table(rows) if rows else "") + "".join(f"{key}: {value}\n" for key, value in _fields(result))


def _fields(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield the fields of nested objects by their paths; of long lists only the length."""
    if isinstance(value, dict):
        for inner, field in value.items():
            yield from _fields(field, f"{key}.{inner}" if key else inner)
    else:
        yield key, f"{len(value)} values" if isinstance(value, list) and len(value) > 20 else value


def learning(name: str) -> str:
    """Return the table of behaviour cloning followed by M-GRPO on the whole suite."""
    result = _read(name)
    rows = [{"": "behaviour cloning (BC)", "success": _score(result["bc_pooled"])}]
    if "clone_converged" in result:
        rows.append({"": "BC, trained twice as long", "success": _score(result["clone_converged_pooled"])})
    *marks, end = result.get("by_minutes") or [{}]
    title = "M-GRPO, {updates} updates".format_map
    rows += [
        {"": title(mark), "success": _mark_score(result, mark), "CPU minutes": f"{mark['cpu_minutes']:.1f}"} for mark in marks
    ]
    last = {
        "": title(end) if end else "then M-GRPO",
        "success": _score(result["mgrpo_pooled"]),
        "improvement over BC (95 % CI)": _lift(result),
    }
    last["CPU minutes"] = f"{fmean(result['mgrpo_cpu_minutes']):.1f}"
    rows.append(last)
    clones = result.get("clones", 1)
    note = f"n = {result['n']}, {clones} BC {'agent' if clones == 1 else 'agents'} x {result['seeds']} seeds"
    heads = ("", "success", "improvement over BC (95 % CI)", "CPU minutes")
    return _table(rows, heads) + _origin(note, result)


def generalisation() -> str:
    """Return the table of the same agents on training templates and on held-out templates."""
    parts = _read("learning")["by_training"]
    return _table(
        {
            "templates": f"{parts[name]['templates']} {title}",
            "n": parts[name]["n"],
            "BC, trained twice as long": _score(parts[name]["clone_converged_pooled"]),
            "then M-GRPO": _score(parts[name]["mgrpo_pooled"]),
            "improvement (95 % CI)": _lift(parts[name], "lift_over_converged"),
        }
        for name, title in (("seen", "training templates"), ("new", "held-out templates"))
    )


def carrying() -> str:
    """Return the table of generalisation to held-out templates, a held-out site and held-out layouts."""
    result = _read("carrying")
    parts = {
        "trained_templates": "training templates", "templates_of_no_training": "held-out templates", "site_of_no_training": "held-out site",
        "held_out_layouts": "held-out layouts",
    }  # fmt: skip
    rows = [
        {
            "on": "" if place else title, "": TITLES[row["title"]], "success": _score(row),
            "improvement (95 % CI)": _lift(row["lift"]) if place else "", "n": row["tasks"],
        }
        for part, title in parts.items()
        for place, row in enumerate(result[part][:-1])
    ]  # fmt: skip
    return _table(rows) + _origin(
        f"Random actions solve 0.0 %; {len(result['seeds'])} seeds of BC agents and of random reassignments", result
    )


def demonstrations() -> str:
    """Return the table of BC and M-GRPO by the number of demonstrations per template."""
    results = [_read("learning"), *(_read(path.stem) for path in RESULTS.glob("demonstrations_*.json"))]
    results.sort(key=lambda result: int(result["demonstrations"]))
    rows = (
        {
            "demonstrations per template": result["demonstrations"],
            "BC": _score(result["bc_pooled"]),
            "BC, trained twice as long": _score(result["clone_converged_pooled"]),
            "then 100 updates of M-GRPO": _mark_score(
                result, next(mark for mark in result["by_minutes"] if mark["updates"] == 100)
            ),
            "BC agents x seeds": f"{result['clones']} x {result['seeds']}",
        }
        for result in results
    )
    return _table(rows) + _origin(f"n = {results[0]['n']}", *results)


def methods(
    *names: str,
    columns: Iterable[str] = ("success", "improvement (95 % CI)", "CPU minutes"),
    start: str = "behaviour cloning (BC)",
) -> str:
    """Return the table of methods of one or two results, and of the agent `start` from which they continue if no column is "before"."""
    results = [_read(name) for name in names]
    scored = {row["method"]: row for result in results for row in result["rows"]}
    clone = {
        "": start,
        "success": _score(results[0]["rows"][0]["greedy"]["clone"]),
    }
    rows: list[Row] = [] if "before" in columns else [clone]
    for method, row in scored.items():
        before, after = _score(row["greedy"]["clone"]), _score(row["greedy"]["after"])
        lift = "" if method in _FROM_SCRATCH else _lift(row["greedy"]["lift"])
        cells = {"before": before, "success": after, "improvement (95 % CI)": lift}
        rows.append({"": TITLES.get(method, row["title"]), **cells, "CPU minutes": f"{row['cpu_minutes']:.1f}"})
    return _table(rows, ("", *columns)) + _origin(f"n = {results[0]['n']}, {len(results[0]['seeds'])} seeds", *results)


def vision(name: str) -> str:
    """Return the table of methods of the vision agent, with the differences from the first row."""
    result = _read(name)
    rows = (
        {
            "": row["title"]
            .removeprefix("vision agent, ")
            .replace("after behaviour cloning", "before the training on rewards"),
            "success": _score(row),
            "difference from the first row (95 % CI)": _lift(row["lift"]) if place else "",
        }
        for place, row in enumerate(result["rows"])
    )
    note = f"n = {result['rows'][0]['tasks']}, {len(result['seeds'])} seeds, {result['rows'][0]['env_steps']:.0f} env steps"
    return _table(rows) + _origin(note, result)


def paper() -> str:
    """Return the table of the improvements over BC in the paper, with those here of the same method."""
    agents = {name: _read(name) for name in ("learning", "language_model")}
    whole_suite, variants = ({row["method"]: row for row in _read(name)["rows"]} for name in ("whole_suite", "variants"))
    titles = {
        "M-GRPO, pointer network, 400 updates": (_lift(agents["learning"]), "mgrpo"),
        **{
            f"{TITLES.get(name, whole_suite[name]['title'])}, pointer network, 3 CPU minutes": (
                _lift(whole_suite[name]["greedy"]["lift"]),
                name,
            )
            for name in PAPER_8B
        },
        "M-GRPO, language model of 1.7 million parameters": (_lift(agents["language_model"]), "mgrpo"),
        "M-GRPO with long thoughts, language model": (_lift(variants["long"]["greedy"]["lift"]), "long"),
    }
    heads = ("improvement here (95 % CI)", "WebAgent-R1, 3B", "WebAgent-R1, 8B")
    return _table(
        {"": title, **dict(zip(heads, (ours, PAPER_3B.get(method, ""), PAPER_8B.get(method, "")), strict=True))}
        for title, (ours, method) in titles.items()
    )


def further_experiments() -> str:
    """Return the table of further experiments: one row per agent, with its improvement."""
    rows = []
    for title, (name, place) in OTHERS.items():
        row = _read(name)["rows"][place]
        cells = {"success": _score(row), "improvement (95 % CI)": _lift(row["lift"])}
        rows.append({"": title, **cells, "n": row.get("tasks", row["n"]), "seeds": row.get("seeds", 1), "result": f"`{name}`"})
    return _table(rows) + _origin("", *(_read(name) for name in dict.fromkeys(name for name, _ in OTHERS.values())))


def allocation() -> str:
    """Return the table of BC, reinforcement learning and both at fixed budgets of CPU minutes."""
    results = sorted(
        (_read(path.stem) for path in RESULTS.glob("allocation*.json")), key=lambda result: float(result["budgets"][0])
    )
    titles = {"bc_only": "BC only", "rl_only": "M-GRPO only", "mixed": "BC, then M-GRPO, best switch"}
    rows = []
    for result in results:
        for place, budget in enumerate(result["budgets"]):
            cells = {}
            for name, title in titles.items():
                low, high = result["ci95"][name][place]
                interval = f" ({100 * low:.1f} to {100 * high:.1f})" if name != "bc_only" else ""  # of three agents
                cells[title] = f"{_percent(result[name][place])}{interval}"
            switch = {"BC updates before the switch": result["best_switch"][place], "runs": result["runs"]}
            rows.append({"CPU minutes": f"{budget:g}", **cells, **switch})
    return _table(rows) + _origin(f"n = {results[0]['n']}", *results)


def recovery() -> str:
    """Return the table of BC agents with and without demonstrations of recovery, also after a forced mistake."""
    result = _read("recovery")
    titles = {
        "rows": "from the start",
        "led": "after the expert's first steps",
        "forced": "after the expert's first steps and a forced mistake",
    }
    rows = [
        {"": TITLES[row["title"]], **{title: _score(result[part][place]) for part, title in titles.items()}}
        for place, row in enumerate(result["rows"])
    ]
    note = f"n = {result['rows'][0]['tasks']}, and {result['forced'][0]['tasks']} after forced mistakes; {len(result['seeds'])} pairs of BC agents"
    return _table(rows) + _origin(note, result)


def interactions() -> str:
    """Return the table of success by step limit."""
    result = _read("interactions")
    limits = {score["title"].split()[0]: score for score in result["rows"]}
    row = {"steps allowed": "success"} | {limit: _score(score) for limit, score in limits.items() if limit not in ("20", "25")}
    return _table([row]) + _origin(f"n = {result['rows'][0]['n']}", result)


def page_sizes() -> str:
    """Return the table of tokens per page by observation type."""
    result = _read("page_sizes")
    ways = result["observations"]
    rows: list[Row] = [
        {"tokens": title} | {f'`"{way}"`': f"{sizes['all'][key]:,}" for way, sizes in ways.items()}
        for title, key in (("median", "tokens_median"), ("95th percentile", "tokens_p95"), ("mean", "tokens_mean"))
    ]
    pages = next(iter(ways.values()))["all"]["pages"]
    note = f"Over {pages} pages of the {result['split']} split's solutions; {result['vocabulary']}"
    return _table(rows) + _origin(note, result)


def actions() -> str:
    """Return every action with an example in each dialect that can express it."""
    examples = {parameter.placeholder: parameter.example for form in DIALECTS["webrl"].forms for parameter in form.parameters}
    arguments = {
        Kind.SELECT: examples["option"], Kind.SWITCH_TAB: examples["index"], Kind.PRESS: "Enter",
        Kind.GOTO: "http://shop.test/", Kind.EXIT: examples["answer"], Kind.DRAG: "34",
    }  # fmt: skip

    def example(kind: Kind, dialect: Dialect) -> str:
        argument = arguments.get(kind, examples["text"]) if kind in NEEDS_ARGUMENT else None
        try:
            text = dialect.format(Action(kind, "12" if kind in NEEDS_ELEMENT else None, argument))
        except ValueError:
            return ""
        return f"`{text.strip('`')}`"

    meanings = {form.kind: form.meaning for name in ("browsergym", "webrl") for form in reversed(DIALECTS[name].forms)}
    meanings[Kind.PRESS] = "Press a key in the focused element; in webrl only Enter."
    return _table(
        {"action": kind, **{name: example(kind, dialect) for name, dialect in DIALECTS.items()}, "what it does": meanings[kind]}
        for kind in Kind
        if kind in meanings
    )


def commands() -> str:
    """Return the command, commit and machine of each result file."""
    parts = []
    for path in sorted(RESULTS.glob("*.json")):
        result = _read(path.stem)
        lines = wrap(result["command"], 120, break_long_words=False, break_on_hyphens=False)
        parts.append(
            f"`{path.stem}`, {_commit(result)}, {result['machine']}:\n\n```text\n" + " \\\n    ".join(lines) + "\n```\n"
        )
    return "\n".join(parts)


def reference_tables(name: str) -> str:
    """Return the tables of a reference page, each with its heading."""
    parts = [f"### {title}\n\n{_table(rows)}" if title else _table(rows) for title, rows in reference.TABLES[name]()]
    return "\n".join(parts)


_LIFTS = ("success", "improvement (95 % CI)")
TABLES: dict[str, Callable[[], str]] = {
    "learning": partial(learning, "learning"), "language_model": partial(learning, "language_model"),
    "whole_suite": partial(methods, "whole_suite", columns=_LIFTS),
    "systems": partial(methods, "systems", columns=_LIFTS), "searched": partial(methods, "searched"),
    "methods": partial(methods, "methods", "baselines", columns=_LIFTS),
    "variants": partial(methods, "variants", columns=("before", *_LIFTS)),
    "layouts": partial(methods, "layouts", start="starter agent"), "vision": partial(vision, "vision"), "urlb": partial(vision, "urlb"),
    "paper": paper, "generalisation": generalisation, "carrying": carrying, "demonstrations": demonstrations, "allocation": allocation, "recovery": recovery,
    "interactions": interactions, "others": further_experiments, "page_sizes": page_sizes, "actions": actions, "commands": commands,
    **{name: partial(reference_tables, name) for name in reference.TABLES}, **api.TABLES,
}  # fmt: skip


def _read(name: str) -> Result:
    result: Result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return {"name": name, **result}


def _table(rows: Iterable[Row], heads: Iterable[str] = ()) -> str:
    """Return rows as a table with those columns, or with all columns that are not empty in every row."""
    rows = list(rows)
    every: Iterable[str] = heads or dict.fromkeys(head for row in rows for head in row)
    heads = [head for head in every if any(str(row.get(head, "")) for row in rows)]
    cells: list[list[object]] = [[*heads], ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    lines = [" | ".join(str(cell).replace("|", "\\|") for cell in line) for line in cells]
    return "".join(f"| {line} |".replace("  ", " ") + "\n" for line in lines)


def _origin(note: str, *results: Result) -> str:
    """Return the note of a table, and the name, commit and cores of each result, with a link to its command."""
    sources = "; ".join(f"`{result['name']}`, {_commit(result)}, {result['machine'].rpartition(', ')[2]}" for result in results)
    return f"\n{note}. [Commands](guides/reproduce-the-tables.md#commands): {sources}.\n".replace("\n. ", "\n")


def _commit(result: Result) -> str:
    """Return the commit of a result, and the earlier commits at which its runs began."""
    begun = [commit for commit in result.get("begun_at", ()) if commit != result["commit"]]
    return f"commit {result['commit']}" + (f" (runs begun at {', '.join(begun)})" if begun else "")


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _score(score: dict[str, float]) -> str:
    return f"{_percent(score['success'])} ({100 * score['low']:.1f} to {100 * score['high']:.1f})"


def _mark_score(result: Result, mark: Mapping[str, float]) -> str:
    """Return the success of all runs after some updates, with the interval that treats episodes as independent."""
    n = result["n"] * result["clones"] * result["seeds"]
    return _score(wilson(mark["greedy"] * n, n)._asdict())


def _lift(result: Result, name: str = "lift") -> str:
    low, high = result.get(f"{name}_ci95") or (result["low"], result["high"])
    return f"{100 * result[name]:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


if __name__ == "__main__":
    console.run("python -m benchmarks.tables", lambda _: main())
