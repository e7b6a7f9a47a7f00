"""The Browser protocol, and `perform_action`, which executes an agent's action in a browser."""

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
"""Local storage of scripts: origin to name to text."""
NO_STORAGE: Storage = MappingProxyType({})


class Browser(Protocol):
    """A browser with tabs, driven by method calls that return when the page has settled.

    Elements are nodes of the newest `page().root`.

    Methods raise ActionError, with a message for the policy, for actions that a user could not perform: typing into a button,
    clicking a disabled control, selecting a missing option. They raise BrowserError if the browser itself fails. An
    unreachable address opens an error page.
    """

    def start(self, urls: Sequence[str], cookies: Mapping[str, Mapping[str, str]], *, storage: Storage = NO_STORAGE) -> None:
        """Reset the browser and open one tab per URL, the first one active.

        Args:
            urls: addresses; an empty sequence opens one blank tab.
            cookies: initial cookies: host to name to value.
            storage: initial local storage of scripts.

        """

    def page(self) -> Page:
        """Return the current page of the active tab."""

    @property
    def has_failed(self) -> bool:
        """True if the active tab shows an error page for an unreachable address."""

    @property
    def traffic(self) -> Traffic | None:
        """HTTP traffic since `start`; None if it is not recorded."""

    def goto(self, url: str) -> None:
        """Open a URL in the active tab, as typed into the address bar."""

    def click(self, element: HtmlElement) -> None:
        """Click an element: follow a link, press a button, toggle a checkbox, check a radio button or focus a field."""

    def right_click(self, element: HtmlElement) -> None:
        """Open the context menu of an element. It has no effect on a page without scripts."""

    def hover(self, element: HtmlElement) -> None:
        """Move the mouse over the element."""

    def type(self, element: HtmlElement, text: str, *, enter: bool = False) -> None:
        """Replace a field's value with `text`, then press Enter if `enter` is set.

        In a file field, `text` is the name of an available file.
        """

    def select(self, element: HtmlElement, option: str) -> None:
        """Select the option with this text, or else the first option that contains it (case-insensitive).

        In a file field, or in the element that has just opened a file chooser, `option` is the name of an available file.
        """

    def press(self, key: str, element: HtmlElement | None = None) -> None:
        """Press a key, such as "Enter", in `element` after focusing it, or in the focused element if it is None."""

    def go_back(self) -> None:
        """Return to the tab's previous page with its form values."""

    def go_forward(self) -> None:
        """Undo `go_back`."""

    def new_tab(self, url: str = "about:blank") -> None:
        """Open a tab after the last one and activate it."""

    def switch_tab(self, index: int) -> None:
        """Activate the tab with this index, counted from 0."""

    def close_tab(self) -> None:
        """Close the active tab and activate the one before it. Closing the only tab opens a blank one."""

    def scroll(self, *, down: bool, to_end: bool = False) -> None:
        """Scroll the window by two thirds of its height, or to the end of the page (its top if not `down`) if `to_end` is set.

        Pages with endless feeds load more at their end. A browser without layout raises BrowserError, but ignores `to_end`,
        since its pages never load more.
        """

    def wait(self, for_ms: float | None = None) -> None:
        """Wait until the page has changed by itself and come to rest, or until nothing has changed for some seconds.

        `for_ms` waits for this number of milliseconds instead, up to a limit; 0 only waits until the page is at rest. Without
        pending work, as on pages without scripts, the method returns at once.
        """

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        """Drag an element with the mouse and drop it on another. Raises ActionError on pages without scripts."""

    def screenshot(self) -> bytes:
        """Return a PNG screenshot of the window. Raises BrowserError for a browser without layout."""

    def capture(self, elements: Mapping[int, HtmlElement], picture_format: PictureFormat) -> Capture:
        """Return a screenshot of the window and the boxes of numbered elements. Raises BrowserError for a browser without layout."""
        ...

    def gesture(self, action: Action) -> None:
        """Perform a coordinate action with mouse and keyboard. Raises ActionError, also if the action had no effect."""

    def run_script(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page. Raises BrowserError for a browser without scripts."""

    def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies with their names, values and paths."""
        ...

    def storage(self) -> Storage:
        """Return the local storage of scripts; empty for a browser without scripts."""
        ...

    def snapshot(self) -> Any:
        """Return a picklable value with all tabs, their histories and live state, cookies and local storage."""

    def restore(self, snapshot: object) -> None:
        """Restore a snapshot of the same type of browser. Raises SnapshotError for any other value."""

    def close(self) -> None:
        """Free all resources; further calls raise BrowserError."""


def perform_action(browser: Browser, action: Action, element: HtmlElement | None, target: HtmlElement | None = None) -> None:  # noqa: C901 - one case per action kind
    """Execute one action of any kind except scrolling and exit.

    Args:
        browser: the browser.
        action: the action.
        element: the element that the action names on the page, if any.
        target: the element to drop on, for a drag.

    Raises:
        ActionError: if the page does not allow the action.

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
