"""Parsing of a model's reply: thoughts, answer tags, calls with quoted arguments, groups in brackets."""

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from webarena_gym.errors import ActionError

_COMMENT = re.compile(r"[ \t;]*#")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_QUOTE = re.compile(r"\s*(['\"])")
_BARE = re.compile(r"\s*([^\s,()\[\]'\"]+)")
_LIST = re.compile(r"\s*\[\s*(?=['\"])")
_COMMA = re.compile(r"\s*,")
_CLOSE = re.compile(r"\s*\)")
_LIST_CLOSE = re.compile(r"\s*\]")
_END = re.compile(r"\s*(?:[,)]|\Z)")
_LIST_END = re.compile(r"\s*(?:[,\]]|\Z)")
_MARK = re.compile(r"[\\'\"]")
_CODE = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
_STRUCTURE = re.compile(r"\s*(?=[\[{])")
_DECODER = json.JSONDecoder()
_PYTHON_LITERALS = {"True": "true", "False": "false", "None": "null"}
_LITERAL = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|True|False|true|false|None")
_REST_OF_LINE = re.compile(r"[ \t`.;]*(?:#|$)", re.MULTILINE)
_CLOSING_QUOTE = re.compile(r"['\"]\s*\)")

_ANY_CALL = re.compile(r"(?<!\w)[A-Za-z_]\w*+\(")
_STRICT_ARGUMENTS = re.compile(
    r"""\s*(?:(?:[A-Za-z_]\w*\s*=\s*)?(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[^\s,()\[\]'"]++)\s*(?:,\s*|(?=\))))*+""",
    re.DOTALL,
)
_VERB_BEFORE_BRACKET = re.compile(r"(?:^[ \t]*+|```(?:\w++\s++)?\s*+)[a-z_]++[ \t]*+(?=\[)", re.MULTILINE)
_BRACKET = re.compile(r"(?<!\\)(\\*+)([\[\]])")
_BLANKS = re.compile(r"[ \t]*")
_MOST_JSON_VALUES = 20  # positions of a reply at which JSON is parsed


class Call(NamedTuple):
    """A function call in a reply: `name(positional, keyword=value)`, all values text."""

    name: str
    positional: tuple[str, ...]
    keywords: dict[str, str]

    def bind(self, names: Sequence[str]) -> dict[str, str]:
        """Return the values by parameter, as Python binds arguments; `names` are the parameters in order. Raises ActionError."""
        expected = ", ".join(names) or "none"
        if len(self.positional) > len(names):
            raise ActionError(f"{self.name}() takes {len(names)} arguments ({expected}), got {len(self.positional)}")
        values = dict(zip(names, self.positional, strict=False))
        for name, value in self.keywords.items():
            if name not in names:
                raise ActionError(f"{self.name}() has no argument {name!r}; expected {expected}")
            if name in values:
                raise ActionError(
                    f"{self.name}() got {name} by position ({values[name]!r}) and by name ({value!r}); expected one value"
                )
            values[name] = value
        return values


class Scan(NamedTuple):
    """A call, the position after it, the unescaped quotation mark inside its texts, and True if no value is quoted or named."""

    call: Call
    end: int
    inner_quote: str | None
    is_bare: bool


class _ProseError(ActionError):
    """Parentheses after a name that are prose, without a quoted or named value before the syntax error, as in "press(the key) later"."""


def answer_part(reply: str) -> str:
    """Return the part of a reply with the action: without thoughts, and the content of <answer> if there is one.

    Tags inside the arguments of an action are text.

    >>> answer_part('<think>Which?</think><answer> do(action="Wait") </answer>')
    'do(action="Wait")'
    >>> answer_part('exit(message="the tag </think>")')
    'exit(message="the tag </think>")'
    """
    if "</think>" not in reply and "<answer>" not in reply:
        return reply.strip()
    if reply.lstrip().startswith("<think>"):
        reply = reply.partition("</think>")[2] or reply
    masked = _mask_arguments(reply)
    head, tag, _ = masked.rpartition("</think>")
    start, end = len(head + tag), len(reply)
    opening = masked.rfind("<answer>", start)
    if opening >= 0:
        start = opening + len("<answer>")
        closing = masked.find("</answer>", start)
        end = closing if closing >= 0 else end
    return reply[start:end].strip()


def _mask_arguments(text: str) -> str:
    """Return a text with blanks in place of all arguments: those of calls, groups in brackets after a verb, and JSON."""
    spans = [(start, end) for _, start, end in json_values(text)]
    position = 0
    for head in _ANY_CALL.finditer(text):
        if head.end() > position and (arguments := _STRICT_ARGUMENTS.match(text, head.end())):
            position = arguments.end()
            if text.startswith(")", position):
                spans.append((head.end(), position))
    pairs = bracket_pairs(text)
    spans += [group for verb in _VERB_BEFORE_BRACKET.finditer(text) for group in bracket_groups(text, verb.end(), pairs)]
    parts, position = [], 0
    for start, end in sorted(spans):
        if end > position:
            begin = max(start, position)
            parts += [text[position:begin], " " * (end - begin)]
            position = end
    return "".join([*parts, text[position:]])


def json_values(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield the JSON objects and lists in a text, each with its start and end."""
    decoder, position = json.JSONDecoder(), 0
    for _ in range(_MOST_JSON_VALUES):
        starts = [start for mark in "{[" if (start := text.find(mark, position)) >= 0]
        if not starts:
            return
        try:
            value, position = decoder.raw_decode(text, min(starts))
        except (ValueError, RecursionError):
            position = min(starts) + 1
            continue
        yield value, min(starts), position


def bracket_pairs(text: str) -> dict[int, int]:
    r"""Return the end of each pair of brackets by its start. A bracket after an odd number of backslashes is text.

    >>> bracket_pairs(r"[a [b]] \[ [")
    {3: 6, 0: 7}
    """
    starts: list[int] = []
    pairs: dict[int, int] = {}
    for mark in _BRACKET.finditer(text):
        if len(mark[1]) % 2:
            continue
        if mark[2] == "[":
            starts.append(mark.end() - 1)
        elif starts:
            pairs[starts.pop()] = mark.end()
    return pairs


def bracket_groups(text: str, position: int, pairs: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return start and end of each pair of brackets after a position, with only blanks between them."""
    groups: list[tuple[int, int]] = []
    while (blanks := _BLANKS.match(text, position)) and blanks.end() in pairs:
        position = pairs[blanks.end()]
        groups.append((blanks.end(), position))
    return groups


def find_calls(text: str, names: Collection[str], tools: Collection[str] = ()) -> list[Call]:
    """Return every call of one of `names` or `tools` outside comments and prose, in order. The values of a call of a tool are JSON.

    Prose has parentheses without quoted or named values, as in "press (Enter) later"; `press(Enter)` on a line of its own is a call.
    Raises ActionError at the first malformed call, and where a text would be cut, as in `exit(message="a (b "c") d")`.
    """
    head = call_head((*names, *tools))
    scans: list[Scan] = []
    unreadable: ActionError | None = None
    position = 0
    while match := head.search(text, position):
        _, newline, line = text[position : match.start()].rpartition("\n")
        is_first = bool(newline) or position == 0
        if is_first and _COMMENT.match(line):
            position = _line_end(text, match.start())
            continue
        lead = line.rstrip(" \t*")
        is_separate = lead[-1] in ":`>;" if lead else is_first
        position = match.end()
        if match[2] and not is_separate:
            continue
        try:
            scan = scan_call(text, match, is_json=match[1] in tools)
        except _ProseError as error:
            unreadable = unreadable or error
            continue
        if scan.is_bare and not (is_separate and _REST_OF_LINE.match(text, scan.end)):
            continue
        if scans:
            _check_end(scans[-1], text[scans[-1].end : match.start()])
        scans.append(scan)
        position = _line_end(text, scan.end) if _COMMENT.match(text, scan.end) else scan.end
    if scans:
        if scans[-1].end < len(text):
            _check_end(scans[-1], text[scans[-1].end :])
    elif unreadable:
        raise unreadable
    return [scan.call for scan in scans]


@cache
def call_head(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the beginning of a call, up to its opening parenthesis; group 1 is the name."""
    return re.compile(rf"(?<![\w.])({'|'.join(names)})(\s*)\(")


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _check_end(scan: Scan, rest: str) -> None:
    """Raise ActionError if the text between a call and the next one closes a quotation, so that the call ended inside its text."""
    if not scan.inner_quote:
        rest = rest.partition("\n")[0].partition("#")[0]
    if any(scan.inner_quote in (None, mark[0][0]) for mark in _CLOSING_QUOTE.finditer(rest)):
        raise ActionError(
            f"{scan.call.name}(...) ends before {rest.strip()[:20]!r}; expected a backslash before each quotation mark inside a text"
        )


def scan_call(text: str, head: re.Match[str], *, is_json: bool = False) -> Scan:
    """Return the call whose name is the first group of `head`, and whose arguments begin at its end. Raises ActionError.

    With `is_json`, each value is JSON, and may be written as a JSON list or object. Otherwise it is the text of a quoted or bare value.
    """
    name, position = head.group(1), head.end()
    positional: list[str] = []
    keywords: dict[str, str] = {}
    is_bare, inner_quote = True, None
    while not (close := _CLOSE.match(text, position)):
        keyword = _KEYWORD.match(text, position)
        is_bare = is_bare and keyword is None
        start = keyword.end() if keyword else position
        inner = None
        if quotation_mark := _QUOTE.match(text, start):
            value, position, inner = _scan_string(text, quotation_mark.start(1), name)
            value, is_bare = json.dumps(value) if is_json else value, False
        elif is_json and (structure := _STRUCTURE.match(text, start)):
            value, position = _scan_json(text, structure.end(), name)
            is_bare = False
        elif opening := _LIST.match(text, start):  # a list of one text, a form of BrowserGym's options
            value, position, inner = _scan_string(text, opening.end(), name, in_list=True)
            if not (end := _LIST_CLOSE.match(text, position)):
                raise ActionError(f"{name}(...) has a list of several values; expected one value")
            is_bare, position = False, end.end()
        elif bare := _BARE.match(text, start):
            value, position = bare[1], bare.end()
            is_bare = is_bare and not _LITERAL.fullmatch(value)
            value = _literal_json(value) if is_json else value
        else:
            error = _ProseError if is_bare else ActionError
            raise error(f"expected a quoted value in {name}(...), found {text[start:].lstrip()[:20]!r}")
        inner_quote = inner_quote or inner
        if keyword is None and keywords:
            last = next(reversed(keywords))
            raise ActionError(
                f"{name}() got {value[:20]!r} behind {last}=; expected a name with it, or quotation marks around the whole text"
            )
        if keyword is None:
            positional.append(value)
        elif keyword[1] in keywords:
            raise ActionError(f"{name}() was given {keyword[1]} twice")
        else:
            keywords[keyword[1]] = value
        if comma := _COMMA.match(text, position):
            position = comma.end()
        elif not _CLOSE.match(text, position):
            excerpt = text[position:].lstrip()[:20]
            expected = f"expected ',' or ')' in {name}(...)"
            error = _ProseError if is_bare else ActionError
            raise error(f"{expected}, found {excerpt!r}" if excerpt else f"{expected}, but the reply ends there")
    return Scan(Call(name, tuple(positional), keywords), close.end(), inner_quote, is_bare and bool(positional))


def _scan_json(text: str, position: int, name: str) -> tuple[str, int]:
    """Return the JSON list or object at a position, as JSON, and its end."""
    try:
        value, end = _DECODER.raw_decode(text, position)
        return json.dumps(value, ensure_ascii=False), end
    except (ValueError, RecursionError):
        excerpt = text[position : position + 20]
        raise ActionError(f"expected a JSON value in {name}(...), found {excerpt!r}") from None


def _literal_json(value: str) -> str:
    """Return a bare value as JSON: a number, true, false or null, written as in Python or JSON, or else a text.

    >>> [_literal_json(value) for value in ("3", "True", "None", "mill")]
    ['3', 'true', 'null', '"mill"']
    """
    word = _PYTHON_LITERALS.get(value, value)
    try:
        return word if isinstance(json.loads(word), bool | int | float | None) else json.dumps(value)
    except (ValueError, RecursionError):
        return json.dumps(value)


def _scan_string(text: str, position: int, name: str, *, in_list: bool = False) -> tuple[str, int, str | None]:
    """Return a quoted string, the position after it, and its quotation mark if the string contains one without a backslash.

    A quotation mark that is not followed by a comma or the end of the arguments is part of the text, since models forget the backslash.
    """
    quotation_mark, start, out, inner = text[position], position, [], None
    position += 1
    while mark := _MARK.search(text, position):
        out.append(text[position : mark.start()])
        position = mark.end()
        if mark[0] == "\\":
            character, position = _unescape(text, position)
            out.append(character)
        elif mark[0] == quotation_mark and (_LIST_END.match(text, position) if in_list else _END.match(text, position)):
            # surrogate pairs of JSON escapes are joined; an unpaired surrogate becomes U+FFFD
            value = "".join(out)
            return (
                value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
                position,
                inner,
            )
        else:
            out.append(mark[0])
            inner = quotation_mark if mark[0] == quotation_mark else inner
    raise ActionError(f"the quote opened in {name}(... {text[start : start + 20]!r} is never closed")


def _unescape(text: str, position: int) -> tuple[str, int]:
    r"""Return the character of an escape sequence whose backslash is before `position`, and the end; a backslash for an unknown escape."""
    short = _ESCAPES.get(text[position : position + 1])
    if short is not None:
        return short, position + 1
    code = _CODE.match(text, position)
    if code is not None and (number := int(code[0][1:], 16)) <= sys.maxunicode:
        return chr(number), code.end()
    return "\\", position


def quote_text(text: str, mark: str = '"') -> str:
    r"""Return a text in quotation marks, which `find_calls` parses as the same text.

    >>> print(quote_text('5" pipe'))
    "5\" pipe"
    """
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + mark


def expect_single(actions: list[str]) -> None:
    """Raise ActionError unless there is exactly one action; `actions` are their texts for the message."""
    if not actions:
        raise ActionError("the reply holds no action; expected exactly one")
    if len(actions) > 1:
        raise ActionError(f"the reply holds {len(actions)} actions ({', '.join(actions)}); expected exactly one")
