"""Cutting a long list of rows into pages."""

from collections.abc import Callable

from webarena_gym.sites.kit import Request
from webarena_gym.sites.map.forms import whole_number


class Pager:
    """The page `wanted` of a list of `total` rows, as the URL says it; `url` gives the address of another page."""

    def __init__(self, wanted: str | None, total: int, limit: int, url: Callable[[int], str]) -> None:
        self.total = total
        self.limit = limit
        self.url = url
        self.pages = max(1, -(-total // limit))
        self.page = min(whole_number(wanted, 1, 10**9 - 1) or 1, self.pages)
        self.first = (self.page - 1) * limit

    @classmethod
    def of(cls, request: Request, total: int, limit: int) -> "Pager":
        """Return the pager of a list whose URL has no argument but `p`."""
        return cls(request.args.get("p"), total, limit, lambda page: f"{request.path}?p={page}")

    @property
    def amount(self) -> str:
        """Which items are shown, in words."""
        if self.pages == 1:
            return f"{self.total} Item" if self.total == 1 else f"{self.total} Items"
        return f"Items {self.first + 1}-{min(self.first + self.limit, self.total)} of {self.total}"
