"""Pages as self-contained HTML: without scripts, with style sheets and pictures as assets, and with one element marked."""

from base64 import b64encode
from collections.abc import Mapping
from copy import deepcopy
from hashlib import blake2b
from urllib.parse import urljoin

from lxml import html
from lxml.html import HtmlElement

from webarena_gym.pages.network import HostUnknownError, Network
from webarena_gym.pages.page import Page

MARK = "data-marked"
CHANCE = "data-chance"
ASSET = "data-asset"
_LEFT_OUT = ("script", "iframe", "frame", "object", "embed", "base")


class Assets:
    """Style sheets, as text, and pictures, as data URLs, each kept once under a short key."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self._keys: dict[tuple[Network, str], str | None] = {}

    def key(self, network: Network, url: str) -> str | None:
        """Return the key of what a site of the network has there; None if it has nothing."""
        if (network, url) not in self._keys:
            self._keys[network, url] = self._fetch(network, url)
        return self._keys[network, url]

    def _fetch(self, network: Network, url: str) -> str | None:
        try:
            response = network.request("GET", url)
        except HostUnknownError:
            return None
        if response.status != 200:
            return None
        kind = response.header("Content-Type").partition(";")[0]
        content = response.body.decode() if kind == "text/css" else f"data:{kind};base64,{b64encode(response.body).decode()}"
        key = blake2b(content.encode(), digest_size=6).hexdigest()
        self.contents[key] = content
        return key


_NONE: Mapping[HtmlElement, float] = {}


def write_page(
    page: Page,
    marked: HtmlElement | None,
    network: Network,
    assets: Assets,
    chances: Mapping[HtmlElement, float] = _NONE,
) -> tuple[str, list[str]]:
    """Return the page's HTML and the keys of its assets, which `data-asset` names in place of addresses.

    The marked element has the attribute `data-marked`, and those with a chance to be acted on have it in `data-chance`. The page itself
    stays as it is.
    """
    root = deepcopy(page.root)
    for original, copied in zip(page.root.iter(), root.iter(), strict=True):
        if original is marked:
            copied.set(MARK, "")
        if original in chances:
            copied.set(CHANCE, f"{chances[original]:.4f}")
    keys: dict[str, None] = {}
    for element in list(root.iter(*_LEFT_OUT, "link", "img", "meta")):
        if element.tag == "meta" and "http-equiv" not in element.attrib:
            continue
        element.attrib.pop("srcset", None)  # or a browser would take it for the picture, and has it not
        source = element.attrib.pop("src" if element.tag == "img" else "href", "")
        sheet = element.tag == "link" and "stylesheet" in element.get("rel", "").lower().split()
        key = assets.key(network, urljoin(page.url, source)) if source and (sheet or element.tag == "img") else None
        if key is not None:
            element.set(ASSET, key)
            keys[key] = None
        elif element.tag != "img":
            element.drop_tree()
    return html.tostring(root, encoding="unicode", doctype="<!DOCTYPE html>"), list(keys)
