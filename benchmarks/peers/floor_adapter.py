"""The adapter of the floor, the smallest possible step of a browser: `python -m benchmarks.peers.floor_adapter CHROMIUM`.

Playwright is connected to one Chromium. A step is one script that acts in the page, the page's load if there is one (the recording
contains this), and one evaluate that returns the page's HTML. There are no checks that an element can be used, no tree, no ids, no history.
"""

import sys
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.peers.lines import USABLE, StepResult, Watch, serve

_ACT = """([usable, kind, index, argument]) => {
  const element = document.querySelectorAll(usable)[index];
  if (kind === "Select Dropdown Option") {
    element.selectedIndex = [...element.options].findIndex((option) => option.text.trim() === argument);
    element.dispatchEvent(new Event("change", {bubbles: true}));
  } else if (kind === "Type" || kind === "Search") {
    element.value = argument;
    element.dispatchEvent(new Event("input", {bubbles: true}));
    if (kind === "Search") element.form.requestSubmit();
  } else element.click();
}"""
_READ = "document.documentElement.outerHTML"


class Floor:
    """Contexts of one Chromium, one for each env."""

    def __init__(self, chromium: str) -> None:
        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        self._pages: dict[int, Page] = {}

    def reset(self, env: int, episode: dict[str, Any]) -> StepResult:
        watch = Watch()
        if env in self._pages:
            self._pages[env].context.close()
        page = self._pages[env] = self._chromium.new_context().new_page()
        page.goto(episode["url"])
        page.evaluate(_READ)
        return StepResult(watch.ms(), page.url)

    def step(self, env: int, step: dict[str, Any]) -> StepResult:
        page, what = self._pages[env], [USABLE, step["kind"], step["index"], step["argument"]]
        watch = Watch()
        if step["loads"]:
            with page.expect_event("load"):
                page.evaluate(_ACT, what)
        else:
            page.evaluate(_ACT, what)
        page.evaluate(_READ)
        return StepResult(watch.ms(), page.url)

    def close(self) -> None:
        self._chromium.close()
        self._playwright.stop()


if __name__ == "__main__":
    serve(Floor(sys.argv[1]))
