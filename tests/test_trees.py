import numpy
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask

from agents.models.trees import (
    IMPLEMENTATION,
    attention_blocks,
    block_bounds,
    block_mask,
    build_tree,
    count_pairs,
    tree_inputs,
    unsupported_reason,
)
from tests.tiny import language_model

SIZES = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0,
}  # fmt: skip
ABLE = {
    "qwen2": transformers.Qwen2Config(**SIZES),
    "qwen3": transformers.Qwen3Config(**SIZES),
    "llama": transformers.LlamaConfig(**SIZES),
    "gemma3 of full attention": transformers.Gemma3TextConfig(**SIZES, layer_types=["full_attention"] * 2),
}
sequences = st.lists(st.lists(st.integers(1, 2), min_size=1, max_size=12), min_size=1, max_size=8)


def create(config, implementation="sdpa"):
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=implementation)


def tree_of(lists):
    return build_tree([numpy.array(ids) for ids in sorted(lists)])


def random_tree(seed=0, count=12, longest=60):
    """Sequences over two tokens, that share much, and some that continue others."""
    generator = numpy.random.default_rng(seed)
    lists = [generator.integers(1, 3, int(length)).tolist() for length in generator.integers(2, longest, count)]
    return sorted([*lists, *([*lists[0][:keep], 5, 6, 7] for keep in range(1, len(lists[0])))])


def dense(tree):
    keys = numpy.arange(len(tree.ids))
    return torch.from_numpy((keys <= keys[:, None]) & (keys[:, None] < tree.ends))


def hidden(model, tree, **options):
    found = model.base_model(
        input_ids=torch.from_numpy(tree.ids)[None].to(model.device),
        position_ids=torch.from_numpy(tree.depths)[None].to(model.device),
        use_cache=False,
        **tree_inputs(model, tree, **options),
    ).last_hidden_state[0]
    return [found[path] for path in tree.paths]


@given(sequences)
def test_a_tree_has_each_prefix_once_and_shows_each_token_its_own(lists):
    tree = tree_of(lists)
    prefixes = {tuple(ids[: length + 1]) for ids in lists for length in range(len(ids))}
    assert len(tree.ids) == len(prefixes)
    mask = dense(tree)
    for ids, path in zip(sorted(lists), tree.paths, strict=True):
        assert tree.ids[path].tolist() == ids
        assert tree.depths[path].tolist() == list(range(len(ids)))
        assert numpy.flatnonzero(mask[path[-1]]).tolist() == path.tolist()


@given(sequences, st.integers(1, 9))
def test_blocks_cover_what_may_be_seen(lists, width):
    tree = tree_of(lists)
    blocks, mask = attention_blocks(tree, width), torch.zeros(len(tree.ids), len(tree.ids), dtype=torch.bool)
    places = torch.arange(len(tree.ids)).split(blocks.keys)
    for rows, (parts, seen) in zip(torch.arange(len(tree.ids)).split(blocks.queries), blocks.blocks, strict=True):
        mask[rows[:, None], torch.cat([places[part] for part in parts])] = seen
    assert torch.equal(mask, dense(tree))
    assert count_pairs(tree, width) == sum(seen.numel() for _, seen in blocks.blocks)
    assert max(blocks.queries) <= width
    assert sum(blocks.queries) == block_bounds(tree, width)[-1] == len(tree.ids)


@pytest.mark.parametrize("length", [100, 128, 900])
def test_the_blocks_of_flex_attention_are_those_of_the_whole_mask(length):
    lists = [[1] * shared + [2 + number] * (length // 4) for number, shared in enumerate((length // 2, length // 3, 5))]
    tree = tree_of(lists)
    ends = torch.from_numpy(tree.ends)
    expected = create_block_mask(
        lambda _batch, _head, query, key: (key <= query) & (query < ends[key]), 1, None, len(ends), len(ends), device="cpu"
    )
    ours = block_mask(ends)
    assert torch.equal(ours.to_dense(), expected.to_dense())
    assert torch.equal(ours.full_kv_num_blocks, expected.full_kv_num_blocks)


@pytest.mark.parametrize("name", ABLE)
def test_every_token_of_a_tree_is_computed_as_in_its_row(name):
    torch.manual_seed(0)
    model, lists = create(ABLE[name]).double().eval(), random_tree()
    tree = tree_of(lists)
    assert len(tree.ids) > 256
    for ids, ours in zip(lists, hidden(model, tree), strict=True):
        torch.testing.assert_close(ours, model.base_model(torch.tensor([ids])).last_hidden_state[0], atol=1e-10, rtol=1e-10)


def test_plain_input_is_read_as_before():
    torch.manual_seed(0)
    model, ids = create(ABLE["qwen2"]).eval(), torch.randint(1, 50, (2, 9))
    is_real = torch.tensor([[0] * 3 + [1] * 6, [1] * 9])
    before = model(ids).logits, model(ids, attention_mask=is_real).logits
    sampled = model.generate(ids, attention_mask=is_real, do_sample=False, max_new_tokens=5)
    tree_inputs(model, tree_of([[1, 2]]))
    assert model.config._attn_implementation == IMPLEMENTATION
    assert torch.equal(model(ids).logits, before[0])
    assert torch.equal(model(ids, attention_mask=is_real).logits, before[1])
    assert torch.equal(model.generate(ids, attention_mask=is_real, do_sample=False, max_new_tokens=5), sampled)
    assert "attn" not in model.config.to_json_string()


def test_gradients_are_the_same_with_checkpointing():
    torch.manual_seed(0)
    model, lists = create(ABLE["llama"]).double().train(), random_tree(1)
    tree, gradients = tree_of(lists), []
    for checkpointing in (False, True):
        if checkpointing:
            language_model(model, gradient_checkpointing=True)
        torch.cat(hidden(model, tree)).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.base_model.parameters()])
        model.zero_grad()
    for plain, again in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, again)


@pytest.mark.parametrize(("made", "reason"), [
    ((transformers.Gemma3TextConfig(**SIZES, sliding_window=8),), "sliding_attention"),
    ((transformers.MistralConfig(**SIZES, sliding_window=8),), "sliding"),
    ((transformers.MambaConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1), None), "cannot be replaced"),
    ((transformers.Qwen2Config(**SIZES), "eager"), "'eager'"),
], ids=["gemma", "mistral", "mamba", "eager"])  # fmt: skip
def test_models_without_tree_support_are_rejected_with_a_reason(made, reason):
    model = create(*made)
    assert reason in unsupported_reason(model)
    with pytest.raises(ValueError, match=reason):
        tree_inputs(model, tree_of([[1, 2]]))


# Compiling for a CPU takes a minute and cannot go backward; that it is left out is what is warned of.
@pytest.mark.filterwarnings("ignore:flex_attention called without", "ignore:`torch.jit.script_method` is deprecated")
@pytest.mark.parametrize("implementation", ["sdpa", "flex_attention"])
def test_flex_attention_computes_the_same(implementation):
    torch.manual_seed(0)
    config = SIZES | {"head_dim": 16}
    model, other = (create(transformers.Qwen2Config(**config), each).eval() for each in (implementation, "sdpa"))
    other.load_state_dict(model.state_dict())
    lists = random_tree(2)
    tree = tree_of(lists)
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        flex = hidden(model, tree, flex=True)
    torch.testing.assert_close(torch.cat(flex), torch.cat(hidden(other, tree)), atol=1e-4, rtol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here: FlexAttention has no backward pass on CPUs")
@pytest.mark.parametrize("name", ABLE)
def test_flex_attention_trains_as_blocks_do(name):
    torch.manual_seed(0)
    model, lists = create(ABLE[name]).cuda(), random_tree(3)
    tree, gradients = tree_of(lists), []
    for flex in (False, True):
        torch.cat(hidden(model, tree, flex=flex)).square().sum().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.base_model.parameters()]))
        model.zero_grad()
    torch.testing.assert_close(*gradients, atol=1e-3, rtol=1e-3)
