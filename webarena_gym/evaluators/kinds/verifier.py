"""The eval kind `verifier`: a verifier of a suite, a Python file of another project, must accept the state of the application.

The file runs in a process of its own (see `applications.verifiers`), and only in an env with the keyword `suite`.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_keys, shorten


def accepted_by(file: str) -> dict[str, Any]:
    """Require that the verifier in a file of the suite's folder accepts the final state."""
    return {"eval_types": ["verifier"], "verifier": [{"file": file}]}


def _validate(evaluation: Mapping[str, Any]) -> None:
    for check in evaluation.get("verifier") or ():
        check_keys("a verifier", check, {"file": str})
        path = PurePosixPath(check["file"])
        if path.is_absolute() or ".." in path.parts or not check["file"].isprintable():
            raise EvaluationError(
                f"a verifier has file {shorten(check['file'])}; expected a relative path in the folder of its suite"
            )


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    _validate(evaluation)
    return [partial(_judge, check["file"]) for check in evaluation.get("verifier") or ()]


def _judge(file: str, _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    if outcome.verify is None:
        raise EvaluationError(f"the verifier {file!r} cannot run: the env has no suite=, and only suites have verifiers")
    passed, reason = outcome.verify(file)
    return [Verdict("verifier", passed, reason, file)]


KIND = EvalKind(
    name="verifier",
    key="verifier",
    keys={"verifier": (list,)},
    readers={"native": _read},
    looks_at="content",
    validate=_validate,
)
