"""The Protocol of browsers, and `do`, which does an agent's action in one."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.forms import describe
from webarena_gym.errors import ActionError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages.page import Page, Traffic

Storage = Mapping[str, Mapping[str, str]]
"""The local storage of scripts: a text by origin and name."""
NO_STORAGE: Storage = MappingProxyType({})


class Browser(Protocol):
    """A person's browser, driven by method calls that return when the page has settled.

    Elements are nodes of the newest `page().root`. What a person could not do (type into a button, click what is disabled,
    choose an option that is not there) raises ActionError with a message for the policy. A failure of the browser itself
    raises BrowserError. A page that cannot be reached is a page that says so.
    """

    def start(self, urls: Sequence[str], cookies: Mapping[str, Mapping[str, str]], *, storage: Storage = NO_STORAGE) -> None:
        """Forget everything; open one tab for each URL, the first active.

        `cookies` maps host to name to value; `storage` is what scripts find stored.
        """

    def page(self) -> Page:
        """Return the active tab as it is now."""

    @property
    def has_failed(self) -> bool:
        """True if the active tab only says that an address could not be reached."""

    @property
    def traffic(self) -> Traffic | None:
        """The record of what was asked of servers since `start`; None where none is kept."""

    def goto(self, url: str) -> None:
        """Open a URL in the active tab, as typed into the address bar."""

    def click(self, element: HtmlElement) -> None:
        """Click: follow a link, press a button, tick a box, choose a radio, focus a field."""

    def right_click(self, element: HtmlElement) -> None:
        """Open the context menu, which changes nothing on a page without scripts."""

    def hover(self, element: HtmlElement) -> None:
        """Move the mouse over the element."""

    def type(self, element: HtmlElement, text: str, *, enter: bool = False) -> None:
        """Replace a field's content with `text`, or a file field's with the file at hand of that name; then press Enter if asked."""

    def select(self, element: HtmlElement, option: str) -> None:
        """Choose the option with that visible text: the same text first, else the first that contains it, without case.

        In a file field, or in what has just opened a file chooser, it is the name of a file at hand.
        """

    def press(self, key: str, element: HtmlElement | None = None) -> None:
        """Press a key, such as "Enter", in the element, which gets the focus; without one, in the focused element."""

    def go_back(self) -> None:
        """Return to the tab's previous page, with its form values."""

    def go_forward(self) -> None:
        """Undo `go_back`."""

    def new_tab(self, url: str = "about:blank") -> None:
        """Open a tab behind the last one and make it active."""

    def switch_tab(self, index: int) -> None:
        """Make the tab with that index active, counted from 0."""

    def close_tab(self) -> None:
        """Close the active tab; the one before it becomes active. Closing the only tab leaves a blank one."""

    def scroll(self, *, down: bool, to_end: bool = False) -> None:
        """Move the window over the page by two thirds of its height. Raises BrowserError for a browser without layout.

        `to_end` moves it to the page's end, or its beginning, where pages load more; a browser without layout does nothing then.
        """

    def wait(self, for_ms: float | None = None) -> None:
        """Wait as a person does: until the page has changed by itself and come to rest, or nothing has for some seconds.

        `for_ms` is a number of milliseconds to wait instead, of which there is an upper limit; 0 lets the page come to rest
        alone. Where nothing can be due, as on a page without scripts, no time passes.
        """

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        """Drag an element with the mouse and drop it on another. Raises ActionError where no script could notice."""

    def screenshot(self) -> bytes:
        """Return what the window shows, as PNG. Raises BrowserError for a browser that draws nothing."""

    def capture(self, elements: Mapping[int, HtmlElement], kind: PictureFormat) -> Capture:
        """Return what the window shows, and the boxes in it of numbered elements. Raises BrowserError for a browser that draws nothing."""
        ...

    def gesture(self, action: Action) -> None:
        """Do an action that has `points`, with mouse and keyboard. Raises ActionError, also for what was done and reached nothing."""

    def run_script(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page. Raises BrowserError for a browser without scripts."""

    def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies with their names, values and paths."""
        ...

    def storage(self) -> Storage:
        """Return what scripts have stored; a browser without scripts has nothing."""
        ...

    def snapshot(self) -> Any:
        """Return a picklable value that holds all tabs with their histories and live state, the cookies, and the storage."""

    def restore(self, snapshot: Any) -> None:
        """Continue from a snapshot of this kind of browser."""

    def close(self) -> None:
        """Free everything; further calls raise BrowserError."""


def perform_action(browser: Browser, action: Action, element: HtmlElement | None, target: HtmlElement | None = None) -> None:  # noqa: C901 - one line a kind of action
    """Do one action, of any kind but scrolling and leaving; `element` and `target` are what it names on the page.

    Raises ActionError for what the page does not allow.
    """
    argument = action.argument or ""
    match action.kind:
        case Kind.CLICK:
            browser.click(element)
            if element is not None and element.tag == "select":
                raise ActionError(f"a click chooses nothing in {describe(element)}: select an option by its text")
        case Kind.RIGHT_CLICK:
            browser.right_click(element)
        case Kind.HOVER:
            browser.hover(element)
        case Kind.DRAG:
            browser.drag(element, target)
        case Kind.TYPE | Kind.SEARCH:
            browser.type(element, argument, enter=action.kind is Kind.SEARCH)
        case Kind.SELECT:
            browser.select(element, argument)
        case Kind.PRESS:
            browser.press(argument, element)
        case Kind.GOTO:
            browser.goto(argument)
        case Kind.NEW_TAB:
            browser.new_tab()
        case Kind.CLOSE_TAB:
            browser.close_tab()
        case Kind.SWITCH_TAB:
            count = len(browser.page().tabs)
            if not re.fullmatch(r"\s*[0-9]{1,6}\s*", argument) or int(argument) >= count:
                raise ActionError(f"there is no tab {argument!r}; the tabs are 0 to {count - 1}")
            browser.switch_tab(int(argument))
        case Kind.GO_BACKWARD:
            browser.go_back()
        case Kind.GO_FORWARD:
            browser.go_forward()
        case Kind.WAIT:
            browser.wait(float(argument) if argument else None)
        case _:
            raise ValueError(f"{action.kind} is not done by a browser")
