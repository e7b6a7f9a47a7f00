"""Comparing an agent's answer with a reference by what kind of thing the reference is, without a language model.

`matches("$1,234.50", "It cost 1234.5 dollars.")` is true: both are amounts of money. The kind is read off the reference: N/A,
yes or no, an amount, a date, a distance, a duration, a number, a list, or else plain text. An answer that names other values of
the same kind beside the right one is wrong, so that listing everything earns nothing: around a plain text there may be common
words alone, such as "The customer is ...".
"""

import re
from collections.abc import Callable
from datetime import date
from itertools import permutations

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_WHOLE_NUMBER = rf"(?<!\d)(?<!\d[.,])({_NUMBER})"
_MONEY = re.compile(rf"([-+]?)\$\s?({_NUMBER})|{_WHOLE_NUMBER}\s?(?:dollars?|usd)\b", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(rf"(?<![\w.#/-])#?({_NUMBER})(?!\w|[/-]\d|:\d|\.\d)")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], tuple[int, int, int]]], ...] = (
    (re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b"), lambda m: (int(m[1]), int(m[2]), int(m[3]))),
    (re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b"), lambda m: (_year(m[3]), int(m[1]), int(m[2]))),
    (
        re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE),
        lambda m: (int(m[3]), _month(m[1]), int(m[2])),
    ),
    (
        re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)?\s+{_MONTH},?\s+(\d{{4}})\b", re.IGNORECASE),
        lambda m: (int(m[3]), _month(m[2]), int(m[1])),
    ),
)
_DISTANCE = re.compile(rf"{_WHOLE_NUMBER}\s?(km|kilomet(?:er|re)s?|m|met(?:er|re)s?)\b", re.IGNORECASE)
_DURATION = re.compile(r"\b(\d+(?:\.\d+)?)\s?(d|h|min|m|s|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?)\b", re.IGNORECASE)
_BETWEEN_PARTS = re.compile(r"[\s,]*(?:and\s+)?")  # of one duration
_UNIT_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
# What may stand around a text that is an answer. None of these words is a value that a task asks for.
_COMMON = """
    a an the it its it's this that these those there they i you we my your our his her their found think believe see saw
    is are was were be been has have had called named titled known reads says shows listed given located placed written about
    as of for to in on at by from with which who what so here exactly
    answer answers result name names title text value full username user users customer customers buyer client account accounts
    author authors reviewer reviewers contributor contributors member members person people owner creator
    product products item items brand option options colour color size category order orders status state states
    payment method price number id sku phone email e-mail address website hours place places city cities town towns country
    county region street streets location shop store website repository repositories repo project projects branch issue issues
    milestone label commit command license licence merge request requests url link page forum forums subforum post posts
    comment comments topic article book film review reviews rating invoice shipment
"""
_COMMON_WORDS = frozenset(_COMMON.split())
_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_LONGEST_NUMBER = 9  # characters; what is longer, such as the number of a parcel, is a name
_MAX_LIST = 8  # items; beyond it a list is compared greedily


def matches(reference: str, answer: str) -> bool:
    """Say whether `answer` states what `reference` states, compared as the kind of thing that the reference is.

    >>> matches("March 5, 2023", "The order was placed on 3/5/2023.")
    True
    >>> matches("3", "There are 3 reviews and 4 stars")
    False
    """
    reference, answer = reference.strip(), answer.strip()
    if is_not_available(reference):
        return is_not_available(answer)
    if not answer or is_not_available(answer):
        return False
    for read in (_yes_no, _money, _date, _distance, _duration):
        wanted = read(reference)
        if wanted and _is_all(reference, read):
            return _values_match(wanted, read(answer), answer, read)
    if _number(reference) and re.fullmatch(rf"#?{_NUMBER}%?", reference) and len(reference) <= _LONGEST_NUMBER:
        return _number(_without_dates(answer)) == _number(reference)
    items = split_list(reference)
    return list_matches(items, answer) if len(items) > 1 else _text_matches(reference, answer)


def is_not_available(text: str) -> bool:
    """Say whether a text says that there is no answer.

    >>> [is_not_available(text) for text in ("N/A", "n/a.", "", "NA, sorry")]
    [True, True, False, False]
    """
    return text.strip().strip("\"'.").lower() in ("n/a", "na")


def list_matches(references: list[str], answer: str) -> bool:
    """Say whether the answer lists the references, all of them and nothing else, in any order."""
    given = split_list(answer)
    if len(given) != len(references):
        return False
    if len(given) <= _MAX_LIST:
        table = [[matches(reference, item) for item in given] for reference in references]
        return any(
            all(row[index] for row, index in zip(table, order, strict=True)) for order in permutations(range(len(given)))
        )
    for reference in references:
        hit = next((item for item in given if matches(reference, item)), None)
        if hit is None:
            return False
        given.remove(hit)
    return True


def split_list(text: str) -> list[str]:
    """Split an enumeration at line ends, semicolons, or commas and "and"; a comma in a number or date does not split.

    >>> split_list("Ann Lee, Bo Chen and Cy Diaz"), split_list("March 5, 2023; April 1, 2023")
    (['Ann Lee', 'Bo Chen', 'Cy Diaz'], ['March 5, 2023', 'April 1, 2023'])
    """
    text = re.sub(r"[^\S\n]+", " ", text)  # long runs of blanks would take quadratic time below
    for separator in (r"\s*\n\s*", r"\s*;\s*"):
        if re.search(separator, text.strip()):
            parts = re.split(separator, text)
            break
    else:
        parts = re.split(r",\s+(?!\d{4}\b)(?:and\s+)?|\s+and\s+", text)
    cleaned = (re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", part.strip()).strip() for part in parts)
    return [part for part in cleaned if part]


def normalise(text: str) -> str:
    """Lower-case, without outer punctuation and doubled blanks.

    >>> normalise(' "Emma  Lopez". ')
    'emma lopez'
    """
    return " ".join(text.lower().split()).strip(" .!?,;:\"'`*")


def _values_match(wanted: list[float], given: list[float], answer: str, read: Callable[[str], list[float]]) -> bool:
    """Compare sets of values; an amount may be given without its sign of currency."""
    if not given and read is _money:
        given = _number(_without_dates(answer))
    return sorted(set(given)) == sorted(set(wanted))


def _is_all(reference: str, read: Callable[[str], list[float]]) -> bool:
    """Whether a reference is one value of the kind and nothing else."""
    if read is _yes_no:
        return reference.lower().strip(".") in ("yes", "no")
    if read is _money:
        return _MONEY.fullmatch(reference) is not None
    if read is _date:
        return any(pattern.fullmatch(reference) for pattern, _ in _DATES)
    if read is _distance:
        return _DISTANCE.fullmatch(reference) is not None
    return _DURATION.sub("", reference).replace("and", "").strip(" ,:") == "" and len(_duration(reference)) == 1


def _yes_no(text: str) -> list[float]:
    return [float(word.lower() == "yes") for word in _YES_NO.findall(text)]


def _money(text: str) -> list[float]:
    found = []
    for match in _MONEY.finditer(text):
        value = float((match[2] or match[3]).replace(",", ""))
        found.append(round(-value if match[1] == "-" else value, 2))
    return found


def _year(text: str) -> int:
    return int(text) + (2000 if len(text) == 2 else 0)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _date(text: str) -> list[float]:
    found = []
    for pattern, read in _DATES:
        for match in pattern.finditer(text):
            try:
                found.append(float(date(*read(match)).toordinal()))
            except ValueError:
                continue  # 13/45/2023 is no date
    return found


def _distance(text: str) -> list[float]:
    """Return distances in metres."""
    found = ((float(value.replace(",", "")), unit[0].lower() == "k") for value, unit in _DISTANCE.findall(text))
    return [round(1000 * value if in_kilometres else value, 3) for value, in_kilometres in found]


def _duration(text: str) -> list[float]:
    """Return durations in seconds. Parts that follow each other, ever smaller, are one; "m" is a minute behind a greater part alone."""
    found: list[float] = []
    end, last = -1, 0
    for part in _DURATION.finditer(text):
        unit = _UNIT_SECONDS[part[2][0].lower()]
        goes_on = found and unit < last and _BETWEEN_PARTS.fullmatch(text, end, part.start())
        if goes_on:
            found[-1] += float(part[1]) * unit
        elif part[2].lower() != "m":
            found.append(float(part[1]) * unit)
        else:
            continue
        end, last = part.end(), unit
    return found


def _without_dates(text: str) -> str:
    for pattern, _ in _DATES:
        text = pattern.sub(" ", text)
    return text


def _number(text: str) -> list[float]:
    values = [float(value.replace(",", "")) for value in _PLAIN_NUMBER.findall(text.replace("$", " "))]
    if not values:
        values = [float(_WORDS.index(word)) for word in re.findall(r"[a-z]+", text.lower()) if word in _WORDS]
    return sorted(set(values))


def _text_matches(reference: str, answer: str) -> bool:
    """Equal but for case and punctuation, or with nothing but common words around it."""
    wanted, given = normalise(reference), normalise(answer)
    if wanted == given:
        return True
    if not wanted:
        return False
    rest, count = re.subn(rf"(?<!\w){re.escape(wanted)}(?!\w)", " ", given)
    return count > 0 and all(not word or word in _COMMON_WORDS for word in map(normalise, rest.split()))
