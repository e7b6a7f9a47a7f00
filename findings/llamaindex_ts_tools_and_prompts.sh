#!/usr/bin/env bash
# @llamaindex/core 0.6.22 (npm): arguments of a tool with a zod schema, and prompts with pages in them.
#
# Guess: arguments that the schema refuses do not reach the function, and values are in a prompt as they are.
# Seen:  they do, without the defaults of the schema: "five" for a number, 500 for `max(5)`, and no arguments at all; a warning is logged.
#        In a prompt the text "{query}" of a page is replaced by the query, which is then missing in its own place; "$&" of a page becomes
#        "{page}"; and of a template with JSON, the key before the first value is lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @llamaindex/core@0.6.22 zod@4.6.7
cat > calls.mjs <<'JAVASCRIPT'
import { PromptTemplate } from "@llamaindex/core/prompts";
import { FunctionTool } from "@llamaindex/core/tools";
import { z } from "zod";

const check = (name, seen, expected) => {
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
};
const parameters = z.object({ quantity: z.number().max(5), size: z.string().default("M") });
const tool = FunctionTool.from((values) => JSON.stringify(values), { name: "buy", description: "Buy a mug.", parameters });
for (const [values, expected] of [
  [{ quantity: 2 }, '{"quantity":2,"size":"M"}'],
  [{ quantity: "five" }, '{"quantity":"five"}'],
  [{ quantity: 500 }, '{"quantity":500}'],
  [{}, "{}"],
]) {
  check(`arguments ${JSON.stringify(values)}`, await tool.call(values), expected);
}
for (const [template, values, expected] of [
  ["{page} {query}", { page: "Mugs", query: "price" }, "Mugs price"],
  ["{page} {query}", { page: "search?q={query}", query: "price" }, "search?q=price {query}"],
  ["{page} {query}", { page: "cost = $&;", query: "price" }, "cost = {page}; price"],
  ['Answer {"url": "{page}"}', { page: "/mugs" }, 'Answer /mugs"}'],
]) {
  const prompt = new PromptTemplate({ template, templateVars: Object.keys(values) });
  check(`${template} of ${JSON.stringify(values)}`, prompt.format(values), expected);
}
JAVASCRIPT
node calls.mjs
