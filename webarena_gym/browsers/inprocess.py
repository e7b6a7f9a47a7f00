"""A browser for server-rendered pages: it calls WSGI applications in the same process and parses pages with lxml.

It implements links, forms, tabs, history, focus and cookies as HTML specifies them. It has no scripts, style sheets, frames,
rendering or HTTP cache. Going back shows the page as it was received, with the form values that Chromium would restore.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.actions import Action
from webarena_gym.browsers import forms
from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.cookies import Cookie, CookieJar
from webarena_gym.browsers.document import TEXT, Document, HistoryEntry, OpenTab, SavedDocument, SavedTab
from webarena_gym.browsers.http import (
    BLANK_PAGE,
    BLANK_URL,
    NEEDS_SCRIPTS,
    Client,
    Request,
    failure_page,
    is_web,
    origin_of,
    referrer_policy,
    resolve_url,
    typed_url,
    without_fragment,
)
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages import constraints, dom
from webarena_gym.pages.input_values import sanitize_value
from webarena_gym.pages.page import Network, Page, Tab, Traffic
from webarena_gym.pages.reading import is_interactive


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

    """

    def __init__(self, network: Network) -> None:
        self._client = Client(network)
        self._closed = False
        self._tabs: list[OpenTab] = []
        self._active = 0

    def start(self, urls: Sequence[str], cookies: Mapping[str, Mapping[str, str]], *, storage: Storage = NO_STORAGE) -> None:  # noqa: ARG002 - no scripts
        self._check_open()
        self._client.cookies, self._client.downloads = CookieJar.from_hosts(cookies), {}
        self._tabs = []
        for url in urls or [BLANK_URL]:
            self.new_tab(url)
        self._active = 0

    def page(self) -> Page:
        entry = self._tab.entry
        notes, takes_files = entry.document.tree.notes
        files = self._client.files if takes_files else ()
        file_notices = (f"File fields take files by their names; {forms.available_files(files)}",) if files else ()
        return Page(
            url=entry.url,
            title=entry.document.tree.title,
            root=entry.document.root,
            tabs=tuple(Tab(tab.entry.document.tree.title, tab.entry.url) for tab in self._tabs),
            active_tab=self._active,
            focused=entry.document.focused,
            notices=(*self._client.notices, *notes, *file_notices),
            cache=entry.document.tree.cache,
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
        self._open_tab(_loaded_entry(BLANK_URL, BLANK_PAGE))
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
            return
        raise BrowserError(
            f'the in-process browser has no window to scroll {"down" if down else "up"}; that needs browser="chromium"'
        )

    def wait(self, for_ms: float | None = None) -> None:  # noqa: ARG002 - without scripts, no work is ever pending
        self._client.notices.clear()
        self._tab  # noqa: B018 - raises BrowserError if there is no tab

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

    def restore(self, snapshot: Any) -> None:
        self._check_open()
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"expected a snapshot of the in-process browser, got {type(snapshot).__name__}")
        self._tabs = [OpenTab.from_saved(saved) for saved in snapshot.tabs]
        self._active = snapshot.active_tab
        self._client.cookies, self._client.downloads = CookieJar(snapshot.cookies), {**snapshot.downloads}

    def close(self) -> None:
        self._closed = True
        self._tabs = []

    def right_click(self, element: HtmlElement) -> None:
        self._check_element(element)
        forms.usable_click_target(element)
        self._document.focus(forms.focusable_ancestor(element))

    def hover(self, element: HtmlElement) -> None:
        self._check_element(element)

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        self._check_element(element)
        self._check_element(target)
        self._reject_scripted(element)
        raise ActionError(f"dragging {forms.describe(element)} does nothing: the page has no scripts")

    def click(self, element: HtmlElement) -> None:
        self._check_element(element)
        self._click(element)

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
            self._document.focus(forms.focusable_ancestor(element))
        focused = self._document.focused
        forms.check_key_effect(key, focused)
        if (choice := forms.choice_by_key(key, focused)) is not None:
            self._click(choice)
        elif key in {"Tab", "Shift+Tab"}:
            document = self._document
            document.focus(dom.next_tab_stop(document.root, document.tab_start, backwards=key != "Tab"), selected=True)
        elif focused is None:
            return
        elif key != "Enter":
            if dom.element_type(focused) in dom.TYPEABLE_TYPES:
                self._edit(focused, key)
            elif key in {" ", "Space"}:
                self._click(focused)
        elif dom.element_type(focused) == "textarea":
            self._fill(focused, self._text_before_caret(focused) + "\n")
        elif focused.tag not in {"input", "select"} or dom.element_type(focused) in dom.BUTTON_TYPES:
            self._click(focused)
        elif (form := dom.form_owner(focused)) is not None:
            self._submit(form, forms.default_button(form))

    def _edit(self, field: HtmlElement, key: str) -> None:
        """Apply a key to the text of a field. Either all text is selected or the caret is at its end."""
        text = self._text_before_caret(field)
        if addition := forms.key_text(key):
            self._fill(field, text + addition)
        elif key == "Backspace" or (key == "Delete" and self._document.is_selected):
            self._fill(field, text[:-1])
        elif key in {"Control+A", "ControlOrMeta+A"}:
            self._document.focus(field, selected=True)

    def _text_before_caret(self, field: HtmlElement) -> str:
        """Return the text that precedes the next typed character: "" if all text is selected and will be replaced."""
        return "" if self._document.is_selected else dom.control_value(field)

    def _click(self, element: HtmlElement) -> None:
        document = self._document
        target = forms.usable_click_target(element)
        document.focus(forms.focusable_ancestor(element if target is None else target))
        if target is None:
            if is_interactive(element):
                self._reject_scripted(element)
            return
        if dom.is_link(target):
            self._follow_link(target)
        elif target.tag == "summary":
            details = target.getparent()
            document.write((details, "open", None if "open" in details.attrib else "open"))
        elif target.tag == "option":
            for select in target.iterancestors("select"):
                forms.check_enabled(select)
                self._select_option(select, target, toggle=True)
        else:
            self._activate(target)

    def _activate(self, control: HtmlElement) -> None:
        type_name = dom.element_type(control)
        if type_name == "checkbox":
            self._document.write((control, "checked", None if "checked" in control.attrib else "checked"))
        elif type_name == "radio":
            group = dom.radio_group(control)
            self._document.write(*((radio, "checked", "checked" if radio is control else None) for radio in group))
        elif type_name in dom.BUTTON_TYPES and (form := dom.form_owner(control)) is not None:
            if type_name in dom.SUBMIT_TYPES:
                self._submit(form, control)
            elif type_name == "reset":
                members = {element for part in dom.form_controls(form) for element in (part, *part.iter("option"))}
                self._document.restore_defaults(members.__contains__)
            else:
                self._reject_scripted(control)
        elif type_name in dom.BUTTON_TYPES:
            self._reject_scripted(control)

    def _choose_file(self, field: HtmlElement, name: str, *, add: bool = False) -> None:
        names = forms.file_selection(field, name, self._client.files, add=add)
        self._document.focus(field)
        self._document.write((field, "value", ", ".join(names)))

    def _reject_scripted(self, element: HtmlElement) -> None:
        """Raise ActionError if the page has scripts, for an element that could only work with a script."""
        if self._document.tree.is_scripted:
            raise ActionError(f"{forms.describe(element)} does nothing here: {NEEDS_SCRIPTS}")

    def _select_option(self, select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> None:
        selection = forms.selection_after(select, option, toggle=toggle)
        self._document.write(*((item, "selected", "selected" if item in selection else None) for item in select.iter("option")))

    def _fill(self, element: HtmlElement, text: str) -> None:
        text = forms.text_after_typing(element, text)
        if (
            element.tag == "input" and dom.element_type(element) != "url"
        ):  # Chromium keeps blanks that are typed around an address
            default_value = self._document.value_before_edit(element)
            text = sanitize_value(element, text, element.get("value") if default_value is None else default_value)
        self._document.focus(element)
        self._document.write((element, TEXT if element.tag == "textarea" else "value", text))

    def _traverse(self, distance: int, problem: str) -> None:
        before = self._document
        self._client.notices.clear()
        if not self._tab.traverse(distance):
            raise ActionError(problem)
        entry = self._tab.entry
        is_first = entry.document.mark_revisited()
        if entry.document is before:
            if is_first and "#" in entry.url:  # only once, as in Chromium
                _scroll_to_fragment(entry)
            elif is_first:
                before.focus(before.focused, selected=before.is_selected, tab_start=before.root)
        else:  # the page returns with most of its form values, but without its focus
            entry.document.restore_defaults(forms.is_reset_on_leave)
            entry.document.focus(None if _fragment_target(entry) is not None else entry.document.tree.first_focused)
            entry.document.reset_tab_start()

    def _follow_link(self, link: HtmlElement) -> None:
        url = self._resolve(link.get("href"))
        if not (url == BLANK_URL or is_web(url)):
            if not url or url.lower().startswith("javascript:"):
                self._reject_scripted(link)
            return
        relations = link.get("rel", "").lower().split()
        link_policy = "no-referrer" if "noreferrer" in relations else link.get("referrerpolicy", "").lower()
        policy = referrer_policy(link_policy) or self._document.policy
        request = Request(url).sent_by(self._tab.entry.url, policy)
        if "download" in link.attrib and origin_of(url) == origin_of(self._tab.entry.url):
            self._client.load(request, link.get("download"))
            return
        if link.get("href").strip() == "#":
            self._reject_scripted(link)
        self._navigate(request, "link", link.get("target"))

    def _submit(self, form: HtmlElement, button: HtmlElement | None) -> None:
        invalid = constraints.interactively_validate(form, button, self._document.value_before_edit)
        if invalid:
            problem = constraints.problem_text(
                invalid[0], constraints.validity(invalid[0], self._document.value_before_edit(invalid[0]))
            )
            self._document.focus(next(filter(dom.is_focusable, invalid), self._document.focused))
            raise forms.refusal(invalid[0], problem)
        overrides = {} if button is None else button.attrib
        files = self._client.files if self._document.tree.notes[1] else {}
        request = forms.form_request(form, button, self._tab.entry.url, self._resolve, files)
        if request is not None:
            request = request.sent_by(self._tab.entry.url, self._document.policy)
            self._navigate(request, "form", overrides.get("formtarget", form.get("target")))

    def _resolve(self, reference: str) -> str:
        here = self._tab.entry.url
        base = self._document.tree.base
        return resolve_url(resolve_url(here, base) or here if base else here, reference)

    def _navigate(self, request: Request, trigger: Literal["address", "link", "form"], target: str | None = "") -> None:
        tab = self._tab
        self._client.notices.clear()
        here, document = tab.entry
        new_tab = (document.tree.target if target is None else target).lower() not in {"", "_self", "_parent", "_top"}
        same_page = without_fragment(request.url) == without_fragment(here)
        # An error page has no fragments, so its address is requested again.
        if same_page and "#" in request.url and request.method == "GET" and not new_tab and not self.has_failed:
            tab.visit(HistoryEntry(request.url, document), replace=request.url == here and trigger == "link")
            _scroll_to_fragment(tab.entry)
            return
        result = self._client.load(request)
        if result is None:
            return
        if new_tab:
            self._open_tab(_loaded_entry(*result))
            return
        is_initial_page = tab.position == 0 and here == BLANK_URL
        tab.visit(_loaded_entry(*result), replace=is_initial_page or (trigger != "form" and request.url == here))

    def _open_tab(self, entry: HistoryEntry) -> None:
        self._tabs.append(OpenTab([entry]))
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

    def _check_element(self, element: HtmlElement) -> None:
        if element.getroottree().getroot() is not self._document.root:
            raise ActionError(f"{forms.describe(element)} is no longer on the page")
        self._client.notices.clear()
        forms.check_visible(element)


def _loaded_entry(url: str, html: bytes, policy: str = "") -> HistoryEntry:
    """Return a history entry for a page in its state after loading."""
    entry = HistoryEntry(url, Document(SavedDocument(html, policy=policy)))
    if _fragment_target(entry) is None:
        entry.document.focus(entry.document.tree.first_focused)
    else:
        _scroll_to_fragment(entry)
    return entry


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
    """Go to the fragment's target, if any: open the closed `details` around it, focus it if possible, and continue tabbing there."""
    target = _fragment_target(entry)
    if target is None:
        return
    for details in target.iterancestors("details"):
        if dom.summary_of(details) not in target.iterancestors():
            entry.document.write((details, "open", details.get("open", "open")))
    target = _fragment_target(entry)  # a write replaces the tree
    assert target is not None
    entry.document.focus(target if dom.is_focusable(target) else None, tab_start=target)
