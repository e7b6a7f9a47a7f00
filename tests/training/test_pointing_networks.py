"""Pointer networks in training: options that only language models have, cached choices and log-probabilities, and the read of a memory."""

from dataclasses import replace

import pytest
import torch

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.pointer.decoding import trajectory_choices
from agents.models.pointer.network import load_pointer
from agents.models.pointer.reader import Reader
from agents.training.pointing_networks import PointingNetwork, _iterate_actions, fill
from agents.training.settings import ModelSettings, RememberSettings
from tests.errors import expect_error
from tests.pointing import make_policy, play, sample_tasks
from tests.training.test_pointer_cloning import assert_equal_parameters, parameters
from tests.training.test_pointer_cloning import unsure as unsure
from webarena_gym import suite as task_suite
from webarena_gym.actions import Kind


def settings(tmp_path, **changes):
    made = ModelSettings(model="runs/x", out=tmp_path, elements="id")
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    policy = make_policy()
    return PointingNetwork(policy.network, policy.vocabulary, settings(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def episode(network):
    (played,) = play(network.policy(), sample_tasks(1))
    return played


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("elements", "label"), ("vllm", True), ("constrained", True), ("lora_rank", 4), ("gradient_checkpointing", True),
        ("chat_template_kwargs", {"enable_thinking": False}), ("contexts", "released"),
    ],
)  # fmt: skip
def test_options_of_language_models_are_refused(tmp_path, name, value):
    PointingNetwork.check(settings(tmp_path))
    with expect_error(ValueError, name, repr(value)):
        PointingNetwork.check(settings(tmp_path, **{name: value}))


def test_choices_of_an_episode_are_recreated_once_until_they_are_released(network, episode):
    choices = network.choices(episode)
    expected = trajectory_choices(Reader(), episode)
    assert [[(choice.question.stage, choice.candidate_index) for choice in step] for step in choices] == [
        [(choice.question.stage, choice.candidate_index) for choice in step] for step in expected
    ]
    assert network.choices(episode) is choices
    network.forget()
    assert network.choices(episode) is not choices


def test_log_probabilities_of_passes_are_those_of_the_sampler(network, episode, monkeypatch):
    choices = network.choices(episode)
    monkeypatch.setattr("agents.training.pointing_networks.CANDIDATES_PER_PASS", 200)
    with torch.no_grad():
        passes = list(network.logprobs(choices))
    indices = [index for samples, _ in passes for index in samples]
    assert len(passes) > 1
    assert sorted(indices) == list(range(len(choices)))
    values = dict(zip(indices, (value for _, parts in passes for value in parts), strict=True))
    for index, step in enumerate(episode.steps):
        assert values[index].tolist() == pytest.approx(step.logprobs, abs=1e-4)


def test_a_critic_shares_no_parameters_with_the_network(network):
    critic = network.critic()
    own = {id(parameter) for parameter in network.network.parameters()}
    assert own.isdisjoint(map(id, critic._parameters))
    assert critic._parameters


def test_actions_come_with_the_errors_before_and_after_them_until_a_reply_has_none():
    steps = (
        Step("a", "go_backward()"),
        Step("b", "go_backward()", action_error="no page"),
        Step("c", "go_forward()"),
        Step("d", "Hm."),
        Step("e", "go_forward()"),
    )
    found = list(_iterate_actions(Trajectory("t/1", "Goal", steps, 0.0, "exited")))
    assert [(page, action.kind, before, after) for page, action, before, after in found] == [
        ("a", Kind.GO_BACKWARD, False, False), ("b", Kind.GO_BACKWARD, False, True), ("c", Kind.GO_FORWARD, True, False),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def experts():
    """The expert's episodes of two tasks, with which an untrained network can be filled."""
    tasks = task_suite.draw(["shopping.newsletter_switch", "shopping.cart_show"], world_seed=1002, count=1)
    options = {**policy_defaults("expert"), "elements": "id", "window": 20_000, "max_steps": 10, "policy": "expert"}
    return evaluate_policy(EvaluationSettings(**options), tasks, quiet=True).trajectories


def test_a_memory_has_the_newest_steps_of_successes_and_only_its_read_is_trained(unsure, experts, tmp_path):
    assert [item.reward for item in experts] == [1, 1]
    steps = sum(len(item.steps) for item in experts)
    failed = replace(experts[0], reward=0.0)
    result = fill(RememberSettings(model=unsure, out=tmp_path / "all", read_updates=3), [*experts, failed])
    assert (result["successes"], result["steps_remembered"]) == (2, steps)
    assert 0 < result["read_loss"] < 20
    after = parameters(tmp_path / "all")
    assert_equal_parameters({name: value for name, value in after.items() if not name.startswith("read.")}, parameters(unsure))
    kept = load_pointer(tmp_path / "all")[0].memory.steps
    fill(RememberSettings(model=unsure, out=tmp_path / "last", read_updates=0, size=3), experts)
    assert load_pointer(tmp_path / "last")[0].memory.steps == kept[-3:]


def test_episodes_without_a_success_fill_no_memory(unsure, tmp_path):
    failed = [Trajectory("t/1", "Goal", (Step("page", "go_backward()"),), 0.0, "exited")] * 2
    lost = Trajectory("t/2", "Goal", (Step("page", "go_backward()"),), 1.0, "failed")
    with expect_error(ValueError, "2 episodes"):
        fill(RememberSettings(model=unsure, out=tmp_path / "out"), failed)
    with expect_error(ValueError, "3 episodes"):
        fill(RememberSettings(model=unsure, out=tmp_path / "out"), [*failed, lost])
    with expect_error(ValueError, tmp_path):
        fill(RememberSettings(model=tmp_path, out=tmp_path / "out"), failed)
