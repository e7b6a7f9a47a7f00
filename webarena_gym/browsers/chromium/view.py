"""The page that the active tab shows, with the location in Chromium of each of its elements."""

from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.browsers import forms
from webarena_gym.browsers.chromium.context import Context
from webarena_gym.browsers.chromium.reading import NodeLocation, tree_of
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import Page, Tab


class View(NamedTuple):
    """A page as it was read, where its elements are found, and whether scripts may have changed it since."""

    page: Page
    locations: dict[HtmlElement, NodeLocation]
    scripted: bool

    @classmethod
    async def of(cls, context: Context) -> "View":
        """Return the view of a context's active tab as it is now."""
        tab = context.tab
        locations: dict[HtmlElement, NodeLocation] = {}
        if tab.has_failed:
            url, root, focused, scripted = tab.url, tab.failure_root(), None, False
        else:
            said, frames = await tab.read()
            root, locations, focused = tree_of(said, frames)
            url, scripted = said[0]["url"], tab.is_scripted
        tabs = tuple(Tab(each.title, each.url) for each in context.tabs)
        return cls(Page(url, tab.title, root, tabs, context.active, focused, tuple(tab.signals.notices)), locations, scripted)


def location_of(element: HtmlElement, view: View | None) -> NodeLocation:
    """Return where an element of a view is found. Raises ActionError when it is of another one."""
    location = None if view is None else view.locations.get(element)
    if location is None:
        raise ActionError(f"{forms.describe(element)} is no longer on the page")
    return location
