"""The eval kind `file`: the content of a file in the state of an application: a text in it, all of it, or a value of its JSON."""

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from types import NoneType
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_keys, shorten, value_at

_EXCERPT = 200  # characters of a file in a verdict
_AROUND = 30  # characters before and after a difference
_KEYS: Mapping[str, Any] = {
    "path": str, "contains": (str, NoneType), "excludes": str, "equals": object, "json_path": str,
}  # fmt: skip


def file_holds(path: str, contains: str | None = "", **conditions: object) -> dict[str, Any]:
    """Require a content of the file at a path in the application's state.

    Args:
        path: path of the file; with a slash at its end, of a folder.
        contains: a text in the file; "" allows any, None requires that the file is missing.
        conditions: `excludes`, a text that the file must not contain; `equals`, all of its text, or with `json_path` a value in its JSON.

    """
    check = {"path": path, **({} if conditions and contains == "" else {"contains": contains}), **conditions}
    return {"eval_types": ["file"], "file": [check]}


def _validate(evaluation: Mapping[str, Any]) -> None:
    for check in evaluation.get("file") or ():
        check_keys("a check of a file", check, _KEYS, optional=_KEYS.keys() - {"path"})
        path = PurePosixPath(check["path"])
        if path.is_absolute() or ".." in path.parts or not check["path"].isprintable():
            raise EvaluationError(
                f"a check of a file has path {shorten(check['path'])}; expected a relative path in the application's state"
            )
        conditions = [key for key in ("contains", "excludes", "equals") if key in check]
        problem = ""
        if not conditions:
            problem = "lacks contains, excludes and equals; expected one of them"
        elif check.get("contains", "") is None and len(check) > 2:
            problem = "has contains null, which requires that there is no file; expected no other condition"
        elif "json_path" in check and conditions != ["equals"]:
            problem = f"has json_path and {', '.join(conditions)}; expected equals, the value at that path"
        elif "json_path" not in check and not isinstance(check.get("equals", ""), str):
            problem = f"has equals {shorten(check['equals'])}; expected a str, or json_path"
        elif check["path"].endswith("/") and conditions != ["contains"]:
            problem = f"has the path of a folder, {shorten(check['path'])}; expected contains, with '' or null"
        if problem:
            raise EvaluationError(f"a check of a file {problem}")


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    _validate(evaluation)
    return [partial(_judge, check) for check in evaluation.get("file") or ()]


def _judge(check: Mapping[str, Any], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    folder, place = outcome.files, check["path"]
    if folder is None:
        raise EvaluationError(
            f"the file {place!r} cannot be read: the env has no application=, and only applications have files"
        )
    content, length = _content(folder, place)
    excerpt = content if content is None else _excerpt(content, length)
    verdicts = []
    if "contains" in check:
        text = check["contains"]
        passed = content is None if text is None else content is not None and _plain(text) in content
        expected = "no file" if text is None else _excerpt(text, len(text.encode())) or "any text"
        verdicts.append(Verdict("file", passed, "", "contained text", expected, excerpt, place))
    if "excludes" in check:
        text = check["excludes"]
        passed = content is not None and _plain(text) not in content
        verdicts.append(
            Verdict("file/exclude", passed, "", "contained text", _excerpt(text, len(text.encode())), excerpt, place)
        )
    if "json_path" in check:
        verdicts.append(_judge_value(check, content, excerpt))
    elif "equals" in check:
        texts = [text if text is None else _plain(text).removesuffix("\n") for text in (check["equals"], content)]
        passed = texts[0] == texts[1]
        why = "" if passed or content is None else f"first difference in {_first_difference(*map(str, texts))}"
        expected = _excerpt(check["equals"], len(check["equals"].encode()))
        verdicts.append(Verdict("file", passed, why, "equal texts", expected, excerpt, place))
    return verdicts


def _judge_value(check: Mapping[str, Any], content: str | None, excerpt: str | None) -> Verdict:
    """Return the verdict on a value of a JSON file."""
    place, expected = f"{check['path']}, {check['json_path']}", check["equals"]
    try:
        value, why = value_at(json.loads(content or ""), check["json_path"])
    except (ValueError, RecursionError):
        why = "" if content is None else "the file is not JSON"
        return Verdict("file", False, why, "equal values", expected, excerpt, place)
    text = json.dumps(value, ensure_ascii=False)
    return Verdict(
        "file",
        not why and value == expected,
        why,
        "equal values",
        expected,
        value if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}...",
        place,
    )


def _content(folder: Path, name: str) -> tuple[str | None, int]:
    """Return the text of a file, "" for a folder, None if there is none, and its length in bytes. Raises EvaluationError."""
    try:
        path, top = (folder / name).resolve(), folder.resolve().parts
        if path.parts[: len(top)] != top:  # Path.is_relative_to takes quadratic time since Python 3.12
            raise EvaluationError(f"the file {name!r} is not in the application's state")
        if name.endswith("/"):
            return "" if path.is_dir() else None, 0
        return (path.read_text(encoding="utf-8", errors="replace"), path.stat().st_size) if path.is_file() else (None, 0)
    except (OSError, RuntimeError) as error:  # such as a name that is too long, or a cycle of links
        raise EvaluationError(f"the file {shorten(name)} cannot be read: {error}") from error


def _plain(text: str) -> str:
    r"""Return a text with the line ends of a file as it is read, \n."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _first_difference(expected: str, content: str) -> str:
    """Return the line of the first difference of two texts, and their characters around it.

    >>> _first_difference("Tea, hot", "Tea, iced")
    "line 1: 'Tea, hot' and 'Tea, iced'"
    """
    pairs = enumerate(zip(expected, content, strict=False))
    index = next((index for index, (one, other) in pairs if one != other), min(len(expected), len(content)))
    start, end = max(0, index - _AROUND), index + _AROUND
    line = expected.count("\n", 0, index) + 1
    return f"line {line}: {expected[start:end]!r} and {content[start:end]!r}"


def _excerpt(text: str, length: int) -> str:
    """Return the first 200 characters of a text, and its length in bytes if it is truncated.

    For a binary file, these are the first 200 characters of its printable ASCII strings of at least four characters.
    """
    readable = " ".join(re.findall("[ -~]{4,}", text)) if {"\0", "\ufffd"}.intersection(text) else text
    return text if text == readable[:_EXCERPT] else f"{readable[:_EXCERPT]}... ({length:,} bytes)"


KIND = EvalKind(
    name="file", key="file", keys={"file": (list,)}, readers={"native": _read}, looks_at="content", validate=_validate
)
