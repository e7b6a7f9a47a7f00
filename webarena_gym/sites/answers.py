"""What sites have answered before: a request that finds a database as it was gets the answer that it got then.

Sites are pure functions of their database and the request, and the state of a database has a name (`Database.state`). So the
episodes of a group, which begin alike and often go on alike, render each page once.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple


class Answer(NamedTuple):
    """A whole answer, as WSGI has it."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_page(self) -> bool:
        """Say whether this is a page, and not a picture or a file, which may depend on more of a request."""
        return any(name.lower() == "content-type" and value.startswith("text/html") for name, value in self.headers)


class Answers:
    """Answers by what they follow from; at most `room` bytes of bodies, the least recently used are given up first."""

    def __init__(self, room: int = 16_000_000) -> None:
        self._room = room
        self._kept: OrderedDict[Hashable, Answer] = OrderedDict()

    def get(self, key: Hashable) -> Answer | None:
        """Return the answer that is kept under a key, if it still is."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Hashable, answer: Answer) -> None:
        """Keep an answer, and give others up for it."""
        self._kept[key] = answer
        self._room -= len(answer.body)
        while self._room < 0:
            _, old = self._kept.popitem(last=False)
            self._room += len(old.body)
