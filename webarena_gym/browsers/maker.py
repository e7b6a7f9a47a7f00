"""Makes the browsers of an env, by its keywords `browser`, `viewport`, `bbox` and `render_mode`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webarena_gym.browsers import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.pages.network import Network

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium import ChromiumBrowser

BrowserKind = Literal["inprocess", "chromium"]


@dataclass(frozen=True)
class BrowserMaker:
    """Makes browsers of one kind. All but the kind is about Chromium.

    Args:
        kind: "inprocess" or "chromium".
        headless: whether there is no window to look at.
        windowed: whether a page is what its window shows of it, and not the whole document.
        boxes: whether elements are stamped with their bounding boxes.
        records: whether the traffic is recorded.

    """

    kind: BrowserKind
    headless: bool
    windowed: bool
    boxes: bool
    records: bool

    def for_sites(self, network: Network) -> Browser:
        """Return a browser on the embedded sites of one env."""
        if self.kind == "inprocess":
            return InProcessBrowser(network)
        return self._chromium(network, frozenset(), strict=self.windowed or self.boxes)

    def for_servers(self, hosts: frozenset[str]) -> "ChromiumBrowser":
        """Return a browser that reaches these hosts and no others; on their pages, layout decides what can be used."""
        return self._chromium(None, hosts, strict=True)

    def _chromium(self, network: Network | None, hosts: frozenset[str], *, strict: bool) -> "ChromiumBrowser":
        from webarena_gym.browsers.chromium import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

        return ChromiumBrowser(
            network, hosts=hosts, headless=self.headless, strict=strict, windowed=self.windowed, records=self.records
        )
