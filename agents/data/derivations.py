"""Step-by-step derivations of an answer from the pages of an episode: quotations, sums, differences, counts and extremes.

Each rule takes the answer, the goal and the pages. It returns sentences if its result equals the answer, and "" otherwise. The first
rule that applies is used.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from agents.data.readings import (
    COUNT,
    DURATION,
    MONEY,
    ParsedPage,
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
_LONG = 4  # characters; shorter texts occur on pages by chance
_LINE = 200  # maximum length of a quoted line in characters
_PIECES = 6  # maximum number of quoted pieces of a line
_RECENT = re.compile(r"\b(\d+) (?:most recent|latest|newest|last)")
_NEGATIVE = re.compile(r"-\d+ points?")


def derive_answer(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """Return a derivation of the answer that quotes only the goal and the pages; empty if no rule applies.

    Args:
        answer: the final answer; "N/A" asks for a reason why there is none
        goal: the task's intent
        pages: pages of the episode, the current one last

    """
    rules = (_out_of_reach, _absence) if answer == NOT_AVAILABLE else _RULES
    return next((text for rule in rules if (text := rule(answer, goal, pages))), "")


def _direct(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer is on a page, next to a text that identifies it."""
    is_long = len(answer) > _LONG
    for back, page in enumerate(reversed(pages) if is_long else pages[-1:]):
        location = "The page" if not back else "The page before" if back == 1 else f"The page {back} steps ago"
        evidence = _in_a_row(answer, goal, page) or _as_a_fact(answer, goal, page) or _in_a_line(answer, goal, page)
        if evidence:
            return f"{location} {evidence}"
    return ""


def _in_a_row(answer: str, goal: str, page: ParsedPage) -> str:
    month = find_month(goal)
    for row in page.rows:
        answer_cell = next((cell for cell in row.cells if cell == answer or cell.endswith(f": {answer}")), "")
        goal_cells = (
            cell for cell in row.cells if (len(cell) > 2 and cell.lower() in goal.lower()) or (month and month.has(cell))
        )
        key = next((cell for cell in goal_cells if cell != answer_cell), "")
        if answer_cell and key and page.can_quote(answer_cell) and page.can_quote(key):
            return f"has {quote(answer_cell)}{_under(row, answer_cell)} in the line of {quote(key)}."
    return ""


def _as_a_fact(answer: str, goal: str, page: ParsedPage) -> str:
    topic = words(goal)

    def matches(value: str) -> bool:
        return value == answer or value.startswith(f"{answer} ") or (len(value) > 8 and answer.endswith(f" {value}"))

    facts = [(label, value) for label, value in page.facts if matches(value)]
    label, value = max(facts, key=lambda fact: len(words(fact[0]) & topic), default=("", ""))
    is_known = label and (words(label) & topic or len(answer) >= _LONG)
    if is_known and page.can_quote(value) and page.can_quote(label):
        return f"has {quote(value)} right after {quote(label)}."
    return ""


def _in_a_line(answer: str, goal: str, page: ParsedPage) -> str:
    topic, is_long = words(goal), len(answer) > _LONG
    pattern = re.compile(rf"(?<![\w.,$]){re.escape(answer)}(?!\w|[.,]\d)")
    lines = [(line, text) for line in page.lines if pattern.search(text := plain(line)) and len(text) <= _LINE]
    if not is_long:
        lines = [
            (line, text) for line, text in lines if text.startswith(f"{answer} ") or any(map(str.isalpha, words(text) & topic))
        ]
    if not lines:
        return ""
    line, _ = max(lines, key=lambda item: (len(words(item[1]) & topic), len(item[1]) if is_long else -len(item[1])))
    parts = pieces(line)
    answer_indices = (
        number for number, part in enumerate(parts) if pattern.search(part) and part not in goal and not read_date(part)
    )
    middle = next(answer_indices, -1)
    start = max(0, min(middle - _PIECES // 2, len(parts) - _PIECES))
    quotations = parts[start : start + _PIECES]
    if middle < 0 or not all(map(page.can_quote, quotations)) or (quotations == [answer] and not is_long):
        return ""
    return f"says {', '.join(map(quote, quotations))}{'' if quotations == [answer] else f', so the answer is {quote(answer)}'}."


def _yes_or_no(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The current page states the condition of a yes/no question, or its opposite."""
    for word, yes, no in _STATES:
        state = {"Yes": yes, "No": no}.get(answer, "")
        is_stated = any(text.startswith(state) or f" {state} " in f" {text} " for text in pages[-1].texts)
        if state and is_stated and word in goal.lower():
            return f"The page says {quote(state)}, so the answer is {quote(answer)}."
    return ""


def _within_reach(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """A time on the page is compared with the goal's limit, for one item or for every row of a table."""
    limit = find_limit(goal)
    if limit is None:
        return ""
    word, _, time = answer.partition("; ")
    if word in ("Yes", "No"):
        value = next((value for label, value in pages[-1].facts if label == "Time"), "")
        minutes = DURATION.read(value)
        if minutes is None or (minutes <= limit) != (word == "Yes") or time not in ("", value):
            return ""
        verdict = f"{minutes} is {'not more' if minutes <= limit else 'more'} than {limit}"
        return f"The page gives the time {quote(value)}, which is {minutes} minutes. The limit is {limit} minutes; {verdict}: {answer}."
    near, far = _by_limit(pages[-1], limit)
    if not near or [name for name, _ in near] != parts_of(answer):
        return ""
    within = ", ".join(f"{quote(name)} {quote(time)}" for name, time in near)
    beyond = f"; {quote(far[0][0])} takes {quote(far[0][1])}, which is too long" if far else ""
    return f"The limit is {limit} minutes. Within it are {within}{beyond}."


def _out_of_reach(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:  # noqa: ARG001 - shared signature of the rules
    """No row of the table is within the limit, so the answer is N/A."""
    limit = find_limit(goal)
    near, far = _by_limit(pages[-1], limit) if limit is not None else ([], [])
    if near or not far:
        return ""
    name, time = min(far, key=lambda item: DURATION.read(item[1]) or 0)
    return f"The limit is {limit} minutes, and even the fastest of these, {quote(name)}, takes {quote(time)}."


def _absence(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:  # noqa: ARG001 - shared signature of the rules
    """A page states that nothing was found or that a product is out of stock."""
    for page in reversed(pages):
        for text in page.texts:
            sold_out = "Out of stock" in text and "cart" in goal
            if page.can_quote(text) and len(text) <= _LINE and (sold_out or _ABSENT.search(text)):
                return f"The page says {quote(text)}, so this cannot be done."
    return ""


def _latest(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer is in the row with the latest date among the rows whose state is named in the goal."""
    page, topic = pages[-1], words(goal)
    state = next((cell for row in page.rows for cell in row.cells if cell.isalpha() and cell.lower() in topic), "")
    matching_rows = [row for row in page.rows if state in row.cells]
    if not state or "latest" not in goal or answer not in matching_rows[0].cells:
        return ""
    dates = [max((day for cell in row.cells if (day := read_date(cell))), default=date.min) for row in matching_rows]
    if dates[0] != max(dates) or dates[0] == date.min:
        return ""
    date_text = next(cell for cell in matching_rows[0].cells if read_date(cell) == dates[0])
    return (
        f"{len(matching_rows)} of the lines say {quote(state)}. The latest of them has the date {quote(date_text)}, and there stands "
        f"{quote(answer)}{_under(matching_rows[0], answer)}."
    )


def _most(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer lists the first column of the rows with the largest numbers, in descending order."""
    parts = parts_of(answer)
    if not words(goal) & {"most", "top"}:
        return ""
    for rows in pages[-1].tables:
        if not rows[0].headings or [row.cells[0] for row in rows[: len(parts)]] != parts:
            continue
        for column, heading in enumerate(rows[0].headings[1:], 1):
            amounts = [COUNT.read(row.cells[column]) for row in rows]
            falls = None not in amounts and amounts == sorted(amounts, key=lambda amount: -(amount or 0))
            if falls and words(heading) & (words(goal) | {"use"}):
                ranking = ", ".join(f"{quote(row.cells[0])} {quote(row.cells[column])}" for row in rows[: len(parts) + 1])
                return f"By {quote(heading)} the page has, from the most down: {ranking}. So it is {quote_all(parts)}."
    return ""


def _parts_on_pages(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:  # noqa: ARG001 - shared signature of the rules
    """Every part of the answer is on one of the pages."""
    items = []
    for part in parts_of(answer):
        label, _, value = part.rpartition(": ")
        if not any(page.can_quote(value) for page in pages):
            return ""
        items.append(f"{label} {quote(value)}" if label else quote(value))
    return f"The pages say what belongs into the answer: {', '.join(items)}." if len(items) > 1 else ""


def _by_limit(page: ParsedPage, limit: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return (name, time) of the rows with a time: those within the limit in minutes, and the others."""
    times = [(row.cells[0], row.cells[-1]) for row in page.rows if DURATION.read(row.cells[-1]) is not None]
    near = [item for item in times if (DURATION.read(item[1]) or 0) <= limit]
    return near, [item for item in times if item not in near]


def _under(row: Row, value: str) -> str:
    heading = row.headings[row.cells.index(value)] if row.headings else ""
    return f" under {quote(heading)}" if heading else ""


def find_cheaper(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """Two items of the goal have prices on the pages, and the answer is the cheaper one."""
    if "cheaper" not in goal:
        return ""
    prices: dict[str, int] = {}
    for page in pages:
        for line in page.lines:
            name = next((piece for piece in pieces(line) if len(piece) > _LONG and piece in goal), "")
            amount = MONEY.pattern.search(plain(line))
            if name and amount:
                prices[name] = MONEY.number(amount)
    if len(prices) != 2 or min(prices, key=prices.__getitem__) != answer:
        return ""
    comparison = " and ".join(f"{quote(name)} costs {quote(MONEY.write(price))}" for name, price in prices.items())
    low, high = sorted(map(MONEY.write, prices.values()), key=lambda text: MONEY.read(text) or 0)
    return f"{comparison}. {low} is less than {high}, so {quote(answer)} is the cheaper one."


def find_range(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer is the lowest and the highest price among the lines that share a word with the goal."""
    parts, topic = parts_of(answer), words(goal)
    matches = (MONEY.pattern.search(text) for text in pages[-1].texts if words(text) & topic)
    prices = [MONEY.number(amount) for amount in matches if amount]
    if "lowest" not in goal or not prices or [MONEY.write(min(prices)), MONEY.write(max(prices))] != parts:
        return ""
    price_list = ", ".join(quote(MONEY.write(price)) for price in prices)
    return f"The prices on the page are {price_list}. The lowest is {quote(parts[0])}, the highest {quote(parts[1])}."


def add_up(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer is the sum of a column over a group of rows selected by the goal."""
    unit = unit_of(answer)
    if unit is None:
        return ""
    for why, rows in _groups(goal, pages):
        for cells in _columns(rows):
            amounts = unit.read_all(cells)
            if len(amounts) > 1 and sum(amounts) == unit.read(answer):
                return f"{why} {_sum_of(cells, amounts, unit)}."
    times = list(dict.fromkeys(value for page in pages for label, value in page.facts if label == "Time"))
    minutes = DURATION.read_all(times)
    if unit is DURATION and len(minutes) > 1 and sum(minutes) == unit.read(answer):
        terms = " + ".join(map(str, minutes))
        return f"The pages gave the times {quote_all(times)}. In minutes that is {terms} = {sum(minutes)}, or {quote(answer)}."
    return ""


def subtract(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer is the difference between the sums of two groups of rows."""
    unit = unit_of(answer)
    if unit is None or "differ" not in goal:
        return ""
    groups = [(why, cells, unit.read_all(cells)) for why, rows in _groups(goal, pages) for cells in _columns(rows)]
    sums = [(why, cells, amounts) for why, cells, amounts in groups if amounts]
    for number, first in enumerate(sums):
        for second in sums[number + 1 :]:
            low, high = sorted((sum(first[2]), sum(second[2])))
            if first[0] != second[0] and high - low == unit.read(answer):
                sums_text = " ".join(f"{why} {_sum_of(cells, amounts, unit)}." for why, cells, amounts in (first, second))
                return f"{sums_text} {unit.write(high)} - {unit.write(low)} = {answer}."
    return ""


def count(answer: str, goal: str, pages: Sequence[ParsedPage]) -> str:
    """The answer is the number of rows of a month or of negative scores, optionally followed by "; " and a text of a page."""
    number, _, second_part = answer.partition("; ")
    if (
        not number.isdecimal()
        or "how many" not in goal.lower()
        or (second_part and not any(page.can_quote(second_part) for page in pages))
    ):
        return ""
    second_sentence = f" The other part of the answer is {quote(second_part)}." if second_part else ""
    month = find_month(goal)
    for why, rows in _groups(goal, pages) if month else ():
        if month and month.name in why and len(rows) == int(number):
            return f"{why} {quote_all([row.cells[0] for row in rows])}. Counted, that is {number}.{second_sentence}"
    distinct = {page.url: page for page in pages}.values()
    scores = [match[0] for page in distinct for text in page.texts if (match := _NEGATIVE.match(text))]
    if "negative" in goal and len(scores) == int(number) > 0:
        return f"Negative scores on the pages: {quote_all(scores)}. Counted, that is {number}.{second_sentence}"
    return ""


def parts_of(answer: str) -> list[str]:
    """Split a list answer at its separator ("; ", " > " or ", ").

    >>> parts_of("Inn; 1.2 km"), parts_of("A > B"), parts_of("one, two"), parts_of("$1,200.00")
    (['Inn', '1.2 km'], ['A', 'B'], ['one', 'two'], ['$1,200.00'])
    """
    separator = next((sign for sign in ("; ", " > ", ", ") if sign in answer), None)
    return answer.split(separator) if separator else [answer]


def _groups(goal: str, pages: Sequence[ParsedPage]) -> Iterator[tuple[str, list[Row]]]:
    """Yield groups of rows that the goal selects, each with the beginning of a sentence that describes it."""
    rows = list(dict.fromkeys(row for page in pages for row in page.rows))
    month, topic, recent = find_month(goal), words(goal), _RECENT.search(goal)
    if month:
        month_rows = [row for row in rows if any(map(month.has, row.cells))]
        states = dict.fromkeys(cell for row in month_rows for cell in row.cells if cell.isalpha() and cell.lower() in topic)
        yield f"The lines of {month.name} have", month_rows
        for state in states:
            yield f"The lines of {month.name} with {quote(state)} have", [row for row in month_rows if state in row.cells]
    goal_rows = [row for row in rows if any(len(cell) > _LONG and cell.lower() in goal.lower() for cell in row.cells)]
    yield "The lines that the task names have", goal_rows
    if recent:
        for table in (table[: int(recent[1])] for page in pages for table in page.tables):
            goal_cells = (cell for cell in table[0].cells if cell.isalpha() and cell.lower() in topic)
            common = next((cell for cell in goal_cells if all(cell in row.cells for row in table)), "")
            yield f"The first {len(table)} lines{f' with {quote(common)}' if common else ''} have", table


def _columns(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return list(zip(*(row.cells for row in rows), strict=False))


def _sum_of(cells: Sequence[str], amounts: Sequence[int], unit: Unit) -> str:
    return f"{quote_all(cells)}: {' + '.join(map(unit.write, amounts))} = {unit.write(sum(amounts))}"


_RULES = (
    _yes_or_no, _within_reach, find_cheaper, _latest, _most, find_range, add_up, subtract, count, _direct, _parts_on_pages,
)  # fmt: skip
