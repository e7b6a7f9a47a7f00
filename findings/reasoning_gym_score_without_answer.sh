#!/usr/bin/env bash
# reasoning-gym 0.1.25: the score of a missing answer, and of a data set's own answer.
#
# Guess: score_answer(None, entry) is 0.0, and score_answer(entry["answer"], entry) is 1.0, for every data set.
# Seen:  of countdown, fraction_simplification and puzzle24 a missing answer scores 0.01; of boxnet, graph_color,
#        propositional_logic, rubiks_cube and rush_hour the own answer is None, which scores 0.0. A trainer that takes
#        "score > 0" for success counts silence, and a test of "own answers score 1" fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet reasoning-gym==0.1.25
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import reasoning_gym

rewarded, unanswered = [], []
for name in ("countdown", "fraction_simplification", "puzzle24", "basic_arithmetic", "boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"):
    data = reasoning_gym.create_dataset(name, size=1, seed=7)
    entry = data[0]
    own, missing = data.score_answer(entry["answer"], entry), data.score_answer(None, entry)
    print(f"{name}: own answer {own}, missing answer {missing}, the answer is {entry['answer']!r}")
    rewarded += [name] if missing == 0.01 else []
    unanswered += [name] if entry["answer"] is None and own == 0.0 else []
assert rewarded == ["countdown", "fraction_simplification", "puzzle24"], rewarded
assert unanswered == ["boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"], unanswered
PYTHON
