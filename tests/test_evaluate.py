import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest

from agents import evaluate as command
from agents.command_lines import parse_settings
from agents.data.trajectories import Step, Trajectory, read_trajectories, write_trajectories
from agents.evaluation import evaluate
from agents.evaluation.settings import EvaluationSettings, choose_tasks, policy_defaults, scored_options
from agents.rollouts.chat import ChatPolicy
from agents.rollouts.policies import RandomReplies, ScriptedPolicy
from agents.settings import EnvSettings
from agents.train_rl import make_settings
from tests import tiny
from webarena_gym import console
from webarena_gym import suite as task_suite
from webarena_gym.evaluation.statistics import score


def trajectory(reward, ending="exited", reply="go_backward()"):
    step = Step("<a>Tom & Jerry</a>", reply, "no such <element>")
    return Trajectory(
        "t/1", "Buy <b>it</b>", (step,), reward, ending, verdicts=({"check": "url", "passed": False, "reason": "a<b"},),
        failure="it\ndied" if ending == "failed" else "",
    )  # fmt: skip


def test_broken_episodes_are_not_counted():
    tasks = [
        tiny.TinyTask("a", "", ""),
        tiny.TinyTask("b", "", "", eval_types=("string_match", "url_match")),
        tiny.TinyTask("c", "", "", sites=("shopping", "map")),
    ]
    evaluation = score(tasks, [trajectory(1.0), trajectory(0.0), trajectory(0.0, "failed")])
    assert (evaluation.total.success, evaluation.total.n, evaluation.failed) == (0.5, 2, 1)
    assert set(evaluation.by_site) == {"shopping"}
    assert set(evaluation.by_check) == {"state", "string_match+url_match"}
    names = [line.split()[0] for line in evaluation.table().splitlines()]
    assert names == ["all", "success", "by", "shopping", "by", "state", "string_match+url_match", "1", "1"]
    assert "\n1 of 3 episodes failed, and are excluded from all statistics:\n  1 x it died\n" in f"{evaluation.table()}\n"


def test_the_command_line_ends_with_json_the_expert_succeeds_and_episodes_keep_their_settings(capsys, tmp_path):
    saved = tmp_path / "some" / "episodes.jsonl"
    command.main(["--policy", "expert", "--limit", "6", "--seed", "3", "--json", "--save", str(saved)])
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (record["success"], record["n"], record["policy"]) == (1.0, 6, "expert")
    assert 0.6 < record["low"] < record["high"] == 1.0
    episodes = read_trajectories(saved)
    assert [episode.env for episode in episodes] == [EnvSettings(max_steps=30)] * 6
    settings = EnvSettings(elements="id", window=2_000, max_steps=3, history="full")
    policy = ScriptedPolicy(RandomReplies())
    trajectories = evaluate.evaluate(policy, task_suite.load("test")[:2], settings, quiet=True).trajectories
    saved = tmp_path / "episodes.jsonl"
    write_trajectories(saved, trajectories)
    assert read_trajectories(saved) == trajectories
    assert {item.env for item in trajectories} == {settings}


@pytest.mark.parametrize("old", [None, "of an earlier run"])
def test_an_exception_or_ctrl_c_loses_no_finished_episode(tmp_path, monkeypatch, capsys, old):
    class Broken(RandomReplies):
        count = 0

        def __call__(self, *arguments):
            Broken.count += 1
            if Broken.count == 3:
                raise KeyboardInterrupt
            return super().__call__(*arguments)

    saved = tmp_path / "episodes.jsonl"
    if old:
        saved.write_text(old)
    monkeypatch.setattr(evaluate, "RandomReplies", Broken)
    words = ["--policy", "random", "--limit", "4", "--max-steps", "1", "--num-envs", "1", "--jobs", "1", "--save", str(saved)]
    with pytest.raises(KeyboardInterrupt):
        command.main(words)
    assert len(read_trajectories(saved)) == 2
    assert f"2 of 4 episodes are in {saved}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [saved.name]


PROGRAM = """
import os, signal, sys
from agents import evaluate as command
from agents.evaluation import evaluate

class Stopped(evaluate.RandomReplies):
    count = 0
    def __call__(self, *arguments):
        Stopped.count += 1
        if Stopped.count == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().__call__(*arguments)

evaluate.RandomReplies = Stopped
command.main(sys.argv[1:])
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["episodes.jsonl.gz", "episodes.jsonl", "new/episodes.jsonl"])
def test_a_signal_that_ends_the_process_loses_no_finished_episode(tmp_path, name):
    saved = tmp_path / name
    if saved.parent == tmp_path:
        write_trajectories(saved, [trajectory(1.0)] * 5)  # of an earlier run
    words = ["--policy", "random", "--limit", "4", "--max-steps", "1", "--num-envs", "1", "--jobs", "1", "--save", str(saved)]
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *words], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGTERM, ended.stderr.decode()
    assert len(read_trajectories(saved)) == 2


def test_a_pipe_gets_each_episode_once(tmp_path):
    reader, writer = os.pipe()
    words = [
        "--policy",
        "random",
        "--limit",
        "3",
        "--max-steps",
        "1",
        "--num-envs",
        "1",
        "--jobs",
        "1",
        "--save",
        f"/dev/fd/{writer}",
    ]
    command.main(words)
    os.close(writer)
    with open(reader) as received:
        assert len(received.read().splitlines()) == 3


def _link(folder):
    (folder / "a.jsonl").symlink_to("target.jsonl")
    return folder / "a.jsonl", folder / "target.jsonl"


def _chain_of_links(folder):
    (folder / "b.jsonl").symlink_to("target.jsonl")
    (folder / "a.jsonl").symlink_to(folder / "b.jsonl")
    return folder / "a.jsonl", folder / "target.jsonl"


def _longest_name(folder):
    return (folder / f"{'a' * 249}.jsonl",) * 2


def _plain_file(folder):
    return (folder / "target.jsonl",) * 2


@pytest.mark.parametrize("old", [None, "of an earlier run"])
@pytest.mark.parametrize("target_in", [_plain_file, _link, _chain_of_links, _longest_name])
@pytest.mark.parametrize("refused", [None, "write_bytes", "replace"], ids=["replaceable", "read-only folder", "mounted file"])
def test_episodes_are_written_to_every_target_that_can_be_written(tmp_path, monkeypatch, target_in, old, refused):
    path, target = target_in(tmp_path)
    if old:
        target.write_text(old * 1000)
        target.chmod(0o600)
    before = {*tmp_path.iterdir(), target}
    original = getattr(Path, refused or "replace")

    def refuse(self, *arguments):
        if self.name.startswith(".unfinished"):
            raise OSError(errno.EACCES if refused == "write_bytes" else errno.EBUSY, "refused", str(self))
        return original(self, *arguments)

    if refused:
        monkeypatch.setattr(Path, refused, refuse)
    write_trajectories(path, [trajectory(1.0)])
    assert read_trajectories(target) == read_trajectories(path) == [trajectory(1.0)]
    assert {*tmp_path.iterdir()} == before
    assert path.is_symlink() == (path != target)
    assert not old or target.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_episodes_are_written_to_a_descriptor_of_a_file_or_a_pipe(tmp_path):
    file = tmp_path / "out.jsonl"
    reader, writer = os.pipe()
    with file.open("w") as stream, open(reader) as received:
        write_trajectories(Path(f"/dev/fd/{stream.fileno()}"), [trajectory(1.0)])
        write_trajectories(Path(f"/dev/fd/{writer}"), [trajectory(1.0)])
        os.close(writer)
        assert received.read() == file.read_text() != ""
        file.unlink()
        write_trajectories(Path(f"/dev/fd/{stream.fileno()}"), [trajectory(1.0)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_episodes_and_no_other_file(tmp_path, monkeypatch, error):
    saved = tmp_path / "episodes.jsonl"
    write_trajectories(saved, [trajectory(1.0)])
    original = Path.write_bytes

    def stop(self, content):
        original(self, content[:10])
        raise error

    monkeypatch.setattr(Path, "write_bytes", stop)
    with pytest.raises(type(error)):
        write_trajectories(saved, [trajectory(0.0)] * 2)
    assert read_trajectories(saved) == [trajectory(1.0)]
    assert list(tmp_path.iterdir()) == [saved]


DEFAULTS = [
    (("expert",), {"max_steps": 30}), (("random", None, "hard"), {"max_steps": 60}),
    (("chat:m",), {"max_steps": 30, "elements": "id", "thoughts": True, "system": "env"}),
    (("chat:m", "act", "hard"), {"max_steps": 60, "elements": "id", "thoughts": False}),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "defaults"), DEFAULTS)
def test_policies_without_training_have_the_defaults_of_the_other_command(arguments, defaults):
    assert policy_defaults(*arguments) | defaults == policy_defaults(*arguments)


def test_the_random_policy_does_what_pages_allow():
    tasks = task_suite.load("test")[:8]

    def play():
        policy = ScriptedPolicy(RandomReplies())
        return evaluate.evaluate(policy, tasks, EnvSettings(max_steps=10), seed=5, quiet=True).trajectories

    first = play()
    assert first == play()
    replies = [step.reply.partition('"')[2].partition('"')[0] for item in first for step in item.steps]
    assert Counter(replies)["Click"] > 5
    errors = [step.action_error for item in first for step in item.steps if step.action_error]
    assert not [error for error in errors if "there is no element" in error or "ambiguous" in error]


def test_defaults_of_chat_models_and_of_recorded_agents(tmp_path):
    settings = EvaluationSettings(policy="chat:some/model:tag", **policy_defaults("chat:some/model:tag"))
    assert (settings.system, settings.max_new_tokens, settings.temperature) == ("env", 1024, None)
    with closing(evaluate.create_policy(settings)) as policy:
        assert isinstance(policy, ChatPolicy)
        assert "some/model:tag" in policy.name
    (tmp_path / "agent.json").write_text('{"algorithm": "ppo", "max_steps": 3}')
    assert policy_defaults(str(tmp_path)) == {"max_steps": 3}


OTHER_VALUES = {
    "variation": "layout", "elements": "id", "history": "none", "thoughts": True, "application": "shop.toml", "suite": "mine", "window": 700,
    "max_steps": 7, "keywords": ("browser=chromium", 'header="a b"'), "split": "validation", "world_seed": 5, "fresh_worlds": 2,
    "templates": ("a", "b"), "limit": 3, "seed": 4, "temperature": None, "system": "env", "constrained": True, "dtype": "bfloat16",
    "max_new_tokens": 9, "max_prompt_tokens": 99, "chat_template_kwargs": {"enable_thinking": False}, "memory": Path(__file__),
    "reads": "meaning",
}  # fmt: skip
UNSCORED = {"policy", "num_envs", "workers", "save", "trace", "json", "threads", "processes"}


def test_the_settings_that_change_a_score_are_printed_as_options_that_select_them_again():
    assert {item.name for item in fields(EvaluationSettings)} == OTHER_VALUES.keys() | UNSCORED
    settings = EvaluationSettings(policy="random")
    for changes in ({}, *({name: value} for name, value in OTHER_VALUES.items()), OTHER_VALUES):
        changed = replace(settings, **changes)
        words = shlex.split(shlex.join(["--policy", "random", *scored_options(changed)]))
        assert parse_settings(EvaluationSettings, words, program="agents.evaluate") == changed


def test_fresh_worlds_add_no_second_copy_of_the_tasks_of_a_file(tmp_path):
    (tmp_path / "page.py").write_text("def application(environ, start_response): ...")
    (tmp_path / "webarena-app.toml").write_text('name = "page"\nwsgi = "page:application"\ntasks = "tasks.json"\n')
    task = {"task_id": "read", "sites": ["page"], "start_url": "__PAGE__/", "intent": "Read it.", "require_login": False}
    task["eval"] = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "Yes"}}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    settings = EvaluationSettings(policy="random", application=tmp_path, fresh_worlds=2)
    assert [task.task_id for task in choose_tasks(settings)] == ["read"]


def test_fresh_worlds_add_tasks_of_the_same_templates():
    names = ("shopping.product_price", "map.place_phone")
    tasks = choose_tasks(EvaluationSettings(policy="random", split="validation", templates=names, fresh_worlds=2))
    first = task_suite.FIRST_FRESH_WORLD
    assert {(task.template, task_suite.world_of(task.task_id)) for task in tasks} == {
        (name, world) for name in names for world in (1001, first, first + 1)
    }


def test_the_prompt_of_a_language_model_without_stored_settings_describes_the_actions(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert policy_defaults(str(tmp_path))["system"] == policy_defaults("some/model")["system"] == "env"
    for model in (str(tmp_path), "some/model"):
        assert make_settings(model=model, out=tmp_path / "run").system == "env"
        assert make_settings(model=model, out=tmp_path / "run", system="none").system == "none"
    (tmp_path / "agent.json").write_text('{"system": "none"}')
    assert policy_defaults(str(tmp_path))["system"] == make_settings(model=str(tmp_path), out=tmp_path / "run").system == "none"


@pytest.mark.parametrize(("words", "message"), [
    (["--env", "max_steps=2"], "--env contains max-steps=2; expected the option --max-steps 2 in place of --env"),
    (["--model", "runs/a"], "--model is the option of the training commands; expected --policy MODEL"),
])  # fmt: skip
def test_an_option_in_the_wrong_place_is_named(words, message, capsys):
    assert console.status("prog", lambda: command.main(["--policy", "random", *words])) == console.BAD_INPUT
    assert message in capsys.readouterr().err
