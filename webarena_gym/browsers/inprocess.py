"""A user agent for server-rendered pages: WSGI applications answer it directly, lxml holds its pages, nothing is drawn.

It does what HTML says about links, forms, tabs, history, focus and cookies. It has no scripts, style sheets, frames, and
no cache: going back shows the page as it was answered, with what was entered but for what Chromium forgets.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.actions import Action
from webarena_gym.browsers import forms
from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.document import TEXT, Document, HistoryEntry, OpenTab, SavedDocument, SavedTab
from webarena_gym.browsers.http import (
    BLANK_PAGE,
    BLANK_URL,
    NEEDS_SCRIPTS,
    Client,
    Cookie,
    CookieJar,
    Request,
    failure_page,
    is_web,
    origin_of,
    referrer_for,
    resolve_url,
    typed_url,
    without_fragment,
)
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network, Page, Tab, Traffic
from webarena_gym.pages.reading import is_interactive


class Snapshot(NamedTuple):
    """Everything that an InProcessBrowser remembers, as a picklable value."""

    tabs: tuple[SavedTab, ...]
    active_tab: int
    cookies: tuple[Cookie, ...]
    downloads: Mapping[str, bytes] = MappingProxyType({})


class InProcessBrowser:
    """A browser whose sites are WSGI applications of the same process."""

    def __init__(self, network: Network) -> None:
        self._client = Client(network)
        self._closed = False
        self._tabs: list[OpenTab] = []
        self._active = 0

    def start(self, urls: Sequence[str], cookies: Mapping[str, Mapping[str, str]], *, storage: Storage = NO_STORAGE) -> None:  # noqa: ARG002 - no scripts
        self._check_open()
        self._client.cookies, self._client.downloads = CookieJar.of_hosts(cookies), {}
        self._tabs = []
        for url in urls or [BLANK_URL]:
            self.new_tab(url)
        self._active = 0

    def page(self) -> Page:
        entry = self._tab.entry
        notes, takes_files = entry.document.source.notes
        files = self._client.files if takes_files else ()
        told = (f"File fields take files by their names; {forms.at_hand(files)}",) if files else ()
        return Page(
            url=entry.url,
            title=entry.document.source.title,
            root=entry.document.root,
            tabs=tuple(Tab(tab.entry.document.source.title, tab.entry.url) for tab in self._tabs),
            active_tab=self._active,
            focused=entry.document.focused,
            notices=(*self._client.notices, *notes, *told),
            cache=entry.document.source.cache,
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
        self._open_tab(_loaded(BLANK_URL, BLANK_PAGE))
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
        self._travel(-1, "there is no earlier page in this tab to go back to")

    def go_forward(self) -> None:
        self._travel(1, "there is no later page in this tab to go forward to")

    def scroll(self, *, down: bool, to_end: bool = False) -> None:
        if to_end:  # which loads nothing more on a page without scripts
            return
        raise BrowserError(
            f'the in-process browser has no window to scroll {"down" if down else "up"}; that needs browser="chromium"'
        )

    def wait(self, for_ms: float | None = None) -> None:  # noqa: ARG002 - nothing is ever due
        self._client.notices.clear()
        self._tab  # noqa: B018 - which raises where there is none

    def screenshot(self) -> bytes:
        raise BrowserError('the in-process browser draws nothing; pictures need browser="chromium"')

    def capture(self, elements: Mapping[int, HtmlElement], kind: PictureFormat) -> Capture:  # noqa: ARG002 - the Protocol's
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
            raise SnapshotError(f"expected a snapshot of the in-process browser, not {type(snapshot).__name__}")
        self._tabs = [OpenTab.restored(saved) for saved in snapshot.tabs]
        self._active = snapshot.active_tab
        self._client.cookies, self._client.downloads = CookieJar(snapshot.cookies), {**snapshot.downloads}

    def close(self) -> None:
        self._closed = True
        self._tabs = []

    def right_click(self, element: HtmlElement) -> None:
        self._check(element)
        forms.usable_target(element)
        self._document.focus(forms.focusable_near(element))

    def hover(self, element: HtmlElement) -> None:
        self._check(element)

    def drag(self, element: HtmlElement, target: HtmlElement) -> None:
        self._check(element)
        self._check(target)
        self._expect_no_scripts(element)
        raise ActionError(f"dragging {forms.describe(element)} does nothing: the page has no scripts")

    def click(self, element: HtmlElement) -> None:
        self._check(element)
        self._click(element)

    def type(self, element: HtmlElement, text: str, *, enter: bool = False) -> None:
        self._check(element)
        if dom.element_type(element) == "file":
            self._choose_file(element, text)
            return
        self._fill(element, text)
        if enter:
            self.press("Enter")

    def select(self, element: HtmlElement, option: str) -> None:
        self._check(element)
        if dom.element_type(element) == "file":
            self._choose_file(element, option, beside=True)
            return
        self._choose(element, forms.find_option(element, option))
        self._document.focus(element)

    def press(self, key: str, element: HtmlElement | None = None) -> None:
        forms.check_key(key)
        self._client.notices.clear()
        if element is not None:
            self._check(element)
            self._document.focus(forms.focusable_near(element))
        focused = self._document.focused
        forms.expect_effect(key, focused)
        if (picked := forms.picked_by_key(key, focused)) is not None:
            self._click(picked)
        elif key in {"Tab", "Shift+Tab"}:
            document = self._document
            document.focus(dom.next_tab_stop(document.root, document.start, backwards=key != "Tab"), selected=True)
        elif focused is None:
            return
        elif key != "Enter":
            if dom.element_type(focused) in dom.TYPEABLE_TYPES:
                self._edit(focused, key)
            elif key in {" ", "Space"}:
                self._click(focused)
        elif dom.element_type(focused) == "textarea":
            self._fill(focused, self._held(focused) + "\n")
        elif focused.tag != "input" or dom.element_type(focused) in dom.BUTTON_TYPES:
            self._click(focused)
        elif (form := dom.form_owner(focused)) is not None:
            self._submit(form, forms.default_button(form))

    def _edit(self, field: HtmlElement, key: str) -> None:
        """Do what a key does to the text of a field, which is all selected or has the caret behind it."""
        held = self._held(field)
        if written := forms.written_by(key):
            self._fill(field, held + written)
        elif key == "Backspace" or (key == "Delete" and self._document.is_selected):
            self._fill(field, held[:-1])
        elif key in {"Control+A", "ControlOrMeta+A"}:
            self._document.focus(field, selected=True)

    def _held(self, field: HtmlElement) -> str:
        """Return what stands before what is typed next."""
        return "" if self._document.is_selected else forms.control_value(field)

    def _click(self, element: HtmlElement) -> None:
        document = self._document
        target = forms.usable_target(element)
        document.focus(forms.focusable_near(element if target is None else target))
        if target is None:
            if is_interactive(element):
                self._expect_no_scripts(element)
            return
        if dom.is_link(target):
            self._follow(target)
        elif target.tag == "summary":
            details = target.getparent()
            document.write((details, "open", None if "open" in details.attrib else "open"))
        elif target.tag == "option":
            for select in target.iterancestors("select"):
                forms.check_enabled(select)
                self._choose(select, target, toggle=True)
        else:
            self._use(target)

    def _use(self, control: HtmlElement) -> None:
        what = dom.element_type(control)
        if what == "checkbox":
            self._document.write((control, "checked", None if "checked" in control.attrib else "checked"))
        elif what == "radio":
            group = dom.radio_group(control)
            self._document.write(*((radio, "checked", "checked" if radio is control else None) for radio in group))
        elif what in dom.BUTTON_TYPES and (form := dom.form_owner(control)) is not None:
            if what in dom.SUBMIT_TYPES:
                self._submit(form, control)
            elif what == "reset":
                reset = {each for part in dom.form_controls(form) for each in (part, *part.iter("option"))}
                self._document.write_defaults(reset.__contains__)
            else:
                self._expect_no_scripts(control)
        elif what in dom.BUTTON_TYPES:
            self._expect_no_scripts(control)

    def _choose_file(self, field: HtmlElement, name: str, *, beside: bool = False) -> None:
        chosen = forms.chosen_files(field, name, self._client.files, beside=beside)
        self._document.focus(field)
        self._document.write((field, "value", ", ".join(chosen)))

    def _expect_no_scripts(self, element: HtmlElement) -> None:
        """Raise ActionError for an element that nothing but a script could bring to life, where the page has scripts."""
        if self._document.source.is_scripted:
            raise ActionError(f"{forms.describe(element)} does nothing here: {NEEDS_SCRIPTS}")

    def _choose(self, select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> None:
        chosen = forms.chosen_options(select, option, toggle=toggle)
        self._document.write(*((each, "selected", "selected" if each in chosen else None) for each in select.iter("option")))

    def _fill(self, element: HtmlElement, text: str) -> None:
        text = forms.entered_text(element, text)
        self._document.focus(element)
        self._document.write((element, TEXT if element.tag == "textarea" else "value", text))

    def _travel(self, distance: int, problem: str) -> None:
        before = self._document
        self._client.notices.clear()
        if not self._tab.travel(distance):
            raise ActionError(problem)
        entry = self._tab.entry
        is_first = entry.document.revisit()
        if entry.document is before:
            if is_first and "#" in entry.url:  # once, as Chromium does it
                _go_to_place(entry)
            elif is_first:
                before.focus(before.focused, selected=before.is_selected, start=before.root)
        else:  # most of what was entered there comes back with the page, the focus does not
            entry.document.write_defaults(forms.is_forgotten)
            entry.document.focus(None if _place(entry) is not None else entry.document.source.first_focused)
            entry.document.forget_start()

    def _follow(self, link: HtmlElement) -> None:
        url = self._resolve(link.get("href"))
        if not (url == BLANK_URL or is_web(url)):
            if not url or url.lower().startswith("javascript:"):
                self._expect_no_scripts(link)
            return
        silent = "noreferrer" in link.get("rel", "").lower().split()
        referrer = "" if silent else referrer_for(self._tab.entry.url, url)
        request = Request(url, referrer=referrer)
        if "download" in link.attrib and origin_of(url) == origin_of(self._tab.entry.url):
            self._client.load(request, link.get("download"))
            return
        if link.get("href").strip() == "#":
            self._expect_no_scripts(link)
        self._navigate(request, "link", link.get("target"))

    def _submit(self, form: HtmlElement, button: HtmlElement | None) -> None:
        forms.check_form(form, button)
        own = {} if button is None else button.attrib
        files = self._client.files if self._document.source.notes[1] else {}
        request = forms.form_request(form, button, self._tab.entry.url, self._resolve, files)
        if request is not None:
            self._navigate(request, "form", own.get("formtarget", form.get("target")))

    def _resolve(self, reference: str) -> str:
        here = self._tab.entry.url
        base = self._document.source.base
        return resolve_url(resolve_url(here, base) or here if base else here, reference)

    def _navigate(self, request: Request, way: Literal["address", "link", "form"], target: str | None = "") -> None:
        tab = self._tab
        self._client.notices.clear()
        here, document = tab.entry
        new_tab = (document.source.target if target is None else target).lower() not in {"", "_self", "_parent", "_top"}
        same_page = without_fragment(request.url) == without_fragment(here)
        # A page that says that nothing was there has no places, so it is asked for anew.
        if same_page and "#" in request.url and request.method == "GET" and not new_tab and not self.has_failed:
            tab.visit(HistoryEntry(request.url, document), replace=request.url == here and way == "link")
            _go_to_place(tab.entry)
            return
        answer = self._client.load(request)
        if answer is None:
            return
        if new_tab:
            self._open_tab(_loaded(*answer))
            return
        unused = tab.position == 0 and here == BLANK_URL
        tab.visit(_loaded(*answer), replace=unused or (way != "form" and request.url == here))

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

    def _check(self, element: HtmlElement) -> None:
        if element.getroottree().getroot() is not self._document.root:
            raise ActionError(f"{forms.describe(element)} is no longer on the page")
        self._client.notices.clear()
        forms.check_shown(element)


def _loaded(url: str, html: bytes) -> HistoryEntry:
    """Return a page as it stands when it was just loaded."""
    entry = HistoryEntry(url, Document(SavedDocument(html)))
    if _place(entry) is None:
        entry.document.focus(entry.document.source.first_focused)
    else:
        _go_to_place(entry)
    return entry


def _place(entry: HistoryEntry) -> HtmlElement | None:
    """Return the place of the page that the fragment of its URL leads to, written as it is or percent-encoded; None for the top."""
    root, fragment = entry.document.root, entry.url.partition("#")[2]
    for name in (fragment, unquote(fragment)) if fragment else ():
        found = root.get_element_by_id(name, None)
        if found is None:
            found = next((anchor for anchor in root.iter("a") if anchor.get("name") == name), None)
        if found is not None:
            return found
    return None


def _go_to_place(entry: HistoryEntry) -> None:
    """Go to the place in the page that the URL names, if any: open what is closed around it, and let keys go there if they can."""
    place = _place(entry)
    if place is None:
        return
    for details in place.iterancestors("details"):
        if dom.summary_of(details) not in place.iterancestors():
            entry.document.write((details, "open", details.get("open", "open")))
    place = _place(entry)  # writing may have given the document a tree of its own
    assert place is not None
    entry.document.focus(place if dom.is_focusable(place) else None, start=place)
