"""The command of reinforcement: resuming, options and help, and runs of M-GRPO on tiny envs."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from pkgutil import resolve_name
from random import Random

import pyarrow.parquet as pq
import pytest

from agents import grpo as trainer
from agents import train_rl
from agents.data.trajectories import Step, Trajectory
from agents.models.checkpoints import agent_record, checkpoints, load_model, save_agent
from agents.rollouts.curriculum import Group
from agents.settings import fixed_options
from agents.train_bc import main as clone_command
from agents.train_rl import make_settings
from agents.training import cloning as train_bc
from agents.training import runs
from agents.training.metrics import Metrics, read_metrics
from agents.training.settings import (
    METHODS,
    STREAM_OPTIONS,
    ReplaySettings,
    hidden_from_pointing_networks,
)
from tests import tiny
from tests.errors import expect_error
from tests.tiny_runs import assert_same_weights, bc, clone, grpo, help_of, tiny_envs
from webarena_gym.errors import EvaluationError

__all__ = ["clone", "tiny_envs"]  # fixtures


def test_all_weights_of_a_pretrained_model_are_trained_carefully(tmp_path, clone):
    model, tokenizer = tiny.tiny_model()
    tokenizer.pad_token = tokenizer.eos_token  # as of another project's tokenizer
    save_agent(tmp_path / "model", model, tokenizer, {})
    pretrained, out = str(tmp_path / "model"), tmp_path / "run"
    rates = [make_settings(out=out, **options).learning_rate for options in (
        {"model": str(clone)}, {"model": "m"}, {"model": pretrained, "lora_rank": 4}, {"model": pretrained},
        {"model": pretrained, "learning_rate": 1e-3},
    )]  # fmt: skip
    assert rates == [3e-4, 3e-4, 3e-4, 1e-6, 1e-3]
    assert make_settings("webrl", model=pretrained, out=out).learning_rate == 1e-6
    train_rl.train(grpo(out, pretrained, updates=1, learning_rate=1e-3), tiny.tasks(4))
    assert make_settings(model=pretrained, out=out).learning_rate == 1e-3


def test_settings_in_python_take_the_options_that_are_stored_with_a_language_model(tmp_path):
    model, tokenizer = tiny.tiny_model()
    tokenizer.pad_token = tokenizer.eos_token
    save_agent(tmp_path / "model", model, tokenizer, {"max_steps": 7, "elements": "id"})
    settings = make_settings(model=str(tmp_path / "model"), out=tmp_path)
    assert (settings.max_steps, settings.elements) == (7, "id")
    assert make_settings(model=str(tmp_path / "model"), out=tmp_path, max_steps=9).max_steps == 9


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(("method", "changes", "good"), [
    ("grpo", {}, 20), ("grpo", {"advantages": "forks"}, 200), ("tsr", {"search_width": 2}, 60), ("awr", {"replay": 16}, 20),
])  # fmt: skip
@pytest.mark.sampled(3)
def test_non_finite_rewards_name_the_episode_and_save_a_checkpoint(tmp_path, clone, monkeypatch, method, changes, good, reward):
    tasks, step, ends = tiny.tasks(20), tiny.TinyShop.step, []

    def odd(self, action):
        observation, given, terminated, truncated, info = step(self, action)
        ends.extend([1] * (terminated or truncated))
        return observation, reward if len(ends) > good else given, terminated, truncated, info

    own = {"model": str(clone), "group_size": 4, "tasks_per_update": 2, "max_new_tokens": 12, "save_every": 50, "updates": 50}
    settings = make_settings(method, out=tmp_path, **own, **changes)
    with monkeypatch.context() as patched:
        patched.setattr(tiny.TinyShop, "step", odd)
        with pytest.raises(
            EvaluationError, match=rf"task tiny/\d+, seed \d+: the env returned the reward {reward} .*expected a finite"
        ):
            trainer.train(settings, tasks, resolve_name(settings.trainer))
    done = [record["update"] for record in read_metrics(tmp_path)]
    assert done
    assert [checkpoint.update for checkpoint in checkpoints(tmp_path)] == done[-1:]


def test_a_run_that_ended_by_an_odd_reward_goes_on_exactly(tmp_path, clone, monkeypatch):
    tasks, log = tiny.tasks(40), Metrics.log
    whole = trainer.train(grpo(tmp_path / "whole", clone), tasks)

    def end(self, update, values):
        log(self, update, values)
        if update == 3:
            raise EvaluationError("an odd reward")

    with monkeypatch.context() as patched:
        patched.setattr(Metrics, "log", end)
        with expect_error(EvaluationError, "an odd reward"):
            trainer.train(grpo(tmp_path / "ended", clone), tasks)
    assert [checkpoint.update for checkpoint in checkpoints(tmp_path / "ended")] == [3]
    assert_same_weights(whole, trainer.train(grpo(tmp_path / "ended", clone), tasks))


@pytest.mark.parametrize("changes", [
    {},
    {"average": 0.9, "constrained": True},
    {"replayed": 4, "old_logprobs": "recomputed", "groups_remembered": 3},
], ids=str)  # fmt: skip
def test_a_killed_reinforcement_goes_on_exactly(tmp_path, monkeypatch, clone, changes):
    whole = train_rl.train(grpo(tmp_path / "whole", clone, **changes), tiny.tasks(20))
    tiny.killed_after(monkeypatch, 3, train_rl.train, grpo(tmp_path / "killed", clone, save_every=2, **changes), tiny.tasks(20))
    resumed = train_rl.train(grpo(tmp_path / "killed", clone, save_every=2, **changes), tiny.tasks(20))
    assert_same_weights(whole, resumed)
    assert any(record.get("replayed", 0) for record in read_metrics(tmp_path / "killed")) == ("replayed" in changes)


@pytest.mark.parametrize("changes", [{}, {"temperature": 0.7, "kl_weight": 0.1}], ids=str)
def test_the_log_probabilities_of_constrained_replies_are_those_of_the_sampler(tmp_path, clone, changes):
    train_rl.train(grpo(tmp_path / "rl", clone, updates=1, constrained=True, **changes), tiny.tasks(20))
    (record,) = read_metrics(tmp_path / "rl")
    assert record["trained_steps"] > 0
    assert record["logprob_gap"] < 1e-5
    assert agent_record(tmp_path / "rl")["constrained"] is True


RECOMPUTED = {"contexts": "released", "old_logprobs": "recomputed"}


@pytest.mark.parametrize(("changes", "values"), [
    ({"constrained": True, "system": "think"}, ("system", "'think'")),
    ({"constrained": True, **RECOMPUTED}, ("contexts", "'released'")),
    ({"constrained": True, "vllm": "http://127.0.0.1:1"}, ("vllm", "--old-logprobs recomputed")),
    ({"constrained": True, "cluster": "local"}, ("cluster", "'local'")),
    ({"contexts": "released"}, ("contexts", "old_logprobs 'sampled'", "'recomputed'")),
    ({**RECOMPUTED, "history": "full"}, ("history 'full'", "history 'compressed'")),
    ({"cluster": "local", "workers": 2}, ("workers", 2, "cluster")),
    ({"updates": -1}, ("updates", -1, 0)),
    ({"save_every": 0}, ("save_every", 0, 1)),
    ({"fork_every": 0}, ("fork_every", 0, 1)),
    ({"groups_remembered": 0}, ("groups_remembered", 0, 1)),
    ({"group_size": 1}, ("group_size", 1, 2)),
    ({"group_size": 0, "advantages": "forks"}, ("group_size", 0, 1)),
    ({"tasks_per_update": 0}, ("tasks_per_update", 0, 1)),
    ({"temperature": 0.0}, ("temperature", 0.0, 0)),
    ({"replayed": -1}, ("replayed", -1, 0)),
    ({"replayed": 8, "old_logprobs": "sampled"}, ("replayed", 8, "old_logprobs 'sampled'")),
    ({"distilled": 0.1, "kl_weight": 0.1}, ("distilled", "kl_weight 0.1")),
    ({"distilled": 0.1, "overlap": True}, ("distilled", "0.1", "asynchronous")),
    ({"cpu_minutes": 1.0, "minutes": 1.0}, ("cpu_minutes=1.0", "minutes=1.0")),
    ({"step_limits": (5, 2)}, ("step_limits=(5, 2)",)),
    ({"step_limits": (5, 9), "max_steps": 8}, ("step_limits=(5, 9)", "max_steps=8")),
    ({"learning_rat": 1.0}, ("'learning_rat'", "'learning_rate'")),
])  # fmt: skip
def test_settings_that_make_no_sense_are_refused(tmp_path, clone, changes, values):
    with expect_error(ValueError, *values):
        train_rl.train(grpo(tmp_path / "rl", clone, **changes), tiny.tasks(4))


def test_resumed_runs_need_equal_settings_except_their_length(tmp_path, clone, monkeypatch):
    data, tasks = tiny.demonstrations(30), tiny.tasks(20)
    cloned, lifted = tmp_path / "bc", tmp_path / "rl"
    for is_over in (False, True):
        with monkeypatch.context() as patch:
            if is_over:  # it is left as it is
                patch.setattr(runs, "save_checkpoint", None)
            assert train_bc.train(bc(cloned, updates=2), data).name == "update_0000002"
            assert train_rl.train(grpo(lifted, clone, updates=1), tasks).name == "update_0000001"
    with expect_error(ValueError, "curriculum=0.0", 0.5, "--out"):
        train_bc.train(bc(cloned, updates=2, curriculum=0.5), data)
    with expect_error(ValueError, "learning_rate=0.0003", 0.001):
        train_rl.train(grpo(lifted, clone, updates=2, learning_rate=1e-3), tasks)
    assert train_bc.train(bc(cloned, updates=3, save_every=1, threads=1), data).name == "update_0000003"
    assert train_rl.train(grpo(lifted, clone, updates=2, num_envs=4), tasks).name == "update_0000002"
    (cloned / "begun_with.json").unlink()
    with expect_error(ValueError, "bc", "begun_with.json"):
        train_bc.train(bc(cloned, updates=3), data)


def test_no_updates_save_what_training_would_begin_with(tmp_path, clone):
    assert_same_weights(train_rl.train(grpo(tmp_path / "rl", clone, updates=0), tiny.tasks(9)), clone)
    assert train_bc.train(bc(tmp_path / "bc", updates=0), tiny.demonstrations(30)).name == "update_0000000"


@pytest.mark.parametrize("changes", [
    {"advantages": "trajectory", "weighting": "paper", "kl_weight": 0.01},
    {"advantages": "gigpo", "weighting": "constant", "ratio": "sequence"},
    {"contexts": "released", "old_logprobs": "recomputed"},
    {"advantages": "forks", "tasks_per_update": 2},
], ids=str)  # fmt: skip
def test_other_settings_run(tmp_path, clone, changes):
    train_rl.train(grpo(tmp_path / "rl", clone, updates=2, **changes), tiny.tasks(20))
    assert sum(record["trained_steps"] for record in read_metrics(tmp_path / "rl")) > 0


def test_the_model_teaches_itself_with_the_solution_before_it(tmp_path, clone):
    tasks, (made, args) = tiny.tasks(20), tiny.language_model(*load_model(clone), distilled=0.5)
    method, teacher = trainer.GRPO(args, tasks, made), trainer.Teacher(made, tasks)
    failures = [
        Trajectory(task.task_id, "", (Step("", "", "", (11, 12, 13), (14,), (-1.0,)),), 0.0, "exited") for task in tasks[:2]
    ]
    for task, failure in zip(tasks, failures, strict=False):
        [answer], [plain] = teacher.choices(failure), made.choices(failure)
        hint, prompt = answer.sample.prompt_ids[:-3], answer.sample.prompt_ids[-3:]
        assert (prompt, answer.sample.response_ids) == plain.sample
        assert f'Click", element="{task.target}"' in made.tokenizer.decode(hint)
    groups = [Group(number, task, [item, item], None) for number, (task, item) in enumerate(zip(tasks, failures, strict=False))]
    assert len(method.batch(groups, Random(0))[0]) == 4  # failures alone tell a pupil something
    with expect_error(ValueError, "'tiny/0'"):
        trainer.Teacher(made, [replace(tasks[0], target="")])
    train_rl.train(grpo(tmp_path / "rl", clone, updates=2, distilled=0.5), tasks)
    assert all(record["loss"] and record["kl"] > 0 for record in read_metrics(tmp_path / "rl"))


def test_samples_are_saved_as_they_are_trained_on(tmp_path, clone):
    train_rl.train(grpo(tmp_path / "rl", clone, updates=2, save_samples=True), tiny.tasks(20))
    trained = [record["trained_steps"] for record in read_metrics(tmp_path / "rl")]
    saved = [pq.read_table(path).to_pylist() for path in sorted((tmp_path / "rl" / "samples").iterdir())]
    assert [sum(row["advantage"] != 0 for row in rows) for rows in saved] == trained
    assert [{row["policy_version"] for row in rows} for rows in saved] == [{0}, {1}]


def options_of(help_text):
    return set(re.findall(r"--[a-z][a-z0-9-]*", help_text))


def names_of(settings):
    return {item.name for item in fields(settings)} - {"keywords"}


@pytest.mark.parametrize("command", ["train_bc", "pointer network", "language model", "stream", *METHODS])
def test_options_are_documented_and_the_help_depends_on_the_model(command, capsys, clone):
    main = clone_command if command == "train_bc" else train_rl.main
    chosen = ["--method", command] if command in METHODS else []
    pointer = "agents/checkpoints/cloned-1"
    chosen += {"language model": ["--model", clone], "pointer network": ["--model", pointer], "stream": ["--overlap"]}.get(
        command, []
    )
    text, _ = help_of(main, capsys, *chosen)
    if command == "train_bc":
        made, hidden = bc("out"), set()
    else:
        more = {"staleness": 1} if command == "stream" else {}
        made = make_settings(command if command in METHODS else "grpo", model="m", out="out", **more)
        hidden = hidden_from_pointing_networks() if command == "pointer network" else set()
        hidden |= set() if command == "stream" else STREAM_OPTIONS
    assert options_of(text) >= {"--" + name.replace("_", "-") for name in names_of(made) - hidden}
    assert options_of(text).isdisjoint(
        "--" + name.replace("_", "-") for name in hidden - {"window", "contexts", "overlap", "cluster", "lora_rank"}
    )
    assert command != "pointer network" or len(names_of(made) - hidden) <= 43
    assert {"minutes", "out", "threads"}.isdisjoint(fixed_options(made))
    assert {"learning_rate", "max_steps", "seed"} <= {*fixed_options(made)}


def test_the_help_groups_language_model_options_and_shows_all_defaults(capsys, clone):
    pointer = "agents/checkpoints/cloned-1"
    _, groups = help_of(train_rl.main, capsys)
    special = {"--" + name.replace("_", "-") for name in hidden_from_pointing_networks() & names_of(METHODS["grpo"])}
    special -= {"--lora-rank"}  # in the first group
    parts = ("prompt", "computation")
    assert set().union(*(re.findall(r"--[a-z-]+", groups[f"language model {part}"]) for part in parts)) >= special
    others = " ".join(box for title, box in groups.items() if not title.startswith("language model"))
    assert not [name for name in special if re.search(rf"{name} (N|X|TEXT|URL|JSON|{{|, --no-)", others)]
    assert "truncated (default: as stored with the model, or 15)" in groups["start"]
    assert "need at least 2 (default: 16; 8 for a pointer network)" in groups["start"]
    assert "learning rate (default: 1e-06, or 0.0003 with --lora-rank; 0.0005 for a pointer network)" in groups["start"]
    settings = {"language model": make_settings(model=str(clone), out="o"), "pointer": make_settings(model=pointer, out="o")}
    for source, made in ((clone, settings["language model"]), (pointer, settings["pointer"])):
        _, groups = help_of(train_rl.main, capsys, "--model", source)
        assert f"truncated (default: {made.max_steps})" in groups["start"]
        assert f"need at least 2 (default: {made.group_size})" in groups["start"]
        assert f"learning rate (default: {made.learning_rate})" in groups["start"]
    assert settings["pointer"].max_steps == 30


def test_the_page_of_settings_and_the_help_have_the_same_texts(capsys):
    page = (Path(__file__).parents[1] / "docs" / "settings.md").read_text(encoding="utf-8")
    helps = {
        "training_options": help_of(train_rl.main, capsys, "--cluster", "local")[0],
        "cloning_options": "".join(help_of(clone_command, capsys, *more)[0] for more in ((), ("--model", "pointer"))),
    }
    for name, output in helps.items():
        text = " ".join(re.sub(r'[`"]', " ", output).split())
        rows = re.search(rf"<!-- begin {name} -->(.*)<!-- end {name} -->", page, re.DOTALL)[1]
        meanings = re.findall(r"^\| `--[a-z-]+` \|.*?(?<= \| )([a-zA-Z][^|]{15,}) \|", rows, re.MULTILINE)
        assert len(meanings) > 40
        for meaning in meanings:
            for part in meaning.split(" / "):
                assert " ".join(re.sub(r'[`"]', " ", part).split()) in text, part


def test_settings_are_read_from_the_command_line(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(train_rl, "train", seen.append)
    arguments = ["--model", "owner/model", "--out", str(tmp_path), "--worlds", "3", "4"]
    train_rl.main([*arguments, "--advantages", "gigpo", "--no-seek-mixed", "--window", "500"])
    train_rl.main(["--method=awr", *arguments[:4], "--replay", "3"])
    train_rl.main([*arguments, "--staleness", "2"])
    grpo, awr, late = seen
    assert (grpo.worlds, grpo.seek_mixed, grpo.out, grpo.window) == ((3, 4), False, tmp_path, 500)
    assert (grpo.advantages, grpo.group_size, grpo.processes) == ("gigpo", 16, 0)
    assert (awr.replay, awr.group_size, awr.minibatches) == (3, 1, 4)
    assert (late.staleness, late.overlap, isinstance(late, trainer.GRPOSettings)) == (2, False, True)
    assert [settings.is_streamed for settings in seen] == [False, False, True]


def test_the_command_reads_the_record_of_the_model_once(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(train_rl, "train", lambda settings: settings)
    monkeypatch.setattr(train_rl, "usage_record", lambda model: read.append(model) or {"max_steps": 7})
    train_rl.main(["--model", "owner/model", "--out", str(tmp_path)])
    assert read == ["owner/model"]
    assert make_settings(model="owner/model", out=tmp_path).max_steps == 7


@pytest.mark.parametrize(("options", "message"), [
    (["--method", "awr", "--clip-low", "0.9"], "clip-low"),
    (["--method", "nope"], "there is no method 'nope'; expected one of 'grpo'"),
    (["--model", "small"], "--model is 'small', a new model; expected a trained one: python -m agents.train_bc --model small"),
    (["--model", "pointer"], "python -m agents.train_bc --model pointer"),
    (["--num-generations", "8"], "--num-generations is a name of TRL; the option here is --group-size"),
    (["--epsilon_high=0.3"], "the option here is --clip-high"),
    (["--worlds", "11-20"], "--worlds is '11-20'; separate numbers by spaces"),
    (["--worlds", "11,12"], "--worlds is '11,12'; separate numbers by spaces"),
    (["--group-size", "1"], "--group-size is 1; expected at least 2"),
    (["--step-limits", "5", "2"], "--step-limits=(5, 2)"),
    (["--model", "agents/checkpoints/cloned-1", "--overlap"], "--overlap is True, which is for language models; leave it out"),
    (["--model", "agents/checkpoints/cloned-1", "--lora-rank", "8"], "--lora-rank is 8, which is for language models; leave it out"),
])  # fmt: skip
def test_options_that_make_no_sense_are_refused(tmp_path, capsys, options, message):
    with pytest.raises((SystemExit, ValueError)) as ended:
        train_rl.main(["--model", "owner/model", "--out", str(tmp_path), *options])
    output = capsys.readouterr().err + str(ended.value)
    assert message in " ".join(output.replace("│", " ").split())


def test_a_run_that_trained_no_step_warns_at_its_end(tmp_path):
    for counts, warns in (([0, 0], True), ([0, 3], False), ([], False)):
        out = tmp_path / str(counts)
        out.mkdir()
        lines = [json.dumps({"update": number, "trained_steps": count}) + "\n" for number, count in enumerate(counts, 1)]
        (out / "metrics.jsonl").write_text("".join(lines))
        assert train_rl.untrained_warning(out).startswith(f"warning: none of the {len(counts)} updates") is warns


def test_a_budget_of_cpu_time_ends_a_run_and_a_resumed_one(tmp_path, clone):
    settings = grpo(tmp_path, clone, updates=1000, cpu_minutes=0.01)
    train_rl.train(settings, tiny.tasks(8))
    rows = read_metrics(tmp_path)
    assert rows[-1]["cpu_minutes"] > 0.009  # noted a little before the budget is looked at
    assert len(rows) < 1000
    train_rl.train(settings, tiny.tasks(8))
    assert read_metrics(tmp_path) == rows
    train_rl.train(grpo(tmp_path / "steps", clone, updates=1000, env_steps=100), tiny.tasks(8))
    *before, last = (row["env_steps"] for row in read_metrics(tmp_path / "steps"))
    assert max([0, *before]) < 100 <= last


@pytest.mark.parametrize("method", METHODS)
def test_defaults_of_language_models_leave_the_sizes_of_other_methods_alone(tmp_path, method):
    of_language_models, of_pointers = (
        vars(make_settings(method, model=model, out=tmp_path)) for model in ("m", "agents/checkpoints/cloned-1")
    )
    baseline = issubclass(METHODS[method], ReplaySettings)
    sizes = {"tasks_per_update": 256, "group_size": 1, "minibatches": 4} if baseline else {"tasks_per_update": 16}
    for name, value in sizes.items():
        assert of_pointers[name] == of_language_models[name] == value
    assert {name: of_language_models[name] for name in ("learning_rate", "average")} == {"learning_rate": 3e-4, "average": 0.0}
