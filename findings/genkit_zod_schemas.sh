#!/usr/bin/env bash
# genkit 1.42.0 (npm): tools whose `inputSchema` is a zod schema.
#
# Guess: the arguments of a tool are parsed with its zod schema, as the types of its function state.
# Seen:  they are only validated against a JSON Schema made of it. Defaults are missing, transforms and refinements do not run, text is
#        not trimmed, and undeclared arguments reach the function; the types state otherwise. 19.99 is refused by `multipleOf(0.01)`,
#        "A" by /^a$/i and "5" by `z.coerce.number()`; zod accepts these.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund genkit@1.42.0
cat > tools.mjs <<'JAVASCRIPT'
import { genkit, z } from "genkit";

const ai = genkit({});
let count = 0;
async function call(schema, value) {
  count += 1;
  const tool = ai.defineTool({ name: `tool${count}`, description: "Return the arguments.", inputSchema: z.object(schema) }, async (input) => input);
  try {
    return JSON.stringify(await tool(value));
  } catch {
    return "refused";
  }
}

for (const [name, schema, value, byZod, expected] of [
  ["number", { value: z.number() }, { value: 5 }, '{"value":5}', '{"value":5}'],
  ["number", { value: z.number() }, { value: "5" }, "refused", "refused"],
  ["default(20)", { value: z.number().default(20) }, {}, '{"value":20}', "{}"],
  ["transform", { value: z.string().transform((text) => text.length) }, { value: "mug" }, '{"value":3}', '{"value":"mug"}'],
  ["refine", { value: z.number().refine((number) => number > 5) }, { value: 1 }, "refused", '{"value":1}'],
  ["trim().min(1)", { value: z.string().trim().min(1) }, { value: " " }, "refused", '{"value":" "}'],
  ["undeclared", { value: z.number() }, { value: 1, other: 2 }, '{"value":1}', '{"value":1,"other":2}'],
  ["multipleOf(0.01)", { value: z.number().multipleOf(0.01) }, { value: 19.99 }, '{"value":19.99}', "refused"],
  ["regex(/^a$/i)", { value: z.string().regex(/^a$/i) }, { value: "A" }, '{"value":"A"}', "refused"],
  ["coerce.number()", { value: z.coerce.number() }, { value: "5" }, '{"value":5}', "refused"],
]) {
  const parsed = z.object(schema).safeParse(value);
  const zod = parsed.success ? JSON.stringify(parsed.data) : "refused";
  const seen = await call(schema, value);
  console.log(`${name}, ${JSON.stringify(value)}: zod ${zod}, genkit ${seen}`);
  if (zod !== byZod) throw new Error(`the behaviour of zod has changed; expected ${byZod}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
process.exit(0);
JAVASCRIPT
node tools.mjs
