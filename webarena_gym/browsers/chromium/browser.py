"""A real browser: Chromium through Playwright, one process for all, one context with its own cookies for each `ChromiumBrowser`.

What a person could not do is refused by the same rules as in the in-process browser, before Chromium is asked; so both say
the same about the same page.
"""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Kind
from webarena_gym.browsers import forms
from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.chromium.context import Context, Session, dialog_page
from webarena_gym.browsers.chromium.driver import SHARED
from webarena_gym.browsers.chromium.tab import ACTION_MS, BLANK_URL, NodeLocation, Tab, tree_of
from webarena_gym.browsers.chromium.window import check_places, gesture
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.http import typed_url
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network, Page, Traffic
from webarena_gym.pages.page import Tab as PageTab
from webarena_gym.pages.reading import is_editor


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
        read = None if tab.has_failed or context.asking else await context.until_asked(tab.read())
        if asking := context.asking:
            url, root, focused, scripted = tab.url, parse(dialog_page(asking).encode()), None, False
            locations = dict.fromkeys(root.iter("input", "button"), (None, 0))
        elif read is None:
            url, root, focused, scripted = tab.url, tab.failure_root(), None, False
        else:
            said, frames = read
            root, locations, focused = tree_of(said, frames)
            url, scripted = said[0]["url"], tab.is_scripted
        tabs = tuple(PageTab(each.title, each.url) for each in context.tabs)
        notices = [*tab.signals.notices, *_told_of_files(root, context.files, is_open=tab.signals.chooser is not None)]
        return cls(Page(url, tab.title, root, tabs, context.active, focused, tuple(notices)), locations, scripted)


def _told_of_files(root: HtmlElement, files: Collection[str], *, is_open: bool) -> Iterator[str]:
    if is_open and not files:
        yield "A file chooser was opened and closed: no files here."
    elif is_open:
        yield f"A file chooser is open: select a file by its name in what was clicked; {forms.available_files(files)}"
    elif files and any(dom.element_type(field) == "file" for field in root.iter("input")):
        yield f"File fields take files by their names; {forms.available_files(files)}"


def location_of(element: HtmlElement, view: View | None) -> NodeLocation:
    """Return where an element of a view is found. Raises ActionError when it is of another one."""
    location = None if view is None else view.locations.get(element)
    if location is None:
        raise ActionError(f"{forms.describe(element)} is no longer on the page")
    return location


T = TypeVar("T")

_ASKED = "a dialog is open: click OK or Cancel first"
_PICKED_KINDS = frozenset(("date", "month", "week", "time", "datetime-local", "range", "color"))


class ChromiumBrowser:
    """A browser context of the process's one Chromium.

    Args:
        network: the sites of an episode, which the browser reaches under their own names; None for real servers alone.
        hosts: real servers that may be reached, as "name" or "name:port". Nothing else exists for the browser.
        headless: whether no window is shown.
        strict: whether layout decides what can be used: elements without size, or covered by others, are hidden.
        windowed: whether a page is only what the window shows of it, which `scroll` moves.
        viewport: the size of the window in CSS pixels.
        records: whether the traffic of each session with real servers is recorded, as far as it is not encrypted.
        asks: whether dialogs that ask something are shown as pages, to be answered; else they are answered with OK.
        draws: whether pages are drawn for pictures: without a caret, and with the lists of drop-downs in them.
        static: whether no page of the network has scripts, so that none needs to be drawn before a picture of it is taken.
        images: whether pages load their images, which matter to pictures and to layout alone.

    """

    def __init__(
        self,
        network: Network | None,
        *,
        hosts: frozenset[str] = frozenset(),
        headless: bool = True,
        strict: bool = False,
        windowed: bool = False,
        viewport: tuple[int, int] = (1280, 720),
        records: bool = False,
        asks: bool = False,
        draws: bool = False,
        static: bool = False,
        images: bool = True,
    ) -> None:
        self._driver = SHARED.acquire(headless=headless, static=static)
        how = {"records": records, "asks": asks, "draws": draws, "static": static, "images": images}
        self._context = Context(self._driver, network, hosts, viewport, (strict, windowed), **how)
        self._windowed = windowed
        self._viewport = viewport
        self._draws = draws
        self._seen: View | None = None
        self._closed = False

    def start(
        self,
        urls: Sequence[str],
        cookies: Mapping[str, Mapping[str, str]],
        *,
        storage: Storage = NO_STORAGE,
        stored: Sequence[Mapping[str, Any]] = (),
        geolocation: Mapping[str, float] | None = None,
    ) -> None:
        """Do what the Protocol says; `stored` are further cookies, as `cookies()` returns them.

        `geolocation` is the place, {"latitude": degrees, "longitude": degrees}, that pages of secure origins are told.
        """
        self._check_open()
        self._seen = None
        self._run(self._context.open(cookies, storage, stored, geolocation))
        for url in urls or [BLANK_URL]:
            self.new_tab(url)
        self._context.active = 0

    def page(self) -> Page:
        return self._look().page

    def goto(self, url: str) -> None:
        address = typed_url(url)
        self._do(lambda tab: self._context.navigate(tab, address))

    def click(self, element: HtmlElement) -> None:
        location_of(element, self._seen)
        if self._context.asking:
            if element.tag == "button":
                self._answer(accept=element.text == "OK")
            return
        target = forms.usable_click_target(element)
        if target is not None and target.tag == "option":
            select = next(target.iterancestors("select"))
            forms.check_enabled(select)
            self._choose(select, target, toggle=True)
            return
        if target is not None and dom.element_type(target) in dom.SUBMIT_TYPES and (form := dom.form_owner(target)) is not None:
            forms.check_form(form, target)
        dead = element.get("aria-disabled") == "true"  # which a page only says: a person's click arrives all the same
        if target is not None and dom.is_link(target) and "download" in target.attrib:
            self._tab.signals.saved.clear()  # it will come
        self._point(element, lambda handle, at: handle.click(position=at, timeout=ACTION_MS, force=dead), "click")

    def right_click(self, element: HtmlElement) -> None:
        location_of(element, self._seen)
        forms.usable_click_target(element)
        self._point(element, lambda handle, at: handle.click(button="right", position=at, timeout=ACTION_MS))

    def hover(self, element: HtmlElement) -> None:
        self._check_shown(element)
        self._point(element, lambda handle, at: handle.hover(position=at, timeout=ACTION_MS))

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        for each in (element, target):
            self._check_shown(each)
        if not self._tab.is_scripted:
            raise ActionError(f"dragging {forms.describe(element)} does nothing: the page has no scripts")
        source, goal = location_of(element, self._seen), location_of(target, self._seen)
        self._do(lambda tab: tab.drag(source, goal))

    def type(self, element: HtmlElement, text: str, *, enter: bool = False) -> None:
        self._check_shown(element)
        if asking := self._context.asking:
            asking.entered, self._seen = forms.text_after_typing(element, text), None
            if enter:
                self._answer(accept=True)
            return
        if self._chose_file(element, text):
            return
        scripted = self._tab.is_scripted
        takes_all = is_editor(element) or element.get("role") in ("textbox", "combobox", "searchbox")
        entered = text if takes_all else forms.text_after_typing(element, text)
        keyboard = self._tab.page.keyboard

        async def fill(handle: Any) -> None:
            if scripted and "\n" not in entered and dom.element_type(element) not in _PICKED_KINDS:
                await handle.select_text(
                    timeout=ACTION_MS
                )  # from here on with keys, as scripts may put another field in its place
                await (keyboard.type(entered) if entered else keyboard.press("Delete"))
            else:
                await handle.fill(entered, timeout=ACTION_MS)

        self._use(element, fill, "fill", entered)
        if enter:
            self.press("Enter")

    def select(self, element: HtmlElement, option: str) -> None:
        self._check_shown(element)
        if not self._chose_file(element, option, add=True):
            self._choose(element, forms.find_option(element, option))

    def _chose_file(self, element: HtmlElement, name: str, *, add: bool = False) -> bool:
        """Choose a file at hand in a file field, or in the file chooser that is open, if it is one of both; say whether it is."""
        chooser, files = self._tab.signals.chooser, self._context.files
        if dom.element_type(element) == "file":
            chosen = self._context.payloads(forms.file_selection(element, name, files, add=add))
            self._use(element, lambda handle: handle.set_input_files(chosen))
        elif chooser is not None and element.tag != "select" and files and name:
            chosen = self._context.payloads([forms.find_file(name, files, "the file chooser")])
            self._do(lambda _: chooser.set_files(chosen))
        else:
            return False
        return True

    def press(self, key: str, element: HtmlElement | None = None) -> None:
        forms.check_key(key)
        if self._context.asking:
            if key not in ("Enter", "Escape"):
                raise ActionError(f'the key "{key}" does nothing here: {_ASKED}')
            self._answer(accept=key == "Enter" and (element is None or element.text != "Cancel"))
            return
        if element is not None:
            self._check_shown(element)
            if (focusable := forms.focusable_ancestor(element)) is not None:
                self._use(focusable, lambda handle: handle.focus(), "focus")
        focused = self._look().page.focused
        if not self._tab.is_scripted and not self._windowed:
            forms.check_key_effect(key, focused)
            if focused is not None and (picked := forms.choice_by_key(key, focused)) is not None:
                if picked.tag == "option":
                    self._choose(focused, picked)
                else:  # another radio button of the group
                    self._use(picked, lambda handle: handle.click(timeout=ACTION_MS), "click")
                return
        if (
            key == "Enter"
            and focused is not None
            and focused.tag == "input"
            and dom.element_type(focused) not in dom.BUTTON_TYPES
        ):
            form = dom.form_owner(focused)
            button = None if form is None else forms.default_button(form)
            if form is not None and (button is None or not dom.is_disabled(button)):
                forms.check_form(form, button)
        written = forms.key_text(key)
        if self._tab.is_scripted or (focused is not None and dom.element_type(focused) in dom.TYPEABLE_TYPES):
            self._do(lambda tab: tab.press(key, written))
        elif written.isascii():
            self._do(lambda tab: tab.page.keyboard.press(key))

    def go_back(self) -> None:
        self._travel(-1, "there is no earlier page in this tab to go back to")

    def go_forward(self) -> None:
        self._travel(1, "there is no later page in this tab to go forward to")

    def new_tab(self, url: str = BLANK_URL) -> None:
        self._check_open()
        self._check_unasked()
        address = typed_url(url)
        self._seen = None
        self._run(self._context.new_tab(address))

    def switch_tab(self, index: int) -> None:
        self._check_started()
        self._check_unasked()
        if not 0 <= index < len(self._context.tabs):
            raise ActionError(f"there is no tab {index}; the open tabs are 0 to {len(self._context.tabs) - 1}")
        self._seen = None
        self._context.active = index

    def close_tab(self) -> None:
        self._check_started()
        self._check_unasked()
        self._seen = None
        self._run(self._context.close_tab())
        if not self._context.tabs:
            self.new_tab()

    def scroll(self, *, down: bool, to_end: bool = False) -> None:
        self._do(lambda tab: tab.scroll(2 / 3 if down else -2 / 3, to_end=to_end))

    def wait(self, for_ms: float | None = None) -> None:
        self._do(lambda tab: tab.wait(for_ms))

    def crash(self) -> None:
        """Kill the renderer of the active tab, as happens to pages that need too much memory. Raises BrowserError."""
        self._do(lambda tab: tab.page.goto("chrome://crash"))

    def run_script(self, expression: str) -> Any:
        self._check_started()
        self._seen = None
        return self._run(self._context.run_script(expression))

    @property
    def has_failed(self) -> bool:
        """True if the active tab shows that its address could not be reached."""
        return self._tab.has_failed

    @property
    def traffic(self) -> Traffic | None:
        """The record of the session; None where none is kept."""
        return self._context.traffic

    def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies with their paths and dates, as Playwright's storage states hold them."""
        self._check_started()
        return self._run(self._context.cookies())

    def storage(self) -> Storage:
        self._check_started()
        return self._run(self._context.storage())

    def screenshot(self) -> bytes:
        self._check_started()
        return self._run(self._context.screenshot())

    def capture(self, elements: Mapping[int, HtmlElement], kind: PictureFormat) -> Capture:
        """Return a picture of the window, and the boxes in it of those of the numbered elements of the newest page that the mouse reaches."""
        self._check_started()
        known = {} if self._seen is None else self._seen.locations
        places = {number: known[element] for number, element in elements.items() if element in known}
        return self._run(self._context.capture(places, kind))

    def gesture(self, action: Action) -> None:
        """Do what the Protocol says; a text for an open file chooser or dialog goes there, and Enter and Escape answer a dialog."""
        chooser, files = self._tab.signals.chooser, self._context.files
        check_places(action, self._viewport, self._tab.mouse)
        if asking := self._context.asking:
            if action.kind is Kind.WRITE:
                asking.entered, self._seen = action.argument or "", None
            elif action.kind is Kind.PRESS and action.argument in ("Enter", "Escape"):
                self._answer(accept=action.argument == "Enter")
            elif action.kind is not Kind.LOOK:
                raise ActionError("a dialog is open: press Enter for OK or Escape for Cancel first")
        elif action.kind is Kind.WRITE and chooser is not None and files:
            chosen = self._context.payloads([forms.find_file((action.argument or "").strip(), files, "the file chooser")])
            self._do(lambda _: chooser.set_files(chosen))
        elif action.kind is not Kind.LOOK:
            told: list[str] = []

            async def act(tab: Tab) -> None:
                async with tab.drawn():
                    told.append(await gesture(tab, action))

            self._do(act)
            if any(told):
                raise ActionError(told[0])

    def snapshot(self) -> Any:
        self._check_open()
        if self._context.asking:
            raise SnapshotError(f"this cannot be saved: {_ASKED}")
        return self._run(self._context.save())

    def restore(self, snapshot: Any) -> None:
        self._check_open()
        if not isinstance(snapshot, Session):
            raise SnapshotError(f"expected a snapshot of the Chromium browser, not {type(snapshot).__name__}")
        self._seen = None
        self._run(self._context.restore(snapshot))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._seen = None
        try:
            self._driver.run(self._context.do(self._context.close()), goes_on=True)
        except BrowserError:
            pass  # it was gone already
        finally:
            SHARED.release(self._driver)

    # Inside.

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._driver.run(self._context.do(work))

    def _do(self, action: Callable[[Tab], Awaitable[Any]]) -> None:
        """Do something in the active tab, wait until everything has settled, and look anew afterwards."""
        self._check_started()
        self._check_unasked()
        self._seen = None
        self._run(self._context.act(action))

    def _answer(self, *, accept: bool) -> None:
        self._seen = None
        self._run(self._context.answer(accept=accept))

    def _use(self, element: HtmlElement, action: Callable[[Any], Awaitable[Any]], what: str = "", argument: Any = None) -> None:
        """Do something with an element of the newest page: by script what can be done so, else with mouse and keys."""
        frame, index = location_of(element, self._seen)

        async def act(tab: Tab) -> None:
            if not (what and await tab.use(frame, index, what, argument)):
                async with tab.drawn():
                    await action(await tab.element(frame, index))

        self._do(act)

    def _point(self, element: HtmlElement, action: Callable[[Any, Any], Awaitable[Any]], what: str = "") -> None:
        """Do something with the mouse, at a place in an element, or in the label of one that cannot be hit."""
        frame, index = location_of(element, self._seen)

        async def act(tab: Tab) -> None:
            if not (what and await tab.use(frame, index, what)):
                async with tab.drawn():
                    handle, at = await tab.grip(frame, index)
                    if self._draws:
                        await tab.note_mouse(handle, at)
                    await action(handle, at)

        self._do(act)

    def _choose(self, select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> None:
        options, chosen = list(select.iter("option")), forms.selection_after(select, option, toggle=toggle)
        wanted = [index for index, each in enumerate(options) if each in chosen]

        async def choose(handle: Any) -> None:
            await handle.focus()  # first: the choice may lead to another page, or put another list in its place
            await handle.select_option(index=wanted, timeout=ACTION_MS)

        self._use(select, choose, "select", wanted)

    def _travel(self, distance: int, problem: str) -> None:
        self._check_started()
        self._check_unasked()
        self._seen = None
        if not self._run(self._context.travel(distance)):
            raise ActionError(problem)

    def _look(self) -> View:
        self._check_started()
        if self._seen is None or self._seen.scripted:
            self._seen = self._run(View.of(self._context))
        return self._seen

    @property
    def _tab(self) -> Tab:
        self._check_started()
        return self._context.tab

    def _check_open(self) -> None:
        if self._closed:
            raise BrowserError("the browser was closed")

    def _check_unasked(self) -> None:
        if self._context.asking:
            raise ActionError(_ASKED)

    def _check_started(self) -> None:
        self._check_open()
        if not self._context.tabs:
            raise BrowserError("the browser has no page yet: call start first")

    def _check_shown(self, element: HtmlElement) -> None:
        location_of(element, self._seen)
        forms.check_visible(element)
