"""Cutting a long list of rows into pages."""

from webarena_gym.sites.kit import Request
from webarena_gym.sites.shopping.forms import whole_number


class Pager:
    """Which page of a list of `total` rows the URL's argument `p` asks for."""

    def __init__(self, request: Request, total: int, limit: int) -> None:
        self.total = total
        self.pages = max(1, -(-total // limit))
        self.page = min(whole_number(request.args.get("p"), 1, 10**9 - 1) or 1, self.pages)
        self.first = (self.page - 1) * limit
        self._path, self._limit = request.path, limit

    def url(self, p: int) -> str:
        """Return the URL of another page of the list."""
        return f"{self._path}?p={p}"

    @property
    def amount(self) -> str:
        """Which items are shown, in words."""
        if self.pages == 1:
            return f"{self.total} Item" if self.total == 1 else f"{self.total} Items"
        return f"Items {self.first + 1}-{min(self.first + self._limit, self.total)} of {self.total}"
