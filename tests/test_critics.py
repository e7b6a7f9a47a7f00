import random

import pytest
import torch

from agents.models.critics import Critic, LanguageValueNetwork, PointerCritics, WordState, accuracy
from tests import tiny

GOOD, BAD = 20, 30
OPTIONS = {"rate": 3e-3, "minibatch": 16}


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


def test_new_critics_predict_one_half_and_have_the_cross_entropy_of_it(model):
    critic = Critic(LanguageValueNetwork(model), minibatch=100, epochs=3)
    assert critic.values([(1, 2, 3), (4,)]) == [0.5, 0.5]
    assert critic.values([]) == []
    assert critic.fit([], [], random.Random(0)) == 0
    assert critic.fit(*texts(10, seed=0), random.Random(0)) == pytest.approx(0.6931, abs=1e-4)
    assert accuracy([0.9, 0.2, 0.5, 0.4], [1.0, 1.0, 1.0, 0.0]) == 0.75
    assert accuracy([], []) == 1.0


def test_a_critic_learns_which_texts_succeed_and_leaves_the_policy_alone(model):
    before = [parameter.clone() for parameter in model.parameters()]
    critic, rng = Critic(LanguageValueNetwork(model), **OPTIONS), random.Random(0)
    losses = [critic.fit(*texts(32, seed), rng) for seed in range(30)]
    assert losses[0] > 0.5
    assert losses[-1] < 0.2
    unseen, outcomes = texts(200, seed=99)
    assert accuracy(critic.values(unseen), outcomes) > 0.95
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("tokens_per_pass", [1, 40, 10_000])
def test_values_do_not_depend_on_how_texts_are_packed(model, tokens_per_pass):
    read, outcomes = texts(24, seed=1)
    critics = [Critic(LanguageValueNetwork(model, tokens_per_pass=size), **OPTIONS) for size in (10_000, tokens_per_pass)]
    for critic in critics:
        critic.fit(read, outcomes, random.Random(3))
    whole, parts = (critic.values(read + read[:3]) for critic in critics)
    assert parts == pytest.approx(whole, abs=1e-4)
    assert parts[24:] == pytest.approx(parts[:3], abs=1e-5)
    assert len({round(value, 5) for value in parts[:24]}) > 12


def seen(count, seed):
    """States of a pointer network's episodes, and whether the page holds the goal's last word."""
    rng = random.Random(seed)
    found, outcomes = [], []
    for number in range(count):
        word = rng.choice(["kettle", "lamp", "rope", "mug", "tent", "spoon"])
        there = rng.random() < 0.5
        page = " ".join(rng.choices(["shop", "price", "cart", "stars", "help"], k=rng.randint(1, 30)))
        found.append(WordState(f"Find the {word}", f"{page} {word if there else ''}", ("do(action='Wait')",) * (number % 3)))
        outcomes.append(float(there))
    return found, outcomes


def test_a_critic_of_words_learns_whether_the_page_holds_what_the_goal_asks_for():
    critic, rng = PointerCritics(0).create(**OPTIONS), random.Random(0)
    assert critic.values([WordState("a goal"), WordState("", "", ("",))]) == [0.5, 0.5]
    losses = [critic.fit(*seen(64, seed), rng) for seed in range(30)]
    assert losses[0] > 0.5
    assert losses[-1] < 0.2
    unseen, outcomes = seen(400, seed=99)
    values = critic.values(unseen)
    assert accuracy(values, outcomes) > 0.95
    assert critic.values(unseen[:7]) == pytest.approx(values[:7], abs=1e-5)


def test_critics_of_words_are_initialised_by_their_seed():
    one, other, third = (PointerCritics(seed).create(**OPTIONS) for seed in (1, 1, 2))
    for critic in (one, other, third):
        critic.fit(*seen(64, seed=3), random.Random(0))
    read = seen(16, seed=4)[0]
    assert one.values(read) == other.values(read) != third.values(read)
