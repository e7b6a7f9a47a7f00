"""Workings: step-by-step derivations of an answer from the pages that were seen.

Every rule takes values from the pages and computes. It returns sentences only if its result is the answer; the first such rule is used.
"""

import re
from collections.abc import Sequence
from datetime import date

from agents.data.thoughts.amounts import COUNT, DURATION, find_limit, find_month, read_date
from agents.data.thoughts.readings import Reading, Row, pieces, plain, quote, quote_all, words
from agents.data.thoughts.tallies import add_up, count, find_cheaper, find_range, parts_of, subtract

NOT_AVAILABLE = "N/A"
_ABSENT = re.compile(
    r"no results|\b0 (?:results|records)|\b0 items|no \w+ fits|could ?n[o']t find|nothing was found|not found", re.IGNORECASE
)
_STATES = (("stock", "In stock", "Out of stock"), ("closed", "Closed", "Open"))
_LONG = 4  # characters; anything shorter may stand somewhere by chance
_LINE = 200  # characters of a line that is worth quoting
_PIECES = 6  # of a line that are quoted


def work_out(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """Return a derivation of the answer from the pages, of which the last is the newest; an empty text if no rule applies.

    Text in double quotes stands on one of the pages, or is the answer or in the goal.
    """
    rules = (_out_of_reach, _absence) if answer == NOT_AVAILABLE else _RULES
    return next((found for rule in rules if (found := rule(answer, goal, readings))), "")


def _direct(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is on a page, beside a text that identifies it."""
    is_long = len(answer) > _LONG
    for back, reading in enumerate(reversed(readings) if is_long else readings[-1:]):
        where = "The page" if not back else "The page before" if back == 1 else f"The page {back} steps ago"
        found = _in_a_row(answer, goal, reading) or _as_a_fact(answer, goal, reading) or _in_a_line(answer, goal, reading)
        if found:
            return f"{where} {found}"
    return ""


def _in_a_row(answer: str, goal: str, reading: Reading) -> str:
    month = find_month(goal)
    for row in reading.rows:
        hit = next((cell for cell in row.cells if cell == answer or cell.endswith(f": {answer}")), "")
        named = (cell for cell in row.cells if (len(cell) > 2 and cell.lower() in goal.lower()) or (month and month.has(cell)))
        key = next((cell for cell in named if cell != hit), "")
        if hit and key and reading.quotes(hit) and reading.quotes(key):
            return f"has {quote(hit)}{_under(row, hit)} in the line of {quote(key)}."
    return ""


def _as_a_fact(answer: str, goal: str, reading: Reading) -> str:
    topic = words(goal)
    facts = [
        fact
        for fact in reading.facts
        if fact.value == answer
        or fact.value.startswith(f"{answer} ")
        or (len(fact.value) > 8 and answer.endswith(f" {fact.value}"))
    ]
    best = max(facts, key=lambda fact: len(words(fact.label) & topic), default=None)
    if (
        best
        and (words(best.label) & topic or len(answer) >= _LONG)
        and reading.quotes(best.value)
        and reading.quotes(best.label)
    ):
        return f"has {quote(best.value)} right after {quote(best.label)}."
    return ""


def _in_a_line(answer: str, goal: str, reading: Reading) -> str:
    topic, is_long = words(goal), len(answer) > _LONG
    whole = re.compile(rf"(?<![\w.,$]){re.escape(answer)}(?!\w|[.,]\d)")
    lines = [(line, text) for line in reading.lines if whole.search(text := plain(line)) and len(text) <= _LINE]
    if not is_long:
        lines = [
            (line, text) for line, text in lines if text.startswith(f"{answer} ") or any(map(str.isalpha, words(text) & topic))
        ]
    if not lines:
        return ""
    line, _ = max(lines, key=lambda item: (len(words(item[1]) & topic), len(item[1]) if is_long else -len(item[1])))
    parts = pieces(line)
    telling = (number for number, part in enumerate(parts) if whole.search(part) and part not in goal and not read_date(part))
    middle = next(telling, -1)
    start = max(0, min(middle - _PIECES // 2, len(parts) - _PIECES))
    told = parts[start : start + _PIECES]
    if middle < 0 or not all(map(reading.quotes, told)) or (told == [answer] and not is_long):
        return ""
    return f"says {', '.join(map(quote, told))}{'' if told == [answer] else f', so the answer is {quote(answer)}'}."


def _yes_or_no(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The state that is asked for, or its opposite, stands on the newest page."""
    for word, yes, no in _STATES:
        said = {"Yes": yes, "No": no}.get(answer, "")
        if (
            said
            and word in goal.lower()
            and any(text.startswith(said) or f" {said} " in f" {text} " for text in readings[-1].texts)
        ):
            return f"The page says {quote(said)}, so the answer is {quote(answer)}."
    return ""


def _within_reach(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """A time on the page is compared with the limit of the goal, for one thing or for every row of a table."""
    limit = find_limit(goal)
    if limit is None:
        return ""
    if answer in ("Yes", "No"):
        value = next((fact.value for fact in readings[-1].facts if fact.label == "Time"), "")
        minutes = DURATION.read(value)
        if minutes is None or (minutes <= limit) != (answer == "Yes"):
            return ""
        verdict = f"{minutes} is {'not more' if minutes <= limit else 'more'} than {limit}"
        return f"The page gives the time {quote(value)}, which is {minutes} minutes. The limit is {limit} minutes; {verdict}: {answer}."
    near, far = _by_limit(readings[-1], limit)
    if not near or [name for name, _ in near] != parts_of(answer):
        return ""
    kept = ", ".join(f"{quote(name)} {quote(time)}" for name, time in near)
    beyond = f"; {quote(far[0][0])} takes {quote(far[0][1])}, which is too long" if far else ""
    return f"The limit is {limit} minutes. Within it are {kept}{beyond}."


def _out_of_reach(answer: str, goal: str, readings: Sequence[Reading]) -> str:  # noqa: ARG001 - a rule as the others
    """Nothing in the table is within the limit, so there is no answer."""
    limit = find_limit(goal)
    near, far = _by_limit(readings[-1], limit) if limit is not None else ([], [])
    if near or not far:
        return ""
    name, time = min(far, key=lambda item: DURATION.read(item[1]) or 0)
    return f"The limit is {limit} minutes, and even the fastest of these, {quote(name)}, takes {quote(time)}."


def _absence(answer: str, goal: str, readings: Sequence[Reading]) -> str:  # noqa: ARG001 - a rule as the others
    """A page says that there is nothing, or no more."""
    for reading in reversed(readings):
        for text in reading.texts:
            sold_out = "Out of stock" in text and "cart" in goal
            if reading.quotes(text) and len(text) <= _LINE and (sold_out or _ABSENT.search(text)):
                return f"The page says {quote(text)}, so this cannot be done."
    return ""


def _latest(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is in the newest row with a state that the goal names."""
    page, topic = readings[-1], words(goal)
    state = next((cell for row in page.rows for cell in row.cells if cell.isalpha() and cell.lower() in topic), "")
    matching = [row for row in page.rows if state in row.cells]
    if not state or "latest" not in goal or answer not in matching[0].cells:
        return ""
    dates = [max((day for cell in row.cells if (day := read_date(cell))), default=date.min) for row in matching]
    if dates[0] != max(dates) or dates[0] == date.min:
        return ""
    shown = next(cell for cell in matching[0].cells if read_date(cell) == dates[0])
    return (
        f"{len(matching)} of the lines say {quote(state)}. The latest of them has the date {quote(shown)}, and there stands "
        f"{quote(answer)}{_under(matching[0], answer)}."
    )


def _most(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is the first column of the rows with the largest numbers, the largest first."""
    parts = parts_of(answer)
    if not words(goal) & {"most", "top"}:
        return ""
    for rows in readings[-1].tables:
        if not rows[0].headings or [row.cells[0] for row in rows[: len(parts)]] != parts:
            continue
        for column, heading in enumerate(rows[0].headings[1:], 1):
            amounts = [COUNT.read(row.cells[column]) for row in rows]
            if (
                None not in amounts
                and amounts == sorted(amounts, key=lambda amount: -(amount or 0))
                and words(heading) & (words(goal) | {"use"})
            ):
                shown = ", ".join(f"{quote(row.cells[0])} {quote(row.cells[column])}" for row in rows[: len(parts) + 1])
                return f"By {quote(heading)} the page has, from the most down: {shown}. So it is {quote_all(parts)}."
    return ""


def _listed(answer: str, goal: str, readings: Sequence[Reading]) -> str:  # noqa: ARG001 - a rule as the others
    """Every part of the answer is on one of the pages."""
    found = []
    for part in parts_of(answer):
        label, _, value = part.rpartition(": ")
        if not any(reading.quotes(value) for reading in readings):
            return ""
        found.append(f"{label} {quote(value)}" if label else quote(value))
    return f"The pages say what belongs into the answer: {', '.join(found)}." if len(found) > 1 else ""


_RULES = (
    _yes_or_no, _within_reach, find_cheaper, _latest, _most, find_range, add_up, subtract, count, _direct, _listed,
)  # fmt: skip


def _by_limit(reading: Reading, limit: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the names and times of a table's rows: those within the limit, and the others."""
    timed = [(row.cells[0], row.cells[-1]) for row in reading.rows if DURATION.read(row.cells[-1]) is not None]
    near = [item for item in timed if (DURATION.read(item[1]) or 0) <= limit]
    return near, [item for item in timed if item not in near]


def _under(row: Row, value: str) -> str:
    heading = row.headings[row.cells.index(value)] if row.headings else ""
    return f" under {quote(heading)}" if heading else ""
