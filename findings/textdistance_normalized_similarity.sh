#!/usr/bin/env bash
# textdistance 4.6.3: `normalized_similarity`, documented as a number from 0 (totally different) to 1 (equal).
#
# Guess: the algorithms keep to it: equal texts have 1, texts without a common character 0.
# Seen:  equal texts have 0 with Tanimoto and run lengths, less than 0 with arithmetic coding, 0.67 with zlib. Different texts have
#        minus infinity with Tanimoto and 1 with MLIPNS and Length; a text and the empty text have 1 with Smith-Waterman and Gotoh.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet textdistance==4.6.3 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import textdistance

pairs = [("abc", "abc"), ("abc", "xyz"), ("a", "")]
expected = {
    "levenshtein": [1.0, 0.0, 0.0],
    "jaro_winkler": [1.0, 0.0, 0.0],
    "tanimoto": [0.0, float("-inf"), float("-inf")],
    "rle_ncd": [0.0, 0.0, 0.0],
    "arith_ncd": [-1.5, -3.0, 1.0],
    "zlib_ncd": [0.667, 0.667, 0.857],
    "mlipns": [1.0, 1.0, 0.0],
    "length": [1.0, 1.0, 0.0],
    "smith_waterman": [1.0, 0.0, 1.0],
    "gotoh": [1.0, 0.5, 1.0],
}
print("pairs:", pairs)
for name, similarities in expected.items():
    algorithm = getattr(textdistance, name)
    seen = [round(float(algorithm.normalized_similarity(*pair)), 3) for pair in pairs]
    print(f"{name}: {seen}")
    assert seen == similarities, f"the behaviour has changed; expected {similarities}"
PYTHON
