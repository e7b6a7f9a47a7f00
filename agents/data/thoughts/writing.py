"""Writing: the text of a short or long thought from its sentences."""

import re
from collections.abc import Mapping
from random import Random
from typing import Literal

from agents.data.thoughts.readings import Reading, bare, nearest_lines, pieces, plain, quote, quote_all, words
from agents.data.thoughts.reasons import FILLING, Moment, explain, is_true, offers
from webarena_gym.actions import Action, Kind

Thoughts = Literal["none", "short", "long"]

_CONTROL = re.compile(r"<(a|button|summary)\b[^>]*>(.*?)</\1>")
_LABELLED = re.compile(r'<(?:input|select|textarea) label="(.*?)"')
_DONE: Mapping[Kind, str] = {
    Kind.CLICK: "clicked {element}",
    Kind.RIGHT_CLICK: "clicked {element} with the right button",
    Kind.HOVER: "moved over {element}",
    Kind.DRAG: "dragged {element} to {argument}",
    Kind.TYPE: "filled in {element}",
    Kind.SEARCH: "searched for {argument}",
    Kind.SELECT: "chose {argument} in {element}",
    Kind.SCROLL_DOWN: "scrolled down",
    Kind.SCROLL_UP: "scrolled up",
    Kind.PRESS: "pressed {argument}",
    Kind.SWITCH_TAB: "changed the tab",
    Kind.GO_BACKWARD: "went back",
}


def write_thought(style: Thoughts, moment: Moment, rng: Random) -> str:
    """Return the thought before the moment's action; an empty text for "none". `rng` only varies the wording."""
    if style == "none":
        return ""
    why, remark = explain(moment, rng)
    if style == "short":
        return why if moment.action.kind is Kind.EXIT else f"{remark} {why}".strip()
    before = [_done_so_far(moment), _page(moment, rng), _candidates(moment, rng)]
    after = [_to_remember(moment), _missing(moment, rng)]
    chain = [sentence for sentence in (*before, remark, why, *after) if sentence and is_true(sentence, moment)]
    opening = rng.choice(("The task: {}", "What is asked: {}", "The goal: {}")).format(moment.goal)
    return "\n".join([opening, *chain])


def write_reflection(style: Thoughts, moment: Moment, rng: Random) -> str:
    """Return the thought before an act that undoes the newest step: what that step led to, that it was wrong, and what is done now."""
    if style == "none":
        return ""
    title = moment.page.title
    shown = f"the page {quote(title)}" if title and '"' not in title else "a page"
    told = f"I {_tell(moment.done[-1])}, and see {shown}."
    if moment.done[-1].kind is Kind.GO_BACKWARD:
        judged = "The step that led here was wrong, too."
    else:
        judged = rng.choice(("That was wrong: it does not lead to what is asked.", "This is not what the task needs."))
    reflection = f"{told} {judged} So I undo it, and then try another way."
    if style == "short":
        return reflection
    opening = rng.choice(("The task: {}", "What is asked: {}", "The goal: {}")).format(moment.goal)
    return "\n".join([opening, _done_so_far(moment), reflection])


def _tell(action: Action) -> str:
    return _DONE.get(action.kind, action.kind.lower()).format(element=_named(action.element), argument=_named(action.argument))


def _done_so_far(moment: Moment) -> str:
    if not moment.done:
        return "So far: nothing, this is the first page."
    told = [_tell(action) for action in moment.done]
    earlier = len(told) - 5
    opening = f"{earlier} step{'s' if earlier > 1 else ''}, then " if earlier > 0 else ""
    return f"So far: {opening}{', '.join(told[-5:])}."


def _page(moment: Moment, rng: Random) -> str:
    page = moment.page
    title = f"the page {quote(page.title)}" if page.title and '"' not in page.title else "a page"
    topic = words(f"{moment.goal} {moment.action.element or ''}")
    texts = tuple(text for text in map(plain, page.lines) if text != page.title)
    close = nearest_lines(texts, topic, 3)
    shown = [" ".join(map(quote, parts)) for line in page.lines if plain(line) in close and (parts := _seen(line, page)[:6])]
    opening = rng.choice(("Now I see", "In front of me is", "This is"))
    return f"{opening} {title}." + (f" It shows: {'; '.join(shown[:3])}." if shown else "")


def _candidates(moment: Moment, rng: Random) -> str:
    action, page = moment.action, moment.page
    if action.element is None:
        return ""
    chosen, topic = bare(action.element), words(moment.goal) | words(action.element)
    found = _LABELLED if action.kind in FILLING else _CONTROL
    labels = list(dict.fromkeys(bare(match[match.lastindex or 0]) for line in page.lines for match in found.finditer(line)))
    others = [label for label in labels if label != chosen and words(label) & topic and page.shows(label) and '"' not in label]
    if not others:
        return ""
    offered = [label for label in labels if label in (chosen, *others[:3])]
    return f"{rng.choice(('Candidates are', 'In question come', 'What could be used:'))} {quote_all(offered)}."


def _to_remember(moment: Moment) -> str:
    """Return a sentence with the values that appear first on this page, are needed by later steps, and are not in the task.

    What the first page shows is as good as not told: nothing has been looked for yet.
    """
    if moment.action.kind is Kind.EXIT or not moment.done:
        return ""
    told = [moment.goal.lower(), *(action.argument.lower() for action in moment.done if action.argument)]
    before = moment.readings[1:-1]
    texts = [part for action in moment.later for part in re.split(r"\n|; | > |, ", action.argument or "")]
    kept = [
        text
        for text in dict.fromkeys(texts)
        if len(text) > 4
        and moment.page.quotes(text)
        and not any(text.lower() in known for known in told)
        and not any(page.shows(text) for page in before)
    ]
    return f"To remember for later: {quote_all(kept)}." if kept else ""


def _missing(moment: Moment, rng: Random) -> str:
    if moment.action.kind is Kind.EXIT:
        return ""
    ahead = moment.later[0] if moment.later else None
    if ahead is None or (ahead.kind is Kind.EXIT and not ahead.argument):
        return rng.choice(("After that nothing should be missing.", "Then it should be done."))
    if ahead.kind is Kind.EXIT:
        return rng.choice(("Then the answer can be given.", "What is missing then is only the answer."))
    if ahead.element and offers(moment.page, ahead):
        return f"Still missing after that: {quote(bare(ahead.element))}."
    return rng.choice(("The rest follows on the next page.", "Still missing: what comes on the pages behind it."))


def _seen(line: str, page: Reading) -> list[str]:
    return [piece for piece in pieces(line) if page.shows(piece) and '"' not in piece]


def _named(text: str | None) -> str:
    return quote(bare(text)) if text and '"' not in text and "\n" not in text else "a text"
