"""Write the tables of the documents from the result files and from the package: `python -m benchmarks.tables`.

A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->` in one of the DOCUMENTS, and is not edited by hand.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.playing import RESULTS
from webarena_gym import console
from webarena_gym.actions import DIALECTS, Action, Dialect, Kind
from webarena_gym.actions.action import NEEDS_ARGUMENT, NEEDS_ELEMENT
from webarena_gym.sites.catalogue import SITES

ROOT = Path(__file__).parent.parent
DOCUMENTS = (ROOT / "README.md", *(ROOT / "docs" / name for name in ("actions.md", "environment.md", "results.md")))
# WebAgent-R1, arXiv 2505.16421, tables 2 and 3: success in per cent on WebArena-Lite's 165 tasks.
_PAPER_MAIN = {"bc": "20.0 %", "mgrpo": "33.9 %"}  # Qwen2.5-3B
_PAPER_METHODS = {"filtered_bc": "23.0", "awr": "28.5", "digirl": "30.3", "webrl": "42.4"}  # Llama-3.1-8B, from 20.6 of BC
_PAPER_VARIANTS = {"zero": "6.1 to 4.8", "plain": "20.0 to 33.9", "long": "24.5 to 30.3"}  # Qwen2.5-3B

_HEADS = ("", "greedy", "sampled", "the paper, Qwen2.5-3B, on WebArena-Lite")
_INTERVALS = (
    "Intervals are of 95 %: of success as if episodes were independent, of lifts a bootstrap over clones, their seeds and "
    "templates."
)

Row = Sequence[object]


def main() -> None:
    """Write the tables into the documents."""
    console.Parser(prog="python -m benchmarks.tables", description=__doc__).parse_args()
    for path in DOCUMENTS:
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


def written(document: str) -> str:
    """Return the document with all its tables written anew. Raises KeyError for the name of no table."""
    return re.sub(
        r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)",
        lambda found: found[1] + TABLES[found[2]]() + found[3],
        document,
        flags=re.DOTALL,
    )


def learning() -> str:
    """Return the table of M-GRPO against cloning of pointing networks, on the whole suite."""
    result = _read("learning")
    count = result["demonstrations"]
    clone = f"pointing network, behaviour cloning of {_counted(count, 'demonstration')} a template"
    trained = [
        (f"then M-GRPO, {mark['cpu_minutes']:g} CPU minutes", _percent(mark["greedy"]), _percent(mark["sampled"]), "")
        for mark in result["by_minutes"][:-1]
    ]
    last = result["by_minutes"][-1]
    rows: list[Row] = [
        ("random", _percent(result["random"]), "", ""),
        (clone, *_both(result, "bc"), _PAPER_MAIN["bc"]),
        ("the same, converged", *_both(result, "clone_converged"), ""),
        *trained,
        (f"then M-GRPO, {last['cpu_minutes']:g} CPU minutes", *_both(result, "mgrpo"), _PAPER_MAIN["mgrpo"]),
        ("lift over the clone", *_lifts(result, "lift"), "+13.9"),
        ("lift over the converged clone", *_lifts(result, "lift_over_converged"), ""),
        ("expert", _percent(result["expert"]), "", ""),
    ]
    note = (
        f"n = {result['n']} tasks (the test split, and its templates in a fresh world); {_counted(result['clones'], 'clone')}, "
        f"{_counted(result['seeds'], 'seed')} of M-GRPO for each, {last['cpu_minutes']:g} CPU minutes a seed. {_INTERVALS}"
    )
    return _table(_HEADS, rows) + _origin(note, result)


def generalisation() -> str:
    """Return the table of the same agents on templates that were trained on, and on others."""
    result = _read("learning")
    titles = {"seen": "templates of the training split, in new worlds", "new": "templates of no training"}
    rows = []
    for name, title in titles.items():
        part = result["by_training"][name]
        scores = (_score(part[f"{key}_pooled"]) for key in ("bc", "clone_converged", "mgrpo"))
        rows.append(
            (
                title,
                part["templates"],
                part["n"],
                *scores,
                _lift(part["lift_over_converged"], *part["lift_over_converged_ci95"]),
            )
        )
    return _table(("tasks", "templates", "n", "clone", "converged clone", "then M-GRPO", "lift over the converged clone"), rows)


def demonstrations() -> str:
    """Return the table of cloning and M-GRPO by the number of demonstrations a template."""
    rows: list[Row] = []
    results = [_read("learning"), *(_read(path.stem) for path in RESULTS.glob("demonstrations_*.json"))]
    for result in sorted(results, key=lambda result: int(result["demonstrations"])):
        mark = next(mark for mark in result["by_minutes"] if mark["updates"] == 100)
        scores = (_score(result[f"{key}_pooled"]) for key in ("bc", "clone_converged"))
        runs = f"{result['clones']} x {result['seeds']}"
        rows.append(
            (result["demonstrations"], *scores, _percent(mark["greedy"]), _percent(mark["sampled"]), mark["cpu_minutes"], runs)
        )
    heads = (
        *("demonstrations a template", "clone", "converged clone", "then 100 updates of M-GRPO"),
        *("the same, sampled", "CPU minutes", "clones x seeds"),
    )
    commands = "".join(f"- `{result['command']}`, commit {result['commit']}\n" for result in results)
    return _table(heads, rows) + f"\nn = {results[0]['n']} tasks, greedy unless it says otherwise. The commands:\n\n{commands}"


def language_model() -> str:
    """Return the table of M-GRPO against cloning of a small language model, on the whole suite."""
    result = _read("language_model")
    rows: list[Row] = [
        ("language model of 1.7 million parameters, behaviour cloning", *_both(result, "bc"), _PAPER_MAIN["bc"]),
        ("then M-GRPO", *_both(result, "mgrpo"), _PAPER_MAIN["mgrpo"]),
        ("lift", *_lifts(result, "lift"), "+13.9"),
    ]
    note = (
        f"Greedy on {result['n']} tasks (the test split, and its templates in a fresh world), sampled on the first "
        f"{result['n_sampled']}; {result['seeds']} seeds of M-GRPO. "
        "Intervals are of 95 %: of success as if episodes were independent, of the lift a bootstrap over tasks and seeds."
    )
    return _table(_HEADS, rows) + _origin(note, result | {"command": _of_then(result)})


def methods() -> str:
    """Return the table of variants of M-GRPO that begin with one clone."""
    return _side_by_side("methods")


def baselines() -> str:
    """Return the table of the methods that M-GRPO is compared with, from the same clone."""
    return _side_by_side("baselines")


def whole_suite() -> str:
    """Return the table of methods that reinforce pointing networks on the whole suite."""
    return _side_by_side("whole_suite")


def systems() -> str:
    """Return the table of StarPO and of structured rewards beside M-GRPO."""
    return _side_by_side("systems")


def retrieval() -> str:
    """Return the table of M-GRPO with a memory of steps and without."""
    result = _read("retrieval")
    count = max(row.get("steps_remembered", 0) for row in result["rows"])
    return f"The memory holds {count:,.0f} steps on average.\n\n{_side_by_side('retrieval')}"


def searched() -> str:
    """Return the table of plain, forked and searched rollouts of pointing networks, at equal env steps."""
    return _side_by_side("searched")


def allocation() -> str:
    """Return the table of cloning, reinforcement and both at fixed budgets of CPU minutes."""
    results = sorted(
        (_read(path.stem) for path in RESULTS.glob("allocation*.json")), key=lambda result: float(result["budgets"][0])
    )
    rows: list[Row] = []
    for result in results:
        for place, budget in enumerate(result["budgets"]):
            cells = []
            for name in ("bc_only", "rl_only", "mixed"):
                value, interval = result[name][place], result["ci95"][name][place]
                cells.append("" if value is None else f"{_percent(value)} ({100 * interval[0]:.0f} to {100 * interval[1]:.0f})")
            rows.append((f"{budget:g}", *cells, result["best_switch"][place], result["runs"]))
    heads = ("CPU minutes", "cloning alone", "M-GRPO alone", "both, best switch", "updates of cloning before it", "runs")
    commands = "".join(f"- `{result['command']}`, commit {result['commit']}\n" for result in results)
    note = (
        f"Success on n = {results[0]['n']} test tasks of the configuration that is best on validation tasks; hyperparameters are drawn. "
        f"Intervals of 95 % are a bootstrap over runs. {results[0]['machine']}. The commands:"
    )
    return _table(heads, rows) + f"\n{note}\n\n{commands}"


def whole_suite_longer() -> str:
    """Return the table of two of these methods with some five times the budget."""
    return _side_by_side("whole_suite_longer")


def _side_by_side(name: str) -> str:
    result = _read(name)
    rows: list[Row] = []
    for row in result["rows"]:
        spent = (
            f"{row['env_steps']:,.0f}",
            f"{row['trained_tokens']:,.0f}" if row["trained_tokens"] else "",
            f"{row['cpu_minutes']:.1f}",
        )
        paper = _PAPER_METHODS.get(row["method"], "")
        of_seeds = ", ".join(f"{100 * lift:+.1f}" for lift in row["greedy"]["lift_of_seeds"])
        others = row["greedy"]["without_best"]
        rest = f"{_interval(others)}, without `{others['kind'].partition('.')[2]}`" if "lift" in others else ""
        apart = _interval(row["greedy"]["above_first"]) if rows else ""
        rows.append((row["title"], _after(row, "greedy"), of_seeds, rest, _after(row, "sampled"), apart, *spent, paper))
    common = result["rows"][0]
    scores = (_score(common["greedy"]["clone"]), "", "", _score(common["sampled"]["clone"]))
    first = ("the clone", *scores, "", "", "", "", "20.6")
    heads = (
        "method",
        "greedy",
        "each seed",
        "without the kind that rose most",
        "sampled",
        "against the first method, greedy",
        "env steps",
        "trained tokens",
        "CPU minutes",
        "the paper, 8B",
    )
    kinds = (
        f"of {result['templates']} kinds in worlds that no training has seen" if result["templates"] else "of the whole suite"
    )
    clones = f" and as many clones, one for each ({result['clones']})" if result.get("clones", 0) > 1 else ""
    budget = (
        f"{result['env_steps']:,} env steps"
        if result.get("env_steps")
        else f"{result['cpu_minutes']:g} CPU minutes"
        if result.get("cpu_minutes")
        else f"{result['minutes']:g} minutes of one core"
    )
    # Results that do not count their clones are of a time when tasks were drawn one by one.
    drawn = (
        "templates and seeds"
        if "clones" in result
        else "tasks and seeds, which is too narrow, as tasks of one kind rise and fall together"
    )
    note = (
        f"n = {result['n']} tasks {kinds}; {_seeds(result)}{clones}, {budget} for each. In brackets and of each seed, the difference from "
        f"where the method began, on the same tasks; its interval of 95 % is a bootstrap over {drawn}. Seeds are few. What was spent is a "
        "mean of the seeds."
    )
    return _table(heads, [first, *rows]) + _origin(note, result)


def variants() -> str:
    """Return the table of the paper's variants, each with a clone of its own."""
    return _own_clones("variants")


def ablations() -> str:
    """Return the table of ablations of the first variant: without cloning, history, or placeholders of earlier pages."""
    return _own_clones("ablations")


def _own_clones(name: str) -> str:
    result = _read(name)
    rows: list[Row] = []
    for row in result["rows"]:
        apart = _interval(row["greedy"]["above_first"]) if rows else ""
        before = (_score(row[way]["clone"]) for way in ("greedy", "sampled"))
        after = (_after(row, way) for way in ("greedy", "sampled"))
        scores = (score for pair in zip(before, after, strict=True) for score in pair)
        rows.append((row["title"], *scores, apart, _PAPER_VARIANTS.get(row["method"], "")))
    heads = (
        "variant",
        "before, greedy",
        "after M-GRPO, greedy",
        "before, sampled",
        "after M-GRPO, sampled",
        "against the first, after, greedy",
        "the paper, 3B",
    )
    note = (
        f"n = {result['n']} tasks of {result['templates']} kinds in worlds that no training has seen, at most {result['max_steps']} steps; "
        f"{_seeds(result)}; {result['cloning_minutes']:g} minutes of cloning and {result['minutes']:g} of M-GRPO on one core for each."
    )
    return _table(heads, rows) + _origin(note, result)


def page_sizes() -> str:
    """Return the table of the tokens of a page in each way to show it, by site."""
    result = _read("page_sizes")
    ways = result["observations"]
    rows = [
        (
            "all" if site == "all" else SITES[site].title,
            *(f"{way[site]['tokens_median']:,} ({way[site]['tokens_p95']:,})" for way in ways.values()),
        )
        for site in next(iter(ways.values()))
    ]
    rows.append(("mean of all", *(f"{way['all']['tokens_mean']:,}" for way in ways.values())))
    pages = next(iter(ways.values()))["all"]["pages"]
    note = f"Median tokens of a page, and the 95th percentile, over {pages} pages of the {result['split']} split's solutions; {result['vocabulary']}."
    return _table(("site", *(f'`"{way}"`' for way in ways)), rows) + _origin(note, result)


def interactions() -> str:
    """Return the table of success by step limit."""
    result = _read("interactions")
    scores = result["scores"]
    rows = [
        ("success", *map(_score, scores.values())),
        ("mean steps of an episode", *(f"{score['steps']:.1f}" for score in scores.values())),
    ]
    n = next(iter(scores.values()))["n"]
    return _table(("interactions allowed", *scores), rows) + _origin(f"{result['split']} split, n = {n}, greedy.", result)


def searches() -> str:
    """Return the table of search methods at equal numbers of env steps."""
    result = _read("searches")
    rows = [
        (
            row["title"],
            f"{_score(row)} [{_interval(row['lift'])}]",
            _score(row["oracle_any"]),
            f"{row['env_steps']:,}",
        )
        for row in result["rows"]
    ]
    heads = ("search", "success of what it chose", "had a judge chosen", "env steps")
    note = f"{result['split']} split, n = {result['rows'][0]['n']}, at most {result['budget']} env steps a task."
    return _table(heads, rows) + _origin(note, result)


def ensembles() -> str:
    """Return the table of ensembles against one of their agents."""
    return _of_rows("ensembles", "of the test split and fresh worlds; weights were fitted on validation tasks")


def agent_q() -> str:
    """Return the table of Agent Q before and after each iteration."""
    return _of_rows("agent_q", "never searched; env steps are those of all searches so far, a mean over seeds")


def workflows() -> str:
    """Return the table of a stream of tasks with and without a memory of workflows, and success along the stream."""
    result = _read("workflows")
    parts = max(1, len(result["by_part"]["none"]) // 4)
    curves = "; ".join(
        f"{way}: {_percent(fmean(rates[:parts]))} and {_percent(fmean(rates[-parts:]))}"
        for way, rates in result["by_part"].items()
    )
    return _of_rows("workflows", f"of one stream; success in its first and its last quarter was {curves}")


def adaptation() -> str:
    """Return the tables of sites that were left out of cloning, by demonstrations of them."""
    return "\n".join(
        _of_rows(name, f"of the site `{_read(name)['site']}`, which was left out of cloning")
        for name in ("adaptation_reddit", "adaptation_map")
    )


def unseen_states() -> str:
    """Return the table of tasks that begin signed out."""
    result = _read("unseen_states")
    shown, pages = result["demonstrated_sign_in_pages"], result["demonstrated_pages"]
    return _of_rows("unseen_states", f"that begin signed out, a state on {shown} of {pages:,} pages of demonstrations")


def recovery() -> str:
    """Return the table of clones with and without demonstrations of recovery: alone, after a forced mistake, and by step limit."""
    result = _read("recovery")
    parts = ("rows", "led", "forced")
    rows: list[Row] = []
    for place, (title, scores) in enumerate(result["by_limit"].items()):
        own = [result[part][place] for part in parts]
        measured = [_score(row) if place == 0 else f"{_score(row)} [{_interval(row['lift'])}]" for row in own]
        rows.append((title, *measured, *(_percent(score["success"]) for score in list(scores.values())[:-1])))
    limits = list(next(iter(result["by_limit"].values())))[:-1]
    heads = (
        *("", "alone, 30 steps", "after the expert's first steps", "after those and a wrong step"),
        *(f"alone, {limit} steps" for limit in limits),
    )
    alone, forced = (result[part][0]["tasks"] for part in ("rows", "forced"))
    note = (
        f"n = {alone} tasks, and {forced} after forced mistakes; {len(result['seeds'])} pairs of clones, {result['cloning_updates']:,} updates "
        f"each, mistakes with probability {result['mistakes']:g}. In square brackets, the difference from the first row. {_INTERVALS}"
    )
    return _table(heads, rows) + _origin(note, result)


def long_tasks() -> str:
    """Return the table of long tasks, by pieces and by growing step limits, against whole episodes."""
    result = _read("long_tasks")
    limits = ", ".join(map(str, result["step_limits"]))
    which = (
        f"of {result['templates']} hard templates in fresh worlds, with solutions of {result['steps']} steps in the mean; pieces of "
        f"{result['piece_steps']} steps that overlap by {result['overlap']}, step limits {limits}"
    )
    return _of_rows("long_tasks", which)


def _of_rows(name: str, which: str) -> str:
    """Return the table of a benchmark whose result has a row for each agent, on tasks such as `which` says."""
    result = _read(name)
    spent = [key for key in ("env_steps", "pairs", "cpu_minutes") if any(key in row for row in result["rows"])]
    rows = [
        (
            re.sub(r"\b1 (demonstration|iteration)s\b", r"1 \1", row["title"]),
            _score(row),
            _interval(row["lift"]),
            row["seeds"],
            *((f"{row[key]:,.1f}" if key == "cpu_minutes" else f"{row[key]:,.0f}") if key in row else "" for key in spent),
        )
        for row in result["rows"]
    ]
    heads = ("", "success", "against the first row", "seeds", *(key.replace("_", " ").replace("cpu", "CPU") for key in spent))
    return _table(heads, rows) + _origin(f"{result['rows'][0]['tasks']} tasks {which}. {_INTERVALS}", result)


def leaderboard() -> str:
    """Return a row for every measured agent, best first in each set of tasks, and the commands of the rows."""
    rows: list[tuple[str, float, Row]] = []
    commands: list[str] = []
    agents = {"learning": "pointing network", "language_model": "small language model"}
    for name in (*agents, "methods", "baselines", "variants"):
        result = _read(name)
        commands.append(f"`{_of_then(result) if name == 'language_model' else result['command']}`")
        command, commit = len(commands), result["commit"]
        if name in agents:
            tasks = f"test split and a fresh world, n = {result['n']}"
            for key, title in (("bc", "BC"), ("mgrpo", "BC, then M-GRPO")):
                score = _score(result[f"{key}_pooled"])
                rows.append((tasks, result[key], (f"{agents[name]}, {title}", score, command, commit)))
            rows.append((tasks, result["random"], ("random", _percent(result["random"]), command, commit)))
        else:
            tasks = f"{result['templates']} kinds of shop tasks, n = {result['n']}"
            if name == "methods":
                clone = result["rows"][0]["greedy"]["clone"]
                rows.append((tasks, clone["success"], ("small model, BC on the whole suite", _score(clone), command, commit)))
            for row in result["rows"]:
                if name == "baselines" and row["method"] == "mgrpo":
                    continue  # it is among the methods, too
                after = row["greedy"]["after"]
                rows.append((tasks, after["success"], (row["title"], _score(after), command, commit)))
    rows.sort(key=lambda item: (item[0], -item[1]))
    table = _table(("tasks", "agent", "success, greedy", "command", "commit"), [(tasks, *row) for tasks, _, row in rows])
    return (
        table
        + "\nA trained row pools the episodes of its seeds, n each. The commands:\n\n"
        + "".join(f"{number}. {command}\n" for number, command in enumerate(commands, 1))
    )


def actions() -> str:
    """Return every action with an example in each dialect that can express it."""
    rows = [(str(kind), *(_example(kind, dialect) for dialect in DIALECTS.values())) for kind in Kind]
    return _table(("action", *DIALECTS), rows)


def webrl() -> str:
    """Return the actions of the webrl dialect."""
    return _forms("webrl")


def webarena() -> str:
    """Return the actions of the webarena dialect."""
    return _forms("webarena")


def browsergym() -> str:
    """Return the actions of the browsergym dialect."""
    return _forms("browsergym")


def _forms(name: str) -> str:
    dialect = DIALECTS[name]
    rows = [
        (f"`{dialect.syntax.signature(form)}`", form.meaning, f"`{dialect.example(form)}`", f"`{form.name}`")
        for form in dialect.forms
    ]
    return _table(("action", "what it does", "example", "as a tool"), rows)


def _example(kind: Kind, dialect: Dialect) -> str:
    """Return an action as a dialect writes it, "" where it cannot."""
    examples = {each.placeholder: each.example for form in DIALECTS["webrl"].forms for each in form.parameters}
    arguments = {
        Kind.SELECT: examples["option"], Kind.SWITCH_TAB: examples["index"], Kind.PRESS: "Enter",
        Kind.GOTO: "http://shop.test/", Kind.EXIT: examples["answer"], Kind.DRAG: "34",
    }  # fmt: skip
    argument = arguments.get(kind, examples["text"]) if kind in NEEDS_ARGUMENT else None
    try:
        written = dialect.format(Action(kind, "12" if kind in NEEDS_ELEMENT else None, argument))
    except ValueError:
        return ""
    return f"`{written.strip('`')}`"


TABLES: dict[str, Callable[[], str]] = {
    table.__name__: table
    for table in (
        *(
            learning,
            generalisation,
            demonstrations,
            whole_suite,
            whole_suite_longer,
            allocation,
            systems,
            searched,
            retrieval,
            language_model,
            methods,
        ),
        *(baselines, variants, ablations),
        *(ensembles, agent_q, workflows, adaptation, unseen_states),
        *(interactions, recovery, long_tasks, searches, leaderboard, page_sizes),
        *(actions, webrl, webarena, browsergym),
    )
}


def _both(result: dict[str, Any], name: str) -> list[str]:
    return [_score(result[f"{name}{suffix}_pooled"]) for suffix in ("", "_sampled")]


def _lifts(result: dict[str, Any], name: str) -> list[str]:
    return [_lift(result[f"{name}{suffix}"], *result[f"{name}{suffix}_ci95"]) for suffix in ("", "_sampled")]


def _counted(count: int, noun: str) -> str:
    words = {1: "one", 2: "two", 3: "three", 4: "four"}
    return f"{words.get(count, count)} {noun}{'' if count == 1 else 's'}"


def _of_then(result: dict[str, Any]) -> str:
    """Return a command whose options were others when it was run, as no command of today."""
    command: str = result["command"]
    return command.removeprefix("python -m ")


def _seeds(result: dict[str, Any]) -> str:
    count = len(result["seeds"])
    return f"{count} seeds" if count > 1 else "one seed"


def _read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return result


def _table(heads: Row, rows: Iterable[Row]) -> str:
    cells = ([str(cell).replace("|", "\\|") for cell in row] for row in (heads, ["---"] * len(heads), *rows))
    return "".join(f"| {' | '.join(row)} |".replace("  ", " ") + "\n" for row in cells)


def _origin(note: str, result: dict[str, Any]) -> str:
    others = [commit for commit in result.get("begun_at", ()) if commit != result["commit"]]
    before = f" (runs begun at {', '.join(others)})" if others else ""
    return f"\n{note} `{result['command']}`, commit {result['commit']}{before}, {result['machine']}.\n"


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _score(score: dict[str, float]) -> str:
    return f"{_percent(score['success'])} ({100 * score['low']:.0f} to {100 * score['high']:.0f})"


def _lift(lift: float, low: float, high: float) -> str:
    return f"{100 * lift:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def _interval(lift: dict[str, Any]) -> str:
    return _lift(lift["lift"], lift["low"], lift["high"])


def _after(row: dict[str, Any], way: str) -> str:
    return f"{_percent(row[way]['after']['success'])} [{_interval(row[way]['lift'])}]"


if __name__ == "__main__":
    console.run("python -m benchmarks.tables", lambda _: main())
