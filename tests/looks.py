"""Looks at the sites' pages as a person sees them, in Chromium: contrast, overflow, focus, markup, and the rules of axe-core.

`make looks` (`python -m tests.looks --pages 200`) looks at that many pages of all sites, in several layouts and at two widths, and
prints what is wrong with them. `axe-core` is taken from `node_modules`, or from the file that $AXE_CORE names.
"""

import argparse
import sys
import time
from itertools import product
from pathlib import Path
from random import Random
from urllib.parse import urlencode

from tests.crawl import Visitor, Walk, home, survey
from tests.markup import problems
from tests.needs import axe_source, opened_chromium
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import layout_of
from webarena_gym.sites.world import load_world

WIDTHS = {1280: 900, 390: 844}
"""Of the windows in which pages are looked at, in CSS pixels, with their heights: a screen and a phone."""
LAYOUTS = ((0, "content"), (1000, "content"), (3, "layout"), (8, "layout"), (1005, "layout"))
"""The worlds that pages are drawn from, and what varies in them."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_SCRIPT = (Path(__file__).parent / "looks.js").read_text(encoding="utf-8")
_DEEDS = {
    "shopping": [
        *(("checkout/cart/add/", {"product": str(number), "qty": "3"}, ()) for number in range(1, 9)),  # not what has options
        ("checkout/cart/add/", {"product": "9"}, ("checkout/cart/", "checkout/")),
        ("catalog/product_compare/add/", {"product": "2"}, ("catalog/product_compare/",)),
    ]
}
"""What is posted to a site, and the pages that are other then."""
_THEMES = ("dark", "blue", "green", "red", "gray", "light-indigo", "light-blue", "light-green", "light-red", "light-gray")
_NOWHERE = "no-such-page/at/all"
_LONGEST = 200_000  # characters of a page that is looked at: an agent may send back a book


def pages_of(site, world_seed, variation, count, seed):
    """Yield pages of a site: as its links reach them, as its forms answer odd input, and where there is nothing."""
    rng = Random(f"looks/{site}/{world_seed}/{variation}/{seed}")
    layout, world = layout_of(world_seed, variation), load_world(world_seed)
    linked = {}
    for signed_in in (True, False):
        pages = survey(site, world_seed, per_rule=1, layout=layout, signed_in=signed_in)
        linked.update((page.html, page) for page in pages if page.status == 200)
    walk = Walk(site, world_seed, seed, layout)
    answers = {}
    for _ in range(6 * count):
        walk.run(1)
        page = walk.page
        if page is not None and page.root is not None and page.html not in linked and len(page.html) < _LONGEST:
            answers[page.html] = page
    visitor = Visitor(world.open(), world, site, layout)
    others = rng.sample(list(answers.values()), min(len(answers), -(-count // 3)))
    others += [visitor.open(home(site) + _NOWHERE), *_after_deeds(site, visitor)]
    for page in (*rng.sample(list(linked.values()), min(len(linked), count - count // 3)), *others):
        yield page._replace(html=_dressed(page.html, rng)) if variation == "content" else page


def _after_deeds(site, visitor):
    """Yield pages that are empty until somebody has done something."""
    for address, values, shown in _DEEDS.get(site, ()):
        key = next(
            field.get("value") for field in visitor.open(home(site)).root.iter("input") if field.get("name") == "form_key"
        )
        body = urlencode({**values, "form_key": key}).encode()
        visitor.open(home(site) + address, "POST", body, "application/x-www-form-urlencoded")
        yield from (visitor.open(home(site) + place) for place in shown)


def _dressed(html, rng):
    """Return a page as somebody sees it who has chosen another look, one time in four."""
    if rng.random() < 0.75:
        return html
    return html.replace(' class="night-auto"', ' class="night-on"').replace(
        "<body>", f'<body class="theme-{rng.choice(_THEMES)}">'
    )


class Looker:
    """A tab of Chromium that draws pages of a site, with the site's own style sheets and pictures."""

    def __init__(self, tab):
        self.tab = tab
        self._page = self._visitor = None
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
        self.tab.set_viewport_size({"width": width, "height": WIDTHS[width]})
        self.tab.goto(page.url)

    def faults(self, page, visitor):
        """Return what is wrong with a page, by the width at which it is; 0 for its markup."""
        self.open(page, visitor)
        found = {0: wrong} if (wrong := problems(page.html)) else {}
        for width, height in WIDTHS.items():
            self.tab.set_viewport_size({"width": width, "height": height})
            if wrong := faults_of(self.tab):
                found[width] = wrong
        return found


def faults_of(tab):
    """Return what is wrong with the page that a tab shows."""
    tab.evaluate(f"() => {{ {axe_source()} }}")
    return tab.evaluate(_SCRIPT, RULES)


def look(looker, count, seed, *, sites=tuple(HOSTS), layouts=LAYOUTS):
    """Yield pages with what is wrong with them, by width: at least that many, of each site and in each layout alike."""
    share = -(-count // (len(sites) * len(layouts)))
    for (world_seed, variation), site in product(layouts, sites):
        world = load_world(world_seed)
        visitor = Visitor(world.open(), world, site, layout_of(world_seed, variation))
        for page in pages_of(site, world_seed, variation, share, seed):
            yield page, looker.faults(page, visitor)


def main():
    """Look at many pages, and print what is wrong with them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--site", choices=tuple(HOSTS), action="append", help="only these sites (may be repeated)")
    options = parser.parse_args()
    if not axe_source():
        sys.exit("axe-core is not installed: npm install --no-save axe-core")
    begin, seen, kinds = time.monotonic(), 0, {}
    with opened_chromium() as chromium:
        looker = Looker(chromium.new_page())
        for page, faults in look(looker, options.pages, options.seed, sites=options.site or tuple(HOSTS)):
            seen += 1
            for width, wrong in faults.items():
                for fault in wrong:
                    kinds.setdefault((page.host, fault), []).append(f"{page.url[:150]} at {width}")
    for (host, fault), places in kinds.items():
        print(f"{host} {fault}\n    {len(places)} times, as on {places[0]}")
    print(f"{seen} pages at {len(WIDTHS)} widths in {time.monotonic() - begin:.0f} s: {len(kinds)} faults")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
