"""The game in the terminal: a person does a task, with short forms of actions, a history of lines, and colours on a terminal."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import gymnasium

from webarena_gym.actions import DIALECTS, Action, Dialect, Kind
from webarena_gym.errors import TaskError
from webarena_gym.evaluators.outcome import in_words
from webarena_gym.playing import play
from webarena_gym.sites.world import cache_folder

PLAYING = """\
Do a task yourself in the terminal. Beside the actions of the dialect there are short forms:
  click 6            hover 6          type 5 red shoes     search 5 red shoes    select 7 Large
  down, up           back, forward    enter                tab 1                 exit THE ANSWER
With --elements label, names of several words stand in quotes: click "Add to Cart".
`help` tells the actions, `quit` or Ctrl-D leaves. Lines can be edited, and earlier ones recalled with the arrow keys."""

_SHORT: Mapping[str, Kind] = {
    "click": Kind.CLICK,
    "hover": Kind.HOVER,
    "type": Kind.TYPE,
    "search": Kind.SEARCH,
    "select": Kind.SELECT,
    "up": Kind.SCROLL_UP,
    "down": Kind.SCROLL_DOWN,
    "enter": Kind.PRESS,
    "tab": Kind.SWITCH_TAB,
    "goto": Kind.GOTO,
    "wait": Kind.WAIT,
    "back": Kind.GO_BACKWARD,
    "forward": Kind.GO_FORWARD,
    "exit": Kind.EXIT,
    "answer": Kind.EXIT,
}
_WITH_ELEMENT = {Kind.CLICK, Kind.HOVER, Kind.TYPE, Kind.SEARCH, Kind.SELECT}
_WITH_TEXT = {Kind.TYPE, Kind.SEARCH, Kind.SELECT, Kind.SWITCH_TAB, Kind.GOTO}
_BOLD, _DIM, _RED, _GREEN = "1", "2", "31", "32"
_LINES = 1000  # of the history that is kept


def play_in_terminal(options: argparse.Namespace) -> int:
    """Let a person do a task and return the exit status, 0."""
    if len(options.words) > 1:
        raise TaskError(f"play got {' '.join(options.words)!r}; expected one task id, or --session FILE with a command")
    env = gymnasium.make(
        "WebArenaLite-v0",
        split=options.split,
        elements=options.elements,
        observation=options.observation,
        dialect=options.dialect,
        variation=options.variation,
        scale=options.scale,
        max_steps=options.max_steps,
        step_budget=options.step_budget,
        disable_env_checker=True,  # a person's mistakes are no faults of the env
    )
    dialect = DIALECTS[options.dialect]
    first = env.reset(seed=options.seed, options={"task": options.words[0]} if options.words else None)
    title = _painted(f"Task {first[1]['task_id']}: {first[1]['goal']}", _BOLD)
    _say(f"{PLAYING}\n\n{title}")

    def person(_: str, info: Mapping[str, Any]) -> str | None:
        _show(info)
        left = f", {info['steps_left']} left" if "steps_left" in info else ""
        return _next_reply(f"step {info['step'] + 1} of {options.max_steps}{left}> ", dialect)

    with _line_editing():
        for step in play(env, person, *first):
            if step.terminated or step.truncated:
                outcome, *reasons = in_words(step.info)
                colour = _GREEN if step.info["success"] else _RED
                _say("\n".join((_painted(f"{outcome} (reward {step.reward:g})", colour), *reasons)))
    return 0


def spelled_out(line: str, dialect: Dialect) -> str:
    """Return a line in short form as a reply of the dialect, and any other line as it is.

    Raises ValueError for a short form to which something is missing, or that the dialect cannot express.

    >>> spelled_out("type 5 red shoes", DIALECTS["webrl"])
    'do(action="Type", argument="red shoes", element="5")'
    >>> spelled_out("click [6]", DIALECTS["webarena"])
    'click [6]'
    """
    word, _, rest = line.strip().partition(" ")
    kind, rest = _SHORT.get(word.lower()), rest.strip()
    if kind is None or rest.startswith(("[", "(")):
        return line
    element, text = _split(rest) if kind in _WITH_ELEMENT else (None, rest)
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
    """Return the element that a text begins with, which may stand in quotes, and the rest."""
    if text[:1] in {'"', "'"} and text.find(text[0], 1) > 0:
        element, _, rest = text[1:].partition(text[0])
    else:
        element, _, rest = text.partition(" ")
    return element, rest.strip()


def _next_reply(prompt: str, dialect: Dialect) -> str | None:
    """Return the next reply, None where the player leaves. What is no reply costs no step."""
    while True:
        try:
            line = input(prompt)
        except EOFError:
            _say("")
            return None
        word = line.strip().lower()
        if word in {"quit", "q"}:
            return None
        if word in {"help", "?", ""}:
            _say(f"{PLAYING}\n\n{dialect.grammar()}" if word else "`help` tells the actions, `quit` leaves")
            continue
        try:
            return spelled_out(line, dialect)
        except ValueError as error:
            _say(_painted(str(error), _RED))


def _show(info: Mapping[str, Any]) -> None:
    """Print the page and, where it can be seen last, why the last action did nothing."""
    error = info["action_error"]
    page = str(info["page"])
    _say(f"\n{page.removeprefix(f'Action error: {error}').lstrip(chr(10)) if error else page}")
    _say(_painted(f"{info['url']}   task: {info['goal']}", _DIM))
    if error:
        _say(_painted(f"Action error: {error}", _RED))


def _painted(text: str, code: str) -> str:
    """Return a text in a colour, on a terminal that is not told to do without (https://no-color.org)."""
    has_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\033[{code}m{text}\033[0m" if has_colour else text


@contextmanager
def _line_editing() -> Iterator[None]:
    """Let lines be edited and recalled, also those of earlier games, where the system has readline and there is a terminal."""
    try:
        import readline  # noqa: PLC0415 - not everywhere
    except ImportError:
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
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


def _say(text: str) -> None:
    print(text, flush=True)
