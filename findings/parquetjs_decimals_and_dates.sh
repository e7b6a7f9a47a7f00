#!/usr/bin/env bash
# @dsnp/parquetjs 1.8.8 (npm) and pyarrow 26.0.1: prices, dates and ids in a Parquet file that one writes and the other reads.
#
# Guess: a value that a column cannot hold is an error, and what was written is read.
# Seen:  of the decimals 1.50, -0.05, 19.99 and 1.25 pyarrow reads 19.98 for 19.99, and the package itself reads [1.5, 0, -0.05, -0.01].
#        A date before 1970 is the next day, 0.5 in an INT32 column is 0, and the text "false" is true. Read from a file of pyarrow's,
#        4294967295 in an unsigned column is -1, and a decimal of 30 digits is its bytes. No error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
cd "$folder"
npm install --silent --no-audit --no-fund @dsnp/parquetjs@1.8.8
venv/bin/python - <<'PYTHON'
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet

table = pa.table(
    {
        "id": pa.array([4294967295], pa.uint32()),
        "seed": pa.array([18446744073709551615], pa.uint64()),
        "price": pa.array([Decimal("1.50")], pa.decimal128(30, 2)),
    }
)
pyarrow.parquet.write_table(table, "python.parquet")
PYTHON
cat > columns.mjs <<'JAVASCRIPT'
import parquet from "@dsnp/parquetjs";

async function read(file) {
  const reader = await parquet.ParquetReader.openFile(file);
  const cursor = reader.getCursor();
  const rows = [];
  for (let row = await cursor.next(); row; row = await cursor.next()) rows.push(row);
  await reader.close();
  return rows;
}

for (const [name, field, values, expected] of [
  ["price", { type: "DECIMAL", precision: 9, scale: 2 }, [1.5, -0.05, 19.99, 1.25], [1.5, 0, -0.05, -0.01]],
  ["date", { type: "DATE" }, [new Date("2026-01-05"), new Date("1969-12-31T10:00:00Z")], ["2026-01-05", "1970-01-01"]],
  ["reward", { type: "INT32" }, [1, 0.5], [1, 0]],
  ["success", { type: "BOOLEAN" }, [true, "false"], [true, true]],
]) {
  const writer = await parquet.ParquetWriter.openFile(new parquet.ParquetSchema({ value: field }), `${name}.parquet`);
  for (const value of values) await writer.appendRow({ value });
  await writer.close();
  const seen = (await read(`${name}.parquet`)).map(({ value }) => (value instanceof Date ? value.toISOString().slice(0, 10) : value));
  console.log(`${name}, read by the package: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
const [{ id, seed, price }] = await read("python.parquet");
console.log(`of pyarrow's file: id ${id}, seed ${seed}, price ${price.constructor.name}`);
if (id !== -1 || seed !== -1n || !(price instanceof Buffer)) throw new Error("the behaviour has changed; expected -1, -1 and a buffer");
JAVASCRIPT
node columns.mjs
venv/bin/python - <<'PYTHON'
import pyarrow.parquet

expected = {
    "price": ["1.50", "-0.05", "19.98", "1.25"],
    "date": ["2026-01-05", "1970-01-01"],
    "reward": ["1", "0"],
    "success": ["True", "True"],
}
for name, values in expected.items():
    seen = [str(value) for value in pyarrow.parquet.read_table(f"{name}.parquet")["value"].to_pylist()]
    print(f"{name}, read by pyarrow: {seen}")
    assert seen == values, f"the behaviour has changed; expected {values}"
PYTHON
