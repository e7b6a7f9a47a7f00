"""Pages of Chromium as trees of elements, with the locations of the elements and the notices of the browser."""

from collections.abc import Collection, Hashable, Iterator
from typing import Any, NamedTuple

from lxml.html import HtmlElement

from webarena_gym.browsers import forms
from webarena_gym.browsers.chromium.context import Context
from webarena_gym.browsers.chromium.frames import NodeLocation, build_tree
from webarena_gym.browsers.chromium.signals import dialog_page
from webarena_gym.browsers.document import parse
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom
from webarena_gym.pages.page import Page
from webarena_gym.pages.page import Tab as PageTab


class PageView(NamedTuple):
    """A page and the locations of its elements in Chromium.

    A `scripted` page may change at any time, by its scripts, frames or a refresh; `has_scripts` is true for scripts of the page and its
    frames, which may handle any key. `source` is the result of `Tab.read`, from which the page was built.
    """

    page: Page
    locations: dict[HtmlElement, NodeLocation]
    scripted: bool
    has_scripts: bool = False
    source: object = None

    @classmethod
    async def of(cls, context: Context, previous: "PageView | None") -> "PageView":
        """Read the current page of a context's active tab. If it is as in the previous view, elements of that stay valid."""
        tab = context.tab
        locations: dict[HtmlElement, NodeLocation] = {}
        has_scripts = False
        cache: dict[Hashable, Any] = {}
        result = None if tab.has_failed or context.dialog_signals else await context.until_dialog(tab.read())
        if dialog_signals := context.dialog_signals:
            url, root, focused, scripted = tab.url, parse(dialog_page(dialog_signals).encode()), None, False
            locations = dict.fromkeys(root.iter("input", "button"), (tab.page.main_frame, 0))
        elif result is None:
            url, root, focused, scripted = tab.url, tab.failure_root(), None, False
        else:
            readings, frames = result
            if previous is not None and result == previous.source:
                root, locations, focused = previous.page.root, previous.locations, previous.page.focused
                cache = previous.page.cache
            else:
                root, locations, focused = build_tree(readings, frames)
            url, scripted = readings[0]["url"], tab.is_scripted
            has_scripts = any(reading["hasScripts"] for reading in readings)
        tabs = tuple(PageTab(open_tab.title, open_tab.url) for open_tab in context.tabs)
        page = Page(url, tab.title, root, tabs, context.active, focused, _notices(root, context), cache)
        return cls(page, locations, scripted, has_scripts, result)


def _notices(root: HtmlElement, context: Context) -> tuple[str, ...]:
    signals = context.tab.signals
    return *signals.notices, *file_notices(root, context.files, is_open=signals.file_chooser is not None)


def file_notices(root: HtmlElement, files: Collection[str], *, is_open: bool) -> Iterator[str]:
    """Yield the notice on available files, if the file chooser is open or the page has file fields."""
    if is_open:
        yield forms.chooser_notice(files)
    elif files and any(dom.element_type(field) == "file" for field in root.iter("input")):
        yield f"File fields take files by their names; {forms.available_files(files)}"


def location_of(element: HtmlElement, view: PageView | None) -> NodeLocation:
    """Return the location of an element of a view. Raises ActionError if the element belongs to another view."""
    location = None if view is None else view.locations.get(element)
    if location is None:
        raise ActionError(f"{forms.describe(element)} is no longer on the page")
    return location
