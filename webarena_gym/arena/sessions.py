"""An episode that is played one command at a time: what was done stands in a file, and each command does it again before its own.

A session is its task, its settings and the replies so far. Equal replies lead to equal pages, so nothing else has to be kept, and the
file can be read, moved and kept by anybody. A digest of the newest page tells when another version of the sites shows other pages.
"""

import hashlib
import json
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from webarena_gym.arena.envs import Envs
from webarena_gym.arena.episodes import Episode
from webarena_gym.arena.schema import Limits, NewEpisode, Result
from webarena_gym.errors import ArenaError, TaskError

_FORMAT = 1
_KEYS = ("format", "settings", "replies", "page", "result")


@dataclass(frozen=True)
class Session:
    """A task under way, as it stands in a file."""

    settings: NewEpisode
    replies: tuple[str, ...] = ()
    page: str = ""  # the digest of the page that the player saw last
    result: dict[str, Any] | None = None  # how it was judged


def start(settings: NewEpisode) -> tuple[Session, str]:
    """Begin a task and return the session, and what its player is told. Raises ArenaError."""
    with closing(_episode(settings)) as episode:
        pinned = replace(settings, task=episode.task_id, seed=None, world_seed=None)
        state = episode.state()
        assert state.shown is not None
        told = f"{state.system_prompt}\n\nTask {state.task_id}: {state.goal}\n\n{state.shown.info['page']}"
        return Session(pinned, page=_digest(episode)), told


def observe(session: Session) -> str:
    """Return what the player saw last. Raises ArenaError."""
    with closing(_again(session)) as episode:
        shown = episode.state().shown
        assert shown is not None
        return str(shown.info["page"])


def act(session: Session, reply: str) -> tuple[Session, str]:
    """Do what a reply says and return the session, and what follows. Raises ArenaError."""
    _expect_open(session)
    with closing(_again(session)) as episode:
        episode.step(reply)
        return _now(session, (*session.replies, reply), episode), _told(episode)


def submit(session: Session, answer: str) -> tuple[Session, str]:
    """End the task with an answer and return the session, and the verdict. Raises ArenaError."""
    _expect_open(session)
    with closing(_again(session)) as episode:
        episode.conclude(answer)
        return _now(session, session.replies, episode), _told(episode)


def read(path: Path) -> Session:
    """Return the session of a file. Raises TaskError for a file that holds none."""
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
        return Session(NewEpisode(**settings), tuple(replies), str(content["page"]), content["result"])
    except (TypeError, ValueError) as error:
        raise TaskError(f"the settings of the session {path} cannot be read: {error}") from error


def write(session: Session, path: Path) -> None:
    """Write a session to a file, whole or not at all. Raises TaskError when it cannot be written."""
    content = {"format": _FORMAT, **asdict(session)}
    draft = path.with_name(f"{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
        draft.replace(path)
    except OSError as error:
        raise TaskError(f"cannot write the session {path}: {error}") from error


def _episode(settings: NewEpisode) -> Episode:
    return Episode("session", settings, Limits(), time.monotonic, Envs(0))


def _again(session: Session) -> Episode:
    """Return the episode as the session left it. Raises ArenaError where it does not come to the same page."""
    episode = _episode(session.settings)
    for reply in session.replies:
        if episode.status == "open":
            episode.step(reply)
    if _digest(episode) != session.page:
        episode.close()
        raise ArenaError(
            "the session shows other pages than when it was played: it is of another version of this package, or was changed",
            status=409,
        )
    return episode


def _now(session: Session, replies: tuple[str, ...], episode: Episode) -> Session:
    result: Result | None = episode.result
    return replace(session, replies=replies, page=_digest(episode), result=None if result is None else asdict(result))


def _digest(episode: Episode) -> str:
    shown = episode.state().shown
    assert shown is not None
    return hashlib.sha256(shown.info["page"].encode("utf-8", "replace")).hexdigest()[:16]


def _told(episode: Episode) -> str:
    shown, result = episode.state().shown, episode.result
    assert shown is not None
    return str(shown.info["page"]) if result is None else "\n".join((f"reward {result.reward:g}", *result.told))


def _expect_open(session: Session) -> None:
    if session.result is not None:
        raise ArenaError(f"the session is over, with the reward {session.result.get('reward')}; start another", status=409)
