"""What a browser shows at one moment: the contract between browsers and everything that reads pages."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gymnasium.error import DependencyNotInstalled
from lxml.html import HtmlElement, tostring


class Tab(NamedTuple):
    """One open tab, as a tab strip shows it."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Page:
    """The active tab's document, with its live state, and the tab strip.

    `root` is the document as it is now, not as it was sent: what was typed stands in `value` (the text, for a textarea), what
    is ticked has `checked`, what is chosen has `selected`, and what something around it disables has `disabled`. Its elements are
    the handles that `Browser` methods take, and are valid until the next call of a method that acts. Readers must not change the
    tree. `notices` is what the browser itself had to say since the last action: dialogs, downloads, pages that take too long. In
    `readings`, readers may keep what they have made of the tree: whoever shows the same tree in the same state hands it on.
    """

    url: str
    title: str
    root: HtmlElement
    tabs: tuple[Tab, ...]
    active_tab: int
    focused: HtmlElement | None = None
    notices: tuple[str, ...] = ()
    readings: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def soup(self) -> Any:
        """Return the same document as a tree of Beautiful Soup, for agents that are scripted; it may be changed.

        Raises gymnasium's DependencyNotInstalled without the extra `soup`.
        """
        try:
            from bs4 import BeautifulSoup  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise DependencyNotInstalled("page.soup() needs Beautiful Soup: pip install 'webarena-gym[soup]'") from error
        return BeautifulSoup(tostring(self.root, encoding="unicode", method="html"), "lxml")
