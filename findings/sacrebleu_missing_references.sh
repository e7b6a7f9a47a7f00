#!/usr/bin/env bash
# sacrebleu 2.6.0: `corpus_bleu`, `corpus_chrf` and `corpus_ter` with lists of differing lengths.
#
# Guess: three hypotheses with two references are an error.
# Seen:  the lists are cut to the shortest: the last hypothesis is not scored, and the score is that of a perfect corpus. So is
#        a list of references per hypothesis, instead of a list per set of references: only the first hypothesis is scored.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sacrebleu==2.6.0
"$folder/venv/bin/python" - <<'PYTHON'
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

hypotheses = ["the cat sat on the mat", "a dog ran in the park", "wrong words here and there"]
references = ["the cat sat on the mat", "a dog ran in the park", "it rained all day long"]


def scores(references):
    return [round(metric(hypotheses, references).score) for metric in (corpus_bleu, corpus_chrf, corpus_ter)]


print("BLEU, chrF, TER with three references:", scores([references]))
assert scores([references])[0] < 80
print("with two references:", scores([references[:2]]))
assert scores([references[:2]]) == [100, 100, 0], "the behaviour has changed"
print("with a list of references per hypothesis:", scores([[reference] for reference in references]))
assert scores([[reference] for reference in references]) == [100, 100, 0], "the behaviour has changed"
PYTHON
