"""Failures of the infrastructure: their exceptions, and the end of a run whose environments cannot be reset."""

import threading

from webarena_gym.errors import AbortedRunError, ApplicationError, BrowserError

INFRASTRUCTURE_ERRORS = (ApplicationError, BrowserError, ConnectionError, TimeoutError)
"""Errors that are neither the policy's nor the programmer's mistake. An episode with one has no valid reward."""

_MAX_FIRST, _MAX_LATER = 3, 6  # consecutive failures that end a run: before the first successful reset, and after it


class ResetMonitor:
    """Ends a run whose environments cannot be reset, such as one of an application that does not start. Thread-safe.

    Only resets count. Failures of agents, such as an unreachable chat model, do not.

    Args:
        num_envs: number of environments, whose resets may fail together for a passing reason, such as a lost worker process.

    """

    def __init__(self, num_envs: int = 1) -> None:
        self._limits = _MAX_FIRST, max(_MAX_LATER, 2 * num_envs)
        self._lock = threading.Lock()
        self._failures, self._has_succeeded = 0, False

    def record(self, failure: str = "") -> None:
        """Count the result of a reset: the description of its failure, or "" for a success.

        Raises:
            AbortedRunError: after 3 consecutive failures before the first success, and after 6 or `2 * num_envs`, whichever is more, later.

        >>> resets = ResetMonitor()
        >>> for failure in ("", *["it exited with status 1"] * 5):
        ...     resets.record(failure)
        >>> resets.record("it exited with status 1")
        Traceback (most recent call last):
        webarena_gym.errors.AbortedRunError: the run was aborted after 6 consecutive failed resets; the last: it exited with status 1

        """
        with self._lock:
            self._failures = self._failures + 1 if failure else 0
            self._has_succeeded |= not failure
            if self._failures >= self._limits[self._has_succeeded]:
                raise AbortedRunError(
                    f"the run was aborted after {self._failures} consecutive failed resets; the last: {failure}"
                )
