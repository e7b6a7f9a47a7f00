import random

import pytest
import torch

from agents.models.critics import Critic, CriticSettings, accuracy
from tests import tiny

pytestmark = pytest.mark.usefixtures("one_thread")

GOOD, BAD = 20, 30
SETTINGS = CriticSettings(critic_learning_rate=3e-3, critic_minibatch=16)


@pytest.fixture(scope="module")
def model():
    return tiny.tiny_model()[0]


def texts(count, seed):
    """Texts of mixed lengths, and whether the good token stands in them or the bad one."""
    rng = random.Random(seed)
    outcomes = [float(rng.random() < 0.5) for _ in range(count)]
    found = []
    for outcome in outcomes:
        text = [rng.randrange(100, 300) for _ in range(rng.randint(4, 16))]
        text[rng.randrange(len(text))] = GOOD if outcome else BAD
        found.append(tuple(text))
    return found, outcomes


def test_a_new_critic_says_one_half_of_everything(model):
    critic = Critic(model, SETTINGS)
    assert critic.values([(1, 2, 3), (4,)]) == [0.5, 0.5]
    assert critic.values([]) == []
    assert critic.fit([], [], random.Random(0)) == 0


def test_a_critic_learns_which_texts_succeed_and_leaves_the_policy_alone(model):
    before = [parameter.clone() for parameter in model.parameters()]
    critic, rng = Critic(model, SETTINGS), random.Random(0)
    losses = [critic.fit(*texts(32, seed), rng) for seed in range(30)]
    assert losses[0] > 0.5
    assert losses[-1] < 0.2
    unseen, outcomes = texts(200, seed=99)
    assert accuracy(critic.values(unseen), outcomes) > 0.95
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))


def test_the_loss_is_the_cross_entropy_before_the_first_update(model):
    critic = Critic(model, CriticSettings(critic_minibatch=100, critic_epochs=3))
    assert critic.fit(*texts(10, seed=0), random.Random(0)) == pytest.approx(0.6931, abs=1e-4)


@pytest.mark.parametrize("tokens_per_pass", [1, 40, 10_000])
def test_values_do_not_depend_on_how_texts_are_packed(model, tokens_per_pass):
    read, outcomes = texts(24, seed=1)
    critics = [Critic(model, SETTINGS, tokens_per_pass=size) for size in (10_000, tokens_per_pass)]
    for critic in critics:
        critic.fit(read, outcomes, random.Random(3))
    whole, parts = (critic.values(read + read[:3]) for critic in critics)
    assert parts == pytest.approx(whole, abs=1e-4)
    assert parts[24:] == pytest.approx(parts[:3], abs=1e-5)
    assert len({round(value, 5) for value in parts[:24]}) > 12


def test_a_critic_that_goes_on_from_its_state_goes_on_exactly(model):
    whole, first = Critic(model, SETTINGS), Critic(model, SETTINGS)
    for critic in (whole, first):
        critic.fit(*texts(16, seed=1), random.Random(1))
    second = Critic(model, SETTINGS)
    second.load_state_dict(first.state_dict())
    for critic in (whole, second):
        critic.fit(*texts(16, seed=2), random.Random(2))
    read, _ = texts(16, seed=3)
    assert whole.values(read) == second.values(read)
    assert whole.values(read) != first.values(read)


def test_accuracy_counts_the_right_side_of_one_half():
    assert accuracy([0.9, 0.2, 0.5, 0.4], [1.0, 1.0, 1.0, 0.0]) == 0.75
    assert accuracy([], []) == 1.0
