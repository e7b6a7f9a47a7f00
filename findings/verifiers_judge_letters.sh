#!/usr/bin/env bash
# verifiers 0.4.0: the verdict of a judge that replies with a letter, and the comparison of printed numbers.
#
# Guess: "B. The response gives a different year." is B: the verdict at the beginning, or the only capital letter. Numbers are equal up to
#        a relative error.
# Seen:  the last word that is a choice in any case is the verdict, so that the article "a" is an A: with the choices A and B of its
#        documentation, `ReferenceJudge` gives such a reply the reward 1. With "yes" and "no" an explanation reverses it as well. In
#        `compare_stdout_results` 0.0004 equals 0.0001, and the lines may be divided in another way.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet verifiers==0.4.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import verifiers.v1 as vf
from verifiers.v1.judge import JudgeResponse
from verifiers.v1.judges.reference import ReferenceJudge, ReferenceJudgeConfig

CASES = (
    (("A", "B"), "B", "B"),
    (("A", "B"), "The response is a wrong date, so B", "B"),
    (("A", "B"), "B. The response gives a different year.", "A"),
    (("A", "B"), "**B**, because a number is missing", "A"),
    (("A", "B"), "Answer: the response is a different person, so it is B.", "A"),
    (("A", "B", "C"), "C - it is a refusal", "A"),
    (("yes", "no"), "No. A yes would need the year.", "yes"),
    (("CORRECT", "INCORRECT"), "INCORRECT: a correct response has the year.", "CORRECT"),
)
for choices, reply, expected in CASES:
    verdict = vf.parse_judge_choice(reply, choices)
    print(f"{'/'.join(choices)}: {reply!r} is {verdict}")
    assert verdict == expected, f"the behaviour has changed; expected {expected}"
judge = ReferenceJudge(ReferenceJudgeConfig(choices=("A", "B")))
for reply, expected in (("B", 0.0), ("B. The response gives a different year.", 1.0)):
    reward = judge.parse(JudgeResponse[float](text=reply))
    print(f"ReferenceJudge: {reply!r} has the reward {reward}")
    assert reward == expected, f"the behaviour has changed; expected {expected}"
for printed, right, expected in (
    ("0.0004", "0.0001", True),
    ("0.004", "0.001", False),
    ("1 2\n3", "1\n2 3", True),
    ("a 0.0004", "a 0.0001", False),
):
    equal = vf.compare_stdout_results(printed, right)
    print(f"compare_stdout_results({printed!r}, {right!r}): {equal}")
    assert equal is expected, f"the behaviour has changed; expected {expected}"
PYTHON
