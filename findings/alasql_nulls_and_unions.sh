#!/usr/bin/env bash
# alasql 4.19.1 (npm) and sqlite3 (Python): queries on the products of a shop.
#
# Guess: a query that both accept has one result, apart from what standard SQL leaves open, such as 5 / 2.
# Seen:  in alasql MAX and MIN of texts are null, UNION keeps duplicates, null joins null, NOT (color = 'red') is true for null, SUM of no
#        rows is 0, and descending prices end with null, null, 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cd "$folder"
npm install --silent --no-audit --no-fund alasql@4.19.1
cat > query.cjs <<'JAVASCRIPT'
const alasql = require("alasql");

const { rows, queries } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
alasql("CREATE TABLE products (id INT, name TEXT, price REAL, color TEXT)");
for (const row of rows) alasql("INSERT INTO products VALUES (?, ?, ?, ?)", row);
console.log(JSON.stringify(queries.map((query) => alasql(query).map((row) => Object.values(row)))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import sqlite3
import subprocess

ROWS = [[1, "mug", 9.5, "red"], [2, "cup", 19, None], [3, "jar", None, "blue"], [4, "hat", None, "red"], [5, "pen", 0, ""]]
CASES = (  # query, result in alasql, and in SQLite if that is another one
    ("SELECT COUNT(*), COUNT(price), AVG(price), MAX(price) FROM products", [[5, 3, 9.5, 19]], None),
    ("SELECT id FROM products WHERE color <> 'red' ORDER BY id", [[3], [5]], None),
    ("SELECT id FROM products WHERE NOT (color = 'red') ORDER BY id", [[2], [3], [5]], [[3], [5]]),
    ("SELECT MAX(name), MIN(name) FROM products", [[None, None]], [["pen", "cup"]]),
    ("SELECT color FROM products UNION SELECT color FROM products", [["red"], [None], ["blue"], ["red"], [""]], [[None], [""], ["blue"], ["red"]]),
    ("SELECT COUNT(*) FROM products a JOIN products b ON a.color = b.color", [[7]], [[6]]),
    ("SELECT COUNT(*) FROM products a JOIN products b ON a.price = b.price", [[7]], [[3]]),
    ("SELECT SUM(price) FROM products WHERE id > 100", [[0]], [[None]]),
    ("SELECT id FROM products ORDER BY price, id", [[3], [4], [5], [1], [2]], None),
    ("SELECT id FROM products ORDER BY price DESC, id", [[2], [1], [3], [4], [5]], [[2], [1], [5], [3], [4]]),
)
task = json.dumps({"rows": ROWS, "queries": [query for query, *_ in CASES]})
results = json.loads(subprocess.run(["node", "query.cjs"], input=task, capture_output=True, text=True, check=True).stdout)
database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE products (id INT, name TEXT, price REAL, color TEXT)")
database.executemany("INSERT INTO products VALUES (?, ?, ?, ?)", ROWS)
for (query, expected, other), seen in zip(CASES, results, strict=True):
    in_sqlite = [list(row) for row in database.execute(query)]
    print(f"{query}: alasql {seen}, SQLite {in_sqlite}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
    assert in_sqlite == (expected if other is None else other), "SQLite has changed"
PYTHON
