#!/usr/bin/env bash
# langchain-text-splitters 1.1.3 and @langchain/textsplitters 1.0.2 (npm): a page in Markdown, split at its headings.
#
# Guess: `MarkdownTextSplitter` splits before headings, as `from_language("markdown")` and the package for JavaScript do.
# Seen:  in Python it takes its patterns for plain text: "## Mug" is the end of the part before, and the part with the price of the mug
#        does not name it. Fences of code begin the next part, and rules are no boundaries. `is_separator_regex=True` mends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-text-splitters==1.1.3
cd "$folder"
npm install --silent --no-audit --no-fund @langchain/textsplitters@1.0.2 @langchain/core@1.4.0
cat > split.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { MarkdownTextSplitter } from "@langchain/textsplitters";

const splitter = new MarkdownTextSplitter({ chunkSize: 40, chunkOverlap: 0 });
console.log(JSON.stringify(await splitter.splitText(readFileSync(0, "utf8"))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from langchain_text_splitters import MarkdownTextSplitter, RecursiveCharacterTextSplitter

PAGE = "# Shop\n\nIntro text here.\n\n## Mug\n\nIt costs $5.00 and is red.\n\n## Cup\n\nIt costs $9.00 and is blue.\n"
BY_HEADING = ["# Shop\n\nIntro text here.", "## Mug\n\nIt costs $5.00 and is red.", "## Cup\n\nIt costs $9.00 and is blue."]
SEEN = ["# Shop\n\nIntro text here.\n\n## Mug", "It costs $5.00 and is red.\n\n## Cup", "It costs $9.00 and is blue."]
size = {"chunk_size": 40, "chunk_overlap": 0}
parts = MarkdownTextSplitter(**size).split_text(PAGE)
print(f"MarkdownTextSplitter in Python: {parts}")
assert parts == SEEN, f"the behaviour has changed; expected {SEEN}"
output = subprocess.run(["node", "split.mjs"], input=PAGE, capture_output=True, text=True, check=True).stdout
print(f"MarkdownTextSplitter in JavaScript: {output}")
assert json.loads(output) == BY_HEADING
assert RecursiveCharacterTextSplitter.from_language("markdown", **size).split_text(PAGE) == BY_HEADING
assert MarkdownTextSplitter(is_separator_regex=True, **size).split_text(PAGE) == BY_HEADING
PYTHON
