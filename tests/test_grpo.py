"""M-GRPO: credit of steps, what it keeps from batch to batch, and what must and must not change an update."""

import math
from copy import deepcopy
from dataclasses import replace
from functools import partial
from random import Random

import pytest
import torch

from agents import grpo
from agents.data.trajectories import Step, Trajectory
from agents.rollouts.branching import fork_advantages
from agents.rollouts.curriculum import Group
from agents.training import losses
from agents.training.credit import CONSTANT_STEPS, CONSTANT_TOKENS, weight_steps
from tests import tiny
from tests.errors import expect_error


def advantages(steps):
    return [item.advantage for item in steps]


def weights(steps):
    return [item.weight for item in steps]


def lesson_of(trajectories, **settings):
    """Return what M-GRPO trains on of these rollouts."""
    _, args = tiny.language_model(tiny.tiny_model()[0], **settings)
    parts = [(group, grpo.step_advantages(group, args)) for group in tiny.grouped(trajectories)]
    return weight_steps([part for part in parts if any(part[1])], args.weighting)


def test_advantages_of_trajectories_and_of_states_by_hand():
    # mean 0.25, deviation sqrt(0.25 * 0.75)
    deviation = math.sqrt(0.1875)
    assert grpo.trajectory_advantages([1, 0, 0, 0]) == pytest.approx([0.75 / deviation] + [-0.25 / deviation] * 3)
    for rewards in ([0, 0, 0], [1, 1], [1]):
        assert grpo.trajectory_advantages(rewards) == [0.0] * len(rewards)
    # State a: returns 1, 0, 0; mean 1/3, deviation sqrt(2)/3, times 3/2. State b: one visit. State c: equal returns.
    states, returns = ["a", "b", "a", "c", "a", "c"], [1, 1, 0, 0, 0, 0]
    high, low = math.sqrt(2), -math.sqrt(2) / 2
    assert grpo.state_advantages(states, returns) == pytest.approx([1.5 * high, 0, 1.5 * low, 0, 1.5 * low, 0])
    assert grpo.state_advantages(states, returns, leave_one_out=False) == pytest.approx([high, 0, low, 0, low, 0])


def test_fork_advantages_are_value_gains_shared_between_forks():
    # Values 1/4, 1/2, 3/4 of the states before the steps; the episode ends with 1.
    continuations = [[1, 0, 0, 0], [1, 0], [1, 1, 1, 0]]
    assert fork_advantages(continuations, 1) == pytest.approx([0.25, 0.25, 0.25])
    assert fork_advantages(continuations, 0) == pytest.approx([0.25, 0.25, -0.75])
    assert fork_advantages([(), (0, 0), (), (), (1, 0)], 1) == pytest.approx([0, 0.5, 0.5, 0.5, 0.5])
    assert fork_advantages([], 1) == []
    assert sum(fork_advantages([(1, 0, 0), (0, 1), (1, 1, 0, 1), (0, 0)], 1)) == pytest.approx(1 - 1 / 3)


def trajectory(reward, group, *steps, ending="exited", continuations=()):
    made = tuple(
        Step("", "", "", prompt, response, (-0.5,) * len(response), dict(continuations).get(number, ()))
        for number, (prompt, response) in enumerate(steps)
    )
    return Trajectory("t", "g", made, reward, ending, group)


FIRST, OWN, OTHER = ((1,), (2,)), ((3,), (4,)), ((5,), (6, 7))


def test_groups_of_equal_reward_and_broken_episodes_are_left_out():
    step = ((1, 2), (3, 4))
    lesson = lesson_of(
        [
            trajectory(1, 0, step), trajectory(0, 0, step),
            trajectory(0, 1, step), trajectory(0, 1, step),
            trajectory(1, 2, step), trajectory(0, 2, step, ending="failed"),
        ]
    )  # fmt: skip
    assert len(lesson) == 2
    assert advantages(lesson) == pytest.approx([2.0, -2.0])


def test_advantages_of_states_of_trajectories_and_of_both():
    group = [trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST, OTHER)]
    for kind, expected in (("state", [2, 0, -2, 0]), ("trajectory", [1, 1, -1, -1]), ("gigpo", [2, 1, -2, -1])):
        assert advantages(lesson_of(group, advantages=kind)) == pytest.approx(expected)
    sooner = [trajectory(1, 0, FIRST), trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST)]
    first, second, _, third = advantages(
        lesson_of(sooner, advantages="gigpo")
    )  # a reward counts less for each step that it lies ahead
    assert first > second > 0 > third


def test_forks_teach_in_a_group_of_one():
    lesson = lesson_of(
        [trajectory(1, 0, FIRST, OWN, OTHER, continuations={0: (0, 0, 1, 0), 2: (1, 0)})], advantages="forks", weighting="paper"
    )
    assert advantages(lesson) == pytest.approx([0.25, 0.25, 0.5])
    assert weights(lesson) == pytest.approx([1 / 3, 1 / 3, 1 / 6])
    with expect_error(ValueError, "'forks'"):
        lesson_of([trajectory(1, 0, FIRST)], advantages="forks")


@pytest.mark.parametrize(("weighting", "expected"), [
    ("paper", [1 / 4, 1 / 8, 1 / 2]), ("constant", [1 / 2 / CONSTANT_STEPS / n for n in (1, 2, 1)]),
    ("dr_grpo", [1 / 2 / CONSTANT_TOKENS] * 3), ("token_mean", [1 / 4] * 3),
])  # fmt: skip
def test_weights_follow_the_settings(weighting, expected):
    group = [trajectory(1, 0, FIRST, OTHER), trajectory(0, 0, FIRST)]
    assert weights(lesson_of(group, weighting=weighting)) == pytest.approx(expected)


@pytest.mark.parametrize("weighting", ["paper", "token_mean", "step_mean"])
def test_weights_of_all_tokens_sum_to_1(weighting):
    # Two trajectories: one of two steps with 2 and 4 tokens, one of one step with 5 tokens.
    long = trajectory(1, 0, ((1,), (2,) * 2), ((1,), (2,) * 4))
    steps = weight_steps([([long, trajectory(0, 0, ((1,), (2,) * 5))], [1.0] * 3)], weighting)
    assert sum(item.weight * len(item.step.response_ids) for item in steps) == pytest.approx(1)
    assert weight_steps([], weighting) == []


def test_steps_without_an_advantage_are_left_out():
    items = [trajectory(1, 0, FIRST, OTHER), trajectory(0, 7, OWN)]
    steps = weight_steps([(items, [None, 0.5, -1.0])])
    keys = [(item.episode.group, item.rollout, item.number, item.advantage) for item in steps]
    assert keys == [(0, 0, 1, 0.5), (7, 1, 0, -1.0)]
    assert weights(steps) == [pytest.approx(1 / 3)] * 2
    assert weights(weight_steps([(items, [None, 0.5, -1.0])], "step_mean")) == [1 / 4, 1 / 2]


TASKS = [tiny.TinyTask(f"kind {number % 2}/{number}", "", "", template=f"kind {number % 2}") for number in range(6)]


def rollout(task, reward, steps, group):
    made = tuple(Step("", "", "", (number,), (7,), (-0.5,)) for number in range(steps))
    return Trajectory(task.task_id, "goal", made, reward, "exited", group)


def group(number, task, *rewards, steps=1):
    return Group(number, task, [rollout(task, reward, steps, number) for reward in rewards])


def method(**changes):
    model, args = tiny.language_model(
        tiny.tiny_model()[0], **{"replayed": 8, "old_logprobs": "recomputed", "groups_remembered": 4, **changes}
    )
    return grpo.GRPO(args, TASKS, model)


def made(own, *groups):
    return own.batch(list(groups), Random(0))[0]


def test_successes_are_replayed_with_the_advantage_that_their_template_leaves_unless_it_always_succeeds():
    own = method()
    assert made(own, group(0, TASKS[0], 1, 1, steps=2), group(1, TASKS[1], 0, 0)) == []
    assert advantages(made(own, group(2, TASKS[2], 0, 0, 0))) == [0.5, 0.5]  # once right, once wrong
    later = made(own, group(3, TASKS[4], 0, 0, 0))
    assert advantages(later) == pytest.approx([2 / 3] * 2)
    assert [item.episode.group for item in later] == [0, 0]
    own, always = method(replayed=0), method()
    made(own, group(0, TASKS[0], 1, 0))
    assert made(own, group(1, TASKS[0], 0, 0)) == []
    for number in range(3):
        assert made(always, group(number, TASKS[0], 1, 1)) == []


def test_replayed_steps_follow_mixed_groups_and_share_their_weight():
    own = method()
    made(own, group(0, TASKS[0], 1, 0))
    trained = made(own, group(1, TASKS[1], 1, 0))
    assert advantages(trained) == pytest.approx([2.0, -2.0, 0.5])
    assert [item.weight for item in trained] == pytest.approx([1 / 3] * 3)
    assert [item.episode.task_id for item in trained] == ["kind 1/1", "kind 1/1", "kind 0/0"]


def test_a_method_that_is_resumed_draws_and_replays_the_same():
    one, other = method(), method()
    groups = [group(number, TASKS[number], *rewards) for number, rewards in enumerate([(1, 1), (0, 1), (0, 0), (1, 1)])]
    made(one, *groups)
    other.load_state_dict(one.state_dict())
    for number in range(4, 12):
        assert one.draw(number) == other.draw(number)
        new = group(number, TASKS[number % 6], number % 2, 0)
        assert made(one, new) == made(other, new)


@pytest.fixture(scope="module")
def model():
    return tiny.tiny_model()[0]


@pytest.fixture(scope="module")
def trajectories(model):
    """Two groups of made-up episodes, with the log-probabilities of the model."""
    generator = torch.Generator().manual_seed(0)

    def ids(length):
        return tuple(torch.randint(5, 300, (length,), generator=generator).tolist())

    def step(prompt, length):
        response = ids(length)
        logits = model(torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1]
        logprobs = losses.token_logprobs(logits.detach(), torch.tensor(response))
        return Step("", "", "", prompt, response, tuple(logprobs.tolist()))

    made = []
    for group in range(2):
        first = ids(9)
        for member, steps in enumerate([1, 3, 2, 3]):
            prompts = [first, *(ids(5 + 4 * number) for number in range(1, steps))]
            taken = tuple(step(prompt, 2 + member) for prompt in prompts)
            made.append(Trajectory("t", "g", taken, float(member == 0), "exited", group))
    return made


def update(model, steps, tokens_per_pass=16_384, correction="none", max_grad_norm=1e9, **settings):
    """Return the weights and the metrics after learning the steps, with plain gradient steps: Adam would hide their size."""
    rate = settings.setdefault("learning_rate", 1.0)
    own = {"tokens_per_pass": tokens_per_pass, "correction": correction, "max_grad_norm": max_grad_norm}
    trained, args = tiny.language_model(deepcopy(model), **own, **settings)
    optimizer = torch.optim.SGD(trained.network.parameters(), rate)
    metrics = grpo.Learner(trained, optimizer, partial(grpo.clipped_loss, args), args).learn(steps, Random(0))
    return torch.cat([parameter.detach().flatten() for parameter in trained.network.parameters()]), metrics


@pytest.mark.parametrize("weighting", ["paper", "constant", "dr_grpo", "token_mean"])
@pytest.mark.parametrize(
    "changes", [{}, {"ratio": "sequence"}, {"old_logprobs": "recomputed", "correction": "sequence_mask"}], ids=str
)
def test_neither_order_nor_packing_changes_an_update(model, trajectories, weighting, changes):
    lesson = lesson_of(trajectories, weighting=weighting, advantages="trajectory")
    shuffled = Random(1).sample(lesson, len(lesson))
    whole, metrics = update(model, lesson, **changes)
    for other, tokens_per_pass in ((lesson, 1), (shuffled, 40)):
        weights, own = update(model, other, tokens_per_pass=tokens_per_pass, **changes)
        torch.testing.assert_close(weights, whole, atol=2e-5, rtol=0)
        assert own == pytest.approx(metrics, rel=1e-4, abs=1e-5)


def test_the_clip_acts_from_the_second_update_of_a_batch_on(model, trajectories):
    lesson = lesson_of(trajectories, advantages="trajectory")
    once, alone = update(model, lesson)
    _, twice = update(model, lesson, epochs=4, learning_rate=10.0)
    assert alone["clipped"] == 0
    assert twice["clipped"] > 0.05
    free, _ = update(model, lesson, epochs=4, learning_rate=10.0, clip_low=0.99, clip_high=1e9)
    held, _ = update(model, lesson, epochs=4, learning_rate=10.0)
    assert not torch.allclose(free, held)
    assert not torch.allclose(once, held)


def test_recomputed_logprobs_change_nothing_where_the_sampler_is_the_trainer(model, trajectories):
    lesson = lesson_of(trajectories)
    sampled, _ = update(model, lesson, epochs=2, minibatches=2)
    for correction in ("none", "token", "sequence_mask"):
        recomputed, metrics = update(model, lesson, epochs=2, minibatches=2, old_logprobs="recomputed", correction=correction)
        torch.testing.assert_close(recomputed, sampled, atol=2e-5, rtol=0)
        assert metrics["mismatch_largest"] < 1e-4


def unlikely(item, nats):
    """Return a step whose tokens the sampler thought less likely."""
    steps = [replace(step, logprobs=tuple(value - nats for value in step.logprobs)) for step in item.episode.steps]
    return item._replace(episode=replace(item.episode, steps=tuple(steps)))


def test_a_sampler_that_is_not_the_trainer_is_measured_and_corrected(model, trajectories):
    lesson = lesson_of(trajectories)
    # This sampler thought each token less likely by a factor of 4 than the trainer does.
    off = [unlikely(item, 1.3863) for item in lesson]
    plain, _ = update(model, lesson)
    _, clipped = update(model, off)
    assert clipped["clipped"] > 0.1  # every good token is past the clip before the first update
    recomputed, metrics = update(model, off, old_logprobs="recomputed")
    torch.testing.assert_close(recomputed, plain, atol=2e-5, rtol=0)
    assert (metrics["mismatch_mean"], metrics["mismatch_largest"]) == pytest.approx((1.3863, 1.3863), abs=1e-4)
    assert metrics["clipped"] == 0
    # All weights are cut at 2, so the loss doubles; every response is past the cap of a sequence, so nothing is learned.
    _, double = update(model, off, old_logprobs="recomputed", correction="token")
    assert double["grad_norm"] == pytest.approx(2 * metrics["grad_norm"], rel=1e-3)
    _, dropped = update(model, off, old_logprobs="recomputed", correction="sequence_mask")
    assert dropped["grad_norm"] == 0


def test_empty_batches_train_nothing_and_corrections_need_recomputed_logprobs(model):
    assert update(model, lesson_of([]))[1] == {}
    with expect_error(ValueError, "'token'", "'sampled'", "'recomputed'"):
        tiny.language_model(model, correction="token")
