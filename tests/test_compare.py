"""Recipes of `benchmarks.compare`: rows on the same tasks, each trained and played once."""

import json
import shutil

import pytest

from benchmarks import compare, playing
from benchmarks.playing import some
from webarena_gym import tasks as task_suite

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
    with pytest.raises(ValueError, match="was begun with limits="):
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


def test_ensembles_stand_beside_their_members(tmp_path, capsys):
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


def test_agent_q_has_a_row_for_each_iteration_and_jobs_change_nothing(tmp_path, capsys):
    numbers = ["iterations=1", "tasks_per_iteration=1", "budget=12", "worlds=[14]", 'templates=["shopping.cart_add"]']
    arguments = ["agent_q", "--agents", CLONE, CLONE, "--limit", 1, "--set", *numbers]
    rows = measured(capsys, *arguments, "--out", tmp_path / "one")["rows"]
    assert [row["title"] for row in rows] == ["before", "after 1 iterations"]
    assert 0 == rows[0]["env_steps"] < rows[1]["env_steps"] <= 12
    again = measured(capsys, *arguments, "--out", tmp_path / "two", "--jobs", 2)["rows"]
    assert [row | {"cpu_minutes": 0} for row in again] == [row | {"cpu_minutes": 0} for row in rows]


def test_long_tasks_have_a_row_for_each_way(tmp_path, capsys):
    cloning = ['templates=["hard.message_on_order"]', "cloning_worlds=1", "cloning_updates=3", "env_steps=40", "rl_worlds=[41]"]
    playing_ = ["step_limits=[4, 24]", "tasks_per_update=1", "group_size=2", "test_worlds=[2203]", "per_test_template=1"]
    rows = measured(capsys, "long_tasks", "--seeds", 0, "--out", tmp_path, "--set", *cloning, *playing_)["rows"]
    assert len(rows) == 5
    assert rows[4]["title"] == "cloned from overlapping pieces, then M-GRPO with growing step limits"
    assert all(row["env_steps"] >= 40 for row in rows[2:])


@pytest.mark.slow
def test_adaptation_has_a_row_for_each_number_of_demonstrations(tmp_path, capsys):
    numbers = ["site=map", "cloning_updates=4", "updates=2", "worlds=[11]", "demonstrations=[0, 2]"]
    sizes = ["--limit", 2, "--seeds", 0, "--split", "train", "--test-worlds", 12]
    result = measured(capsys, "adaptation", "--out", tmp_path, *sizes, "--set", *numbers)
    assert [row["title"] for row in result["rows"]] == ["after 0 demonstrations", "after 2 demonstrations"]


def test_no_demonstration_of_the_other_sites_needs_the_site_that_is_left_out():
    others = set(compare.others("gitlab"))
    assert len(others) > 100
    assert not any(name.startswith("gitlab.") for name in others)
    for task in task_suite.load("train"):
        assert task.template not in others or "gitlab" not in task.sites


@pytest.mark.parametrize(("words", "said"), [
    (["nothing"], "recipe is 'nothing'; expected one of adaptation, agent_q"),
    (["interactions"], "agents are none; interactions takes one"),
    (["long_tasks", "--agents", "a"], "agents are a; long_tasks takes none"),
    (["interactions", "--agents", "expert", "--set", "limit=3"], "set is 'limit=3'; expected NAME=VALUE with a name of limits"),
])  # fmt: skip
def test_settings_that_do_not_fit_the_recipe_are_refused(words, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        compare.main([*words, "--out", str(tmp_path)])


@pytest.mark.parametrize(("count", "limit"), [(168, 100), (10, 3), (3, 10), (5, 5)])
def test_some_of_the_tasks_are_spread_over_them_all(count, limit):
    chosen = some(list(range(count)), limit)
    assert len(chosen) == min(count, limit)
    steps = [later - earlier for earlier, later in zip(chosen, [*chosen[1:], count], strict=True)]
    assert chosen[0] == 0
    assert max(steps) - min(steps) <= 1
