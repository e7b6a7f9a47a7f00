#!/usr/bin/env bash
# ai 6.0.326 (npm): arguments of a tool whose `inputSchema` is a `jsonSchema`.
#
# Guess: the schema is used to validate the arguments, as its reference states for `inputSchema`, and as it is with zod.
# Seen:  a `jsonSchema` without a function `validate` of one's own is only sent to the model: `execute` gets a text for an integer, a value
#        outside of an enum, undeclared arguments, and no arguments where some are required. With zod the first two are tool errors, and
#        undeclared arguments are dropped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund ai@6.0.326 zod@4.6.7
cat > tools.mjs <<'JAVASCRIPT'
import { generateText, jsonSchema, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const JSON_SCHEMA = jsonSchema({
  type: "object",
  properties: { size: { type: "integer" }, color: { type: "string", enum: ["red", "blue"] } },
  required: ["size"],
  additionalProperties: false,
});
const ZOD = z.object({ size: z.number().int(), color: z.enum(["red", "blue"]).optional() });

async function received(inputSchema, input) {
  let seen = "not called";
  const content = [{ type: "tool-call", toolCallId: "1", toolName: "buy", input }];
  const model = new MockLanguageModelV3({
    doGenerate: async () => ({ content, finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] }),
  });
  const execute = async (values) => {
    seen = JSON.stringify(values);
    return "ok";
  };
  await generateText({ model, prompt: "Buy it.", tools: { buy: tool({ description: "Buy it.", inputSchema, execute }) } });
  return seen;
}

for (const [input, expected] of [
  ['{"size":5}', ['{"size":5}', '{"size":5}']],
  ['{"size":"five"}', ['{"size":"five"}', "not called"]],
  ['{"size":5,"color":"green"}', ['{"size":5,"color":"green"}', "not called"]],
  ['{"size":5,"colour":"red"}', ['{"size":5,"colour":"red"}', '{"size":5}']],
  ["{}", ["{}", "not called"]],
  ["", ["{}", "not called"]],
]) {
  const seen = [await received(JSON_SCHEMA, input), await received(ZOD, input)];
  console.log(`arguments ${JSON.stringify(input)}: with jsonSchema ${seen[0]}, with zod ${seen[1]}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node tools.mjs
