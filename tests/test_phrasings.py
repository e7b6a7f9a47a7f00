"""Phrasings of goals by rules: they keep what a goal asks for, over all templates."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from agents import demonstrations as command
from agents.data.phrasings import phrasings, protected_texts, rephrase
from tests.errors import expect_error
from webarena_gym import suite as task_suite
from webarena_gym.suite.parts import PARTS
from webarena_gym.tasks import Task

TRAINING = [name for part in PARTS.values() for name in part.names("train")]
REPLACEABLE = frozenset(
    """a about add altogether are at be bring budget call called can change closest cost create delete dial do does drive find give go has have
    how i in into invite is it its like list live long made make many me moment much my name named nearest need open others people pull put
    reached read say search set shop show start tell the there to up walk want was what which who would wrote""".split()  # noqa: SIM905
)
"""Words that rules replace by words of the same meaning."""


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [task for world in (11, 13) for task in task_suite.draw(TRAINING, world_seed=world, count=1)]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[\w'-]+", text.lower()))


def test_every_phrasing_of_a_training_goal_keeps_names_numbers_and_asked_fields(tasks):
    for task in tasks:
        variants = phrasings(task, 40)
        assert variants[0] == task.intent
        assert len(variants) == len(set(variants)) >= 10
        for variant in variants[1:]:
            for text in protected_texts(task):
                assert text in variant, (task.intent, variant)
            lost = set(words(task.intent) - words(variant)) - REPLACEABLE
            assert not lost, (task.intent, variant)
            assert Counter(re.findall(r"\d+", variant)) == Counter(re.findall(r"\d+", task.intent)), (task.intent, variant)


def test_phrasings_are_sentences(tasks):
    for task in tasks:
        for variant in phrasings(task, 40):
            assert variant[0].isupper() or variant[0] == task.intent[0], variant
            unquoted = re.sub(r'"[^"]*"', "TEXT", variant)
            assert not re.search(r"\bi\b|  |[.?]\.|\.\?|[{}*\ue000-\uf8ff]", unquoted), variant


def test_phrasings_depend_on_the_seed_and_the_task_only(tasks):
    task = tasks[0]
    assert phrasings(task, 10) == phrasings(task, 10) == phrasings(task, 40)[:10]
    assert phrasings(task, 10, seed=1) != phrasings(task, 10)
    assert rephrase(task, 1) is task
    drawn = Counter(rephrase(task, 10, seed=seed).intent in phrasings(task, 10, seed=seed) for seed in range(20))
    assert drawn == {True: 20}
    assert len({rephrase(item, 10).intent == item.intent for item in tasks}) == 2
    assert replace(rephrase(task, 10), intent=task.intent) == task


def test_a_goal_without_a_template_keeps_its_quoted_texts():
    task = Task(
        "custom/1", ("shopping",), "__SHOPPING__", 'Tell me the price of "Which is the nearest tea".', {"eval_types": []}
    )
    variants = phrasings(task, 100)
    assert 'Could you tell me the price of "Which is the nearest tea"?' in variants
    assert 'Look up the price of "Which is the nearest tea".' in variants
    assert all('"Which is the nearest tea"' in variant for variant in variants)


@pytest.mark.parametrize(
    ("intent", "template", "slots", "kept"),
    [
        ('Open the page \ue004 of "x".', "", {}, 'page \ue004 of "x"'),
        ('Open the page \ue000 of "x".', "", {}, 'page \ue000 of "x"'),
        ("Open the page {{x!z}}.", "Open the page {{x!z}}.", {"x": "1"}, "page {{x!z}}"),
        ("Open the page  of May.", "Open the page {{x}} of {{y}}.", {"x": "", "y": "May"}, "page  of May"),
    ],
)
def test_unusual_characters_and_slots_of_foreign_goals_stay(intent, template, slots, kept):
    task = Task(
        "custom/1",
        ("shopping",),
        "__SHOPPING__",
        intent,
        {"eval_types": []},
        intent_template=template,
        instantiation_dict=slots,
    )
    variants = phrasings(task, 100)
    assert len(variants) > 20
    assert all(kept in variant for variant in variants)


def test_templates_with_several_phrasings_contribute_them():
    (task,) = task_suite.draw(["hard.restock"], world_seed=11, count=1)
    template = task_suite.templates()[task.template]
    own = [goal.format(**task.instantiation_dict) for goal in template.phrasings]
    assert len(own) > 1
    assert set(own) <= set(phrasings(task, 10_000))


def test_demonstrations_have_a_phrasing_and_the_same_actions(tmp_path):
    templates = ["--templates", "shopping.order_total", "gitlab.status_set"]
    options = ["--worlds", "11", "12", "--per-template", "1", "--window", "2000", *templates]
    plain, rephrased, chats = (tmp_path / name for name in ("plain.jsonl", "rephrased.jsonl", "chats.jsonl"))
    command.main(["--out", str(plain), *options])
    command.main(["--out", str(rephrased), *options, "--phrasings", "10", "--seed", "3"])
    command.main(["--out", str(chats), *options, "--phrasings", "10", "--seed", "3", "--tool-calls"])
    before, after = ([json.loads(line) for line in file.read_text().splitlines()] for file in (plain, rephrased))
    assert [item["messages"][-1] for item in before] == [item["messages"][-1] for item in after]
    assert [item["task_id"] for item in before] == [item["task_id"] for item in after]
    goals = {item["task_id"]: phrasings(task_suite.find(item["task_id"]), 10, seed=3) for item in after}
    for item in after:
        goal = item["messages"][0]["content"].removeprefix("Task Instruction: ").split("\n\n")[0]
        assert goal in goals[item["task_id"]]
    assert any(old["messages"][0] != new["messages"][0] for old, new in zip(before, after, strict=True))
    assert len(chats.read_text().splitlines()) == 4


def test_a_count_of_phrasings_below_one_is_refused(tmp_path):
    with expect_error(ValueError, "phrasings is 0; expected at least 1"):
        command.main(["--out", str(tmp_path / "demos.jsonl"), "--phrasings", "0"])
