"""Texts that are hard to read, and whether work outgrows its input: judged by how CPU time grows, never by how long anything takes."""

import gc
import time
from collections.abc import Callable

UNITS = (
    "a", " ", "\n", "\t", " \n", "x\n\n", "word ", "= ", "== a ==\n", "#", "# ", "*", "* ", "**a ", "*a ", "_", "`", "```\n", "[", "[[", "[[a|",
    "[a](", "](", "(", "((", "- ", "> ", "1. ", "1", "-", "|", "| ", "! ", "<", "&", "'", '"', "%", "/", "../", ".", ",", "@", "@a ", "a@b.c ",
    "$", "{{", "http://a.b/ ", "Edit section ", "Reply to ", "\u202e", "\u00e9", "\U0001f642", "\u0130",
)  # fmt: skip
STARTS = ("==", "# ", "**a", "[[", "[a](http://", "`", "- ", "| ")
NASTY = [("x", unit) for unit in UNITS] + [(start, unit) for start in STARTS for unit in (" ", "\t", "a", "#", "= ", "*")]
"""What a text begins with, and what stands in it over and over: what scanners of markup, addresses and labels find hard."""

LONGER = 16  # times: a text of the largest size that `grows_too_fast` tries
_LITTLE_S = 0.0005
_STEP = 4  # from one size to the next
_MOST = 8  # times the CPU time of one size that the next may take: four times is linear, sixteen times quadratic
_CERTAIN = 64  # times: no disturbance does that to the best of two
_TRIES = 12


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of this thread that some work takes, without that of collecting garbage."""
    gc.disable()
    try:
        begin = time.thread_time()
        work()
        return time.thread_time() - begin
    finally:
        gc.enable()


def outgrown(work: Callable[[int], Callable[[], object]], first: int, last: int, floor: float) -> str:
    """Return at which size some work costs more than a linear function of the size allows, "" when it never does.

    `work(size)` prepares the work of a size. Sizes grow by four from `first` to `last`. Less than `floor` seconds are too little to
    tell anything. What looks too slow is measured again in turns with the size before it, so that a machine that is slow for a while,
    or busy with other work, is slow for both: only what is too slow each time has outgrown.
    """
    smaller = work(first)
    before, size = cpu_seconds(smaller), first * _STEP
    while size <= last:
        larger = work(size)
        now = cpu_seconds(larger)
        for attempt in range(_TRIES):
            if now <= _MOST * before or now <= floor:
                break
            if attempt and now > _CERTAIN * max(before, floor):
                return _slow(size, now, before)
            before, now = cpu_seconds(smaller), cpu_seconds(larger)
        else:
            return _slow(size, now, before)
        smaller, before, size = larger, now, size * _STEP
    return ""


def _slow(size: int, now: float, before: float) -> str:
    return f"size {size} takes {now:.4f} s, {now / before:.0f} times as long as size {size // _STEP}"


def grows_too_fast(read: Callable[[str], object], make: Callable[[int], str], length: int = 1_000) -> bool:
    """Say whether `read` takes far more than LONGER times the time for `make(LONGER * length)` that it takes for `make(length)`."""

    def work(size: int) -> Callable[[], object]:
        text = make(size)
        return lambda: read(text)

    return bool(outgrown(work, length, LONGER * length, _LITTLE_S))


def text_of(start, unit, size):
    """A text of that size, which ends with a letter so that nothing is cut off it."""
    return f"{start}{unit * (size // len(unit))}"[: size - 1] + "x"
