"""What a model's reply holds besides its action: thoughts, answer tags, code fences, calls with quoted arguments."""

import re
from collections.abc import Collection
from typing import NamedTuple

from webarena_gym.errors import ActionError

_COMMENT = re.compile(r"[ \t]*#.*")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_BARE = re.compile(r"[^\s,()\[\]'\"]+")
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
        line_start = text.rfind("\n", 0, match.start()) + 1
        if line_start >= position and _COMMENT.match(text, line_start, match.start()):
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
    while position < len(text) and text[position].isspace():
        position += 1
    return position


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
    while position < len(text):
        character = text[position]
        if character == "\\" and text[position + 1 : position + 2] in _ESCAPES:
            out.append(_ESCAPES[text[position + 1]])
            position += 2
        elif character == quote and text[_skip_blanks(text, position + 1) :][:1] in (",", ")", ""):
            return "".join(out), position + 1
        else:
            out.append(character)
            position += 1
    raise ActionError(f"the quote opened in {name}(... {text[start : start + 20]!r} is never closed")


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
