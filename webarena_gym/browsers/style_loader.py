"""The style sheets of a page, loaded by the in-process browser."""

from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement

from webarena_gym.browsers.http import (
    HEADERS,
    REDIRECT_LIMIT,
    Client,
    Request,
    decode,
    is_web,
    redirect_request,
    redirect_target,
    resolve_url,
)
from webarena_gym.browsers.style_sheets import StyleSheet, media_matches, read_style_sheets
from webarena_gym.errors import HostUnknownError

_STYLE_HEADERS = {
    "User-Agent": HEADERS["User-Agent"],
    "Accept": "text/css,*/*;q=0.1",
    "Accept-Language": HEADERS["Accept-Language"],
}
_REFERRING = etree.XPath("//*[@style[contains(., '--') or contains(., 'var(') or contains(., 'fixed')]]")
_INERT = ("noscript", "template")  # whose style sheets do not apply where scripts run


class StyleLoader:
    """Loads the style sheets of pages, each once in an episode."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loaded: dict[str, tuple[str, str] | None] = {}  # address and text by the address that was requested

    def clear(self) -> None:
        """Begin an episode."""
        self._loaded = {}

    def styles_of(self, root: HtmlElement, base: str, policy: str) -> StyleSheet:
        """Return the rules of all style sheets of a page.

        Args:
            root: the `html` element.
            base: the address to which references in the page are relative.
            policy: the referrer policy of the page.

        """

        def load(address: str, reference: str) -> tuple[str, str] | None:
            url = resolve_url(address, reference)
            if is_web(url) and url not in self._loaded:
                self._loaded[url] = self._request(Request(url).sent_by(address, policy))
            return self._loaded.get(url)

        sources = ((base, source) if is_text else load(base, source) for source, is_text in _sources(root))
        inline = ";".join(element.get("style") for element in _REFERRING(root))
        return read_style_sheets(filter(None, sources), load, inline)

    def _request(self, request: Request) -> tuple[str, str] | None:
        """Return the address and the text of a style sheet; None if there is none at the address."""
        for _ in range(REDIRECT_LIMIT + 1):
            try:
                response = self._client.send(request, _STYLE_HEADERS)
            except HostUnknownError:
                return None
            url = redirect_target(request.url, response)
            if url is None:
                content_type = response.header("Content-Type")
                is_sheet = not content_type or content_type.lower().startswith("text/css")
                is_loaded = 200 <= response.status < 300 and is_sheet
                return (request.url, decode(response.body, content_type, default="UTF-8")[0]) if is_loaded else None
            if not is_web(url):
                return None
            request = redirect_request(request, response, url)
        return None


def _sources(root: HtmlElement) -> Iterator[tuple[str, bool]]:
    """Yield the style sheets of a page in order: (address, False) of a linked one, (text, True) of a `style` element.

    https://drafts.csswg.org/cssom/#css-style-sheet-collections. Of sheets with titles, those with the first one are in use.
    """
    title = ""
    for element in root.iter("link", "style"):
        if not media_matches(element.get("media", "")) or any(part.tag in _INERT for part in element.iterancestors()):
            continue
        if element.get("type", "").strip().lower() not in ("", "text/css"):
            continue
        if element.tag == "style":
            yield element.text or "", True
            continue
        relations = element.get("rel", "").lower().split()
        if "stylesheet" not in relations or "alternate" in relations or "disabled" in element.attrib or not element.get("href"):
            continue
        title = title or element.get("title", "")
        if element.get("title", "") in ("", title):
            yield element.get("href"), False
