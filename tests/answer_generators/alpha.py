"""Generate labelled answers from the phrasings of alpha.toml and from small changes of the value.

A wrong answer never has the value of the reference, or has it only where it is denied, doubted, struck, one of several, or
about something else. Answers that graders could disagree on are left out: a spelling mistake, a title without its size, a
remark that changes nothing, an earlier marked line before the last one.
"""

import argparse
import base64
import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from sys import stdout
from typing import Any

from tests.answer_generators import Sample, TaskView
from webarena_gym.suite import SPLITS, load

NUMERIC = ("money", "number", "percent", "duration", "distance")
AS_WRITTEN = ("fraction", "arithmetic", "sign", "scale", "unit", "digits", "another host")  # of the reference's own notation
INVENTED = ("Qualmint", "Zervolan", "Plonick", "Dastrel", "Umberquist")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MONTHS = tuple(f"{date(2000, month, 1):%B}" for month in range(1, 13))


def generate(rng: random.Random, task: TaskView) -> Iterator[Sample]:
    """Yield one answer of each kind that suits the task, right and wrong ones mixed; another generator state yields other ones."""
    samples = [Sample(answer, True, f"right: {kind}") for kind, answer in _right(rng, task)]
    for kind, answer in _wrong(rng, task):
        can_be_framed = not re.search(r"\n|Answer:|answer is|^[\[{]", answer)
        frames = ["Answer: {}", "I read all of the page.\n\nAnswer: {}", "The answer is {}."]
        samples.append(
            Sample(rng.choice(frames).format(answer) if can_be_framed and rng.random() < 0.3 else answer, False, kind)
        )
    rng.shuffle(samples)
    yield from samples


def _right(rng: random.Random, task: TaskView) -> Iterator[tuple[str, str]]:
    kind, items, spellings = _kind(task), _items(task), task.reference.split(" |OR| ")
    first = spellings[0]
    if kind != "month":
        spellings = _notations(kind, first)
    if items:
        if not task.form.get("ordered") and " > " not in first and not re.search(r"order|first|then|most|top|best", task.goal):
            rng.shuffle(items)
        yield "list with semicolons", "; ".join(items)
        yield "JSON list", json.dumps(items)
        yield "JSON object with a list", json.dumps({"answer": items})
        spellings = [first, "; ".join(items)]
    value, other = rng.choice(spellings), _other(rng, task)
    yield "bare value", value
    is_whole = kind == "number" and re.fullmatch("[1-9][0-9]*", value)
    yield "JSON object", json.dumps({"answer": int(value) if is_whole else value})
    yield "marked last line", f"Answer: {value}"
    before = "I searched in vain." if kind == "none" else rng.choice(["I opened the page and read it.", "I compared all rows."])
    yield "explanation and marked last line", f"{before}\n\nAnswer: {value}"
    yield "explanation with another value", f"The first page shows {other}, which is something else.\nAnswer: {value}"
    sentence = f"The answer is {value}" + "." * (not value.endswith("."))
    yield "sentence", sentence
    yield "explanation and last sentence", f"{before} {sentence}"


def _wrong(rng: random.Random, task: TaskView) -> Iterator[tuple[str, str]]:
    kind, first = _kind(task), task.reference.split(" |OR| ")[0]
    other, near = _other(rng, task), _near(rng, kind, task)
    right = first if _items(task) else rng.choice(_notations(kind, first))
    values = {"r": right, "o": other, "n": near, "g": task.goal, "s": " ".join(rng.sample(INVENTED, 2)), **_fields(kind, task)}
    values |= {name.upper(): json.dumps(values[name]) for name in "rong"}
    for name, phrasings in _suitable(kind, first):
        known = values | ({"r": first} if name in AS_WRITTEN else {})
        usable = [each for each in phrasings if set(re.findall(r"\{(\w+)\}", each)) <= known.keys() | {"reference", "answer"}]
        if name == "unit":  # the unit that the goal asks for would be right
            usable = [each for each in usable if (re.sub(r"\{\w+\}|[^A-Za-z ]", "", each).strip() or "\0") not in task.goal]
        if usable and not (name == "question" and "?" in first):
            yield name, _filled(rng.choice(usable), known)
    if kind != "none":
        values_of_all = [*rng.sample([first, other, near], 3), *task.others[:6]]
        yield "many values", rng.choice(["; ", ", ", "\n", " "]).join(values_of_all)
    if kind != "none" and len(first) > 3:
        hints = [f"It begins with {first[0]}.", f"the one that ends in {first[-1]}", f"something of {len(first)} characters"]
        yield "description", rng.choice(hints)
        yield "encoded", rng.choice(["base64: ", "Decode this: "]) + base64.b64encode(first.encode()).decode()
        yield "struck by combining signs", "".join(sign + "\u0336" for sign in first) + rng.choice(["", f" {other}"])
    if kind == "text" and len(first.split()) >= 4:
        yield "first word", first.split()[0]
    if number := re.search(r"\d{6,}", task.goal):
        yield "another number of the goal", f"{_with_other_digit(rng, number[0])}: {right}"
    for name in task.form.get("about", ()):
        if name not in first:
            yield "step on the way", rng.choice([name, f"The answer is {name}.", f"Answer: {name}"])
    if _items(task) or kind == "record":
        yield from _wrong_parts(rng, kind, task)


def _filled(phrasing: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), phrasing)


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _suitable(kind: str, first: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the kinds of mistakes that suit a type, each with its phrasings."""
    tables, names = _tables(), ["any"]
    if kind == "none":
        names.append("no_answer")
    elif kind not in NUMERIC or re.search(r"[1-9]", first):
        names += ["answer", *(["amount"] if kind in NUMERIC else ())]
        yield from tables["typed"].get(kind, {}).items()
    for name in names:
        yield from tables[name].items()


def _fields(kind: str, task: TaskView) -> dict[str, str]:
    """Return the parts of a value that the phrasings of its type use."""
    first = task.reference.split(" |OR| ")[0]
    amount, day, digits = _amount(first), _day(first), re.sub(r"[$%]", "", first)
    if kind == "money" and amount is not None:
        fields = {"d": digits, "shifted": f"${amount / 100:,.4f}", "joined": f"{amount:.2f}".replace(".", "")}
        fields |= {"thousands": f"${amount * 1000:,.0f}", "euro": f"{amount:.2f} \u20ac".replace(".", ",")}
        return fields | ({"whole": f"{amount.to_integral_value()}"} if amount % 1 else {})
    if kind == "number" and amount is not None:
        as_decimal = first.replace(",", ".") if "," in first and not first.endswith("0") else f"{first}.5"
        return {"d": digits, "moved": first.replace(".", "") if "." in first else as_decimal}
    if kind == "yes or no":
        yes, no = ((task.form.get(side) or ("",))[0] for side in ("yes", "no"))
        return {"mine": yes, "theirs": no} if first.casefold() == "yes" else {"mine": no, "theirs": yes}
    if kind == "date" and day:
        swapped = (
            {"swapped": f"{MONTHS[day.day - 1]} {day.month}, {day.year}"} if day.day <= 12 and day.day != day.month else {}
        )
        return {"month": f"{day:%B}", "year": str(day.year), "day": str(day.day), **swapped}
    if kind in ("time", "hours"):
        return {"half": "-".join(_clock(part, is_false=True) for part in first.split("-"))}
    fields = {"d": digits, "longer": first.replace("h", "d", 1) if "h" in first else first.replace("min", "s")}
    fields["miles"] = first.replace("km", "miles") if "km" in first else first.replace(" m", " km")
    return fields | {"host": re.sub(r"^https?://", "", first), "cut": first[:-1], "half_of_it": first[: len(first) // 2]}


def _wrong_parts(rng: random.Random, kind: str, task: TaskView) -> Iterator[tuple[str, str]]:
    """Yield wrong lists and records: parts missing, added, repeated, changed or in the wrong order."""
    parts, glue = _parts(task.reference, task.goal)
    shapes = [
        glue.join,
        "; ".join,
        json.dumps,
        lambda rows: json.dumps({"answer": rows}),
        lambda rows: "- " + "\n- ".join(rows),
    ]
    write = glue.join if kind == "record" else rng.choice(shapes)
    place = rng.randrange(len(parts))
    changed = _changed(rng, kind, parts[place])
    yield "one part changed", write([*parts[:place], changed, *parts[place + 1 :]])
    yield "added part", write([*parts, changed])
    yield "added part in front", write([changed, *parts])
    yield "shortened", f"{parts[0]} and {rng.choice(['others', 'so on', 'some more', '3 more'])}"
    if len(parts) == 1 or len(set(parts)) < len(parts):
        return
    yield "missing part", write(parts[:place] + parts[place + 1 :])
    yield "part repeated for another", write([*parts[:-1], parts[0]])
    yield "part denied", f"{glue.join(parts[:-1])}{glue}not {parts[-1]}"
    yield "alternatives for and", f"either {' or '.join(parts)}, but not all of them"
    if task.form.get("ordered") or glue == " > ":
        yield "wrong order", write(parts[::-1])
        yield "rotated order", write(parts[1:] + parts[:1])
    labels = [names[0] for names in task.form.get("labels", ())]
    if len(labels) == len(parts):
        yield "labels swapped", "; ".join(f"{label}: {part}" for label, part in zip(labels, parts[::-1], strict=True))
    pairs = [part.rsplit(": ", 1) for part in parts]
    if all(len(pair) == 2 for pair in pairs) and len({pair[1] for pair in pairs}) > 1:
        values = [pair[1] for pair in pairs]
        yield (
            "values swapped",
            glue.join(f"{pair[0]}: {value}" for pair, value in zip(pairs, values[1:] + values[:1], strict=True)),
        )


def _kind(task: TaskView) -> str:
    return "none" if task.reference == "N/A" else str(task.form.get("type") or "text")


def _items(task: TaskView) -> list[str]:
    return _parts(task.reference, task.goal)[0] if _kind(task).startswith("list of ") else []


def _parts(reference: str, goal: str) -> tuple[list[str], str]:
    """Return the items of a reference and the separator between them."""
    default = "; " if "semicolon" in goal or "full address" in goal or "in the form" in goal else ", "
    glue = next((sign for sign in ("; ", " > ") if sign in reference), default)
    return reference.split(glue), glue


def _key(kind: str, text: str) -> object:
    """Return the value of a text, by which answers of a type are told apart."""
    if kind in ("money", "number", "percent") and (amount := _amount(text)) is not None:
        return amount
    if kind == "duration":
        return sum(int(count) * {"d": 1440, "h": 60, "m": 1}[unit] for count, unit in re.findall(r"(\d+) ?([dhm])", text))
    if kind == "date" and (day := _day(text)):
        return day
    return re.sub(r"[\W_]", "", text).casefold()


def _other(rng: random.Random, task: TaskView) -> str:
    """Return the answer of another draw whose value is another one, or else an invented value of the type."""
    kind, base = _kind(task), str(task.form.get("type") or "text").removeprefix("list of ")
    own = [_key(kind, each) for each in task.reference.split(" |OR| ")]
    items = {_key(base, item) for item in _items(task)}
    fit = []
    for other in (each.split(" |OR| ")[0] for each in task.others):
        key = _key(kind, other)
        is_new = not items or not items.issuperset(_key(base, part) for part in _parts(other, task.goal)[0])
        is_part = kind in ("text", "code", "url") and (str(key) in str(own[0]) or str(own[0]) in str(key))
        if other != "N/A" and key not in own and is_new and not is_part:
            fit.append(other)
    default = str(_tables()["defaults"].get(base, "Dastrel Plonick"))
    return rng.choice(fit) if fit else _near(rng, kind, task) if _key(kind, default) in own or kind == "yes or no" else default


def _near(rng: random.Random, kind: str, task: TaskView) -> str:
    if kind == "none":
        return str(_tables()["defaults"].get(task.form.get("type"), rng.choice(INVENTED)))
    first = task.reference.split(" |OR| ")[0]
    parts, glue = _parts(first, task.goal) if kind.startswith("list of ") or kind == "record" else ([first], "")
    place = rng.randrange(len(parts))
    parts[place] = _changed(rng, kind, parts[place])
    return glue.join(parts)


def _changed(rng: random.Random, kind: str, text: str) -> str:
    """Return a text of the same type with another value."""
    kind, amount, invented = kind.removeprefix("list of "), _amount(text), rng.choice(INVENTED)
    if kind == "money" and amount is not None:
        return f"${amount + rng.choice([Decimal(1) / 100, Decimal(10), Decimal(100), amount * 9 + 1]):,.2f}"
    if kind == "number" and amount is not None and "." not in text:
        return f"{amount + rng.choice([Decimal(1), Decimal(2), Decimal(10), amount * 9 + 1])}"
    if kind == "date" and (day := _day(text)):
        later = day + timedelta(days=rng.choice([-1, 1, 7, 30, 365, -366]))
        return f"{later:%Y-%m-%d}" if text[:4].isdigit() else f"{later:%B} {later.day}, {later.year}"
    if kind == "month" and (name := next((month for month in MONTHS if month in text), "")):
        return text.replace(name, rng.choice([month for month in MONTHS if month != name]))
    if kind == "yes or no":
        return "No" if text.casefold() == "yes" else "Yes"
    words = [word for word in re.findall(r"[^\W\d]{3,}", text) if not word.startswith("http")]
    if words and (kind in ("text", "url", "email") or not re.search(r"\d", text)):
        return text.replace(max(words, key=len), invented if kind == "text" else invented.lower())
    return _with_other_digit(rng, text) if re.search(r"\d", text) else invented


def _with_other_digit(rng: random.Random, text: str) -> str:
    place = rng.choice([match.start() for match in re.finditer(r"\d", text)])
    return text[:place] + rng.choice([digit for digit in "123456789" if digit != text[place]]) + text[place + 1 :]


def _amount(text: str) -> Decimal | None:
    digits = re.search(r"-?\d[\d,]*(?:\.\d+)?", text)
    return Decimal(digits[0].replace(",", "")) if digits else None


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d" if text[:4].isdigit() else "%B %d, %Y").date()
    except ValueError:
        return None


def _clock(text: str, is_false: bool = False) -> str:
    """Return a time of day on the clock of twelve hours, or with `is_false` the one twelve hours from it."""
    hour = int(text[:2])
    return f"{(hour + 11) % 12 + 1}{text[2:]} {'pm' if (hour % 24 >= 12) is not is_false else 'am'}"


def _notations(kind: str, text: str) -> list[str]:
    """Return a value in the usual notations of its type, the given one first."""
    amount, day = _amount(text), _day(text)
    if kind == "money" and amount is not None:
        notations = ["{:.2f}", "${:.2f}", "${:,.2f}", "{:.2f} dollars", "USD {:.2f}", "{:,.2f} USD"]
        return [text, *(notation.format(amount) for notation in notations)]
    if kind == "number" and amount is not None and "." not in text:
        return [text, f"{amount:,}", f"{amount}", *(WORDS[int(amount) : int(amount) + 1] if amount >= 0 else ())]
    if kind == "date" and day:
        spelled = [f"{day:%B} {day.day}, {day.year}", f"{day:%b} {day.day}, {day.year}", f"{day.day} {day:%B} {day.year}"]
        return [text, f"{day:%Y-%m-%d}", f"{day.month}/{day.day}/{day.year}", *spelled]
    if kind == "duration" and re.fullmatch(r"(?:\d+h )?\d+ ?min", text):
        total = int(str(_key(kind, text)))
        hours, minutes = divmod(total, 60)
        long = (
            [f"{hours} h {minutes} min", f"{hours} hour{'s'[: hours - 1]} and {minutes} minutes"]
            if hours and minutes > 1
            else []
        )
        return [text, f"{total} min", f"{total} minutes", *long]
    if kind == "phone" and re.fullmatch(r"\d{3}-\d{3}-\d{4}", text):
        return [text, f"({text[:3]}) {text[4:]}", *(text.replace("-", sign) for sign in (" ", ".", ""))]
    if kind in ("time", "hours"):
        return [
            text,
            " - ".join(_clock(part) for part in text.split("-")),
            text.replace("-", " - "),
            text.replace("-", "\u2013"),
        ]
    return {"yes or no": [text, text.lower()], "none": ["N/A", "n/a"]}.get(kind, [text])


def _views() -> dict[str, list[TaskView]]:
    """Return the tasks of the suite that ask for an answer, by its type."""
    tasks = [task for split in SPLITS for task in load(split) if "string_match" in task.eval_types]
    drawn, views = defaultdict(list), defaultdict(list)
    for task in tasks:
        drawn[task.template].append(task.eval["reference_answers"]["fuzzy_match"])
    for task in tasks:
        reference = task.eval["reference_answers"]["fuzzy_match"]
        others = tuple(other for other in drawn[task.template] if other != reference)
        view = TaskView(task.intent, reference, task.eval.get("asked", {}), others)
        views[_kind(view)].append(view)
    return views


def main() -> None:
    """Print the number of answers of each kind, and one of each."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--answers", type=int, default=5000, help="number of answers")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    views, counts, examples = _views(), Counter[tuple[bool, str]](), {}
    while counts.total() < options.answers:
        task = rng.choice(rng.choice(list(views.values())))  # so that rare types are tried as often
        for sample in generate(rng, task):
            if counts.total() == options.answers:
                break
            key = (sample.is_right, sample.kind)
            counts[key] += 1
            if rng.randrange(counts[key]) == 0:
                examples[key] = (sample.answer, task.reference)
    for key, count in sorted(counts.items()):
        stdout.write(
            "{} {:5} {}: {!r} (reference {!r})\n".format("right" if key[0] else "wrong", count, key[1], *examples[key])
        )


if __name__ == "__main__":
    main()
