"""Scanning of a model's reply: thoughts, answer tags, code fences, calls with quoted arguments."""

import re
import sys
from collections.abc import Collection
from typing import NamedTuple

from webarena_gym.errors import ActionError

_COMMENT = re.compile(r"[ \t]*#.*")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_QUOTE = re.compile(r"\s*['\"]")
_BARE = re.compile(r"\s*([^\s,()\[\]'\"]+)")
_COMMA = re.compile(r"\s*,")
_CLOSE = re.compile(r"\s*\)")
_END = re.compile(r"\s*(?:[,)]|\Z)")
_MARK = re.compile(r"[\\'\"]")
_CODE = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}


class Call(NamedTuple):
    """A function call in a reply: `name(positional, keyword=value)`, all values text."""

    name: str
    positional: tuple[str, ...]
    keywords: dict[str, str]


def answer_part(reply: str) -> str:
    """Return the part of a reply that may hold the action: without thoughts, inside <answer> where there is one.

    >>> answer_part('<think>Which?</think><answer> do(action="Wait") </answer>')
    'do(action="Wait")'
    """
    text = reply.rpartition("</think>")[2]
    start = text.rfind("<answer>")
    if start >= 0:
        text = text[start + len("<answer>") :].partition("</answer>")[0]
    return text.strip()


def find_calls(text: str, names: Collection[str]) -> list[Call]:
    """Return every call of one of `names` outside comments, in order. Raises ActionError at the first malformed one."""
    head = re.compile(rf"(?<![\w.])({'|'.join(names)})\s*\(")
    calls, position = [], 0
    while match := head.search(text, position):
        newline = text.rfind("\n", position, match.start())
        if (newline >= 0 or position == 0) and _COMMENT.match(text, newline + 1, match.start()):
            end = text.find("\n", match.start())
            position = len(text) if end < 0 else end
            continue
        call, position = _scan_call(text, match)
        calls.append(call)
    return calls


def _scan_call(text: str, head: re.Match[str]) -> tuple[Call, int]:
    name, position = head.group(1), head.end()
    positional: list[str] = []
    keywords: dict[str, str] = {}
    while not (close := _CLOSE.match(text, position)):
        keyword = _KEYWORD.match(text, position)
        start = keyword.end() if keyword else position
        if quote := _QUOTE.match(text, start):
            value, position = _scan_string(text, quote.end() - 1, name)
        elif bare := _BARE.match(text, start):
            value, position = bare[1], bare.end()
        else:
            raise ActionError(f"expected a quoted value in {name}(...), found {text[start:].lstrip()[:20]!r}")
        if keyword is None:
            positional.append(value)
        elif keyword[1] in keywords:
            raise ActionError(f"{name}() was given {keyword[1]} twice")
        else:
            keywords[keyword[1]] = value
        if comma := _COMMA.match(text, position):
            position = comma.end()
        elif not _CLOSE.match(text, position):
            found = text[position:].lstrip()[:20]
            expected = f"expected ',' or ')' in {name}(...)"
            raise ActionError(f"{expected}, found {found!r}" if found else f"{expected}, but the reply ends there")
    return Call(name, tuple(positional), keywords), close.end()


def _scan_string(text: str, position: int, name: str) -> tuple[str, int]:
    """Scan a quoted string. A quote that is not followed by ',' or ')' belongs to the text, as models forget to escape."""
    quote, start, out = text[position], position, []
    position += 1
    while mark := _MARK.search(text, position):
        out.append(text[position : mark.start()])
        position = mark.end()
        if mark[0] == "\\":
            character, position = _unescape(text, position)
            out.append(character)
        elif mark[0] == quote and _END.match(text, position):
            # characters that JSON writes as two codes are joined; half of one becomes U+FFFD
            return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace"), position
        else:
            out.append(mark[0])
    raise ActionError(f"the quote opened in {name}(... {text[start : start + 20]!r} is never closed")


def _unescape(text: str, position: int) -> tuple[str, int]:
    r"""Return what a backslash before `position` stands for, and where it ends; a backslash where it is no escape."""
    short = _ESCAPES.get(text[position : position + 1])
    if short is not None:
        return short, position + 1
    code = _CODE.match(text, position)
    if code is not None and (number := int(code[0][1:], 16)) <= sys.maxunicode:
        return chr(number), code.end()
    return "\\", position


def quoted(text: str, mark: str = '"') -> str:
    r"""Write text between quotation marks, so that `find_calls` reads it back.

    >>> print(quoted('5" pipe'))
    "5\" pipe"
    """
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + mark


def only(actions: list[str]) -> None:
    """Raise ActionError unless there is exactly one action; `actions` are as written."""
    if not actions:
        raise ActionError("the reply holds no action; expected exactly one")
    if len(actions) > 1:
        raise ActionError(f"the reply holds {len(actions)} actions ({', '.join(actions)}); expected exactly one")
