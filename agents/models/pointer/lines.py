"""What is known of the lines of a page: their place in tables, extremes, what of the goal stands in them."""

import re
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from agents.models.pointer.amounts import amount_of
from agents.models.pointer.goals import Goal, date_of, words_of
from agents.models.pointer.pages import Page
from agents.models.pointer.tables import Table

Floats = NDArray[numpy.float32]
EXTREMES = 18
WANTED = 9
_MONEY = re.compile(r"\$(\d[\d,]*(?:\.\d\d)?)")
_COUNT = re.compile(r"\d\.\d \((\d+)\)")  # of ratings
_POINTS = re.compile(r"(-?(?<!\d)\d+) points?\b")
_LONGEST_LINE = 160  # characters of a line beside a control's own


def wanted_of(goal: Goal, page: Page) -> Floats:
    """Return for each line of a page whether its dates and amounts are those of the goal."""
    table = numpy.zeros((len(page.lines), WANTED), numpy.float32)
    named: list[tuple[float, int]] = []
    largest = max(goal.numbers, default=0.0)
    best: tuple[float, int] | None = None
    first_month = True
    for number, line in enumerate(page.lines):
        date = date_of(line.text) if goal.months or goal.days else None
        if date:
            table[number, 0] = date[:2] in goal.months
            table[number, 1] = date in goal.days
            if date[:2] in goal.months and first_month:
                table[number, 2], first_month = 1.0, False
        at = line.text.rfind("$")
        amount = amount_of(line.text[at:].split(" ")[0]) if at >= 0 else None
        if amount is not None and goal.names and not goal.names.isdisjoint(words_of(line.text)):
            named.append((amount, number))
        if amount is not None and largest:
            table[number, 3] = amount <= largest
            table[number, 4] = amount in goal.numbers
            if amount <= largest and (best is None or amount > best[0]):
                best = (amount, number)
        if line.is_row and goal.numbers:
            cells = [amount_of(segment.text) for segment in line.segments if segment.column >= 0]
            table[number, 5] = any(cell is not None and cell in goal.numbers for cell in cells)
    if best:
        table[best[1], 6] = 1.0
    if named:
        for amount, number in named:
            table[number, 7] = float(amount == max(named)[0])
            table[number, 8] = float(amount == min(named)[0])
    return table


def presence_of(goal: Goal, page: Page) -> tuple[float, float, float, float]:
    """Return how much of the goal stands on a page: of its names, of these in one line, whether a whole name, and a quotation."""
    seen: set[str] = set()
    most = 0
    for line in page.lines:
        own = goal.names.intersection(words_of(line.text))
        seen |= own
        most = max(most, len(own))
    names = [goal.text[start:end] for start, end in goal.runs if end - start > 6]
    count = max(len(goal.names), 1)
    return (
        len(seen) / count,
        most / count,
        float(any(name in line.text for line in page.lines for name in names)),
        float(any(quotation in line.text for quotation in goal.quotations for line in page.lines)),
    )


def beside_line(page: Page, number: int) -> tuple[str, str]:
    """Return the texts of the line above a line and of the four below."""
    above = page.lines[number - 1].text if number else ""
    below = " ".join(line.text for line in page.lines[number + 1 : number + 5])
    return above[:_LONGEST_LINE], below[: 2 * _LONGEST_LINE]


def extremes_of(page: Page, tables: Sequence[Table]) -> Floats:
    """Return for each line of a page its place among the rows of its table, and where its amounts are the largest or smallest."""
    table = numpy.zeros((max(len(page.lines), 1), EXTREMES), numpy.float32)
    for each in tables:
        numbers = [row.number for row in each.rows]
        count = len(numbers)
        for place, number in enumerate(numbers):
            if place < 5:
                table[number, place] = 1.0
            table[number, 5] = float(place == count - 1)
            table[number, 6] = min(count, 20) / 20
        if count < 2:
            continue
        figures: list[list[float | None]] = [
            [
                amount_of(row.cells[column]) if column < len(row.cells) and row.cells[column][:1] in "$0123456789-(" else None
                for row in each.rows
            ]
            for column in range(len(each.columns))
        ]
        is_first = True
        for amounts in figures:
            known = [amount for amount in amounts if amount is not None]
            if len(known) < count or len(set(known)) < 2:
                continue
            largest, smallest = max(known), min(known)
            for number, amount in zip(numbers, known, strict=True):
                at = 7 if is_first else 9
                table[number, at] = max(table[number, at], float(amount == largest))
                table[number, at + 1] = max(table[number, at + 1], float(amount == smallest))
            is_first = False
        dates = [next((date for cell in row.cells if (date := date_of(cell))), None) for row in each.rows]
        told = [date for date in dates if date]
        if told:
            newest, oldest = max(told), min(told)
            for number, date in zip(numbers, dates, strict=True):
                table[number, 11] = float(date == newest)
                table[number, 12] = float(date == oldest)
    for at, pattern in ((13, _MONEY), (15, _COUNT), (16, _POINTS)):
        found: list[tuple[float, int]] = []
        for number, line in enumerate(page.lines):
            if line.controls and " - $" not in line.text and (match := pattern.search(line.text)):
                found.append((float(match[1].replace(",", "")), number))
        if len(found) > 1:
            largest, smallest = max(found)[0], min(found)[0]
            for amount, number in found:
                table[number, at] = float(amount == largest)
                if at == 13:
                    table[number, 14] = float(amount == smallest)
    return table
