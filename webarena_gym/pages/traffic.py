"""What a browser asked of servers, and what they answered: the record that rules about traffic judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LIMIT = 64 * 2**20
"""Bytes of one record; what is beyond them is not kept."""
_KEPT_TYPE = "application/json"  # no rule reads the contents of other answers
UNANSWERED = -1


@dataclass(slots=True)
class Exchange:
    """One request, with names of headers in lower case, and its answer; `status` is -1 as long as nobody answers."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    status: int = UNANSWERED
    answer_headers: Sequence[tuple[str, str]] = ()
    answer_body: bytes = b""


class Traffic:
    """The requests of one browser session, in the order in which they were made."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._size = 0

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that was asked so far, answered or not."""
        return tuple(self._exchanges)

    @property
    def is_whole(self) -> bool:
        """Whether nothing had to be left out."""
        return self._size <= LIMIT

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """Write down a request and return it, to be given to `answer`."""
        exchange = Exchange(method, url, headers, body)
        if self._counts(len(url) + len(body) + sum(len(name) + len(value) for name, value in headers.items())):
            self._exchanges.append(exchange)
        return exchange

    def answer(self, exchange: Exchange, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Write down what a request got; of its contents, JSON alone."""
        is_json = any(name.lower() == "content-type" and _KEPT_TYPE in value for name, value in headers)
        kept = body if is_json else b""
        if self._counts(len(kept) + sum(len(name) + len(value) for name, value in headers)):
            exchange.status, exchange.answer_headers, exchange.answer_body = status, headers, kept

    def _counts(self, size: int) -> bool:
        """Add to the size of all that was to be kept, and say whether it still fits."""
        self._size += size
        return self.is_whole
