"""Command `play --session`: an episode that is played one command at a time, from a file.

A session is its task, its settings and the replies so far. Equal replies lead to equal pages, so nothing else has to be kept, and the
file can be read, moved and kept by anybody. A digest of the newest page tells when another version of the sites shows other pages.
"""

import argparse
import hashlib
import json
from contextlib import closing
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from webarena_gym.actions import DIALECTS
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError, TaskError
from webarena_gym.server.episodes import Episode
from webarena_gym.server.schema import Limits, NewEpisode
from webarena_gym.tools.play import spelled_out

_FORMAT = 1
_KEYS = ("format", "settings", "replies", "page", "result")
_MOST_WORDS = {"start": 1, "act": 1, "observe": 0, "submit": 1}


def play_session(options: argparse.Namespace) -> int:
    """Do one command on the session of a file, print what follows, and return the exit status. Raises ArenaError and TaskError."""
    command, *words = options.words or ["observe"]
    path: Path = options.session
    replies: list[str] = []
    page, result = "", None
    if command not in _MOST_WORDS or len(words) > _MOST_WORDS[command] or (command == "act" and not words):
        raise ArenaError(
            f"play --session got {' '.join(options.words)!r}; expected start [TASK], act ACTION, observe or submit [ANSWER]",
            status=400,
        )
    if command == "start":
        if path.exists():
            raise ArenaError(f"{path} is there already; expected the name of a new file", status=409)
        settings = settings_of(options, task=words[0] if words else None)
    else:
        settings, replies, page, result = _read(path)
    if command == "act":
        try:
            words = [spelled_out(words[0], DIALECTS[settings.dialect])]
        except ValueError as error:
            raise ArenaError(str(error), status=400) from error
    if command in ("act", "submit") and result is not None:
        raise ArenaError(f"the session is over, with the reward {result.get('reward')}; start another", status=409)
    with closing(WebArenaLite(**settings.env_options())) as env:
        episode = Episode("session", settings, env, Limits())
        for reply in replies:
            if episode.status == "open":
                episode.step(reply)
        if command != "start" and _digest(episode) != page:
            raise ArenaError(
                "the session shows other pages than when it was played: it is of another version of this package, or was changed",
                status=409,
            )
        told = episode.page
        if command == "start":
            settings = replace(settings, task=episode.task.task_id, seed=None, world_seed=None)
            told = f"{episode.state().system_prompt}\n\nTask {settings.task}: {episode.goal}\n\n{told}"
        elif command != "observe":
            if command == "act":
                replies.append(words[0])
                episode.step(words[0])
            else:
                episode.conclude("".join(words))
            result = None if episode.result is None else asdict(episode.result)
            told = episode.page if episode.result is None else episode.result.in_words()
        if command != "observe":
            _write(path, dict(zip(_KEYS, (_FORMAT, asdict(settings), replies, _digest(episode), result), strict=True)))
    print(told, flush=True)
    return 0


def settings_of(options: argparse.Namespace, task: str | None = None) -> NewEpisode:
    """Return the settings of an episode in step mode, with those options that the command has. Raises ArenaError."""
    chosen = {name: getattr(options, name) for name in (field.name for field in fields(NewEpisode)) if hasattr(options, name)}
    try:
        return replace(NewEpisode(**chosen), task=task or chosen.get("task"), mode="step")
    except ValueError as error:
        raise ArenaError(str(error), status=422) from error


def _read(path: Path) -> tuple[NewEpisode, list[str], str, dict[str, Any] | None]:
    """Return the settings, the replies, the digest of the newest page, and the result of a session. Raises TaskError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"cannot read the session {path}: {error}; `play --session {path} start` begins one") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"the session {path} is no JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT or set(content) != set(_KEYS):
        raise TaskError(f"{path} holds no session of this version; expected an object with {', '.join(_KEYS)}")
    replies, settings = content["replies"], content["settings"]
    if not isinstance(replies, list) or not all(isinstance(reply, str) for reply in replies) or not isinstance(settings, dict):
        raise TaskError(f"the session {path} has replies {str(replies)[:100]}; expected a list of texts")
    try:
        return NewEpisode(**settings), replies, str(content["page"]), content["result"]
    except (TypeError, ValueError) as error:
        raise TaskError(f"the settings of the session {path} cannot be read: {error}") from error


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a session to a file, whole or not at all. Raises TaskError."""
    draft = path.with_name(f"{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
        draft.replace(path)
    except OSError as error:
        raise TaskError(f"cannot write the session {path}: {error}") from error


def _digest(episode: Episode) -> str:
    return hashlib.sha256(episode.page.encode("utf-8", "replace")).hexdigest()[:16]
