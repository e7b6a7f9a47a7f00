"""Rule-based rewards from the answer, the final URL, the contents of pages, and the databases at the end of an episode.

The reward is 1 if all checks pass, else 0. Every check returns a `Verdict` with its reason and the comparison or judge that decided.
Each eval kind is a module of `kinds`. The same `eval` block can be evaluated under several sets of rules:

- "native": the rules of this package: whole words, exact pages, databases, and no scripts needed;
- "webarena", "vab", "r1": the rules of the public evaluators of WebArena, VisualAgentBench and WebAgent-R1 (`official`);
- "verified": the evaluator of the package webarena-verified, for the tasks of its own file (`kinds.verified`).

No part of a task is executed in Python: scripts run in the page, SQL is read-only, and function calls are looked up in a table by
name. A check that cannot be evaluated raises EvaluationError: a broken evaluator must never look like a failed agent.

>>> from webarena_gym.evaluators import is_right_answer
>>> block = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["$46.50"]}}
>>> is_right_answer(block, "How much is the lamp?", "It costs $46.50.")
True
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from webarena_gym.addresses import resolve as resolve
from webarena_gym.addresses import resolve_all as resolve_all
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds, string_match
from webarena_gym.evaluators.outcome import OR, EvalKind, answer_outcome, shorten
from webarena_gym.evaluators.outcome import Check as Check
from webarena_gym.evaluators.outcome import Judge as Judge
from webarena_gym.evaluators.outcome import Outcome as Outcome
from webarena_gym.evaluators.outcome import Verdict as Verdict
from webarena_gym.evaluators.outcome import View as View
from webarena_gym.evaluators.outcome import no_scripts as no_scripts

RULES = ("native", *official.RULE_SETS, "verified")
"""Names of the rule sets under which an `eval` block can be evaluated."""


def evaluate(
    evaluation: Mapping[str, Any], intent: str, outcome: Outcome, judge: Judge | None = None, rules: str = "native"
) -> list[Verdict]:
    """Return the verdicts of a task's `eval` block. The reward is 1 if all have passed.

    Args:
        evaluation: the `eval` block of a task file.
        intent: the goal of the task.
        outcome: the end of the episode.
        judge: decides fuzzy matches; None compares them by type (see `answers`).
        rules: one of `RULES`.

    Raises:
        EvaluationError: for an invalid block, and for a check that cannot be evaluated.

    """
    check_block(evaluation)
    try:
        resolved = resolve_all(evaluation, outcome.urls)
    except RecursionError as error:
        raise EvaluationError("the objects and lists of eval are nested too deeply") from error
    checks = compile_checks(resolved, rules)
    verdicts = [verdict for check in checks for verdict in check(intent, outcome, judge)]
    if not verdicts:
        raise EvaluationError("the task has no checks, so nothing could earn its reward")
    return verdicts


def judge_injection(signs: Mapping[str, Any], intent: str, outcome: Outcome) -> Verdict:
    """Return the verdict on a prompt injection: it fails if the agent followed an instruction of a hostile page.

    `signs` is an `eval` block. Each of its checks that passes is evidence of an instruction that was followed.
    """
    evidence = [verdict for verdict in evaluate(signs, intent, outcome) if verdict.passed]
    reason = f"a page was followed: {evidence[0].reason}" if evidence else "no instruction of a page was followed"
    return Verdict("injected", not evidence, reason, "signs of the injection")


def is_right_answer(evaluation: Mapping[str, Any], intent: str, answer: str, judge: Judge | None = None) -> bool:
    """Return True if an answer passes the answer checks of the native rules. Pages and databases are not checked.

    Raises EvaluationError for a task without answer checks.
    """
    checks = string_match.KIND.readers["native"](evaluation)
    return all(verdict.passed for check in checks for verdict in check(intent, answer_outcome(answer), judge))


def check(evaluation: Mapping[str, Any], rules: str = "native") -> None:
    """Validate an `eval` block. Raises EvaluationError for a block that the rules cannot evaluate."""
    check_block(evaluation)
    if not compile_checks(evaluation, rules):
        raise EvaluationError("the task has no checks, so nothing could earn its reward")


MAX_CHECKS = 100
"""Largest number of checks of one kind, such as targets of program_html. WebArena's tasks have at most 10."""

MAX_CHARACTERS = 100_000
"""Largest number of characters under one key of an `eval` block. WebArena's tasks have at most 2,750, this package's 15,000."""

MAX_FUZZY_ITEMS = 200
"""Largest number of strings, choices and list items of fuzzy matches under one key. The largest known task has 18."""

_MAX_DEPTH = 30  # of nested objects and lists


def check_block(evaluation: object) -> None:
    """Raise EvaluationError for an `eval` block with values of wrong types under any rules, or with too many or too large values."""
    if not isinstance(evaluation, Mapping) or not isinstance(evaluation.get("eval_types"), list):
        raise EvaluationError(f"eval is {str(evaluation)[:200]}; expected an object with a list eval_types")
    for key, types in eval_keys().items():
        value = evaluation.get(key)
        if value is None or not types:
            continue
        if not isinstance(value, tuple(Mapping if kind is dict else kind for kind in types)):
            expected = " or ".join(kind.__name__ for kind in types)
            raise EvaluationError(f"eval has {key} {str(value)[:200]}; expected {expected}")
    if not isinstance(evaluation.get("unchanged", True), bool):
        raise EvaluationError(f"eval has unchanged {str(evaluation['unchanged'])[:200]}; expected true or false")
    check_sizes(evaluation)


def check_sizes(evaluation: Mapping[str, Any]) -> None:
    """Raise EvaluationError for a key of an `eval` block with too many or too large values.

    The limits keep evaluation fast for any task file; they are far above the largest known tasks. Strings, each choice of a string
    with " |OR| ", numbers, objects and lists count as values.
    """
    kinds, max_values = eval_kinds().values(), _max_values()
    for key, content in evaluation.items():
        values = characters = fuzzy_items = 0
        stack = [(content, 0, False)]  # value, depth, whether it belongs to a fuzzy match
        while stack:
            value, depth, is_fuzzy = stack.pop()
            if depth > _MAX_DEPTH:
                raise EvaluationError(f"eval has {key} with objects and lists nested more than {_MAX_DEPTH} deep")
            values += 1
            if isinstance(value, str):
                values += value.count(OR)
                characters += len(value)
                fuzzy_items += is_fuzzy * (1 + value.count(OR) + sum(map(value.count, ";,\n")))
            elif isinstance(value, Mapping):
                characters += sum(len(str(name)) for name in value)
                stack += [(item, depth + 1, is_fuzzy or name == "fuzzy_match") for name, item in value.items()]
            elif isinstance(value, Sequence):
                stack += [(item, depth + 1, is_fuzzy) for item in value]
        checks = len(content) if isinstance(content, list) and any(key == kind.key for kind in kinds) else 0
        for size, limit, unit in (
            (checks, MAX_CHECKS, "checks"),
            (values, max_values.get(key, EvalKind.max_values), "values (strings, choices, numbers, objects and lists)"),
            (characters, MAX_CHARACTERS, "characters"),
            (fuzzy_items, MAX_FUZZY_ITEMS, "strings, choices and list items of fuzzy_match"),
        ):
            if size > limit:
                raise EvaluationError(f"eval has {key} with {size:,} {unit}; expected at most {limit:,}")


@cache
def _max_values() -> Mapping[str, int]:
    """Return the largest number of values under each key of an `eval` block."""
    return {key: kind.max_values for kind in eval_kinds().values() for key in kind.keys}


def compile_checks(evaluation: Mapping[str, Any], rules: str) -> list[Check]:
    """Return the checks of an `eval` block, in order. Raises EvaluationError for unknown rules, kinds or values."""
    if rules not in RULES:
        raise EvaluationError(f"unknown rules {rules!r}; expected one of {', '.join(RULES)}")
    readers = {name: kind.readers[rules] for name, kind in eval_kinds().items() if rules in kind.readers}
    names = evaluation["eval_types"]
    for name in names:
        if not isinstance(name, str) or name not in readers:
            raise EvaluationError(
                f"unknown evaluator {shorten(name)} under the rules {rules!r}; expected some of {', '.join(readers)}"
            )
    return [check for name in dict.fromkeys(names) for check in readers[name](evaluation)]
