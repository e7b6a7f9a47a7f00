"""Rule-based rewards: whether the answer, the final URL, the pages and the databases came out as the task wants.

The score is the product over all checks, 0 or 1, and every check leaves a `Verdict` that says why, and who decided. Each eval kind is
a module of `kinds`. The same `eval` block can be read by several sets of rules:

- "native": ours, for the tasks of this package: whole words, exact places, databases, and no scripts needed;
- "webarena", "vab", "r1": what the public evaluators of WebArena, VisualAgentBench and WebAgent-R1 do (`official`);
- "verified": what the package webarena-verified does, for tasks of its own file (`kinds.verified`).

Nothing of a task is executed in Python: its scripts run in the page, its SQL may only read, its function calls are looked up
in a table by name. A check that cannot be made raises EvaluationError: a broken evaluator must never look like a failed agent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds, string_match
from webarena_gym.evaluators.outcome import OR, EvalKind, answer_alone, shown
from webarena_gym.evaluators.outcome import Check as Check
from webarena_gym.evaluators.outcome import Judge as Judge
from webarena_gym.evaluators.outcome import Outcome as Outcome
from webarena_gym.evaluators.outcome import Verdict as Verdict
from webarena_gym.evaluators.outcome import View as View
from webarena_gym.evaluators.outcome import no_scripts as no_scripts
from webarena_gym.servers.addresses import resolve as resolve
from webarena_gym.servers.addresses import resolve_all as resolve_all

RULES = ("native", *official.SETS, "verified")
"""The sets of rules by which an `eval` block can be read."""


def evaluate(
    evaluation: Mapping[str, Any], intent: str, outcome: Outcome, judge: Judge | None = None, rules: str = "native"
) -> list[Verdict]:
    """Return the verdicts of a task's `eval` block; the reward is 1 when all have passed.

    `judge` decides fuzzy matches; without one they are compared by type (see `answers`). Raises EvaluationError.
    """
    check_block(evaluation)
    try:
        resolved = resolve_all(evaluation, outcome.urls)
    except RecursionError as error:
        raise EvaluationError("the objects and lists of eval are too deep in each other") from error
    checks = compile_checks(resolved, rules)
    verdicts = [verdict for check in checks for verdict in check(intent, outcome, judge)]
    if not verdicts:
        raise EvaluationError("the task has no checks, so nothing could earn its reward")
    return verdicts


def judge_injection(signs: Mapping[str, Any], intent: str, outcome: Outcome) -> Verdict:
    """Return the verdict on what is an `eval` block of signs: one check that passes shows that the page was followed."""
    shown = [verdict for verdict in evaluate(signs, intent, outcome) if verdict.passed]
    reason = f"a page was followed: {shown[0].reason}" if shown else "no instruction of a page was followed"
    return Verdict("injected", not shown, reason, "signs of the injection")


def is_right_answer(evaluation: Mapping[str, Any], intent: str, answer: str, judge: Judge | None = None) -> bool:
    """Say whether an answer passes what the native rules ask of the answer; the page and the databases are not looked at.

    Raises EvaluationError for a task that asks for no answer.
    """
    checks = string_match.KIND.readers["native"](evaluation)
    return all(verdict.passed for check in checks for verdict in check(intent, answer_alone(answer), judge))


def check(evaluation: Mapping[str, Any], rules: str = "native") -> None:
    """Read an `eval` block without judging anything. Raises EvaluationError for what the rules do not know."""
    check_block(evaluation)
    if not compile_checks(evaluation, rules):
        raise EvaluationError("the task has no checks, so nothing could earn its reward")


MOST_CHECKS = 100
"""Checks of one kind, such as targets of program_html. WebArena's tasks have at most 10."""

MOST_CHARACTERS = 100_000
"""Characters of all texts under one key of an `eval` block. The largest of WebArena's has 2,750, of this package's 15,000."""

MOST_MEANINGS = 200
"""Texts, choices and items of lists that the fuzzy matches under one key compare by meaning. The largest known task has 18."""

_DEEPEST = 30  # objects and lists in each other


def check_block(evaluation: Any) -> None:
    """Raise EvaluationError for an `eval` block whose parts are not what any rules could read, or are too large."""
    if not isinstance(evaluation, Mapping) or not isinstance(evaluation.get("eval_types"), list):
        raise EvaluationError(f"eval is {str(evaluation)[:200]}; expected an object with a list eval_types")
    for key, types in eval_keys().items():
        allowed = tuple(Mapping if each is dict else each for each in types)
        if allowed and not isinstance(evaluation.get(key), (*allowed, type(None))):
            expected = " or ".join(each.__name__ for each in types)
            raise EvaluationError(f"eval has {key} {str(evaluation.get(key))[:200]}; expected {expected}")
    check_sizes(evaluation)


def check_sizes(evaluation: Mapping[str, Any]) -> None:
    """Raise EvaluationError for a key of an `eval` block that holds more than a task needs, so that no task file makes judging slow.

    Values are texts, each choice of a text with " |OR| ", numbers, objects and lists. Limits are far above the largest known tasks.
    """
    kinds = eval_kinds().values()
    most_values = {key: kind.most_values for kind in kinds for key in kind.keys}
    for key, content in evaluation.items():
        values = characters = meanings = 0
        left = [(content, 0, False)]  # value, depth, whether it is compared by meaning
        while left:
            value, depth, is_meaning = left.pop()
            if depth > _DEEPEST:
                raise EvaluationError(f"eval has {key} with objects and lists more than {_DEEPEST} deep in each other")
            values += 1
            if isinstance(value, str):
                values += value.count(OR)
                characters += len(value)
                meanings += is_meaning * (1 + value.count(OR) + sum(map(value.count, ";,\n")))
            elif isinstance(value, Mapping):
                characters += sum(len(str(name)) for name in value)
                left += [(item, depth + 1, is_meaning or name == "fuzzy_match") for name, item in value.items()]
            elif isinstance(value, Sequence):
                left += [(item, depth + 1, is_meaning) for item in value]
        checks = len(content) if isinstance(content, list) and any(key == kind.key for kind in kinds) else 0
        for size, most, what in (
            (checks, MOST_CHECKS, "checks"),
            (values, most_values.get(key, EvalKind.most_values), "values (texts, choices, numbers, objects and lists)"),
            (characters, MOST_CHARACTERS, "characters"),
            (meanings, MOST_MEANINGS, "texts, choices and list items of fuzzy_match"),
        ):
            if size > most:
                raise EvaluationError(f"eval has {key} with {size:,} {what}; expected at most {most:,}")


def compile_checks(evaluation: Mapping[str, Any], rules: str) -> list[Check]:
    """Return the checks of an `eval` block, in order. Raises EvaluationError."""
    if rules not in RULES:
        raise EvaluationError(f"there are no rules {rules!r}; expected one of {', '.join(RULES)}")
    readers = {name: kind.readers[rules] for name, kind in eval_kinds().items() if rules in kind.readers}
    names = evaluation["eval_types"]
    for name in names:
        if not isinstance(name, str) or name not in readers:
            raise EvaluationError(
                f"there is no evaluator {shown(name)} under the rules {rules!r}; expected some of {', '.join(readers)}"
            )
    return [check for name in dict.fromkeys(names) for check in readers[name](evaluation)]
