"""Checks by verifiers: the result of the file is the verdict, and its path stays inside of the suite."""

from dataclasses import replace

import pytest

from tests.errors import expect_error
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import check, evaluate
from webarena_gym.evaluators.kinds.verifier import accepted_by
from webarena_gym.evaluators.outcome import answer_outcome


@pytest.mark.parametrize("passed", [True, False])
def test_the_verdict_is_that_of_the_file(passed):
    outcome = replace(answer_outcome(""), verify=lambda file: (passed, f"{file} ran"))
    (verdict,) = evaluate(accepted_by("apps/verify.py"), "", outcome)
    assert (verdict.check, verdict.passed, verdict.why, verdict.decided_by) == (
        "verifier",
        passed,
        "apps/verify.py ran",
        "apps/verify.py",
    )


def test_an_env_without_a_suite_has_no_verifiers():
    with expect_error(EvaluationError, "'verify.py'", "suite="):
        evaluate(accepted_by("verify.py"), "", answer_outcome(""))


@pytest.mark.parametrize("file", ["/etc/passwd", "../verify.py", "apps/../../verify.py", "a\n.py"])
def test_paths_outside_of_the_suite_are_rejected(file):
    with expect_error(EvaluationError, repr(file)):
        check(accepted_by(file))
