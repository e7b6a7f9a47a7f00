"""Cutting a long list of rows into pages."""

import sqlite3
from collections.abc import Sequence
from urllib.parse import urlencode

from webarena_gym.sites.kit import Request
from webarena_gym.sites.wikipedia.base import number


class Pager:
    """One page of a list: which rows it shows, and where the other pages are."""

    def __init__(self, request: Request, rows: Sequence[sqlite3.Row], usual: int) -> None:
        size = request.layout.page_size(usual)
        self.total = len(rows)
        self.pages = max(1, -(-self.total // size))
        self.page = min(max(number(request.args.get("page"), 1), 1), self.pages)
        self.first = (self.page - 1) * size
        self.rows = rows[self.first : self.first + size]
        self._path = request.path
        self._kept = {name: value for name, value in request.args.items() if name != "page"}

    def url(self, page: int) -> str:
        """Return the address of another page of the list."""
        return f"{self._path}?{urlencode(self._kept | {'page': page})}"
