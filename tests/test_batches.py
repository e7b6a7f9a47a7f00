from warnings import catch_warnings, simplefilter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, Qwen2Config, Qwen2ForCausalLM

from agents.data.trajectories import Sample
from agents.models.batches import Costs, autocast, batch_logprobs, has_fast_bfloat16, pack
from tests.errors import expect_error
from tests.tiny import tiny_model

SIZES = {
    "vocab_size": 30, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "pad_token_id": 0,
}  # fmt: skip
MODES = ["auto", "rows", "tree"]


@pytest.fixture(scope="module")
def model():
    return tiny_model()[0]


def samples():
    generator = torch.Generator().manual_seed(1)

    def ids(length):
        return tuple(torch.randint(5, 300, (length,), generator=generator).tolist())

    prompts = [ids(length) for length in (7, 3, 12)]
    found = [Sample(prompt, ids(length)) for prompt in prompts[:2] for length in (4, 1, 6)]
    return [*found, found[0], Sample(prompts[2], ids(5)), Sample(prompts[0] + ids(3), ids(2)), Sample(ids(9), ids(2))]


def one_by_one(model, sample):
    ids = torch.tensor([[*sample.prompt_ids, *sample.response_ids]])
    logits = model(ids).logits[0, len(sample.prompt_ids) - 1 : -1]
    return logits.log_softmax(-1).gather(-1, torch.tensor(sample.response_ids)[:, None])[:, 0]


def gradient(model):
    found = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad()
    return found


@pytest.mark.parametrize("sharing", MODES)
@pytest.mark.parametrize("max_tokens", [1, 40, 10_000])
def test_packed_logprobs_are_those_of_each_sample_alone(model, max_tokens, sharing):
    seen = []
    for batch in pack(samples(), max_tokens, sharing=sharing, model=model):
        parts = batch_logprobs(model, batch).split(batch.lengths)
        for index, part in zip(batch.samples, parts, strict=True):
            seen.append(index)
            torch.testing.assert_close(part, one_by_one(model, samples()[index]), atol=1e-5, rtol=1e-5)
    assert sorted(seen) == list(range(len(samples())))


# Few tokens, so that prompts, responses and their prefixes are often the same.
some_ids = st.lists(st.integers(1, 3), min_size=1, max_size=6).map(tuple)


@settings(max_examples=25)
@given(st.lists(st.builds(Sample, some_ids, some_ids), min_size=1, max_size=8), st.integers(1, 60), st.randoms())
def test_gradients_do_not_depend_on_order_padding_or_packing(found, max_tokens, rng):
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**SIZES)).double()
    advantages = [(-1) ** index * (1 + index / 7) for index in range(len(found))]
    sum((one_by_one(model, sample) * own).sum() for own, sample in zip(advantages, found, strict=True)).backward()
    expected, shuffled = gradient(model), rng.sample(range(len(found)), len(found))
    for sharing in MODES:
        batches = pack([found[index] for index in shuffled], max_tokens, sharing=sharing, pad_id=7, model=model)
        for batch in batches:
            assert len(batch.samples) == 1 or batch.input_ids.numel() <= max_tokens
            own = zip(batch.samples, batch_logprobs(model, batch).split(batch.lengths), strict=True)
            sum(advantages[shuffled[index]] * part.sum() for index, part in own).backward()
        torch.testing.assert_close(gradient(model), expected, atol=1e-5, rtol=1e-5)


def test_trees_contain_shared_prefixes_once():
    (tree,) = pack(samples(), 10_000, sharing="tree")
    rows = pack(samples(), 10_000, sharing="rows")
    read = [sample.prompt_ids + sample.response_ids[:-1] for sample in samples()]
    prefixes = {ids[: length + 1] for ids in read for length in range(len(ids))}
    assert tree.input_ids.shape == (1, len(prefixes))
    assert sum(batch.input_ids.shape[0] for batch in rows) == len(samples())
    # A place predicts for all samples that come by.
    assert len(tree.columns) < len(tree.targets) == sum(len(sample.response_ids) for sample in samples())


def test_trees_are_chosen_where_they_cost_fewer_operations(model):
    shared = [Sample((1, 2, 3, 4, 5, 6, 7, 8), (9 + number, 30)) for number in range(4)]
    alone = [Sample((50 + number, 2, 3), (4,)) for number in range(4)]
    assert pack(shared, 1000, model=model)[0].tree is not None
    assert pack(alone, 1000, model=model)[0].tree is None
    assert {batch.tree is None for batch in pack(shared, 1000, sharing="rows", model=model)} == {True}
    model = Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=True))
    weights = sum(parameter.numel() for parameter in model.parameters()) - 30 * 16
    assert Costs.for_model(model) == (weights, 2 * 2 * 16)


def test_a_model_that_cannot_read_trees_gets_rows():
    torch.manual_seed(0)
    model = Gemma3ForCausalLM(Gemma3TextConfig(**{**SIZES, "vocab_size": 300, "head_dim": 8, "sliding_window": 4})).eval()
    found = [Sample(tuple(range(1, 12)), (number, 3)) for number in range(20, 24)]
    with expect_error(ValueError, "sample 0"):
        pack([Sample((1, 2), ())], 100)
    with expect_error(ValueError, "sharing", "'tree'", "sliding_attention"):
        pack(found, 1000, sharing="tree", model=model)
    for batch in pack(found, 1000, model=model):
        assert batch.tree is None
        for index, part in zip(batch.samples, batch_logprobs(model, batch).split(batch.lengths), strict=True):
            torch.testing.assert_close(part, one_by_one(model, found[index]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "is_supported", "warnings"), [("bfloat16", False, 1), ("bfloat16", True, 0), ("float32", False, 0)]
)
def test_a_warning_where_the_cpu_has_no_instructions_for_bfloat16(model, monkeypatch, dtype, is_supported, warnings):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: is_supported, raising=False)
    with catch_warnings(record=True) as caught:
        simplefilter("always")
        with autocast(model, dtype):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == getattr(torch, dtype)
    assert ["--dtype float32" in str(warning.message) for warning in caught] == [True] * warnings


def test_a_build_without_onednn_is_not_warned_of(monkeypatch):
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    assert has_fast_bfloat16()
