"""Processes that play side by side: what one process plays, however many there are; errors and losses are told."""

import io
import os
import select
import signal
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest
import torch

from agents import train_rl
from agents.data.prompts import PromptEncoder
from agents.evaluation import evaluate
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings
from agents.models.checkpoints import checkpoints
from agents.rollouts.collector import Collector, group_episodes
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.players import LostProcessError, Player, Players, process_count
from agents.rollouts.policies import LanguageModelPolicy, ScriptedPolicy
from agents.settings import EnvSettings
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from tests import tiny
from tests.errors import expect_error
from webarena_gym import suite as task_suite

TASKS = tiny.tasks(6)
EPISODES = [episode for number, task in enumerate(TASKS) for episode in group_episodes(task, number, 4)]
ENV = EnvSettings(elements="id", window=900)


def make_player(seed=0, num_envs=4):
    model, tokenizer = tiny.tiny_model(seed)
    encoder = PromptEncoder(tokenizer)
    engine = InProcessEngine(model, encoder.stop_ids, max_new_tokens=8, temperature=1.0)

    def load(parameters, version):
        model.load_state_dict(parameters)
        engine.load(model, version)

    return Player(tiny.create_envs(TASKS, num_envs), LanguageModelPolicy(engine, encoder), load, ENV)


def make_scripted_player(choose):
    return Player(tiny.create_envs(TASKS, 2), ScriptedPolicy(choose))


def blunder(_):
    raise ZeroDivisionError("a blunder")


def played(players, episodes=EPISODES):
    players.submit(episodes)
    return {episode.number: trajectory for episode, trajectory in players.play()}


def texts(trajectories):
    return {number: [(step.page, step.reply) for step in item.steps] for number, item in trajectories.items()}


@pytest.fixture(scope="module")
def alone():
    player = make_player()
    with closing(player.envs):
        return played(Collector(player.envs, player.policy, seed=3))


def test_any_number_of_processes_plays_the_same_with_the_same_parameters(alone):
    model, _ = tiny.tiny_model(0)
    with closing(Players(partial(make_player, 1), 2, num_envs=24, seed=3)) as players:
        assert players.has_capacity
        assert texts(played(players)) != texts(alone)  # of other parameters
        before = players.reply_count, players.generated_tokens
        players.load(model, 7)
        trajectories = played(players)
        assert sum(players.take_time_fractions().values()) == pytest.approx(1.0)
    assert texts(trajectories) == texts(alone)
    for number, item in trajectories.items():
        assert (item.policy_version, item.env) == (7, ENV)
        assert [step.response_ids for step in item.steps] == [step.response_ids for step in alone[number].steps]
        for step, other in zip(item.steps, alone[number].steps, strict=True):
            assert step.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    steps = [step for item in alone.values() for step in item.steps]
    assert players.reply_count - before[0] == len(steps)
    assert players.generated_tokens - before[1] == sum(len(step.response_ids) for step in steps)
    assert players.cpu_s > 0


def test_errors_of_players_keep_their_traceback_and_lost_processes_are_reported():
    with closing(Players(partial(make_scripted_player, "{0.slot}".format), 2, num_envs=24)) as players:
        played(players)
        for process in players._processes:
            os.kill(process.pid, signal.SIGKILL)
        with expect_error(LostProcessError, "exit status -9"):
            played(players)
    with closing(Players(partial(make_scripted_player, blunder), 1, num_envs=4)) as players:
        with expect_error(ZeroDivisionError, "a blunder") as raised:
            played(players)
        assert "in blunder" in str(raised.value.__notes__)


def make_player_of_long_replies(pipe):
    descriptor = os.open(pipe, os.O_WRONLY)

    def tell(request):
        if request.info["step"] == 0:
            os.write(descriptor, b".")
        return "I think so. " * 5_000

    return Player(tiny.create_envs(TASKS, 1), ScriptedPolicy(tell))


def test_episodes_are_played_while_nobody_takes_those_that_are_over(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with closing(Players(partial(make_player_of_long_replies, str(pipe)), 1, num_envs=24)) as players:
        players.submit(EPISODES)
        begun = 0
        with pipe.open("rb", buffering=0) as pipe_file:
            while begun < len(EPISODES) and select.select([pipe_file], [], [], 120)[0] and (part := pipe_file.read(100)):
                begun += len(part)
        assert begun == len(EPISODES)
        assert {episode.number for episode, _ in players.play()} == {episode.number for episode in EPISODES}


def test_processes_are_as_many_as_there_is_work_for():
    assert process_count(5, 1) == 5
    assert process_count(0, 3) == 1
    assert 1 <= process_count(0, 10_000) <= os.cpu_count()
    with expect_error(ValueError, "processes", 0):
        Players(make_player, 0, num_envs=1)


def test_an_evaluation_is_the_same_in_several_processes():
    tasks = task_suite.load("test")[:4]
    settings = EvaluationSettings(policy="random", seed=5, max_steps=6)
    one, other = (evaluate_policy(replace(settings, processes=count), tasks, quiet=True) for count in (1, 2))
    assert one == other


def test_small_policies_use_all_cores_by_default(monkeypatch):
    def start(make_player, processes, **_):
        raise StopIteration(processes)

    monkeypatch.setattr(evaluate, "process_count", lambda *_: 9)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(evaluate, "evaluate", lambda *_, **__: 1)
    monkeypatch.setattr(evaluate, "Players", start)
    monkeypatch.setattr(evaluate, "create_policy", lambda _: io.StringIO())
    settings = EvaluationSettings(policy="expert", processes=0)

    def count(settings):
        try:
            return evaluate.evaluate_policy(settings, [], quiet=True)
        except StopIteration as started:
            return started.value

    assert count(settings) == 9
    for changes in ({"threads": 2}, {"workers": 2}, {"policy": "chat:some-model"}):
        assert count(replace(settings, **changes)) == 1
    assert count(replace(settings, processes=3, threads=2)) == 3


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    return tiny.save_clone(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("kind", [pytest.param("grpo", marks=pytest.mark.slow), "filtered_bc"])
def test_training_on_several_processes(tmp_path, model_folder, kind):
    shared = {"model": str(model_folder), "out": tmp_path, "updates": 2, "tasks_per_update": 2, "group_size": 2, "processes": 2}
    shared |= {"max_steps": 1, "max_new_tokens": 4, "templates": ("shopping.product_price",)}
    shared |= {"worlds": (11,), "per_template": 2}
    train_rl.train(make_settings(kind, **shared))
    assert checkpoints(tmp_path)[-1].update == 2
    rows = read_metrics(tmp_path)
    assert [row["rollouts"] for row in rows] == [4, 4]
    assert rows[-1]["env_steps"] == 8
    assert rows[-1]["lag"] == 0


@pytest.mark.parametrize("changes", [{"workers": 2}, {"cluster": "local"}, {"vllm": "http://127.0.0.1:1"}])
def test_single_process_options_reject_several_processes(tmp_path, model_folder, changes):
    with expect_error(ValueError, "processes", 2, 1):
        train_rl.train(
            make_settings("grpo", model=str(model_folder), out=tmp_path, processes=2, worlds=(11,), per_template=1, **changes)
        )
