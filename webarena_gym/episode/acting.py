"""Executes an action in a browser."""

import re

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Kind
from webarena_gym.browsers import Browser
from webarena_gym.browsers.forms import describe
from webarena_gym.errors import ActionError


def act(browser: Browser, action: Action, element: HtmlElement | None, target: HtmlElement | None = None) -> None:
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
            browser.switch_tab(_tab_index(argument, len(browser.page().tabs)))
        case Kind.GO_BACKWARD:
            browser.go_back()
        case Kind.GO_FORWARD:
            browser.go_forward()
        case Kind.WAIT:
            browser.wait(float(argument) if argument else None)
        case _:
            raise ValueError(f"{action.kind} is not done by a browser")


def _tab_index(text: str, count: int) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,6}\s*", text) or int(text) >= count:
        raise ActionError(f"there is no tab {text!r}; the tabs are 0 to {count - 1}")
    return int(text)
