"""The objective as a learner takes it: what must not change the update, and what must."""

from copy import deepcopy
from dataclasses import replace
from functools import partial
from random import Random

import pytest
import torch

from agents import grpo
from agents.data.trajectories import Step, Trajectory, grouped
from agents.training import losses
from agents.training.losses import Tokens
from agents.training.rollouts import weighted
from tests import tiny


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
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
            made.append(
                Trajectory("t", "g", tuple(step(prompt, 2 + member) for prompt in prompts), float(member == 0), "exited", group)
            )
    return made


def update(model, steps, tokens_per_pass=16_384, correction="none", max_grad_norm=1e9, **settings):
    """Return the weights and the metrics after learning the steps, with plain gradient steps: Adam would hide their size."""
    rate = settings.setdefault("learning_rate", 1.0)
    own = {"tokens_per_pass": tokens_per_pass, "correction": correction, "max_grad_norm": max_grad_norm}
    trained, args = tiny.language_model(deepcopy(model), **own, **settings)
    optimizer = torch.optim.SGD(trained.network.parameters(), rate)
    metrics = grpo.learn(trained, optimizer, steps, partial(grpo.clipped_loss, args), args, Random(0))
    return torch.cat([parameter.detach().flatten() for parameter in trained.network.parameters()]), metrics


def lesson_of(trajectories, **settings):
    _, args = tiny.language_model(tiny.tiny_model()[0], **settings)
    parts = [(group, grpo.step_advantages(group, args)) for group in grouped(trajectories)]
    return weighted([part for part in parts if any(part[1])], args.weighting)


WEIGHTINGS = ["paper", "constant", "dr_grpo", "token_mean"]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
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


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_gradients_of_parts_sum_to_that_of_the_whole(model, trajectories, weighting):
    """Micro-batches and processes each take a part of the samples; nothing in the loss asks which."""
    lesson = lesson_of(trajectories, weighting=weighting, advantages="trajectory")

    def gradient(part):
        own, args = tiny.language_model(deepcopy(model))
        for places, values in own.logprobs([own.choices(step.episode)[step.number] for step in part]):
            chosen = [part[place] for place in places]
            old = [torch.tensor(step.step.logprobs) for step in chosen]
            grpo.clipped_loss(args, Tokens.of(values, chosen, old, None))[0].backward()
        return torch.cat([parameter.grad.flatten() for parameter in own.network.parameters()])

    parts = [lesson[rank::3] for rank in range(3)]
    torch.testing.assert_close(sum(gradient(part) for part in parts), gradient(lesson), atol=1e-6, rtol=1e-4)


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


def test_a_correction_needs_recomputed_logprobs(model):
    with pytest.raises(ValueError, match="expected 'recomputed'"):
        tiny.language_model(model, correction="token")


def test_nothing_is_learned_from_nothing(model):
    assert update(model, lesson_of([]))[1] == {}
