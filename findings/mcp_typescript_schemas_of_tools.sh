#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 with zod 4.6.7 (npm): the schemas of the tools that a server lists.
#
# Guess: the listed schema of a tool accepts what the tool accepts, and a call does not depend on an earlier list of the tools.
# Seen:  a union as `inputSchema` is listed as an object without properties, and the flag "i" of a pattern is lost, so that the listed
#        schema refuses what the tool accepts. Structured content with a key that `outputSchema` does not declare passes the server;
#        the client returns it before `listTools`, and raises an error for the same call after it. One tool with `z.coerce.date()`
#        makes `listTools` fail for all tools of the server; each of them can be called.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat > tools.mjs <<'JAVASCRIPT'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";

const text = { content: [{ type: "text", text: "done" }] };
const check = (name, seen, expected) => {
  console.log(`${name}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
};
const server = new McpServer({ name: "shop", version: "1" });
const target = z.union([z.object({ id: z.string() }), z.object({ text: z.string() })]);
server.registerTool("click", { inputSchema: target }, async () => text);
server.registerTool("choose", { inputSchema: { color: z.string().regex(/^(red|blue)$/i) } }, async () => text);
const priced = { inputSchema: { name: z.string() }, outputSchema: { price: z.number() } };
server.registerTool("price", priced, async () => ({ ...text, structuredContent: { price: 5, currency: "USD" } }));
const [ours, theirs] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: "agent", version: "1" });
await Promise.all([server.connect(ours), client.connect(theirs)]);
const call = async (name, values) => {
  try {
    const result = await client.callTool({ name, arguments: values });
    return result.isError ? "refused" : (result.structuredContent ?? "done");
  } catch (error) {
    return error.message;
  }
};

check("price before listTools", await call("price", { name: "bag" }), { price: 5, currency: "USD" });
const { tools } = await client.listTools();
check("listed schema of click", tools[0].inputSchema, { type: "object", properties: {} });
check("click", await call("click", { id: "7" }), "done");
check("click without its arguments", await call("click", {}), "refused");
check("listed pattern of choose", tools[1].inputSchema.properties.color.pattern, "^(red|blue)$");
check("choose", await call("choose", { color: "Red" }), "done");
check("price after listTools", (await call("price", { name: "bag" })).endsWith("data must NOT have additional properties"), true);

server.registerTool("deliver", { inputSchema: { day: z.coerce.date() } }, async () => text);
check("deliver", await call("deliver", { day: "2024-05-06" }), "done");
const listed = await client.listTools().catch((error) => error.message);
check("listTools", listed, "MCP error -32603: Date cannot be represented in JSON Schema");
check("click again", await call("click", { id: "7" }), "done");
JAVASCRIPT
node tools.mjs
