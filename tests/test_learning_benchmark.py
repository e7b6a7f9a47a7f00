"""The benchmark of learning: what it says of runs, and that it does not do again what is done."""

import json

import pytest
import torch

from agents.models.checkpoints import save_checkpoint
from agents.models.parameters import create_optimizer
from agents.training import cloning as train_bc
from benchmarks import learning, playing
from tests import tiny
from webarena_gym import tasks as task_suite

FEW = [
    *("--seeds", "0", "1", "--worlds", "11", "--templates", "shopping.account_place", "--limit", "2", "--max-steps", "10"),
    *("--grpo-updates", "1", "2", "--threads", "1", "--tasks-per-update", "1", "--group-size", "2", "--json"),
]
KEPT = ("bc", "mgrpo", "lift", "random", "clone_converged", "by_minutes")


def language_model(folder):
    """Save a tiny one as a run."""
    model, tokenizer = tiny.tiny_model()
    agent = train_bc.BCSettings(out=folder).agent() | {"max_steps": 2, "max_new_tokens": 4}
    save_checkpoint(folder, 1, model, tokenizer, create_optimizer(model, "adamw", 1e-3, 0.0), {"elapsed_s": 0.0}, agent)


@pytest.mark.parametrize("kind", ["pointing networks", pytest.param("a language model", marks=pytest.mark.slow)])
def test_every_clone_is_reinforced_with_every_seed_and_evaluated_once(kind, capsys, monkeypatch, tmp_path):
    torch.set_num_threads(1)
    own = ["--clones", "2", "--cloning-updates", "2", "--converged-updates", "3"]
    if kind == "a language model":
        language_model(tmp_path / "clone")
        own = ["--cloned", str(tmp_path / "clone")]
    arguments = [*FEW, *own, "--out", str(tmp_path / "runs")]
    learning.main(arguments)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    clones = 2 if kind == "pointing networks" else 1
    assert (result["n"], result["clones"], result["seeds"], result["expert"]) == (2, clones, 2, 1.0)
    assert len(result["bc_of_seeds"]) == 2 * clones
    assert len(result["lift_of_seeds"]) == 2 * clones
    assert result["lift"] == pytest.approx(result["mgrpo"] - result["bc"])
    assert result["lift_ci95"][0] <= result["lift"] <= result["lift_ci95"][1]
    assert (result["clone_converged"] is None) == (result["coverage"] is None) == (kind == "a language model")
    assert [mark["updates"] for mark in result["by_minutes"]] == [1, 2]
    assert result["by_minutes"][-1]["greedy"] == result["mgrpo"]
    assert min(result["env_steps"]) > 0
    assert list(result["by_training"]) == ["seen"]
    assert result["by_training"]["seen"]["lift"] == result["lift"]
    monkeypatch.setattr(playing, "evaluate", None)
    monkeypatch.setattr(playing, "RESULTS", tmp_path / "results")
    learning.main([*arguments, "--save", "learning"])
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {key: again[key] for key in KEPT} == {key: result[key] for key in KEPT}
    assert json.loads((tmp_path / "results" / "learning.json").read_text()) == again
    with pytest.raises(ValueError, match="holds episodes of other tasks"):
        learning.main([*arguments, "--fresh-world", "1700"])


def test_templates_of_the_training_split_and_others_are_told_apart():
    settings = learning.LearningSettings()
    tasks = learning.held_out(settings)
    known = [float(task.template in {known.template for known in task_suite.load("train")}) for task in tasks]
    clones = [{kind: {"greedy": [0.0] * len(tasks)} for kind in ("bc", "converged")}]
    found = learning.by_training(settings, tasks, clones, [(0, 0)], [{"marks": [{"greedy": known}]}])
    assert {name: (part["n"], part["bc"], part["mgrpo"], part["lift_over_converged"]) for name, part in found.items()} == {
        "new": (330 - sum(known), 0.0, 0.0, 0.0),
        "seen": (sum(known), 0.0, 1.0, 1.0),
    }


def test_no_two_clones_see_the_same_world_and_all_are_evaluated_in_a_fresh_one():
    for demonstrations in (1, 2, 16):
        worlds = [learning.demonstration_worlds(demonstrations, clone) for clone in range(3)]
        assert len({world for own in worlds for world in own}) == sum(map(len, worlds))
    tasks = learning.held_out(learning.LearningSettings())
    assert len(tasks) == 330
    assert {task.world_seed for task in tasks[165:]} == {1907}
    assert {task.template for task in tasks[:165]} == {task.template for task in tasks[165:]}
    assert len(learning.held_out(learning.LearningSettings(limit=7))) == 7
