"""The benchmark of methods: a row for each, from one clone or from its own."""

import json
import shutil
from functools import partial

import pytest
import torch

from agents.models.checkpoints import save_checkpoint
from agents.models.parameters import create_optimizer
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from agents.training.settings import BCSettings
from benchmarks import methods
from benchmarks.playing import claim
from tests import tiny

FEW = {"max_steps": 2, "max_new_tokens": 4}


@pytest.fixture
def arguments(tmp_path):
    torch.set_num_threads(1)
    model, tokenizer = tiny.tiny_model()
    optimizer = create_optimizer(model, "adamw", 1e-3, 0.0)
    agent = BCSettings(out=tmp_path).agent() | FEW
    save_checkpoint(tmp_path / "clone", 1, model, tokenizer, optimizer, {"elapsed_s": 0.0}, agent)
    return [
        *("--cloned", str(tmp_path / "clone"), "--out", str(tmp_path / "runs"), "--worlds", "11", "--test-worlds", "1701"),
        *("--templates", "shopping.account_place", "--limit", "2", "--minutes", "0.001", "--json"),
        *("--tasks-per-update", "1", "--group-size", "2", "--max-steps", "2"),
    ]


def result(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_methods_begin_with_the_same_clone_and_have_a_row_each(arguments, capsys):
    names = ["mgrpo", "forks", "webrl", "starpo_s", "tsr"]
    methods.main([*arguments, "--methods", *names, "--minutes", "0", "--env-steps", "1"])
    found = result(capsys)
    assert [row["method"] for row in found["rows"]] == names
    assert len({json.dumps(row["greedy"]["clone"]) for row in found["rows"]}) == found["env_steps"] == 1
    for row in found["rows"]:
        assert row["greedy"]["after"]["n"] == row["sampled"]["after"]["n"] == 2
        assert row["env_steps"] >= 1
        (seed,) = found["curves"][row["method"]].values()
        assert all(len(seed[metric]) == 1 for metric in ("success", "reward_deviation", "reply_entropy"))


@pytest.mark.parametrize("name", [name for name, recipe in methods.RECIPES.items() if recipe.trainer != "sb3"])
def test_the_options_of_every_recipe_are_those_of_its_trainer(name, tmp_path):
    recipe = methods.RECIPES[name]
    settings = make_settings(recipe.trainer, model="m", out=tmp_path, **recipe.options)
    assert {key: value for key, value in vars(settings).items() if key in recipe.options} == recipe.options
    BCSettings(out=tmp_path, **(recipe.cloning or {}))


def test_curves_are_thinned_and_leave_out_what_was_not_trained():
    row = {"success": 0.5, "reward_deviation": 0.1, "reply_entropy": 0.2}
    records = [{"cpu_minutes": number / 10, **row} for number in range(200)]
    records[7]["grad_norm"] = 3.0
    found = methods.curves(records)
    assert 30 < len(found["success"]) <= 60
    assert found["grad_norm"] == [(0.7, 3.0)]
    assert methods.curves([])["success"] == []


@pytest.mark.slow
def test_each_seed_has_its_clone_on_the_whole_suite(arguments, capsys, tmp_path):
    shutil.copytree(tmp_path / "clone", tmp_path / "other")
    several = ["--cloned", str(tmp_path / "clone"), str(tmp_path / "other"), "--seeds", "0", "1", "--templates"]
    methods.main(
        [*arguments, *several, "--minutes", "0", "--cpu-minutes", "0.001", "--training-steps", "1", "--methods", "filtered_bc"]
    )
    found = result(capsys)
    assert (found["clones"], found["n"], found["cpu_minutes"]) == (2, 2, 0.001)
    for seed, folder in enumerate(("clone", "other")):
        begun = json.loads((tmp_path / "runs" / f"filtered_bc_{seed}" / "begun_with.json").read_text())
        assert (begun["cloned"], begun["training_steps"]) == (str(tmp_path / folder), 1)
    with pytest.raises(ValueError, match=r"cpu_minutes is 1\.0; expected 0 with ppo"):
        methods.main([*arguments, "--cpu-minutes", "1", "--methods", "ppo"])


def test_thoughts_and_zero_clone_for_themselves(arguments, capsys, monkeypatch):
    monkeypatch.setattr(methods, "agent_record", lambda path: {**BCSettings(out=path).agent(), **FEW})
    monkeypatch.setattr(methods, "BCSettings", partial(BCSettings, width=32, practice=1, vocabulary=512))
    shared = ["--cloning-minutes", "0.001", "--methods"]
    methods.main([*arguments, *shared, "zero", "short"])
    rows = result(capsys)["rows"]
    assert [row["method"] for row in rows] == ["zero", "short"]


def test_agents_that_know_no_text_begin_untrained(arguments, capsys, tmp_path):
    pytest.importorskip("sb3_contrib")
    methods.main([*arguments, "--methods", "masked_ppo"])
    (row,) = result(capsys)["rows"]
    assert row["env_steps"] > 0
    assert read_metrics(tmp_path / "runs" / "masked_ppo_0" / "run")[-1]["cpu_minutes"] > 0
    assert row["generated_tokens"] == 0


def test_what_one_kind_carries_can_be_told():
    kinds, before = ["cart", "cart", "search", "search"], [[0, 0, 0, 1], [0, 0, 1, 0]]
    found = methods.without_best(kinds, before, [[1, 1, 0, 1], [1, 0, 1, 1]])
    assert (found["kind"], found["lift"]) == ("cart", 0.25)
    assert methods.without_best(["cart"], [[0]], [[1]]) == {"kind": "cart"}


def test_episodes_and_runs_of_other_settings_are_not_taken_for_these(arguments, tmp_path):
    with pytest.raises(ValueError, match="there is no method 'magic'"):
        methods.main([*arguments, "--methods", "magic"])
    methods.main([*arguments, "--methods", "filtered_bc"])
    with pytest.raises(ValueError, match=r"episodes was begun with max_steps=2, not 3"):
        methods.main([*arguments, "--methods", "filtered_bc", "--max-steps", "3"])
    claim(tmp_path / "runs" / "mgrpo_0", cloned=tmp_path / "other", minutes=0.001, options={})
    with pytest.raises(ValueError, match=r"was begun with cloned='.*other', not '.*clone'"):
        methods.main([*arguments, "--methods", "mgrpo"])
