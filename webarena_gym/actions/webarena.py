"""WebArena's dialect: `click [12]`, `type [12] [text] [1]`, `stop [answer]`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from webarena_gym.actions.action import ANSWER, ELEMENT, KEY, OPTION, TAB_INDEX, TEXT, URL, Action, Form, Kind, Parameter
from webarena_gym.actions.calls import ToolForm, format_call, read_call
from webarena_gym.actions.dialect import Dialect
from webarena_gym.actions.replies import bracket_groups, bracket_pairs, call_head, expect_single, scan_call
from webarena_gym.errors import ActionError

_ID = ELEMENT._replace(name="id", placeholder="id")
_CONTENT = TEXT._replace(name="content", placeholder="content")
_ENTER = Parameter(
    "press_enter_after", "press_enter_after=0|1", "whether to press Enter after it", "1", choices=("0", "1"), default="1"
)
_DIRECTION = Parameter("direction", "direction=down|up", "which way to move", "down", choices=("down", "up"))
_ALIASES = {"page_focus": "tab_focus", "page_close": "close_tab", "noop": "noop"}
_FENCE = "```"
_FENCE_END = re.compile(r"\s*```")
_REST_OF_LINE = re.compile(r"[ \t]*+(?:<\|\w++\|>|</?\w++>)*+[ \t]*$", re.MULTILINE)  # blanks, and end-of-turn tokens of models
_HEAD = re.compile(r"^[ \t`]*+([a-z]\w*+)[ \t]*+(?=\[|$)", re.MULTILINE)
_OPENING = re.compile(r"[ \t]*\[")
_BETWEEN = re.compile(r"\][ \t]*\[")
_ENTER_FLAG = re.compile(r"\][ \t]*\[(?:press_enter_after=)?([01])\]$")
_MARK = re.compile(r"[\[\]]")
_BEFORE_MARK = re.compile(r"(?<!\\)(\\*+)([\[\]]|\Z)")


class _Match(NamedTuple):
    """An action in a reply: its verb, the brackets after it, and True if it is the content of a code fence. Or a call of a tool."""

    verb: str
    rest: str
    is_fenced: bool
    call: Action | None = None


class WebArena(Dialect):
    """An action in a code fence or on a separate line. WebArena has no `select`, which is an extension.

    Text in brackets may contain balanced brackets, lines and fences. A backslash before a bracket makes it part of the text.
    """

    name = "webarena"
    forms = (
        Form(Kind.CLICK, "click", (_ID,), "Click an element."),
        Form(Kind.SEARCH, "type", (_ID, _CONTENT, _ENTER), "Replace the content of a field; presses Enter after it unless the last is 0."),
        Form(Kind.HOVER, "hover", (_ID,), "Move the mouse over an element."),
        Form(Kind.SELECT, "select", (_ID, OPTION._replace(name="option")), "Choose the option with that text from a drop-down list."),
        Form(Kind.PRESS, "press", (KEY._replace(name="key_comb"),), "Press a key, such as Enter, in the focused element."),
        Form(Kind.SCROLL_DOWN, "scroll", (_DIRECTION,), "Show another part of the page."),
        Form(Kind.NEW_TAB, "new_tab", (), "Open an empty tab."),
        Form(Kind.SWITCH_TAB, "tab_focus", (TAB_INDEX._replace(name="tab_index"),), "Go to the tab with that index; the first is 0."),
        Form(Kind.CLOSE_TAB, "close_tab", (), "Close the current tab."),
        Form(Kind.GOTO, "goto", (URL,), "Open a URL."),
        Form(Kind.GO_BACKWARD, "go_back", (), "Return to the previous page."),
        Form(Kind.GO_FORWARD, "go_forward", (), "Undo go_back."),
        Form(
            Kind.EXIT, "stop", (ANSWER._replace(name="answer"),),
            'End the task with an answer; "N/A" if it cannot be done, empty if none was asked for.',
        ),
    )  # fmt: skip

    def read(self, text: str) -> Action:
        matches = _find_actions(text, self.tools)
        matches = [match for match in matches if match.is_fenced] or matches
        expect_single([f"{match.verb} {match.rest}".strip() for match in matches])
        return matches[0].call or _build(*matches[0][:2])

    def heads(self, text: str) -> Iterator[str]:
        yield from _HEAD.findall(text)

    def format(self, action: Action) -> str:
        if action.kind is Kind.CALL:
            return f"{_FENCE}{format_call(action)}{_FENCE}"
        if action.points is not None:
            raise ValueError(f"the webarena dialect cannot express {action}")
        return f"{_FENCE}{_spell(*_parts(action))}{_FENCE}"

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        form = _FORMS.get(name)
        arguments = (
            [] if form is None else [values[parameter.name] for parameter in form.parameters if parameter.name in values]
        )
        return _spell(name, arguments if len(arguments) == len(values) else [*values.values()])

    def signature(self, form: Form) -> str:
        return _spell(form.name, [parameter.placeholder for parameter in form.parameters])


_FORMS = {form.name: form for form in WebArena.forms}
_VERBS = "|".join((*_FORMS, *_ALIASES))
_NO_TOOL = r"\b\B"  # matches nothing


@cache
def _start_of(tools: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the beginning of an action: group 2 is its verb, or group 3 the name of a tool."""
    called = rf"({'|'.join(tools) or _NO_TOOL})(?=[ \t]*\()"
    return re.compile(rf"(?:^|(```)(?:\w++\s++)?\s*+)[ \t]*+(?:({_VERBS})\b|{called})[ \t]*+", re.MULTILINE)


def _find_actions(text: str, tools: Sequence[ToolForm] = ()) -> list[_Match]:
    """Return the actions of a reply, in order. Raises ActionError for a bracket that is not closed, and if there is a verb but no action."""
    pairs = bracket_pairs(text)
    matches: list[_Match] = []
    unreadable, position = "", 0
    names = tuple(tool.name for tool in tools)
    pattern = _start_of(names)
    while match := pattern.search(text, position):
        start = position = match.end()
        if match[3] and (head := call_head(names).match(text, match.start(3))):
            scan = scan_call(text, head, is_json=True)
            position = scan.end
            is_fenced = match[1] is not None and _FENCE_END.match(text, position) is not None
            matches.append(_Match(match[3], "(...)", is_fenced, read_call(scan.call, tools)))
            continue
        groups = bracket_groups(text, start, pairs)
        end = groups[-1][1] if groups else start
        closing = _FENCE_END.match(text, end) if match[1] else None
        if closing or _REST_OF_LINE.match(text, end):
            matches.append(_Match(match[2], text[start:end], closing is not None))
            position = closing.end() if closing else end
            continue
        # Brackets in the text are not balanced: if the line or fence ends with one, all of it is the action.
        fence = text.find(_FENCE, start) if match[1] else -1
        newline = text.find("\n", start) if fence < 0 else -1
        stop = max(fence, newline) if max(fence, newline) >= 0 else len(text)
        rest = text[start:stop].strip()
        if rest.startswith("[") and rest.endswith("]"):
            matches.append(_Match(match[2], rest, fence >= 0))
            position = stop + len(_FENCE) * (fence >= 0)
        elif _OPENING.match(text, end):
            raise ActionError(
                f"the bracket opened in {match[2]} {text[start : start + 40]!r} is never closed; write \\[ for a bracket in a text"
            )
        else:
            unreadable = text[match.start(2) : stop]
    if unreadable and not matches:
        raise ActionError(f"cannot read {unreadable[:80]!r}")
    return matches


def _spell(name: str, values: Sequence[str]) -> str:
    return " ".join([name, *(f"[{_escape(value)}]" for value in values)])


def _escape(text: str) -> str:
    r"""Return a text for brackets: unchanged if its brackets are balanced, otherwise with backslashes before them.

    >>> _escape("a [b]"), _escape("a] b")
    ('a [b]', 'a\\] b')
    """
    depths = [0, *accumulate(1 if mark[0] == "[" else -1 for mark in _MARK.finditer(text))]
    if min(depths) == 0 == depths[-1] and not any(match[1] for match in _BEFORE_MARK.finditer(text)):
        return text
    return _BEFORE_MARK.sub(lambda match: match[1] * 2 + (f"\\{match[2]}" if match[2] else ""), text)


def _unescape(text: str) -> str:
    return _BEFORE_MARK.sub(lambda match: match[1][: (len(match[1]) + (not match[2])) // 2] + match[2], text)


def _parts(action: Action) -> tuple[str, list[str]]:
    """Return the verb of an action and the contents of its brackets. Raises ValueError if the dialect cannot express it."""
    match action.kind:
        case Kind.TYPE | Kind.SEARCH:
            return "type", [action.element or "", action.argument or "", "0" if action.kind is Kind.TYPE else "1"]
        case Kind.SCROLL_UP | Kind.SCROLL_DOWN:
            return "scroll", ["up" if action.kind is Kind.SCROLL_UP else "down"]
        case Kind.WAIT if action.argument is None:
            return "noop", []
        case Kind.PRESS if action.element is not None:
            pass
        case kind if form := next((form for form in WebArena.forms if form.kind is kind), None):
            return form.name, [value for value in (action.element, action.argument) if value is not None]
    raise ValueError(f"the webarena dialect cannot express {action}")


def _build(verb: str, rest: str) -> Action:
    verb = _ALIASES.get(verb, verb)
    excerpt = f"{verb} {rest}".strip()[:80]
    pairs = bracket_pairs(rest)
    spans = bracket_groups(rest, 0, pairs)
    groups = len(spans) if spans and spans[-1][1] == len(rest) else 0
    if verb in ("type", "select"):
        enter_flag = _ENTER_FLAG.search(rest) if verb == "type" else None
        if groups > 3 or (groups == 3 and not enter_flag):
            raise ActionError(f"cannot read {excerpt!r}; {verb} takes fewer [...]")
        name, value = _pair(verb, rest, pairs)
        if verb == "select":
            return Action(Kind.SELECT, name, _unescape(value[1:-1]))
        enter_flag = _ENTER_FLAG.search(value)
        content = _unescape(value[1 : enter_flag.start() if enter_flag else -1])
        return Action(Kind.TYPE if enter_flag and enter_flag[1] == "0" else Kind.SEARCH, name, content)
    if verb == "noop" or not _FORMS[verb].parameters:
        if rest.strip("[] \t"):
            raise ActionError(f"cannot read {excerpt!r}; {verb} takes nothing")
        return Action(Kind.WAIT if verb == "noop" else _FORMS[verb].kind)
    value = _unescape(rest[1:-1])
    if groups > 1 or not (rest or verb == "stop"):
        raise ActionError(f"cannot read {excerpt!r}; {verb} takes one [...]")
    if verb == "stop":
        return Action(Kind.EXIT, argument=value)
    if verb == "scroll":
        direction = value.strip().lower().removeprefix("direction=")
        if direction not in ("up", "down"):
            raise ActionError(f"cannot scroll {value!r}; expected up or down")
        return Action(Kind.SCROLL_UP if direction == "up" else Kind.SCROLL_DOWN)
    kind = _FORMS[verb].kind
    return (
        Action(kind, value) if _FORMS[verb].parameters[0].type == "element" else Action(kind, argument=value.strip() or value)
    )


def _pair(verb: str, rest: str, pairs: Mapping[int, int]) -> tuple[str, str]:
    """Return the text in the first brackets, and the rest, which begins with a bracket. Raises ActionError.

    Balanced brackets inside the first ones are part of the text, as in `[Part [2] [3]] [x]`. Otherwise the first `] [` separates the two.
    """
    end = pairs.get(0, 0)
    between = (_BETWEEN.match(rest, end - 1) if end else None) or _BETWEEN.search(rest)
    if between is None:
        raise ActionError(f"cannot read {f'{verb} {rest}'[:80]!r}; {verb} takes an element and a text, each in brackets")
    return _unescape(rest[1 : between.start()]), rest[between.end() - 1 :]
