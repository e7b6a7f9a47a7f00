"""Generator gamma: right answers in the told forms, and wrong ones composed of operators around values, up to two deep.

An operator of gamma.toml puts words around a text: it denies, bounds, hedges, compares, attributes, conditions, corrects, quotes or
questions it. The entry of an operator states around which texts the result is not a right answer, whatever the values are.
"""

import argparse
import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.answer_generators import Sample, TaskView
from webarena_gym.suite import SPLITS, load
from webarena_gym.tasks import Task

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
OPERATORS, STRUCTURES, VALUES, TEXTS = (WORDS[part] for part in ("operators", "structures", "values", "texts"))
NUMERALS = [numerals.split() for numerals in TEXTS["numerals"]]

_DATES = ("%B %d, %Y", "%b %d, %Y", "%Y-%m-%d")
_TWO_STATES = {"enabled", "disabled", "open", "closed", "public", "private", "in stock", "out of stock"}
_ORDER = re.compile(r"\b(top|most|first|then|order|best|largest|highest|lowest|longest|words|latitude)\b", re.IGNORECASE)


class Phrase(NamedTuple):
    """A text of an answer; `base` is the value in it, and `kinds` are the operators around it from the inside."""

    text: str
    base: str
    is_right: bool
    category: str = "value"
    denies: bool = False
    kinds: tuple[str, ...] = ()


def _key(text: str) -> object:
    """Return the meaning of a value, equal for two notations of it."""
    text = text.strip().rstrip(".").casefold()
    for form in _DATES:
        with suppress(ValueError):
            return datetime.strptime(text, form).date()
    if re.fullmatch(r"-?\$?\d[\d,]*(\.\d+)?", text):
        return Decimal(re.sub(r"[$,]", "", text))
    if match := re.fullmatch(r"(?:(\d+)h ?)?(?:(\d+) ?min)?", text):
        return ("minutes", int(match[1] or 0) * 60 + int(match[2] or 0))
    return tuple(re.findall(r"\w+", text)) or text


class Target:
    """A task with the parsed form of its answer."""

    def __init__(self, task: TaskView) -> None:
        self.goal, self.form = task.goal, task.form
        self.type = str(task.form.get("type") or "text")
        self.right, *self.synonyms = task.reference.split(" |OR| ")
        self.others = sorted({other.split(" |OR| ")[0] for other in task.others} - {"N/A"})
        self.is_ordered = bool(task.form.get("ordered")) or " > " in self.right
        self.key = _key(self.right)
        self.items = self.parts(self.right)
        self.separator = " > " if " > " in self.right else "; "
        self.subject = (
            "the answer is" if self.type == "yes or no" else "the items are" if self.type.startswith("list") else "it is"
        )
        self.tags = self._tags()

    def _tags(self) -> set[str]:
        """Return tags of the answer for the operators and structures.

        any; the type; na or known (neither N/A nor 0); content (known, and not No); open (not of the type yes or no);
        choice (one of two values, so that a denial of the wrong one states the right one).
        """
        if self.right == "N/A":
            return {"any", "open", "na"}
        is_known = self.key != 0
        conditions = {
            "open": self.type != "yes or no",
            "choice": self.type == "yes or no" or " or " in self.goal or self.right.casefold() in _TWO_STATES,
            "known": is_known,
            "content": is_known and self.right != "No",
            "scalar": is_known and self.type in ("money", "number"),
            "quantity": is_known and self.type in ("money", "number", "duration"),
            "items": self.type.startswith("list"),
            "several": self.type.startswith("list") and len(self.items) > 1,
            self.type: is_known,
        }
        return {"any"} | {tag for tag, holds in conditions.items() if holds}

    def parts(self, text: str) -> list[str]:
        """Return the items of a list or the parts of a record, or the text of another answer by itself."""
        if not re.match("list|record", self.type) or text == "N/A":
            return [text]
        by_semicolon = ";" in text or "semicolon" in self.goal or " address " in self.goal
        return [item.strip() for item in text.split(" > " if " > " in text else ";" if by_semicolon else ",")]

    def meaning(self, text: str) -> object:
        """Return the meaning of an answer."""
        keys = [_key(item) for item in self.parts(text)]
        return tuple(keys) if self.is_ordered or self.type == "record" else frozenset(keys)


def _change_digit(rng: random.Random, text: str) -> str:
    """Return a text with one digit changed into one that is not 0."""
    place = rng.choice([match.start() for match in re.finditer(r"\d", text)])
    return text[:place] + rng.choice([digit for digit in "123456789" if digit != text[place]]) + text[place + 1 :]


def _near_values(rng: random.Random, target: Target) -> Iterator[tuple[str, str]]:
    """Yield values of the right type that are near to the right one, with their kinds."""
    right, key, type_ = target.right, target.key, target.type
    if re.search(r"\d", right):
        yield "digit", _change_digit(rng, right)
    if isinstance(key, date):
        form = next(form for form in _DATES if re.sub(r"\b0(\d),", r"\1,", key.strftime(form)) == right)
        near = [key + timedelta(days=days) for days in (1, -1, 7, 30, 365, -366)]
        yield from (("near date", re.sub(r"\b0(\d),", r"\1,", day.strftime(form))) for day in near)
    elif isinstance(key, Decimal) and key and type_ in ("money", "number"):
        places = len(right.partition(".")[2])
        for factor, step in ((1, 1), (1, -1), (1, 10), (2, 0), (10, 0), (100, 0), (1000, 0), (Decimal("0.1"), 0)):
            number = key * factor + Decimal(step).scaleb(-places if rng.random() < 1 / 2 else 0)
            written = f"{number:,.{places}f}" if "," in right or number >= 10000 else f"{number:.{places}f}"
            if number > 0:
                yield "near value", f"${written}" if type_ == "money" else written
    elif type_ == "duration" and isinstance(key, tuple):
        for number in (key[1] + 1, key[1] + 10, key[1] * 2, key[1] + 60, max(key[1] - 1, 1)):
            yield "near value", f"{number // 60}h {number % 60}min" if number >= 60 else f"{number} min"
    elif match := re.fullmatch(r"((\d\d):\d\d-)?(\d\d):(\d\d)", right):
        yield from (("near value", f"{match[1] or ''}{(int(match[3]) + hours) % 24:02}:{match[4]}") for hours in (1, 12, 22))
    elif type_ == "text" and re.fullmatch(r"[^@\s]+@[^@\s]+", right):
        yield "mail address", right.replace("@", rng.choice(("x@", "7@", "@mail.", "@not-")))
    elif type_ == "text" and re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", right):
        yield "name", f"{right.split()[0]} {rng.choice(('Quillon', 'Braswick', 'Zellweg'))}"


def _odd_values(rng: random.Random, target: Target) -> Iterator[tuple[str, str]]:
    """Yield the right value with something that makes it another one or no answer, with kinds."""
    right, items, separator = target.right, target.items, target.separator
    pool = [item for other in target.others for item in target.parts(other) if _key(item) not in map(_key, items)]
    place = rng.randrange(len(items))
    rest, left, new = items[:place] + items[place + 1 :], items[place], rng.choice(pool or ["Ada Quillon"])
    texts = {"x": right, "n": right.removeprefix("$"), "left": left, "new": new, "first": items[0], "last": items[-1]}
    texts |= {"before": "".join(f"{item}{separator}" for item in items[:place]), "all": separator.join(items)}
    texts |= {"after": "".join(f"{separator}{item}" for item in items[place + 1 :]), "rest": separator.join(rest)}
    texts |= {"count": str(len(items)), "more": str(len(items) - 1), "other": (rest or items)[0]}
    if target.type == "hours":
        texts["first"], _, texts["last"] = right.partition("-")
    texts["month"] = target.key.strftime("%B %Y") if isinstance(target.key, date) else ""
    texts["minutes"] = str(target.key[1]) if target.type == "duration" and isinstance(target.key, tuple) else ""
    texts["comma"] = texts["n"].replace(",", "").replace(".", ",")
    for tag in sorted(target.tags & VALUES.keys()):
        for kind, forms in VALUES[tag].items():
            yield from ((kind, form.format(**texts)) for form in rng.sample(forms, min(2, len(forms))))
    if target.type == "number" and isinstance(target.key, Decimal) and target.key in range(2, 13):
        yield "number in words", rng.choice(NUMERALS)[int(target.key) + rng.choice((1, -1))]
    if not re.match("list|record", target.type):
        return
    yield "extra item in JSON", json.dumps({"answer": [new, *items]})
    if re.search(r"\d", left):
        yield "changed digit", texts["before"] + _change_digit(rng, left) + texts["after"]
    if rest:
        yield "missing item", texts["rest"]
        yield "missing item in JSON", json.dumps(rng.choice((rest, {"answer": rest})))
    if target.is_ordered and "labels" not in target.form:  # a low and a high price explain themselves
        yield "swapped", separator.join(items[1:] + items[:1])
    elif all(":" in item for item in items) and target.type == "record":
        pairs = [item.rpartition(":") for item in items]
        yield "swapped", "; ".join(f"{pair[0]}:{next_pair[2]}" for pair, next_pair in pairwise((*pairs, pairs[0])))
    if labels := [rng.choice(names) for names in target.form.get("labels", ())]:
        yield "swapped labels", "; ".join(f"{label}: {item}" for label, item in zip(labels[::-1], items, strict=True))
        yield "one label", f"{labels[0]}: {items[0]}"


def _wrong_values(rng: random.Random, target: Target) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return wrong values of the right type and other wrong values, as (kind, text)."""
    rights = {target.meaning(text) for text in (target.right, *target.synonyms)}
    if target.type == "yes or no":
        return [("opposite", text) for text in (("No", "no") if target.right == "Yes" else ("Yes", "yes"))], []
    is_list = re.match("list|record", target.type)
    plain = [("other draw", text) for text in rng.sample(target.others, min(8, len(target.others)))]
    plain += [("invented", text) for text in TEXTS["invented"].get(target.type, TEXTS["invented"]["text"])]
    odd = [] if target.right == "N/A" else list(_odd_values(rng, target))
    if target.right != "N/A":
        plain += [] if is_list else _near_values(rng, target)
        plain += [("other of two", text) for text in target.others if " or " in target.goal and text in target.goal]
    if is_list:  # an item of the right list is no alternative to it
        own = {_key(item) for item in target.items}
        plain = [(kind, text) for kind, text in plain if not own.issuperset(map(_key, target.parts(text)))]
    plain = [(kind, text) for kind, text in plain if target.meaning(text) not in rights]
    return plain, [(kind, text) for kind, text in odd if not kind.startswith("swapped") or target.meaning(text) not in rights]


def _compose(rng: random.Random, target: Target, inner: Phrase, wrong: Sequence[str]) -> Phrase | None:
    """Put a random operator around a phrase, or return None if none of a few tries fits."""
    others = [text for text in wrong if text.casefold() != inner.base.casefold()]
    # of two values, what casts doubt on the wrong one favors the right one
    hides_right = "choice" in target.tags and inner.base != target.right
    for _ in range(12):
        kind, operator = rng.choice(list(OPERATORS.items()))
        form = rng.choice(operator["forms"])
        if (
            not target.tags & set(operator["types"])
            or kind in inner.kinds
            or (hides_right and inner.kinds)
            or operator["inner"] not in ("right" if inner.is_right else "wrong", "" if hides_right else "any")
            or (inner.denies and not operator.get("around_denials"))
            or ("unless" in operator and re.search(operator["unless"], target.goal, re.IGNORECASE))
            or (operator["on"], inner.category) == ("value", "clause")
            or "\n" in inner.text
            or ("{w}" in form and not others)
        ):
            continue
        subject = f"{target.subject} " if operator["on"] == "clause" and inner.category == "value" else ""
        written = form.format(x=subject + inner.text, w=rng.choice(others) if "{w}" in form else "")
        denies = inner.denies or operator.get("denies", False)
        return Phrase(written, inner.base, False, operator["gives"], denies, (*inner.kinds, kind))
    return None


def _filled(form: str, **values: str) -> str:
    """Replace the marks of a form, such as @x, or @xj in JSON, in one pass, so that values stay as they are."""

    def write(match: re.Match[str]) -> str:
        return json.dumps(values[match[1]], ensure_ascii=False) if match[2] else values[match[1]]

    return re.sub(rf"@([{''.join(values)}])(j?)\b", write, form)


def _framed(rng: random.Random, text: str, *, is_value: bool) -> str:
    """Write a text as an agent ends with it: bare, as a sentence, behind a mark, or in JSON."""
    if "\n" in text or text.startswith(("[", "{")):
        return text
    form = rng.choice(TEXTS["frames"] + TEXTS["frames_of_values"] if is_value else TEXTS["frames"])
    return _filled(form, x=text) if is_value or form != "@x" else text[:1].upper() + text[1:] + "." * (text[-1:] not in ".?!")


def _structures(rng: random.Random, target: Target, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield answers that their form makes wrong, with their kinds."""
    same, opposite = ("yes", "no") if target.right == "Yes" else ("no", "yes")
    for tag in sorted(target.tags & STRUCTURES.keys()):
        for kind, forms in STRUCTURES[tag].items():
            for form in rng.sample(forms, min(2, len(forms))):
                phrases = {mark: rng.choice(target.form.get(word, [word])) for mark, word in (("s", same), ("t", opposite))}
                yield kind, _filled(form, r=target.right, w=rng.choice(wrong), g=target.goal, **phrases)
    if target.type == "yes or no":
        yield "opposite in another language", rng.choice(TEXTS[opposite])
    shots = list(dict.fromkeys((target.right, *rng.sample(list(wrong), min(4, len(wrong))))))
    rng.shuffle(shots)
    yield "many values", rng.choice(("; ", ", ", "\n", " or ", " | ", " / ")).join(shots)
    yield "many values in JSON", json.dumps(rng.choice((shots, {"answer": shots})), ensure_ascii=False)


def _notations(rng: random.Random, target: Target) -> Iterator[str]:
    """Yield the usual notations of the right value; a JSON list is one."""
    right, key, items, type_ = target.right, target.key, target.items, target.type
    yield right
    if right == "N/A":
        return
    if type_.startswith("list") and " > " not in right:
        yield from ("; ".join(items), json.dumps(items, ensure_ascii=False))
        if re.search(r"\b(all|list)\b", target.goal, re.IGNORECASE) and not (target.is_ordered or _ORDER.search(target.goal)):
            yield "; ".join(rng.sample(items, len(items)))
    elif isinstance(key, date):
        yield from (re.sub(r"\b0(\d),", r"\1,", key.strftime(form)) for form in (*_DATES, "%-d %B %Y", "%-m/%-d/%Y"))
    elif type_ == "money" and isinstance(key, Decimal):
        yield from (f"${key:,.2f}", f"{key:.2f}", f"{key:.2f} dollars", f"USD {key:.2f}", f"{key:,.2f} USD")
    elif type_ == "number" and target.goal.startswith("How many") and re.fullmatch(r"[\d,]+", right):
        number = int(right.replace(",", ""))
        yield from (f"{number:,}", *NUMERALS[0][number : number + 1])
    elif type_ == "duration" and isinstance(key, tuple):
        hours, minutes = divmod(int(key[1]), 60)
        yield f"{hours}h {minutes}min" if hours else f"{minutes}min"
        yield from (f"{key[1]} min", f"{key[1]} minute{'s' * (key[1] != 1)}")
        if hours and minutes:
            yield f"{hours} hour{'s' * (hours > 1)} {minutes} minute{'s' * (minutes > 1)}"
    elif type_ == "phone":
        yield from (right.replace("-", " "), re.sub(r"^(\d{3})-", r"(\1) ", right), right.replace("-", ""))
    elif type_ == "yes or no":
        yield from (right.lower(), right.upper(), f"{right}.")


def _right_answers(rng: random.Random, target: Target, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield right answers in the told forms, with their kinds."""
    for text in dict.fromkeys(_notations(rng, target)):
        explanation = _filled(rng.choice(TEXTS["explanations"]), w=rng.choice(wrong))
        yield "bare value", text
        yield "explanation and marked line", f"{explanation}\n{rng.choice(('', chr(10)))}Answer: {text}"
        is_json = text.startswith("[") and target.type.startswith("list")
        yield "JSON object", json.dumps({"answer": json.loads(text) if is_json else text}, ensure_ascii=False)
        if not is_json and text[-1] not in "?!":
            yield "last sentence", f"{rng.choice(TEXTS['explanations'][:3])} The answer is {text.rstrip('.')}."


def generate(rng: random.Random, task: TaskView) -> Iterator[Sample]:
    """Yield labelled answers to a task: the told forms of the right value, and about a hundred wrong ones."""
    target = Target(task)
    plain, odd = _wrong_values(rng, target)
    wrong = [text for _, text in plain]
    yield from (Sample(text, True, f"right: {kind}") for kind, text in _right_answers(rng, target, wrong))
    yield from (Sample(_framed(rng, text, is_value=True), False, kind) for kind, text in (*plain, *odd))
    yield from (Sample(text, False, kind) for kind, text in _structures(rng, target, wrong))
    for _ in range(60):
        base = rng.choice(wrong) if rng.random() < 0.25 else target.right
        inner = _compose(rng, target, Phrase(base, base, base == target.right), wrong)
        outer = _compose(rng, target, inner, wrong) if inner and inner.category != "end" and rng.random() < 0.75 else None
        if phrase := outer or inner:
            yield Sample(_framed(rng, phrase.text, is_value=phrase.category == "value"), False, " in ".join(phrase.kinds))


def views(world_seeds: Sequence[int] = (11, 12)) -> list[TaskView]:
    """Return the tasks with an answer of all bundled splits, and of the training, test and pool templates in other worlds."""
    tasks = [task for split in SPLITS for task in load(split)]
    tasks += [task for seed in world_seeds for split in ("train", "test", "pool") for task in load(split, world_seed=seed)]
    drawn: defaultdict[str, list[tuple[Task, str]]] = defaultdict(list)
    for task in tasks:
        if "string_match" in task.eval["eval_types"]:
            drawn[task.template].append((task, task.eval["reference_answers"]["fuzzy_match"]))
    return [
        TaskView(task.intent, text, task.eval.get("asked") or {}, tuple(sorted({other for _, other in found} - {text})))
        for found in drawn.values()
        for task, text in found
    ]


def main() -> None:
    """Print the number of answers of each kind, with an example."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--answers", type=int, default=5000, help="number of different wrong answers")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    options = parser.parse_args()
    rng, tasks = random.Random(options.seed), views()
    counts, examples, wrong = Counter[str](), dict[str, str](), set[str]()
    while len(wrong) < options.answers:
        task = rng.choice(tasks)
        for sample in rng.sample(list(generate(rng, task)), 20):
            counts[sample.kind] += 1
            examples.setdefault(sample.kind, f"{task.reference[:50]!r}: {sample.answer[:150]!r}")
            wrong |= set() if sample.is_right else {sample.answer}
    lines = [f"{count:6} {kind}: {examples[kind]}" for kind, count in sorted(counts.items())]
    print(*lines, f"{counts.total()} answers of {len(counts)} kinds, {len(wrong)} different wrong answers", sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
