from contextlib import nullcontext
from copy import deepcopy
from importlib.util import find_spec

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agents.data.trajectories import Sample
from agents.models.batches import autocast, batch_logprobs, pack
from agents.models.parameters import add_adapters, create_optimizer, prepare_for_training
from agents.settings import PassSettings
from tests import tiny
from tests.errors import expect_error


def learn(model, optimizer, updates, seed=0):
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(updates):
        ids = torch.randint(5, 40, (4, 12), generator=generator).repeat(1, 2)
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_every_weight_learns_gradients_are_dropped_and_an_optimizer_goes_on_from_its_state(name):
    model, _ = tiny.tiny_model()
    before, optimizer = deepcopy(model.state_dict()), create_optimizer(model, name, 3e-3, 0.01)
    losses = learn(model, optimizer, 20)
    assert losses[-1] < losses[0]
    assert all(weights.grad is None for weights in model.parameters())
    assert all(not torch.equal(before[key], weights) for key, weights in model.named_parameters())
    twin = deepcopy(model)
    resumed = create_optimizer(twin, name, 3e-3, 0.01)
    resumed.load_state_dict(deepcopy(optimizer.state_dict()))
    for each, own in ((model, optimizer), (twin, resumed)):
        own.set_rate(1e-3)
        learn(each, own, 2, seed=1)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True))


def test_muon_takes_steps_as_long_as_adamw_s():
    lengths = {}
    for name in ("adamw", "muon"):
        model, _ = tiny.tiny_model()
        weights = model.model.layers[0].mlp.up_proj.weight
        before = weights.detach().clone()
        learn(model, create_optimizer(model, name, 1e-3, 0.0), 1)
        lengths[name] = (weights - before).square().mean().sqrt().item()
    assert 0.1 < lengths["muon"] / lengths["adamw"] < 1


@pytest.mark.skipif(find_spec("peft") is None, reason="no peft here: pip install peft")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_adapters_have_the_loss_and_gradients_of_peft_on_rows_of_transformers(dtype):
    from peft import LoraConfig  # noqa: PLC0415 - optional

    torch.manual_seed(0)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "attention_bias": True}
    ours = LlamaForCausalLM(
        LlamaConfig(vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=3, pad_token_id=0, **heads)
    )
    plain = deepcopy(ours)
    add_adapters(ours, 4)
    for name, weights in ours.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.1)
    plain.add_adapter(LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    plain.load_state_dict(ours.state_dict())
    history = tuple(torch.randint(1, 50, (140,)).tolist())
    samples = [Sample((*history[: 70 * (index % 3)], *history[index:]), (7, 3, 9 + index)) for index in range(5)]
    total, losses = sum(len(sample.response_ids) for sample in samples), [0.0, 0.0]
    for batch in pack(samples, 2000, sharing="tree", model=ours):
        with autocast(ours, dtype):
            loss = -batch_logprobs(ours, batch).sum() / total
        loss.backward()
        losses[0] += loss.item()
    for sample in samples:
        ids = torch.tensor([sample.prompt_ids + sample.response_ids])
        labels = ids.clone()
        labels[:, : len(sample.prompt_ids)] = -100
        with autocast(plain, dtype):
            loss = plain(input_ids=ids, labels=labels).loss * len(sample.response_ids) / total
        loss.backward()
        losses[1] += loss.item()
    assert losses[0] == pytest.approx(losses[1], abs=1e-5 if dtype == "float32" else 1e-3)
    for (name, mine), theirs in zip(ours.named_parameters(), plain.parameters(), strict=True):
        assert ("lora" in name) == mine.requires_grad == (mine.grad is not None)
        if mine.grad is not None:
            difference = (mine.grad - theirs.grad).norm() / theirs.grad.norm()
            assert difference < (1e-4 if dtype == "float32" else 0.05), name


@pytest.mark.skipif(find_spec("peft") is None, reason="no peft here: pip install peft")
def test_adapters_of_the_last_layers_alone_learn_and_no_gradient_reaches_the_others():
    model, _ = tiny.tiny_model()
    with expect_error(ValueError, "lora-layers", 3, 2):
        add_adapters(model, 2, layers=3)
    add_adapters(model, 2, layers=1)
    trained = {name for name, weights in model.named_parameters() if weights.requires_grad}
    assert len(trained) == 14  # two matrices for each of the seven linear modules of a layer
    assert all("layers.1." in name for name in trained)
    hidden = model.base_model(torch.arange(4)[None], output_hidden_states=True).hidden_states
    assert [states.requires_grad for states in hidden] == [False, False, True]


@pytest.mark.skipif(find_spec("peft") is None, reason="no peft here: pip install peft")
@pytest.mark.parametrize("place", ["", "model", "model.layers.0"], ids=["tower", "second stack", "experts"])
def test_the_last_layers_are_those_of_the_decoder(place):
    model, _ = tiny.tiny_model()
    model.get_submodule(place).more = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(5))
    if place == "model":
        with expect_error(ValueError, "--lora-layers", 1, "LlamaModel", 2):
            add_adapters(model, 2, layers=1)
        return
    add_adapters(model, 2, layers=1)
    trained = {name for name, weights in model.named_parameters() if weights.requires_grad}
    assert len(trained) == 14
    assert all(name.startswith("model.layers.1.") for name in trained)


@pytest.mark.skipif(find_spec("peft") is None, reason="no peft here: pip install peft")
@pytest.mark.parametrize(("existing", "rank", "layers", "values"), [
    (None, 0, 1, ("--lora-layers", 1, "--lora-rank 0")),
    (0, 2, 1, ("--lora-layers", 1, "adapters")),
    (1, 2, 2, ("--lora-layers", 2, "adapters")),
    (1, 2, 1, ()), (1, 2, 0, ()), (0, 2, 2, ()),
])  # fmt: skip
def test_layers_of_adapters_without_effect_are_rejected(existing, rank, layers, values):
    model, _ = tiny.tiny_model()
    if existing is not None:
        add_adapters(model, 2, layers=existing)
    with expect_error(ValueError, *values) if values else nullcontext():
        prepare_for_training(model, PassSettings(lora_rank=rank, lora_layers=layers), seed=0)


@pytest.mark.skipif(find_spec("peft") is None, reason="no peft here: pip install peft")
def test_adapters_with_a_bias_keep_it():
    from peft import LoraConfig  # noqa: PLC0415 - an optional dependency

    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=50, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, attention_bias=True, pad_token_id=0
    ))  # fmt: skip
    model.add_adapter(LoraConfig(r=2, lora_bias=True, target_modules=["q_proj", "v_proj"]))
    biases = [weights for name, weights in model.named_parameters() if "lora_B" in name and name.endswith("bias")]
    assert len(biases) == 2
    for bias in biases:
        torch.nn.init.normal_(bias)
    ids = torch.arange(1, 9)[None]
    expected = model(ids).logits
    add_adapters(model, 2)
    torch.testing.assert_close(model(ids).logits, expected)
