"""The eval kind `file`: a file in the state of an application must exist, be missing, or contain a text."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_keys, shorten

_EXCERPT = 200  # characters of a file in a verdict


def file_holds(path: str, contains: str) -> dict[str, Any]:
    """Require that the file at a path in the application's state contains a text; "" allows any text, None requires that it is missing."""
    return {"eval_types": ["file"], "file": [{"path": path, "contains": contains}]}


def _validate(evaluation: Mapping[str, Any]) -> None:
    for check in evaluation.get("file") or ():
        check_keys("a check of a file", check, {"path": str, "contains": (str, type(None))}, optional="")
        path = PurePosixPath(check["path"])
        if path.is_absolute() or ".." in path.parts or not check["path"].isprintable():
            raise EvaluationError(
                f"a check of a file has path {shorten(check['path'])}; expected a relative path in the application's state"
            )


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    _validate(evaluation)
    return [partial(_judge, check) for check in evaluation.get("file") or ()]


def _judge(check: Mapping[str, Any], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    folder = outcome.files
    if folder is None:
        raise EvaluationError(
            f"the file {check['path']!r} cannot be read: the env has no application=, and only applications have files"
        )
    try:
        path = (folder / check["path"]).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise EvaluationError(f"the file {check['path']!r} is not in the application's state")
        if check["path"].endswith("/"):
            content = "" if path.is_dir() else None
        else:
            content = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    except (OSError, RuntimeError) as error:  # such as a name that is too long, or a cycle of links
        raise EvaluationError(f"the file {shorten(check['path'])} cannot be read: {error}") from error
    text = check["contains"]
    passed = content is None if text is None else content is not None and text in content
    expected = "no file" if text is None else _excerpt(text, len(text.encode())) or "any text"
    content_excerpt = content if content is None else _excerpt(content, path.stat().st_size)
    return [Verdict("file", passed, "", "contained text", expected, content_excerpt, check["path"])]


def _excerpt(text: str, length: int) -> str:
    """Return the first 200 characters of a text, and its length in bytes if it is truncated.

    For a binary file, these are the first 200 characters of its printable ASCII strings of at least four characters.
    """
    readable = " ".join(re.findall("[ -~]{4,}", text)) if {"\0", "\ufffd"}.intersection(text) else text
    return text if text == readable[:_EXCERPT] else f"{readable[:_EXCERPT]}... ({length:,} bytes)"


KIND = EvalKind(
    name="file", key="file", keys={"file": (list,)}, readers={"native": _read}, looks_at="content", validate=_validate
)
