"""The picklable state of a browser's session, and the JavaScript that reads and restores that of a document."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.chromium.gate import HttpResponse, has_script
from webarena_gym.browsers.chromium.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import FilePayload

READ_STATE = """() => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  const changes = [];
  elements.forEach((element, index) => {
    if (element.localName === "option") changes.push([index, element.selected]);
    else if (element.localName === "details") changes.push([index, element.open]);
    else if (["checkbox", "radio"].includes(element.type)) changes.push([index, element.checked]);
    else if (element.type === "file") changes.push([index, [...element.files].map(({name}) => name)]);
    else if (element.type !== "hidden") changes.push([index, element.value]);
  });
  const all = [...document.querySelectorAll("*")];
  const scrolled = all.flatMap(({scrollLeft, scrollTop}, index) => scrollLeft || scrollTop ? [[index, scrollLeft, scrollTop]] : []);
  return [changes, all.indexOf(document.activeElement), scrolled];
}"""
"""JavaScript function that returns the live state of a document: [changes of fields, index of the focused element, scroll positions]."""

RESTORE_STATE = """([changes, focused, scrolled = []]) => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  for (const [index, value] of changes) {
    const element = elements[index];
    if (!element || Array.isArray(value)) continue;
    if (element.localName === "option") element.selected = value;
    else if (element.localName === "details") element.open = value;
    else if (["checkbox", "radio"].includes(element.type)) element.checked = value;
    else element.value = value;
  }
  const all = [...document.querySelectorAll("*")];
  if (focused >= 0 && all[focused] !== document.body) all[focused]?.focus?.({preventScroll: true});
  for (const [index, left, top] of scrolled) all[index]?.scrollTo?.({left, top, behavior: "instant"});
}"""
"""JavaScript function that restores the live state returned by READ_STATE, except files."""
FIELD = '(index) => document.querySelectorAll("input, textarea, option, details")[index]'


class SavedTab(NamedTuple):
    """The picklable state of a tab: its history (see `tab.TabHistory`) and the live state of its current page.

    `documents` are the responses of the history entries, None if unknown. `changes` is the result of READ_STATE.
    """

    urls: tuple[str, ...]
    documents: tuple[HttpResponse | None, ...]
    position: int
    changes: Any
    mouse: tuple[int, int] | None = None


class Session(NamedTuple):
    """The picklable state of a ChromiumBrowser."""

    tabs: tuple[SavedTab, ...]
    active: int
    cookies: tuple[Mapping[str, Any], ...]
    geolocation: Mapping[str, float] | None = None
    downloads: Mapping[str, bytes] = MappingProxyType({})
    storage: Storage = NO_STORAGE
    elapsed_ms: float = 0.0  # virtual time since the start
    documents: int = 0  # number of documents that actions have opened, with virtual time


async def save_tab(tab: Tab) -> SavedTab:
    """Return the state of a tab."""
    history = await tab.history()
    changes = await tab.page.evaluate(READ_STATE)
    return SavedTab(tuple(history.urls), tuple(map(tab.documents.get, history.ids)), history.position, changes, tab.mouse)


def documents_of(saved: SavedTab) -> list[tuple[list[str], HttpResponse | None]]:
    """Return the documents of a tab's history: the addresses of the entries of each, and its response if it is known.

    Consecutive entries belong to one document if they differ in their fragments and the document has scripts, which build the page from the
    fragment. Other entries are opened one by one, as a navigation to a fragment moves the focus and the window.
    """
    documents: list[tuple[list[str], HttpResponse | None]] = []
    for url, response in zip(saved.urls, saved.documents, strict=True):
        urls, last = documents[-1] if documents else ([], None)
        base, mark, _ = url.partition("#")
        if (
            mark
            and response is not None
            and response is last
            and urls[-1].partition("#")[0] == base
            and has_script(response.body)
        ):
            urls.append(url)
        else:
            documents.append(([url], response))
    return documents


async def restore_tab(tab: Tab, saved: SavedTab, payloads: "Callable[[Iterable[str]], list[FilePayload]]") -> None:
    """Restore the live state of the page of a tab, which has loaded it; `payloads` returns files by their names."""
    await tab.page.evaluate(RESTORE_STATE, saved.changes)
    for index, value in saved.changes[0]:
        if isinstance(value, list) and value:
            field = (await tab.page.evaluate_handle(FIELD, index)).as_element()
            assert field is not None
            await field.set_input_files(payloads(value))
    if saved.mouse is not None:
        async with tab.drawing():
            await tab.page.mouse.move(*saved.mouse)
        tab.mouse = saved.mouse
    tab.reading = None
