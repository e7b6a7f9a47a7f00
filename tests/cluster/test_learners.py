import importlib.util
import random
from copy import deepcopy
from functools import cache, partial
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

from agents import grpo
from agents.cluster.learners import ShardedLanguageModel, ShardedState, shard_ranks
from agents.data.trajectories import Step, Trajectory
from agents.training.credit import weight_steps
from agents.training.distributed import SINGLE_RANK, Ranks, launch
from tests import tiny

CASES = {
    "many passes": {"tokens_per_pass": 60},
    "minibatches": {"tokens_per_pass": 60, "minibatches": 3, "epochs": 2, "old_logprobs": "recomputed", "correction": "token"},
    "reference": {"kl_weight": 0.1, "ratio": "sequence"},
    "checkpointing": {"gradient_checkpointing": True},
}
COPIED = ("minibatches", "reference")
HAS_PEFT = importlib.util.find_spec("peft") is not None
if HAS_PEFT:
    CASES["adapters"] = {"lora_rank": 2, "gradient_checkpointing": True}


class Run(NamedTuple):
    metrics: list[dict[str, float]]
    weights: dict[str, torch.Tensor]
    state: dict


def lesson(seed=0, groups=3, trajectories=4):
    """What random rollouts teach: groups that share their first prompts, of mixed lengths."""
    rng = random.Random(seed)

    def ids(least, most):
        return tuple(rng.randrange(10, 300) for _ in range(rng.randint(least, most)))

    played = []
    for group in range(groups):
        goal = ids(5, 25)
        for number in range(trajectories):
            steps, prompt = [], goal
            for _ in range(rng.randint(1, 3)):
                response = ids(1, 8)
                steps.append(Step("", "", "", prompt, response, tuple(rng.uniform(-6.2, -5.8) for _ in response)))
                prompt = (*goal, *ids(3, 20))
            played.append(Trajectory("t", "g", tuple(steps), float(number == 0), "exited", group))
    _, args = tiny.language_model(tiny.tiny_model()[0], advantages="trajectory")
    return weight_steps([(group, grpo.step_advantages(group, args)) for group in tiny.grouped(played)])


def tiny_model():
    """A tiny model without training of the keys' biases.

    A softmax hardly sees them: their gradients are rounding errors, which AdamW makes as large as any other update.
    """
    model, _ = tiny.tiny_model()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not name.endswith("k_proj.bias")
    return model


class Learner:
    """A model with the state of its run, alone or sharded among ranks."""

    def __init__(self, model=None, ranks=SINGLE_RANK, **options):
        torch.set_num_threads(1)
        made, self.args = tiny.language_model(model or tiny_model(), **options)
        first = deepcopy(made.network) if options.get("kl_weight") else None
        if ranks.count > 1:
            own = ShardedLanguageModel(made.network, None, self.args, ranks)
            first = ShardedLanguageModel(first, None, self.args, ranks) if first else None
        else:
            own, first = made, tiny.language_model(first, **options)[0] if first else None
        method = SimpleNamespace(state_dict=dict, load_state_dict=lambda _: None)
        self.own, self.first, self.ranks = own, first, ranks
        self.state = (ShardedState if ranks.count > 1 else grpo.State)(self.args, own, method)

    @property
    def whole(self):
        return getattr(self.own, "full_network", self.own.network)

    def learn(self, steps, rng, progress=0.0):
        loss, optimizer = partial(grpo.clipped_loss, self.args), self.state.optimizer
        found = grpo.Learner(self.own, optimizer, loss, self.args, self.first, self.ranks).learn(steps, rng, progress)
        if isinstance(self.own, ShardedLanguageModel):
            self.own.gather()
        return found


def train(learner, lessons=(0, 1, 2)):
    metrics = [learner.learn(lesson(number), random.Random(number)) for number in lessons]
    state = learner.state.state_dict()
    weights = {name: value.detach().clone() for name, value in learner.whole.named_parameters()} if learner.whole else {}
    return Run(metrics, weights, state)


@cache
def alone(case=None):
    """The run of one process."""
    return train(Learner(**CASES[case] if case else {}))


def assert_equal_runs(ours, theirs, tolerance=1e-5):
    assert len(ours.metrics) == len(theirs.metrics)
    for our, their in zip(ours.metrics, theirs.metrics, strict=True):
        assert our == pytest.approx(their, abs=tolerance)
    assert ours.weights.keys() == theirs.weights.keys()
    for name, weights in ours.weights.items():
        assert torch.allclose(weights, theirs.weights[name], atol=tolerance, rtol=0), name


def train_in_shards(model, state):
    ranks = shard_ranks()
    runs = {name: train(Learner(ranks=ranks, **case)) for name, case in CASES.items()}
    resumed = Learner(model, ranks, **CASES["many passes"])
    resumed.state.load_state_dict(state)
    runs["resumed"] = train(resumed, lessons=[2])
    for name in COPIED:  # processes with whole copies of the model, which play and learn a part each
        learner = Learner(**CASES[name])
        learner.ranks = Ranks.current()
        runs[f"{name} in whole copies"] = train(learner)
    return runs


@pytest.fixture(scope="module")
def two_ranks():
    """The runs of two processes, and of one that went on in two after its second lesson."""
    alone = Learner(**CASES["many passes"])
    state = train(alone, lessons=[0, 1]).state
    return launch(train_in_shards, 2, alone.own.network, state)


@pytest.mark.parametrize("case", CASES)
def test_two_ranks_learn_what_one_process_does(two_ranks, case):
    assert_equal_runs(two_ranks[case], alone(case))
    if case == "checkpointing":
        assert_equal_runs(alone(case), alone())
    if case in COPIED:
        assert_equal_runs(two_ranks[f"{case} in whole copies"], alone(case))


def test_training_goes_on_in_more_processes_and_in_fewer(two_ranks):
    whole = alone("many passes")
    assert_equal_runs(two_ranks["resumed"], whole._replace(metrics=whole.metrics[2:]))
    # And back: what two ranks have saved, one process loads.
    model = tiny_model()
    model.load_state_dict(two_ranks["many passes"].weights, strict=False)
    fewer = Learner(model, **CASES["many passes"])
    fewer.state.load_state_dict(two_ranks["many passes"].state)
    whole = train(Learner(**CASES["many passes"]), lessons=[0, 1, 2, 3])
    assert_equal_runs(train(fewer, lessons=[3]), whole._replace(metrics=whole.metrics[3:]))


def test_a_linear_schedule_makes_steps_shorter_as_the_training_goes_on():
    def moved(progress, **options):
        learner = Learner(**options)
        before = [value.detach().clone() for value in learner.whole.parameters()]
        learner.learn(lesson(), random.Random(0), progress)
        return sum((new - old).norm().item() for new, old in zip(learner.whole.parameters(), before, strict=True))

    linear = {"schedule": "linear"}
    assert moved(0.75, **linear) == pytest.approx(0.25 * moved(0.0, **linear), rel=1e-2)
    assert moved(0.75) == moved(0.0) == moved(0.0, **linear)


def test_half_precision_computes_about_the_same_and_keeps_the_weights_whole():
    half, full = (train(Learner(dtype=dtype), [0]) for dtype in ("bfloat16", "float32"))
    assert {value.dtype for value in half.weights.values()} == {torch.float32}
    assert half.metrics[0]["loss"] != full.metrics[0]["loss"]
    assert half.metrics[0]["loss"] == pytest.approx(full.metrics[0]["loss"], abs=0.02)


@pytest.mark.skipif(not HAS_PEFT, reason="no peft here: pip install peft")
def test_adapters_learn_and_the_weights_stay():
    before = dict(tiny.tiny_model()[0].named_parameters())
    learner = Learner(lora_rank=2, learning_rate=1e-2)
    after = train(learner).weights
    trained = {name for name, value in learner.whole.named_parameters() if value.requires_grad}
    assert {name for name in after if "lora" in name} == trained
    for name, value in before.items():
        ours = after.get(name, after.get(name.replace("proj.", "proj.base_layer.")))
        assert torch.equal(value, ours), name
    assert any(value.abs().max() > 0 for name, value in after.items() if "lora_B" in name)
