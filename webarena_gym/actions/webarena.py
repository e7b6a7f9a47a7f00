"""WebArena's dialect: `click [12]`, `type [12] [text] [1]`, `stop [answer]`."""

import re

from webarena_gym.actions.action import Action, Kind
from webarena_gym.actions.replies import answer_part, only
from webarena_gym.errors import ActionError

_GRAMMAR = """\
click [id]: Click an element.
type [id] [content] [press_enter_after=0|1]: Replace the content of a field; presses Enter after it unless the last is 0.
hover [id]: Move the mouse over an element.
select [id] [option]: Choose the option with that text from a drop-down list.
press [key_comb]: Press a key, such as Enter.
scroll [direction=down|up]: Show another part of the page.
new_tab: Open an empty tab.
tab_focus [tab_index]: Go to the tab with that index; the first is 0.
close_tab: Close the current tab.
goto [url]: Open a URL.
go_back: Return to the previous page.
go_forward: Undo go_back.
stop [answer]: End the task with an answer; "N/A" if it cannot be done, empty if none was asked for."""

_FENCED = re.compile(r"```(.*?)```", re.DOTALL)
_VERBS = (
    "click|type|hover|select|press|scroll|new_tab|tab_focus|page_focus|close_tab|page_close|goto|go_back|go_forward|stop|noop"
)
_LINE = re.compile(rf"^({_VERBS})\b(?:[ \t]*(\[.*\]))?[ \t]*$", re.DOTALL)
_BARE = {
    "new_tab": Kind.NEW_TAB,
    "close_tab": Kind.CLOSE_TAB,
    "page_close": Kind.CLOSE_TAB,
    "go_back": Kind.GO_BACKWARD,
    "go_forward": Kind.GO_FORWARD,
    "noop": Kind.WAIT,
}
_PATTERNS: dict[str, re.Pattern[str]] = {
    "type": re.compile(r"\[(.*?)\][ \t]*\[(.*?)\](?:[ \t]*\[(?:press_enter_after=)?([01])\])?", re.DOTALL),
    "select": re.compile(r"\[(.*?)\][ \t]*\[(.*)\]", re.DOTALL),
}


class WebArenaDialect:
    """Reads and writes WebArena's dialect. `select` is ours; there, drop-down lists cannot be used."""

    name = "webarena"

    def parse(self, reply: str) -> Action:
        """Return the one action in a model's reply, in a code fence or on a line of its own. Raises ActionError.

        >>> WebArenaDialect().parse("In summary, the next action I will perform is ```type [5] [red shoes] [1]```")
        Action(kind=<Kind.SEARCH: 'Search'>, element='5', argument='red shoes')
        """
        text = answer_part(reply)
        candidates = [part.strip() for part in _FENCED.findall(text)] or _split_lines(text)
        written = [part for part in candidates if _LINE.match(part)]
        if not written and candidates:
            raise ActionError(f"cannot read {candidates[-1][:80]!r}; expected one of\n{_GRAMMAR}")
        only(written)
        match = _LINE.match(written[0])
        assert match is not None
        return _build(match.group(1), match.group(2) or "", written[0])

    def format(self, action: Action) -> str:
        """Write an action, fenced; raises ValueError for kinds that the dialect has not.

        >>> WebArenaDialect().format(Action(Kind.EXIT, argument="42"))
        '```stop [42]```'
        """
        element, argument = action.element, action.argument
        match action.kind:
            case Kind.CLICK | Kind.HOVER:
                text = f"{action.kind.lower()} [{element}]"
            case Kind.TYPE:
                text = f"type [{element}] [{argument}] [0]"
            case Kind.SEARCH:
                text = f"type [{element}] [{argument}] [1]"
            case Kind.SELECT:
                text = f"select [{element}] [{argument}]"
            case Kind.PRESS if element is None:
                text = f"press [{argument}]"
            case Kind.SCROLL_UP | Kind.SCROLL_DOWN:
                text = f"scroll [{'up' if action.kind is Kind.SCROLL_UP else 'down'}]"
            case Kind.SWITCH_TAB:
                text = f"tab_focus [{argument}]"
            case Kind.GOTO:
                text = f"goto [{argument}]"
            case Kind.EXIT:
                text = f"stop [{argument}]"
            case Kind.RIGHT_CLICK | Kind.PRESS:
                raise ValueError(f"the webarena dialect cannot express {action}")
            case _:
                text = next(verb for verb, kind in _BARE.items() if kind is action.kind)
        return f"```{text}```"

    def grammar(self) -> str:
        """Return the list of actions, one a line, for a prompt."""
        return _GRAMMAR


def _split_lines(text: str) -> list[str]:
    """Lines that begin with a verb, each with the lines that continue its brackets."""
    starts = [match.start() for match in re.finditer(rf"^(?:{_VERBS})\b", text, re.MULTILINE)]
    return [text[start:end].strip() for start, end in zip(starts, [*starts, len(text)][1:], strict=True)]


def _build(verb: str, rest: str, written: str) -> Action:
    if verb in _BARE:
        return Action(_BARE[verb])
    if verb in _PATTERNS:
        match = _PATTERNS[verb].fullmatch(rest)
        if match is None:
            raise ActionError(f"cannot read {written!r}; expected {verb} [id] [text]")
        element, argument = match.group(1).strip(), match.group(2)
        if verb == "select":
            return Action(Kind.SELECT, element, argument)
        return Action(Kind.TYPE if match.group(3) == "0" else Kind.SEARCH, element, argument)
    value = rest[1:-1]
    if not rest and verb != "stop":
        raise ActionError(f"cannot read {written!r}; expected {verb} [...]")
    match verb:
        case "click" | "hover":
            return Action(Kind.CLICK if verb == "click" else Kind.HOVER, value.strip())
        case "press":
            return Action(Kind.PRESS, argument=value.strip())
        case "tab_focus" | "page_focus":
            return Action(Kind.SWITCH_TAB, argument=value.strip())
        case "goto":
            return Action(Kind.GOTO, argument=value.strip())
        case "scroll":
            direction = value.strip().lower().removeprefix("direction=")
            if direction not in ("up", "down"):
                raise ActionError(f"cannot scroll {value!r}; expected up or down")
            return Action(Kind.SCROLL_UP if direction == "up" else Kind.SCROLL_DOWN)
    return Action(Kind.EXIT, argument=value)
