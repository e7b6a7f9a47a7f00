"""The audit tries every cheap way to a reward, names what it finds, and finds the same with any number of processes."""

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from tests.tools.audit.tasks import task
from webarena_gym import suite
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import TaskError
from webarena_gym.tasks.grounds import lacks
from webarena_gym.tasks.template import Draw, Template, answer, at_url, click, end_task, not_achievable
from webarena_gym.tools import audit as auditing
from webarena_gym.tools.audit import alternative_draw, answers, imitate

audit = partial(auditing.audit, side_effects=False)  # tests/test_side_effects.py has those


def test_doing_nothing_leaving_at_once_wrong_answers_and_na_are_tried():
    findings = audit([task(at_url("__SHOPPING__"))])
    assert (findings.noop_rewarded, findings.exit_rewarded, findings.na_rewarded) == (["t"], ["t"], ["t"])
    assert not findings.is_clean
    findings = audit([task(answer(must_exclude=["b"]), [end_task("a")], ("b", "c"))])
    assert (findings.wrong_rewarded, findings.na_rewarded, findings.exit_rewarded) == (["t: 'c'"], ["t"], [])
    refused = replace(task(not_achievable(), [end_task("N/A")]), grounds={"N/A": lacks(["My Account"], ["Octarine"])})
    assert audit([refused]).is_clean


@pytest.mark.parametrize(
    ("steps", "message"),
    [([click("Nothing like it"), end_task("a")], "labels on this page include"), ([end_task("b")], "not rewarded")],
)
def test_failing_solutions_are_listed_with_their_reason(steps, message):
    findings = audit([task(answer(exact_match="a"), steps)])
    assert (findings.solved, findings.tasks) == (0, 1)
    assert message in findings.unsolved[0]


@pytest.fixture
def drawn(monkeypatch):
    """Two draws of a template whose check is met by what any draw asks for, of a good one, and of one with a single truth."""
    blocks = {
        "careless": [(answer(must_include=["1"]), "1 or 2"), (answer(must_include=["2"]), "1 or 2")],
        "careful": [(answer(exact_match="1"), "1"), (answer(exact_match="2"), "2")],
        "constant": [(answer(exact_match="1"), "1"), (answer(exact_match="1"), "1")],
    }
    tasks = {}
    for name, pairs in blocks.items():
        tasks[name] = [
            task(block, [end_task(message)], (), name, f"{name}/0/{index}") for index, (block, message) in enumerate(pairs)
        ]
    monkeypatch.setattr(answers, "templates", lambda: tasks)
    monkeypatch.setattr(answers, "_draws", lambda name, *_: tasks[name])
    return tasks


def test_solutions_of_other_draws_must_not_be_rewarded(drawn, monkeypatch):
    findings = audit([task for tasks in drawn.values() for task in tasks])
    pairs = [("careless/0/0", "careless/0/1"), ("careless/0/1", "careless/0/0")]
    assert findings.other_rewarded == [f"{one}: by the solution of {other}" for one, other in pairs]
    assert findings.solved == 6
    assert findings.without_other == ["constant/0/0", "constant/0/1"]
    monkeypatch.setattr(auditing, "EXCEPTIONS", {"careless": "any number will do"})
    findings = audit(drawn["careless"])
    assert findings.excused == ["careless/0/0: any number will do", "careless/0/1: any number will do"]
    assert findings.is_clean


def test_imitation_does_the_whole_solution_of_the_other():
    for own in suite.load("test")[::12]:
        env = WebArenaLite(tasks=[own], max_steps=60)
        other = alternative_draw(own)
        assert imitate(env, own, own), own.task_id
        if other is not None:
            assert (other.template, other.world_seed) == (own.template, own.world_seed)
            assert other.eval != own.eval
            assert not imitate(env, own, other), own.task_id
        env.close()


def test_a_step_that_cannot_be_done_leaves_the_answer(opened):
    env = opened(WebArenaLite(tasks=[task(answer(exact_match="a"))], max_steps=60))
    assert imitate(env, task(answer(exact_match="a")), task(answer(), [click("Nothing like it"), end_task("a")]))


def test_processes_share_the_work_and_find_the_same():
    quick = [task for task in suite.load("test") if "string_match" not in task.eval_types]  # no forms of answers to try
    tasks = [*quick[:9], task(at_url("__SHOPPING__"))]
    lines = []
    shared = audit(tasks, jobs=2, on_progress=lines.append)
    assert shared == audit(tasks)
    assert lines == [8, 10]
    assert shared.totals()["tasks"] == 10
    assert {"templates", "worlds", "solved", *shared.faults} <= set(shared.totals())


def fickle(world):
    """Draw with random numbers of its own."""
    town = Random().choice(world.rows("SELECT name FROM town ORDER BY town_id"))["name"]
    return Draw({"town": town}, at_url(f"__MAP__/{town}"), [end_task("")])


def broken(world):
    """Name a slot that is not there."""
    return Draw({"city": world.rng.choice(("A", "B"))}, answer(exact_match="1"), [end_task("1")])


@pytest.fixture
def own_templates(monkeypatch):
    own = {fickle: "Open the page of {town} on the map.", broken: "How many people live in {town}?"}
    known = dict(suite.templates())
    for draw, intent in own.items():
        known[f"map.{draw.__name__}"] = Template(f"map.{draw.__name__}", ("map",), intent, draw)
    for module in (suite, auditing, answers):
        monkeypatch.setattr(module, "templates", lambda: known)


@pytest.mark.usefixtures("own_templates")
def test_a_template_that_draws_with_random_numbers_of_its_own_is_found():
    drawn = suite.draw(["map.fickle"], world_seed=0, count=4)
    findings = audit(drawn)
    expected = {f"{task.task_id}: its template draws another task from the same seed" for task in drawn}
    assert set() < set(findings.drawn_differently) <= expected  # by chance one of them may be drawn twice
    assert not audit(suite.draw(["map.town_population"], world_seed=0, count=2)).drawn_differently


@pytest.mark.usefixtures("own_templates")
def test_errors_in_a_template_name_the_template():
    expected = r"the template map.broken cannot be drawn in world 0: KeyError: 'town' \(\w+\.py, line \d+\)"
    for get in (lambda: suite.find("map.broken/0/0"), lambda: suite.draw(["map.broken"], world_seed=0, count=1)):
        with pytest.raises(TaskError, match=expected):
            get()
