import math
from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch
from torch import tensor

from agents import grpo
from agents.data.trajectories import Step, Trajectory
from agents.train_rl import make_settings
from agents.training import losses
from agents.training.credit import CONSTANT_TOKENS, weight_steps
from agents.training.losses import Tokens
from tests.errors import expect_error


def clipped(now, old, advantages, weights, *, sampled=None, reference=None, lengths=None, **options):
    """Return the clipped loss of tokens, each a response unless lengths are given, and what it tells of them."""
    args = make_settings("grpo", model="m", out="out", **{"old_logprobs": "recomputed", "clip_high": 0.2, **options})
    lengths = tuple(lengths or [1] * len(now))
    return grpo.clipped_loss(
        args, Tokens(now, old, old if sampled is None else sampled, advantages, weights, lengths, reference)
    )


def test_clipped_loss_by_hand():
    sampled = tensor([0.5, 0.5, 0.5, 0.5]).log()
    now = tensor([0.75, 0.75, 0.25, 0.5]).log().requires_grad_()
    advantages = tensor([1.0, -1.0, -1.0, 2.0])
    # ratios 1.5, 1.5, 0.5, 1; clipped to [0.8, 1.3]
    loss, metrics = clipped(now, sampled, advantages, tensor([0.25] * 4), clip_high=0.3)
    assert loss.item() == pytest.approx(-0.25 * (1.3 - 1.5 - 0.8 + 2.0))
    assert metrics["clipped"] == 2
    loss.backward()
    # Where the clip acts there is no gradient; elsewhere it is -w r A.
    assert now.grad.tolist() == pytest.approx([0, 0.25 * 1.5, 0, -0.5])


def test_kl_mismatch_and_logprobs_by_hand():
    policy, reference = tensor([0.5]).log(), tensor([0.25]).log()
    expected = 0.5 - math.log(0.5) - 1
    assert losses.k3(policy, reference).item() == pytest.approx(expected)
    loss, metrics = clipped(policy, policy, tensor([0.0]), tensor([1.0]), kl_weight=0.1, reference=reference)
    assert loss.item() == pytest.approx(0.1 * expected)
    assert metrics["kl"] == pytest.approx(expected)
    some, others = -torch.rand(2, 1000, generator=torch.Generator().manual_seed(0)) * 5
    assert losses.k3(some, others).min() >= 0
    gap = losses.mismatch(tensor([0.5, 0.25]).log(), tensor([0.5, 0.5]).log())
    assert [*gap.values()] == pytest.approx([math.log(2) / 2, math.log(2), (0.5 + math.log(2) - 1) / 2])
    logits = tensor([[0.0, math.log(3.0)], [math.log(7.0), 0.0]])
    assert losses.token_logprobs(logits, tensor([1, 1])).exp().tolist() == pytest.approx([0.75, 0.125])


def test_distillation_by_hand():
    # The teacher endorses the first token, knows nothing of the second, and rejects the third.
    now, teacher = tensor([0.2, 0.5, 0.8]).log().requires_grad_(), tensor([0.6, 0.5, 0.2]).log()
    loss, _ = clipped(now, now.detach(), tensor([0.0, 1.0, 0.5]), tensor([1.0] * 3), distilled=0.5, reference=teacher)
    loss.backward()
    # sigmoid(log 3) is 3 / 4, and sigmoid(log 1/4) is 1 / 5
    expected = [-0.5 * 0.75 * math.log(3), -1.0, -0.5 + 0.5 * 0.2 * math.log(4)]
    assert now.grad.tolist() == pytest.approx(expected)


def test_the_ratio_of_a_sequence_by_hand():
    # Responses of two tokens and of one: ratios 2 and 0.5 (their geometric mean is 1), and 1.5, which is clipped to 1.2.
    old = tensor([0.25, 0.5, 0.5]).log()
    now = tensor([0.5, 0.25, 0.75]).log().requires_grad_()
    loss, metrics = clipped(now, old, tensor([1.0, 1.0, 2.0]), tensor([0.25, 0.25, 0.5]), lengths=[2, 1], ratio="sequence")
    assert loss.item() == pytest.approx(-(0.5 * 1 + 0.5 * 1.2 * 2))
    assert metrics["clipped"] == 1
    loss.backward()
    # Each token of the first response moves the ratio alike: -sum(w) r A / 2. The second is cut.
    assert now.grad.tolist() == pytest.approx([-0.25, -0.25, 0])
    with expect_error(ValueError, 2, 3):
        losses.sequence_means(old, [1, 1])


@pytest.mark.parametrize(
    ("correction", "weights"),
    # The ratios of the tokens are 3, 0.5, 1.6 and 1, those of the responses 1.5 and 1.6. What is above 1.55 is cut, or dropped.
    [("none", [1, 1, 1, 1]), ("token", [1.55, 0.5, 1.55, 1]), ("sequence_mask", [1.5, 1.5, 0, 0])],
)
def test_importance_weights_scale_the_objective_and_not_the_kl(monkeypatch, correction, weights):
    monkeypatch.setattr(grpo, "CORRECTION_CAP", 1.55)
    old, sampled = tensor([0.6, 0.2, 0.8, 0.1]).log(), tensor([0.2, 0.4, 0.5, 0.1]).log()
    now, reference = old.clone().requires_grad_(), tensor([0.5] * 4).log()
    options = {"sampled": sampled, "lengths": [2, 2], "correction": correction, "reference": reference, "kl_weight": 0.1}
    loss, metrics = clipped(now, old, tensor([1.0] * 4), tensor([1.0] * 4), **options)
    assert loss.item() == pytest.approx(-sum(weights) + 0.1 * metrics["kl"], abs=1e-5)
    clipped(now, old, tensor([1.0] * 4), tensor([1.0] * 4), **{**options, "kl_weight": 0.0})[0].backward()
    assert now.grad.tolist() == pytest.approx([-weight for weight in weights], abs=1e-5)


LENGTHS = [4, 1, 6, 3]


# Equality with TRL. Rows of B completions, padded to T tokens.


def random_rows():
    generator = torch.Generator().manual_seed(0)
    mask = (torch.arange(max(LENGTHS)) < tensor(LENGTHS)[:, None]).float()
    now, old, sampled, reference = (-torch.rand(len(LENGTHS), max(LENGTHS), generator=generator) for _ in range(4))
    return mask, now.requires_grad_(), old, sampled, reference, torch.randn(len(LENGTHS), generator=generator)


def trl_loss(*, loss_type="dapo", level="token", beta=0.0, correction=None):
    """Return the loss of TRL's trainer and its gradient; only its model and its processes are stood in for."""
    grpo_trainer = pytest.importorskip("trl.trainer.grpo_trainer")
    mask, now, old, sampled, reference, advantages = random_rows()
    ratio = ((old - sampled) * mask).exp()
    if correction == "sequence_mask":
        ratio = ((old - sampled) * mask).sum(-1, keepdim=True).exp()
        ratio = ratio.masked_fill(ratio > 2.0, 0.0)
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (now, torch.zeros_like(now), None),
        _metrics=defaultdict(lambda: defaultdict(list)), _entropy_bonus_enabled=False,
        accelerator=SimpleNamespace(num_processes=1, reduce=lambda value, **_: value, gather=lambda value: value),
        args=SimpleNamespace(use_bias_correction_kl=False, delta=None, steps_per_generation=1), aux_loss_enabled=False,
        beta=beta, current_gradient_accumulation_steps=1, epsilon_low=0.2, epsilon_high=0.28,
        importance_sampling_level=level, loss_type=loss_type, max_completion_length=CONSTANT_TOKENS,
        model=SimpleNamespace(training=True), off_policy_mask_threshold=None, top_entropy_quantile=1.0,
        use_vllm=correction is not None, vllm_importance_sampling_correction=True,
    )  # fmt: skip
    ids = torch.zeros_like(mask, dtype=torch.int64)
    inputs = {
        "prompt_ids": ids, "prompt_mask": ids, "completion_ids": ids, "completion_mask": mask, "advantages": advantages,
        "old_per_token_logps": old, "ref_per_token_logps": reference, "num_items_in_batch": mask.sum(),
        "importance_sampling_ratio": ratio.clamp(max=2.0) if correction == "token" else ratio,
    }  # fmt: skip
    loss = grpo_trainer.GRPOTrainer._compute_loss(trainer, None, inputs)
    loss.backward()
    return loss.item(), now.grad


def our_loss(weighting, *, level="token", beta=0.0, correction="none"):
    mask, now, old, sampled, reference, advantages = random_rows()
    kept, lengths = mask.bool(), tensor(LENGTHS)
    made = [Trajectory("t", "g", (Step("", "", "", (), (1,) * length),), 0.0, "exited") for length in LENGTHS]
    weights = tensor([item.weight for item in weight_steps([(made, [1.0] * len(made))], weighting)])
    loss, _ = clipped(
        now[kept], old[kept], advantages.repeat_interleave(lengths), weights.repeat_interleave(lengths),
        sampled=sampled[kept], reference=reference[kept] if beta else None, lengths=LENGTHS, clip_high=0.28,
        kl_weight=beta, ratio=level, correction=correction,
    )  # fmt: skip
    loss.backward()
    return loss.item(), now.grad


@pytest.mark.parametrize(("weighting", "loss_type", "options"), [
    ("paper", "grpo", {}),
    ("paper", "grpo", {"beta": 0.04}),
    ("paper", "grpo", {"level": "sequence"}),
    ("token_mean", "dapo", {}),
    ("token_mean", "bnpo", {"beta": 0.04}),
    ("token_mean", "dapo", {"correction": "token", "beta": 0.04}),
    ("token_mean", "dapo", {"correction": "sequence_mask"}),
    ("dr_grpo", "dr_grpo", {}),
    ("dr_grpo", "dr_grpo", {"level": "sequence", "correction": "token"}),
])  # fmt: skip
def test_the_loss_is_that_of_trl_where_trl_can_express_it(weighting, loss_type, options):
    theirs, their_gradient = trl_loss(loss_type=loss_type, **options)
    ours, our_gradient = our_loss(weighting, **options)
    assert ours == pytest.approx(theirs, rel=1e-5)
    torch.testing.assert_close(our_gradient, their_gradient)
    assert our_gradient.abs().sum() > 0
