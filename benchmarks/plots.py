"""Plots of results: `python -m benchmarks.plots benchmarks/results/env_speed.json`, or of another result with a plot.

Plots require matplotlib.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

from webarena_gym import console
from webarena_gym.evaluation.statistics import wilson

PICTURE = Path("docs/images/speed.png")
DYNAMICS = {"success": "Training success", "steps": "Steps per episode", "reply_tokens": "Tokens per episode"}
BARS = {
    "inprocess_steps_per_s": "webarena-gym",
    "chromium_steps_per_s": "webarena-gym, Chromium",
    "floor_steps_per_s": "bare Chromium",
    "browsergym_nowait_steps_per_s": "BrowserGym, waits at 0",
    "browsergym_steps_per_s": "BrowserGym",
    "webarena_steps_per_s": "WebArena, at most (it sleeps)",
}
OURS, OTHERS, QUIET = "#2563eb", "#94a3b8", "#475569"


def main() -> None:
    """Draw the plot of a result."""
    parser = console.Parser(prog="python -m benchmarks.plots", description=__doc__)
    parser.add_argument(
        "result", type=console.existing_path(), help="the JSON object of benchmarks.env_speed, learning, allocation or methods"
    )
    parser.add_argument("--picture", type=Path, help=f"where to (default: one in {PICTURE.parent})")
    options = parser.parse_args()
    result = json.loads(options.result.read_text())
    kinds = {
        "dynamics": (draw_dynamics, "learning"),
        "best_switch": (draw_allocation, "allocation"),
        "curves": (draw_curves, "curves"),
        "rows": (draw_improvements, "methods"),
    }
    write, usual = next((kinds[key] for key in kinds if key in result), (draw, PICTURE.stem))
    picture = options.picture or PICTURE.with_stem(usual)
    write(result, picture)
    print(picture)


def is_possible() -> bool:
    """Return True if matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(result: dict[str, Any], picture: Path) -> None:
    """Write the plot of speeds: steps per second of all contenders on one core, and of many envs."""
    with _figure(picture, 2, (3, 2)) as (bars, curve):
        shown = {label: result[key] for key, label in reversed(BARS.items()) if result.get(key)}
        places = range(len(shown))
        colors = [OURS if "gym," in label or label == "webarena-gym" else OTHERS for label in shown]
        bars.barh(places, list(shown.values()), color=colors)
        for place, value in zip(places, shown.values(), strict=True):
            written = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
            bars.annotate(written, (value, place), (5, 0), textcoords="offset points", va="center")
        bars.set_yticks(places, list(shown))
        bars.tick_params(axis="y", length=0)
        bars.set_xscale("log")
        bars.xaxis.set_major_formatter("{x:g}")
        bars.set_xlim(0.2, max(shown.values()) * 4)
        bars.set_xlabel("steps a second on one core (log scale)")
        bars.set_title("The same pages and actions", loc="left", fontweight="bold")
        counts = [point["envs"] for point in result["scaling"]]
        for key, label, color in (("steps_per_s", "asynchronous", OURS), ("lockstep_steps_per_s", "lock-step", OTHERS)):
            curve.plot(counts, [point[key] for point in result["scaling"]], "o-", color=color, label=label)
        curve.set_xscale("log", base=2)
        curve.set_xticks(counts, [str(count) for count in counts])
        curve.set_ylim(bottom=0)
        curve.set_xlabel("envs in the vector env, all cores")
        curve.set_title("Steps a second together", loc="left", fontweight="bold")
        curve.legend(frameon=False)


def draw_dynamics(result: dict[str, Any], picture: Path) -> None:
    """Write the plot of training: success on held-out worlds, and the mean and range of all runs for the metrics of rollouts.

    The bands of the held-out success are 95 % intervals over all episodes. Metrics of rollouts are running means over the updates.
    """
    runs = list(result["dynamics"].values())
    with _figure(picture, 1 + len(DYNAMICS), [1.4, *[1] * len(DYNAMICS)]) as (held_out, *panels):
        marks = [(0, result["bc"]), *((mark["updates"], mark["greedy"]) for mark in result["by_minutes"])]
        counts = [result["n"] * result["clones"], *[result["n"] * len(runs)] * len(result["by_minutes"])]
        bounds = [wilson(round(share * count), count) for (_, share), count in zip(marks, counts, strict=True)]
        updates = [mark for mark, _ in marks]
        held_out.plot(updates, [100 * share for _, share in marks], "o-", color=OURS, label="M-GRPO")
        held_out.fill_between(
            updates,
            [100 * bound.low for bound in bounds],
            [100 * bound.high for bound in bounds],
            color=OURS,
            alpha=0.2,
            linewidth=0,
            label="95 % interval",
        )
        held_out.axhline(100 * result["bc"], color=QUIET, linestyle="--", linewidth=1, label="BC agent")
        held_out.set_ylim(bottom=0)
        held_out.set_xlabel("updates of M-GRPO")
        held_out.set_title("Success on held-out worlds, %", loc="left", fontweight="bold")
        held_out.legend(frameon=False, loc="lower right")
        for axes, (name, title) in zip(panels, DYNAMICS.items(), strict=True):
            count = len(runs[0][name])
            width = min(count, max(5, count // 40))
            ends = range(width, count + 1)
            by_update = [[fmean(curves[name][end - width : end]) for curves in runs] for end in ends]
            lowest, highest = list(map(min, by_update)), list(map(max, by_update))
            axes.fill_between(ends, lowest, highest, color=OTHERS, alpha=0.4, linewidth=0, label="range")
            axes.plot(ends, list(map(fmean, by_update)), color=QUIET, linewidth=1.5, label=f"mean of {len(runs)} runs")
            axes.set_xlabel("updates of M-GRPO")
            axes.set_title(title, loc="left", fontweight="bold")
        panels[0].legend(frameon=False, loc="lower right")


def draw_allocation(result: dict[str, Any], picture: Path) -> None:
    """Write the plot of success against CPU minutes: BC only, and RL from each switch point."""
    with _figure(picture, 1, [1]) as axes:
        alone = [place for place, value in enumerate(result["bc_only"]) if value is not None]
        budgets = [result["budgets"][place] for place in alone]
        axes.plot(budgets, [100 * result["bc_only"][place] for place in alone], "o--", color=QUIET, label="cloning alone")
        for updates in sorted({row["updates"] for row in result["by_switch"]}):
            of_switch = [row for row in result["by_switch"] if row["updates"] == updates]
            spent = [row["budget"] for row in of_switch]
            label = f"switch after {updates} updates" if updates else "reinforcement alone"
            (line,) = axes.plot(spent, [100 * row["test"] for row in of_switch], "o-", label=label)
            low, high = ([100 * row[end] for row in of_switch] for end in ("low", "high"))
            axes.fill_between(spent, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
        axes.set_xlabel("CPU minutes of cloning and reinforcement together")
        axes.set_ylabel("success on test tasks, %")
        axes.set_title("The best configuration of each switch point", loc="left", fontweight="bold")
        axes.legend(frameon=False)


def draw_improvements(result: dict[str, Any], picture: Path) -> None:
    """Write the dot plot of a comparison of methods: the improvement of each one over its BC agent, with its 95 % interval."""
    rows = result["rows"][::-1]
    titles = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))["titles"]
    with _figure(picture, 1, [1]) as axes:
        values, lows, highs = ([100 * row["greedy"]["lift"][key] for row in rows] for key in ("lift", "low", "high"))
        errors = [
            [value - low for value, low in zip(values, lows, strict=True)],
            [high - value for value, high in zip(values, highs, strict=True)],
        ]
        axes.errorbar(values, range(len(rows)), xerr=errors, fmt="o", color=OURS, ecolor=OTHERS, elinewidth=2)
        axes.axvline(0, color=QUIET, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(rows)), [titles.get(row["method"], row["title"]) for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"percentage points, n = {result['n']}, {len(result['seeds'])} seeds, 95 % intervals")
        axes.set_title("Improvement over behaviour cloning", loc="left", fontweight="bold")


def draw_curves(result: dict[str, Any], picture: Path) -> None:
    """Write the plot of the echo trap's diagnostics: metrics over the CPU minutes of each method, a line for each seed."""
    names = list(next(iter(next(iter(result["curves"].values())).values())))
    with _figure(picture, len(names), [1] * len(names)) as panels:
        for axes, name in zip(panels, names, strict=True):
            for place, (method, seeds) in enumerate(result["curves"].items()):
                for number, curves in enumerate(seeds.values()):
                    minutes, values = ([point[axis] for point in curves[name]] for axis in (0, 1))
                    axes.plot(minutes, values, color=f"C{place}", label=None if number else method)
            axes.set_xlabel("CPU minutes")
            axes.set_title(name.replace("_", " "), loc="left", fontweight="bold")
        panels[0].legend(frameon=False)


@contextmanager
def _figure(picture: Path, columns: int, widths: Sequence[float]) -> Iterator[Any]:
    """Yield the axes of a figure, and write the figure at the end of the block."""
    import matplotlib as mpl  # noqa: PLC0415 - optional

    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    with pyplot.rc_context({"font.size": 11, "axes.edgecolor": QUIET, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = pyplot.subplots(1, columns, figsize=(12, 4.2), width_ratios=widths, layout="constrained")
        yield axes
        picture.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(picture, dpi=130)
        pyplot.close(figure)


if __name__ == "__main__":
    console.run("python -m benchmarks.plots", lambda _: main())
