"""`Change`: the net change of one database row in an episode. A row that was added and removed again is none."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_LONGEST = 60  # characters of a value that are told
_MOST = 8  # values of a row that are told


class Change(NamedTuple):
    """The net change of one row.

    `before` and `after` hold the row by column, None where it is not there. Columns whose values say nothing of what was done
    (numbers that the database gave, times of the episode, all that is incidental) are left out. `key` is what the database
    knows the row by. `names` has what people call the rows of other tables that this one points to, by column.
    """

    site: str
    table: str
    key: tuple[Any, ...]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    names: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that differ; none of a row that was added or removed."""
        if self.before is None or self.after is None:
            return ()
        return tuple(column for column, value in self.before.items() if value != self.after[column])

    def __str__(self) -> str:
        """Say what was changed, as in `shopping: wishlist_item added: customer=Ann Lee, product=Oak Shelf, quantity=1`."""
        before, after = self.before, self.after
        if before is not None and after is not None:
            told = [f"{column} {_short(before[column])} -> {_short(after[column])}" for column in self.columns]
            own = next((str(before[column]) for column in LABELS if before.get(column)), "")
            called = _short(own or ", ".join(self.names.values()) or "/".join(map(str, self.key)))  # else what it belongs to
            return f"{self.site}: {self.table} {called} changed: {', '.join(told)}"
        row = before if after is None else after
        assert row is not None
        told = [
            f"{column.removesuffix('_id')}={_short(self.names[column])}"
            if column in self.names
            else f"{column}={_short(value)}"
            for column, value in row.items()
            if value not in (None, "")
        ]
        more = ["..."] if len(told) > _MOST else []
        return f"{self.site}: {self.table} {'removed' if after is None else 'added'}: {', '.join(told[:_MOST] + more)}"


LABELS = ("name", "title", "username", "increment_id", "sku", "email", "path", "url_path", "code", "label")
"""Columns whose value is what people call a row, the best first."""


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
