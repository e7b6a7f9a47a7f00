#!/usr/bin/env bash
# wordllama 0.4.0.post1: the model in the package, and equal meanings.
#
# Guess: `WordLlama.load` works offline, as the package contains weights and tokenizer, and `deduplicate` keeps texts that differ in
#        their amounts.
# Seen:  it looks for the tokenizer in another folder than the one that the package has, and downloads it; with `disable_download` it
#        is a FileNotFoundError. It works with the folder of the package as `cache_dir`. "Total: $59.99" and "Total: $95.99" have the
#        similarity 1, as have "Alice paid Bob" and "Bob paid Alice": the order of tokens, also of digits, does not count. With the
#        default threshold of 0.9 `deduplicate` drops the second one, and of "in stock" and "not in stock" too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet wordllama==0.4.0.post1 numpy==2.4.6
HOME="$folder" "$folder/venv/bin/python" - <<'PYTHON'
from pathlib import Path

import wordllama
from wordllama import WordLlama

package = Path(wordllama.__file__).parent
print([path.relative_to(package).as_posix() for path in sorted(package.rglob("l2_supercat_*"))])
try:
    WordLlama.load(disable_download=True)
except FileNotFoundError as error:
    print(error)
else:
    raise AssertionError("the behaviour has changed; expected a FileNotFoundError")

model = WordLlama.load(cache_dir=package, disable_download=True)
for pair, expected in (
    (["Total: $59.99", "Total: $95.99"], 1.0),
    (["Alice paid Bob", "Bob paid Alice"], 1.0),
    (["It costs $5.", "It costs $50."], 0.992),
    (["The bag is in stock.", "The bag is not in stock."], 0.949),
):
    similarity, kept = model.similarity(*pair), model.deduplicate(pair)
    print(f"{pair}: similarity {similarity:.3f}, kept {kept}")
    assert abs(similarity - expected) < 0.002 and kept == pair[:1], f"the behaviour has changed; expected {expected}"
assert model.deduplicate(["Pay in full", "Do not pay in full"]) == ["Pay in full", "Do not pay in full"]
PYTHON
