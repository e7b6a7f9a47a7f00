"""Whether a function's time grows with the length of a text and not with its square: by ratios alone, however fast the machine is."""

import time

LONGER = 16  # times
MOST = 2.5 * LONGER  # times as long for a text so much longer; the square would be LONGER * LONGER
TRIES = 6


def grows_too_fast(read, make, length=1_000):
    """Say whether `read` takes far more than LONGER times the time for `make(LONGER * length)` that it takes for `make(length)`.

    One try that does not is enough, as nothing makes slow code fast by chance.
    """
    for _ in range(TRIES):
        short = min(_seconds(read, make(length)) for _ in range(2))
        if _seconds(read, make(LONGER * length)) <= MOST * short:
            return False
    return True


def _seconds(read, text):
    started = time.thread_time_ns()
    read(text)
    return time.thread_time_ns() - started + 1
