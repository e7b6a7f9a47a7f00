#!/usr/bin/env bash
# string-comparison 1.3.0 (npm) and jellyfish 1.3.0: similarities of answers.
#
# Guess: a similarity of 1 means equal texts, and two packages agree on the similarity of Jaro and Winkler.
# Seen:  in string-comparison all metrics ignore case and blanks: "new york" is "NewYork". The cosine and the Jaccard index are those of
#        sets of characters: $5.99 and $9.95 are 1, as are "listen" and "silent". Jaro-Winkler of "red mug" and "mug red" is 0, in
#        jellyfish 0.43.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jellyfish==1.3.0
cd "$folder"
npm install --silent --no-audit --no-fund string-comparison@1.3.0
cat > compare.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import comparison from "string-comparison";

const metrics = ["cosine", "jaccardIndex", "levenshtein", "jaroWinkler"];
const round = (number) => Number(number.toFixed(2));
const compare = ([first, second]) => metrics.map((name) => round(comparison[name].similarity(first, second)));
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(compare)));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from jellyfish import jaro_winkler_similarity

CASES = (  # texts; cosine, Jaccard index, Levenshtein and Jaro-Winkler; Jaro-Winkler in jellyfish
    ("red", "red", [1, 1, 1, 1], 1.0),
    ("5", "6", [0, 0, 0, 0], 0.0),
    ("martha", "marhta", [1, 1, 0.67, 0.96], 0.96),
    ("new york", "NewYork", [1, 1, 1, 1], 0.78),
    ("$5.99", "$9.95", [1, 1, 0.6, 0.76], 0.76),
    ("listen", "silent", [1, 1, 0.33, 0.86], 0.89),
    ("no", "on on on", [1, 1, 0.33, 0.61], 0.58),
    ("red mug", "mug red", [1, 1, 0, 0], 0.43),
)
texts = json.dumps([case[:2] for case in CASES])
results = json.loads(subprocess.run(["node", "compare.mjs"], input=texts, capture_output=True, text=True, check=True).stdout)
for (first, second, expected, in_jellyfish), seen in zip(CASES, results, strict=True):
    other = round(jaro_winkler_similarity(first, second), 2)
    print(f"{first!r} and {second!r}: cosine, Jaccard, Levenshtein, Jaro-Winkler {seen}; jellyfish {other}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
    assert other == in_jellyfish, f"jellyfish has changed; expected {in_jellyfish}"
PYTHON
