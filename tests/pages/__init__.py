"""Pages for tests, parsed as the in-process browser parses them."""

import lxml.html

from webarena_gym.pages.page import Page, Tab


def page(html, url="http://shop.test/", tabs=None, focused=None):
    root = lxml.html.document_fromstring(html)
    title = root.findtext(".//title") or ""
    return Page(url, title, root, tuple(tabs or [Tab(title, url)]), 0, root.get_element_by_id(focused) if focused else None)
