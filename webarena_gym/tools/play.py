"""Command `play`: a person does a task in the terminal, or a program does it one command at a time, with the episode in a file.

The terminal accepts short forms of actions and has a line history and colours. A session file contains the task, the settings and the
replies so far. Equal replies lead to equal pages, so no other state is stored, and the file can be read, moved and shared. A digest of
the newest page detects that another version of the sites shows other pages.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webarena_gym.actions import DIALECTS, Action, Dialect, Kind
from webarena_gym.arena.episodes import Episode
from webarena_gym.arena.schema import Limits, NewEpisode
from webarena_gym.arguments import reason_of
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError, TaskError
from webarena_gym.evaluators.outcome import describe_result
from webarena_gym.options import OPTION_NAMES
from webarena_gym.recording import StepRecord, play
from webarena_gym.sites.world import cache_folder

_PLAYING = """\
Solve a task yourself in the terminal. Type actions in the format {format}, or these short forms:
  {short}
  down, up           back, forward    enter                tab 1                 exit THE ANSWER
{named}
`help` lists the actions, `quit` or Ctrl-D ends the session. The arrow keys edit the line and recall earlier ones."""
PLAYING = _PLAYING.format(
    format="of --dialect",
    short="click 6            hover 6          type 5 red shoes     search 5 red shoes    select 7 Large",
    named='With --elements label, put names of several words in quotes: click "Add to Cart".',
)
BY_LABEL = _PLAYING.format(
    format="that `help` lists",
    short='click "Add to Cart"   hover Help   type Title red shoes   search Search red shoes   select Size Large',
    named="Elements are named by their labels; labels of several words are put in quotes, and texts may be.",
)

_SHORT: Mapping[str, Kind] = {
    "click": Kind.CLICK, "hover": Kind.HOVER, "type": Kind.TYPE, "search": Kind.SEARCH, "select": Kind.SELECT, "up": Kind.SCROLL_UP,
    "down": Kind.SCROLL_DOWN, "enter": Kind.PRESS, "tab": Kind.SWITCH_TAB, "goto": Kind.GOTO, "wait": Kind.WAIT, "back": Kind.GO_BACKWARD,
    "forward": Kind.GO_FORWARD, "exit": Kind.EXIT, "answer": Kind.EXIT,
}  # fmt: skip
_WITH_ELEMENT = {Kind.CLICK, Kind.HOVER, Kind.TYPE, Kind.SEARCH, Kind.SELECT}
_WITH_TEXT = {Kind.TYPE, Kind.SEARCH, Kind.SELECT, Kind.SWITCH_TAB, Kind.GOTO}
_BOLD, _DIM, _RED, _GREEN = "1", "2", "31", "32"
_LINES = 1000  # maximum length of the history
_print = partial(print, flush=True)  # without buffering, also into a pipe


def play_command(options: argparse.Namespace) -> int:
    """Let a person do a task of the embedded sites, of an application or of a suite. Return the exit status, 0."""
    if len(options.words) > 1:
        raise TaskError(f"play got {' '.join(options.words)!r}; expected one task id, or --session FILE with a command")
    with closing(WebArenaLite(**{name: getattr(options, name) for name in OPTION_NAMES if hasattr(options, name)})) as env:
        return play_in_terminal(env, options.words, options.seed)


def play_in_terminal(
    env: WebArenaLite, task: Sequence[str] = (), seed: int | None = None, on_step: Callable[[StepRecord], None] | None = None
) -> int:
    """Let a person do the task with an id, or a drawn one. Return the exit status, 0. `on_step` is called with each step and replaces the result line."""
    first = env.reset(seed=seed, options={"task": task[0]} if task else None)
    title = _in_colour(f"Task {first[1]['task_id']}: {first[1]['goal']}", _BOLD)
    _print(f"{_short_forms(env.dialect)}\n\n{title}")

    def person(_: str, info: Mapping[str, Any]) -> str | None:
        error = info["action_error"]
        page = str(info["page"])
        _print(f"\n{page.removeprefix(f'Action error: {error}').lstrip(chr(10)) if error else page}")
        _print(_in_colour(f"{info['url']}   task: {info['goal']}", _DIM))
        if error:  # last, where it is visible
            hint = (
                "; with --elements label they are named by their labels" if "elements are named by their ids" in error else ""
            )
            _print(_in_colour(f"Action error: {error}{hint}", _RED))
        left = f", {info['steps_left']} left" if "steps_left" in info else ""
        return _next_reply(f"step {info['step'] + 1} of {env.options.max_steps}{left}> ", env.dialect)

    with _line_editing():
        for step in play(env, person, *first):
            if on_step:
                on_step(step)
            elif step.terminated or step.truncated:
                outcome, *reasons = describe_result(step.info)
                colour = _GREEN if step.info.get("success") else _RED
                _print("\n".join((_in_colour(f"{outcome} (reward {step.reward:g})", colour), *reasons)))
    return 0


def expand_short_form(line: str, dialect: Dialect) -> str:
    """Return a line in short form as a reply of the dialect, and any other line unchanged.

    Raises ValueError if an argument of a short form is missing, or if the dialect does not have the action.

    >>> expand_short_form("type 5 red shoes", DIALECTS["webrl"])
    'do(action="Type", argument="red shoes", element="5")'
    >>> expand_short_form('type "Full name" "Ann Lee"', DIALECTS["webrl"])
    'do(action="Type", argument="Ann Lee", element="Full name")'
    >>> expand_short_form("click [6]", DIALECTS["webarena"])
    'click [6]'
    """
    word, _, rest = line.strip().partition(" ")
    kind, rest = _SHORT.get(word.lower()), rest.strip()
    if kind is None or rest.startswith(("[", "(")):
        return line
    element, text = _split(rest) if kind in _WITH_ELEMENT else (None, rest)
    if text[:1] in {'"', "'"} and text[1:].find(text[0]) == len(text) - 2:  # a text in quotes, as labels are
        text = text[1:-1]
    if element == "" or (kind in _WITH_TEXT and not text):
        raise ValueError(
            f"{word} needs {'an element' if element == '' else 'a text'}; expected one such as `{_example(kind, word)}`"
        )
    if text and kind not in _WITH_TEXT | {Kind.EXIT}:
        raise ValueError(f"{word} got {text!r} too; expected `{_example(kind, word)}`")
    argument = "Enter" if kind is Kind.PRESS else text if kind in _WITH_TEXT | {Kind.EXIT} else None
    return dialect.format(Action(kind, element, argument))


def _example(kind: Kind, word: str) -> str:
    return " ".join(
        [word, *["6"] * (kind in _WITH_ELEMENT), *["1" if kind is Kind.SWITCH_TAB else "..."] * (kind in _WITH_TEXT)]
    )


def _split(text: str) -> tuple[str, str]:
    """Return the element at the start of a text, which may be in quotes, and the rest."""
    if text[:1] in {'"', "'"} and text.find(text[0], 1) > 0:
        element, _, rest = text[1:].partition(text[0])
    else:
        element, _, rest = text.partition(" ")
    return element, rest.strip()


def _next_reply(prompt: str, dialect: Dialect) -> str | None:
    """Read lines until one is a reply, and return it; None if the player quits. Other lines cost no step."""
    while True:
        try:
            line = input(prompt)
        except EOFError:
            _print("")
            return None
        word = line.strip().lower()
        if word in {"quit", "q"}:
            return None
        if word in {"help", "?", ""}:
            _print(
                f"{_short_forms(dialect)}\n\n{dialect.grammar()}"
                if word
                else "`help` lists the actions, `quit` ends the session"
            )
            continue
        try:
            reply = expand_short_form(line, dialect)
        except ValueError as error:
            _print(_in_colour(str(error), _RED))
            continue
        if (quoted := _quoted_text(line)) and reply != line:
            _print(f"note: texts are typed as they are, here with the quotes: {quoted}")
        return reply


def _quoted_text(line: str) -> str:
    """Return the text of a short form if it is in quotes, otherwise "".

    >>> _quoted_text('type Body "Friday 10:00"'), _quoted_text('type "First name" Ann'), _quoted_text('click "Add note"')
    ('"Friday 10:00"', '', '')
    """
    word, _, rest = line.strip().partition(" ")
    kind = _SHORT.get(word.lower())
    if kind not in _WITH_TEXT:
        return ""
    text = _split(rest.strip())[1] if kind in _WITH_ELEMENT else rest.strip()
    return text if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else ""


def _short_forms(dialect: Dialect) -> str:
    return BY_LABEL if dialect.naming == "label" else PLAYING


def _in_colour(text: str, code: str) -> str:
    """Return a text in a colour if stdout is a terminal that supports it (https://no-color.org)."""
    has_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\033[{code}m{text}\033[0m" if has_colour else text


@contextmanager
def _line_editing() -> Iterator[None]:
    """Edit and recall lines, including those of earlier games, if the system has readline and stdin is a terminal."""
    if find_spec("readline") is None or not sys.stdin.isatty():
        yield
        return
    import readline  # noqa: PLC0415 - not everywhere

    file = cache_folder() / "play-history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(_LINES)
    readline.set_completer_delims(" ")
    readline.set_completer(lambda text, state: next(iter([name for name in _SHORT if name.startswith(text)][state:]), None))
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)


# Episodes in a file.

_FORMAT = 1
_KEYS = ("format", "settings", "replies", "page", "result")
_MOST_WORDS = {"start": 1, "act": 1, "observe": 0, "submit": 1}


def play_session(options: argparse.Namespace) -> int:
    """Run one command on the session of a file, print the page or the result, and return the exit status. Raises ArenaError and TaskError."""
    command, *words = options.words or ["observe"]
    path: Path = options.session
    replies: list[str] = []
    page, result = "", None
    if command not in _MOST_WORDS or len(words) > _MOST_WORDS[command] or (command == "act" and not words):
        expected = "start [TASK], act ACTION, observe or submit [ANSWER]"
        raise ArenaError(f"play --session got {' '.join(options.words)!r}; expected {expected}", 400)
    if options.application or options.suite:
        raise ArenaError("play --session plays tasks of the embedded sites; omit --application and --suite", 400)
    if command == "start":
        if path.exists():
            raise ArenaError(f"{path} exists already; expected the name of a new file", 409)
        settings = settings_of(options, task=words[0] if words else None)
    else:
        settings, replies, page, result = _read(path)
    if command == "act":
        try:
            words = [expand_short_form(words[0], DIALECTS[settings.dialect])]
        except ValueError as error:
            raise ArenaError(str(error), 400) from error
    if command in ("act", "submit") and result is not None:
        raise ArenaError(f"the session is over, with the reward {result.get('reward')}; start another", 409)
    with closing(WebArenaLite(**settings.env_options())) as env:
        episode = Episode("session", settings, env, Limits())
        for reply in replies:
            if episode.status == "open":
                episode.step(reply)
        if command != "start" and _digest(episode) != page:
            why = "it was written by another version of this package, or was changed"
            raise ArenaError(f"the pages of the session differ from those when it was played: {why}", 409)
        output = episode.page
        if command == "start":
            settings = replace(settings, task=episode.task.task_id, seed=None, world_seed=None)
            output = f"{episode.state().system_prompt}\n\nTask {settings.task}: {episode.goal}\n\n{output}"
        elif command != "observe":
            if command == "act":
                replies.append(words[0])
                episode.step(words[0])
            else:
                episode.submit("".join(words))
            judged = (
                episode.result and episode.result.without_values()
            )  # a model with a shell could restart the task and use them
            result = None if judged is None else asdict(judged)
            output = episode.page if judged is None else judged.describe()
        if command != "observe":
            _write(path, dict(zip(_KEYS, (_FORMAT, asdict(settings), replies, _digest(episode), result), strict=True)))
    print(output, flush=True)
    return 0


def settings_of(options: argparse.Namespace, task: str | None = None) -> NewEpisode:
    """Return the settings of an episode in step mode from the options of a command. Raises ArenaError."""
    chosen = {name: getattr(options, name) for name in (field.name for field in fields(NewEpisode)) if hasattr(options, name)}
    try:
        return replace(NewEpisode(**chosen), task=task or chosen.get("task"), mode="step")
    except ValueError as error:
        raise ArenaError(str(error), 422) from error


def _read(path: Path) -> tuple[NewEpisode, list[str], str, dict[str, Any] | None]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(
            f"cannot read the session {path}: {reason_of(error)}; `play --session {path} start` starts one"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"the session {path} is not valid JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT or set(content) != set(_KEYS):
        raise TaskError(f"{path} is not a session of this version; expected an object with {', '.join(_KEYS)}")
    replies, settings = content["replies"], content["settings"]
    if not isinstance(replies, list) or not all(isinstance(reply, str) for reply in replies) or not isinstance(settings, dict):
        raise TaskError(f"the session {path} has replies {str(replies)[:100]}; expected a list of texts")
    try:
        return NewEpisode(**settings), replies, str(content["page"]), content["result"]
    except (TypeError, ValueError) as error:
        raise TaskError(f"the settings of the session {path} cannot be read: {error}") from error


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a session file atomically. Raises TaskError."""
    draft = path.with_name(f"{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
        draft.replace(path)
    except OSError as error:
        raise TaskError(f"cannot write the session {path}: {reason_of(error)}") from error


def _digest(episode: Episode) -> str:
    return hashlib.sha256(episode.page.encode("utf-8", "replace")).hexdigest()[:16]
