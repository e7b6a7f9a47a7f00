"""The eval kind `file`: a file in the state of an application must be there, be gone, or hold a text."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_parts, shown

_TOLD = 200  # characters of a file that a verdict tells


def file_holds(path: str, contains: str) -> dict[str, Any]:
    """The file at a path in the application's state must hold a text; "" for any, None for no file at all."""
    return {"eval_types": ["file"], "file": [{"path": path, "contains": contains}]}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    for check in evaluation.get("file") or ():
        check_parts("a check of a file", check, {"path": str, "contains": (str, type(None))}, optional="")
        path = PurePosixPath(check["path"])
        if path.is_absolute() or ".." in path.parts or not check["path"].isprintable():
            raise EvaluationError(f"a check of a file has path {shown(check['path'])}; expected one in the application's state")
    return [partial(_judge, check) for check in evaluation.get("file") or ()]


def _judge(check: Mapping[str, Any], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    folder = outcome.files
    if folder is None:
        raise EvaluationError(f"the file {check['path']!r} cannot be read: only an application of one's own has files")
    try:
        path = (folder / check["path"]).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise EvaluationError(f"the file {check['path']!r} is not in the application's state")
        found = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    except (OSError, RuntimeError) as error:  # such as a name that is too long, or links that lead in a circle
        raise EvaluationError(f"the file {shown(check['path'])} cannot be read: {error}") from error
    wanted = check["contains"]
    passed = found is None if wanted is None else found is not None and wanted in found
    expected = "no file" if wanted is None else _piece(wanted, len(wanted.encode())) or "any text"
    told = found if found is None else _piece(found, path.stat().st_size)
    return [Verdict("file", passed, "", "contained text", expected, told, check["path"])]


def _piece(text: str, length: int) -> str:
    """Return the beginning of a text, or of what can be read in one that is none, and the length in bytes where that is not all."""
    readable = " ".join(re.findall("[ -~]{4,}", text)) if {"\0", "\ufffd"}.intersection(text) else text
    return text if text == readable[:_TOLD] else f"{readable[:_TOLD]}... ({length:,} bytes)"


KIND = EvalKind(name="file", key="file", keys={"file": (list,)}, readers={"native": _read}, looks_at="content")
