"""`Change`: the net change of one database row in an episode. Adding a row and removing it again is no change."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_MAX_VALUE = 60  # characters of a value in a description
_MAX_COLUMNS = 8  # values of a row in a description


class Change(NamedTuple):
    """The net change of one row.

    Attributes:
        site: name of the site.
        table: name of the table.
        key: primary key of the row.
        before: values by column before the episode, None for a row that was added. Incidental columns (generated keys, timestamps of the
            episode) are omitted.
        after: values by column after the episode, None for a row that was removed.
        names: display names of the rows of other tables to which this row refers, by column.

    """

    site: str
    table: str
    key: tuple[Any, ...]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    names: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that differ; empty for a row that was added or removed."""
        if self.before is None or self.after is None:
            return ()
        return tuple(column for column, value in self.before.items() if value != self.after[column])

    def __str__(self) -> str:
        """Return a description, such as `shopping: wishlist_item added: customer=Ann Lee, product=Oak Shelf, quantity=1`."""
        before, after = self.before, self.after
        if before is not None and after is not None:
            differences = [f"{column} {_short(before[column])} -> {_short(after[column])}" for column in self.columns]
            label = next((str(before[column]) for column in LABELS if before.get(column)), "")
            # a row without a label is named after the rows to which it refers
            name = _short(label or ", ".join(self.names.values()) or "/".join(map(str, self.key)))
            return f"{self.site}: {self.table} {name} changed: {', '.join(differences)}"
        row = before if after is None else after
        assert row is not None
        values = [
            f"{column.removesuffix('_id')}={_short(self.names[column])}"
            if column in self.names
            else f"{column}={_short(value)}"
            for column, value in row.items()
            if value not in (None, "")
        ]
        ellipsis = ["..."] if len(values) > _MAX_COLUMNS else []
        return f"{self.site}: {self.table} {'removed' if after is None else 'added'}: {', '.join(values[:_MAX_COLUMNS] + ellipsis)}"


LABELS = ("name", "title", "username", "increment_id", "sku", "email", "path", "url_path", "code", "label")
"""Columns whose value is a display name of the row, in order of preference."""


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 3]}..."
