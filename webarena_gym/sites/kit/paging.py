"""Cutting a long list of rows into pages."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from webarena_gym.sites.kit.forms import whole_number
from webarena_gym.sites.kit.requests import Request

T = TypeVar("T")


class Pager:
    """The page `wanted` of a list of `total` rows, as the URL says it: `limit` rows, from row `first` on.

    `url` gives the address of another page.
    """

    def __init__(self, wanted: str | None, total: int, limit: int, url: Callable[[int], str]) -> None:
        self.total = total
        self.limit = limit
        self.url = url
        self.pages = max(1, -(-total // limit))
        self.page = min(whole_number(wanted, 1, 10**9 - 1) or 1, self.pages)
        self.first = (self.page - 1) * limit

    @classmethod
    def of(cls, request: Request, total: int, usual: int, argument: str = "p") -> "Pager":
        """Return the pager of a list whose page is an argument of the URL; `usual` is its limit in the plain layout.

        The other pages keep all other arguments. The first page has one address only, without the argument.
        """
        kept = [(key, value) for key, value in request.args.items(multi=True) if key != argument]

        def url(page: int) -> str:
            query = urlencode([*kept, (argument, page)] if page > 1 else kept, errors="replace")
            return f"{request.path}?{query}" if query else request.path

        pager = cls(request.args.get(argument), total, request.layout.page_size(usual), url)
        request.arranges({argument: pager.page})
        return pager

    def cut(self, rows: Sequence[T]) -> list[T]:
        """Return those of all rows that are on this page."""
        return list(rows[self.first : self.first + self.limit])

    @property
    def amount(self) -> str:
        """Which items are shown, in words."""
        if self.pages == 1:
            return f"{self.total} Item" if self.total == 1 else f"{self.total} Items"
        return f"Items {self.first + 1}-{min(self.first + self.limit, self.total)} of {self.total}"
