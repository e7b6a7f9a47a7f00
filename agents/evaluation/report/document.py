"""The report's HTML file: tables of results, the data of curves and episodes, and the scripts and styles that show them."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agents.evaluation.report.curves import AXES, FIRST_SHOWN, TITLES, thin
from agents.evaluation.report.episodes import Shown, pack_episodes
from agents.evaluation.report.heat import successes
from agents.evaluation.report.results import summarise_all
from agents.evaluation.report.sources import Sources
from agents.evaluation.report.trees import rollouts_by_policy, trees

_STATIC = Path(__file__).parent / "static"
_SCRIPTS = (
    "dom.js",
    "blocks.js",
    "windowed.js",
    "curves.js",
    "pages.js",
    "filters.js",
    "tasks.js",
    "aligned.js",
    "compared.js",
    "episodes.js",
    "groups.js",
    "heat.js",
    "watch.js",
    "start.js",
)


class Contents(NamedTuple):
    """What a report holds: its size, and of each policy how many episodes with steps and pages."""

    size: int
    shown: dict[str, Shown]


class Rendered(NamedTuple):
    """The HTML of a report, and of each policy how many episodes with steps and pages."""

    text: str
    shown: dict[str, Shown]


def write_report(
    path: Path,
    sources: Sources,
    *,
    title: str,
    lead: str = "",
    megabytes: float = 100.0,
    pages: bool = True,
) -> Contents:
    """Write the report; the arguments are those of `render_report`."""
    rendered = render_report(sources, title=title, lead=lead, megabytes=megabytes, pages=pages)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rendered.text, encoding="utf-8")
    return Contents(path.stat().st_size, rendered.shown)


def render_report(
    sources: Sources,
    *,
    title: str,
    lead: str = "",
    megabytes: float = 100.0,
    pages: bool = True,
    watched: Sequence[str] | None = None,
) -> Rendered:
    """Return the report. All episodes are in its tables and lists, with as many steps and pages as fit into the size.

    `pages` plays episodes again for their pages. A report that is `watched` asks its server for news; these are the names of what it holds.
    """
    script = "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    curves = {name: thin(records) for name, records in sources.runs.items()}
    drawn = {
        "curves": {"runs": curves, "axes": AXES, "titles": TITLES, "first": FIRST_SHOWN},
        "heat": successes(sources.folders),
        "groups": trees(sources.groups),
    }
    results = summarise_all(sources.policies)
    room = int(megabytes * 1e6) - len(script) - len(json.dumps(drawn)) - 50_000  # for the tables and the style
    packed = pack_episodes(sources.policies, rollouts_by_policy(sources.groups), room=room, pages=pages)
    text = (
        _environment()
        .get_template("report.html")
        .render(
            title=title,
            lead=lead,
            results=results,
            curves=curves,
            groups=drawn["groups"],
            shown=packed.shown,
            pages=pages,
            blocks=packed.blocks,
            sites=sorted({site for result in results for site in result.evaluation.by_site}),
            checks=sorted({check for result in results for check in result.evaluation.by_check}),
            data=_as_script(drawn | {"episodes": packed.heads, "pages": pages, "watched": watched}),
            is_watched=watched is not None,
            script=Markup(script),  # noqa: S704 - our own file
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            style=Markup((_STATIC / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        )
    )
    return Rendered(text, packed.shown)


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_STATIC), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _as_script(data: Any) -> Markup:
    """Return JSON that can stand in a script element: nothing in it ends the element or begins a comment."""
    return Markup(json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"))  # noqa: S704 - escaped here
