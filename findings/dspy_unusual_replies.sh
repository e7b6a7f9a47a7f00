#!/usr/bin/env bash
# dspy 3.4.1: replies that do not have quite the form that an adapter asked for.
#
# Guess: they are read as they are meant, or are an error that starts another try.
# Seen:  an indented header leaves "]]" at the beginning of the answer. A null for a text field is the text "None", and a list or an
#        object its Python repr. Two `answer` elements are one answer, "['4', '5']". The list ['it's', 'b'] has the items "it", "s'"
#        and "b". Each is a valid prediction that a metric scores.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dspy==3.4.1 litellm==1.110.2 json-repair==0.64.6 pydantic==2.13.5
"$folder/venv/bin/python" - <<'PYTHON'
import dspy
from dspy.adapters import ChatAdapter, JSONAdapter, XMLAdapter


class Question(dspy.Signature):
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class Items(dspy.Signature):
    question: str = dspy.InputField()
    answer: list[str] = dspy.OutputField()


for adapter, signature, reply, expected in (
    (ChatAdapter(), Question, "[[ ## answer ## ]]\n42", "42"),
    (ChatAdapter(), Question, "  [[ ## answer ## ]]\n  42", "]]\n  42"),
    (ChatAdapter(), Items, "[[ ## answer ## ]]\n[\"it's\", \"b\"]", ["it's", "b"]),
    (ChatAdapter(), Items, "[[ ## answer ## ]]\n['it's', 'b']", ["it", "s'", "b"]),
    (JSONAdapter(), Question, '{"answer": null}', "None"),
    (JSONAdapter(), Question, '{"answer": true}', "True"),
    (JSONAdapter(), Question, '{"answer": {"price": 5}}', "{'price': 5}"),
    (XMLAdapter(), Question, "<answer>4</answer>", "4"),
    (XMLAdapter(), Question, "<answer>4</answer> or <answer>5</answer>", "['4', '5']"),
):
    seen = adapter.parse(signature, reply)["answer"]
    print(f"{type(adapter).__name__}, {reply!r}: {seen!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
PYTHON
