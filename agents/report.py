"""One self-contained HTML file about a run: its table, its curves, and every evaluated episode step by step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from agents.evaluate import Score
from agents.trajectories import Step, Trajectory

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 420, 200, 44, 26
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f4b; --bad: #b3362b; --mark: #2f6fd6; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 2.2rem; } .lead { color: #888; margin-top: 0; }
table { border-collapse: collapse; } th, td { padding: .35rem .9rem .35rem 0; text-align: left; border-bottom: 1px solid var(--line); }
td.number { font-variant-numeric: tabular-nums; }
.curves { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: 0; } figcaption { font-weight: 600; }
svg text { font-size: 11px; fill: currentColor; opacity: .7; } svg .axis { stroke: var(--line); }
svg .line { fill: none; stroke: var(--mark); stroke-width: 2; } svg .dot { fill: var(--mark); }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .4rem .9rem; }
summary { cursor: pointer; } .good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; border-radius: .4rem; padding: .6rem .8rem; font-size: .82rem; }
pre.reply { border-left: 3px solid var(--mark); } .thought { font-style: italic; } .url { color: #888; font-size: .85rem; } details details { border: 0; padding: 0; }
"""

_ENDINGS = {"exited": "failed", "truncated": "out of steps", "too_long": "prompt too long", "failed": "broken, not counted"}


@dataclass(frozen=True)
class Curve:
    """One line to draw: a title and its points (x, y)."""

    title: str
    x_name: str
    points: Sequence[tuple[float, float]]


def write_report(
    path: Path,
    title: str,
    lead: str,
    rows: Iterable[tuple[str, Score]],
    curves: Sequence[Curve],
    evaluations: Mapping[str, Sequence[Trajectory]],
) -> None:
    """Write the report. `rows` are a table of success rates; `evaluations` maps a heading to its episodes."""
    parts = [f"<h1>{escape(title)}</h1><p class='lead'>{escape(lead)}</p>", _table(rows)]
    drawn = [_figure(curve) for curve in curves if len(curve.points) > 1]
    if drawn:
        parts.append(f"<h2>Training</h2><div class='curves'>{''.join(drawn)}</div>")
    for heading, episodes in evaluations.items():
        parts.append(f"<h2>{escape(heading)}</h2>")
        parts += [_episode(episode) for episode in episodes]
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(title)}</title>"
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(parts)
    path.write_text(
        f"<!doctype html><html lang='en'><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>", "utf-8"
    )


def _table(rows: Iterable[tuple[str, Score]]) -> str:
    lines = "".join(
        f"<tr><td>{escape(name)}</td><td class='number'>{100 * score.success:.1f} %</td>"
        f"<td class='number'>{100 * score.low:.1f} to {100 * score.high:.1f}</td><td class='number'>{score.n}</td></tr>"
        for name, score in rows
    )
    return f"<table><tr><th>agent</th><th>success</th><th>95 % interval</th><th>episodes</th></tr>{lines}</table>"


def _figure(curve: Curve) -> str:
    """Draw a curve as SVG, its y axis from 0 (or the least value) to the greatest."""
    xs, ys = [x for x, _ in curve.points], [y for _, y in curve.points]
    low_x, high_x, low_y, high_y = min(xs), max(xs), min(0.0, *ys), max(ys)
    span_x, span_y = (high_x - low_x) or 1.0, (high_y - low_y) or 1.0
    plot_width, plot_height = _WIDTH - _LEFT - 12, _HEIGHT - _BOTTOM - 12

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + plot_width * (x - low_x) / span_x, 12 + plot_height * (1 - (y - low_y) / span_y)

    placed = [place(x, y) for x, y in curve.points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    dots = "".join(f"<circle class='dot' cx='{x:.1f}' cy='{y:.1f}' r='2.5'/>" for x, y in placed) if len(placed) < 40 else ""
    ground = _HEIGHT - _BOTTOM
    return (
        f"<figure><figcaption>{escape(curve.title)}</figcaption>"
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' role='img' aria-label='{escape(curve.title)}'>"
        f"<path class='axis' fill='none' d='M{_LEFT} 12V{ground}H{_WIDTH - 12}'/>"
        f"<text x='{_LEFT - 6}' y='16' text-anchor='end'>{high_y:.3g}</text>"
        f"<text x='{_LEFT - 6}' y='{ground}' text-anchor='end'>{low_y:.3g}</text>"
        f"<text x='{_LEFT}' y='{_HEIGHT - 8}'>{low_x:.4g}</text>"
        f"<text x='{_WIDTH - 12}' y='{_HEIGHT - 8}' text-anchor='end'>{high_x:.4g} {escape(curve.x_name)}</text>"
        f"<polyline class='line' points='{line}'/>{dots}</svg></figure>"
    )


def _episode(trajectory: Trajectory) -> str:
    mark = (
        "<span class='good'>solved</span>" if trajectory.reward else f"<span class='bad'>{_ENDINGS[trajectory.ending]}</span>"
    )
    steps = "".join(_step(number, step) for number, step in enumerate(trajectory.steps, 1))
    verdicts = "".join(
        f"<li><span class='{'good' if verdict['passed'] else 'bad'}'>{escape(verdict['check'])}</span> {escape(verdict['reason'])}</li>"
        for verdict in trajectory.verdicts
    )
    about = f"{escape(trajectory.task_id)}, {len(trajectory.steps)} steps"
    return (
        f"<details><summary>{mark} {escape(trajectory.goal)} <span class='url'>{about}</span></summary>"
        f"{steps}<ul>{verdicts}</ul></details>"
    )


def _step(number: int, step: Step) -> str:
    thought, action = _split(step.reply)
    shown = f"<p class='thought'>{escape(thought)}</p>" if thought else ""
    error = f"<p class='bad'>{escape(step.action_error)}</p>" if step.action_error else ""
    return (
        f"<p>Step {number}</p><details><summary>page</summary><pre>{escape(step.page)}</pre></details>"
        f"{shown}<pre class='reply'>{escape(action)}</pre>{error}"
    )


def _split(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply."""
    before, tag, after = reply.partition("</think>")
    if not tag:
        return "", reply
    return before.replace("<think>", "").strip(), after.replace("<answer>", "").replace("</answer>", "").strip()
