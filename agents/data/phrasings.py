"""Other phrasings of goals, written by rules, so that an agent does not depend on the words of one template.

`phrasings.toml` contains the rules: they replace words of requests and questions, such as "How much does ... cost" by "What is the price of
...", and put the goal into a frame, such as "Could you ...?". The values of a template's slots, quoted texts and the sentences on the
format of the answer are never changed, so each phrasing has the same names and numbers and the same format. If a template has several phrasings,
these are used, too.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from webarena_gym import suite as task_suite
from webarena_gym.tasks import Task

_TEXTS = Path(__file__).with_suffix(".toml")
_MASK = "[\ue000-\uf8ff]"  # private characters in place of the protected texts; those of goals are protected, too
_PROTECTED = re.compile(rf'(?<=[.?] )(?:Answer|Write)\b.*$|"[^"]*"|\{{\{{[^{{}}]+\}}\}}|{_MASK}', re.DOTALL)
_SLOT = re.compile(r"\{\{([^{}]+)\}\}")
_SENTENCE_END = re.compile(r"[.?!:]\s")
_MOST_BODIES = 64  # wordings of a goal before frames are added


class Rule(NamedTuple):
    """A replacement: the pattern of the replaced words, its alternatives, and a text that the replaced words must not contain."""

    pattern: re.Pattern[str]
    alternatives: tuple[str, ...]
    unless: str

    def apply(self, text: str) -> Iterator[str]:
        """Yield the text with its first match replaced by each alternative."""
        match = self.pattern.search(text)
        if match is None or (self.unless and self.unless in match[0]):
            return
        for alternative in self.alternatives:
            new = _fill_wildcards(alternative, match.groups())
            first = new[:1].upper() if match[0][:1].isupper() else new[:1]
            yield text[: match.start()] + first + new[1:] + text[match.end() :]


def phrasings(task: Task, count: int, *, seed: int = 0) -> list[str]:
    """Return different phrasings of a task's goal, the goal itself first.

    Args:
        task: a task
        count: maximum number of phrasings
        seed: random seed of the selection

    Returns:
        `count` phrasings, or all if the rules yield fewer.

    """
    others: dict[str, None] = {}
    for template in _templates(task):
        text, protected = _mask(template, task.instantiation_dict)
        for body in _bodies(text):
            others.update((_unmask(framed, protected), None) for framed in _with_frames(body))
    others.pop(task.intent, None)
    variants = list(others)
    Random(f"{seed}/{task.task_id}/phrasings").shuffle(variants)
    return [task.intent, *variants][:count]


def rephrase(task: Task, count: int, *, seed: int = 0) -> Task:
    """Return the task with one of `count` phrasings of its goal, drawn by the seed and the task id. With a `count` of 1, the goal stays."""
    if count == 1:
        return task
    drawn = Random(f"{seed}/{task.task_id}/phrasing").choice(phrasings(task, count, seed=seed))
    return replace(task, intent=drawn)


def protected_texts(task: Task) -> list[str]:
    """Return the parts of a goal that no rule changes: values of slots, quoted texts, and the sentences on the format of the answer."""
    return _mask(_own_template(task), task.instantiation_dict)[1]


def _templates(task: Task) -> list[str]:
    """Return the goal with slots as `{{name}}`, and the template's other phrasings."""
    template = task_suite.templates().get(task.template)
    others = template.phrasings if template and template.others else ()
    return [_own_template(task), *(other.replace("{", "{{").replace("}", "}}") for other in others)]


def _own_template(task: Task) -> str:
    """Return the template of the task's goal, or the goal if it has none or another one."""
    template, slots = task.intent_template, task.instantiation_dict
    return template if template and _fill_slots(template, slots) == task.intent else task.intent


def _fill_slots(template: str, slots: Mapping[str, Any]) -> str | None:
    """Return the template with the values of its slots; None if it has a slot without a value."""
    try:
        return _SLOT.sub(lambda match: f"{{{match[1]}}}".format(**slots), template)
    except (LookupError, AttributeError, ValueError):
        return None


def _mask(template: str, slots: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the text with each protected part as one private character, and these parts."""
    protected: list[str] = []

    def mask(match: re.Match[str]) -> str:
        filled = _fill_slots(match[0], slots)
        protected.append(match[0] if filled is None else filled)
        return chr(0xE000 + len(protected) - 1)

    return _PROTECTED.sub(mask, template), protected


def _unmask(text: str, protected: list[str]) -> str:
    return re.sub(_MASK, lambda match: protected[ord(match[0]) - 0xE000], text)


def _bodies(text: str) -> list[str]:
    """Return wordings of a masked goal by the rules, which are applied one after the other, each to all wordings so far."""
    bodies = {text: None}
    for rule in _texts()["rules"]:
        for body in list(bodies)[:_MOST_BODIES]:
            bodies.update(dict.fromkeys(rule.apply(body)))
    return list(bodies)[:_MOST_BODIES]


def _with_frames(body: str) -> Iterator[str]:
    """Yield the masked goal in all frames that suit it: those of questions, of requests, of one sentence, or all."""
    frames, word = _texts()["frames"], re.match(r"[\w-]*", body)
    is_request = bool(word and word[0] in _texts()["verbs"])
    is_closed = body.endswith((".", "?"))
    is_single = is_request and not _SENTENCE_END.search(body) and not body.endswith("?")
    kinds = {"any": True, "closed": is_closed, "request": is_request, "single": is_single, "question": "?" in body}
    lower = body[:1].lower() + body[1:]
    for kind, suits in kinds.items():
        for frame in frames[kind] if suits else ():
            yield frame.format(goal=body, lower=lower, plain=lower.removesuffix("."))


@cache
def _texts() -> Mapping[str, Any]:
    """Return the compiled rules, the frames by kind, and the verbs of requests."""
    texts = tomllib.loads(_TEXTS.read_text(encoding="utf-8"))
    rules = [Rule(_compile(item["from"]), tuple(item["to"]), item.get("unless", "")) for item in texts["rules"]]
    return {"rules": rules, "frames": texts["frames"], "verbs": frozenset(texts["verbs"].split())}


def _compile(words: str) -> re.Pattern[str]:
    """Return the pattern of a rule's words. A small first letter matches a capital, too.

    >>> _compile("give me the *.").findall("Give me the grand total of order 12.")
    ['grand total of order 12']
    """
    parts = [re.escape(part) for part in re.split(r"(\{\}|\*)", words)]
    pattern = "".join({r"\{\}": f"({_MASK})", r"\*": r"([^.?!,:;]+)"}.get(part, part) for part in parts)
    start = f"[{words[0].upper()}{words[0]}]" + pattern[1:] if words[0].islower() else pattern
    return re.compile(rf"(?<!\w){start}(?!\w)")


def _fill_wildcards(words: str, values: tuple[str, ...]) -> str:
    """Return the words with each `{}` and `*` replaced by the next value."""
    remaining = iter(values)
    return re.sub(r"\{\}|\*", lambda _: next(remaining), words)
