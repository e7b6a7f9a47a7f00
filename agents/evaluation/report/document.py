"""The report's HTML file, and the server of a report that follows runs which go on."""

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

from agents.evaluation.report.curves import known_metrics, rollouts_by_policy, successes, thin, trees
from agents.evaluation.report.episodes import EmbeddedCounts, pack_episodes
from agents.evaluation.report.sources import Sources, read_sources, summarise_all
from webarena_gym.server.http import host_name, with_error_responses

_STATIC = Path(__file__).parent / "static"
_SCRIPTS = (
    "dom blocks windowed curves pages filters tasks aligned compared episodes groups heat watch start".split()  # noqa: SIM905
)
_NEVER_STORED = {"Cache-Control": "no-store"}


def write_report(path: Path, sources: Sources, **options: Any) -> tuple[int, dict[str, EmbeddedCounts]]:
    """Write the report and return its size, and what it shows; the options are those of `render_report`."""
    text, shown = render_report(sources, **options)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.stat().st_size, shown


def render_report(
    sources: Sources, *, title: str, lead: str = "", megabytes: float = 100.0, pages: bool = True,
    watched: Sequence[str] | None = None,
) -> tuple[str, dict[str, EmbeddedCounts]]:  # fmt: skip
    """Return the report's HTML, and of each policy how many episodes with steps and pages.

    All episodes are in its tables and lists, with as many steps and pages as fit into the size.

    `pages` plays episodes again for their pages. A report that is `watched` asks its server for news; these are the names of what it holds.
    """
    script = "\n".join((_STATIC / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    curves = {name: thin(records) for name, records in sources.runs.items()}
    drawn = {
        "curves": {"runs": curves, **{name: known_metrics()[name] for name in ("axes", "titles", "first")}},
        "heat": successes(sources.folders),
        "groups": trees(sources.groups),
    }
    results = summarise_all(sources.policies)
    room = int(megabytes * 1e6) - len(script) - len(json.dumps(drawn)) - 50_000  # for the tables and the style
    heads, blocks, shown = pack_episodes(sources.policies, rollouts_by_policy(sources.groups), room=room, pages=pages)
    data = drawn | {"episodes": heads, "pages": pages, "watched": watched}
    # Nothing in the data ends the script element that it stands in, or begins a comment.
    as_script = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    environment = Environment(
        loader=FileSystemLoader(_STATIC), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.get_template("report.html").render(
        title=title,
        lead=lead,
        results=results,
        curves=curves,
        groups=drawn["groups"],
        shown=shown,
        pages=pages,
        blocks=blocks,
        sites=sorted({site for result in results for site in result.evaluation.by_site}),
        checks=sorted({check for result in results for check in result.evaluation.by_check}),
        data=Markup(as_script),  # noqa: S704 - escaped above
        is_watched=watched is not None,
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        style=Markup((_STATIC / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
    )
    return text, shown


class Watched:
    """The newest report of some inputs. It is made again when files of theirs have changed, and somebody asks.

    `render` writes the page. Inputs that hold nothing yet are left out until they do.
    """

    def __init__(self, inputs: Sequence[str], render: Callable[[Sources], str], *, groups: int) -> None:
        self._inputs, self._render, self._groups = inputs, render, groups
        self._lock = Lock()
        self._seen: object = None
        self._page: object = None
        self._sources, self._text = Sources(), ""

    def page(self) -> str:
        with self._lock:
            self._refresh()
            if self._page != self._seen:
                self._text, self._page = self._render(self._sources), self._seen
            return self._text

    def news(self) -> dict[str, Any]:
        """Return what a page that is open may not know: the curves, and which groups and episodes there are."""
        with self._lock:
            self._refresh()
            curves = {name: thin(records) for name, records in self._sources.runs.items()}
            return {"curves": curves, "heat": successes(self._sources.folders), "held": held(self._sources)}

    def _refresh(self) -> None:
        files: list[tuple[str, int, int]] = []  # of which the report is made, with sizes and times
        for item in self._inputs:
            path = Path(item) if Path(item).exists() else Path(item.partition("=")[2])
            patterns = ("metrics.jsonl", "*.jsonl", "*/metrics.jsonl", "rollouts/*.jsonl.gz", "*/rollouts/*.jsonl.gz")
            for file in [path] if path.is_file() else sorted({file for pattern in patterns for file in path.glob(pattern)}):
                status = file.stat()
                files.append((str(file), status.st_size, status.st_mtime_ns))
        if files != self._seen:
            present = []
            for item in self._inputs:
                with suppress(ValueError):
                    read_sources([item], groups=0)
                    present.append(item)
            self._sources, self._seen = read_sources(present, groups=self._groups), files


def held(sources: Sources) -> list[str]:
    """Return names of the groups and policies of a report, by which a page tells whether there are newer ones."""
    groups = [f"{group.run}/{group.update}/{group.number}" for group in sources.groups]
    return [*groups, *(f"{name}: {len(episodes)}" for name, episodes in sources.policies.items())]


def create_app(watched: Watched) -> ASGIApp:
    """Return a server of the page, at /, and of the news, at /news, which only this machine reaches."""

    async def respond(request: Request) -> Response:
        # A page of elsewhere whose name was made to lead here is not to read what is on this machine.
        if host_name(request.headers.get("host", "")) not in ("127.0.0.1", "localhost"):
            return PlainTextResponse("expected the name 127.0.0.1 or localhost", 403)
        try:
            if request.url.path == "/":
                return HTMLResponse(await asyncio.to_thread(watched.page), headers=_NEVER_STORED)
            if request.url.path == "/news":
                news = json.dumps(await asyncio.to_thread(watched.news))
                return Response(news, media_type="application/json", headers=_NEVER_STORED)
        except (OSError, ValueError) as error:
            return PlainTextResponse(str(error), 500)
        return PlainTextResponse("expected / or /news", 404)

    return with_error_responses(respond, in_json=False)
