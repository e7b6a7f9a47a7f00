"""A browser for server-rendered pages: it calls WSGI applications in the same process and parses pages with lxml.

It implements links, forms, tabs, history, focus and cookies as HTML specifies them. It has no scripts, frames, layout or HTTP cache; of
style sheets, it applies what hides and shows elements. Going back shows the page as it was received, with the form values that Chromium would restore.
"""

from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.actions import Action
from webarena_gym.browsers import forms, top_layer
from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.cookies import Cookie, CookieJar
from webarena_gym.browsers.document import TEXT, Document, SavedDocument, SavedTab, original_tree
from webarena_gym.browsers.history import HistoryEntry, OpenTab
from webarena_gym.browsers.http import (
    BLANK_PAGE,
    BLANK_URL,
    NEEDS_SCRIPTS,
    Client,
    LoadedPage,
    Request,
    failure_page,
    is_web,
    origin_of,
    referrer_policy,
    resolve_url,
    typed_url,
    without_fragment,
)
from webarena_gym.browsers.style_loader import StyleLoader
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages import constraints, dom, focus, navigables
from webarena_gym.pages.input_values import sanitize_value
from webarena_gym.pages.page import Network, Page, Tab, Traffic
from webarena_gym.pages.reading import is_interactive

_Trigger = Literal["address", "link", "form", "refresh", "replace"]
"""Cause of a navigation; "replace" is a refresh that replaces the page in the history."""
_WAIT_MS, _MAX_WAIT_MS = 3000.0, 10_000.0  # of the action wait, without and with a time, as in Chromium
_MAX_REFRESHES = 10  # pages in a row that lead on at once


class Snapshot(NamedTuple):
    """The picklable state of an InProcessBrowser."""

    tabs: tuple[SavedTab, ...]
    active_tab: int
    cookies: tuple[Cookie, ...]
    downloads: Mapping[str, bytes] = MappingProxyType({})


class InProcessBrowser:
    """A browser whose sites are WSGI applications in the same process.

    Args:
        network: the sites; no other host exists for the browser.
        strict: style sheets decide which elements are hidden. Without it they are not loaded.

    """

    def __init__(self, network: Network, *, strict: bool = False) -> None:
        self._client = Client(network)
        self._styles = StyleLoader(self._client) if strict else None
        self._closed = False
        self._tabs: list[OpenTab] = []
        self._active = 0
        self._groups = 0  # browsing context groups so far

    def start(self, urls: Sequence[str], cookies: Mapping[str, Mapping[str, str]], *, storage: Storage = NO_STORAGE) -> None:  # noqa: ARG002 - no scripts
        self._check_open()
        self._client.cookies, self._client.downloads = CookieJar.from_hosts(cookies), {}
        self._tabs, self._groups = [], 0
        if self._styles is not None:
            self._styles.clear()
        for url in urls or [BLANK_URL]:
            self.new_tab(url)
        self._active = 0

    def page(self) -> Page:
        entry = self._tab.entry
        tree = entry.document.tree
        files = self._client.files if tree.takes_files else ()
        file_notices: tuple[str, ...] = ()
        if files and forms.chooser_notice(files) not in self._client.notices:
            file_notices = (f"File fields take files by their names; {forms.available_files(files)}",)
        return Page(
            url=entry.url,
            title=tree.title,
            root=tree.root,
            tabs=tuple(Tab(tab.entry.document.tree.title, tab.entry.url) for tab in self._tabs),
            active_tab=self._active,
            focused=entry.document.focused,
            notices=(*self._client.notices, *tree.notices(self._is_reachable), *file_notices),
            cache=tree.cache,
        )

    @property
    def has_failed(self) -> bool:
        url, document = self._tab.entry
        return document.html in (failure_page(url), failure_page(url, too_many_redirects=True))

    @property
    def traffic(self) -> Traffic | None:
        return None

    def new_tab(self, url: str = BLANK_URL) -> None:
        self._check_open()
        request = Request(typed_url(url))
        self._open_tab(self._loaded_entry(LoadedPage(BLANK_URL, BLANK_PAGE)))
        self._navigate(request, "address")

    def switch_tab(self, index: int) -> None:
        if self._tab and not 0 <= index < len(self._tabs):
            raise ActionError(f"there is no tab {index}; the open tabs are 0 to {len(self._tabs) - 1}")
        self._active = index
        self._client.notices.clear()

    def close_tab(self) -> None:
        self._tabs.remove(self._tab)
        self._client.notices.clear()
        self._active = max(0, self._active - 1)
        if not self._tabs:
            self.new_tab()

    def goto(self, url: str) -> None:
        self._navigate(Request(typed_url(url)), "address")

    def go_back(self) -> None:
        self._traverse(-1, "there is no earlier page in this tab to go back to")

    def go_forward(self) -> None:
        self._traverse(1, "there is no later page in this tab to go forward to")

    def scroll(self, *, down: bool, to_end: bool = False) -> None:
        if to_end:  # a page without scripts loads nothing more at its end
            self._client.notices.clear()
            return
        raise BrowserError(
            f'the in-process browser has no window to scroll {"down" if down else "up"}; that needs browser="chromium"'
        )

    def wait(self, for_ms: float | None = None) -> None:
        self._client.notices.clear()
        document = self._document
        if _refresh_of(document) is not None:
            document.waited_ms += _WAIT_MS if for_ms is None else min(for_ms, _MAX_WAIT_MS)
            self._follow_refreshes()

    def screenshot(self) -> bytes:
        raise BrowserError('the in-process browser draws nothing; pictures need browser="chromium"')

    def capture(self, elements: Mapping[int, HtmlElement], picture_format: PictureFormat) -> Capture:  # noqa: ARG002 - the Protocol's
        return Capture(self.screenshot())

    def gesture(self, action: Action) -> None:  # noqa: ARG002 - the Protocol's
        raise BrowserError('the in-process browser has no window; mouse and keyboard need browser="chromium"')

    def run_script(self, expression: str) -> Any:
        raise BrowserError(f'the in-process browser runs no scripts, such as {expression!r}; that needs browser="chromium"')

    def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies."""
        return [cookie._asdict() for cookie in self._client.cookies.contents()]

    def storage(self) -> Storage:
        """Return nothing: no script runs."""
        return NO_STORAGE

    def snapshot(self) -> Snapshot:
        self._check_open()
        client = self._client
        return Snapshot(tuple(tab.save() for tab in self._tabs), self._active, client.cookies.contents(), {**client.downloads})

    def restore(self, snapshot: object) -> None:
        self._check_open()
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"expected a snapshot of the in-process browser, got {type(snapshot).__name__}")
        self._tabs = [OpenTab.from_saved(saved) for saved in snapshot.tabs]
        self._active = snapshot.active_tab
        self._groups = max((tab.group for tab in self._tabs), default=0)
        self._client.cookies, self._client.downloads = CookieJar(snapshot.cookies), {**snapshot.downloads}

    def close(self) -> None:
        self._closed = True
        self._tabs = []

    def right_click(self, element: HtmlElement) -> None:
        self._check_element(element)
        element = self._point_at(element)
        forms.usable_click_target(element)
        self._document.focus(forms.focusable_ancestor(element))

    def hover(self, element: HtmlElement) -> None:
        self._check_element(element)
        self._point_at(element)

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        self._check_element(element)
        self._check_element(target)
        self._reject_scripted(element)
        raise ActionError(f"dragging {forms.describe(element)} does nothing: the page has no scripts")

    def click(self, element: HtmlElement) -> None:
        self._check_element(element)
        element, document = self._point_at(element), self._document
        if document.has_top_layer or document.tree.dismissible_dialogs:
            forms.usable_click_target(element)
            top_layer.light_dismiss(document, element)
            element = document.current(element)
        self._click(element, is_mouse=True)

    def type(self, element: HtmlElement, text: str, *, enter: bool = False) -> None:
        self._check_element(element)
        if dom.element_type(element) == "file":
            self._choose_file(element, text)
            return
        self._fill(element, text)
        if enter:
            self.press("Enter")

    def select(self, element: HtmlElement, option: str) -> None:
        self._check_element(element)
        if dom.element_type(element) == "file":
            self._choose_file(element, option, add=True)
            return
        self._select_option(element, forms.find_option(element, option))
        self._document.focus(element)

    def press(self, key: str, element: HtmlElement | None = None) -> None:
        forms.check_key(key)
        self._client.notices.clear()
        if element is not None:
            self._check_element(element)
            if (focusable := forms.focusable_ancestor(element)) is not None:
                self._document.focus(focusable)
        focused = self._document.focused
        forms.check_key_effect(key, focused, self._document.root)
        if focused is not None and (choice := forms.choice_by_key(key, focused)) is not None:
            if choice.tag == "option":
                self._select_option(focused, choice)
            else:  # another radio button of the group
                self._click(choice)
        elif key == "Escape" and not forms.clears_search(key, focused) and top_layer.close_request(self._document):
            return
        elif key in {"Tab", "Shift+Tab"}:
            self._move_focus(backwards=key != "Tab")
        elif (details := forms.details_by_key(key, focused)) is not None:
            self._toggle_by_key(details, focused, key)
        elif focused is None:
            return
        elif key != "Enter":
            if dom.element_type(focused) in dom.TYPEABLE_TYPES:
                self._edit(focused, key)
            elif key in {" ", "Space"}:
                self._click(focused)
        elif dom.element_type(focused) == "textarea":
            self._edit(focused, "\n")
        elif focused.tag not in {"input", "select"} or dom.element_type(focused) in dom.BUTTON_TYPES:
            self._click(focused)
        elif (form := dom.form_owner(focused)) is not None:
            self._submit(form, forms.default_button(form))

    def _toggle_by_key(self, details: HtmlElement, focused: HtmlElement | None, key: str) -> None:
        """Open or close the details of a summary in which a key was pressed; a text field in it takes the key, too."""
        if focused is not None and dom.element_type(focused) in dom.TYPEABLE_TYPES:
            self._edit(focused, key)
        _toggle_details(self._document, self._document.current(details))

    def _move_focus(self, *, backwards: bool) -> None:
        document = self._document
        stop = focus.next_tab_stop(document.root, document.tab_start, backwards=backwards)
        document.focus(stop, selected=True)
        if stop is None:  # the focus has left the page, and comes back at its other end
            document.reset_tab_start()

    def _edit(self, field: HtmlElement, key: str) -> None:
        """Apply a key to the text of a field. Either all text is selected or the caret is at its end."""
        text = self._text_before_caret(field)
        if addition := "\n" if key == "\n" else forms.key_text(key):
            self._fill(field, text + addition, prefix=len(text))
        elif key == "Backspace" or (key == "Delete" and self._document.is_selected):
            rest = "" if self._document.is_selected else forms.text_after_backspace(field)
            self._fill(field, rest, prefix=len(rest))
        elif key == "Escape":
            self._fill(field, "")
        elif key in {"Control+A", "ControlOrMeta+A"}:
            self._document.focus(field, selected=True)

    def _text_before_caret(self, field: HtmlElement) -> str:
        """Return the text that precedes the next typed character: "" if all text is selected and will be replaced."""
        return "" if self._document.is_selected else dom.control_value(field)

    def _click(self, element: HtmlElement, *, is_mouse: bool = False) -> None:
        document = self._document
        target = forms.usable_click_target(element)
        clicked = element if target is None or target in element.iterancestors() else target
        focusable = forms.focusable_ancestor(clicked)
        document.focus(focusable, tab_start=element if focusable is None else None)
        if target is None:
            if dom.is_closed_details(element) and dom.summary_of(element) is None:
                _toggle_details(document, document.current(element))
            elif is_interactive(element):
                self._reject_scripted(element)
            return
        if dom.is_link(target):
            # https://html.spec.whatwg.org/multipage/embedded-content.html#attr-img-ismap; without a layout, the point is 0,0.
            image = next(target.iter("img"), None) if is_mouse else None
            is_hit = image is not None and "ismap" in image.attrib and (element is image or not target.text_content().strip())
            self._follow_link(target, suffix="?0,0" if is_hit else "")
        elif target.tag == "summary":
            _toggle_details(document, target.getparent())
        elif target.tag == "option":
            for select in target.iterancestors("select"):
                forms.check_enabled(select)
                self._select_option(select, target, toggle=True)
        else:
            self._activate(target)

    def _activate(self, control: HtmlElement) -> None:
        type_name = dom.element_type(control)
        if type_name == "file":
            self._client.notices.append(forms.chooser_notice(self._client.files))
        elif type_name == "checkbox":
            self._document.write((control, "checked", None if "checked" in control.attrib else "checked"))
        elif type_name == "radio":
            group = dom.radio_group(control)
            self._document.write(*((radio, "checked", "checked" if radio is control else None) for radio in group))
        elif type_name in dom.BUTTON_TYPES:
            form = dom.form_owner(control)
            if form is not None and type_name in dom.SUBMIT_TYPES:
                self._submit(form, control)
            elif form is not None and type_name == "reset":
                members = {element for part in dom.form_controls(form) for element in (part, *part.iter("option"))}
                keeping = [
                    part
                    for part in members
                    if dom.USER_VALIDITY in part.attrib and dom.element_type(part) in dom.CHECKABLE_TYPES
                ]
                self._document.restore_defaults(members.__contains__)
                self._document.write(*((part, dom.USER_VALIDITY, "") for part in keeping))  # as in Chromium
            elif not top_layer.run_command(self._document, control):
                self._reject_scripted(control)

    def _choose_file(self, field: HtmlElement, name: str, *, add: bool = False) -> None:
        names = forms.file_selection(field, name, self._client.files, add=add)
        if focus.is_focusable(field):
            self._document.focus(field)
        self._document.write((field, "value", ", ".join(names)))

    def _reject_scripted(self, element: HtmlElement) -> None:
        """Raise ActionError if the page has scripts, for an element that could only work with a script."""
        if self._document.tree.is_scripted:
            raise ActionError(f"{forms.describe(element)} does nothing here: {NEEDS_SCRIPTS}")

    def _select_option(self, select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> None:
        selection = forms.selection_after(select, option, toggle=toggle)
        self._document.write(*((item, "selected", "selected" if item in selection else None) for item in select.iter("option")))

    def _fill(self, element: HtmlElement, text: str, *, prefix: int = 0) -> None:
        text, document = forms.text_after_typing(element, text, prefix=prefix), self._document
        if (
            element.tag == "input" and dom.element_type(element) != "url"
        ):  # Chromium keeps blanks that are typed around an address
            default_value = document.value_before_edit(element)
            text = sanitize_value(element, text, element.get("value") if default_value is None else default_value)
        document.focus(element)
        if element.tag == "textarea":
            document.write((element, TEXT, text), is_edit=not prefix)
        elif text or "value" in element.attrib:
            document.write((element, "value", text), is_edit=not prefix)

    def _traverse(self, distance: int, problem: str) -> None:
        before = self._document
        self._client.notices.clear()
        if not self._tab.traverse(distance):
            raise ActionError(problem)
        entry = self._tab.entry
        is_first = entry.document.mark_revisited()
        if entry.document is before:
            before.set_target(_fragment_target(entry))
            if is_first and "#" in entry.url:  # only once, as in Chromium
                _scroll_to_fragment(entry)
            elif is_first:
                before.focus(before.focused, selected=before.is_selected, tab_start=before.root)
        else:  # the page returns with most of its form values, but without its focus
            entry.document.restore_defaults(forms.is_reset_on_leave)
            entry.document.write(*forms.restored_times(entry.document.root))
            entry.document.write(
                *((control, dom.USER_VALIDITY, None) for control in entry.document.root.iterfind(f".//*[@{dom.USER_VALIDITY}]"))
            )
            entry.document.waited_ms = 0.0
            entry.document.focus(None if _fragment_target(entry) is not None else entry.document.tree.first_focused)
            entry.document.reset_tab_start()
            self._follow_refreshes()

    def _follow_link(self, link: HtmlElement, suffix: str = "") -> None:
        here, document = self._tab.entry
        url = self._resolve(link.get("href")) + suffix
        if not (url == BLANK_URL or is_web(url)):
            if not url or url.lower().startswith("javascript:"):
                self._reject_scripted(link)
            return
        is_download = "download" in link.attrib and origin_of(url) == origin_of(here)
        if "noreferrer" in link.get("rel", "").lower().split():
            link_policy = "" if is_download else "no-referrer"  # as in Chromium, which then also ignores `referrerpolicy`
        else:
            link_policy = link.get("referrerpolicy", "").lower()
        policy = referrer_policy(link_policy) or document.policy
        request = Request(url).sent_by(here, policy)
        if is_download:
            page = self._client.load(request, link.get("download"))
            if page is not None:  # it was redirected to another origin, and no download
                self._tab.visit(self._loaded_entry(page))
            return
        if link.get("href").strip() == "#":
            self._reject_scripted(link)
        self._navigate(request, "link", navigables.get_target(link, None, document.tree.target))

    def _submit(self, form: HtmlElement, button: HtmlElement | None) -> None:
        here, document = self._tab.entry
        if document.shows_user_validity:
            document.write(*((control, dom.USER_VALIDITY, "") for control in dom.form_controls(form)))
            form, button = document.current(form), None if button is None else document.current(button)
        invalid = constraints.interactively_validate(form, button, document.value_before_edit)
        if invalid:
            problem = constraints.problem_text(
                invalid[0], constraints.validity(invalid[0], document.value_before_edit(invalid[0]))
            )
            document.focus(next(filter(focus.is_focusable, invalid), document.focused))
            raise forms.refusal(invalid[0], problem)
        files = self._client.files if document.tree.takes_files else {}
        request = forms.form_request(form, button, here, self._resolve, files, document.encoding)
        if request is not None:
            request = request.sent_by(here, document.policy)
            self._navigate(request, "form", navigables.get_target(form, button, document.tree.target))
        elif (dialog := forms.submitted_dialog(form, button)) is not None:
            top_layer.close_dialog(document, dialog)

    def _is_reachable(self, reference: str) -> bool:
        """Return True if the address of a frame can be loaded."""
        url = self._resolve(reference)
        return is_web(url) and self._client.reaches(url)

    def _resolve(self, reference: str) -> str:
        here, document = self._tab.entry
        base = document.tree.base
        return resolve_url(resolve_url(here, base) or here if base else here, reference, document.encoding)

    def _navigate(self, request: Request, trigger: _Trigger, target: navigables.Target = navigables.Target()) -> None:  # noqa: B008 - immutable
        """Send a request and show the page in the tab that `target` names; see `navigables`.

        https://html.spec.whatwg.org/multipage/document-sequences.html#the-rules-for-choosing-a-navigable
        """
        self._client.notices.clear()
        if target.name and target.name != "_blank":
            frame = navigables.frame_named(self._document.root, target.name)
            if frame is not None:
                self._navigate_frame(frame, request)
                return
            same_group = [tab for tab in self._tabs if tab.group == self._tab.group and tab.name == target.name]
            if same_group:
                self._active = self._tabs.index(same_group[0])
                target = navigables.Target()
        tab = self._tab
        here, document = tab.entry
        same_page = without_fragment(request.url) == without_fragment(here)
        # An error page has no fragments, so its address is requested again.
        if same_page and "#" in request.url and request.method == "GET" and not target.name and not self.has_failed:
            tab.visit(HistoryEntry(request.url, document), replace=request.url == here and trigger == "link")
            _scroll_to_fragment(tab.entry)
            return
        result = self._client.load(request._replace(referrer="") if target.name and not target.sends_referrer else request)
        if result is None:
            return
        if target.name:
            self._open_tab(self._loaded_entry(result), target)
        else:
            is_initial_page = tab.position == 0 and here == BLANK_URL
            replaces = trigger == "replace" or is_initial_page or (trigger != "form" and request.url == here)
            tab.visit(self._loaded_entry(result), replace=replaces)
        if trigger not in ("refresh", "replace"):
            self._follow_refreshes()

    def _navigate_frame(self, frame: HtmlElement, request: Request) -> None:
        """Load a page in a frame, which the page text does not show."""
        page = self._client.load(request)
        if page is not None:
            self._client.notices.append(
                f"The frame {frame.get('name')} has opened {page.url}, which the in-process browser does not show."
            )
            if navigables.has_document(frame):
                self._tab.visit(self._tab.entry)

    def _follow_refreshes(self) -> None:
        """Open the page to which the current one leads by itself once its time has come, without an end for at most some pages."""
        for _ in range(_MAX_REFRESHES):
            here, document = self._tab.entry
            refresh = _refresh_of(document)
            if refresh is None or 1000 * refresh.delay_s > document.waited_ms:
                return
            url = self._resolve(refresh.reference) if refresh.reference else here
            document.waited_ms = -inf  # a refresh happens once
            if url == BLANK_URL or is_web(url):
                request = Request(url).sent_by(here, document.policy)
                self._navigate(request, "replace" if refresh.delay_s <= 1 else "refresh")

    def _loaded_entry(self, page: LoadedPage) -> HistoryEntry:
        """Return a history entry for a page in its state after loading."""
        saved = SavedDocument(page.html, policy=page.policy, refresh=page.refresh, encoding=page.encoding)
        if self._styles is not None:
            tree = original_tree(page.html)
            base = resolve_url(page.url, tree.base) or page.url
            saved = saved._replace(sheet=self._styles.styles_of(tree.root, base, tree.policy or page.policy))
        entry = HistoryEntry(page.url, Document(saved))
        if _fragment_target(entry) is None:
            entry.document.focus(entry.document.tree.first_focused)
        else:
            _scroll_to_fragment(entry)
        return entry

    def _open_tab(self, entry: HistoryEntry, target: navigables.Target = navigables.Target(is_detached=True)) -> None:  # noqa: B008 - immutable
        if target.is_detached:
            self._groups += 1
            self._tabs.append(OpenTab([entry], group=self._groups))
        else:
            name = "" if target.name == "_blank" else target.name
            self._tabs.append(OpenTab([entry], name=name, group=self._tab.group))
        self._active = len(self._tabs) - 1

    @property
    def _tab(self) -> OpenTab:
        if not self._tabs:
            self._check_open()
            raise BrowserError("the browser has no page yet: call start first")
        return self._tabs[self._active]

    @property
    def _document(self) -> Document:
        return self._tab.entry.document

    def _check_open(self) -> None:
        if self._closed:
            raise BrowserError("the browser was closed")

    def _point_at(self, element: HtmlElement) -> HtmlElement:
        """Move the mouse over an element, and return it in the tree that this leads to."""
        self._document.hover(element)
        return self._document.current(element)

    def _check_element(self, element: HtmlElement) -> None:
        if element.getroottree().getroot() is not self._document.root:
            raise ActionError(f"{forms.describe(element)} is no longer on the page")
        self._client.notices.clear()
        forms.check_visible(element)


def _refresh_of(document: Document) -> navigables.Refresh | None:
    """Return the refresh of a document, by its header or a `meta` element."""
    contents = ([document.refresh] if document.refresh else []) + list(document.tree.refreshes)
    return navigables.shared_declarative_refresh(contents) if contents else None


def _toggle_details(document: Document, details: HtmlElement) -> None:
    """Close a `details` element, or open it and close the others of its group."""
    if "open" in details.attrib:
        document.write((details, "open", None))
    else:
        document.write((details, "open", "open"), *((other, "open", None) for other in dom.details_group(details)))


def _fragment_target(entry: HistoryEntry) -> HtmlElement | None:
    """Return the element that the URL's fragment refers to, literally or percent-encoded; None for the top of the page."""
    root, fragment = entry.document.root, entry.url.partition("#")[2]
    for name in (fragment, unquote(fragment)) if fragment else ():
        target = root.get_element_by_id(name, None)
        if target is None:
            target = next((anchor for anchor in root.iter("a") if anchor.get("name") == name), None)
        if target is not None:
            return target
    return None


def _scroll_to_fragment(entry: HistoryEntry) -> None:
    """Go to the fragment's target, if any: reveal it, focus it if possible, and continue tabbing there.

    https://html.spec.whatwg.org/multipage/browsing-the-web.html#scroll-to-the-fragment-identifier
    """
    document = entry.document
    document.set_target(_fragment_target(entry))
    target = _fragment_target(entry)
    if target is None:
        return
    for part in (target, *target.iterancestors()):
        if part.get("hidden", "").lower() == "until-found":
            document.write((part, "hidden", None))
        details = part.getparent()
        if details is not None and dom.is_closed_details(document.current(details)) and part is not dom.summary_of(details):
            _toggle_details(document, document.current(details))
    target = document.current(target)  # a write replaces the tree
    document.focus(target if focus.is_focusable(target) else None, tab_start=target)
