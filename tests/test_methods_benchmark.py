"""The benchmark of methods and the recipes of `benchmarks.compare`: rows on the same tasks, each trained and played once."""

import json
import shutil
from functools import partial
from itertools import chain

import pytest
import torch

from agents.models.pointer import labels
from agents.models.pointer.network import load_pointer
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from agents.training.settings import BCSettings
from benchmarks import compare, methods, playing
from benchmarks.playing import claim_folder, subsample
from tests import tiny
from tests.errors import expect_error
from webarena_gym import suite as task_suite

FEW = {"max_steps": 2, "max_new_tokens": 4}


@pytest.fixture
def arguments(tmp_path):
    tiny.save_clone(tmp_path / "clone", **FEW)
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
    BCSettings(model="small", out=tmp_path, **(recipe.cloning or {}))


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
    with expect_error(ValueError, "cpu_minutes", "1.0", 0):
        methods.main([*arguments, "--cpu-minutes", "1", "--methods", "ppo"])


def test_thoughts_and_zero_clone_for_themselves(arguments, capsys, monkeypatch):
    monkeypatch.setattr(methods, "agent_record", lambda path: {**BCSettings(model="small", out=path).agent(), **FEW})
    monkeypatch.setattr(methods, "BCSettings", partial(BCSettings, width=32, practice=1, vocabulary=512))
    shared = ["--cloning-minutes", "0.001", "--methods"]
    methods.main([*arguments, *shared, "zero", "short"])
    rows = result(capsys)["rows"]
    assert [row["method"] for row in rows] == ["zero", "short"]


def test_bc_agents_have_the_tools_worlds_and_time_of_the_settings(tmp_path):
    settings = methods.MethodsSettings(
        tools=("lookup",), window=600, cloning_worlds=(12,), cloning_cpu_minutes=2.0, cloning_model="m"
    )
    made = methods._cloning(settings, tmp_path, 1, {})
    assert (made.tools, made.window, made.worlds, made.cpu_minutes, made.minutes) == (("lookup",), 600, (12,), 2.0, 0.0)
    assert made.model == "m"
    zero = methods._cloning(settings, tmp_path, 1, methods.RECIPES["zero"].cloning)
    assert (zero.updates, zero.cpu_minutes, zero.minutes) == (1, 0.0, 0.0)
    plain = methods._cloning(methods.MethodsSettings(worlds=(13,)), tmp_path, 1, {})
    assert (plain.tools, plain.window, plain.worlds, plain.cpu_minutes, plain.minutes) == (
        (),
        BCSettings.window,
        (13,),
        0.0,
        3.0,
    )


def test_agents_that_know_no_text_begin_untrained(arguments, capsys, tmp_path):
    pytest.importorskip("sb3_contrib")
    methods.main([*arguments, "--methods", "masked_ppo"])
    (row,) = result(capsys)["rows"]
    assert row["env_steps"] > 0
    assert read_metrics(tmp_path / "runs" / "masked_ppo_0" / "run")[-1]["cpu_minutes"] > 0
    assert row["generated_tokens"] == 0


def test_the_lift_without_the_best_kind():
    kinds, before = ["cart", "cart", "search", "search"], [[0, 0, 0, 1], [0, 0, 1, 0]]
    found = methods.without_best(kinds, before, [[1, 1, 0, 1], [1, 0, 1, 1]])
    assert (found["kind"], found["lift"]) == ("cart", 0.25)
    assert methods.without_best(["cart"], [[0]], [[1]]) == {"kind": "cart"}


def test_episodes_and_runs_of_other_settings_are_not_taken_for_these(arguments, tmp_path):
    with expect_error(ValueError, "method", "'magic'"):
        methods.main([*arguments, "--methods", "magic"])
    methods.main([*arguments, "--methods", "filtered_bc"])
    with expect_error(ValueError, "episodes", "max_steps=2", 3):
        methods.main([*arguments, "--methods", "filtered_bc", "--max-steps", "3"])
    claim_folder(tmp_path / "runs" / "mgrpo_0", cloned=tmp_path / "other", minutes=0.001, options={})
    with pytest.raises(ValueError, match=r"was started with cloned='.*other', not '.*clone'"):
        methods.main([*arguments, "--methods", "mgrpo"])


CLONE = "agents/checkpoints/cloned-1"


def measured(capsys, *arguments):
    compare.main([*map(str, arguments), "--json"])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_more_interactions_solve_more_and_nothing_is_played_twice(tmp_path, capsys, monkeypatch):
    arguments = ["interactions", "--agents", "expert", "--out", tmp_path, "--limit", 6, "--set", "limits=[2, 30]"]
    few, many = measured(capsys, *arguments)["rows"]
    assert few["success"] < many["success"] == 1.0
    assert few["steps"] <= 2 < many["steps"]
    assert few["cut_off"] > many["cut_off"] == 0
    monkeypatch.setattr(playing, "evaluate", None)
    again = measured(capsys, *arguments)
    assert again["rows"] == [few, many]
    assert again["begun_at"] == [again["commit"]]
    with expect_error(ValueError, "limits=[2, 30]", [3]):
        compare.main([*map(str, arguments[:-1]), "limits=[3]"])


def test_every_search_has_a_row_within_its_budget(tmp_path, capsys):
    numbers = ["--set", "budget=12", "max_steps=6"]
    rows = measured(capsys, "searches", "--agents", "random", "--limit", 2, "--out", tmp_path, *numbers)["rows"]
    assert len(rows) == 5
    assert rows[0]["lift"]["lift"] == 0
    for row in rows:
        assert row["n"] == 2
        assert 0 < row["env_steps"] <= 2 * 12
        assert row["success"] <= row["any_episode"]


def test_ensembles_are_compared_with_their_members(tmp_path, capsys):
    agents = [CLONE, shutil.copytree(CLONE, tmp_path / "other")]
    numbers = ["--limit", 2, "--set", "fit_limit=2"]
    rows = measured(capsys, "ensembles", "--agents", *agents, "--out", tmp_path, *numbers)["rows"]
    joined = ["all, with equal weights", "all, with weights by site", "the best of each site"]
    assert [row["title"] for row in rows] == ["one of them, mean", "agent 1", "agent 2", *joined]
    assert all(row["n"] in (2, 4) for row in rows)


def test_a_stream_has_a_row_and_a_curve_for_each_memory(tmp_path, capsys):
    numbers = ["--limit", 4, "--set", 'ways=["none", "online"]', "part=2"]
    rows = measured(capsys, "workflows", "--agents", CLONE, "--out", tmp_path, *numbers)["rows"]
    assert [row["title"] for row in rows] == ["without memory", "with workflows of its own successes"]
    assert rows[0]["success"] == pytest.approx((rows[0]["part_1"] + rows[0]["part_2"]) / 2)


@pytest.mark.slow
def test_agent_q_has_a_row_for_each_iteration_and_jobs_change_nothing(tmp_path, capsys):
    numbers = ["iterations=1", "tasks_per_iteration=1", "budget=12", "worlds=[14]", 'templates=["shopping.cart_add"]']
    arguments = ["agent_q", "--agents", CLONE, CLONE, "--limit", 1, "--set", *numbers]
    one = [*arguments, "--seeds", 1]
    here, there = (measured(capsys, *one, "--out", tmp_path / str(jobs), "--jobs", jobs)["rows"] for jobs in (1, 2))
    assert [row["title"] for row in here] == ["before", "after 1 iterations"]
    assert 0 == here[0]["env_steps"] < here[1]["env_steps"] <= 12
    assert [row | {"cpu_minutes": 0} for row in there] == [row | {"cpu_minutes": 0} for row in here]


def test_long_tasks_have_a_row_for_each_way(tmp_path, capsys):
    cloning = ['templates=["hard.message_on_order"]', "cloning_worlds=1", "cloning_updates=3", "env_steps=40", "rl_worlds=[11]"]
    playing_ = ["step_limits=[4, 24]", "tasks_per_update=1", "group_size=2", "test_worlds=[1002]", "per_test_template=1"]
    rows = measured(capsys, "long_tasks", "--seeds", 0, "--out", tmp_path, "--set", *cloning, *playing_)["rows"]
    assert len(rows) == 5
    assert rows[4]["title"] == "cloned from overlapping pieces, then M-GRPO with growing step limits"
    assert all(row["env_steps"] >= 40 for row in rows[2:])


@pytest.mark.slow
def test_carrying_has_rows_for_templates_a_site_and_layouts_of_no_training(tmp_path, capsys, monkeypatch):
    starter, made = "agents/checkpoints/starter", {}

    def command(module, out, **options):
        made[out.name] = module, options
        shutil.copytree(starter, out, dirs_exist_ok=True)

    monkeypatch.setattr(compare, "command", command)
    monkeypatch.setattr(playing, "MAX_STEPS", 2)
    monkeypatch.setattr(labels, "load_encoder", lambda: lambda texts: torch.ones(len(texts), 1).numpy())
    sizes = ["--agents", starter, "--limit", 6, "--test-worlds", 1101, "--set", "plays=3", "one_held_out_of=2"]
    found = measured(capsys, "carrying", "--out", tmp_path, "--seeds", 0, 1, *sizes, "left_out_site=shopping")
    for part in ("trained_templates", "templates_of_no_training", "site_of_no_training"):
        assert [row["title"] for row in found[part]] == ["the clone", "trained on", "with DAgger", "random actions"]
    assert found["trained_templates"][0]["tasks"] + found["templates_of_no_training"][0]["tasks"] == 6  # of all sites
    assert found["site_of_no_training"][0]["tasks"] < 6
    assert [row["title"] for row in found["held_out_layouts"]][2:4] == ["and after walks", "sham"]
    assert [row["seeds"] for row in found["held_out_layouts"]] == [1, 1, 1, 2, 1], "the starter plays alike with all seeds"
    assert [made[f"clone{way}"][1].get("dagger") for way in ("", "_longer", "_dagger")] == [None, 0, 3]
    assert made["walked"][1]["worlds"] == (1101,)
    walked, sham = (load_pointer(tmp_path / "carrying" / "seed_0" / name)[0].labels["shop.test"] for name in ("walked", "sham"))
    true, dealt = walked.pop("effect"), sham.pop("effect")
    assert walked == sham
    assert {effect: len(found) for effect, found in true.items()} == {effect: len(found) for effect, found in dealt.items()}
    assert sorted(chain(*true.values())) == sorted(chain(*dealt.values()))
    together = [{frozenset(found) for found in effects.values() if len(found) > 1} for effects in (true, dealt)]
    assert len(together[0] & together[1]) < len(together[0]) / 2, "labels that do the same thing are parted"


@pytest.mark.slow
def test_adaptation_has_a_row_for_each_number_of_demonstrations(tmp_path, capsys):
    numbers = ["site=map", "cloning_updates=4", "updates=2", "worlds=[11]", "demonstrations=[0, 2]"]
    sizes = ["--limit", 2, "--seeds", 0, "--split", "train", "--test-worlds", 12]
    result = measured(capsys, "adaptation", "--out", tmp_path, *sizes, "--set", *numbers)
    assert [row["title"] for row in result["rows"]] == ["after 0 demonstrations", "after 2 demonstrations"]


def test_no_demonstration_of_the_other_sites_needs_the_site_that_is_left_out():
    others = set(compare.templates_without("gitlab"))
    assert len(others) > 100
    assert not any(name.startswith("gitlab.") for name in others)
    for task in task_suite.load("train"):
        assert task.template not in others or "gitlab" not in task.sites


@pytest.mark.parametrize(("words", "values"), [
    (["nothing"], ("recipe", "'nothing'", "agent_q")),
    (["interactions"], ("agents", "none", "interactions")),
    (["long_tasks", "--agents", "a"], ("agents", "a", "long_tasks")),
    (["interactions", "--agents", "expert", "--set", "limit=3"], ("set", "'limit=3'", "NAME=VALUE")),
])  # fmt: skip
def test_settings_that_do_not_fit_the_recipe_are_refused(words, values, tmp_path):
    with expect_error(ValueError, *values):
        compare.main([*words, "--out", str(tmp_path)])


@pytest.mark.parametrize(("count", "limit"), [(168, 100), (10, 3), (3, 10), (5, 5)])
def test_some_of_the_tasks_are_spread_over_them_all(count, limit):
    chosen = subsample(list(range(count)), limit)
    assert len(chosen) == min(count, limit)
    steps = [later - earlier for earlier, later in zip(chosen, [*chosen[1:], count], strict=True)]
    assert chosen[0] == 0
    assert max(steps) - min(steps) <= 1


def test_a_variation_of_the_test_split_is_refused():
    with expect_error(ValueError, "variation", "'layout'"):
        methods.MethodsSettings(templates=(), variation="layout")
