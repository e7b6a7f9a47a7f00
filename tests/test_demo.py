"""The demo with tiny numbers, and the agents that are bundled."""

import json
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from agents import demo, train_rl
from agents.command_lines import parse_settings
from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Trajectory
from agents.evaluation import evaluate as evaluation
from agents.evaluation.evaluate import create_policy, evaluate
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, checkpoints
from webarena_gym.evaluation.statistics import score

CHECKPOINTS = Path(demo.__file__).parent / "checkpoints"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    few = {"tasks_per_update": 1, "group_size": 2, "num_envs": 2}
    monkeypatch.setattr(train_rl, "make_settings", partial(train_rl.make_settings, **few))


def settings(out, *more):
    arguments = ["--out", str(out), "--templates", "shopping.account_place", "shopping.product_place", "--worlds", "11"]
    arguments += ["--test-worlds", "1001", "--bc-updates", "2", "--grpo-updates", "2"]
    return parse_settings(demo.DemoSettings, [*arguments, *more], program="agents.demo")


def output_lines(capsys):
    """The lines that were printed, without the signs of life that a slow machine prints."""
    return [line for line in capsys.readouterr().out.splitlines() if " still running, " not in line]


@pytest.mark.parametrize(("model", "baseline"), [(None, "BC agent"), (CHECKPOINTS / "cloned-1", "given agent")])
def test_the_agent_before_and_after_fine_tuning_is_compared_on_held_out_worlds(tmp_path, capsys, monkeypatch, model, baseline):
    out = tmp_path / "demo"
    (out / "grpo" / "update_0000001").mkdir(parents=True)
    (out / "grpo" / "update_0000001" / "progress.json").write_text("{}")  # of an earlier demo
    (out / "notes.txt").write_text("mine")
    monkeypatch.setattr(demo, "_SAVE_ROLLOUTS", 1)
    demo.run(settings(out, *(["--model", str(model)] if model else [])))
    assert (out / "notes.txt").read_text() == "mine"
    lines = output_lines(capsys)
    assert len(lines) <= 36
    assert [line for line in lines if line.startswith("3/4")] == [
        "3/4 M-GRPO, updates 1 to 1 of 2",
        "3/4 M-GRPO, updates 2 to 2 of 2",
    ]
    announced = next(number for number, line in enumerate(lines) if "no score: the curriculum" in line)
    assert announced < lines.index("3/4 M-GRPO, updates 1 to 1 of 2")
    result = json.loads((out / "result.json").read_text())
    before, after = (f"{100 * result[name]:.1f} %" for name in ("before", "after"))
    assert lines[-5] == f"Success on 8 tasks of 2 templates in held-out worlds: {baseline} {before}, after M-GRPO {after}."
    low, high = (f"{100 * value:+.1f}" for value in result["difference_ci95"])
    assert lines[-4] == f"Difference: {100 * result['difference']:+.1f} points (95 % CI {low} to {high}, paired, n = 8)."
    assert lines[-3].endswith("reference solutions 100.0 %.")
    assert [(point["update"], point["n"]) for point in result["curve"]] == [(0, 8), (1, 8), (2, 8)]
    assert [point["success"] for point in result["curve"]][::2] == [result["before"], result["after"]]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert lines[-4] in report
    assert '"held_out_low":[' in report
    assert '<a href="#groups">' in report


def test_a_stopped_demo_is_resumed_and_ends_as_one_that_was_not_stopped(tmp_path, capsys, monkeypatch):
    demo.run(settings(tmp_path / "whole"))
    trained, train = [], train_rl.train

    def train_once(args):
        if trained:
            raise KeyboardInterrupt
        trained.append(args.updates)
        return train(args)

    with monkeypatch.context() as patch:
        patch.setattr(train_rl, "train", train_once)
        with pytest.raises(KeyboardInterrupt):
            demo.run(settings(tmp_path / "stopped"))
    assert trained == [1]
    names = ("after_m-grpo_update_1", "bc_agent", "expert", "random")
    saved = f"bc up to update 2, grpo up to update 1, {', '.join(f'episodes_{name}.jsonl' for name in names)}"
    assert f"Stopped. Saved in {tmp_path / 'stopped'}: {saved}." in capsys.readouterr().out
    played = []
    evaluate_policy = evaluation.evaluate_policy
    monkeypatch.setattr(
        evaluation, "evaluate_policy", lambda chosen, *rest: played.append(chosen.policy) or evaluate_policy(chosen, *rest)
    )
    before = (tmp_path / "stopped" / "bc" / "metrics.jsonl").stat().st_mtime_ns
    demo.run(settings(tmp_path / "stopped"))
    assert f"Resuming the demo in {tmp_path / 'stopped'}." in capsys.readouterr().out
    assert played == [str(tmp_path / "stopped" / "grpo")]
    assert (tmp_path / "stopped" / "bc" / "metrics.jsonl").stat().st_mtime_ns == before
    whole, stopped = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("whole", "stopped"))
    assert {**stopped, "cpu_minutes": 0} == {**whole, "cpu_minutes": 0}
    models = [checkpoints(tmp_path / name / "grpo")[-1].path / "pointer.safetensors" for name in ("whole", "stopped")]
    assert models[0].read_bytes() == models[1].read_bytes()
    demo._prepare_folder(
        settings(tmp_path / "stopped", "--seed", "1")
    )  # other settings, or a finished demo: all is trained again
    assert not (tmp_path / "stopped" / "bc").exists()


def test_every_policy_is_evaluated_with_the_env_of_the_agents_record(tmp_path, monkeypatch):
    envs = {}

    def evaluate_policy(settings, tasks, env):
        envs[settings.policy] = env
        return score(tasks, [Trajectory(task.task_id, "", (), 0.0, "exited") for task in tasks])

    folder = str(CHECKPOINTS / "language-model-1.7m")
    monkeypatch.setattr(evaluation, "evaluate_policy", evaluate_policy)
    monkeypatch.setattr(train_rl, "train", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        demo.run(settings(tmp_path / "demo", "--model", folder))
    assert set(envs) == {"random", "expert", folder}
    assert {(env.elements, env.window) for env in envs.values()} == {("label", 3000)}


def test_the_plan_states_the_measured_range_for_the_default_settings_only(tmp_path):
    default = demo._plan(demo.DemoSettings(out=tmp_path, seed=7), 38)
    assert demo._EXPECTED in default
    assert demo._DURATION in default
    other = demo._plan(demo.DemoSettings(grpo_updates=59), 38)
    assert "not measured for these settings" in other
    assert demo._EXPECTED not in other


def test_a_silent_phase_prints_signs_of_life(capsys, monkeypatch):
    monkeypatch.setattr(demo, "_HEARTBEAT_S", 0.001)
    output = ""
    with demo._phase("drawing"):
        while "still running" not in output:
            output += capsys.readouterr().out
    assert output.startswith("drawing\n")


@pytest.mark.parametrize(
    ("name", "elements", "window"),
    [("starter", "id", 20_000), ("cloned-1", "id", 20_000), ("language-model-1.7m", "label", 3000)],
)
def test_agents_that_ship_know_how_they_are_used_and_solve_what_they_have_learned(name, elements, window):
    folder = str(CHECKPOINTS / name)
    agent = agent_record(folder)
    assert (agent["elements"], agent["window"]) == (elements, window)
    assert sum(file.stat().st_size for file in (CHECKPOINTS / name).iterdir()) < 10_000_000
    tasks = draw_tasks([1001], 3, templates=["shopping.product_place", "shopping.reviews_place", "shopping.wish_list_add"])
    settings = EvaluationSettings(**policy_defaults(folder), policy=folder)
    with closing(create_policy(settings)) as policy:
        assert evaluate(policy, tasks, settings).total.success > 0.6
