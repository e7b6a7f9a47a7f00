"""The report as an HTML file, and a server of a live report of unfinished runs."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from agents.evaluation.report.curves import metric_definitions, rollouts_by_policy, successes, thin, trees
from agents.evaluation.report.episodes import EmbeddedCounts, pack_episodes
from agents.evaluation.report.sources import Sources, read_sources, summarise_all
from webarena_gym.arena.http import host_name, with_error_responses

_STATIC = Path(__file__).parent / "static"
_SCRIPTS = (
    "dom blocks windowed curves pages filters tasks aligned compared episodes groups heat watch start".split()  # noqa: SIM905
)
_NO_STORE = {"Cache-Control": "no-store"}


def write_report(path: Path, sources: Sources, **options: Any) -> tuple[int, dict[str, EmbeddedCounts]]:
    """Write the report, and return its size in bytes and the counts of `render_report`, whose options it takes."""
    text, counts = render_report(sources, **options)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.stat().st_size, counts


def render_report(
    sources: Sources, *, title: str, lead: str = "", megabytes: float = 100.0, pages: bool = True,
    entries: Sequence[str] | None = None,
) -> tuple[str, dict[str, EmbeddedCounts]]:  # fmt: skip
    """Render the report as HTML.

    The tables and lists contain all episodes. Their steps and pages are embedded until the report has the maximum size.

    Args:
        sources: The runs, episodes and groups of the report.
        title: Title of the report.
        lead: Sentence below the title.
        megabytes: Maximum size.
        pages: Replay episodes to embed their pages.
        entries: The `entry_names` of a live report, which requests updates from its server; None for a file.

    Returns:
        The HTML, and the numbers of embedded episodes by policy.

    """
    script = "\n".join((_STATIC / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    curves = {name: thin(records) for name, records in sources.runs.items()}
    charts = {
        "curves": {"runs": curves, **{name: metric_definitions()[name] for name in ("axes", "titles", "first")}},
        "heat": successes(sources.folders),
        "groups": trees(sources.groups),
    }
    results = summarise_all(sources.policies)
    max_bytes = int(megabytes * 1e6) - len(script) - len(json.dumps(charts)) - 50_000  # 50 kB for the tables and the style
    heads, blocks, counts = pack_episodes(
        sources.policies, rollouts_by_policy(sources.groups), max_bytes=max_bytes, pages=pages
    )
    data = charts | {"episodes": heads, "pages": pages, "watched": entries}
    # Without "<", the data cannot close its script element or start a comment.
    json_text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    environment = Environment(
        loader=FileSystemLoader(_STATIC), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.get_template("report.html").render(
        title=title,
        lead=lead,
        results=results,
        curves=curves,
        groups=charts["groups"],
        shown=counts,
        pages=pages,
        blocks=blocks,
        sites=sorted({site for result in results for site in result.evaluation.by_site}),
        checks=sorted({check for result in results for check in result.evaluation.by_check}),
        data=Markup(json_text),  # noqa: S704 - escaped above
        is_watched=entries is not None,
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        style=Markup((_STATIC / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
    )
    return text, counts


class LiveReport:
    """The current report of some inputs. A request renders it again if files of the inputs have changed.

    Args:
        inputs: Runs and files of episodes, as for `read_sources`. Inputs without content are ignored until they have some.
        render: Renders the sources as HTML.
        groups: Maximum number of groups of rollouts of each run.

    """

    def __init__(self, inputs: Sequence[str], render: Callable[[Sources], str], *, groups: int) -> None:
        self._inputs, self._render, self._groups = inputs, render, groups
        self._lock = Lock()
        self._files: object = None  # files of the sources
        self._rendered_files: object = None  # files of the rendered page
        self._sources, self._text = Sources(), ""

    def page(self) -> str:
        """Return the report as HTML."""
        with self._lock:
            self._refresh()
            if self._rendered_files != self._files:
                self._text, self._rendered_files = self._render(self._sources), self._files
            return self._text

    def news(self) -> dict[str, Any]:
        """Return the data for an open page: the current curves, and the entry names, which change if the page is outdated."""
        with self._lock:
            self._refresh()
            curves = {name: thin(records) for name, records in self._sources.runs.items()}
            return {"curves": curves, "heat": successes(self._sources.folders), "held": entry_names(self._sources)}

    def _refresh(self) -> None:
        files: list[tuple[str, int, int]] = []  # files of the inputs, with sizes and times
        for item in self._inputs:
            path = Path(item) if Path(item).exists() else Path(item.partition("=")[2])
            patterns = ("metrics.jsonl", "*.jsonl", "*/metrics.jsonl", "rollouts/*.jsonl.gz", "*/rollouts/*.jsonl.gz")
            for file in [path] if path.is_file() else sorted({file for pattern in patterns for file in path.glob(pattern)}):
                status = file.stat()
                files.append((str(file), status.st_size, status.st_mtime_ns))
        if files != self._files:
            inputs = []
            for item in self._inputs:
                with suppress(ValueError):
                    read_sources([item], groups=0)
                    inputs.append(item)
            self._sources, self._files = read_sources(inputs, groups=self._groups), files


def entry_names(sources: Sources) -> list[str]:
    """Return a name for each group, and for each policy with its number of episodes. An open page compares them with the server's."""
    groups = [f"{group.run}/{group.update}/{group.number}" for group in sources.groups]
    return [*groups, *(f"{name}: {len(episodes)}" for name, episodes in sources.policies.items())]


def create_app(report: LiveReport) -> ASGIApp:
    """Return the server of a live report: the page at /, and its data for open pages at /news. Only this machine has access."""

    async def respond(request: Request) -> Response:
        # Protection from DNS rebinding: other sites must not read files of this machine.
        if host_name(request.headers.get("host", "")) not in ("127.0.0.1", "localhost"):
            return PlainTextResponse("expected the host 127.0.0.1 or localhost", 403)
        try:
            if request.url.path == "/":
                return HTMLResponse(await asyncio.to_thread(report.page), headers=_NO_STORE)
            if request.url.path == "/news":
                news = json.dumps(await asyncio.to_thread(report.news))
                return Response(news, media_type="application/json", headers=_NO_STORE)
        except (OSError, ValueError) as error:
            return PlainTextResponse(str(error), 500)
        return PlainTextResponse("expected / or /news", 404)

    return with_error_responses(respond, in_json=False)
