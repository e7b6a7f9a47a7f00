r"""Extracts the answer that a reply states, without markup, JSON, and explanations before an answer mark.

An answer mark is a last line or sentence "Answer: A" or "The answer is A.", `\boxed{A}`, or JSON that contains one answer. Text before
it is ignored. `split` cuts a list into its items.
"""

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Content = str | list[str] | dict[str, str]
"""The stated answer: a text, the items of a JSON list, or a JSON object of labels and values."""

_TAIL = 20_000  # characters at the end of a reply in which an answer mark is searched
_MARK = re.compile(
    r"(?:\A|\n|(?<=[\w)%'][.!?]) )[ \t#*_`-]{0,12}(?:(?:so|thus|therefore|hence),? )?(?:here is )?(?:(?:the|my|final|short|correct) ){0,3}"
    r"answers?[*_`]{0,3} {0,2}(?:(?:(?:is|are) ?)?:[*_`]{0,3}|(?:is|are)(?=\s))",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} (?:final )?answer[ \t]{0,4}:?[ \t]{0,4}$", re.IGNORECASE | re.MULTILINE)
_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}|<answer>([^<]*)</answer>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]\s|\n")
_ELSEWHERE = re.compile(r"(?:in|on|at|below|above|here|given|shown|found|as)\b", re.IGNORECASE)
_NOTHING_MORE = re.compile(r"(?!\w|[.,]\d)")
_FENCE = re.compile(r"```[a-z]{0,10}\n([^`]*)```", re.IGNORECASE)
_PAIRS = (
    ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"),
    ("<b>", "</b>"), ("<strong>", "</strong>"), ("<code>", "</code>"), ("<p>", "</p>"),
)  # fmt: skip
_INNER = re.compile(r"(?<!\w)(?:\*\*([^*\s][^*\n]{0,300})\*\*|`([^`\s][^`\n]{0,300})`)(?!\w)")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([a-z]+:[^()\s]{1,300}\)|<(?:mailto:)?([^<>\s]+[@:][^<>\s]+)>")
_BULLET = re.compile(r"(?:#{1,6}|[-*•]|([0-9]{1,3})[.)]) +(?=\S)")
_ANSWER_KEYS = ("answer", "answers", "final answer", "result", "value")
_SEPARATORS = (";", "|", "/", ", ", ",")
_AND = re.compile(r",? (?:and|&) ", re.IGNORECASE)


def extract(reply: str) -> Content:
    r"""Return the stated answer of a reply. Raises ValueError for several different marked answers and for JSON that is not an answer.

    >>> extract("I have added both orders up.\n**Answer:** `$12.50`"), extract('{"answer": ["A", "B"]}')
    ('$12.50', ['A', 'B'])
    """
    text = _strip_fence(reply.strip()[-_TAIL:])
    is_inline = False
    if text[:1] not in ("{", "["):
        body = _after_mark(_unbox(text))
        is_inline = body != text and body[:1] != "\n"
        text = _strip_fence(body.strip())
    if text[:1] in ("{", "["):
        with suppress(json.JSONDecodeError, RecursionError):
            content = _content(_loads(text))
            is_nested = isinstance(content, str) and content[:1] == "["  # {"answer": "[\"A\", \"B\"]"}
            return _content(_loads(str(content))) if is_nested else content
    bullet = _BULLET.match(text)
    is_item = bullet and "\n" not in text and not is_inline and bullet[1] in (None, "1")
    is_count = bullet and bullet[1] and text[bullet.end() :].isdecimal()  # "1. 5" may be 1.5
    return plain(text[bullet.end() :] if bullet and is_item and not is_count else text)


def plain(text: str) -> str:
    """Return a text without Markdown emphasis, code marks and links, whether around the text or words in it."""
    text = _LINK.sub(lambda match: match[1] or match[2], text).replace("\\$", "$")
    text = _INNER.sub(lambda match: match[1] or match[2], text)
    for _ in range(4):
        text = text.strip()
        whole = text.removesuffix(".")
        for opening, closing in _PAIRS:
            inner = whole[len(opening) : -len(closing)]
            if inner and whole.startswith(opening) and whole.endswith(closing) and closing not in inner:
                text = inner
    return text.removeprefix("mailto:")


def split(text: str, count: int) -> Iterator[list[str]]:
    """Yield the possible lists of `count` items in a text: lines, or items with one kind of separator and "and" before the last.

    >>> next(split("A, B and C", 3))
    ['A', 'B', 'C']
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        bullets = [_BULLET.match(line) for line in lines]
        numbers = [bullet[1] for bullet in bullets if bullet and bullet[1]]
        if len(lines) == count and (not numbers or numbers == [str(number) for number in range(1, count + 1)]):
            bare = [line[bullet.end() :] if bullet else line for line, bullet in zip(lines, bullets, strict=True)]
            yield [*(line.rstrip(",;") for line in bare[:-1]), bare[-1]]
        return
    for separator in (mark for mark in _SEPARATORS if mark in text or count == 2):
        *items, last = (item.strip() for item in text.split(separator))
        if len(items) == count - 1:
            yield [*items, re.sub(r"^and ", "", last)] if items else [last]
        elif len(items) == count - 2:
            yield from ([*items, last[: joint.start()], last[joint.end() :]] for joint in _AND.finditer(last))


def _strip_fence(text: str) -> str:
    fence = _FENCE.fullmatch(text)
    return fence[1].strip() if fence else text


def _unbox(text: str) -> str:
    r"""Return a text with its last sentence and the content of its `\boxed{}`, which must be at the end, as a marked last line."""
    boxes = list(_BOXED.finditer(text))
    if not boxes:
        return text
    contents = [(box[1] if box[2] is None else box[2]).strip() for box in boxes]
    if text[boxes[-1].end() :].strip(" $*)]\\\n\t") not in ("", "."):
        raise ValueError("text follows the marked answer")
    if len({content.casefold() for content in contents}) > 1:
        raise ValueError("several answers are marked")
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, boxes[-1].start())), default=0)
    sentence = text[start : boxes[-1].start()].rstrip(" $*([\\")
    mark = "" if _MARK.match(sentence) else "Answer: "
    return f"{text[:start]}\n{mark}{sentence} {contents[-1]}"


def _after_mark(text: str) -> str:
    """Return the text after the last answer mark, or the whole text if there is none."""
    marks = sorted([*_MARK.finditer(text), *_HEADING.finditer(text)], key=re.Match.start)
    if not marks:
        return text
    last = marks[-1]
    body = text[last.end() :].strip(" ")
    bold = re.match(r"[*_`]*", last[0].strip())
    if bold and not last[0].endswith(bold[0]):  # "**Answer: A**"
        body = body.removesuffix(".").removesuffix(bold[0])
    final = plain(body).removesuffix(".").casefold()
    for mark, following in itertools.pairwise(marks):
        earlier = plain(text[mark.end() : following.start()].strip()).casefold()
        is_same = earlier.startswith(final) and _NOTHING_MORE.match(earlier, len(final))
        is_elsewhere = mark[0].endswith(("is", "are")) and _ELSEWHERE.match(earlier)
        if earlier.startswith(f"not {final}") or not (is_same or is_elsewhere):
            raise ValueError("several answers are marked")
    return body


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object, parse_float=str, parse_int=str)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object with its keys as words: "finalAnswer" and "final_answer" become "final answer"."""
    fields = {re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key).replace("_", " ").lower(): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("the JSON object has a duplicate key")
    return fields


def _content(value: object) -> Content:
    if isinstance(value, dict):
        key = next(iter(value), "")
        if len(value) == 1 and key in _ANSWER_KEYS:
            return _content(value[key])
        if len(value) == 1 and isinstance(value[key], list):
            return {key: "; ".join(map(_scalar, value[key]))}
        return {key: _scalar(field) for key, field in value.items()}
    if isinstance(value, list):
        return [_scalar(item) for item in value] if len(value) != 1 else _scalar(value[0])
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        raise ValueError(f"the JSON contains {value!r}; expected one value")  # noqa: TRY004 - one kind of error
    return value
