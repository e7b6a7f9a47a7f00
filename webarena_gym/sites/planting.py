"""Rows that a task adds to its world before the episode, as data.

A planted row is new, or changes columns of an existing row. The changes of an episode are relative to the world with its planted rows,
so planted rows do not count as changes by the agent.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from webarena_gym.errors import TaskError
from webarena_gym.sites.catalogue import SITES

Value = str | int | float | None
"""A value of a column."""
Columns = tuple[tuple[str, Value], ...]


class PlantedRow(NamedTuple):
    """A new row of a site's table, or, with a `key`, new values of the row with this key.

    Attributes:
        site: name of the site.
        table: name of the table.
        values: values by column.
        key: the row to change, by values of columns; () adds a row.

    """

    site: str
    table: str
    values: Columns
    key: Columns = ()

    def to_json(self) -> dict[str, Any]:
        """Return the row in the format of task files."""
        return {"site": self.site, "table": self.table, "values": dict(self.values), "key": dict(self.key)}


Planted = PlantedRow  # the name in snapshots of earlier commits


def parse_planted(record: object, where: str) -> PlantedRow:
    """Return a planted row of a task file. `where` names the file and task in errors. Raises TaskError."""
    parts = {"site": str, "table": str, "values": dict, "key": dict}
    if not isinstance(record, dict) or record.keys() != parts.keys() or not all(
        isinstance(record[name], kind) for name, kind in parts.items()
    ):  # fmt: skip
        raise TaskError(f"{where}: setup has {str(record)[:200]}; expected objects with site, table, values and key")
    for columns in (record["values"], record["key"]):
        odd = [value for value in columns.values() if not isinstance(value, str | int | float | None)]
        if odd:
            raise TaskError(f"{where}: setup has the value {str(odd[0])[:200]}; expected a text, a number or null")
    if record["site"] not in SITES or not record["values"]:
        raise TaskError(f"{where}: setup plants {str(record)[:200]}; expected values for one of the sites {', '.join(SITES)}")
    return PlantedRow(record["site"], record["table"], tuple(record["values"].items()), tuple(record["key"].items()))


def plant(rows: Iterable[PlantedRow], connection: sqlite3.Connection, schema: str = "main") -> None:
    """Write planted rows into a schema of their site's database. Raises TaskError for unknown columns and rows that the database rejects."""
    for row in rows:
        names = [name for name, _ in (*row.values, *row.key)]
        known = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?, ?)", (row.table, schema))}
        if not known.issuperset(names) or not known:
            raise TaskError(f"a task plants {', '.join(names)} in {row.site}.{row.table}; expected columns of {sorted(known)}")
        values = [value for _, value in (*row.values, *row.key)]
        try:
            if row.key:
                changed = ", ".join(f'"{name}" = ?' for name, _ in row.values)
                same = " AND ".join(f'"{name}" = ?' for name, _ in row.key)
                count = connection.execute(f'UPDATE {schema}."{row.table}" SET {changed} WHERE {same}', values).rowcount
                if count != 1:
                    raise TaskError(
                        f"a task plants values in {count} rows of {row.site}.{row.table} with {row.key}; expected one"
                    )
            else:
                columns, places = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
                connection.execute(f'INSERT INTO {schema}."{row.table}" ({columns}) VALUES ({places})', values)
        except sqlite3.Error as error:
            raise TaskError(
                f"a task plants {row.values} in {row.site}.{row.table}, which the database rejects: {error}"
            ) from error
