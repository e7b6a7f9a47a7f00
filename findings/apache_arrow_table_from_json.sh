#!/usr/bin/env bash
# apache-arrow 21.2.0 (npm) and pyarrow 26.0.1: rows of a log that become an Arrow table, read in Python.
#
# Guess: `tableFromJSON` keeps each value or raises an error, as `vectorFromArray` does with mixed values; a missing value is null.
# Seen:  within rows the first row decides the type. A text after a number is NaN, 1 after true is true, a list after an empty list has
#        null for its elements, a text in a list is NaN, and a nested key that comes later is dropped. A missing or undefined value is
#        NaN in a column and null only if it is written as null. No error; `vectorFromArray` of the same mixed values raises one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
cd "$folder"
npm install --silent --no-audit --no-fund apache-arrow@21.2.0
cat > write.mjs <<'JAVASCRIPT'
import { writeFileSync } from "node:fs";

import { tableFromJSON, tableToIPC, vectorFromArray } from "apache-arrow";

const columns = {
  reward: [0, 1, 0.5],
  mixed: [1, "7", "none"],
  success: [true, 1, 0],
  clicked: [[], [4, 5]],
  targets: [[1], ["a", 2]],
  call: [{ item: "mug" }, { item: "cup", quantity: 3 }],
  other: [{ price: 5 }, { quantity: 3 }],
  none: [null, 1],
  missing: [undefined, 1],
};
for (const [name, values] of Object.entries(columns)) {
  writeFileSync(`${name}.arrow`, tableToIPC(tableFromJSON(values.map((value) => ({ value }))), "file"));
}
for (const values of [columns.mixed, columns.success]) {
  let refused = false;
  try {
    vectorFromArray(values);
  } catch {
    refused = true;
  }
  if (!refused) throw new Error("the behaviour of vectorFromArray has changed; expected an error");
}
JAVASCRIPT
node write.mjs
venv/bin/python - <<'PYTHON'
import pyarrow as pa

expected = {
    "reward": [0.0, 1.0, 0.5],
    "mixed": "[1.0, 7.0, nan]",
    "success": [True, True, False],
    "clicked": [[], [None, None]],
    "targets": "[[1.0], [nan, 2.0]]",
    "call": [{"item": "mug"}, {"item": "cup"}],
    "other": "[{'price': 5.0}, {'price': nan}]",
    "none": [None, 1.0],
    "missing": "[nan, 1.0]",
}
for name, values in expected.items():
    column = pa.ipc.open_file(f"{name}.arrow").read_all()["value"]
    print(f"{name}: {column.type}, {column.to_pylist()}")
    assert str(column.to_pylist()) == str(values), f"the behaviour has changed; expected {values}"
PYTHON
