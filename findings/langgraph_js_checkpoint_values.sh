#!/usr/bin/env bash
# @langchain/langgraph 1.7.3 (npm): values of a state after an interrupt, with the checkpointer `MemorySaver`.
#
# Guess: a node reads the value that the node before it returned, whether the run was interrupted between them or not; what the
#        checkpointer cannot store is an error.
# Seen:  after `interrupt` and `resume` a Date and a URL are texts, NaN and Infinity are null, and a Float32Array, as observations are, is
#        an object with keys "0" and "1". Without an interrupt they have their types. Sets, maps and a Uint8Array are kept; there is
#        no error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @langchain/langgraph@1.7.3 @langchain/core@1.4.0
cat > resume.mjs <<'JAVASCRIPT'
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ value: Annotation(), seen: Annotation() });
const describe = (value) => (value === null ? "null" : `${value.constructor.name} ${JSON.stringify(value instanceof Set ? [...value] : value)}`);

async function read(value, interrupted) {
  const graph = new StateGraph(State)
    .addNode("write", () => ({ value }))
    .addNode("ask", () => (interrupted ? { seen: String(interrupt("Continue?")) } : {}))
    .addNode("read", (state) => ({ seen: describe(state.value) }))
    .addEdge(START, "write")
    .addEdge("write", "ask")
    .addEdge("ask", "read")
    .addEdge("read", END)
    .compile({ checkpointer: new MemorySaver() });
  const thread = { configurable: { thread_id: "1" } };
  const result = await graph.invoke({}, thread);
  return (interrupted ? await graph.invoke(new Command({ resume: true }), thread) : result).seen;
}

for (const [value, expected] of [
  [0.5, "Number 0.5"],
  [new Set([1]), "Set [1]"],
  [new Uint8Array([1, 2]), 'Uint8Array {"0":1,"1":2}'],
  [new Date("2026-01-05T10:00:00Z"), 'String "2026-01-05T10:00:00.000Z"'],
  [new URL("http://shop.example/"), 'String "http://shop.example/"'],
  [NaN, "null"],
  [Infinity, "null"],
  [new Float32Array([0.5, 1]), 'Object {"0":0.5,"1":1}'],
]) {
  const direct = await read(value, false);
  const resumed = await read(value, true);
  console.log(`${direct}: after an interrupt ${resumed}`);
  if (direct !== describe(value)) throw new Error("the behaviour without an interrupt has changed");
  if (resumed !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node resume.mjs
