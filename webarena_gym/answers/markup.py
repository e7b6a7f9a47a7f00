r"""Plain lines of an answer: without Markdown, LaTeX, HTML and JSON, but with what these say about its parts.

A table's row becomes "header: cell; header: cell", an object of JSON "key: value" lines. What the answer itself marks as its
answer (`Answer: X`, `{"answer": X}`, `\boxed{X}`) is told apart.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from webarena_gym.answers.lexicon import word_set


class Line(NamedTuple):
    """One line: its text, what it is ("text", "item" of a list, "row" of a table or object, "heading"), and which of the parts
    that are marked as the answer it belongs to, 0 for none. An item or row with bold text `is_bold`.
    """

    text: str
    kind: str = "text"
    answer: int = 0
    is_bold: bool = False
    number: int = 0  # of an item in a numbered list


_SIGNS = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2212": "-", "\u2192": ">", "\u279c": ">", "\u2794": ">", "\u21d2": ">",
        "\u203a": ">", "\u2022": "*", "\u25e6": "*", "\u25aa": "*", "\u25cf": "*", "\u00b7": ";", "\u00a0": " ", "\u200b": "",
        "\u2044": "/", "\u2215": "/", "\u22c5": "*", "\u2713": "", "\u2714": "", "\u2705": "", "\ufe0f": "",
        "\u201a": ",", "\u2043": "-", "\uff5c": "|", "\u2260": " not ",
    }
)  # fmt: skip
_DASH = re.compile(r" ?[\u2013\u2014\u2015] ?")
_SQUARE = re.compile(r"\b(km|m)(?:\u00b2|\^2|2)(?!\w)")
_ARROW = re.compile(r"(?<![-=])[-=]++>")
_STARS = re.compile(
    r"[\u2605\u2b50]\ufe0f?(?:[\u2605\u2b50]\ufe0f?)+[\u2606]*|\A\s*[\u2605\u2b50][\u2606]*(?=\s*\Z)|[\u2605\u2b50](?=\u2606)"
)
_PICTURES = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf]\ufe0f?")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,10})(?: [^<>]{0,300})?/?>")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)")
_HEADING = re.compile(r"^#{1,6} +")
_QUOTE = re.compile(r"^(?:> ?)+")
_BULLET = re.compile(r"^(?:[-*+] +|\(?[a-z]\) +)")
_NUMBERED = re.compile(r"^(?:[-*+] +|\(?[a-z]\) +|\(?\d{1,3}[.)] +|#\d{1,2}[.):]? +)")
_PREFIX = re.compile(r"(?<![\w./:])/?(?:u|user|r|f)/(?=\w)|(?<![\w.+-])@(?=[a-zA-Z])")
_CHECKBOX = re.compile(r"^\[[ xX]\] +")
_RULE = re.compile(r"^[-=_*\s]{3,}$")
_TABLE_RULE = re.compile(r"^\|?[\s:|-]+$")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\(<?([^()\s]{1,500})>?(?: \"[^\"\n]{0,200}\")?\)")
_EMPHASIS = re.compile(r"(?<!\s)\*{1,3}|\*{1,3}(?!\s)|~~|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|`+")
_ESCAPE = re.compile(r"\\([_*#`~>.!()\[\]{}+|$%&-])")
_LATEX_WORD = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf)?|mathrm|mathbf|mathit|mbox|operatorname|emph|underline|boldsymbol|large|left|right)\b\*?"
)
_FRACTION = re.compile(r"\\d?frac\{([^{}]{0,40})\}\{([^{}]{0,40})\}")
_LATEX_SIGNS = (
    ("\\times", "\u00d7"), ("\\cdot", "\u00d7"), ("\\approx", "≈"), ("\\div", "÷"), ("\\rightarrow", ">"), ("\\to ", "> "), ("\\quad", " "), ("\\,", " "),
    ("\\;", " "), ("\\:", " "), ("\\ ", " "), ("\\!", ""), ("\\(", " "), ("\\)", " "), ("\\[", " "), ("\\]", " "), ("{,}", ","), ("\\%", "%"),
    ("\\&", "&"), ("\\$", "$"), ("\\#", "#"), ("$$", " "), ("\\degree", "°"), ("^\\circ", "°"), ("\\\\", "\n"),
)  # fmt: skip
_TEXT_MATH = re.compile(r"(?<![\\\w$])\$(\s?\\(?:text|math)[^$\n]{1,300}?)(?<!\\)\$(?![\d$])")
_MATH = re.compile(r"(?<![\w$])\$([^$\n]{1,200}?)\$(?![\d$])")
_ANSWER = re.compile(
    r"^(?:(?:so|therefore|thus|hence|and|ok|okay),?\s+)?(?:(?:the|my|your)\s+)?(?:(?:final|short|correct|direct|overall|right|quick)\s+)*"
    r"(?:answer|ans|result|response|output|final|finding|tl;?dr|verdict|bottom\s+line)(?:\s+to\s+(?:the|your|this)\s+(?:question|task|query))?\s*(?:(?:is|would\s+be|=)\b\s*:?|[:=]|\s-\s|$)\s*",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"^\s*(?:\w+\(\s*(?:\w+\s*=\s*)?([\"'])(.{1,5000}?)\1\s*\)|(?:stop|exit|answer|finish|done|submit|send_msg_to_user)\s*\[(.{1,5000}?)\])\s*$",
    re.DOTALL,
)
_YAML = re.compile(
    r"(?P<blank> {0,20})(?:(?P<item>- {1,3}))?(?:(?P<key>[a-z][a-z0-9_]{0,30}(?: [a-z][a-z0-9_]{0,30}){0,2}):(?:$| +(?P<value>.{1,500})$))"
)
_YAML_ITEM = re.compile(r" {0,20}- +(\S.{0,299})$")
_HEADER = re.compile(r"[A-Za-z][A-Za-z_ ]{0,30}(?:,[A-Za-z][A-Za-z_ ]{0,30}){1,12}")
_PAIRS = re.compile(r"[a-z][a-z_]{0,30}: [^,:;]{1,100}(?:, [a-z][a-z_]{0,30}: [^,:;]{1,100}){1,12}")
_LABELLED_PAIRS = re.compile(
    r"[A-Za-z]\w{0,30}(?: \w{1,30})?: [^:;.?]{1,100}(?:; [A-Za-z]\w{0,30}(?: \w{1,30})?: [^:;.?]{1,100}){1,12}\.?"
)
_WITHOUT = re.compile(r"\bw/o(?= )")
_XML_FIELD = re.compile(r"<([a-z]\w{0,30})(?: [^<>]{1,200})?>([^<>]{1,300})</|\s([a-z]\w{0,30})=\"([^\"<>]{1,300})\"")
_HTML = word_set("b i p a u em strong br li td th tr div span code h1 h2 h3 h4 ul ol class href style id")
_LABELLED = re.compile(
    r"(?<=[.!?;\"])\s+(?=(?:(?:so|therefore|thus|hence),?\s+)?(?:(?:the|my)\s+)?(?:final\s+|correct\s+)?(?:answer\b|finding:|tl;?dr:|verdict:|bottom\s+line:))",
    re.IGNORECASE,
)
_ANSWER_KEYS = word_set("answer final_answer finalanswer final result response output reply message value solution")
_BARE = re.compile(r"-?[\d,]+(?:\.\d+)?")
_UNIT_NAMES = {
    "min": "min", "mins": "min", "minute": "min", "minutes": "min", "hour": "h", "hours": "h", "seconds": "s", "secs": "s", "days": "days",
    "km": "km", "kilometers": "km", "kilometres": "km", "kilometer": "km", "kilometre": "km", "meters": "m", "metres": "m", "metre": "m",
    "meter": "m", "miles": "miles", "usd": "usd", "dollars": "usd", "eur": "eur",
}  # fmt: skip
_LONGEST_JSON = 200_000
_DEEPEST = 12
_BROKEN = re.compile(
    r"^(?:or|actually|wait|correction|alternatively|maybe|perhaps|edit|scratch|no,|hmm|sorry|on second|instead|but)\b",
    re.IGNORECASE,
)


def lines(text: str) -> list[Line]:
    r"""Return the plain lines of an answer; the parts that it marks as its answer are numbered.

    >>> [line.text for line in lines("| Size | Stock |\n|---|---|\n| **S** | 5 |")]
    ['Size: S; Stock: 5']
    >>> lines("It is `5`.\nFinal answer: 5")[1]
    Line(text='5', kind='text', answer=1, is_bold=False, number=0)
    """
    text = _ARROW.sub(" > ", _STARS.sub(lambda stars: f" {stars.group().count(stars.group()[0])} stars ", text))
    text = _SQUARE.sub(r"square \1", text)
    text = html.unescape(unicodedata.normalize("NFKC", text.translate(_SIGNS))).translate(_SIGNS)
    text = _DASH.sub(lambda dash: "-" if len(dash.group()) == 1 else " - ", text)
    text = _WITHOUT.sub("without", text)
    call = _CALL.match(text)
    if call:
        text = f"Answer: {call[2] or call[3]}"
    found = [*_from_json(text)] or [*_from_fields(text)]
    if not found:
        text = _TAG.sub(lambda tag: "\n" if tag[2].lower() in ("br", "p", "li", "tr", "div", "ul", "ol", "table") else "", text)
        found = [*_from_markdown(_without_latex(text))]
    return _marked(found)


def _marked(found: list[Line]) -> list[Line]:
    """Mark what follows "Answer:" on its line, or the block behind it."""
    marked: list[Line] = []
    number = max((line.answer for line in found), default=0)
    opened = begun = False  # an answer's label was read; its block has begun
    for line in [part for each in found for part in _by_label(each)]:
        label = None if line.answer else _ANSWER.match(line.text)
        if label and not line.text[label.end() :].lstrip().startswith(("not ", "no longer")):
            rest = line.text[label.end() :].strip()
            number += not (opened and not begun)  # "The result is:" before "Answer: 5" opens one answer, not two
            opened, begun = not rest or rest.endswith(":"), bool(rest)
            marked.append(Line(rest, "text" if line.kind == "heading" else line.kind, number))
        elif opened and line.text:
            marked.append(line._replace(answer=0 if line.kind == "heading" else number))
            begun = True
        elif opened and begun and not line.text:
            opened = False
            marked.append(line)
        elif number and not line.answer and _BROKEN.match(line.text):
            marked.append(line._replace(answer=number))
        else:
            marked.append(line)
    return marked


def _by_label(line: Line) -> Iterator[Line]:
    """Part a line before each sentence that begins with the answer's label."""
    if line.answer:
        yield line
        return
    start = 0
    for match in _LABELLED.finditer(line.text):
        if not _ANSWER.match(line.text[match.end() : match.end() + 200]):
            continue
        if line.text[start : match.end()].strip():
            yield line._replace(text=line.text[start : match.end()].strip())
        start = match.end()
    yield line._replace(text=line.text[start:].strip())


def _from_json(text: str) -> Iterator[Line]:
    """The lines of an answer that is JSON as a whole, or of text that ends in one object."""
    body = text.strip()
    if len(body) > _LONGEST_JSON:
        return
    fence = re.match(r"(?:```|~~~)\w*\s*\n?", body)
    if fence and body.endswith(("```", "~~~")):
        body = body[fence.end() : -3].strip()
    if not body or body[0] not in '[{"':
        start = min((place for place in (body.find("{"), body.find("[")) if place >= 0), default=-1)
        end = max(body.rfind("}"), body.rfind("]")) + 1
        if start < 0 or end <= start:
            return
        value = _loads(body[start:end])
        if (
            not isinstance(value, dict | list)
            or not value
            or (isinstance(value, list) and not any(isinstance(item, str | dict) for item in value))
        ):
            return
        before = [*_from_markdown(re.sub(r"(?:```|~~~)\w*", "", body[:start]))]
        yield from before
        yield from _flat(value)
        yield from _from_markdown(body[end:])
        return
    value = _loads(body)
    if value is not None:
        yield from _flat(value)


def _from_fields(text: str) -> Iterator[Line]:
    """The lines of an answer that is YAML, CSV or XML as a whole, in the simple forms that records have."""
    body = text.strip()
    if len(body) > _LONGEST_JSON:
        return
    fence = re.match(r"(?:```|~~~)\w{0,20}\s{0,3}\n", body)
    if fence and body.endswith(("```", "~~~")):
        body = body[fence.end() : -3].strip("\n")
    rows = [row.rstrip() for row in body.split("\n") if row.strip() and row.strip() != "---"]
    if body.startswith("<") and body.endswith(">"):
        pairs = [(match[1] or match[3], match[2] or match[4]) for match in _XML_FIELD.finditer(body)]
        if pairs and not any(name in _HTML for name, _ in pairs):
            for name, value in pairs:
                yield from _fields({name: html.unescape(value)})
        return
    if len(rows) == 1 and _PAIRS.fullmatch(rows[0]):
        yield from _fields(dict(pair.split(": ", 1) for pair in rows[0].split(", ")))
        return
    if len(rows) == 1 and _LABELLED_PAIRS.fullmatch(rows[0]):
        yield Line(rows[0], "row")
        return
    if len(rows) < 2:
        return
    if _YAML.match(rows[0]) and all(_YAML.match(row) or _YAML_ITEM.match(row) for row in rows):
        yield from _from_yaml(rows)
    elif len({row.count(",") for row in rows}) == 1 and "," in rows[0] and ", " not in body and _HEADER.fullmatch(rows[0]):
        names = rows[0].split(",")
        for row in rows[1:]:
            fields = [*_fields(dict(zip(names, row.split(","), strict=True)))]
            yield Line("; ".join(line.text for line in fields if line.text), "row", max(line.answer for line in fields))


def _from_yaml(rows: list[str]) -> Iterator[Line]:
    """The fields of YAML, each with the label of what it is in; a list is one field."""
    parents: list[tuple[int, str]] = []
    at, held = "", list[str]()
    for row in [*rows, ""]:
        match = _YAML.match(row)
        item = None if match else _YAML_ITEM.match(row)
        if item:
            held.append(item[1])
            continue
        if held:
            yield from _fields({at: "; ".join(each.strip("\"'") for each in held)})
            held = []
        if not match:
            continue
        depth = len(match["blank"]) + len(match["item"] or "")
        parents = [each for each in parents if each[0] < depth]
        value = (match["value"] or "").strip()
        at = match["key"]
        if not value:
            parents.append((depth, at))
        elif value not in ("null", "~"):
            listed = value[1:-1].replace(", ", "; ") if value.startswith("[") and value.endswith("]") else value
            yield from _fields(
                {at: listed.strip("\"'")}, parents[-1][1].replace("_", " ") if parents and not _answer_number(at) else ""
            )


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _flat(value: Any, key: str = "", depth: int = 0) -> Iterator[Line]:
    """Lines of a JSON value; the value of an answer's key is an answer, numbered by its key."""
    answer = _answer_number(key)
    name = "" if answer else key.replace("_", " ")
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        if value and all(not isinstance(each, dict | list) for each in value.values()):
            lines_of = [*_fields(value, "" if name.isdigit() or not depth else name)]
            if depth and not any(line.answer for line in lines_of):
                joined = "; ".join(line.text for line in lines_of if line.text)
                yield Line(f"{name}: {joined}" if name and name.isdigit() else joined, "row", answer)
            else:
                yield from lines_of
            return
        for each, inner in value.items():
            for line in _flat(inner, str(each), depth + 1):
                yield line._replace(answer=line.answer or answer)
    elif isinstance(value, list):
        if all(not isinstance(each, dict | list) for each in value):
            joined = "; ".join(_scalar(each) for each in value)
            yield Line(f"{name}: {joined}" if name else joined, "row", answer)
            return
        for each in value:
            for line in _flat(each, "", depth + 1):
                yield line._replace(answer=line.answer or answer)
    else:
        yield from _fields({key: value})


def _answer_number(key: str) -> int:
    """A number for the key of an answer, 0 for another key."""
    name = key.lower().replace(" ", "_").replace("-", "_")
    if name.rstrip("_0123456789") not in _ANSWER_KEYS:
        return 0
    return 1 + sorted(_ANSWER_KEYS).index(name.rstrip("_0123456789")) + 100 * int(re.sub(r"\D", "", name)[:3] or 0)


def _fields(record: dict[str, Any], parent: str = "") -> Iterator[Line]:
    for key, value in record.items():
        if value is None and len(record) > 1:
            continue  # a field without a value says nothing
        answer = _answer_number(key)
        parts = [line.text for line in _from_markdown(_without_latex(_scalar(value))) if line.text]
        label = key.replace("not_", "non-").replace("_", " ")
        name = "" if answer or not key else f"{parent} {label}: " if parent else f"{label}: "
        yield Line(name + _with_unit(key, "; ".join(parts)), "row", answer)


def _with_unit(name: str, value: str) -> str:
    """A bare number with the unit that the name of its field ends or begins with: "duration_min" or "Distance (km)"."""
    if not _BARE.fullmatch(value):
        return value
    unit = next((word for word in re.findall(r"[a-z]+", name.lower()) if word in _UNIT_NAMES and name.lower() != "min"), "")
    return f"{value} {_UNIT_NAMES[unit]}" if unit else value


def _scalar(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _without_latex(text: str) -> str:
    if "\\boxed" in text or "\\fbox" in text:
        text = _unboxed(text)
    if "\\" in text:
        text = _TEXT_MATH.sub(r"\1", text)
        text = _FRACTION.sub(r"\1/\2", text)
        text = _LATEX_WORD.sub("", text)
        text = text.replace("\\$", "\ue000")
        for sign, plain in _LATEX_SIGNS:
            text = text.replace(sign, plain)
        text = _ESCAPE.sub(r"\1", text)
        text = text.replace("{", "").replace("}", "")
    text = _MATH.sub(_plain_math, text)
    return text.replace("\ue000", "$")


def _plain_math(match: re.Match[str]) -> str:
    """What stands between two signs of mathematics, unless these are two signs of money."""
    inner = match.group(1)
    return match.group() if " " in inner.strip() and re.search(r"[a-z]{3}", inner) and "=" not in inner else inner


def _unboxed(text: str) -> str:
    r"""Put each \boxed{...} on a line of its own, marked as an answer."""
    parts: list[str] = []
    place = 0
    while True:
        start = min((at for at in (text.find("\\boxed{", place), text.find("\\fbox{", place)) if at >= 0), default=-1)
        if start < 0:
            break
        depth, at = 1, text.index("{", start) + 1
        first = at
        while at < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        parts += [text[place:start].rstrip(" $"), "\nAnswer: ", text[first : at - (depth == 0)].strip(), "\n"]
        place = at
        while text[place : place + 1] in ("$", ".", " "):
            place += 1
    return "".join([*parts, text[place:]])


def _from_markdown(text: str) -> Iterator[Line]:
    header: list[str] | None = None
    rows = text.replace("\r", "\n").split("\n")
    item = _NUMBERED if len(rows) > 1 else _BULLET  # a lone "2. It ..." may begin with its answer
    for index, raw in enumerate(rows):
        line = raw.strip()
        if _FENCE.match(raw) or line.startswith(("\U0001f948", "\U0001f949")):  # second and third places are no answers
            continue
        if line.count("|") >= 2 and line.startswith("|") and line.endswith("|"):
            cells = [_inline(cell) for cell in line.strip("|").split("|")]
            follows = rows[index + 1].strip() if index + 1 < len(rows) else ""
            if _TABLE_RULE.match(line) and "-" in line:
                continue
            if header is None and "-" in follows and _TABLE_RULE.match(follows):
                header = cells
                continue
            names = header if header is not None and len(header) == len(cells) else [""] * len(cells)
            if header is None and len(cells) == 2:
                yield Line(f"{cells[0]}: {cells[1]}", "row", 0, "**" in line)
                continue
            pairs = [
                f"{name}: {_with_unit(name, cell)}" if name else cell for name, cell in zip(names, cells, strict=True) if cell
            ]
            if header is not None and len(cells) == 2 and _is_label_table(header):
                pairs = [": ".join(cells)]
            yield Line("; ".join(pairs), "row", 0, "**" in line)
            continue
        header = None
        if _RULE.match(line):
            yield Line("")
            continue
        line = _QUOTE.sub("", line)
        kind, number = "text", 0
        if _HEADING.match(line):
            kind, line = "heading", _HEADING.sub("", line).rstrip("#")
        elif item.match(line):
            digits = re.match(r"\(?#?(\d{1,3})", line)
            number = int(digits[1]) if digits else 0
            kind, line = "item", _HEADING.sub("", _CHECKBOX.sub("", item.sub("", line)))
        yield Line(_inline(line), kind, 0, kind == "item" and "**" in line, number)


def _is_label_table(header: list[str]) -> bool:
    """Whether a table of two columns has the names of fields in the first one."""
    first = header[0].lower()
    return first in (
        "field",
        "property",
        "attribute",
        "key",
        "detail",
        "item",
        "info",
        "information",
        "metric",
        "",
        "what",
        "category",
    )


def _inline(text: str) -> str:
    text = _LINK.sub(_link, text)
    text = _PICTURES.sub(" ", text)
    text = _PREFIX.sub("", _EMPHASIS.sub("", _ESCAPE.sub(r"\1", text)))
    return " ".join(text.split()).strip()


def _link(match: re.Match[str]) -> str:
    text, target = match.groups()
    if target in text or target.removeprefix("mailto:").removeprefix("tel:") in text:
        return text
    return f"{text} ({target.removeprefix('mailto:')})" if target.startswith(("http", "mailto:")) else text
