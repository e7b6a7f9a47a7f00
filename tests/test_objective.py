"""The objective as a learner takes it: what must not change the update, and what must."""

from copy import deepcopy
from random import Random

import pytest
import torch

from agents.data.trajectories import Step, Trajectory
from agents.methods.estimators import AdvantageSettings
from agents.methods.grpo import make_batch
from agents.models.batches import batch_logprobs, pack
from agents.training import losses
from agents.training.learner import Learner, UpdateSettings
from agents.training.objectives import ClipSettings, clipped
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


def update(model, lesson, **settings):
    """Return the weights and the metrics after learning the lesson, with plain gradient steps: Adam would hide their size."""
    clip = {name: settings.pop(name) for name in vars(ClipSettings()) if name in settings}
    options = UpdateSettings(**{"learning_rate": 1.0, "max_grad_norm": 1e9, **settings})
    learner = Learner(deepcopy(model), options, clipped(ClipSettings(**clip)))
    learner.optimizer = torch.optim.SGD(learner.model.parameters(), settings.get("learning_rate", 1.0))
    metrics = learner.learn(lesson, Random(0))
    return torch.cat([parameter.detach().flatten() for parameter in learner.model.parameters()]), metrics


def lesson_of(trajectories, **settings):
    return make_batch(trajectories, AdvantageSettings(**settings))


WEIGHTINGS = ["paper", "constant", "dr_grpo", "token_mean"]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize(
    "changes", [{}, {"ratio": "sequence"}, {"old_logprobs": "recomputed", "correction": "sequence_mask"}], ids=str
)
def test_neither_order_nor_packing_changes_an_update(model, trajectories, weighting, changes):
    lesson = lesson_of(trajectories, weighting=weighting, advantages="trajectory")
    shuffled = lesson.only(Random(1).sample(range(len(lesson.samples)), len(lesson.samples)))
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
        own = deepcopy(model)
        for batch in pack(part.samples, 10_000):
            logprobs = batch_logprobs(own, batch)
            sampled = torch.tensor([value for index in batch.samples for value in part.sampled_logprobs[index]])
            losses.clipped_loss(logprobs, sampled, batch.spread(part.advantages), batch.spread(part.weights)).loss.backward()
        return torch.cat([parameter.grad.flatten() for parameter in own.parameters()])

    indices = range(len(lesson.samples))
    parts = [lesson.only([index for index in indices if index % 3 == rank]) for rank in range(3)]
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


def test_a_sampler_that_is_not_the_trainer_is_measured_and_corrected(model, trajectories):
    lesson = lesson_of(trajectories)
    # This sampler thought each token less likely by a factor of 4 than the trainer does.
    off = lesson._replace(sampled_logprobs=[tuple(x - 1.3863 for x in row) for row in lesson.sampled_logprobs])
    off = off._replace(old_logprobs=off.sampled_logprobs)
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


def test_the_gap_of_contexts_that_were_never_sampled_is_measured(model, trajectories):
    foreign = make_batch(trajectories, AdvantageSettings(), lambda item: [(7, 8, 9)] * len(item.steps))
    _, metrics = update(model, foreign, old_logprobs="recomputed")
    _, exact = update(model, lesson_of(trajectories), old_logprobs="recomputed")
    assert metrics["mismatch_mean"] > 1000 * exact["mismatch_mean"]
    assert metrics["mismatch_kl"] > 0


def test_a_correction_needs_recomputed_logprobs():
    with pytest.raises(ValueError, match="expected 'recomputed'"):
        clipped(ClipSettings(correction="token"))


def test_nothing_is_learned_from_nothing(model):
    assert update(model, lesson_of([]))[1] == {}
