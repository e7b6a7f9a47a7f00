"""A run ends after consecutive failed resets: three before the first success, more after it."""

import pytest

from webarena_gym.errors import AbortedRunError
from webarena_gym.vector.failures import ResetMonitor


def failures_until_the_end(resets):
    for count in range(1, 100):
        try:
            resets.record("no browser")
        except AbortedRunError as error:
            return count, str(error)
    return None


@pytest.mark.parametrize(("num_envs", "limit"), [(1, 6), (3, 6), (4, 8)])
def test_a_run_that_has_begun_lasts_longer(num_envs, limit):
    assert failures_until_the_end(ResetMonitor(num_envs))[0] == 3
    begun = ResetMonitor(num_envs)
    begun.record()
    count, message = failures_until_the_end(begun)
    assert count == limit
    assert message == f"the run was aborted after {limit} consecutive failed resets; the last: no browser"


def test_a_success_starts_the_count_again():
    resets = ResetMonitor()
    for failure in ("a", "a", "", *["a"] * 5, "", *["a"] * 5):
        resets.record(failure)
    with pytest.raises(AbortedRunError):
        resets.record("a")
