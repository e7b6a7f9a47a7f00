"""Random actions on pages of other software in both browsers: `python -m benchmarks.foreign_walks /usr/share/doc/* --json`.

Each folder contains HTML files with their style sheets, such as the manual of a program. A random sample of the files of each folder is
opened in the in-process browser and in Chromium, without their scripts. Random actions are then performed in both: clicks, typed and
selected values, keys, going back and new tabs. A local server answers each address that is no file, and each form, with a page that shows
what was sent; other hosts are replaced by this server, missing pictures by an empty one, and frames stay empty. After each action the benchmark compares the message, the requests, the tabs with their addresses, the text observation
and the focus. A walk ends at its first difference, which is printed with its actions.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from html import escape
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from lxml.html import HtmlElement
from werkzeug.wrappers import Request, Response

from benchmarks.foreign_pages import page_files, serve
from benchmarks.machine import log_progress, report
from webarena_gym import console
from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.base import Browser, perform_action
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import Observation, observe
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network, Page
from webarena_gym.tools.fuzz.pages import BOUNDARY, first_difference

_HOST = "pages.test"
ASPECTS = ("message", "requests", "tabs", "text", "focus")
"""The parts of a state that are compared after each action, the most important first."""
_ABSOLUTE = re.compile(rb"(<[a-z][^<>]*?=\s*[\"']?\s*)(?:https?:)?//", re.IGNORECASE)
_POINT = re.compile(r"(?<=[xy]=)\d+\b")  # where an image button was clicked, which depends on the layout
_FRAME_SOURCE = re.compile(rb"(<(?:i?frame|embed|object)\b[^<>]*?\s)(?:src|data)(?=\s*=)", re.IGNORECASE)
_PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"/>'
_ECHO_TITLE = "Echo of the request"
_MAX_BODY = 3000  # characters of a form on the page that answers it
_FILES = {"notes.txt": b"Notes\n", "photo.png": b"\x89PNG\r\n"}
_TEXTS = (
    "", "x", "two words", " blanks ", "a@b.example", "someone@example.com", "http://example.com/?a=b#c", "12", "-1", "1.5", "1e3", "007",
    "2023-05-05", "15:07", "2023-05", "2023-W10", "2023-05-05T15:07", "#ff8800", "\u00dcn\u00efc\u00f6d\u00e9", "a&b=c;d+e%20f", "<b>x</b>",
    "555-0100", "Password.123", "a rather long text of more than forty characters",
)  # fmt: skip
_KEYS = ("Enter", "Enter", "Tab", "Tab", "Shift+Tab", "Space", "Escape", "ArrowDown", "ArrowUp", "a", "7", "Backspace", "End")
_LOCAL_TYPES = dom.CHECKABLE_TYPES | {"select", "summary"}


class WalkDifference(NamedTuple):
    """The first difference of a walk."""

    aspect: str
    step: int
    action: str
    inprocess: object
    chromium: object

    def __str__(self) -> str:
        where = f"{self.aspect} after {self.step} actions, {self.action}"
        return f"{where}: {self.inprocess!r:.300} in process, {self.chromium!r:.300} in Chromium"


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.foreign_walks", description=__doc__)
    add = parser.add_argument
    add("folders", nargs="+", type=Path, help="folders with HTML files")
    add("--pages", type=console.integer(1), default=6, help="pages of each folder (default: 6)")
    add("--actions", type=console.integer(1), default=15, help="actions on each page (default: 15)")
    add("--seed", type=console.integer(0), default=1, help="seed of the samples and of the actions (default: 1)")
    add("--forms", action="store_true", help="only pages that contain a form")
    add("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"argument FOLDERS: is {str(folder)!r}; expected a folder")
    rows = compare(options.folders, options.pages, options.actions, options.seed, forms_only=options.forms)
    for folder, row in rows.items():
        print(f"{folder:<30}{row['walks']:>4} walks, equal {row['equal']:>3}, {row['actions']:>5} actions")
    total = sum((Counter(row) for row in rows.values()), Counter[str]())
    report("foreign_walks", {"folders": rows, "all": dict(total)}, as_json=options.json)


def compare(
    folders: Sequence[Path], count: int, actions: int, seed: int, *, forms_only: bool = False
) -> dict[str, dict[str, int]]:
    """Return for each folder the numbers of walks, of equal walks, of actions and of differences in each aspect.

    Args:
        folders: folders with HTML files.
        count: pages of each folder at most.
        actions: actions of each walk.
        seed: seed of the samples and of the actions.
        forms_only: leave pages without a form out.

    """
    dice, rows = Random(seed), dict[str, dict[str, int]]()
    with ExitStack() as stack:
        sites = _EchoSite(), _EchoSite()
        networks = [Network({_HOST: site}, _FILES) for site in sites]
        browsers: list[Browser] = [
            stack.enter_context(closing(InProcessBrowser(networks[0], strict=True))),
            stack.enter_context(closing(ChromiumBrowser(networks[1], strict=True))),
        ]
        for folder in folders:
            files = [path for path in page_files(folder) if not forms_only or b"<form" in path.read_bytes().lower()]
            row = Counter[str]()
            for path in dice.sample(files, min(count, len(files))):
                for site in sites:
                    site.folder = folder
                start = f"http://{_HOST}/{path.relative_to(folder)}"
                length, difference = _walk(browsers, sites, start, actions, Random(f"{seed} {path.relative_to(folder)}"))
                row.update({"walks": 1, "equal": difference is None, "actions": length})
                if difference is not None:
                    row[difference.aspect] += 1
                    log_progress(f"{path}: {difference}")
            if row:
                rows[folder.name] = dict(row)
    return rows


class _EchoSite:
    """The files of a folder as a WSGI application, and an echo for everything else. Records the requests for pages."""

    def __init__(self) -> None:
        self.folder = Path()
        self.requests: list[tuple[str, ...]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        request = Request(environ)
        accepted = request.headers.get("Accept", "")
        is_page, is_picture = accepted.startswith("text/html"), accepted.startswith("image/")
        body = BOUNDARY.sub(b"--boundary", request.get_data())
        content_type = request.headers.get("Content-Type", "").partition("boundary=")[0]
        if is_page:
            headers = [request.headers.get(name, "") for name in ("Origin", "Referer")]
            self.requests.append((request.method, request.url, body.decode("latin-1"), content_type, *headers))
        is_file = request.method == "GET" and not request.query_string and (self.folder / request.path.lstrip("/")).is_file()
        if is_picture and not is_file:
            return Response(_PICTURE, content_type="image/svg+xml")(environ, start_response)
        if is_file or not is_page:
            response = Response.from_app(lambda environ, start: serve(self.folder, environ, start), environ)
            if is_page and (response.mimetype or "").startswith("text/html"):
                response.set_data(_FRAME_SOURCE.sub(rb"\1data-src", _ABSOLUTE.sub(rb"\1/", response.get_data())))
            return response(environ, start_response)
        sent = escape(
            f"{request.method} {request.full_path.rstrip('?')} {content_type} {body[:_MAX_BODY].decode('utf-8', 'replace')}"
        )
        page = f"<!doctype html><meta charset=utf-8><title>{_ECHO_TITLE}</title><h1>Received</h1><p>{sent}<p><a href=/next>Next</a>"
        return Response(page, content_type="text/html; charset=utf-8")(environ, start_response)


def _walk(
    browsers: Sequence[Browser], sites: Sequence[_EchoSite], start: str, actions: int, dice: Random
) -> tuple[int, WalkDifference | None]:
    """Open a page and perform random actions in both browsers until they differ; return the number of actions and the difference."""
    action: Action | None = None
    description = "opened"
    for step in range(actions + 1):
        states = []
        for browser, site in zip(browsers, sites, strict=True):
            site.requests.clear()
            message = _perform(browser, action, start)
            states.append(
                {
                    "message": message,
                    "requests": tuple(tuple(map(_without_point, request)) for request in site.requests),
                    **_state(browser.page()),
                }
            )
        for aspect in ASPECTS:
            if states[0][aspect] != states[1][aspect]:
                return step, WalkDifference(aspect, step, description, *first_difference(states[0][aspect], states[1][aspect]))
        page = browsers[0].page()
        observation = observe(page)
        action = _next_action(page, observation, dice)
        description = f"{action.kind.name} {action.argument or ''!r}"
        if action.element is not None:
            element = observation.nodes[action.element].element
            description += f" {dom.element_type(element)} {element.get('name') or element.get('id') or ''}"
    return actions, None


def _perform(browser: Browser, action: Action | None, start: str) -> str:
    """Open the start page if there is no action, otherwise perform it. Return the message of an action error, "" for none."""
    if action is None:
        browser.start([start], {})
        return ""
    element = None if action.element is None else observe(browser.page()).nodes[action.element].element
    try:
        if action.kind in (Kind.SCROLL_DOWN, Kind.SCROLL_UP):
            browser.scroll(down=action.kind is Kind.SCROLL_DOWN, to_end=True)
        else:
            perform_action(browser, action, element)
    except ActionError as error:
        return str(error)
    return ""


def _state(page: Page) -> dict[str, Any]:
    focused = page.focused
    if (
        focused is not None
        and focused.tag not in (*dom.CONTROL_TAGS, "a", "area", "summary")
        and "tabindex" not in focused.attrib
    ):
        focused = None  # a box that can scroll, which depends on the layout
    focus = () if focused is None else (focused.tag, focused.get("id", ""), focused.get("name", ""))
    notices = tuple(notice for notice in page.notices if " frame " not in notice)  # only one of the browsers loads frames
    page = page if notices == page.notices else _without_notices(page, notices)
    return {
        "tabs": (_without_point(page.url), page.active_tab, *((tab.title, _without_point(tab.url)) for tab in page.tabs)),
        "text": tuple(_without_point(observe(page).text).splitlines()),
        "focus": focus,
    }


def _without_point(text: str) -> str:
    return _POINT.sub("0", text)


def _without_notices(page: Page, notices: tuple[str, ...]) -> Page:
    return Page(
        url=page.url, title=page.title, root=page.root, tabs=page.tabs, active_tab=page.active_tab, focused=page.focused, notices=notices
    )  # fmt: skip


def _next_action(page: Page, observation: Observation, dice: Random) -> Action:
    """Return a random action that is possible on the page."""
    choices = list(_choices(page, observation, dice))
    ((action, _),) = dice.choices(choices, [weight for _, weight in choices])
    return action


def _choices(page: Page, observation: Observation, dice: Random) -> Iterator[tuple[Action, float]]:
    """Yield an action of each possible kind with its weight."""

    def addresses(fits: Callable[[HtmlElement], bool]) -> list[str]:
        return [address for address, node in observation.nodes.items() if fits(node.element)]

    if fields := addresses(lambda element: dom.element_type(element) in dom.TYPEABLE_TYPES):
        field = dice.choice(fields)
        yield (
            Action(dice.choice((Kind.TYPE, Kind.TYPE, Kind.SEARCH)), field, _text_for(observation.nodes[field].element, dice)),
            30,
        )
    if lists := addresses(lambda element: element.tag == "select"):
        address = dice.choice(lists)
        labels = [dom.option_label(option) for option in observation.nodes[address].element.iter("option")]
        yield Action(Kind.SELECT, address, dice.choice(labels or [""])), 14
    if files := addresses(lambda element: dom.element_type(element) == "file"):
        yield Action(Kind.SELECT, dice.choice(files), dice.choice(tuple(_FILES))), 6
    if local := addresses(lambda element: dom.element_type(element) in _LOCAL_TYPES or element.get("href", "").startswith("#")):
        yield Action(Kind.CLICK, dice.choice(local)), 20
    if buttons := addresses(lambda element: dom.element_type(element) in dom.BUTTON_TYPES):
        yield Action(Kind.CLICK, dice.choice(buttons)), 14
    if observation.nodes:
        yield Action(Kind.CLICK, dice.choice(tuple(observation.nodes))), 14
        yield Action(Kind.HOVER, dice.choice(tuple(observation.nodes))), 2
        yield Action(Kind.PRESS, dice.choice(tuple(observation.nodes)), dice.choice(_KEYS)), 5
    yield Action(Kind.PRESS, None, dice.choice(_KEYS)), 10
    yield Action(Kind.GO_BACKWARD), 60 if page.title == _ECHO_TITLE else 4
    yield Action(Kind.GO_FORWARD), 2
    yield Action(Kind.SCROLL_DOWN), 1
    yield Action(Kind.NEW_TAB), 0.5
    if len(page.tabs) > 1:
        yield Action(Kind.SWITCH_TAB, None, str(dice.randrange(len(page.tabs)))), 6
        yield Action(Kind.CLOSE_TAB), 4


def _text_for(field: HtmlElement, dice: Random) -> str:
    """Return a text for a field, half of the time one that its type accepts."""
    fitting = {
        "email": "someone@example.com", "url": "http://example.com/", "number": "3", "range": "40", "date": "2023-05-05", "time": "15:07",
        "month": "2023-05", "week": "2023-W10", "datetime-local": "2023-05-05T15:07", "color": "#ff8800", "tel": "555-0100",
    }  # fmt: skip
    text = fitting.get(dom.element_type(field))
    return text if text is not None and dice.random() < 0.6 else dice.choice(_TEXTS)


if __name__ == "__main__":
    console.run("python -m benchmarks.foreign_walks", lambda _: main())
