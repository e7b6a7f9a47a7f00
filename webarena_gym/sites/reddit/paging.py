"""Cutting a long list of rows into pages."""

from urllib.parse import urlencode

from webarena_gym.sites.kit import Request

PER_PAGE = 25  # rows of the plain layout


class Pager:
    """The page that the URL's `p` asks for, of a list of `total` rows; other arguments of the URL are kept."""

    def __init__(self, request: Request, total: int, usual: int = PER_PAGE) -> None:
        self.total = total
        self.limit = request.layout.page_size(usual)
        self.pages = max(1, -(-total // self.limit))
        wanted = request.args.get("p", "")
        is_number = wanted.isascii() and wanted.isdigit() and len(wanted) < 10
        self.page = min(max(int(wanted) if is_number else 1, 1), self.pages)
        self.first = (self.page - 1) * self.limit
        self._path = request.path
        self._arguments = {key: value for key, value in request.args.items() if key != "p"}

    def url(self, page: int) -> str:
        """Return the address of another page."""
        return f"{self._path}?{urlencode({**self._arguments, 'p': page}, errors='replace')}"
