"""Scanning of a model's reply: thoughts, answer tags, code fences, calls with quoted arguments."""

import re
import sys
from collections.abc import Collection
from typing import NamedTuple

from webarena_gym.errors import ActionError

_COMMENT = re.compile(r"[ \t]*#.*")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_BLANKS = re.compile(r"\s*")
_BARE = re.compile(r"[^\s,()\[\]'\"]+")
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
            position = _line_end(text, match.start())
            continue
        call, position = _scan_call(text, match)
        calls.append(call)
    return calls


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _scan_call(text: str, head: re.Match[str]) -> tuple[Call, int]:
    name, position = head.group(1), head.end()
    positional: list[str] = []
    keywords: dict[str, str] = {}
    while True:
        position = _skip_blanks(text, position)
        if text.startswith(")", position):
            return Call(name, tuple(positional), keywords), position + 1
        keyword = _KEYWORD.match(text, position)
        value, position = _scan_value(text, keyword.end() if keyword else position, name)
        if keyword is None:
            positional.append(value)
        elif keyword.group(1) in keywords:
            raise ActionError(f"{name}() was given {keyword.group(1)} twice")
        else:
            keywords[keyword.group(1)] = value
        position = _skip_blanks(text, position)
        if text.startswith(",", position):
            position += 1
        elif not text.startswith(")", position):
            found = text[position : position + 20]
            expected = f"expected ',' or ')' in {name}(...)"
            raise ActionError(f"{expected}, found {found!r}" if found else f"{expected}, but the reply ends there")


def _skip_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def _ends_value(text: str, position: int) -> bool:
    return position == len(text) or text[position] in ",)"


def _scan_value(text: str, position: int, name: str) -> tuple[str, int]:
    if position < len(text) and text[position] in "'\"":
        return _scan_string(text, position, name)
    bare = _BARE.match(text, position)
    if bare is None:
        found = text[position : position + 20]
        raise ActionError(f"expected a quoted value in {name}(...), found {found!r}")
    return bare.group(), bare.end()


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
        elif mark[0] == quote and _ends_value(text, _skip_blanks(text, position)):
            return _joined("".join(out)), position
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


def _joined(text: str) -> str:
    """Return the text with the characters that JSON writes as two codes, and U+FFFD for half a character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def quoted(text: str) -> str:
    r"""Write text so that `find_calls` reads it back.

    >>> print(quoted('5" pipe'))
    "5\" pipe"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def only(actions: list[str]) -> None:
    """Raise ActionError unless there is exactly one action; `actions` are as written."""
    if not actions:
        raise ActionError("the reply holds no action; expected exactly one")
    if len(actions) > 1:
        raise ActionError(f"the reply holds {len(actions)} actions ({', '.join(actions)}); expected exactly one")
