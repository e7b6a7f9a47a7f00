"""A cache of responses: a request that finds a database in a state in which it was asked before gets the same response.

Sites are pure functions of their database and the request, and the state of a database has a name (`Database.state`). So the
episodes of a group, which begin alike and often go on alike, render each page once.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple


class CachedResponse(NamedTuple):
    """A whole response, as WSGI has it."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_page(self) -> bool:
        """Say whether this is a page, and not a picture or a file, which may depend on more of a request."""
        return any(name.lower() == "content-type" and value.startswith("text/html") for name, value in self.headers)


class ResponseCache:
    """Responses by what they follow from: at most `room` bytes of bodies; the least recently used are dropped first."""

    def __init__(self, room: int = 16_000_000) -> None:
        self._room = room
        self._kept: OrderedDict[Hashable, CachedResponse] = OrderedDict()

    def get(self, key: Hashable) -> CachedResponse | None:
        """Return the response that is kept under a key, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Hashable, response: CachedResponse) -> None:
        """Keep a response, and drop others where there is no room."""
        self._kept[key] = response
        self._room -= len(response.body)
        while self._room < 0:
            self._drop()

    def clear(self) -> None:
        """Drop everything."""
        while self._kept:
            self._drop()

    def _drop(self) -> None:
        _, old = self._kept.popitem(last=False)
        self._room += len(old.body)
