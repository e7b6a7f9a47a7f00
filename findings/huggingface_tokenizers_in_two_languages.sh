#!/usr/bin/env bash
# @huggingface/tokenizers 0.2.0 (npm) and tokenizers 0.23.3: one file "tokenizer.json" in two languages.
#
# Guess: equal texts have equal token ids in Python and in JavaScript, and equal ids are decoded to equal texts.
# Seen:  in JavaScript an added token with `single_word` is found within words: "Prices" contains "Price", and is another text for the
#        model. `decode` removes spaces before punctuation and abbreviations unless the configuration states otherwise: "click 1 ." is
#        "click 1.", and "a , b" is "a, b". Decoding no tokens is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps tokenizers==0.23.3
cd "$folder"
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
"$folder/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

vocabulary = {character: index for index, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
tokenizer = Tokenizer(models.BPE(vocabulary, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_tokens([AddedToken("Price", single_word=True)])
tokenizer.save("tokenizer.json")
texts = ("click 12", "Price: 5", "Prices: 5", "click 1 .", "a , b", "do n't", "it 's")
rows = [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts]
for row in rows:
    assert tokenizer.decode(row["ids"]) == row["text"]
assert tokenizer.decode([]) == ""
Path("rows.json").write_text(json.dumps(rows))
PYTHON
cat > tokens.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const tokenizer = new Tokenizer(read("tokenizer.json"), {});
const exact = new Tokenizer(read("tokenizer.json"), { clean_up_tokenization_spaces: false });
const OTHER_IDS = ["Prices: 5"];
const OTHER_TEXTS = { "click 1 .": "click 1.", "a , b": "a, b", "do n't": "don't", "it 's": "it's" };
for (const { text, ids } of read("rows.json")) {
  const equal = JSON.stringify(tokenizer.encode(text).ids) === JSON.stringify(ids);
  const decoded = tokenizer.decode(ids);
  console.log(`"${text}": ${equal ? "equal" : "other"} ids; those of Python are decoded to "${decoded}"`);
  if (equal === OTHER_IDS.includes(text)) throw new Error("the behaviour of encode has changed");
  if (decoded !== (OTHER_TEXTS[text] ?? text) || exact.decode(ids) !== text) throw new Error("the behaviour of decode has changed");
}
let error = null;
try {
  tokenizer.decode([]);
} catch (caught) {
  error = caught;
}
console.log(`no tokens: ${error?.message}`);
if (!error) throw new Error("the behaviour has changed; expected an error");
JAVASCRIPT
node tokens.mjs
