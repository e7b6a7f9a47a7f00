"""The HTTP client of the in-process browser: it follows redirects and keeps cookies until there is a page to show."""

from typing import NamedTuple

from webarena_gym.browsers import rendering, urls
from webarena_gym.browsers.cookies import CookieJar
from webarena_gym.pages.network import HostUnknownError, Network, Response

BLANK_URL = "about:blank"
_REDIRECT_LIMIT = 20


class Request(NamedTuple):
    """What a navigation asks for. `referrer` is sent as it stands; "" sends none."""

    url: str
    method: str = "GET"
    content_type: str = ""
    body: bytes = b""
    referrer: str = ""


class Client:
    """Loads pages over a network, with the cookies of one browser."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.cookies = CookieJar()

    def load(self, request: Request) -> tuple[str, bytes] | None:
        """Return the URL and the HTML at the end of all redirects; None for an answer that is no page, as a download."""
        if request.url == BLANK_URL:
            return BLANK_URL, rendering.BLANK
        for _ in range(_REDIRECT_LIMIT + 1):
            try:
                response = self._send(request)
            except HostUnknownError:
                return request.url, rendering.unreachable_page(request.url)
            location = response.header("Location")
            if response.status in {301, 302, 303, 307, 308} and location:
                url = urls.resolve(request.url, location)
                if not url:
                    return request.url, rendering.unreachable_page(location)
                request = _redirected(request, response.status, url)
            elif response.status in {204, 205} or response.header("Content-Disposition").lower().startswith("attachment"):
                return None
            else:
                return request.url, rendering.render(response)
        return request.url, rendering.failure_page(request.url, too_many_redirects=True)

    def _send(self, request: Request) -> Response:
        url = urls.without_fragment(request.url)
        headers = {"Cookie": self.cookies.header(url), "Referer": request.referrer}
        if request.method == "POST":
            headers |= {"Content-Type": request.content_type, "Origin": urls.origin(request.referrer or url)}
        sent = {name: value for name, value in headers.items() if value}
        response = self._network.request(request.method, url, sent, request.body)
        for name, value in response.headers:
            if name.lower() == "set-cookie":
                self.cookies.receive(url, value)
        return response


def _redirected(request: Request, status: int, url: str) -> Request:
    fragment = request.url.partition("#")[2]
    if fragment and "#" not in url:
        url += f"#{fragment}"
    if status in {301, 302, 303} and request.method == "POST":
        return Request(url, referrer=request.referrer)
    return request._replace(url=url)
