"""Rule-based rewards: whether the answer, the final URL, the pages and the databases came out as the task wants.

The score is the product over all checks, 0 or 1, and every check leaves a `Verdict` that says why, and who decided. Each eval kind is
a module of `kinds`. The same `eval` block can be read by several sets of rules:

- "native": ours, for the tasks of this package: whole words, exact places, databases, and no scripts needed;
- "webarena", "vab", "r1": what the public evaluators of WebArena, VisualAgentBench and WebAgent-R1 do (`official`);
- "verified": what the package webarena-verified does, for tasks of its own file (`kinds.verified`).

Nothing of a task is executed in Python: its scripts run in the page, its SQL may only read, its function calls are looked up
in a table by name. A check that cannot be made raises EvaluationError: a broken evaluator must never look like a failed agent.
"""

from collections.abc import Mapping
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.kinds import eval_keys, eval_kinds, string_match
from webarena_gym.evaluators.outcome import Check as Check
from webarena_gym.evaluators.outcome import Judge as Judge
from webarena_gym.evaluators.outcome import Outcome as Outcome
from webarena_gym.evaluators.outcome import Verdict as Verdict
from webarena_gym.evaluators.outcome import View as View
from webarena_gym.evaluators.outcome import answer_alone
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
    if not compile_checks(evaluation, rules):
        raise EvaluationError("the task has no checks, so nothing could earn its reward")


def check_block(evaluation: Any) -> None:
    """Raise EvaluationError for an `eval` block whose parts are not what any rules could read."""
    if not isinstance(evaluation, Mapping) or not isinstance(evaluation.get("eval_types"), list):
        raise EvaluationError(f"eval is {str(evaluation)[:200]}; expected an object with a list eval_types")
    for key, types in eval_keys().items():
        allowed = tuple(Mapping if each is dict else each for each in types)
        if allowed and not isinstance(evaluation.get(key), (*allowed, type(None))):
            expected = " or ".join(each.__name__ for each in types)
            raise EvaluationError(f"eval has {key} {str(evaluation.get(key))[:200]}; expected {expected}")


def compile_checks(evaluation: Mapping[str, Any], rules: str) -> list[Check]:
    """Return the checks of an `eval` block, in order. Raises EvaluationError."""
    if rules not in RULES:
        raise EvaluationError(f"there are no rules {rules!r}; expected one of {', '.join(RULES)}")
    check_block(evaluation)
    readers = {name: kind.readers[rules] for name, kind in eval_kinds().items() if rules in kind.readers}
    checks: list[Check] = []
    for name in evaluation["eval_types"]:
        if not isinstance(name, str) or name not in readers:
            raise EvaluationError(
                f"there is no evaluator {name!r} under the rules {rules!r}; expected some of {', '.join(readers)}"
            )
        checks += readers[name](evaluation)
    return checks
