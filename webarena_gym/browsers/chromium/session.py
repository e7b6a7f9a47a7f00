"""What a browser context is brought back from: its tabs, its cookies and the documents that they show, as picklable values."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from webarena_gym.browsers.chromium.relay import HttpResponse

CHANGES = """() => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  const changes = [];
  elements.forEach((element, index) => {
    if (element.localName === "option") changes.push([index, element.selected]);
    else if (element.localName === "details") changes.push([index, element.open]);
    else if (["checkbox", "radio"].includes(element.type)) changes.push([index, element.checked]);
    else if (element.type !== "file" && element.type !== "hidden") changes.push([index, element.value]);
  });
  const all = [...document.querySelectorAll("*")];
  return [changes, all.indexOf(document.activeElement)];
}"""
"""A JavaScript function that returns what a person may have changed in a document, and where the focus is."""

CHANGE = """([changes, focused]) => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  for (const [index, value] of changes) {
    const element = elements[index];
    if (!element) continue;
    if (element.localName === "option") element.selected = value;
    else if (element.localName === "details") element.open = value;
    else if (["checkbox", "radio"].includes(element.type)) element.checked = value;
    else element.value = value;
  }
  const all = [...document.querySelectorAll("*")];
  if (focused >= 0 && all[focused] !== document.body) all[focused]?.focus?.();
}"""
"""A JavaScript function that makes these changes again."""


class SavedTab(NamedTuple):
    """A tab as a picklable value: its history (see `tab.History`), and what was entered on the page that it shows.

    `documents` are the pages of the history as they were answered, None where that is not known.
    """

    urls: tuple[str, ...]
    documents: tuple[HttpResponse | None, ...]
    position: int
    changes: Any


class Session(NamedTuple):
    """Everything that a ChromiumBrowser remembers, as a picklable value."""

    tabs: tuple[SavedTab, ...]
    active: int
    cookies: tuple[Mapping[str, Any], ...]
    geolocation: Mapping[str, float] | None = None
