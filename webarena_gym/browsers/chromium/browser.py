"""A real browser: Chromium driven by Playwright. All browsers of a process share one Chromium, each with its own context.

Impossible actions are rejected before Chromium is called, by the same rules as in the in-process browser. So both browsers
return the same messages for the same page.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Kind
from webarena_gym.browsers import forms
from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.chromium import hand
from webarena_gym.browsers.chromium.context import Context
from webarena_gym.browsers.chromium.counterparts import counterpart
from webarena_gym.browsers.chromium.driver import SHARED
from webarena_gym.browsers.chromium.frames import NodeLocation
from webarena_gym.browsers.chromium.hand import ACTION_MS
from webarena_gym.browsers.chromium.sessions import Session
from webarena_gym.browsers.chromium.tab import BLANK_URL, StaleElementError, Tab
from webarena_gym.browsers.chromium.view import PageView, file_notices, location_of
from webarena_gym.browsers.chromium.window import check_points, gesture
from webarena_gym.browsers.http import typed_url
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages import constraints, dom
from webarena_gym.pages.navigables import names_window
from webarena_gym.pages.page import Network, Page, Traffic
from webarena_gym.pages.reading import LISTENER_ATTRIBUTE, is_editor

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Position


def _takes_text(element: HtmlElement) -> bool:
    """Return True if an element is a text field, and not one that only shows the name of a file."""
    return dom.element_type(element) in dom.TYPEABLE_TYPES and "readonly" not in element.attrib


def _names_window(target: HtmlElement | None) -> bool:
    """Return True if a click on an element, or Enter in it, opens a page in a window with a name, which may be open already."""
    if target is None:
        return False
    if dom.is_link(target):
        return names_window(target, None)
    form = dom.form_owner(target) if target.tag in dom.CONTROL_TAGS else None
    if form is None:
        return False
    is_button = dom.element_type(target) in dom.SUBMIT_TYPES
    return (
        names_window(form, target if is_button else forms.default_button(form)) if is_button or target.tag == "input" else False
    )


T = TypeVar("T")

_DIALOG_OPEN = "a dialog is open: click OK or Cancel first"
_PICKER_TYPES = dom.DATE_TYPES | {"range", "color"}


class ChromiumBrowser:
    """A browser context in the Chromium of the process.

    Args:
        network: the sites of an episode, reached by their host names; None if there are only real servers.
        hosts: allowed real servers, as "name" or "name:port". No other host exists for the browser.
        headless: show no window.
        strict: layout decides which elements are hidden: also those without size or covered by others.
        windowed: pages contain only the content in the window, which `scroll` moves.
        viewport: width and height of the window in CSS pixels.
        record_traffic: record the unencrypted traffic of each session with real servers.
        show_dialogs: show confirm and prompt dialogs as pages for the agent to answer; otherwise they are accepted.
        for_pictures: draw pages for screenshots: without a caret, and with the lists of drop-downs inside the page.
        static: no page of the network has scripts, so pages are drawn only for screenshots.
        load_images: load images, which matter only for screenshots and layout.

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
        record_traffic: bool = False,
        show_dialogs: bool = False,
        for_pictures: bool = False,
        static: bool = False,
        load_images: bool = True,
    ) -> None:
        self._driver = SHARED.acquire(headless=headless, static=static)
        self._context = Context(
            self._driver,
            network,
            hosts,
            viewport,
            (strict, windowed),
            record_traffic=record_traffic,
            show_dialogs=show_dialogs,
            for_pictures=for_pictures,
            static=static,
            load_images=load_images,
        )
        self._windowed = windowed
        self._viewport = viewport
        self._for_pictures = for_pictures
        self._view: PageView | None = None
        self._acted_view: PageView | None = None  # the view at the start of the last action
        self._closed = False

    def start(
        self,
        urls: Sequence[str],
        cookies: Mapping[str, Mapping[str, str]],
        *,
        storage: Storage = NO_STORAGE,
        stored_cookies: Sequence[Mapping[str, Any]] = (),
        geolocation: Mapping[str, float] | None = None,
    ) -> None:
        """Reset the browser and open one tab per URL; see `Browser.start`.

        Args:
            urls: addresses of the tabs.
            cookies: initial cookies: host to name to value.
            storage: initial local storage of scripts.
            stored_cookies: further cookies in the format of `cookies()`.
            geolocation: position returned to pages of secure origins, {"latitude": degrees, "longitude": degrees}.

        """
        self._check_open()
        self._view = None
        self._run(self._context.open(cookies, storage, stored_cookies, geolocation))
        for url in urls or [BLANK_URL]:
            self.new_tab(url)
        self._context.active = 0

    def page(self) -> Page:
        return self._current_view().page

    def goto(self, url: str) -> None:
        address = typed_url(url)
        self._act(lambda tab: self._context.navigate(tab, address))

    def click(self, element: HtmlElement) -> None:
        self._check_visible(element)
        if self._context.dialog_signals:
            if element.tag == "button":
                self._answer_dialog(accept=element.text == "OK")
            return
        target = forms.usable_click_target(element)
        if target is not None and target.tag == "option":
            select = next(target.iterancestors("select"))
            forms.check_enabled(select)
            self._select_option(select, target, toggle=True)
            return
        submits = target is not None and dom.element_type(target) in dom.SUBMIT_TYPES and dom.form_owner(target) is not None
        force = element.get("aria-disabled") == "true"  # Playwright would wait, but a user's click does reach the element
        # A script's click does not move the mouse over a box that reveals others.
        reveals = target is None and any(LISTENER_ATTRIBUTE in part.attrib for part in (element, *element.iterancestors()))
        self._expect_download(target)
        with self._refusals():
            self._act_with_mouse(
                element,
                lambda handle, at: handle.click(position=at, timeout=ACTION_MS, force=force),
                "" if reveals else "click",
                watches_validation=submits,
                names_window=_names_window(target),
            )

    def _expect_download(self, target: HtmlElement | None) -> None:
        """Let the next action wait for a download if it follows a link that downloads."""
        if target is not None and dom.is_link(target) and "download" in target.attrib:
            self._tab.signals.expected_downloads = 1

    def right_click(self, element: HtmlElement) -> None:
        self._check_visible(element)
        forms.usable_click_target(element)
        self._act_with_mouse(element, lambda handle, at: handle.click(button="right", position=at, timeout=ACTION_MS))

    def hover(self, element: HtmlElement) -> None:
        self._check_visible(element)
        self._act_with_mouse(element, lambda handle, at: handle.hover(position=at, timeout=ACTION_MS))

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        for part in (element, target):
            self._check_visible(part)
        if not self._tab.is_scripted:
            raise ActionError(f"dragging {forms.describe(element)} does nothing: the page has no scripts")
        self._act_at([element, target], hand.drag)

    def type(self, element: HtmlElement, text: str, *, enter: bool = False) -> None:
        self._check_visible(element)
        if dialog_signals := self._context.dialog_signals:
            dialog_signals.dialog_text, self._view = forms.text_after_typing(element, text), None
            if enter:
                self._answer_dialog(accept=True)
            return
        if self._try_choose_file(element, text):
            return
        has_scripts = self._view is not None and self._view.has_scripts
        is_text_widget = is_editor(element) or element.get("role") in ("textbox", "combobox", "searchbox")
        value = text if is_text_widget else forms.text_after_typing(element, text)
        view, is_rebuilt = self._view, False

        async def fill(handle: "ElementHandle") -> None:
            nonlocal is_rebuilt
            if has_scripts and "\n" not in value and dom.element_type(element) not in _PICKER_TYPES:
                is_rebuilt = not await hand.type_text(self._tab, handle, value)
            else:
                await handle.fill(value, timeout=ACTION_MS)

        async def fill_at_once(handle: "ElementHandle") -> None:
            await handle.select_text(timeout=ACTION_MS)
            await self._tab.page.keyboard.insert_text(value)

        self._act_on_element(element, fill, "fill", value)
        if is_rebuilt and view is not None and not self._context.dialog_signals:
            current = self._current_view().page
            field = counterpart(element, view.page, current)
            if field is not None and 0 < len(part := field.get("value", "")) < len(value) and value.startswith(part):
                self._act_on_element(field, fill_at_once)
        if enter:
            self.press("Enter")

    def select(self, element: HtmlElement, option: str) -> None:
        self._check_visible(element)
        if not self._try_choose_file(element, option, add=True):
            self._select_option(element, forms.find_option(element, option))

    def _try_choose_file(self, element: HtmlElement, name: str, *, add: bool = False) -> bool:
        """Choose an available file in a file field or in the open file chooser. Return False if `element` is not for files."""
        chooser, files = self._tab.signals.file_chooser, self._context.files
        if dom.element_type(element) == "file":
            payloads = self._context.payloads(forms.file_selection(element, name, files, add=add))

            async def choose(handle: "ElementHandle") -> None:
                await handle.focus()  # as after the click that opens the file chooser
                await handle.set_input_files(payloads)

            self._act_on_element(element, choose)
        elif chooser is not None and files and name and not (element.tag == "select" or _takes_text(element)):
            payloads = self._context.payloads([forms.find_file(name, files, "the file chooser")])
            self._act(lambda _: chooser.set_files(payloads))
        else:
            return False
        return True

    def press(self, key: str, element: HtmlElement | None = None) -> None:
        forms.check_key(key)
        self._clear_notices()
        if self._context.dialog_signals:
            if key not in ("Enter", "Escape"):
                raise ActionError(f'the key "{key}" does nothing here: {_DIALOG_OPEN}')
            self._answer_dialog(accept=key == "Enter" and (element is None or element.text != "Cancel"))
            return
        if element is not None:
            self._check_visible(element)
            if (focusable := forms.focusable_ancestor(element)) is not None:
                self._act_on_element(focusable, lambda handle: handle.focus(), "focus")
        view = self._current_view()
        page, has_scripts = view.page, view.has_scripts
        focused = page.focused
        if not has_scripts and not self._windowed:
            forms.check_key_effect(key, focused, page.root)
            if focused is not None and (choice := forms.choice_by_key(key, focused)) is not None:
                if choice.tag == "option":
                    self._select_option(focused, choice)
                else:  # another radio button of the group
                    self._act_on_element(choice, lambda handle: handle.click(timeout=ACTION_MS), "click")
                return
        text = forms.key_text(key)
        is_typing = has_scripts or (focused is not None and dom.element_type(focused) in dom.TYPEABLE_TYPES)

        async def press(tab: Tab) -> None:
            submits = key in ("Enter", " ", "Space") and focused is not None and dom.form_owner(focused) is not None
            async with hand.watch_validation(tab, tab.page.main_frame) if submits else nullcontext():
                await (hand.press(tab, key, text, has_scripts=has_scripts) if is_typing else tab.page.keyboard.press(key))

        if is_typing or text.isascii():
            if key == "Enter":
                self._expect_download(focused)
            with self._refusals():
                self._act(press, names_window=key in ("Enter", " ", "Space") and _names_window(focused))

    def go_back(self) -> None:
        self._traverse(-1, "there is no earlier page in this tab to go back to")

    def go_forward(self) -> None:
        self._traverse(1, "there is no later page in this tab to go forward to")

    def new_tab(self, url: str = BLANK_URL) -> None:
        self._check_open()
        self._check_no_dialog()
        address = typed_url(url)
        self._view = None
        self._run(self._context.new_tab(address))

    def switch_tab(self, index: int) -> None:
        self._check_started()
        self._check_no_dialog()
        if not 0 <= index < len(self._context.tabs):
            raise ActionError(f"there is no tab {index}; the open tabs are 0 to {len(self._context.tabs) - 1}")
        self._view = None
        self._context.active = index
        self._forget_notices()

    def _forget_notices(self) -> None:
        """Forget the messages of the active tab, which belong to its last action, and its file chooser."""
        self._tab.signals.notices.clear()
        self._tab.signals.file_chooser = None

    def close_tab(self) -> None:
        self._check_started()
        self._check_no_dialog()
        self._view = None
        self._run(self._context.close_tab())
        if not self._context.tabs:
            self.new_tab()
        self._forget_notices()

    def scroll(self, *, down: bool, to_end: bool = False) -> None:
        self._act(lambda tab: tab.scroll(2 / 3 if down else -2 / 3, to_end=to_end))

    def wait(self, for_ms: float | None = None) -> None:
        self._act(lambda tab: tab.wait(for_ms))

    def crash(self) -> None:
        """Kill the renderer of the active tab, as if it had run out of memory. Raises BrowserError."""
        self._act(lambda tab: tab.page.goto("chrome://crash"))

    def run_script(self, expression: str) -> Any:
        self._check_started()
        self._view = None
        return self._run(self._context.run_script(expression))

    @property
    def has_failed(self) -> bool:
        """True if the active tab shows an error page for an unreachable address."""
        return self._tab.has_failed

    @property
    def used_real_time(self) -> bool:
        """True if scripts of the active tab followed the real time, at least in part, when it last settled."""
        return self._tab.is_scripted and self._tab.used_real_time

    @property
    def traffic(self) -> Traffic | None:
        """HTTP traffic of the session; None if it is not recorded."""
        return self._context.traffic

    def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies in the format of Playwright's storage states."""
        self._check_started()
        return self._run(self._context.cookies())

    def storage(self) -> Storage:
        self._check_started()
        return self._run(self._context.storage())

    def screenshot(self) -> bytes:
        self._check_started()
        return self._run(self._context.screenshot())

    def capture(self, elements: Mapping[int, HtmlElement], picture_format: PictureFormat) -> Capture:
        """Return a screenshot of the window, and the boxes of the numbered elements of the newest page that a click can reach."""
        self._check_started()
        all_locations = {} if self._view is None else self._view.locations
        locations = {number: all_locations[element] for number, element in elements.items() if element in all_locations}
        return self._run(self._context.capture(locations, picture_format))

    def gesture(self, action: Action) -> None:
        """Perform a coordinate action; see `Browser.gesture`.

        Text goes to an open file chooser or dialog, if there is one. Enter and Escape answer a dialog.
        """
        chooser, files = self._tab.signals.file_chooser, self._context.files
        check_points(action, self._viewport, self._tab.mouse)
        if dialog_signals := self._context.dialog_signals:
            if action.kind is Kind.WRITE:
                dialog_signals.dialog_text, self._view = action.argument or "", None
            elif action.kind is Kind.PRESS and action.argument in ("Enter", "Escape"):
                self._answer_dialog(accept=action.argument == "Enter")
            elif action.kind is not Kind.LOOK:
                raise ActionError("a dialog is open: press Enter for OK or Escape for Cancel first")
        elif action.kind is Kind.WRITE and chooser is not None and files:
            payloads = self._context.payloads([forms.find_file((action.argument or "").strip(), files, "the file chooser")])
            self._act(lambda _: chooser.set_files(payloads))
        elif action.kind is not Kind.LOOK:
            problems: list[str] = []

            async def act(tab: Tab) -> None:
                async with tab.drawing():
                    problems.append(await gesture(tab, action))

            self._act(act)
            if any(problems):
                raise ActionError(problems[0])

    def snapshot(self) -> Any:
        self._check_open()
        if self._context.dialog_signals:
            raise SnapshotError(f"a page with an open dialog cannot be saved: {_DIALOG_OPEN}")
        return self._run(self._context.save())

    def restore(self, snapshot: Any) -> None:
        self._check_open()
        if not isinstance(snapshot, Session):
            raise SnapshotError(f"expected a snapshot of the Chromium browser, got {type(snapshot).__name__}")
        self._view = None
        self._run(self._context.restore(snapshot))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._view = None
        try:
            self._driver.run(self._context.run(self._context.close()), is_shielded=True)
        except BrowserError:
            pass  # Chromium has already died
        finally:
            SHARED.release(self._driver)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._driver.run(self._context.run(work))

    def _act(self, action: Callable[[Tab], Awaitable[object]], *, names_window: bool = False) -> None:
        """Perform an action in the active tab, wait until the page has settled, and invalidate the view; see `Context.act`."""
        self._check_started()
        self._check_no_dialog()
        self._acted_view, self._view = self._view, None
        self._run(self._context.act(action, names_window=names_window))

    def _answer_dialog(self, *, accept: bool) -> None:
        self._view = None
        self._run(self._context.answer(accept=accept))

    def _act_on_element(
        self,
        element: HtmlElement,
        action: "Callable[[ElementHandle], Awaitable[object]]",
        operation: str = "",
        argument: object = None,
    ) -> None:
        """Perform `operation` of hand.js on an element if possible, otherwise call `action` with its Playwright handle."""

        async def act(tab: Tab, location: NodeLocation) -> None:
            if not (operation and await hand.act_by_script(tab, *location, operation, argument)):
                async with tab.drawing():
                    await action(await hand.element_handle(*location))

        self._act_at([element], act)

    def _act_with_mouse(
        self,
        element: HtmlElement,
        action: "Callable[[ElementHandle, Position | None], Awaitable[object]]",
        operation: str = "",
        *,
        watches_validation: bool = False,
        names_window: bool = False,
    ) -> None:
        """Perform `operation` of hand.js on an element if possible, otherwise call `action(handle, position)` for its click point."""

        async def act(tab: Tab, location: NodeLocation) -> None:
            if not (operation and await hand.act_by_script(tab, *location, operation)):
                async with tab.drawing(), hand.watch_validation(tab, location[0]) if watches_validation else nullcontext():
                    if operation == "click" and (point := await hand.click_at_once(tab, *location)):
                        tab.mouse = point if self._for_pictures else tab.mouse
                        return
                    handle, at = await hand.click_point(*location)
                    if self._for_pictures:
                        await hand.record_mouse(tab, handle, at)
                    await action(handle, at)

        self._act_at([element], act, names_window=names_window)

    def _act_at(
        self, elements: Sequence[HtmlElement], action: Callable[..., Awaitable[object]], *, names_window: bool = False
    ) -> None:
        """Call `action(tab, *locations)` for elements of the view; see `_act`.

        If scripts have replaced one of them since the view was read, repeat the action once with the controls that have replaced them.
        Raises ActionError if these are ambiguous.
        """
        view = self._view
        locations = [location_of(element, view) for element in elements]
        try:
            self._act(lambda tab: action(tab, *locations), names_window=names_window)
        except StaleElementError:
            self._run(self._context.until_dialog(self._tab.settle()))
            current = self._current_view()
            replacements = [None if view is None else counterpart(element, view.page, current.page) for element in elements]
            locations = [current.locations[element] for element in replacements if element is not None]
            if len(locations) < len(elements):
                raise
            self._act(lambda tab: action(tab, *locations), names_window=names_window)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Raise ActionError if an action within the context did not send a form because Chromium found a field invalid."""
        tab = self._tab
        tab.invalid_field = None
        yield
        invalid = tab.invalid_field
        if invalid is None:
            return
        locations = {} if self._acted_view is None else self._acted_view.locations
        field = next((element for element, location in locations.items() if location == invalid.location), None)
        if field is None:
            raise ActionError(f"the form was not sent: {invalid.message}")
        raise forms.refusal(field, constraints.problem_text(field, invalid.flag) or invalid.message)

    def _select_option(self, select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> None:
        options, selection = list(select.iter("option")), forms.selection_after(select, option, toggle=toggle)
        indices = [index for index, item in enumerate(options) if item in selection]

        async def choose(handle: "ElementHandle") -> None:
            await handle.focus()  # first, as the selection may navigate or replace the list
            await handle.select_option(index=indices, timeout=ACTION_MS)

        self._act_on_element(select, choose, "select", indices)

    def _traverse(self, distance: int, problem: str) -> None:
        self._check_started()
        self._check_no_dialog()
        self._view = None
        if not self._run(self._context.traverse(distance)):
            raise ActionError(problem)

    def _current_view(self) -> PageView:
        self._check_started()
        if self._view is None or (self._view.scripted and self._tab.time is None):
            self._view = self._run(PageView.of(self._context, self._view))
        return self._view

    @property
    def _tab(self) -> Tab:
        self._check_started()
        return self._context.tab

    def _check_open(self) -> None:
        if self._closed:
            raise BrowserError("the browser was closed")

    def _check_no_dialog(self) -> None:
        if self._context.dialog_signals:
            raise ActionError(_DIALOG_OPEN)

    def _check_started(self) -> None:
        self._check_open()
        if not self._context.tabs:
            raise BrowserError("the browser has no page yet: call start first")

    def _clear_notices(self) -> None:
        """Drop the messages of earlier actions, also if the next action is refused."""
        self._tab.signals.notices.clear()
        if self._view is not None:
            page = self._view.page
            self._view = self._view._replace(
                page=replace(page, notices=tuple(file_notices(page.root, self._context.files, is_open=False)))
            )

    def _check_visible(self, element: HtmlElement) -> None:
        location_of(element, self._view)
        self._clear_notices()
        forms.check_visible(element)
