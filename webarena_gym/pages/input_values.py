"""Values of inputs: the standard's parsers of numbers, dates and times, and its value sanitization algorithms by type.

Each function implements the section of the HTML standard that its docstring links to, as Chromium does. Where Chromium differs from
the standard, Chromium's behaviour is taken: `tests/data/forms.json` contains it. Colors are read in the notations of `parse_color`.
"""

import re
import unicodedata
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.pages import dom

NUMERIC_TYPES = dom.DATE_TYPES | {"number", "range"}
_ASCII_SPACE = " \t\n\f\r"
_DAY_MS = 86_400_000
_MINUTE_MS = Decimal(60_000)
_MAX_DATE_MS = 8_640_000_000_000_000  # the last date of ECMAScript, in the year 275760
_MAX_DOUBLE = Decimal("1.7976931348623157e308")
_NEW_LINES = str.maketrans("", "", "\r\n")
_IGNORED = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_NUMBER = re.compile(
    r"-?(?:\d{1,400}(?:\.\d{1,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?", re.ASCII
)  # doubles have up to 309 digits
_DATE = re.compile(r"(\d{4,16})-(\d\d)-(\d\d)", re.ASCII)
_MONTH = re.compile(r"(\d{4,16})-(\d\d)", re.ASCII)
_WEEK = re.compile(r"(\d{4,16})-W(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?", re.ASCII)


def parse_number(text: str | None) -> Decimal | None:
    """Return the value of a valid floating-point number; None if the text is none.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#valid-floating-point-number
    """
    if text is None or not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if abs(number) <= _MAX_DOUBLE else None


def parse_date_string(text: str) -> int | None:
    """Return the milliseconds from 1970 to a date; None if the text is no valid date.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#parse-a-date-string
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not 1 <= month <= 12 or not 1 <= day <= _days_in_month(year, month):
        return None
    return _in_limits(year, _days_before(year, month) + day - 1)


def parse_month_string(text: str) -> int | None:
    """Return the months from January 1970 to a month; None if the text is no valid month.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#parse-a-month-string
    """
    match = _MONTH.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= 12:
        return None
    year, month = int(match[1]), int(match[2])
    return None if _in_limits(year, _days_before(year, month)) is None else (year - 1970) * 12 + month - 1


def parse_week_string(text: str) -> int | None:
    """Return the milliseconds from 1970 to the Monday of a week; None if the text is no valid week.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#parse-a-week-string
    """
    match = _WEEK.fullmatch(text)
    if match is None:
        return None
    year, week = int(match[1]), int(match[2])
    if not 1 <= week <= 53:
        return None
    monday = _first_monday(year) + 7 * (week - 1)
    return _in_limits(year, monday) if monday < _first_monday(year + 1) else None


def parse_time_string(text: str) -> int | None:
    """Return the milliseconds from midnight to a time; None if the text is no valid time.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#parse-a-time-string
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second, fraction = (match[group] or "0" for group in range(1, 5))
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    return ((int(hour) * 60 + int(minute)) * 60 + int(second)) * 1000 + int(fraction.ljust(3, "0"))


def parse_local_date_and_time_string(text: str) -> int | None:
    """Return the milliseconds from 1970 to a local date and time; None if the text is none.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#parse-a-local-date-and-time-string
    """
    date_text, time_text = [*re.split("[T ]", text, maxsplit=1), ""][:2]
    date, time = parse_date_string(date_text), parse_time_string(time_text)
    return None if date is None or time is None or date + time > _MAX_DATE_MS else date + time


_PARSERS = {
    "date": parse_date_string,
    "month": parse_month_string,
    "week": parse_week_string,
    "time": parse_time_string,
    "datetime-local": parse_local_date_and_time_string,
}


def convert_string_to_number(type_name: str, text: str | None) -> Decimal | None:
    """Return the number of a value or limit of an input of a numeric type; None if it is not valid.

    https://html.spec.whatwg.org/multipage/input.html#concept-input-value-string-number
    """
    if text is None or type_name not in _PARSERS:
        return parse_number(text)
    number = _PARSERS[type_name](text)
    return None if number is None else Decimal(number)


def _in_limits(year: int, days: int) -> int | None:
    return days * _DAY_MS if year >= 1 and days * _DAY_MS <= _MAX_DATE_MS else None


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in_month(year: int, month: int) -> int:
    return (31, 29 if _is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _days_before(year: int, month: int) -> int:
    """Return the days from 1970 to the first day of a month in the Gregorian calendar, which `datetime` has to the year 9999 only."""
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 - 719_162
    return days + sum(_days_in_month(year, earlier) for earlier in range(1, month))


def _first_monday(year: int) -> int:
    """Return the days from 1970 to the Monday of week 1: the week of January 4."""
    fourth = _days_before(year, 1) + 3
    return fourth - (fourth + 3) % 7  # 1970 began on a Thursday


class StepRange(NamedTuple):
    """Limits and steps of a numeric input. `minimum` and `maximum` are None without a limit, `step` is None if any value is allowed."""

    minimum: Decimal | None
    maximum: Decimal | None
    step: Decimal | None
    base: Decimal


# By type: default step, step scale factor, default step base, and whether the step (1) or its product with the factor (2) is an integer.
_STEPS = {
    "number": (1, 1, 0, 0), "range": (1, 1, 0, 0), "date": (1, _DAY_MS, 0, 1), "month": (1, 1, 0, 1),
    "week": (1, 7 * _DAY_MS, -3 * _DAY_MS, 1), "time": (60, 1000, 0, 2), "datetime-local": (60, 1000, 0, 2),
}  # fmt: skip


def step_range(control: HtmlElement, default_value: str | None) -> StepRange:
    """Return limits, allowed value step and step base of an input whose attribute `value` was `default_value` after loading.

    https://html.spec.whatwg.org/multipage/input.html#attr-input-step
    https://html.spec.whatwg.org/multipage/input.html#concept-input-min-zero
    """
    type_name = dom.element_type(control)
    minimum, maximum = (convert_string_to_number(type_name, control.get(name)) for name in ("min", "max"))
    base = minimum if minimum is not None else convert_string_to_number(type_name, default_value)
    default, scale, default_base, rounding = _STEPS[type_name]
    text = control.get("step")
    step: Decimal | None = None
    if text is None or text.lower() != "any":
        number = parse_number(text)
        step = Decimal(default) if number is None or number <= 0 else number
        step = max(_round(step), Decimal(1)) * scale if rounding == 1 else step * scale
        step = max(_round(step), Decimal(1)) if rounding == 2 else step
    if type_name == "range":
        minimum = Decimal(0) if minimum is None else minimum
        maximum = max(Decimal(100) if maximum is None else maximum, minimum)
    return StepRange(minimum, maximum, step, Decimal(default_base) if base is None else base)


def _round(number: Decimal) -> Decimal:
    return number.to_integral_value(ROUND_HALF_UP)


def sanitize_value(control: HtmlElement, text: str | None, default_value: str | None = None) -> str:
    """Return the value of an input after the value sanitization algorithm of its type.

    https://html.spec.whatwg.org/multipage/input.html#value-sanitization-algorithm

    Args:
        control: an input.
        text: the new value; None if it has none.
        default_value: its attribute `value` after loading, from which the steps of a range without `min` count.

    """
    type_name = dom.element_type(control)
    if type_name == "range":
        return _sanitize_range(control, text, default_value)
    if type_name == "color":
        return parse_color(text or "") or "#000000"
    if not text:
        return ""
    if type_name in ("text", "search", "tel", "password"):
        return text.translate(_NEW_LINES)
    if type_name == "url":
        return text.translate(_NEW_LINES).strip(_ASCII_SPACE)
    if type_name == "email":
        text = text.translate(_NEW_LINES)
        addresses = text.split(",") if "multiple" in control.attrib else [text]
        return ",".join(_ascii_address(address.strip(_ASCII_SPACE)) for address in addresses)
    if type_name not in NUMERIC_TYPES:
        return text
    if convert_string_to_number(type_name, text) is None:
        return ""
    return _normalize_local_date_and_time(text) if type_name == "datetime-local" else text


def _sanitize_range(control: HtmlElement, text: str | None, default_value: str | None) -> str:
    """Clamp to the limits, and round to the nearest step, as https://html.spec.whatwg.org/multipage/input.html#range-state-(type=range).

    Without a valid value the middle is taken. Then the attribute `value` had no number to count steps from.
    """
    if default_value is not None and default_value == _sanitize_range(control, None, None):
        default_value = None
    minimum, maximum, step, base = step_range(control, default_value)
    assert minimum is not None
    assert maximum is not None
    with localcontext(prec=18):  # as in Chromium
        number = parse_number(text)
        value = max(minimum, min((minimum + maximum) / 2 if number is None else number, maximum))
        if step is not None:
            rounded = base + _round((value - base) / step) * step
            if not minimum <= rounded <= maximum:
                rounded += step if rounded < minimum else -step
            value = rounded if minimum <= rounded <= maximum else value
    return _number_text(value)


def _number_text(number: Decimal) -> str:
    """Return the text of a number as Chromium writes it, such as "2.5" and "1e+2"; an exponent of the source is kept."""
    sign, digits, exponent = Context(prec=15, rounding=ROUND_HALF_UP).plus(number).as_tuple()
    assert isinstance(exponent, int)
    while exponent < 0 and digits[-1] == 0 and len(digits) > 1:
        digits, exponent = digits[:-1], exponent + 1
    return str(Decimal((sign, digits, exponent))).lower() if any(digits) else "0"


def _normalize_local_date_and_time(text: str) -> str:
    """Return the shortest text of a valid local date and time.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#valid-normalised-local-date-and-time-string
    """
    date, time = re.split("[T ]", text, maxsplit=1)
    year, rest = date.split("-", 1)
    seconds, _, fraction = time[6:].partition(".")
    fraction = fraction.rstrip("0")
    tail = f":{seconds}.{fraction}" if fraction else f":{seconds}" if seconds.strip("0") else ""
    return f"{int(year):04}-{rest}T{time[:5]}{tail}"


def restored_time(control: HtmlElement) -> str:
    """Return the value of a time input after the user has left the page and come back.

    As in Chromium, it has the parts that the input shows: seconds only if they matter to its value, limit or step.
    """
    value = parse_time_string(dom.field_value(control))
    if value is None:
        return dom.field_value(control)
    steps = step_range(control, None)
    numbers = (Decimal(value), steps.minimum or Decimal(0), _MINUTE_MS if steps.step is None else steps.step)
    minutes, milliseconds = divmod(value, 60_000)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    if any(number % _MINUTE_MS for number in numbers):
        text += f":{milliseconds // 1000:02}"
    if any(number % 1000 for number in numbers):
        text += f".{milliseconds % 1000:03}"
    return text


def _ascii_address(address: str) -> str:
    """Return an e-mail address with its domain in Punycode, as Chromium stores it."""
    local, at, domain = address.partition("@")
    if address.isascii() or not at or not local.isascii():
        return address
    return local + at + domain_to_ascii(domain)


def domain_to_ascii(domain: str) -> str:
    """Return a domain in lower case with Punycode for other than ASCII labels, by the transitional processing of UTS #46."""
    domain = unicodedata.normalize("NFKC", _IGNORED.sub("", domain).casefold()).replace("\u3002", ".")
    labels = [label if label.isascii() else "xn--" + label.encode("punycode").decode() for label in domain.split(".")]
    return ".".join(labels)


_COLORS = (
    " aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4"
    " black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0"
    " chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff"
    " darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b"
    " darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon e9967a"
    " darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1"
    " darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222"
    " floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520"
    " gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082"
    " ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6"
    " lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3"
    " lightpink ffb6c1 lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899"
    " lightslategrey 778899 lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6"
    " magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db"
    " mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585"
    " midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6"
    " olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98"
    " paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd"
    " powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513"
    " salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb"
    " slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c"
    " teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5"
    " yellow ffff00 yellowgreen 9acd32"
)
_HEX_COLOR = re.compile("#[0-9a-f]{3,8}")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]{5,100})\)")
_ARGUMENT = re.compile(r"([+-]?(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20}))(%|deg)?", re.ASCII)


def parse_color(text: str) -> str:
    """Return a CSS color as "#rrggbb"; "" if it is none of: a name, hexadecimal digits, `rgb()` and `hsl()`.

    https://html.spec.whatwg.org/multipage/input.html#update-a-color-well-control-color
    """
    text = text.strip(_ASCII_SPACE).lower()
    if _HEX_COLOR.fullmatch(text) and len(text) in (4, 5, 7, 9):
        digits = text[1:] if len(text) > 5 else "".join(digit * 2 for digit in text[1:])
        return f"#{digits[:6]}"
    if (function := _FUNCTION.fullmatch(text)) is not None:
        return _function_color(function[1], function[2])
    words = _COLORS.split()
    return f"#{words[words.index(text) + 1]}" if text in words[::2] else ""


def _function_color(name: str, arguments: str) -> str:
    """Return the color of a function with three arguments and perhaps an alpha value, which is dropped."""
    parts = [_ARGUMENT.fullmatch(part) for part in re.split(r"[ \t\n,/]+", arguments.strip(_ASCII_SPACE))]
    first, second, third, *rest = [*parts, None, None, None][: max(3, len(parts))]
    if first is None or second is None or third is None or len(rest) > 1:
        return ""
    if name == "rgb":
        channels = [float(part[1]) * (2.55 if part[2] else 1) for part in (first, second, third)]
    else:
        hue, saturation, lightness = float(first[1]) % 360, *(min(max(float(part[1]) / 100, 0), 1) for part in (second, third))
        reach = saturation * min(lightness, 1 - lightness)
        turns = ((offset + hue / 30) % 12 for offset in (0, 8, 4))
        channels = [255 * (lightness - reach * max(-1, min(turn - 3, 9 - turn, 1))) for turn in turns]
    return "#" + "".join(f"{int(min(max(channel, 0), 255) + 0.5):02x}" for channel in channels)
