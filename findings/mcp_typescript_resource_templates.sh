#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 (npm): resources of a shop whose addresses are RFC 6570 templates.
#
# Guess: a resource is found by the address that its template expands to, and its function gets the values of the template.
# Seen:  the values are still percent-encoded: "red%20mug" for "red mug". An address is found only with all parameters of the query, none
#        of them empty, in the template's order, and without a comma in a value: "New York,NY" and a missing page are not found.
#        "{/color,size}" expands to "red,5" without a slash, and a list in "{?size*}" to "size=5,6".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2
cat > resources.mjs <<'JAVASCRIPT'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { UriTemplate } from "@modelcontextprotocol/sdk/shared/uriTemplate.js";

const server = new McpServer({ name: "shop", version: "1" });
for (const [name, template] of [["item", "shop://items/{name}"], ["search", "shop://search{?q,page}"]]) {
  server.registerResource(name, new ResourceTemplate(template, { list: undefined }), {}, async (uri, values) => ({
    contents: [{ uri: uri.href, text: JSON.stringify(values) }],
  }));
}
const client = new Client({ name: "agent", version: "1" });
const [left, right] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(left), client.connect(right)]);

async function read(uri) {
  try {
    return (await client.readResource({ uri })).contents[0].text;
  } catch {
    return "not found";
  }
}

for (const [uri, expected] of [
  ["shop://items/mug", '{"name":"mug"}'],
  ["shop://items/red%20mug", '{"name":"red%20mug"}'],
  ["shop://items/New%20York,NY", "not found"],
  ["shop://search?q=mug&page=2", '{"q":"mug","page":"2"}'],
  ["shop://search?page=2&q=mug", "not found"],
  ["shop://search?q=mug", "not found"],
  ["shop://search?q=&page=2", "not found"],
]) {
  const seen = await read(uri);
  console.log(`${uri}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
for (const [template, values, expected] of [
  ["shop://items/{name}", { name: "red mug" }, "shop://items/red%20mug"],
  ["shop://items{/color,size}", { color: "red", size: "5" }, "shop://itemsred,5"],
  ["shop://search{?size*}", { size: ["5", "6"] }, "shop://search?size=5,6"],
]) {
  const seen = new UriTemplate(template).expand(values);
  console.log(`${template}, ${JSON.stringify(values)}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
await client.close();
JAVASCRIPT
node resources.mjs
