"""Tallies: derivations of answers that are sums, differences, counts, minima or maxima of amounts on the pages.

Each rule takes the answer, the goal and the pages that were seen. It selects amounts by the goal and computes. It returns its derivation
if the result is the answer, and nothing otherwise.
"""

import re
from collections.abc import Iterator, Sequence

from agents.data.thoughts.amounts import DURATION, MONEY, Unit, find_month, unit_of
from agents.data.thoughts.readings import Reading, Row, pieces, plain, quote, quote_all, words

_RECENT = re.compile(r"\b(\d+) (?:most recent|latest|newest|last)")
_NEGATIVE = re.compile(r"-\d+ points?")
_LONG = 4  # characters; anything shorter may stand somewhere by chance


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
    times = list(dict.fromkeys(fact.value for reading in readings for fact in reading.facts if fact.label == "Time"))
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
    """The answer is the number of rows of a month, or of negative scores."""
    if not answer.isdecimal() or "how many" not in goal.lower():
        return ""
    month = find_month(goal)
    for why, rows in _groups(goal, readings) if month else ():
        if month and month.name in why and len(rows) == int(answer):
            return f"{why} {quote_all([row.cells[0] for row in rows])}. Counted, that is {answer}."
    pages = {reading.url: reading for reading in readings}.values()
    scores = [match[0] for reading in pages for text in reading.texts if (match := _NEGATIVE.match(text))]
    if "negative" in goal and len(scores) == int(answer) > 0:
        return f"Negative scores on the pages: {quote_all(scores)}. Counted, that is {answer}."
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
    yield (
        "The lines that the task names have",
        [row for row in rows if any(len(cell) > _LONG and cell.lower() in goal.lower() for cell in row.cells)],
    )
    if recent:
        for table in (table[: int(recent[1])] for reading in readings for table in reading.tables):
            common = [
                cell
                for cell in table[0].cells
                if cell.isalpha() and cell.lower() in topic and all(cell in row.cells for row in table)
            ]
            yield f"The first {len(table)} lines{f' with {quote(common[0])}' if common else ''} have", table


def _columns(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of rows column by column."""
    return list(zip(*(row.cells for row in rows), strict=False))


def _sum_of(shown: Sequence[str], amounts: Sequence[int], unit: Unit) -> str:
    return f"{quote_all(shown)}: {' + '.join(map(unit.write, amounts))} = {unit.write(sum(amounts))}"
