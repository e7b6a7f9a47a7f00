"""Generated pages on both browsers: they must send the same requests and show the same, or the page is cut down to what differs.

Chromium is right by definition. A difference that is accepted is in ACCEPTED, with its reason. The documents of frames, which only
Chromium loads, and the notices about them are not compared.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

from lxml.html import HtmlElement, fromstring

from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network, Page
from webarena_gym.processes import workers
from webarena_gym.progress import Progress
from webarena_gym.tools.fuzz.grammar import make_case
from webarena_gym.tools.fuzz.shrinking import HOME, HOSTS, Case, PageAction, Redirect, nodes, reductions, shape

_PIECE = 50  # cases that a process is given at a time
_REPLAYED = 150  # cases that may be played to make one smaller
_MOST_CLASSES = 80  # classes of differences that are looked for before the rest is only counted

ASPECTS = ("error", "requests", "tabs", "elements", "focus", "text", "message", "notices")
"""The parts of a state that are compared after each action, the most important first."""
_COMPARED = (*dom.CONTROL_TAGS, "a", "area", "summary", "details", "dialog", "label")
_HEADERS = ("Content-Type", "Cookie", "Origin", "Referer")
BOUNDARY = re.compile(rb"(?<!-)-{4,}+[A-Za-z0-9]++")


class Difference(NamedTuple):
    """The first thing that differs when a case is played: after `step` actions, in one aspect."""

    aspect: str
    step: int
    inprocess: object
    chromium: object

    def __str__(self) -> str:
        return (
            f"{self.aspect} after {self.step} actions: {self.inprocess!r:.400} in process, {self.chromium!r:.400} in Chromium"
        )


class KnownDifference(NamedTuple):
    """A difference that stays, with its reason."""

    name: str
    reason: str
    applies: Callable[[Case, Difference], bool]


_ALWAYS_SHOWN = frozenset(("input", "select", "textarea", "button", "img", "details"))
_POINT = re.compile(r"\b[xy]=-?[0-9]+")


def _depends_on_layout(case: Case, difference: Difference) -> bool:
    """Return True if the last action was a click on an element without size, or on one whose middle is a control or covered."""
    action = case.actions[difference.step - 1] if difference.step else PageAction("start")
    target = next((node for node in nodes(case.page) if ("id", action.target) in node.attributes), None)
    if target is None:
        return False
    requests = [_POINT.sub("", str(sent)) for sent in (difference.inprocess, difference.chromium)]
    if difference.aspect == "requests" and requests[0] == requests[1]:  # of an image button, clicked by its label
        return True
    attributes = dict(target.attributes)
    is_stray_summary = target.tag == "summary" and "details" not in shape(case.page)
    is_empty = not any(map(str, target.children)) and (target.tag not in {*_ALWAYS_SHOWN, "summary"} or is_stray_summary)
    is_empty_image = attributes.get("type") == "image" and (attributes.get("value") == "" or "hidden" in attributes)
    contains_control = target.tag == "a" and "<button" in str(target)
    dialogs = [node for node in nodes(case.page) if node.tag == "dialog" and "open" in dict(node.attributes)]
    is_covered = any(target not in nodes(dialog) for dialog in dialogs)
    return action.kind == "click" and (is_empty or is_empty_image or contains_control or is_covered)


_PARTED = frozenset(f"input type={kind}" for kind in dom.DATE_TYPES)


def _tabs_in_date(case: Case, difference: Difference) -> bool:
    presses_tab = any(action.argument in ("Tab", "Shift+Tab") for action in case.actions[: difference.step])
    return presses_tab and difference.aspect == "focus" and not _PARTED.isdisjoint(shape(case.page))


def _is_refreshed_later(case: Case, difference: Difference) -> bool:
    contents = [dict(node.attributes).get("content") or "" for node in nodes(case.page) if node.tag == "meta"]
    return difference.aspect in {"requests", "tabs"} and any(content.startswith("1;") for content in contents)


def _is_until_found(case: Case, difference: Difference) -> bool:
    buttons = [dict(node.attributes) for node in nodes(case.page) if node.tag == "button"]
    return difference.aspect == "text" and any(attributes.get("hidden") == "until-found" for attributes in buttons)


def _repeats_redirect(case: Case, difference: Difference) -> bool:
    is_permanent = any(redirect.status in (301, 308) for redirect in case.redirects)
    return is_permanent and difference.aspect == "requests" and difference.step > 1


def _opens_list(case: Case, difference: Difference) -> bool:
    """Return True if a key was pressed after a click on a list in a page on which Chromium clicks with the mouse."""
    lists = {dict(node.attributes).get("id") for node in nodes(case.page) if node.tag == "select"}
    actions = case.actions[: difference.step]
    clicks = [index for index, action in enumerate(actions) if action.kind == "click" and action.target in lists]
    is_clicked = bool(clicks) and any(action.kind == "press" for action in actions[clicks[0] :])
    return is_clicked and not {"meta", "iframe"}.isdisjoint(shape(case.page))


def _resets_address(case: Case, difference: Difference) -> bool:
    """Return True if a page has a reset button and an e-mail address with other than ASCII letters in its domain."""
    types = [(dom.element_type(fromstring(str(node))), node) for node in nodes(case.page) if node.tag in ("input", "button")]
    values = [dict(node.attributes).get("value") or "" for kind, node in types if kind == "email"]
    has_reset = any(kind == "reset" for kind, _ in types)
    return has_reset and difference.step > 0 and any(not value.isascii() for value in values)


ACCEPTED = (
    KnownDifference(
        "no layout",
        "Chromium clicks on a point of an element, where another may be, and some have no size; in process there is no layout",
        _depends_on_layout,
    ),
    KnownDifference(
        "cached redirects", "Chromium keeps permanent redirects, the in-process browser has no HTTP cache", _repeats_redirect
    ),
    KnownDifference(
        "parts of dates",
        "in Chromium the Tab key moves between the day, month and year of a field, in process it leaves it",
        _tabs_in_date,
    ),
    KnownDifference(
        "refreshes",
        "in Chromium real time passes, so that on a busy machine a refresh after one second comes first",
        _is_refreshed_later,
    ),
    KnownDifference(
        "hidden until found",
        "a button with hidden=until-found shows its own text, but in Chromium not that of its parts",
        _is_until_found,
    ),
    KnownDifference(
        "opened lists",
        "on pages with frames or a refresh, a click opens a list in Chromium, which takes the next key",
        _opens_list,
    ),
    KnownDifference(
        "reset addresses",
        "Chromium does not convert the domain of an e-mail address after a reset, and then calls its own default value invalid",
        _resets_address,
    ),
)
"""The differences that stay."""


class DifferenceClass(NamedTuple):
    """A class of differences: one case of it, as small as possible, and how many cases have all that it consists of."""

    seed: int
    case: Case
    difference: Difference
    cases: int = 1

    @property
    def parts(self) -> frozenset[str]:
        """The parts of the case and its difference."""
        return _parts(self.case, self.difference)

    def __str__(self) -> str:
        lines = (*str(self.case).splitlines(), str(self.difference))
        return "\n    ".join((f"{self.cases} cases, such as seed {self.seed}", *lines))


class CaseSite:
    """The site of a case as a WSGI application: its page, its redirects, and an echo for any other address. Records the requests."""

    def __init__(self) -> None:
        self.case = Case(make_case(0).page)
        self.requests: list[tuple[Any, ...]] = []

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path, query = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace"), environ["QUERY_STRING"]
        if path in {"/favicon.ico", "/frame", "/img", "/ping"}:  # only Chromium asks for these
            start_response("200 OK", [("Content-Type", "image/gif" if path == "/img" else "text/plain")])
            return [_PICTURE if path == "/img" else b"inside"]
        is_home = path == "/" and environ["HTTP_HOST"] == HOSTS[0] and not query and environ["REQUEST_METHOD"] == "GET"
        if not is_home:
            body = BOUNDARY.sub(b"--boundary", environ["wsgi.input"].read())
            headers = {name: environ.get(_KEYS_OF[name], "") for name in _HEADERS}
            headers["Content-Type"] = headers["Content-Type"].partition("boundary=")[0]
            target = f"http://{environ['HTTP_HOST']}{path}{query and '?'}{query}"
            self.requests.append(
                (environ["REQUEST_METHOD"], target, body, *(f"{name}: {value}" for name, value in headers.items() if value))
            )
        status, location, cookies, page = 200, "", self.case.cookies if is_home else (), _ECHO
        if is_home:
            page = str(self.case.page)
        elif path.startswith("/r") and path[2:].isdecimal():
            known = self.case.redirects[int(path[2:]) :] or (Redirect(200, ""),)
            status, location, cookies = known[0]
        head = [("Content-Type", "text/html; charset=utf-8"), *(("Set-Cookie", _as_header(cookie)) for cookie in cookies)]
        start_response(f"{status} OK", [*head, ("Location", location)] if location else head)
        return [] if status in {204, 304} else [page.encode()]


_PICTURE = b"GIF89a\1\0\1\0\0\0\0!\xf9\4\1\n\0\1\0,\0\0\0\0\1\0\1\0\0\2\2L\1\0;"
_KEYS_OF = {name: "CONTENT_TYPE" if name == "Content-Type" else f"HTTP_{name.upper()}" for name in _HEADERS}
_ECHO = "<!doctype html><meta charset=utf-8><title>Echo</title><p>Echo <a id=home href=http://app.test/>Home</a>"


def _as_header(text: str) -> str:
    return text.encode().decode("latin-1")


class BrowserPair:
    """Both browsers, on the same site."""

    def __init__(self) -> None:
        self._sites = CaseSite(), CaseSite()
        networks = [Network(dict.fromkeys(HOSTS, site)) for site in self._sites]
        self._browsers: tuple[Browser, Browser] = InProcessBrowser(networks[0]), ChromiumBrowser(networks[1])

    def close(self) -> None:
        """Close both browsers."""
        for browser in self._browsers:
            browser.close()

    def compare(self, case: Case) -> Difference | None:
        """Play a case on both browsers and return the first difference, None if there is none."""
        played = [_play(browser, site, case) for browser, site in zip(self._browsers, self._sites, strict=True)]
        for step, (one, other) in enumerate(zip(*played, strict=True)):
            for aspect in ASPECTS:
                if one.get(aspect) != other.get(aspect):
                    return Difference(aspect, step, *first_difference(one.get(aspect), other.get(aspect)))
        return None

    def shrink(self, case: Case, difference: Difference) -> tuple[Case, Difference]:
        """Return a smaller case that differs in the same aspect; no reduction of it does, unless very many were tried."""
        left, is_smaller = _REPLAYED, True
        while is_smaller and left > 0:
            is_smaller = False
            for smaller in reductions(case):
                result, left = self.compare(smaller), left - 1
                if result and result.aspect == difference.aspect and not _known_difference(smaller, result):
                    case, difference, is_smaller = smaller, result, True
                    break
                if left <= 0:
                    break
        return case, difference


def _play(browser: Browser, site: CaseSite, case: Case) -> list[dict[str, Any]]:
    """Return what there is to see after the page was opened and after each action."""
    site.case = case
    site.requests.clear()
    states = []
    for action in (PageAction("start"), *case.actions):
        message = error = ""
        try:
            _apply_action(browser, action)
        except ActionError as refused:
            message = str(refused)
        except Exception as raised:  # noqa: BLE001 - whatever is raised is a difference
            error = f"{type(raised).__name__}: {raised}"
        state: dict[str, Any] = {"message": message, "error": error, "requests": tuple(site.requests)}
        site.requests.clear()
        if not error:
            page = browser.page()
            for frame in page.root.iter("iframe", "frame"):
                for document in frame.findall("body"):
                    frame.remove(document)
            state |= page_state(page)
            state["notices"] = tuple(notice for notice in page.notices if " frame " not in notice)
        states.append(state)
    return states


def _apply_action(browser: Browser, action: PageAction) -> None:
    if action.kind == "start":
        browser.start([HOME], {})
    elif action.kind == "back":
        browser.go_back()
    elif action.kind == "wait":
        browser.wait(float(action.argument))
    elif action.kind == "tab":
        browser.switch_tab(int(action.argument))
    elif action.kind == "press" and not action.target:
        browser.press(action.argument)
    else:
        element = dom.element_by_id(browser.page().root, action.target)
        if element is None:
            raise ActionError(f"there is no element {action.target}")
        match action.kind:
            case "click":
                browser.click(element)
            case "type":
                browser.type(element, action.argument)
            case "select":
                browser.select(element, action.argument)
            case _:
                browser.press(action.argument, element)


def page_state(page: Page) -> dict[str, Any]:
    """Return what is compared of a page: its tabs, the state of its elements, the focus, its text and the notices."""
    focus = None if page.focused is None else page.focused.get("id", page.focused.tag)
    return {
        "tabs": (page.url, page.active_tab, *page.tabs),
        "elements": tuple(fact for element in page.root.iter(*_COMPARED) for fact in _facts(element)),
        "focus": focus,
        "text": tuple(observe(page, header=False).text.splitlines()),
        "notices": page.notices,
    }


def _facts(element: HtmlElement) -> Iterator[str]:
    """Yield what an element is, with its live state, its form and whether it can be clicked."""
    name = f"{element.tag} {element.get('id', '')}"
    yield f"{name} {dom.element_type(element)}{' hidden' * dom.is_unclickable(element)}"
    if element.tag in dom.CONTROL_TAGS:
        form = dom.form_owner(element)
        value = dom.field_value(element) if element.tag == "textarea" else element.get("value")
        yield f"{name} value {value!r}"
        yield f"{name} form {None if form is None else form.get('id', 'without id')}"
    yield f"{name}{''.join(f' {state}' for state in ('checked', 'disabled', 'open') if state in element.attrib)}"
    if element.tag == "select":
        yield f"{name} selected {['selected' in option.attrib for option in element.iter('option')]}"


def first_difference(one: object, other: object) -> tuple[Any, Any]:
    """Return the first parts that differ of two sequences, and otherwise both as they are."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return next(pair for pair in zip_longest(one, other) if pair[0] != pair[1])
    return one, other


def _known_difference(case: Case, difference: Difference) -> KnownDifference | None:
    return next((accepted for accepted in ACCEPTED if accepted.applies(case, difference)), None)


def _parts(case: Case, difference: Difference) -> frozenset[str]:
    actions = {f"{action.kind} {action.argument}" if action.kind == "press" else action.kind for action in case.actions}
    cookies = {f"cookie {part.partition('=')[0]}" for cookie in case.cookies for part in cookie.split("; ")[1:]}
    redirects = {f"redirect {redirect.status}" for redirect in case.redirects}
    return frozenset((difference.aspect, *shape(case.page), *actions, *cookies, *redirects))


def play(seeds: Sequence[int]) -> list[tuple[int, Difference]]:
    """Play the cases of some seeds in this process and return those that differ twice: on a busy machine, Chromium may be too slow once."""
    with closing(BrowserPair()) as browsers:
        compared = ((seed, _lasting_difference(browsers, make_case(seed))) for seed in seeds)
        return [(seed, difference) for seed, difference in compared if difference]


def _lasting_difference(browsers: BrowserPair, case: Case) -> Difference | None:
    return browsers.compare(case) and browsers.compare(case)


def classify(differing: Iterable[tuple[int, Difference]]) -> Iterator[DifferenceClass]:
    """Yield a class for each differing case: a new one, made smaller, or a known one, whose parts the case has, counted once more."""
    classes: list[DifferenceClass] = []
    with closing(BrowserPair()) as browsers:
        for seed, difference in differing:
            case = make_case(seed)
            parts = _parts(case, difference)
            index = next((index for index, known in enumerate(classes) if known.parts <= parts), None)
            if index is None and len(classes) < _MOST_CLASSES:
                reduced = DifferenceClass(seed, *browsers.shrink(case, difference))
                index = next((index for index, known in enumerate(classes) if known.parts == reduced.parts), None)
                if index is None:
                    classes.append(reduced)
                    yield reduced
                    continue
            if index is not None:
                classes[index] = classes[index]._replace(cases=classes[index].cases + 1)
                yield classes[index]


def fuzz_pages(options: argparse.Namespace) -> int:
    """Play generated cases on both browsers, print the classes of differences, and return the exit status."""
    start = time.perf_counter()
    first = options.seed * 1_000_000
    seeds = range(first, first + options.pages)
    pieces = [seeds[index : index + _PIECE] for index in range(0, len(seeds), _PIECE)]
    progress, played, differing = Progress(options.pages, "pages played"), 0, list[tuple[int, Difference]]()
    with workers(min(options.jobs, len(pieces))) as work:
        for piece, part in zip(pieces, work(play, pieces), strict=True):
            played, differing = played + len(piece), differing + part
            progress.update(played, f"{len(differing)} differ")
    accepted = Counter(name.name for seed, difference in differing if (name := _known_difference(make_case(seed), difference)))
    left = [(seed, difference) for seed, difference in differing if not _known_difference(make_case(seed), difference)]
    classes = {}
    for number, part in enumerate(classify(left)):
        classes[part.parts] = part
        progress.update(played, f"{number + 1} of {len(left)} classified")
    progress.clear()
    seconds = round(time.perf_counter() - start, 2)
    print(f"{played} pages, {len(left)} differ in {len(classes)} classes, {accepted.total()} are accepted, in {seconds} s")
    by_aspect = Counter(difference.aspect for _, difference in left)
    print("".join(f"  {aspect:<10} {by_aspect[aspect]:>6}\n" for aspect in ASPECTS if by_aspect[aspect]), end="")
    for known in ACCEPTED:
        print(f"  accepted: {accepted[known.name]:>6} {known.name}: {known.reason}")
    for part in sorted(classes.values(), key=lambda part: (ASPECTS.index(part.difference.aspect), -part.cases)):
        print(f"  {part}")
    if options.json:
        counts = {"pages": played, "differing": len(left), "classes": len(classes), "accepted": accepted.total()}
        print(json.dumps({**counts, "seed": options.seed, "seconds": seconds}))
    return 1 if left else 0
