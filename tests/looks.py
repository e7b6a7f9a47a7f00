"""Looks at the sites' pages as a person sees them, in Chromium: contrast, overflow, focus, and the rules of axe-core.

`python -m tests.looks --pages 200` looks at that many pages of all sites, in several layouts and at two widths, and prints what
is wrong with them. `axe-core` is taken from `node_modules` (`npm install --no-save axe-core`), or from the path in $AXE_CORE.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random

from tests.crawl import Page, Visitor, Walk, home, survey
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import PLAIN, layout_of
from webarena_gym.sites.world import load_world

WIDTHS = {1280: 900, 390: 844}
"""Of the windows in which pages are looked at, in CSS pixels, with their heights: a screen and a phone."""
LAYOUTS = (None, None, 3, 8, 1005)
"""The layouts that pages are drawn in, by the seed of their world; None is the plain one, which most people see."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_SCRIPT = (Path(__file__).parent / "looks.js").read_text(encoding="utf-8")
_NOWHERE = "no-such-page/at/all"
_LONGEST = 200_000  # characters of a page that is looked at: an agent may send back a book


@cache
def axe_source() -> str:
    """Return the text of axe-core; "" where it is not installed."""
    given = os.environ.get("AXE_CORE")
    places = [Path(given)] if given else [Path(__file__).parent.parent / "node_modules/axe-core/axe.min.js"]
    return next((place.read_text(encoding="utf-8") for place in places if place.is_file()), "")


def pages_of(site: str, layout_seed: int | None, count: int, seed: int) -> Iterator[Page]:
    """Yield pages of a site: as its links reach them, as its forms answer odd input, and where there is nothing."""
    rng = Random(f"looks/{site}/{layout_seed}/{seed}")
    world_seed, layout = (0, PLAIN) if layout_seed is None else (layout_seed, layout_of(layout_seed, "layout"))
    world = load_world(world_seed)
    found = {}
    for signed_in in (True, False):
        found.update((page.html, page) for page in survey(site, world_seed, per_rule=1, layout=layout, signed_in=signed_in))
    linked = list(found.values())
    walk = Walk(site, world_seed, seed, layout)
    walked = {}
    for _ in range(6 * count):
        walk.run(1)
        page = walk._page
        if page is not None and page.root is not None and page.html not in found and len(page.html) < _LONGEST:
            walked[page.html] = page
    missing = Visitor(world.open(), world, site, layout).open(home(site) + _NOWHERE)
    others = [missing, *rng.sample(list(walked.values()), min(len(walked), count // 2))][: max(1, count // 2)]
    yield from rng.sample(linked, min(len(linked), count - len(others)))
    yield from others


class Looker:
    """A tab of Chromium that draws pages of a site, with the site's own style sheets and pictures."""

    def __init__(self, tab) -> None:
        self._tab = tab
        self._page = None
        self._visitors = {}
        tab.route("**/*", self._answer)

    def _answer(self, route):
        url = route.request.url
        if url == self._page.url:
            route.fulfill(status=200, content_type="text/html; charset=utf-8", body=self._page.html.encode("utf-8", "replace"))
            return
        answer = self._visitor.ask(url)
        route.fulfill(status=answer.status, content_type=answer.header("Content-Type"), body=answer.body)

    def open(self, page, visitor, width=1280):
        """Draw a page in a window of a width."""
        self._page, self._visitor = page, visitor
        self._tab.set_viewport_size({"width": width, "height": WIDTHS[width]})
        self._tab.goto(page.url)

    def faults(self, page, visitor):
        """Return what is wrong with a page, by the width at which it is."""
        self.open(page, visitor)
        self._tab.evaluate(axe_source())
        found = {}
        for width, height in WIDTHS.items():
            self._tab.set_viewport_size({"width": width, "height": height})
            if wrong := self._tab.evaluate(_SCRIPT, RULES):
                found[width] = wrong
        return found


@contextmanager
def opened_looker():
    """Start Chromium, and end it with the context."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    from webarena_gym.browsers.chromium.driver import ARGUMENTS, find_executable  # noqa: PLC0415

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_executable(), args=list(ARGUMENTS))
        try:
            yield Looker(chromium.new_page())
        finally:
            chromium.close()


def shares(count, layouts=LAYOUTS):
    """Return how many pages of each site are looked at in each layout, so that there are at least that many: the homepage has few."""
    cases = [(site, layout) for layout in layouts for site in HOSTS]
    return {case: -(-count // len(cases)) for case in cases}


def look(count, seed, *, sites=tuple(HOSTS), layouts=LAYOUTS):
    """Yield pages with what is wrong with them, by width."""
    with opened_looker() as looker:
        for (site, layout_seed), share in shares(count, layouts).items():
            if site not in sites:
                continue
            world = load_world(layout_seed or 0)
            layout = PLAIN if layout_seed is None else layout_of(layout_seed, "layout")
            visitor = Visitor(world.open(), world, site, layout)
            for page in pages_of(site, layout_seed, share, seed):
                yield page, layout_seed, looker.faults(page, visitor)


def main():
    """Look at many pages, and print what is wrong with them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--site", choices=tuple(HOSTS), action="append", help="only these sites (may be repeated)")
    parser.add_argument("--plain", action="store_true", help="only the plain layout")
    options = parser.parse_args()
    if not axe_source():
        sys.exit("axe-core is not installed: npm install --no-save axe-core")
    begin, seen, kinds = time.monotonic(), 0, {}
    layouts = (None,) if options.plain else LAYOUTS
    for page, layout_seed, faults in look(options.pages, options.seed, sites=options.site or tuple(HOSTS), layouts=layouts):
        seen += 1
        for width, wrong in faults.items():
            for fault in wrong:
                kinds.setdefault((page.host, fault), []).append(f"{page.url[:150]} at {width}, layout {layout_seed}")
    for (host, fault), places in kinds.items():
        print(f"{host} {fault}\n    {len(places)} times, as on {places[0]}")
    print(f"{seen} pages at {len(WIDTHS)} widths in {time.monotonic() - begin:.0f} s: {len(kinds)} faults")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
