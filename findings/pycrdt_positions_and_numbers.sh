#!/usr/bin/env bash
# pycrdt 0.14.13 and yjs 13.6.33 (npm): a shared document in Python and in JavaScript.
#
# Guess: positions in a text are those of `str`, and the number 3 is 3 in both languages.
# Seen:  positions in pycrdt are those of UTF-8: in "Café mug red" the position of "mug" in `str` removes " mu" and inserts within a word.
#        The length is 13, not 12. The integer 3 is 3.0 in Python, also if Python wrote it. In yjs positions are those of JavaScript's texts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pycrdt==0.14.13
cd "$folder"
npm install --silent --no-audit --no-fund yjs@13.6.33
cat > write.mjs <<'JAVASCRIPT'
import { writeFileSync } from "node:fs";

import * as Y from "yjs";

const doc = new Y.Doc();
doc.getMap("state").set("quantity", 3);
const text = doc.getText("note");
text.insert(0, "Café mug red");
const edited = new Y.Doc();
Y.applyUpdate(edited, Y.encodeStateAsUpdate(doc));
edited.getText("note").delete(String(text).indexOf("mug"), 3);
console.log(String(edited.getText("note")));
writeFileSync("update", Y.encodeStateAsUpdate(doc));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import pathlib
import subprocess

from pycrdt import Doc, Map, Text


def check(name: str, seen: object, expected: object) -> None:
    print(f"{name}: {seen!r}")
    assert repr(seen) == repr(expected), f"the behaviour has changed; expected {expected!r}"


in_javascript = subprocess.run(["node", "write.mjs"], capture_output=True, text=True, check=True).stdout.rstrip("\n")
check("removed in yjs", in_javascript, "Café  red")


def read() -> tuple[Text, int]:
    doc = Doc()
    doc.apply_update(pathlib.Path("update").read_bytes())
    text = doc.get("note", type=Text)
    check("text", str(text), "Café mug red")
    return text, str(text).index("mug")


text, position = read()
check("length", (len(text), len(str(text))), (13, 12))
del text[position : position + 3]
check("removed", str(text), "Cafég red")
text, position = read()
text.insert(position, "big ")
check("inserted", str(text), "Cafébig  mug red")
text, position = read()
text[position : position + 3] = "cup"
check("replaced", str(text), "Cafécupg red")

doc = Doc()
doc.apply_update(pathlib.Path("update").read_bytes())
check("quantity", doc.get("state", type=Map)["quantity"], 3.0)
state = Doc().get("state", type=Map)
state["quantity"] = 3
check("quantity written in Python", state["quantity"], 3.0)
state["large"] = 2**60
check("2 ** 60", state["large"], 2**60)
PYTHON
