"""Cutting a long list of rows into pages."""

from urllib.parse import urlencode

from webarena_gym.sites.gitlab.forms import whole_number
from webarena_gym.sites.kit import Request


class Pager:
    """The page of a list of `total` rows that the URL asks for with `page`; a page has `limit` rows, from row `first` on.

    `usual` is how many rows a page has in the plain layout.
    """

    def __init__(self, request: Request, total: int, usual: int = 20) -> None:
        self._request = request
        self.total = total
        self.limit = request.layout.page_size(usual)
        self.pages = max(1, -(-total // self.limit))
        self.page = min(whole_number(request.args.get("page"), 1, 10**9 - 1) or 1, self.pages)
        self.first = (self.page - 1) * self.limit

    def url(self, page: int) -> str:
        """Return the address of another page of the same list."""
        return changed_url(self._request, page=str(page) if page > 1 else "")


def changed_url(request: Request, **changes: str) -> str:
    """Return the address of this page with other query arguments; those changed to nothing are left out."""
    kept = [(key, value) for key, value in request.args.items(multi=True) if key not in changes]
    query = urlencode([*kept, *((key, value) for key, value in changes.items() if value)])
    return f"{request.path}?{query}" if query else request.path
