"""Generated answers to the bundled tasks: the told forms are accepted, and answers that say something else are refused.

Each wrong answer holds a right value or one of another task of the same type, as a program writes them that does not know the judge.
"""

import json
import re
from collections import defaultdict
from random import Random

import pytest

from webarena_gym import suite
from webarena_gym.evaluators import is_right_answer
from webarena_gym.tools.audit.answers import right_forms

TOLD = [
    "{}", "{}.", "**{}**", '"{}"', "Answer: {}", "**Answer:** {}", "Final answer: {}", "The answer is {}.", "I looked it up. The answer is {}.",
    "I looked it up.\nAnswer: {}", "There were 3 others, at $7.00.\n\nAnswer: {}", '{"answer": "{}"}', '["{}"]', "\\boxed{{}}", "Answer: **{}**",
]  # fmt: skip
AROUND = [
    "not {}", "no {}", "never {}", "far from {}", "one of {}", "only one of these: {}", "anything but {}", "nothing but {}", "instead of {}", "except {}",
    "{} (no)", "{} (not)", "{}, not", "{} - no", "{} it is not", "{} is wrong", "{} is not the answer", "{} is incorrect.", "wrong: {}", "Not: {}",
    "I would not say {}.", "It can't be {}.", "It isn't {}", "It is not {}.", "I doubt it is {}.", "I deny that the answer is {}.",
    "It is false that the answer is {}.", "Nobody says the answer is {}.", "The wrong answer is {}.", "Wrong answer: {}", "The answer is not {}.",
    "My guess is {}", "My guess is {}; I could not open the page.", "I think {}", "I think the answer is {}", "Probably {}", "Perhaps {}.", "{}, I guess",
    "It could be {}.", "It should be {}.", "If so, the answer is {}", "The answer is maybe {}.", "The answer is {}, I think.", "The answer is {} or not.",
    "The answer would be {} if I could open the page.", "It used to be {}.", "last year {}", "{} as of last year", "{} (unverified)", "{} or so",
    "{}?", "{}??", "Is it {}?", "Is the answer {}?", "The answer is {}?", "Answer: {}?", "Answer: not {}", "Answer: maybe {}", "Answer: {} (unsure)",
    "Answer: {}\nNo, wait.", "Answer: {}\nThat is wrong.", "Answer: unknown\nAnswer: {}", "The answer is not {}.\nAnswer: {}",
    "{}, and so on", "{}, ...", "{}...", "{} …", "{}, etc.", "{} and more", "{} among others", "{} and others", "{}, {}", "{}; {}", "{} {}", "{} ({})",
    "> {}", "< {}", ">= {}", "≥ {}", "~{}", "≈ {}", "± {}", "= {}", "!= {}", "≠ {}", "{} at most", "at least {}", "up to {}", "about {}", "over {}",
    "more than {}", "{}+", "{} + 1", "{}/{}", "{} / 2", "2 x {}", "half of {}", "twice {}", "{} each", "{} per day", "{} million", "{}k",
    "~~{}~~", "<s>{}</s>", "<del>{}</del>", "{} ✗", "❌ {}", "not \\boxed{{}}", "It is not \\boxed{{}}.", "\\boxed{{}} is wrong", "\\boxed{not {}}",
    '{"answer": "{}", "correct": false}', '{"answer": "{}", "alternative": "x"}', '{"answer": "{}", "confidence": 0.2}', '{"answer": "not {}"}',
    '{"not": "{}"}', '{"wrong": "{}"}', '{"rejected": "{}"}', '{"guess": "{}"}', '{"answer": {"not": "{}"}}', '["not", "{}"]', '["{}", "{}"]', '["{}", null]',
    '{"answer": ["{}", "no"]}', '{"answer": "{}", "answer": "{}"}', '{"answer": "{}", "Answer": "x"}', "| Answer |\n|---|\n| not {} |", "1. {}\n2. ?",
    "{}; I could not open the page.", "I could not open the page, {}.", "for another one {}", "The other one is {}.", "Someone else: {}",
]  # fmt: skip
AMOUNTS = [
    "({})",
    "A{}",
    "C{}",
    "€{}",
    "£{}",
    "{} EUR",
    "{}%",
    "{} thousand",
    "-{}",
    "#{}x",
    "{}e1",
    "0{}",
    "{}0.5",
    "{}: 1",
]  # of a number or of dollars
BESIDE = [
    "{a} or {b}", "{b} or {a}", "{a}, {b}", "{b}, {a}", "{a}; {b}", "{a} and {b}", "{a} {b}", "{b} {a}", "{a} / {b}", "{a} | {b}", "{a} ({b})", "{b} ({a})",
    "{a}, not {b}", "not {b} but {a}", "{b}. No, {a}", "{a}: {b}", "{b}: {a}", "{b} is {a}", "{a} is {b}", "{a} to {b}", "from {a} to {b}", "{a} - {b}",
    "{a} -> {b}", "between {a} and {b}", "{a}\n{b}", "- {a}\n- {b}", "Answer: {a}\nAnswer: {b}", "Answer: {b}\nAnswer: {a}", "Answer: {a}. Answer: {b}",
    "The answer is {b}. The answer is {a}.", "Answer: {a} or {b}", "The answer is {b}, not {a}.", "The answer is {a}, not {b}.", '["{a}", "{b}"]',
    '{"answer": "{a}", "or": "{b}"}', '{"{b}": "{a}"}', '{"answer": ["{a}", "{b}"]}', "\\boxed{{a}} \\boxed{{b}}", "\\boxed{{b}}\nAnswer: {a}", "**{a}** {b}",
    "{a} with {b}", "{a} of {b}", "{a} for {b}", "{a} by {b}", "{a} in {b}", "{a} vs {b}", "{a}, formerly {b}", "It is {a}, {b}", "{a}{b}", "{a}.{b}",
]  # fmt: skip
TURNS = """not never hardly almost about approximately maybe perhaps possibly probably supposedly allegedly barely under over below above except
    without excluding unlike minus plus half double twice different wrong false incorrect outdated former previous expired unknown nor neither either
    but although unless if whether than instead rather far less fewer between some several none nobody nothing everything otherwise formerly once
    yesterday estimated ~ > < >= ≈ ± = != + / % (no) (not) (?) [sic] denied untrue missing ignore avoid no""".split()  # noqa: SIM905
STATED = [
    "{}",
    "The answer is {}.",
    "It is {}.",
    "Answer: {}",
    "The result is {}.",
    '{"answer": "{}"}',
    "**{}**",
    "I looked it up. The answer is {}.",
]


def _tasks():
    loaded = {task.task_id: task for split in ("test", "validation", "train", "hard") for task in suite.load(split)}
    found = [(task, (task.eval.get("reference_answers") or {}).get("fuzzy_match")) for task in loaded.values()]
    return [(task, reference) for task, reference in found if isinstance(reference, str)]


def _filled(form, **values):
    """Fill a form whose other braces are its own text."""
    return re.sub(r"\{(a|b|)\}", lambda hole: values[hole[1]], form)


def _turned(form, value, turn, dice):
    """Put a word that turns an answer into the sentence that states it, behind an explanation."""
    before, mark, sentence = form.rpartition("I looked it up. ")
    words = sentence.replace("{}", value).split(" ")
    place = dice.randrange(len(words) + 1)
    return " ".join([f"{before}{mark}{' '.join(words[:place])}", turn, *words[place:]]).strip()


def _changed_list(items, others, dice):
    """Return a list that is not the one of its items."""
    items, place, other = list(items), dice.randrange(len(items)), dice.choice(others)
    match dice.randrange(6):
        case 0:
            items.pop(place)
        case 1:
            items.insert(place, other)
        case 2:
            items[place] = other
        case 3:
            items.append(items[place])
        case 4:
            items.append(dice.choice(["and so on", "etc.", "...", "and others", "none", "N/A", "?"]))
        case _:
            items[place] = dice.choice(["not {}", "only {}", "one of {}", "{} maybe", "{} (?)", "{}?", "either {}"]).format(
                items[place]
            )
    joined = ["; ".join(items), ", ".join(items), "\n".join(items), "\n".join(f"- {item}" for item in items), json.dumps(items)]
    return dice.choice([*joined, f"Answer: {joined[0]}", json.dumps({"answer": items})])


def _wrong(tasks, count, seed):
    """Yield tasks with generated wrong answers: around the right value, beside another value, turned, changed, or another value."""
    dice, pools = Random(seed), defaultdict(list)
    for task, reference in tasks:
        pools[task.eval.get("asked", {}).get("type", "")].append(reference)
    while count:
        task, right = dice.choice(tasks)
        kind = task.eval.get("asked", {}).get("type", "")
        other = dice.choice(pools[kind])
        is_other = (
            not is_right_answer(task.eval, task.intent, other)
            and other.lower() not in right.lower()
            and right.lower() not in other.lower()
        )
        items = [item.strip() for item in re.split(r"; |, " if kind == "list of text" else r"; ", right)]
        others = [item for item in re.split(r"; |, ", other) if item not in right and right not in item]
        match dice.choice(["around", "around", "beside", "turned", "near", "other", "list"]):
            case "around":
                is_amount = re.fullmatch(r"\$?[\d,]+(\.\d+)?", right) is not None
                text = _filled(dice.choice([*AROUND, *AMOUNTS] if is_amount else AROUND), **{"": right})
            case "beside" if is_other:
                text = _filled(dice.choice(BESIDE), a=right, b=other)
            case "turned":
                text = _turned(dice.choice(STATED), right, dice.choice(TURNS), dice)
            case "near" if places := [place for place, letter in enumerate(right) if letter.isdigit()]:
                place = dice.choice(places)
                digit = str((int(right[place]) + dice.randrange(1, 10)) % 10)
                text = dice.choice(STATED).replace("{}", right[:place] + digit + right[place + 1 :])
            case "other" if is_other:
                text = dice.choice(STATED).replace("{}", other)
            case "list" if len(items) > 1 and others:
                text = _changed_list(items, others, dice)
            case _:
                continue
        count -= 1
        yield task, right, text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_wrong_answers_are_refused(seed):
    wrong = list(_wrong(_tasks(), 6_000, seed))
    rewarded = [(task.intent, right, text) for task, right, text in wrong if is_right_answer(task.eval, task.intent, text)]
    assert len(rewarded) <= len(wrong) / 1_000, rewarded


def test_instructed_answer_forms_are_accepted():
    dice = Random(0)
    tasks = dice.sample(tasks := _tasks(), min(150, len(tasks)))
    right = [(task, text) for task, reference in tasks for text in right_forms(reference)]
    right += [(task, form.replace("{}", reference)) for task, reference in tasks for form in TOLD if '"' not in reference]
    refused = [(task.intent, text) for task, text in right if not is_right_answer(task.eval, task.intent, text)]
    assert len(refused) <= len(right) / 200, refused
