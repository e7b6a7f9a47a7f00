#!/usr/bin/env bash
# nock 15.0.2 and @mswjs/interceptors 0.44.0 (npm): recorded responses with Node 20.
#
# Guess: nock works with Node 20.12.1 and later, as its package.json declares.
# Seen:  with Node 20 each request is a TypeError, as Promise.withResolvers is missing: nock requires a version of @mswjs/interceptors that
#        requires Node 22. npm installs both without an error. With Node 22 the recorded response is returned.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund nock@15.0.2 @mswjs/interceptors@0.44.0
cat > request.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import nock from "nock";

function check(name, seen, expected) {
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

for (const [name, expected] of [["nock", ">=20.12.1"], ["@mswjs/interceptors", ">=22"]]) {
  check(`Node for ${name}`, JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).engines.node, expected);
}
nock("http://shop.example").get("/cart").reply(200, "3 mugs");
let seen;
try {
  seen = await (await fetch("http://shop.example/cart")).text();
} catch (error) {
  seen = `${error.name} ${(error.cause ?? error).message}`;
}
const isSupported = Number(process.versions.node.split(".")[0]) >= 22;
check(`cart with Node ${process.versions.node}`, seen, isSupported ? "3 mugs" : "TypeError Promise.withResolvers is not a function");
JAVASCRIPT
node request.mjs
