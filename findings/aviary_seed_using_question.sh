#!/usr/bin/env bash
# fhaviary 0.37.0: the order of the options of MultipleChoiceQuestion(shuffle_seed="SEED_USING_QUESTION").
#
# Guess: equal questions have equal orders, in each run: the question is the seed.
# Seen:  the seed is Python's hash() of the question, which differs between processes. The letter of the right answer
#        changes from run to run, and between the workers of one run.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet fhaviary==0.37.0
cat >"$folder/question.py" <<'PYTHON'
from aviary.utils import MultipleChoiceQuestion

question = MultipleChoiceQuestion(
    question="What is six times seven?",
    options=["41", "43", "44", "45"],
    ideal_answer="42",
    shuffle_seed=MultipleChoiceQuestion.SEED_USING_QUESTION,
)
print(question.ideal_answer_letter, *question.options, sep=", ")
PYTHON
for seed in 1 2 3 1; do  # Python's default is a random seed for each process
    PYTHONHASHSEED=$seed "$folder/venv/bin/python" "$folder/question.py" | tee -a "$folder/orders"
done
[ "$(sort -u "$folder/orders" | wc -l)" = 3 ] || { echo "the behaviour has changed; expected three orders"; exit 1; }
[ "$(sed -n 1p "$folder/orders")" = "$(sed -n 4p "$folder/orders")" ]
randomized=$(env -u PYTHONHASHSEED "$folder/venv/bin/python" -c 'import sys; print(sys.flags.hash_randomization)')
echo "hash() is different in each process by default: $randomized"
