"""Shared prefixes, memory limits, lengths of prompts and the prefix cache."""

import random

import torch

from agents.rollouts.engines import decoding
from agents.rollouts.engines.decoding import BLOCK, KeyValues, KVBuffer, PrefixCache
from agents.rollouts.engines.inprocess import generate
from tests.engine_contract import logprob_gap, responses
from tests.rollouts.engines.tiny_engines import engine, trunk_prompts


def test_shared_prefixes_of_prompts_are_computed_once(model):
    ours, trunk, read = engine(model, max_new_tokens=1), tuple(range(5, 5 + 4 * BLOCK)), []
    model.base_model.register_forward_pre_hook(
        lambda _module, _args, options: read.append(options["input_ids"].numel()), with_kwargs=True
    )

    def tokens(*ends):
        read.clear()
        generate(ours, [trunk + end for end in ends], range(len(ends)))
        return sum(read)

    assert tokens(*[(200,)] * 5) == len(trunk) + 1
    assert tokens((201, 202), (203, 204)) == 4
    ours.load(model, 1)
    assert tokens((201,), (203,), (204,)) == len(trunk) + 3


def test_little_memory_changes_no_response(model):
    prompts = trunk_prompts(8)
    expected = generate(engine(model), prompts, range(len(prompts)))
    for options in (
        {"max_tokens": 150}, {"cache_tokens": 2 * BLOCK}, {"max_tokens": 1, "cache_tokens": 0}, {"cache_bytes": 0, "batch_bytes": 1},
    ):  # fmt: skip
        found = generate(engine(model, **options), prompts, range(len(prompts)))
        assert responses(found) == responses(expected)
        assert logprob_gap(model, found, prompts) < 1e-4


def test_keys_and_values_have_at_most_the_given_bytes(model, monkeypatch):
    sizes, create_buffer = [], KVBuffer.__init__

    def record(self, empty, rows, columns):
        sizes.append((rows * columns, empty.token_bytes))
        create_buffer(self, empty, rows, columns)

    monkeypatch.setattr(KVBuffer, "__init__", record)
    rng = random.Random(0)
    prompts = [tuple(rng.randrange(5, 300) for _ in range(length)) for length in (400, 20, 30, 25, 20, 40, 35, 390)]
    ours = engine(model, max_new_tokens=4)
    expected = generate(ours, prompts, range(len(prompts)))
    token_bytes = sizes[-1][1]
    assert token_bytes == 2 * 2 * 2 * 16 * 4  # keys and values, layers, heads, their size, bytes of a float
    assert max(count for count, _ in sizes) > 2 * 480  # several rows are padded to the longest
    sizes.clear()
    limit = 480 * token_bytes
    small = engine(model, max_new_tokens=4, batch_bytes=limit, cache_bytes=5 * BLOCK * token_bytes)
    assert responses(generate(small, prompts, range(len(prompts)))) == responses(expected)
    # Buffers have space for further steps, of which one sequence in a row needs one column each.
    assert max(count for count, _ in sizes) <= 480 + 8 * 64
    assert 0 < len(small._prefixes) <= 5 * BLOCK


def test_prompts_in_bfloat16_have_few_lengths(model, monkeypatch):
    prompts = [tuple(range(5 + number, 5 + number + length)) for number, length in enumerate((3, 31, 33, 50, 70, 90))]
    prompts.append((*prompts[-1][:60], 200))  # of which a part is cached
    read = []

    def play(**options):
        ours = engine(model, max_new_tokens=3, **options)
        read.clear()
        handle = model.base_model.register_forward_pre_hook(
            lambda _module, _args, options: read.append(tuple(options["input_ids"].shape)), with_kwargs=True
        )
        found = [generate(ours, [prompt], [number])[0] for number, prompt in enumerate(prompts)]
        handle.remove()
        return found, {length for _, length in read if length > 1}

    rounded, lengths = play(dtype="bfloat16")
    assert lengths == {32, 64, 96}
    monkeypatch.setattr(decoding, "_LENGTH_STEP", 1)
    plain, lengths = play(dtype="bfloat16")
    assert len(lengths) > 4
    assert responses(rounded) == responses(plain)
    assert play()[1] == lengths


def test_a_prefix_cache_forgets_what_was_not_asked_for_the_longest():
    def states(ids):
        keys = torch.tensor(ids, dtype=torch.float32).view(1, 1, -1, 1)
        return KeyValues(keys, keys)

    first, second = (tuple(range(start, start + 2 * BLOCK + 1)) for start in (0, 1000))
    cache = PrefixCache(4 * BLOCK)
    cache.add(first, states(first))
    cache.add(second, states(second))
    assert len(cache) == 4 * BLOCK
    known, missing = cache.find(first)
    assert torch.cat([block.keys for block in known], dim=2).flatten().tolist() == list(first[:-1])
    assert missing is None
    third = (*first[:BLOCK], *range(2000, 2000 + 2 * BLOCK))
    cache.add(third, states(third))
    assert len(cache) == 4 * BLOCK
    assert len(cache.find(first)[0]) == 2
    assert len(cache.find(second)[0]) == 0
    cache.clear()
    assert (len(cache), cache.find(first)[0]) == (0, [])
