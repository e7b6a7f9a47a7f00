#!/usr/bin/env bash
# lancedb 0.40.0: rows that are added to a table of rollouts.
#
# Guess: a value that the column's type cannot hold is an error, and a key that the table does not have is treated equally everywhere.
# Seen:  a table that was made of rows with the rewards 0 and 1 stores an added 0.5 as 0, "5" as 5 and True as 1; `update` does the
#        same with 0.7. In the rows of `create_table` a key that only later rows have is dropped; in those of `add` it is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lancedb==0.40.0 pylance==14.0.2 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import lancedb

database = lancedb.connect("rollouts")


def table(name, rows):
    return database.create_table(name, data=rows)


def rewards(rows):
    return [row["reward"] for row in rows.to_arrow().to_pylist()]


for number, (value, expected) in enumerate(((0.5, 0), (0.99, 0), ("5", 5), (True, 1))):
    rows = table(f"added{number}", [{"reward": 0}, {"reward": 1}])
    rows.add([{"reward": value}])
    seen = rewards(rows)
    print(f"{value!r} added to the rewards 0 and 1: {seen}")
    assert seen == [0, 1, expected] and type(seen[2]) is int, f"the behaviour has changed; expected {expected}"

rows = table("updated", [{"id": 7, "reward": 1}])
rows.update(where="id = 7", values={"reward": 0.7})
print(f"updated to 0.7: {rewards(rows)}")
assert rewards(rows) == [0], "the behaviour has changed"

rows = table("keys", [{"id": 1}, {"id": 2, "error": "no button"}])
print(rows.schema.names)
assert rows.schema.names == ["id"], "the behaviour has changed"
try:
    rows.add([{"id": 3, "error": "no button"}])
except ValueError as error:
    print(error)
else:
    raise AssertionError("the behaviour has changed; expected a ValueError")
PYTHON
