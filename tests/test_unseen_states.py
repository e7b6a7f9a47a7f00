"""Tasks that begin signed out: they can be done, no demonstration shows them, and the benchmark learns them in two ways."""

import json

import pytest

from agents.data.demonstrations import draw_tasks
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings
from agents.models.pointer.network import load_pointer
from agents.train_rl import make_settings
from benchmarks import compare, unseen_states
from benchmarks.unseen_states import demonstrated, imitate, shows_sign_in, signed_out
from webarena_gym import tasks as task_suite

CLONE = "agents/checkpoints/cloned-1"


@pytest.mark.parametrize("elements", ["id", "label"])
def test_the_expert_signs_in_and_solves_every_task(elements):
    tasks = list(map(signed_out, draw_tasks([21], 1, templates=compare._NUMBERS["unseen_states"]["templates"])))
    evaluation = evaluate_policy(EvaluationSettings(policy="expert", elements=elements, max_steps=30), tasks, quiet=True)
    assert evaluation.total.success == 1.0
    assert all(any(shows_sign_in(step.page) for step in item.steps) for item in evaluation.trajectories)
    assert len({item.task_id for item in evaluation.trajectories}) == len(tasks)


def test_whoever_does_not_sign_in_does_not_succeed_and_a_site_without_a_form_is_refused():
    (task,) = task_suite.draw(["reddit.biography"], world_seed=21, count=1)
    out = signed_out(task)
    assert out.solution[-len(task.solution) :] == task.solution
    assert len(out.solution) > len(task.solution)
    assert out.intent.endswith(task.intent)
    lazy = evaluate_policy(EvaluationSettings(policy="random", max_steps=8), [out] * 4, quiet=True)
    assert lazy.total.success == 0.0
    (task,) = task_suite.draw(["map.place_hours"], world_seed=21, count=1)
    with pytest.raises(ValueError, match="expected one of reddit, gitlab, shopping"):
        signed_out(task)


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_no_demonstration_of_the_training_templates_shows_the_form(monkeypatch, every):
    tasks = draw_tasks([11], 1)[::every]
    monkeypatch.setattr(unseen_states, "draw_tasks", lambda *_: tasks)
    assert demonstrated([11]) == 0
    monkeypatch.setattr(
        unseen_states, "draw_tasks", lambda *_: [signed_out(task) for task in tasks if task.sites == ("reddit",)][:1]
    )
    assert demonstrated([11]) > 0


def test_imitating_nothing_changes_nothing(tmp_path):
    settings = make_settings("grpo", model=CLONE, out=tmp_path / "run", updates=5)
    imitate(CLONE, [], tmp_path / "same", settings, seed=0)
    same, clone = (load_pointer(folder)[0].state_dict() for folder in (tmp_path / "same", CLONE))
    assert all(bool((same[name] == clone[name]).all()) for name in clone)


def test_the_recipe_has_a_row_for_each_way_and_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    sizes = "updates=1 tasks_per_update=2 group_size=2 per_test_template=1 test_worlds=[22] worlds=[21] max_steps=3"
    arguments = ["unseen_states", "--agents", CLONE, "--out", str(tmp_path), "--json", "--set", *sizes.split()]
    monkeypatch.setattr(unseen_states, "demonstrated", lambda _: 0)
    found = []
    for _ in range(2):
        compare.main([*arguments, 'templates=["reddit.subscription"]'])
        found.append(json.loads(capsys.readouterr().out.splitlines()[-1])["rows"])
    assert [row["title"] for row in found[0]] == ["the clone", "filtered BC on the clone's rollouts", "M-GRPO"]
    assert (found[0][1]["rollouts"], found[0][0]["demonstrated_sign_in_pages"]) == (4, 0)
    assert found[0] == found[1]
