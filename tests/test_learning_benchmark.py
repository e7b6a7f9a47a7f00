"""The benchmark of learning: what it says of runs, and that it does not do again what is done."""

import json

import pytest
import torch

from agents.models.checkpoints import save_checkpoint
from agents.models.optimizers import create_optimizer
from benchmarks import learning, playing
from tests import tiny


@pytest.fixture
def arguments(tmp_path):
    torch.set_num_threads(1)
    few = {"max_steps": 2, "max_new_tokens": 4}
    model, tokenizer = tiny.tiny_model()
    optimizer = create_optimizer(model, "adamw", 1e-3, 0.0)
    save_checkpoint(
        tmp_path / "clone",
        1,
        model,
        tokenizer,
        optimizer,
        {"elapsed_s": 0.0},
        learning.build(learning.BCSettings, out=tmp_path).agent() | few,
    )
    return [
        *("--cloned", str(tmp_path / "clone"), "--out", str(tmp_path / "runs"), "--seeds", "0", "1", "--worlds", "11"),
        *("--templates", "shopping.account_place", "--limit", "4", "--grpo-minutes", "0.001", "--threads", "1", "--json"),
        *("--max-steps", "10", "--tasks-per-update", "1", "--group-size", "2"),
    ]


def test_every_seed_is_reinforced_and_evaluated_once(arguments, capsys, monkeypatch, tmp_path):
    learning.main(arguments)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (result["n"], result["seeds"], result["expert"], len(result["bc_of_seeds"])) == (4, 2, 1.0, 2)
    assert result["lift"] == pytest.approx(result["mgrpo"] - result["bc"])
    assert result["lift_ci95"][0] <= result["lift"] <= result["lift_ci95"][1]
    assert min(result["env_steps"]) > 0
    monkeypatch.setattr(playing, "evaluate", None)
    monkeypatch.setattr(playing, "RESULTS", tmp_path / "results")
    learning.main([*arguments, "--save", "learning"])
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {key: again[key] for key in ("bc", "mgrpo", "lift", "random")} == {
        key: result[key] for key in ("bc", "mgrpo", "lift", "random")
    }
    assert json.loads((tmp_path / "results" / "learning.json").read_text()) == again
    with pytest.raises(ValueError, match="holds episodes of other tasks"):
        learning.main([*arguments, "--fresh-world", "1700"])


def test_it_evaluates_on_the_test_split_and_on_its_templates_in_a_fresh_world():
    tasks = learning.held_out(learning.LearningSettings())
    assert len(tasks) == 330
    assert {task.world_seed for task in tasks[165:]} == {1601}
    assert {task.template for task in tasks[:165]} == {task.template for task in tasks[165:]}
    assert len(learning.held_out(learning.LearningSettings(limit=7))) == 7
