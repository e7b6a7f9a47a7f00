"""Responses of the sites to a browser context: those to requests for documents are recorded, and replayed in a restored session."""

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.gate import HttpResponse, RequestHandler, as_shown, has_script, is_document

if TYPE_CHECKING:
    from playwright.async_api import CDPSession


class Responses:
    """The responses to the documents of a context, and what its requests reveal of it.

    Args:
        serve: handler of the sites.
        load_images: False to forbid images.
        on_empty: called when a site sends no content in place of a document.

    Attributes:
        documents: the last response to each requested document, by address.
        replays: recorded responses that replace the next ones, by address.
        ran_scripts: True if scripts may have run, which can store more state than cookies.
        count: number of responses in all sessions.

    """

    def __init__(self, serve: RequestHandler | None, on_empty: Callable[[], None], *, load_images: bool = True) -> None:
        self._serve, self._on_empty, self._load_images = serve, on_empty, load_images
        self._empty_urls: Counter[str] = Counter()  # addresses of documents without content since the start of the last action
        self.count = 0
        self.clear()

    def clear(self) -> None:
        """Forget all responses, for a new session."""
        self.documents: dict[str, HttpResponse] = {}
        self.replays: dict[str, HttpResponse] = {}
        self._redirects: dict[str, str] = {}  # of documents
        self.ran_scripts = False

    def start_action(self) -> None:
        """Count documents without content from zero."""
        self._empty_urls.clear()

    def serve(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Return the response to a request. Documents are recorded, so that a restored session can show them again."""
        assert self._serve is not None
        self.count += 1
        replay = self.replays.pop(url, None) if is_document(headers) else None
        response = replay or as_shown(self._serve(method, url, headers, body), headers)
        self.ran_scripts = self.ran_scripts or has_script(response.body)
        if is_document(headers):
            self._record(url, response)
        if not self._load_images:
            return response._replace(headers=[*response.headers, ("Content-Security-Policy", "img-src 'none'")])
        return response

    def _record(self, url: str, response: HttpResponse) -> None:
        location = next((value for name, value in response.headers if name.lower() == "location"), None)
        if response.status in {204, 205, 304}:
            self._empty_urls[url] += 1
            self._on_empty()
        elif response.status in range(300, 400) and location is not None:
            self._redirects[url] = urljoin(url, location).partition("#")[0]
        if response.status not in range(300, 400):
            self.documents[url] = response

    def count_empty(self, windows: Iterable[str]) -> int:
        """Return the number of windows, given by their requested addresses, for which a site has sent no content since `start_action`."""
        return sum(min(count, self._empty_urls[url]) for url, count in Counter(map(self._final_url, windows)).items())

    def _final_url(self, url: str) -> str:
        """Return the address to which the request for a document has been redirected."""
        url, known = url.partition("#")[0], set()
        while url in self._redirects and url not in known:
            known.add(url)
            url = self._redirects[url]
        return url


@asynccontextmanager
async def responding_with(response: HttpResponse, session: "CDPSession") -> AsyncIterator[None]:
    """Fulfil a tab's document requests within the context with this response, bypassing cache and servers."""
    parameters = {
        "responseCode": response.status,
        "responseHeaders": [{"name": name, "value": value} for name, value in response.headers if name.lower() != "set-cookie"],
        "body": base64.b64encode(response.body).decode(),
    }
    tasks: list[asyncio.Task[Any]] = []

    def fulfil(event: dict[str, Any]) -> None:
        request = {"requestId": event["requestId"], **parameters}
        tasks.append(asyncio.ensure_future(session.send("Fetch.fulfillRequest", request)))

    session.on("Fetch.requestPaused", fulfil)
    await session.send("Fetch.enable", {"patterns": [{"resourceType": "Document"}]})
    try:
        yield
    finally:
        session.remove_listener("Fetch.requestPaused", fulfil)
        with suppress(PlaywrightError):
            await session.send("Fetch.disable")
        await asyncio.gather(*tasks, return_exceptions=True)
