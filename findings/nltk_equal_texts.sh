#!/usr/bin/env bash
# nltk 3.10.4: the scores of a text that equals its reference.
#
# Guess: chrF and smoothed BLEU are 1 for equal texts, as in sacrebleu, and never more.
# Seen:  chrF of an answer with fewer than six characters is less ("5" has 1/6, "yes" 0.5), BLEU of fewer than four words is less
#        with all smoothing methods but one for one word, and methods 5 and 7 return up to 1.117. sacrebleu has 100 in each case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nltk==3.10.4 sacrebleu==2.6.0
"$folder/venv/bin/python" - <<'PYTHON'
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.chrf_score import sentence_chrf
from sacrebleu import sentence_bleu as sacre_bleu
from sacrebleu import sentence_chrf as sacre_chrf

for text, score in {"5": 1 / 6, "yes": 0.5, "Paris": 5 / 6, "London": 1.0}.items():
    seen = sentence_chrf(text, text)
    print(f"chrF of {text!r}: {seen:.3f}, sacrebleu {sacre_chrf(text, [text]).score:.0f}")
    assert abs(seen - score) < 1e-6 and sacre_chrf(text, [text]).score == 100, f"the behaviour has changed; expected {score}"
expected = {
    "blue": [0.178, 0.595, 0.354, 1.0, 0.192, 0.192],
    "dark blue": [0.316, 0.707, 0.595, 0.221, 0.39, 0.436],
    "a dark blue bag": [1.0, 1.0, 1.0, 1.0, 1.011, 1.011],
    "a very dark blue bag": [1.0, 1.0, 1.0, 1.0, 1.117, 1.117],
}
for text, scores in expected.items():
    words = text.split()
    methods = [getattr(SmoothingFunction(), f"method{number}") for number in (1, 2, 3, 4, 5, 7)]
    seen = [round(sentence_bleu([words], words, smoothing_function=method), 3) for method in methods]
    print(f"BLEU of {text!r}, methods 1 to 5 and 7: {seen}, sacrebleu {sacre_bleu(text, [text]).score:.0f}")
    assert seen == scores, f"the behaviour has changed; expected {scores}"
    assert round(sacre_bleu(text, [text]).score) == 100
PYTHON
