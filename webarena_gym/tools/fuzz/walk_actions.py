"""The next reply of a random walk, as a function of a random generator and of the page. It may be any action that an agent may take."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Dialect, Kind
from webarena_gym.browsers.http import resolve_url, without_fragment
from webarena_gym.observation import Observation
from webarena_gym.pages import dom
from webarena_gym.pages.page import Page
from webarena_gym.sites.catalogue import Account

ODD_TEXTS = (
    "", " ", "x", "  two  blanks ", "word " * 300, "line\nbreak", "carriage\r\nreturn\r", "tab\there", "\u00dcn\u00efc\u00f6d\u00e9 \u6f22\u5b57",
    "\U0001f642 \u202e x\u0301", "a\u00a0b\u2028c\u3000d", "\ufeffmark", "\0\x01\x0b\x7f\x85", "<b>bold</b>", "<!-- --><script>alert(1)</script>",
    '" onclick="alert(1)', "&amp; &#10; &lt;", "a&b=c;d+e%20f%zz", "'; DROP TABLE world; --", "%s {0} {{ 7*7 }}", "-1", "0", "1.5", "1e3", "007",
    "+5", ".5", "5.", "1,5", "99999999999999999999", "NaN", "2023-02-30", "2023-05-05", "9999-12-31", "0001-01-01", "2023-W10", "2023-05",
    "15:07", "2023-05-05T15:07", "1/2/2023", "someone@example.com", "a@b", "a@b.c, d@e.f", "http://example.com/?a=b#c", "javascript:alert(1)",
    "//elsewhere.test/", "../../etc/passwd", "[x](http://elsewhere.test) `y` **z**", "# h\n\n* a\n* b", "]", ")", '")', "\\n \\", "[4] [x]",
)  # fmt: skip
"""Inputs that do not fit the field: markup, control characters, extreme numbers, impossible dates."""

_PLAUSIBLE = {
    "email": "someone@example.com", "number": "2", "date": "2023-05-05", "url": "http://example.com/", "tel": "555-0100",
    "password": "Password.123",
}  # fmt: skip
_KEYS = (
    "Enter", "Enter", "Enter", "Tab", "Tab", "Tab", "Shift+Tab", "Space", " ", "Backspace", "a", "Z", "5", "\u00e9", "Escape", "Home", "End",
    "ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft", "PageDown", "Delete", "Insert", "Shift", "Control", "Control+A", "Control+Enter",
    "Control+Z", "Shift+A", "Shift+1", "F2", "Nonsense", "", "Control+",
)  # fmt: skip
_ADDRESSES = (
    "about:blank", "shop.test", "HTTP://Shop.Test:80/../a?b c#d", "https://shop.test/", "http://shop.test:81/", "http://elsewhere.test/x#y",
    "http://127.0.0.1:1/", "", "no address", "javascript:alert(1)", "data:text/html,x", "chrome://version", "mailto:a@b.test", "#x", "http://", "http://[",
)  # fmt: skip
_MOST_URLS = 20  # of one kind that are remembered
_IN_AND_OUT = re.compile(r"(sign|log)[ -]?(out|in|off|on)\b|register|account", re.IGNORECASE)

_DESTROYS = re.compile(
    r"delet|remov|cancel|clear|empty|leav|block|ban\b|clos|hide|revok|reset|withdraw|archiv|transfer|discard|unsubscrib|unwatch|unfollow"
    r"|unsav|unstar|undo|un-?publish|reject|hold|refund|credit memo|invoice|\bship\b|save|update|merge|fork|move|demote|submit|create|edit",
    re.IGNORECASE,
)


class WalkState(NamedTuple):
    """The input of a choice: the page, its observation, the sites' home pages, and accounts."""

    page: Page
    observation: Observation
    homes: Sequence[str]
    accounts: Sequence[Account]
    unvisited: Sequence[str] = ()  # URLs of the site that the walk has found and not visited

    def elements(self, fits: Callable[[HtmlElement], bool] = lambda _: True) -> list[str]:
        return [address for address, node in self.observation.nodes.items() if fits(node.element)]


ActionChooser = Callable[[WalkState, Random], Action | str | None]
"""Returns an action, or a reply, for a page; None if the page offers no element for it."""


class AddressPool:
    """The URLs of a host that a walk has found, by kind: equal except for numbers and parameters."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._urls: dict[str, list[str]] = {}
        self._visits = Counter[str]()

    def least_visited(self, page: Page) -> list[str]:
        """Add the links of a visited page, and return the URLs of the least visited kinds."""
        self._visits[_kind_of(page.url)] += 1
        for link in page.root.iter("a"):
            url = resolve_url(page.url, link.get("href") or "")
            if urlsplit(url).netloc == self._host and not _IN_AND_OUT.search(url):
                urls = self._urls.setdefault(_kind_of(url), [])
                if len(urls) < _MOST_URLS and url not in urls:
                    urls.append(url)
        least = min((self._visits[kind] for kind in self._urls), default=0)
        return [url for kind, urls in self._urls.items() if self._visits[kind] == least for url in urls]


def _kind_of(url: str) -> str:
    return re.sub(r"\d+", "#", urlsplit(url).path)


def next_reply(state: WalkState, dialect: Dialect, dice: Random, *, is_destructive: bool = False) -> str:
    """Return the next reply of the walk."""
    choosers = _DESTRUCTIVE_CHOOSERS if is_destructive else _CHOOSERS
    while True:
        (choose,) = dice.choices([chooser for chooser, _ in choosers], [weight for _, weight in choosers])
        reply = choose(state, dice)
        if isinstance(reply, str):
            return reply
        if reply is not None:
            try:
                return dialect.format(reply)
            except ValueError:  # the dialect has no such action
                continue


def _click(fits: Callable[[HtmlElement], bool] = lambda _: True) -> ActionChooser:
    return lambda state, dice: _with_one(Kind.CLICK, state.elements(fits), dice)


def _click_matching(pattern: re.Pattern[str]) -> ActionChooser:
    def is_clicked(element: HtmlElement) -> bool:
        return (dom.is_link(element) or dom.element_type(element) in dom.BUTTON_TYPES) and bool(pattern.search(_words(element)))

    return _click(is_clicked)


def _submit(state: WalkState, dice: Random) -> Action | None:
    """Press a submit button, preferably of a form other than a search form."""
    elements = state.elements(lambda element: dom.element_type(element) in dom.SUBMIT_TYPES)
    others = [element for element in elements if "earch" not in _words(state.observation.nodes[element].element)]
    return _with_one(Kind.CLICK, others or elements, dice)


def _goto_near(state: WalkState, dice: Random) -> Action | None:
    """Go to a URL that may not be linked: another number in a known URL."""
    links = [resolve_url(state.page.url, link.get("href")) for link in state.page.root.iter("a") if "href" in link.attrib]
    numbered = [url for url in (state.page.url, *links) if re.search(r"\d", url)]
    if not numbered:
        return None
    url = dice.choice(numbered)
    number = dice.choice(list(re.finditer(r"\d+", url)))
    other = dice.choice(
        (str(int(number[0][:18]) + 1), str(max(0, int(number[0][:18]) - 1)), "0", "1", "2", "9" * 30, "x", "-1")
    )
    return Action(Kind.GOTO, argument=f"{url[: number.start()]}{other}{url[number.end() :]}")


def _words(element: HtmlElement) -> str:
    return f"{element.text_content()} {element.get('value', '')}"


def _type(state: WalkState, dice: Random) -> Action | None:
    fields = state.elements(lambda element: dom.element_type(element) in dom.TYPEABLE_TYPES)
    if not fields:
        return None
    element = dice.choice(fields)
    text = _text_for(state.observation.nodes[element].element, state, dice)
    return Action(dice.choice((Kind.TYPE, Kind.TYPE, Kind.SEARCH)), element, text)


def _text_for(field: HtmlElement, state: WalkState, dice: Random) -> str:
    form = dom.form_owner(field)
    has_password = form is not None and any(dom.element_type(control) == "password" for control in dom.form_controls(form))
    if has_password and state.accounts and dice.random() < 0.8:
        account = state.accounts[0] if dice.random() < 0.8 else dice.choice(state.accounts)
        return account.password if dom.element_type(field) == "password" else account.user
    if dice.random() < 0.5:
        return dice.choice(ODD_TEXTS)
    if dom.element_type(field) in _PLAUSIBLE:
        return _PLAUSIBLE[dom.element_type(field)]
    words = [word for word in state.observation.text.split() if word.isalpha()]
    return " ".join(dice.choices(words, k=dice.randint(1, 3))) if words else "word"


def _select(state: WalkState, dice: Random) -> Action | None:
    selects = state.elements(lambda element: element.tag == "select")
    if not selects:
        return None
    element = dice.choice(selects)
    labels = [dom.option_label(option) for option in state.observation.nodes[element].element.iter("option")] or [""]
    label = dice.choice(labels)
    return Action(Kind.SELECT, element, dice.choice((label, label, label, label[:3].upper(), "no such option", "")))


def _press(state: WalkState, dice: Random) -> Action | None:
    elements = state.elements()
    element = dice.choice(elements) if elements and dice.random() < 0.4 else None
    return Action(Kind.PRESS, element, dice.choice(_KEYS))


def _goto(state: WalkState, dice: Random) -> Action:
    here = state.page.url
    links = [resolve_url(here, link.get("href")) for link in state.page.root.iter("a") if "href" in link.attrib]
    kind = dice.random()
    if kind < 0.3 and links:
        return Action(Kind.GOTO, argument=dice.choice(links))
    if kind < 0.5:
        return Action(Kind.GOTO, argument=dice.choice(state.homes))
    if kind < 0.7:
        names = [element.get("id") for element in state.page.root.iter("*") if "id" in element.attrib] or ["x"]
        fragment = dice.choice((dice.choice(names), "", "top", "nowhere"))
        return Action(Kind.GOTO, argument=f"{without_fragment(here)}#{fragment}")
    if kind < 0.8:
        return Action(Kind.GOTO, argument=here)
    return Action(Kind.GOTO, argument=dice.choice(_ADDRESSES))


def _switch_tab(state: WalkState, dice: Random) -> Action | None:
    count = len(state.page.tabs)
    return Action(Kind.SWITCH_TAB, argument=str(dice.randint(0, count))) if count > 1 else None


def _always(kind: Kind, argument: str | None = None) -> ActionChooser:
    return lambda _, __: Action(kind, argument=argument)


def _nonsense(state: WalkState, dice: Random) -> str | Action:
    if dice.random() < 0.5:
        return dice.choice(("", "I do not know.", "click(", "do(action='Fly')", "```goto```", dice.choice(ODD_TEXTS)))
    return Action(Kind.CLICK, dice.choice(("99999", "-1", "no such element", state.page.title)))


def _with_one(kind: Kind, elements: Sequence[str], dice: Random, argument: str | None = None) -> Action | None:
    return Action(kind, dice.choice(elements), argument) if elements else None


_CHOOSERS: Sequence[tuple[ActionChooser, float]] = (
    (_click(), 24),
    (_click(lambda element: not dom.is_link(element)), 14),
    (_click(lambda element: "#" in element.get("href", "")), 3),
    (_click_matching(_IN_AND_OUT), 4),
    (lambda state, dice: _with_one(dice.choice((Kind.HOVER, Kind.RIGHT_CLICK)), state.elements(), dice), 1),
    (_type, 16),
    (lambda state, dice: _with_one(dice.choice((Kind.TYPE, Kind.SEARCH)), state.elements(), dice, dice.choice(ODD_TEXTS)), 1),
    (_select, 7),
    (lambda state, dice: _with_one(Kind.SELECT, state.elements(), dice, "x"), 0.5),
    (_press, 8),
    (_always(Kind.PRESS, "Enter"), 3),
    (_goto, 4),
    (_always(Kind.GO_BACKWARD), 10),
    (_always(Kind.GO_FORWARD), 5),
    (_always(Kind.NEW_TAB), 1),
    (lambda state, dice: Action(Kind.CLOSE_TAB) if len(state.page.tabs) > 1 or dice.random() < 0.2 else None, 1.5),
    (_switch_tab, 4),
    (_always(Kind.SCROLL_DOWN), 1),
    (_always(Kind.SCROLL_UP), 0.5),
    (_always(Kind.WAIT), 0.5),
    (_nonsense, 1),
)
_DESTRUCTIVE_CHOOSERS: Sequence[tuple[ActionChooser, float]] = (
    *((chooser, weight / 4) for chooser, weight in _CHOOSERS),
    (lambda state, dice: Action(Kind.GOTO, argument=dice.choice(state.unvisited)) if state.unvisited else None, 20),
    (_click_matching(_DESTROYS), 40),
    (_submit, 25),
    (_select, 8),
    (_type, 10),
    (_goto_near, 4),
)
