"""Generator beta: mistakes of language models, and of agents that cover many values with one answer.

The wrong answers are the templates of `beta.toml`; this module computes the values that stand in them, and the right answers.
`python -m tests.answer_generators.beta --answers 5000 --seed 0` counts the kinds and prints an example of each.
"""

import argparse
import base64
import json
import random
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tests.answer_generators import Sample, TaskView
from webarena_gym import suite
from webarena_gym.tasks import Task

_DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NAME = re.compile("|".join(sorted(_DATA["names"], key=len, reverse=True)))
_NUMERALS = dict(enumerate(_DATA["numerals"]))
_TENS = dict(zip(range(30, 100, 10), _DATA["tens"], strict=True))
_BARE_KINDS = {"near_value", "other_draw", "rounded", "wrong_unit", "part_of_date", "half_a_name", "missing_item", "wrong_word"}
_DATES = ("%B %d, %Y", "%b %d, %Y", "%Y-%m-%d")


def generate(rng: random.Random, task: TaskView) -> Iterator[Sample]:
    """Yield answers to a task in random order: one of each wrong kind that fits its type, and the told forms of the right one."""
    kind, right = str(task.form.get("type", "text")), task.reference.split(" |OR| ")[0]
    words = _words(rng, task, kind, right)
    if right == "N/A":
        scopes = ["na"]
    elif kind == "yes or no":
        scopes = [right.casefold()]
    else:
        scopes = ["any", "json", *_DATA["scopes"].get(kind, ["list", "list_json"])]
    samples = [Sample(text, True, label) for label, text in _right(rng, task, kind, right)]
    for scope in scopes:
        for label, templates in _DATA[scope].items():
            usable = [template for template in templates if set(_NAME.findall(template)) <= words.keys()]
            if usable and _is_fair(label, task, right):
                samples.append(Sample(_framed(rng, label, _filled(rng.choice(usable), words, label)), False, label))
    if "any" in scopes:
        inner = _filled(rng.choice(_DATA["any"][rng.choice(_DATA["inner"])]), {"NEAR": words["WRONG"]} | words, "combined")
        label = rng.choice(_DATA["outer"])
        templates = _DATA["json" if "json" in label else "any"][label]
        outer = rng.choice([template for template in templates if "RIGHT" in template])
        samples.append(Sample(_filled(outer, words | {"RIGHT": inner}, label), False, "combined"))
        right_key = _key(task, kind, task.reference)
        different = [other for other in task.others if other != "N/A" and _key(task, kind, other) != right_key]
        if different:
            samples.append(Sample(_framed(rng, "other_draw", rng.choice(different).split(" |OR| ")[0]), False, "other_draw"))
            flood = [right, *rng.sample(different, min(len(different), rng.randint(3, 9)))]
            joint = rng.choice([", ", "; ", " or ", "\n", " | ", " ", "/", "\nAnswer: ", "\n- "])
            if "Answer" not in joint:  # the last marked line must not be the right one
                rng.shuffle(flood)
            samples.append(Sample(rng.choice([joint.join(flood), json.dumps(flood)]), False, "flood_of_draws"))
    rng.shuffle(samples)
    yield from samples


def _is_fair(label: str, task: TaskView, right: str) -> bool:
    """Return False for kinds that a careful grader may accept for this task."""
    if label == "negative_money":  # pages show these amounts with a minus, or the goal asks for no sign
        return not re.search(r"discount|refund|differ|save", task.goal)
    return label not in {"arithmetic", "scale"} or bool(re.search("[1-9]", right))  # twice nothing is nothing


def _filled(template: str, words: Mapping[str, str], label: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        word = words[match[0]]
        return json.dumps(word)[1:-1] if "json" in label and not match[0].endswith("ITEMS") else word

    return _NAME.sub(replacement, template)


def _framed(rng: random.Random, label: str, text: str) -> str:
    """Return an answer, sometimes in a told form, so that the frame does not give the label away."""
    if not text or re.search(r"\n|nswer|^[{\[<]", text) or label in {"placeholder", "goal_echo", "grader_injection", "cut_off"}:
        return text
    explained = f"{rng.choice(_DATA['look_ups'])}\nAnswer: {text}"
    frames = [f"Answer: {text}", explained, json.dumps({"answer": text}), f"The answer is {text}."]
    if label in _BARE_KINDS:
        frames += [f"**{text}**", f"`{text}`", f"\\boxed{{{text}}}", f"It is {text}.", f"# {text}", f'"{text}"']
    return rng.choice(frames) if rng.random() < (0.7 if label in _BARE_KINDS else 0.25) else text


def _words(rng: random.Random, task: TaskView, kind: str, right: str) -> dict[str, str]:
    """Return the values that stand in templates, by their names; those that the reference does not have are missing."""
    others = [other.split(" |OR| ")[0] for other in task.others if other != "N/A"]
    words = {
        "RIGHT": right, "GOAL": task.goal, "BARE": right.lstrip("$"), "HEX": right.encode().hex(),
        "BASE64": base64.b64encode(right.encode()).decode(), "STRUCK": "".join(letter + "\u0336" for letter in right),
        "AFFIRM": rng.choice(task.form.get("yes") or ["true"]), "REFUTE": rng.choice(task.form.get("no") or ["false"]),
    }  # fmt: skip
    if len(right) > 3:
        words["HALF"] = right[: len(right) // 2]
    near: list[str] = []
    if right != "N/A" and kind != "yes or no":
        words |= _composed(rng, task, right, others) if _is_composed(kind) else _typed(rng, task, kind, right)
        donor = rng.choice([other for other in others if len(other.split()) > 1] or ["Copper Hill"])
        near = [text for text in _near(rng, kind, right, donor) if not _is_right(task, kind, text)]
        if near:
            words["NEAR"] = rng.choice(near)
        if right != right[::-1]:
            words["REVERSED"] = right[::-1]
        if digits := [match.start() for match in re.finditer(r"\d", right)][1:]:
            cut = rng.choice(digits[-2:])
            words["MASKED"] = right[:cut] + re.sub(r"\d", rng.choice("X*?_█"), right[cut:])
        if len(right) > 6:
            words["CUT"] = right[: len(right) // 3]
    wrong = list(dict.fromkeys(other for other in others if not _is_right(task, kind, other)))
    if len(wrong) < 4:
        spare = [*near, *_DATA["defaults"].get(kind, ["Done", "something else", "the old one"])]
        wrong += [text for text in spare if not _is_right(task, kind, text)]
    words["WRONG"], words["THIRD"] = rng.sample(sorted(set(wrong)), 2)
    return words


def _typed(rng: random.Random, task: TaskView, kind: str, right: str) -> dict[str, str]:
    """Return the parts of a single value."""
    words: dict[str, str] = {}
    if kind == "money" and not right.endswith(".00"):
        words["ROUND"] = right[1:-3]
    elif kind == "number":
        units = {" kilomet": "miles m minutes km/h", " metres": "km ft yards cm minutes", " days": "weeks months hours"}
        if other_units := [names for unit, names in units.items() if unit in task.goal]:
            words["UNIT"] = rng.choice(other_units[0].split())
        if "," in right:
            words["POINT"] = right.replace(",", ".")
        elif "How many" in task.goal and right.isdecimal():
            number = int(right)
            ten, teen = _TENS.get((number - 10) * 10), _NUMERALS.get(number // 10 + 10) if number in _TENS else None
            near = [word for word in (ten, teen, _NUMERALS.get(number + 1), _NUMERALS.get(number - 1)) if word]
            words |= {"WORD": rng.choice(near)} if near else {}
    elif kind == "date" and (day := _date(right)):
        words |= {"MONTH": f"{day:%B}", "DAY": str(day.day), "YEAR": str(day.year)}
        if day.day <= 25:
            words["LATER"] = str(day.day + 3)
        if day.day <= 12 and day.day != day.month:
            words["SWAPPED"] = f"{day:%Y-%d-%m}"
    elif kind == "month":
        words["MONTH"], words["YEAR"] = right.split()
    elif kind == "duration":
        hours, rest = divmod(_minutes(right), 60)
        words["TOTAL"] = str(60 * hours + rest)
        if hours and rest > 4 and hours != rest:
            words |= {"HOURS": str(hours), "REST": str(rest)}
    elif kind in {"hours", "time"}:
        times = right.split("-")
        words["HALFDAY"] = "-".join(at + (" am" if int(at[:2]) >= 12 else " pm") for at in times)
        words |= {"OPENS": times[0], "CLOSES": times[1]} if len(times) == 2 else {}
    elif address := re.fullmatch(r"(\d+ .+), (.+), \w+ (\d{5})", right):
        words |= {"STREET": address[1], "TOWN": address[2], "POSTCODE": address[3]}
    elif "full name" in task.goal and right not in task.goal and (name := re.fullmatch(r"([A-Z]\w+) ([A-Z]\w+)", right)):
        words |= {"GIVEN": name[1], "FAMILY": name[2]}
    return words


def _composed(rng: random.Random, task: TaskView, right: str, others: Iterable[str]) -> dict[str, str]:
    """Return the parts of a list or record."""
    items = _items(task.goal, right)
    held = {item.casefold() for item in items}
    pool = list(dict.fromkeys(item for other in others for item in _items(task.goal, other) if item.casefold() not in held))
    pool = pool or ["Quiet Harbor", "12"]
    flood = rng.sample([*items, *pool[:8]], len(items) + len(pool[:8]))
    words = {
        "ALL": "; ".join(items), "COUNT": str(len(items)), "EXTRA": rng.choice(pool), "ALLITEMS": json.dumps(items)[1:-1],
        "FLOOD": "; ".join(flood), "VERDICTS": "; ".join(f"{item}: {'no' if item == items[-1] else 'yes'}" for item in items),
    }  # fmt: skip
    unit = re.sub(r"(\d) (km|m|min)\b", lambda match: f"{match[1]} {rng.choice(['miles', 's', 'h', 'cm'])}", right)
    words |= {"OTHERUNIT": unit} if unit != right else {}
    if len(items) == 1:
        return words
    words |= {"FEWER": "; ".join(items[:-1]), "FIRST": items[0], "LAST": items[-1], "ORLIST": " or ".join(items)}
    words |= {"FEWERITEMS": json.dumps(items[:-1])[1:-1], "POSITIVE": items[-1].lstrip("-")}
    moved = rng.choice([items[::-1], [*items[1:], items[0]], [items[1], items[0], *items[2:]]])
    if _is_ordered(task) and moved != items:
        words["MOVED"] = (" > " if " > " in right else "; ").join(moved)
    parts = [item.split() for item in items]
    mixed = [" ".join([*parts[index - 1][:-1], part[-1]]) for index, part in enumerate(parts)]
    if all(len(part) > 1 for part in parts) and not held & {item.casefold() for item in mixed}:
        words["MIXED"] = "; ".join(mixed)
    labels, numbers = [item.split(": ")[0] for item in items], [item.split(": ")[-1] for item in items]
    if labels != numbers and numbers[0] != numbers[-1]:
        turned = [*numbers[1:], numbers[0]]
        words["EXCHANGED"] = "; ".join(f"{label}: {number}" for label, number in zip(labels, turned, strict=True))
    return words


def _near(rng: random.Random, kind: str, right: str, donor: str) -> list[str]:
    """Return values with a small mistake."""
    if kind == "money":
        cents = round(float(right[1:].replace(",", "")) * 100)
        return [f"${(cents + more) / 100:,.2f}" for more in (1, -1, 100, -100, 1000, 9 * cents, 90) if cents + more > 0]
    if kind == "number":
        number = float(right.replace(",", ""))
        return [f"{number + more:.10g}" for more in (1, -1, 2, 10, 0.1, 100, 9 * number) if number + more >= 0]
    if kind == "date" and (day := _date(right)):
        return [(day + timedelta(days)).strftime(rng.choice(_DATES)) for days in (1, -1, 7, 30, -30, 365, -365)]
    if kind == "duration":
        minutes = [_minutes(right) + more for more in (1, -1, 2, 5, 10, 60, -60)]
        return [f"{total // 60}h {total % 60}min" if total >= 60 else f"{total} min" for total in minutes if total > 0]
    if kind in {"hours", "time"}:
        return [right[:-2] + "15", f"0{rng.randint(0, 7)}" + right[2:], f"{right[:-5]}1{rng.randint(0, 1)}:45"]
    words, donors = right.split(), donor.split()
    near = [" ".join([donors[0], *words[1:]]), " ".join([*words[:-1], donors[-1]])] if len(words) > 1 and kind == "text" else []
    for match in re.finditer(r"\d", right):
        near.append(right[: match.start()] + str((int(match[0]) + rng.randint(1, 8)) % 9 + 1) + right[match.end() :])
    if kind in {"email", "url", "code"}:
        near += [right[:-1], "x" + right, right[:4] + right[5:]]
    return [text for text in near if text != right]


def _right(rng: random.Random, task: TaskView, kind: str, right: str) -> Iterator[tuple[str, str]]:
    texts = [*task.reference.split(" |OR| "), *(_notations(task, kind, right) if right != "N/A" else ())]
    text = rng.choice(texts)
    yield "right_value", text
    yield "right_marked_line", f"{rng.choice(_DATA['look_ups'])}\nAnswer: {rng.choice(texts)}"
    yield "right_marked_line", f"Answer: {rng.choice(texts)}"
    yield "right_sentence", f"{rng.choice(['', *_DATA['look_ups']])} The answer is {text.rstrip('.')}.".strip()
    if kind.startswith("list") and right != "N/A" and " > " not in right:
        items = _items(task.goal, right)
        yield "right_list", "; ".join(items)
        yield "right_list", json.dumps(items)
        yield "right_json", json.dumps({"answer": items})
    else:
        yield "right_json", json.dumps({"answer": text})


def _notations(task: TaskView, kind: str, right: str) -> list[str]:
    """Return usual notations of the right answer, as its type has them."""
    if kind == "money":
        bare = right.replace(",", "")[1:]
        return [f"${bare}", bare, f"{bare} dollars", f"USD {bare}", f"{bare} USD"]
    if kind == "number":
        word = _NUMERALS.get(int(right)) if right.isdecimal() and "How many" in task.goal else None
        return [word] if word else [right.replace(",", "")]
    if kind == "date" and (day := _date(right)):
        return [f"{day:{form}}".replace(" 0", " ") for form in (*_DATES, "%d %B %Y")] + [f"{day.month}/{day.day}/{day.year}"]
    if kind == "duration":
        hours, rest = divmod(_minutes(right), 60)
        return [f"{60 * hours + rest} min", f"{hours} h {rest} min" if hours else f"{rest} minute{'s' if rest > 1 else ''}"]
    if kind == "phone":
        area, middle, last = re.findall(r"\d+", right)
        return [f"({area}) {middle}-{last}", f"{area} {middle} {last}", f"{area}.{middle}.{last}"]
    if kind in {"hours", "time"}:
        clock = "-".join(f"{datetime.strptime(at, '%H:%M'):%I:%M %p}".lstrip("0").lower() for at in right.split("-"))
        return [clock, right.replace("-", " - "), right.replace("-", "\u2013"), right.replace("-", " to ")]
    return [right.casefold(), f"{right}."] if kind == "yes or no" else []


def _is_right(task: TaskView, kind: str, text: str) -> bool:
    """Return True if a value is the right one, or a list of nothing but right items."""
    if _is_composed(kind):
        return {*_items(task.goal, text.casefold())} <= {*_items(task.goal, task.reference.casefold())}
    return any(_key(task, kind, text) == _key(task, kind, reference) for reference in task.reference.split(" |OR| "))


def _key(task: TaskView, kind: str, text: str) -> object:
    """Return what is equal for texts that mean the same value."""
    if _is_composed(kind):
        return text if _is_ordered(task) else frozenset(_items(task.goal, text.casefold()))
    if kind == "duration" and re.fullmatch(r"[\dhmin ]+", text):
        return _minutes(text)
    if kind in {"money", "number"} and re.fullmatch(r"\$?[\d,]+(\.\d+)?", text):
        return float(text.replace(",", "").lstrip("$"))
    return (_date(text) if kind == "date" else None) or re.sub(r"\W", "", text).casefold() or text


def _is_composed(kind: str) -> bool:
    return kind == "record" or kind.startswith("list")


def _is_ordered(task: TaskView) -> bool:
    return bool(task.form.get("ordered")) or " > " in task.reference or "latitude first" in task.goal


def _items(goal: str, text: str) -> list[str]:
    if " > " in text:
        return text.split(" > ")
    return text.split("; ") if "; " in text or re.search("semicolon|address", goal) else text.split(", ")


def _minutes(text: str) -> int:
    hours, minutes = re.search(r"(\d+) ?h", text), re.search(r"(\d+) ?min", text)
    return 60 * int(hours[1] if hours else 0) + int(minutes[1] if minutes else 0)


def _date(text: str) -> date | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    return None


def task_views(splits: Iterable[str], world_seed: int | None = None) -> Iterator[TaskView]:
    """Yield the tasks of splits that have a reference answer, drawn in another world if its seed is given."""
    templates = defaultdict[str, list[tuple[Task, str]]](list)
    for task in chain.from_iterable(suite.load(split, world_seed=world_seed) for split in splits):
        if isinstance(reference := (task.eval.get("reference_answers") or {}).get("fuzzy_match"), str):
            templates[task.template].append((task, reference))
    for drawn in templates.values():
        for task, reference in drawn:
            others = tuple(other for one, other in drawn if one is not task)
            yield TaskView(task.intent, reference, task.eval.get("asked") or {}, others)


def main() -> None:
    """Print the number of answers of each kind, and an example."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--answers", type=int, default=5000, help="distinct wrong answers")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    views = list(task_views(suite.SPLITS))
    for world_seed in (71, 72):
        views += task_views(("train", "validation", "test", "pool"), world_seed)
    rng.shuffle(views)
    wrong: set[str] = set()
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for view in views * 10:  # a few answers of many tasks rather than all of a few
        if len(wrong) >= arguments.answers:
            break
        for sample in islice(generate(rng, view), 8):
            wrong |= set() if sample.is_right else {sample.answer}
            counts[sample.kind] += 1
            examples.setdefault(sample.kind, f"{view.reference!r}: {sample.answer!r}")
    lines = [f"{kind:28}{count:6}  {examples[kind][:160]}" for kind, count in sorted(counts.items())]
    lines.append(f"{len(counts)} kinds, {len(wrong):,} distinct wrong answers of {len(views):,} tasks\n")
    sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
