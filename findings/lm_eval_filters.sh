#!/usr/bin/env bash
# lm-eval 0.4.13: filters that read an answer from one reply or several.
#
# Guess: `majority_vote` counts the replies that have an answer, and `multi_choice_regex` finds the text of a choice as a word.
# Seen:  replies without an answer are "[invalid]" and vote as well: three of them outvote two that agree. The choice "No" is found
#        in "I do not know", so that this reply is the answer (A), and "not London but Paris" is London.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps lm-eval==0.4.13  # the filters need none of its requirements
"$folder/venv/bin/python" - <<'PYTHON'
from lm_eval.filters.extraction import MultiChoiceRegexFilter, RegexFilter
from lm_eval.filters.selection import MajorityVoteFilter

extract = RegexFilter(regex_pattern=r"The answer is (\-?[0-9]+)", group_select=-1)
agreeing = ["6 * 7 = 42. The answer is 42", "The answer is 42"]
for replies, expected in (
    ([*agreeing, "The answer is 41", "It is 40"], "42"),
    ([*agreeing, "I need more time", "Let me think", "It depends"], "[invalid]"),
):
    [vote] = MajorityVoteFilter().apply(extract.apply([replies], [{}]), [{}])
    print(f"{len(replies)} replies, two with the answer 42: {vote}")
    assert vote == [expected], f"the behaviour has changed; expected {expected}"

choice = MultiChoiceRegexFilter(regex_pattern=r"(\([A-Z]\))", ignore_case=True)
for choices, reply, expected in (
    (["No", "Yes"], "The answer is (B)", "(B)"),
    (["No", "Yes"], "Yes.", "(B)"),
    (["No", "Yes"], "I do not know.", "(A)"),
    (["London", "Paris"], "It is not London but Paris.", "(A)"),
    (["London", "Paris"], "I cannot answer this.", "[invalid]"),
):
    [[seen]] = choice.apply([[reply]], [{"choices": choices}])
    print(f"{reply!r} with the choices {choices}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
