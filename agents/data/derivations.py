"""Derivations of an answer from the pages that were seen, step by step: a text that is quoted, or a sum, difference, count or extreme.

Each rule takes the answer, the goal and the pages. It returns sentences if its result is the answer, and nothing otherwise; the first
rule that applies is used.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from agents.data.readings import (
    COUNT,
    DURATION,
    MONEY,
    Reading,
    Row,
    Unit,
    find_limit,
    find_month,
    pieces,
    plain,
    quote,
    quote_all,
    read_date,
    unit_of,
    words,
)  # fmt: skip

NOT_AVAILABLE = "N/A"
_ABSENT = re.compile(
    r"no results|\b0 (?:results|records)|\b0 items|no \w+ fits|could ?n[o']t find|nothing was found|not found", re.IGNORECASE
)
_STATES = (("stock", "In stock", "Out of stock"), ("closed", "Closed", "Open"))
_LONG = 4  # characters; anything shorter may stand somewhere by chance
_LINE = 200  # characters of a line that is worth quoting
_PIECES = 6  # of a line that are quoted
_RECENT = re.compile(r"\b(\d+) (?:most recent|latest|newest|last)")
_NEGATIVE = re.compile(r"-\d+ points?")


def work_out(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """Return a derivation of the answer from the pages, the newest last, which quotes only these and the goal; else ''."""
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

    def says(value: str) -> bool:
        return value == answer or value.startswith(f"{answer} ") or (len(value) > 8 and answer.endswith(f" {value}"))

    facts = [(label, value) for label, value in reading.facts if says(value)]
    label, value = max(facts, key=lambda fact: len(words(fact[0]) & topic), default=("", ""))
    is_known = label and (words(label) & topic or len(answer) >= _LONG)
    if is_known and reading.quotes(value) and reading.quotes(label):
        return f"has {quote(value)} right after {quote(label)}."
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
        shown = any(text.startswith(said) or f" {said} " in f" {text} " for text in readings[-1].texts)
        if said and shown and word in goal.lower():
            return f"The page says {quote(said)}, so the answer is {quote(answer)}."
    return ""


def _within_reach(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """A time on the page is compared with the limit of the goal, for one thing or for every row of a table."""
    limit = find_limit(goal)
    if limit is None:
        return ""
    word, _, time = answer.partition("; ")
    if word in ("Yes", "No"):
        value = next((value for label, value in readings[-1].facts if label == "Time"), "")
        minutes = DURATION.read(value)
        if minutes is None or (minutes <= limit) != (word == "Yes") or time not in ("", value):
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
            falls = None not in amounts and amounts == sorted(amounts, key=lambda amount: -(amount or 0))
            if falls and words(heading) & (words(goal) | {"use"}):
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


def _by_limit(reading: Reading, limit: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the names and times of a table's rows: those within the limit, and the others."""
    timed = [(row.cells[0], row.cells[-1]) for row in reading.rows if DURATION.read(row.cells[-1]) is not None]
    near = [item for item in timed if (DURATION.read(item[1]) or 0) <= limit]
    return near, [item for item in timed if item not in near]


def _under(row: Row, value: str) -> str:
    heading = row.headings[row.cells.index(value)] if row.headings else ""
    return f" under {quote(heading)}" if heading else ""


def find_cheaper(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """Two names of the goal have prices on the pages, and the answer is the cheaper one."""
    if "cheaper" not in goal:
        return ""
    prices: dict[str, int] = {}
    for reading in readings:
        for line in reading.lines:
            name = next((piece for piece in pieces(line) if len(piece) > _LONG and piece in goal), "")
            amount = MONEY.pattern.search(plain(line))
            if name and amount:
                prices[name] = MONEY.number(amount)
    if len(prices) != 2 or min(prices, key=prices.__getitem__) != answer:
        return ""
    told = " and ".join(f"{quote(name)} costs {quote(MONEY.write(price))}" for name, price in prices.items())
    low, high = sorted(map(MONEY.write, prices.values()), key=lambda text: MONEY.read(text) or 0)
    return f"{told}. {low} is less than {high}, so {quote(answer)} is the cheaper one."


def find_range(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is the lowest and the highest price of the lines that the goal is about."""
    parts, topic = parts_of(answer), words(goal)
    found = (MONEY.pattern.search(text) for text in readings[-1].texts if words(text) & topic)
    prices = [MONEY.number(amount) for amount in found if amount]
    if "lowest" not in goal or not prices or [MONEY.write(min(prices)), MONEY.write(max(prices))] != parts:
        return ""
    shown = ", ".join(quote(MONEY.write(price)) for price in prices)
    return f"The prices on the page are {shown}. The lowest is {quote(parts[0])}, the highest {quote(parts[1])}."


def add_up(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is the sum of the amounts that the goal selects."""
    unit = unit_of(answer)
    if unit is None:
        return ""
    for why, rows in _groups(goal, readings):
        for cells in _columns(rows):
            amounts = unit.read_all(cells)
            if len(amounts) > 1 and sum(amounts) == unit.read(answer):
                return f"{why} {_sum_of(cells, amounts, unit)}."
    times = list(dict.fromkeys(value for reading in readings for label, value in reading.facts if label == "Time"))
    minutes = DURATION.read_all(times)
    if unit is DURATION and len(minutes) > 1 and sum(minutes) == unit.read(answer):
        added = " + ".join(map(str, minutes))
        return f"The pages gave the times {quote_all(times)}. In minutes that is {added} = {sum(minutes)}, or {quote(answer)}."
    return ""


def subtract(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is the difference between the sums of two groups of rows."""
    unit = unit_of(answer)
    if unit is None or "differ" not in goal:
        return ""
    groups = [(why, cells, unit.read_all(cells)) for why, rows in _groups(goal, readings) for cells in _columns(rows)]
    sums = [(why, cells, amounts) for why, cells, amounts in groups if amounts]
    for number, first in enumerate(sums):
        for second in sums[number + 1 :]:
            low, high = sorted((sum(first[2]), sum(second[2])))
            if first[0] != second[0] and high - low == unit.read(answer):
                told = " ".join(f"{why} {_sum_of(cells, amounts, unit)}." for why, cells, amounts in (first, second))
                return f"{told} {unit.write(high)} - {unit.write(low)} = {answer}."
    return ""


def count(answer: str, goal: str, readings: Sequence[Reading]) -> str:
    """The answer is the number of rows of a month, or of negative scores, and after it perhaps a text of a page."""
    number, _, rest = answer.partition("; ")
    if not number.isdecimal() or "how many" not in goal.lower() or (rest and not any(page.quotes(rest) for page in readings)):
        return ""
    more = f" The other part of the answer is {quote(rest)}." if rest else ""
    month = find_month(goal)
    for why, rows in _groups(goal, readings) if month else ():
        if month and month.name in why and len(rows) == int(number):
            return f"{why} {quote_all([row.cells[0] for row in rows])}. Counted, that is {number}.{more}"
    pages = {reading.url: reading for reading in readings}.values()
    scores = [match[0] for reading in pages for text in reading.texts if (match := _NEGATIVE.match(text))]
    if "negative" in goal and len(scores) == int(number) > 0:
        return f"Negative scores on the pages: {quote_all(scores)}. Counted, that is {number}.{more}"
    return ""


def parts_of(answer: str) -> list[str]:
    """Return the items of an answer that is a list, split at its separator.

    >>> parts_of("Inn; 1.2 km"), parts_of("A > B"), parts_of("one, two"), parts_of("$1,200.00")
    (['Inn', '1.2 km'], ['A', 'B'], ['one', 'two'], ['$1,200.00'])
    """
    separator = next((sign for sign in ("; ", " > ", ", ") if sign in answer), None)
    return answer.split(separator) if separator else [answer]


def _groups(goal: str, readings: Sequence[Reading]) -> Iterator[tuple[str, list[Row]]]:
    """Yield groups of rows that the goal selects, each with the words that introduce it."""
    rows = list(dict.fromkeys(row for reading in readings for row in reading.rows))
    month, topic, recent = find_month(goal), words(goal), _RECENT.search(goal)
    if month:
        dated = [row for row in rows if any(map(month.has, row.cells))]
        states = dict.fromkeys(cell for row in dated for cell in row.cells if cell.isalpha() and cell.lower() in topic)
        yield f"The lines of {month.name} have", dated
        for state in states:
            yield f"The lines of {month.name} with {quote(state)} have", [row for row in dated if state in row.cells]
    told = [row for row in rows if any(len(cell) > _LONG and cell.lower() in goal.lower() for cell in row.cells)]
    yield "The lines that the task names have", told
    if recent:
        for table in (table[: int(recent[1])] for reading in readings for table in reading.tables):
            named = (cell for cell in table[0].cells if cell.isalpha() and cell.lower() in topic)
            common = next((cell for cell in named if all(cell in row.cells for row in table)), "")
            yield f"The first {len(table)} lines{f' with {quote(common)}' if common else ''} have", table


def _columns(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return list(zip(*(row.cells for row in rows), strict=False))


def _sum_of(shown: Sequence[str], amounts: Sequence[int], unit: Unit) -> str:
    return f"{quote_all(shown)}: {' + '.join(map(unit.write, amounts))} = {unit.write(sum(amounts))}"


_RULES = (
    _yes_or_no, _within_reach, find_cheaper, _latest, _most, find_range, add_up, subtract, count, _direct, _listed,
)  # fmt: skip
