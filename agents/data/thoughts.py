"""Thoughts: chains of thought for demonstrations, written by rules from the goal, the pages and the solution.

A short thought says what is done next, and why. A long one has the goal, the steps so far, what the page shows, the candidates, the
reason, what to remember and what is missing; before an answer, its derivation. Every quotation in a sentence comes from the goal,
from an action or from a page that was seen; a sentence with any other quotation is replaced by the next best.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from random import Random
from typing import Literal, NamedTuple

from agents.data.derivations import NOT_AVAILABLE, work_out
from agents.data.readings import Reading, bare, nearest_lines, pieces, plain, quote, quote_all, words
from webarena_gym.actions import Action, Kind

Thoughts = Literal["none", "short", "long"]
Wordings = str | tuple[str, str]
"""A sentence, or two of one meaning, of which one is drawn."""
_QUOTATION = re.compile(r'"([^"]*)"')
_VALUE = re.compile(r"\$?\d[\d,.:/]*\d(?: (?:min|km|m)\b)?")
_TAB = r"\[{}\] (.*?)(?: \||$)"
FILLING = (Kind.TYPE, Kind.SELECT, Kind.SEARCH)

_CONTROL = re.compile(r"<(a|button|summary)\b[^>]*>(.*?)</\1>")
_LABELLED = re.compile(r'<(?:input|select|textarea) label="(.*?)"')
_DONE: Mapping[Kind, str] = {
    Kind.CLICK: "clicked {element}", Kind.RIGHT_CLICK: "clicked {element} with the right button",
    Kind.HOVER: "moved over {element}", Kind.DRAG: "dragged {element} to {argument}", Kind.TYPE: "filled in {element}",
    Kind.SEARCH: "searched for {argument}", Kind.SELECT: "chose {argument} in {element}",
    Kind.SCROLL_DOWN: "scrolled down", Kind.SCROLL_UP: "scrolled up", Kind.PRESS: "pressed {argument}",
    Kind.SWITCH_TAB: "changed the tab", Kind.GO_BACKWARD: "went back",
}  # fmt: skip


class Moment(NamedTuple):
    """A step of an expert, and the context for its thought. Actions name elements by label."""

    goal: str
    readings: Sequence[Reading]  # the pages seen so far; the last is the one that is acted on
    done: Sequence[Action]  # one for each page but the last
    action: Action
    later: Sequence[Action] = ()  # what the solution still does after this action
    remark: str = ""  # what the solution itself says to it

    @property
    def page(self) -> Reading:
        """The newest page."""
        return self.readings[-1]


def explain(moment: Moment, rng: Random) -> tuple[str, str]:
    """Return the most specific true reason for the moment's action, and the solution's own remark, if any. `rng` varies the wording."""
    kind = moment.action.kind
    reasons = _reasons_to_leave(moment, rng) if kind is Kind.EXIT else _RULES[kind](moment) if kind in _RULES else []
    chosen = [each if isinstance(each, str) else rng.choice(each) for each in reasons]  # the most specific first
    why = next((each for each in chosen if is_true(each, moment)), f"The next thing to do is: {kind.lower()}.")
    remark = _remark(moment)
    is_said = why in remark or (moment.action.kind is Kind.EXIT and not moment.action.argument)
    return why, "" if is_said else remark


def is_true(sentence: str, moment: Moment) -> bool:
    """Return whether every quotation of a sentence is in the goal, in an action or on a page."""
    actions = (*moment.done, moment.action)
    given = [moment.goal, *(text for action in actions for text in (action.argument, action.element) if text)]
    return all(
        any(text in source for source in given) or any(page.shows(text) for page in moment.readings)
        for text in _QUOTATION.findall(sentence)
    )


def _remark(moment: Moment) -> str:
    """Return the solution's remark on the step, with a derivation of each value in it that is on no page."""
    known = [moment.goal, *(page.shown for page in moment.readings)]
    computed = [value for value in _VALUE.findall(moment.remark) if not any(value in text for text in known)]
    shown = [work_out(value, moment.goal, moment.readings) for value in dict.fromkeys(computed)]
    sentences = " ".join([moment.remark, *shown])
    return sentences if moment.remark and all(shown) and is_true(sentences, moment) else ""


def _reasons_to_click(moment: Moment) -> list[Wordings]:
    action, page, goal = moment.action, moment.page, moment.goal.lower()
    element = action.element or ""
    line = next((line for line in page.lines if f">{element}<" in line or f'label="{element}"' in line), "")
    label = bare(element)
    named, reasons = quote(label), list[Wordings]()
    earlier = zip(reversed(moment.readings[:-1]), reversed(moment.done), strict=True)
    here = [action for _, action in takewhile(lambda pair: pair[0].url == moment.page.url, earlier)]
    filled = list(dict.fromkeys(bare(before.element or "") for before in reversed(here) if before.kind in FILLING))
    if filled and f"<button>{element}</button>" in line:
        fields, stand = quote_all(filled), "stands as it" if len(filled) == 1 else "stand as they"
        reasons.append((f"{fields} {stand} should, so {named} comes next.", f"With {fields} set, {named} sends it off."))
    if label.lower() in goal:
        offered = f"The task is about {named}, and the page offers it."
        reasons.append((offered, f"{named} is what the task names, so I click it."))
    beside = [piece for piece in pieces(line) if len(piece) > 2 and piece.lower() in goal and piece != label]
    if beside:
        reasons.append(f"{named} stands in the line of {quote(beside[0])}, which the task names.")
    if shared := _plain_list(sorted(words(label) & words(moment.goal))):
        reasons.append((f"{named} fits the task, which speaks of {shared}.", f"The task speaks of {shared}, so {named} it is."))
    ahead = moment.later[0] if moment.later else None
    if ahead and ahead.kind is Kind.EXIT and ahead.argument:
        reasons.append(f"What is asked does not stand here yet; {named} should show it.")
    if ahead and ahead.kind in FILLING and not offers(page, ahead):
        reasons.append(f"A field has to be filled in that this page does not have; {named} leads there.")
    return [*reasons, (f"The way goes on over {named}.", f"Next comes {named}.")]


def _reasons_to_type(moment: Moment) -> list[Wordings]:
    action, text = moment.action, moment.action.argument or ""
    field = quote(bare(action.element or ""))
    deed = "looks for" if action.kind is Kind.SEARCH else "takes"
    if "\n" in text or '"' in text or not text:
        return [f"{field} takes the text that the task asks for." if text else f"{field} is to be empty."]
    told = quote(text)
    if text.lower() in moment.goal.lower():
        return [(f"{field} {deed} {told}, as the task says.", f"The task gives {told}, which belongs into {field}.")]
    for back, page in enumerate(reversed(moment.readings[:-1]), 1):
        if page.shows(text) and len(text) > 3:
            where = "the page before" if back == 1 else f"a page {back} steps ago"
            return [f"{told} stood on {where}, and {field} {deed} it."]
    if words(text) and words(text) <= words(moment.goal):
        return [(f"{field} {deed} {told}, in the words of the task.", f"In the task's words, {field} {deed} {told}.")]
    return [f"{field} {deed} {told}."]


def _reasons_to_choose(moment: Moment) -> list[Wordings]:
    option, field = quote(moment.action.argument or ""), quote(bare(moment.action.element or ""))
    if shared := _plain_list(sorted(words(option) & words(moment.goal))):
        meant = f"Of what {field} offers, {option} is what the task means by {shared}."
        return [(meant, f"The task speaks of {shared}, so {field} is set to {option}.")]
    return [f"{field} has to be {option} for what follows."]


def _reasons_to_leave(moment: Moment, rng: Random) -> list[str]:
    answer, page, remark = moment.action.argument or "", moment.page, _remark(moment)
    reasons = [remark] if remark else []
    if not answer:
        before = moment.readings[-2].lines if len(moment.readings) > 1 else ()
        new = tuple(text for line in page.lines if line not in before and page.quotes(text := plain(line)))
        said = nearest_lines(new, words(moment.goal), 1)
        end = rng.choice(("so the task is done", "and nothing is missing"))
        reasons += [f"The page now says {quote(text)}, {end}." for text in said]
        reasons += [f"I am on the page {quote(page.title)}, and all steps are taken."] if page.title else []
        return [*reasons, "All steps are taken."]
    working = work_out(answer, moment.goal, moment.readings)
    if working:
        return [working, *reasons, f"From the pages seen, the answer is {quote(answer)}."]
    if answer == NOT_AVAILABLE:
        ends = (
            "None of the pages shows what is asked, so it cannot be done.",
            "I looked where it should be, and it is not there: N/A.",
        )
        return [*reasons, rng.choice(ends)]
    close = nearest_lines(page.texts, words(moment.goal), 2)
    said = [piece for line in page.lines if plain(line) in close for piece in pieces(line)]
    reasons += [f"Going by {quote_all(said[:6])}, the answer is {quote(answer)}."] if said else []
    return [*reasons, f"From the pages seen, the answer is {quote(answer)}."]


def _reasons_to_go_back(moment: Moment) -> list[Wordings]:
    ahead = moment.later[0] if moment.later else None
    reasons = list[Wordings]()
    if ahead and ahead.element:
        wanted = quote(bare(ahead.element))
        reasons.append(f"This page has told what it could; {wanted} stands on the page before, so I go back.")
    return [*reasons, ("This page has told what it could, so I go back.", "Back to the page before, to go on from there.")]


def _reasons_to_change_tab(moment: Moment) -> list[Wordings]:
    index = moment.action.argument or ""
    match = re.search(_TAB.format(re.escape(index)), moment.page.shown, re.MULTILINE)
    reasons = [f"The next step is on another site, in the tab {quote(match[1])}."] if match else []
    return [*reasons, f"The next step is on another site, in tab {index}."]


def _reasons_to_scroll(moment: Moment) -> list[Wordings]:
    if moment.action.kind is Kind.SCROLL_UP:
        return ["What is needed stands further up."]
    below = moment.page.hidden_below
    missing = f"This part of the page does not have what is needed, and {below} more lines are below."
    return [(missing, f"There are {below} more lines below, and what is needed is not in view.")]


def offers(page: Reading, action: Action) -> bool:
    """Return whether the page shows the element of an action."""
    return bool(action.element) and page.shows(bare(action.element or ""))


def _plain_list(values: Sequence[str]) -> str:
    return " and ".join(values[:3])


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
    shown = [
        " ".join(map(quote, parts))
        for line in page.lines
        if plain(line) in close and (parts := [piece for piece in pieces(line) if page.shows(piece) and '"' not in piece][:6])
    ]
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
    """Return a sentence with values that later steps need, and that neither the task nor an earlier page but the first has told."""
    if moment.action.kind is Kind.EXIT or not moment.done:
        return ""
    told = [moment.goal.lower(), *(action.argument.lower() for action in moment.done if action.argument)]
    before = moment.readings[1:-1]
    texts = [part for action in moment.later for part in re.split(r"\n|; | > |, ", action.argument or "")]
    here = [text for text in dict.fromkeys(texts) if len(text) > 4 and moment.page.quotes(text)]
    new = [text for text in here if not any(text.lower() in known for known in told)]
    kept = [text for text in new if not any(page.shows(text) for page in before)]
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


def _named(text: str | None) -> str:
    return quote(bare(text)) if text and '"' not in text and "\n" not in text else "a text"


_RULES: Mapping[Kind, Callable[[Moment], list[Wordings]]] = {
    Kind.CLICK: _reasons_to_click, Kind.TYPE: _reasons_to_type, Kind.SEARCH: _reasons_to_type,
    Kind.SELECT: _reasons_to_choose, Kind.GO_BACKWARD: _reasons_to_go_back, Kind.SWITCH_TAB: _reasons_to_change_tab,
    Kind.SCROLL_DOWN: _reasons_to_scroll, Kind.SCROLL_UP: _reasons_to_scroll,
}  # fmt: skip
