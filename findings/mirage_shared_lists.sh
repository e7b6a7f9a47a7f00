#!/usr/bin/env bash
# miragejs 0.1.48 (npm): the state of a mock server before and after an episode.
#
# Guess: records of the database are copies, so that a change counts once it is saved, and a dump stays as it was.
# Seen:  only the outermost object is copied. A list in a model or in a row that is changed without saving changes the database, as does the
#        list that `create` was given, and it changes an earlier dump: the states before and after are equal. A changed number does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund miragejs@0.1.48
cat > cart.mjs <<'JAVASCRIPT'
import { createServer, Model } from "miragejs";

function check(name, seen, expected) {
  console.log(`${name}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}

const server = createServer({ environment: "test", models: { cart: Model } });
const stored = () => server.schema.carts.find(1).attrs;
const lines = ["mug"];
server.create("cart", { total: 5, lines });
const before = server.db.dump();
check("created", stored(), { total: 5, lines: ["mug"], id: "1" });

const cart = server.schema.carts.find(1);
cart.total = 9;
cart.lines.push("cup");
check("model changed, not saved", stored(), { total: 5, lines: ["mug", "cup"], id: "1" });

const row = server.db.carts.find(1);
row.total = 9;
row.lines.push("hat");
check("row changed", stored(), { total: 5, lines: ["mug", "cup", "hat"], id: "1" });

lines.push("pen");
check("list of create changed", stored(), { total: 5, lines: ["mug", "cup", "hat", "pen"], id: "1" });
check("dump before these changes", before, server.db.dump());
server.db.carts.update(1, { total: 7 });
check("dump before, total", before.carts[0].total, 5);
server.shutdown();
JAVASCRIPT
node cart.mjs
