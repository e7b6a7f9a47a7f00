#!/usr/bin/env bash
# pg-mem 3.0.14 and @electric-sql/pglite 0.5.17 (npm): queries in the emulation of PostgreSQL and in PostgreSQL.
#
# Guess: what pg-mem does not support is an error, and other queries have PostgreSQL's result.
# Seen:  a month later is 30 days later, "ORDER BY 2" and the order of a UNION are ignored, NOT IN a list with null selects rows, GREATEST
#        and LEAST of values with a null are null, and a division by zero is null.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund pg-mem@3.0.14 @electric-sql/pglite@0.5.17
cat > query.mjs <<'JAVASCRIPT'
import { PGlite } from "@electric-sql/pglite";
import { newDb } from "pg-mem";

const SETUP = `
  CREATE TABLE product (id integer, name text, price numeric(10, 2), rating double precision, added timestamp);
  INSERT INTO product VALUES (1, 'mug', 5, 4.5, '2026-01-05 10:00'), (2, 'cap', 100.5, NULL, '2026-01-31 00:00'), (3, 'hat', 7, 0, NULL)`;
const CASES = [ // query, values in pg-mem, values in PostgreSQL
  ["SELECT id FROM product WHERE price > 6 ORDER BY name DESC", [3, 2], [3, 2]],
  ["SELECT count(rating), min(rating) FROM product", [2, 0], [2, 0]],
  [
    "SELECT added + interval '1 month' FROM product WHERE id < 3 ORDER BY id",
    ["2026-02-04T10:00:00.000Z", "2026-03-02T00:00:00.000Z"],
    ["2026-02-05T10:00:00.000Z", "2026-02-28T00:00:00.000Z"],
  ],
  ["SELECT id, name FROM product ORDER BY 2", [1, "mug", 2, "cap", 3, "hat"], [2, "cap", 3, "hat", 1, "mug"]],
  ["SELECT id FROM product UNION ALL SELECT 0 ORDER BY 1", [1, 2, 3, 0], [0, 1, 2, 3]],
  ["SELECT id FROM product WHERE id NOT IN (1, NULL) ORDER BY id", [2, 3], []],
  ["SELECT greatest(1, NULL, 3), least(1, NULL, 3)", [null, null], [3, 1]],
  ["SELECT 5 / rating FROM product WHERE id = 3", [null], "division by zero"],
];

const emulation = newDb().public;
emulation.none(SETUP);
const postgres = new PGlite();
await postgres.exec(SETUP);
const values = (rows) => rows.flatMap((row) => Object.values(row)).map((value) => (value instanceof Date ? value.toISOString() : value));
for (const [query, inEmulation, inPostgres] of CASES) {
  const first = JSON.stringify(values(emulation.many(query)));
  let second;
  try {
    second = JSON.stringify(values((await postgres.query(query)).rows));
  } catch (error) {
    second = JSON.stringify(error.message);
  }
  console.log(`${query}: pg-mem ${first}, PostgreSQL ${second}`);
  if (first !== JSON.stringify(inEmulation)) throw new Error(`pg-mem has changed; expected ${JSON.stringify(inEmulation)}`);
  if (second !== JSON.stringify(inPostgres)) throw new Error(`PostgreSQL has changed; expected ${JSON.stringify(inPostgres)}`);
}
JAVASCRIPT
TZ=UTC node query.mjs
