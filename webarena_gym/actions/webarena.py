"""WebArena's dialect: `click [12]`, `type [12] [text] [1]`, `stop [answer]`."""

import re
from collections.abc import Iterator, Mapping, Sequence

from webarena_gym.actions.action import ANSWER, ELEMENT, KEY, OPTION, TAB_INDEX, TEXT, URL, Action, Form, Kind, Parameter
from webarena_gym.actions.dialect import Dialect
from webarena_gym.actions.replies import only
from webarena_gym.errors import ActionError

_ID = ELEMENT._replace(name="id", placeholder="id")
_CONTENT = TEXT._replace(name="content", placeholder="content")
_ENTER = Parameter(
    "press_enter_after", "press_enter_after=0|1", "whether to press Enter after it", "1", choices=("0", "1"), default="1"
)
_DIRECTION = Parameter("direction", "direction=down|up", "which way to move", "down", choices=("down", "up"))
_ALIASES = {"page_focus": "tab_focus", "page_close": "close_tab", "noop": "noop"}
_FENCE = "```"
_FENCED = re.compile(r"```(.*?)```", re.DOTALL)
_BRACKET = re.compile(r"[\[\]]")
_BETWEEN = re.compile(r"\][ \t]*\[")
_ENTERED = re.compile(r"\][ \t]*\[(?:press_enter_after=)?([01])\]$")


class WebArena(Dialect):
    """Reads an action in a code fence or on a line of its own. `select` is ours; there, drop-down lists cannot be used."""

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
        candidates = [part.strip() for part in _FENCED.findall(text)]
        written = [part for part in candidates if _LINE.match(part)]
        if not written:
            starts = [
                match.start() for match in _START.finditer(text)
            ]  # of verbs, each with the lines that continue its brackets
            lines = [text[start:end].strip() for start, end in zip(starts, [*starts, len(text)][1:], strict=True)]
            candidates = lines or candidates
            written = [part for part in candidates if _LINE.match(part)]
        if not written and candidates:
            raise ActionError(f"cannot read {candidates[-1][:80]!r}")
        only(written)
        match = _LINE.match(written[0])
        assert match is not None
        return _build(match.group(1), match.group(2) or "", written[0][:80])

    def format(self, action: Action) -> str:
        if action.points is not None:
            raise ValueError(f"the webarena dialect cannot express {action}")
        text = _spelled(*_parts(action))
        return text if _FENCE in text else f"{_FENCE}{text}{_FENCE}"

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        form = _FORMS.get(name)
        known = [] if form is None else [values[each.name] for each in form.parameters if each.name in values]
        return _spelled(name, known if len(known) == len(values) else [*values.values()])

    def signature(self, form: Form) -> str:
        return _spelled(form.name, [parameter.placeholder for parameter in form.parameters])


_FORMS = {form.name: form for form in WebArena.forms}
_VERBS = "|".join((*_FORMS, *_ALIASES))
_LINE = re.compile(rf"^({_VERBS})\b(?:[ \t]*(\[.*\]))?[ \t]*$", re.DOTALL)
_START = re.compile(rf"^(?:{_VERBS})\b", re.MULTILINE)


def _spelled(name: str, values: Sequence[str]) -> str:
    return " ".join([name, *(f"[{value}]" for value in values)])


def _parts(action: Action) -> tuple[str, list[str]]:
    """Return the verb of an action and what stands in its brackets. Raises ValueError for what cannot be expressed."""
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


def _build(verb: str, rest: str, written: str) -> Action:
    verb = _ALIASES.get(verb, verb)
    if verb in ("type", "select"):
        groups = _groups(rest)
        if len(groups) > 3 or (len(groups) == 3 and not (verb == "type" and _ENTERED.search(rest))):
            raise ActionError(f"cannot read {written!r}; {verb} takes fewer [...]")
        name, value = _pair(verb, rest, written)
        if verb == "select":
            return Action(Kind.SELECT, name, value[1:-1])
        entered = _ENTERED.search(value)
        content = value[1 : entered.start() if entered else -1]
        return Action(Kind.TYPE if entered and entered[1] == "0" else Kind.SEARCH, name, content)
    if verb == "noop" or not _FORMS[verb].parameters:
        if rest.strip("[] \t"):
            raise ActionError(f"cannot read {written!r}; {verb} takes nothing")
        return Action(Kind.WAIT if verb == "noop" else _FORMS[verb].kind)
    if verb == "stop":
        return Action(Kind.EXIT, argument=rest[1:-1])
    if not rest or len(_groups(rest)) > 1:
        raise ActionError(f"cannot read {written!r}; {verb} takes one [...]")
    value = rest[1:-1].strip()
    if verb == "scroll":
        direction = value.lower().removeprefix("direction=")
        if direction not in ("up", "down"):
            raise ActionError(f"cannot scroll {value!r}; expected up or down")
        return Action(Kind.SCROLL_UP if direction == "up" else Kind.SCROLL_DOWN)
    kind = _FORMS[verb].kind
    return Action(kind, value) if _FORMS[verb].parameters[0].type == "element" else Action(kind, argument=value)


def _pair(verb: str, rest: str, written: str) -> tuple[str, str]:
    """Return what stands in the first brackets, and all that follows them, which begins with a bracket. Raises ActionError.

    Brackets inside the first belong to it where they are balanced, as in `[Part [2] [3]] [x]`; else the first `] [` parts the two.
    """
    end = next(_ends(rest), 0)
    between = (_BETWEEN.match(rest, end - 1) if end else None) or _BETWEEN.search(rest)
    if between is None:
        raise ActionError(f"cannot read {written!r}; {verb} takes an element and a text, each in brackets")
    return rest[1 : between.start()].strip(), rest[between.end() - 1 :]


def _groups(rest: str) -> list[str]:
    """Return what stands in each of the brackets that a text is made of; empty if they are not balanced, or not all of it."""
    start, found = 0, []
    for end in _ends(rest):
        group = rest[start:end].lstrip(" \t")
        if not group.startswith("["):
            return []
        found.append(group[1:-1])
        start = end
    return found if start == len(rest) else []


def _ends(rest: str) -> Iterator[int]:
    """Yield where brackets end that are inside no others, until one closes that was not opened."""
    depth = 0
    for mark in _BRACKET.finditer(rest):
        depth += 1 if mark[0] == "[" else -1
        if depth == 0:
            yield mark.end()
        elif depth < 0:
            return
