"""A report of runs that go on: a server on this machine, whose page asks it for newer curves and says when there are newer groups."""

import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from agents.evaluation.report.curves import thin
from agents.evaluation.report.heat import successes
from agents.evaluation.report.sources import Sources, read_sources

_OWN_NAMES = ("127.0.0.1", "localhost")


class Watched:
    """The newest report of some inputs. It is made again when files of theirs have changed, and somebody asks.

    `render` writes the page. Inputs that hold nothing yet are left out until they do.
    """

    def __init__(self, inputs: Sequence[str], render: Callable[[Sources], str], *, groups: int) -> None:
        self._inputs = inputs
        self._render = render
        self._groups = groups
        self._lock = Lock()
        self._seen: object = None
        self._page: object = None
        self._sources = Sources()
        self._text = ""

    def page(self) -> str:
        """Return the page of now."""
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
        files = _files(self._inputs)
        if files != self._seen:
            present = [item for item in self._inputs if _holds_something(item)]
            self._sources, self._seen = read_sources(present, groups=self._groups), files


def held(sources: Sources) -> list[str]:
    """Return names of the groups and policies of a report, by which a page tells whether there are newer ones."""
    groups = [f"{group.run}/{group.update}/{group.group.number}" for group in sources.groups]
    return [*groups, *(f"{name}: {len(episodes)}" for name, episodes in sources.policies.items())]


def _holds_something(item: str) -> bool:
    try:
        read_sources([item], groups=0)
    except ValueError:
        return False
    return True


def _files(inputs: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the files that a report of these inputs is made of, with sizes and times."""
    found: list[tuple[str, int, int]] = []
    for item in inputs:
        path = Path(item) if Path(item).exists() else Path(item.partition("=")[2])
        patterns = ("metrics.jsonl", "*.jsonl", "*/metrics.jsonl", "rollouts/*.jsonl.gz", "*/rollouts/*.jsonl.gz")
        for file in [path] if path.is_file() else sorted({file for pattern in patterns for file in path.glob(pattern)}):
            status = file.stat()
            found.append((str(file), status.st_size, status.st_mtime_ns))
    return found


def create_server(watched: Watched, port: int) -> ThreadingHTTPServer:
    """Return a server of the page, at / , and of the news, at /news, which only this machine reaches. Port 0 is any that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A page of elsewhere whose name was made to lead here is not to read what is on this machine.
            if self.headers.get("Host", "").partition(":")[0] not in _OWN_NAMES:
                self._answer(HTTPStatus.FORBIDDEN, "text/plain", "expected the name 127.0.0.1 or localhost")
                return
            try:
                if self.path == "/":
                    self._answer(HTTPStatus.OK, "text/html", watched.page())
                elif self.path == "/news":
                    self._answer(HTTPStatus.OK, "application/json", json.dumps(watched.news()))
                else:
                    self._answer(HTTPStatus.NOT_FOUND, "text/plain", "expected / or /news")
            except (OSError, ValueError) as error:
                self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", str(error))

        def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:  # whoever asked has gone
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    return server
