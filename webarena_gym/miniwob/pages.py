"""The pages of the package `miniwob`: which there are, and a site that serves them."""

import mimetypes
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnasium.error import DependencyNotInstalled
from werkzeug.security import safe_join

HOST = "miniwob.test"
_OURS = "/webarena_gym.js"
_SCRIPT = (Path(__file__).parent / "page.js").read_bytes()
_HEAD = re.compile(rb"<head(\s[^<>]*)?>", re.IGNORECASE)
_FLIGHT = "flight."


def root() -> Path:
    """Return the folder of the pages. Raises gymnasium's DependencyNotInstalled."""
    found = find_spec("miniwob")  # is not imported: its environments need Selenium, its pages do not
    for folder in (found and found.submodule_search_locations) or ():
        if (Path(folder) / "html").is_dir():
            return Path(folder) / "html"
    raise DependencyNotInstalled(
        "the pages of MiniWoB++ are not installed: pip install 'webarena-gym[chromium,miniwob]', "
        "or, without the Selenium that it asks for, pip install --no-deps miniwob"
    )


@cache
def tasks() -> tuple[str, ...]:
    """Return the names of all tasks, such as "click-test" and "flight.AA". Raises gymnasium's DependencyNotInstalled."""
    folder = root()
    small = sorted(path.stem for path in folder.glob("miniwob/*.html"))
    return (*small, *sorted(_FLIGHT + path.parent.name for path in folder.glob("flight/*/wrapper.html")))


def url(name: str) -> str:
    """Return the address of a task's page."""
    if name.startswith(_FLIGHT):
        return f"http://{HOST}/flight/{name.removeprefix(_FLIGHT)}/wrapper.html"
    return f"http://{HOST}/miniwob/{name}.html"


def site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Serve the pages, with our script before all others; a WSGI application."""
    path = environ["PATH_INFO"]
    place = safe_join(str(root()), path.lstrip("/"))
    if path == _OURS:
        content = _SCRIPT
    elif place is not None and Path(place).is_file():
        content = Path(place).read_bytes()
    else:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"There is no such page."]
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    if kind == "text/html":
        kind += "; charset=utf-8"
        content = _HEAD.sub(lambda head: head[0] + f'<script src="{_OURS}"></script>'.encode(), content, count=1)
    start_response("200 OK", [("Content-Type", kind)])
    return [content]
