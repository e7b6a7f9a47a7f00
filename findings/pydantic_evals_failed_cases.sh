#!/usr/bin/env bash
# pydantic-evals 2.62.0: averages of a report with failed cases, and expected outputs of None.
#
# Guess: a case in which the agent or the evaluator raises an exception counts as not passed, or makes the average undefined, and an
#        expected output of None is compared with the output.
# Seen:  such a case is left out: an agent that fails in three of four cases, and one whose only good run of four passes, have an average
#        of 1.0, as in the rendered table. A case that expects None is not checked by `EqualsExpected`: an invented answer costs nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydantic-evals==2.62.0 pydantic-ai-slim==2.62.0
"$folder/venv/bin/python" - <<'PYTHON'
from dataclasses import dataclass

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, Evaluator


def report(agent, answers, evaluator, **options):
    cases = [Case(name=question, inputs=question, expected_output=answer) for question, answer in answers.items()]
    return Dataset(name="questions", cases=cases, evaluators=[evaluator]).evaluate_sync(agent, progress=False, **options)


def fails_later(question):
    if question != "first":
        raise TimeoutError("the model did not reply")
    return "5"


runs = []


def fails_often(question):
    runs.append(question)
    if question != "first" and runs.count(question) < 4:
        raise TimeoutError("the model did not reply")
    return "5"


@dataclass
class SecondWord(Evaluator):
    def evaluate(self, ctx):
        return float(ctx.output.split()[1] == ctx.expected_output)


fives = dict.fromkeys(("first", "second", "third", "fourth"), "5")
seen = report(fails_later, fives, EqualsExpected())
print(f"three of four cases raise: average {seen.averages().assertions}, {len(seen.cases)} case, {len(seen.failures)} failures")
assert (seen.averages().assertions, len(seen.cases), len(seen.failures)) == (1.0, 1, 3), "the behaviour has changed"
lines = seen.render(width=120).splitlines()
average = next(line for line in lines if "Averages" in line)
print("rendered:", " ".join(average.replace("│", " ").split()))
assert "100.0%" in average, "the behaviour has changed"

seen = report(fails_often, {"first": "5", "second": "5"}, EqualsExpected(), repeat=4)
groups = [(group.name, len(group.runs), len(group.failures)) for group in seen.case_groups()]
print(f"repeat=4, runs and failures {groups}: average {seen.averages().assertions}")
assert (groups, seen.averages().assertions) == ([("first", 4, 0), ("second", 1, 3)], 1.0), "the behaviour has changed"

seen = report(lambda question: "answer 5" if question == "first" else "", fives, SecondWord())
print(f"the evaluator raises in three of four cases: average {seen.averages().scores}")
assert seen.averages().scores == {"SecondWord": 1.0}, "the behaviour has changed"

seen = report(lambda question: "5", {"first": "5", "second": None, "third": None}, EqualsExpected())
print(f"the answer is 5 where None is expected: average {seen.averages().assertions}")
assert seen.averages().assertions == 1.0, "the behaviour has changed"
PYTHON
