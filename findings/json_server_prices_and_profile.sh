#!/usr/bin/env bash
# json-server 1.0.0-beta.3 (npm): the state of a simulated shop.
#
# Guess: conditions compare numbers as they are, PATCH of an object changes the named keys, and DELETE with `_dependent` removes the
#        objects that refer to the deleted one.
# Seen:  the value of a condition is cut to a whole number: price=9.5 selects nothing, price_lt=9.99 leaves out 9.5. PATCH of the object
#        "profile" moves the old one into a key "item". After one DELETE without `_dependent`, a later one with it also removes the
#        reviews of the product that was deleted before. A second object with the id of the first is created.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund json-server@1.0.0-beta.3 lowdb@7.0.1
cat > shop.mjs <<'JAVASCRIPT'
import { once } from "node:events";
import { createServer } from "node:http";

import { Low, Memory } from "lowdb";

import { createApp } from "./node_modules/json-server/lib/app.js";

const db = new Low(new Memory(), {
  products: [
    { id: "1", name: "Mug", price: 9.5 },
    { id: "2", name: "Cup", price: 19 },
    { id: "3", name: "Hat", price: 20.25 },
  ],
  reviews: [
    { id: "a", productId: "1" },
    { id: "b", productId: "2" },
    { id: "c", productId: "3" },
  ],
  profile: { name: "Ann", theme: "light" },
});
await db.write();
const app = createApp(db);
const server = createServer((request, response) => app.handler(request, response)).listen(0, "127.0.0.1");
await once(server, "listening");
const send = async (method, path, body) => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, {
    method,
    headers: { "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  return response.json();
};

function check(name, seen, expected) {
  console.log(`${name}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}

for (const [query, expected] of [
  ["price=19", "Cup"],
  ["price=9.5", ""],
  ["price=20.25", ""],
  ["price_lt=9.99", ""],
  ["price_lt=20", "Mug,Cup"],
  ["price_lte=20.25", "Mug,Cup"],
  ["price_gte=19.99", "Cup,Hat"],
  ["price_ne=9.5", "Mug,Cup,Hat"],
]) {
  check(query, (await send("GET", `/products?${query}`)).map(({ name }) => name).join(), expected);
}
check("PATCH", await send("PATCH", "/profile", { theme: "dark" }), { item: { name: "Ann", theme: "light" }, theme: "dark" });
await send("DELETE", "/products/1");
check("reviews", await send("GET", "/reviews"), [{ id: "a", productId: null }, { id: "b", productId: "2" }, { id: "c", productId: "3" }]);
await send("DELETE", "/products/2?_dependent=reviews");
check("reviews", await send("GET", "/reviews"), [{ id: "c", productId: "3" }]);
check("POST", await send("POST", "/products", { id: "3", name: "Pen" }), { id: "3", name: "Pen" });
check("products", (await send("GET", "/products?id=3")).map(({ name }) => name).join(), "Hat,Pen");
server.close();
server.closeAllConnections();
JAVASCRIPT
node shop.mjs
