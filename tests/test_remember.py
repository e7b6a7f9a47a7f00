"""Memory of steps: what is stored and looked up, how it is read, and that what is remembered makes an agent better."""

import json
import random
import time

import pytest
import torch

from agents import remember as command
from agents import train_rl
from agents.data.trajectories import Step, Trajectory, write_trajectories
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import find_model
from agents.models.ensembles import EnsembleWeights
from agents.models.pointer.decoding import trajectory_choices
from agents.models.pointer.network import MEMORY_FILE, PointerEnsemble, choice_logprobs, load_pointer, pack_choices
from agents.models.pointer.reader import Reader, SharedReader
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import RememberSettings
from tests import tiny
from tests.errors import expect_error
from tests.models.pointer.memories import drawn_memory
from tests.pointing import make_policy, play, sample_tasks
from tests.training.test_pointer_cloning import (  # noqa: F401 - fixtures
    TEMPLATES,
    assert_equal_parameters,
    clone_settings,
    parameters,
    rl_settings,
    success,
    unsure,
)
from webarena_gym import suite as task_suite

REMEMBERED = ("shopping.newsletter_switch", "shopping.cart_show", "shopping.account_place", "shopping.category_place")


def expert_episodes(file, templates):
    """A file of the expert's episodes, in worlds that nothing else here plays in."""
    tasks = [task for world in (21, 22) for task in task_suite.draw(list(templates), world_seed=world, count=4)]
    shown = {"elements": "id", "window": 20_000, "max_steps": 10}
    options = EvaluationSettings(**{**policy_defaults("expert"), **shown, "policy": "expert"})
    write_trajectories(file, evaluate_policy(options, tasks, quiet=True).trajectories)
    return file


@pytest.fixture(scope="module")
def remembering(unsure, tmp_path_factory):  # noqa: F811 - the fixture
    """The unsure clone with a memory of the expert's episodes."""
    out = tmp_path_factory.mktemp("remembering") / "network"
    experts = expert_episodes(out.with_name("episodes.jsonl"), TEMPLATES)
    command.remember(RememberSettings(model=unsure, out=out, episodes=(experts,)))
    return out


def test_a_new_read_changes_no_reply():
    tasks = sample_tasks(6)
    plain, other = make_policy(temperature=1.0), make_policy(temperature=1.0)
    other.network.set_memory(drawn_memory(random.Random(0)))
    other.load(other.network, 0)
    expected, found = (play(policy, tasks) for policy in (plain, other))
    assert [[step.reply for step in item.steps] for item in found] == [[step.reply for step in item.steps] for item in expected]
    assert other.readers.current.memory is other.network.memory
    assert plain.readers.current.memory is None


def test_choices_are_trained_with_what_was_recalled_when_they_were_made(remembering):
    network, vocabulary = load_pointer(remembering)
    policy = make_policy()
    policy.network, policy.vocabulary, policy.readers = network, vocabulary, SharedReader()
    policy.load(network, 0)
    tasks = task_suite.draw(list(TEMPLATES), world_seed=15, count=2)
    with torch.no_grad():
        for item in play(policy, tasks):
            reader = Reader(memory=network.memory)
            choices = trajectory_choices(reader, item)
            assert any(
                (own.question.retrieval.step_ids >= 0).any() for step in choices for own in step if not own.question.stage
            )
            for batch in pack_choices(choices, range(len(choices)), 10**6, reader):
                expected = [value for step in item.steps for value in step.logprobs]
                assert choice_logprobs(network, batch, vocabulary).tolist() == pytest.approx(expected, abs=1e-4)
            batch = next(pack_choices(trajectory_choices(Reader(), item), range(len(choices)), 10**6, reader))
            with pytest.raises(ValueError, match="has no retrieval"):
                choice_logprobs(network, batch, vocabulary)


@pytest.mark.slow
def test_memory_solves_tasks_that_the_network_has_not_learned(tmp_path):
    clone = train_pointer(clone_settings(tmp_path / "clone", templates=REMEMBERED, updates=1))
    out, file = tmp_path / "network", expert_episodes(tmp_path / "expert.jsonl", REMEMBERED)
    command.remember(RememberSettings(model=clone, out=out, episodes=(file,)))
    before, after = (success(folder, templates=REMEMBERED) for folder in (clone, out))
    assert before < 0.1
    assert after > 0.3


def test_only_the_read_is_learned(unsure, remembering):  # noqa: F811 - the fixture
    spent = json.loads((remembering / "remembered.json").read_text(encoding="utf-8"))
    assert spent["steps_remembered"] == len(load_pointer(remembering)[0].memory) > spent["successes"] == 16
    after, before = parameters(remembering), parameters(unsure)
    assert {name for name in after if name not in before} == {name for name in after if name.startswith("read.")}
    assert_equal_parameters({name: after[name] for name in before}, before)


def test_reinforcement_trains_the_read_and_a_run_that_is_resumed_ends_the_same(remembering, tmp_path, monkeypatch):
    train_rl.train(rl_settings(remembering, tmp_path / "whole"))
    tiny.killed_after(monkeypatch, 2, train_rl.train, rl_settings(remembering, tmp_path / "killed"))
    train_rl.train(rl_settings(remembering, tmp_path / "killed"))
    whole, before = parameters(tmp_path / "whole"), parameters(remembering)
    assert_equal_parameters(parameters(tmp_path / "killed"), whole)
    assert len(read_metrics(tmp_path / "whole")) == 3
    assert not torch.equal(whole["read.gain"], before["read.gain"])
    kept = find_model(tmp_path / "whole")
    assert load_pointer(kept)[0].memory.steps == load_pointer(remembering)[0].memory.steps


def test_the_network_fills_its_memory_itself_and_only_once(unsure, tmp_path):  # noqa: F811 - the fixture
    settings = RememberSettings(
        model=unsure, out=tmp_path / "network", worlds=(31, 32), per_template=4, templates=TEMPLATES, size=6, read_updates=5
    )
    start_s = time.process_time()
    spent = command.remember(settings)
    assert 0 < spent["cpu_minutes"] <= (time.process_time() - start_s) / 60 + 0.001
    assert spent["episodes"] == 16
    assert 0 < spent["steps_remembered"] <= 6
    assert spent["env_steps"] > 0
    assert command.remember(settings) == spent
    assert (tmp_path / "network" / MEMORY_FILE).is_file()


def test_memories_where_they_cannot_be_used_are_refused(unsure, remembering, tmp_path):  # noqa: F811 - the fixture
    failed = Trajectory("t/1", "Goal", (Step("page", "go_backward()"),), 0.0, "exited")
    write_trajectories(tmp_path / "failed.jsonl", [failed])
    for model, value in ((tmp_path, tmp_path), (unsure, "1 episodes")):
        with expect_error(ValueError, value):
            command.remember(RememberSettings(model=model, out=tmp_path / "out", episodes=(tmp_path / "failed.jsonl",)))
    with pytest.raises(ValueError, match="expected networks without memory"):
        PointerEnsemble([load_pointer(remembering)] * 2, EnsembleWeights.__new__(EnsembleWeights))
