"""What is seen of the active tab, and how to find again what is seen."""

from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.browsers import forms
from webarena_gym.browsers.chromium.context import Context
from webarena_gym.browsers.chromium.reading import Place, tree_of
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Page, Tab


class View(NamedTuple):
    """A page as it was read, where its elements are found, and whether scripts may have changed it since."""

    page: Page
    places: dict[HtmlElement, Place]
    scripted: bool

    @classmethod
    async def of(cls, context: Context) -> "View":
        """Return the view of a context's active tab as it is now."""
        tab = context.tab
        places: dict[HtmlElement, Place] = {}
        if tab.has_failed:
            url, root, focused, scripted = tab.url, tab.failure_root(), None, False
        else:
            said, frames = await tab.read()
            root, places, focused = tree_of(said, frames)
            url, scripted = said[0]["url"], tab.is_scripted
        tabs = tuple(Tab(each.title, each.url) for each in context.tabs)
        return cls(Page(url, tab.title, root, tabs, context.active, focused, tuple(tab.signals.notices)), places, scripted)


def place_of(element: HtmlElement, view: View | None) -> Place:
    """Return where an element of a view is found. Raises ActionError when it is of another one."""
    place = None if view is None else view.places.get(element)
    if place is None:
        raise ActionError(f"{forms.describe(element)} is no longer on the page")
    return place
