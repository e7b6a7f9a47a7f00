import math
import random
from collections import Counter
from contextlib import closing, contextmanager

import pytest
import torch
import transformers
from transformers.cache_utils import Cache

from agents.rollouts.chat import ChatPolicy
from agents.rollouts.engines import decoding
from agents.rollouts.engines.decoding import BLOCK, KeyValues, KVBuffer, PrefixCache
from agents.rollouts.engines.inprocess import InProcessEngine, generate
from agents.rollouts.policies import Reply, Request
from tests.clocks import until
from tests.engine_contract import MAX_NEW_TOKENS, PROMPTS, SIZES, STOP_IDS, EngineContract, logprob_gap, responses, train
from tests.errors import expect_error
from tests.model_server import serving_model
from tests.tiny import tiny_model

TINY = {**SIZES, "num_key_value_heads": 2}
WINDOWS = {"sliding_window": 7, "head_dim": 8}
MODELS = {
    "Qwen2": transformers.Qwen2Config(**TINY),
    "Qwen2 with windows": transformers.Qwen2Config(**TINY, use_sliding_window=True, sliding_window=7, max_window_layers=1),
    "Qwen3": transformers.Qwen3Config(**TINY, head_dim=8),
    "Llama": transformers.LlamaConfig(**TINY),
    "Mistral": transformers.MistralConfig(**TINY, **WINDOWS),
    "Gemma3": transformers.Gemma3TextConfig(**TINY, **WINDOWS, layer_types=["sliding_attention", "full_attention"]),
}


def engine(model, **options):
    return InProcessEngine(model, STOP_IDS, **{"max_new_tokens": MAX_NEW_TOKENS, **options})


def create(config, attention="sdpa"):
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)


def trunk_prompts(count=6, seed=0):
    """Prompts of a common trunk, of unlike ends, some equal."""
    rng = random.Random(seed)
    trunk = tuple(rng.randrange(5, 300) for _ in range(3 * BLOCK + 5))
    ends = [tuple(rng.randrange(5, 300) for _ in range(rng.randrange(1, 40))) for _ in range(count)]
    return [trunk + end for end in [*ends, *ends[:3], *ends[:1]]]


@pytest.fixture
def model():
    return tiny_model()[0]


class TestInProcessEngine(EngineContract):
    def engine(self, model, **options):
        return closing(engine(model, **options))


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", MODELS)
def test_models_of_many_kinds_say_what_they_say_without_a_cache(name, attention):
    model = create(MODELS[name], attention)
    prompts = trunk_prompts()
    ours = engine(model, max_new_tokens=20)
    for round_number in range(2):
        if round_number:
            with torch.no_grad():
                for weight in model.parameters():
                    weight.mul_(1.1)
            ours.load(model, round_number)
        generations = generate(ours, prompts, range(len(prompts))) + generate(ours, prompts[:3], range(3))
        for prompt, one in zip([*prompts, *prompts[:3]], generations, strict=True):
            with torch.no_grad():
                logits = model.eval()(torch.tensor([[*prompt, *one.response_ids]]), use_cache=False).logits
            expected = logits[0, len(prompt) - 1 : -1].log_softmax(-1)[range(len(one.response_ids)), one.response_ids]
            torch.testing.assert_close(torch.tensor(one.logprobs), expected, atol=1e-4, rtol=0)


def test_models_that_cannot_work_are_refused_with_the_reason():
    with expect_error(ValueError, "MambaForCausalLM", ["linear_attention"]):
        engine(create(transformers.MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, state_size=4), None))
    with expect_error(ValueError, "Gemma2ForCausalLM", "logits"):
        engine(create(transformers.Gemma2Config(**TINY, **WINDOWS, final_logit_softcapping=0.1), "eager"))
    with expect_error(ValueError, "'flex_attention'"):
        engine(create(MODELS["Llama"], "flex_attention"))


def without_buffer(options):
    """A model that knows the cache by another name: the keys and values of a prompt are computed and not stored."""
    return {name: value for name, value in options.items() if options["attention_mask"] is not None or type(value) is not Cache}


def without_positions(options):
    """A model that counts positions itself."""
    is_step = options["input_ids"].shape[1] == 1
    return options | {"position_ids": torch.zeros_like(options["position_ids"])} if is_step else options


@pytest.mark.parametrize("change", [without_buffer, without_positions])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_model_whose_decoding_steps_differ_from_a_whole_pass_is_refused(change, attention):
    model = create(MODELS["Llama"], attention)
    engine(model).close()
    model.base_model.register_forward_pre_hook(lambda _, given, options: (given, change(options)), with_kwargs=True)
    with expect_error(ValueError, "LlamaForCausalLM", "logits"):
        engine(model)


def test_weights_that_changed_without_a_load_are_an_error(model):
    ours = engine(model)
    generate(ours, PROMPTS, range(6))
    train(model)
    ours.submit(0, (5, 6, 7), 0)
    with expect_error(RuntimeError, "version 0", "load()"):
        ours.take()
    ours.load(model, 1)
    ((_, one, _),) = ours.take()
    assert logprob_gap(model, [one], [(5, 6, 7)]) < 1e-4


def test_responses_under_way_go_on_under_new_weights(model):
    prompts = [*PROMPTS, *trunk_prompts(2)]
    ours = engine(model, max_new_tokens=40)
    for request_id, prompt in enumerate(prompts):
        ours.submit(request_id, prompt, request_id)
    found = {answer.request_id: answer.generation for _ in range(3) for answer in ours.take(0)}
    early = set(found)
    train(model)
    ours.load(model, 1)
    while not ours.is_idle:
        found |= {answer.request_id: answer.generation for answer in ours.take()}
    late = [request_id for request_id in found if request_id not in early]
    assert {found[request_id].policy_version for request_id in late} == {0, 1}
    # The last tokens are of the new weights: read anew, they agree.
    for request_id in late:
        prompt, one = (*prompts[request_id], *found[request_id].response_ids[:-1]), found[request_id]
        last = one._replace(response_ids=one.response_ids[-1:], logprobs=one.logprobs[-1:])
        assert logprob_gap(model, [last], [prompt]) < 1e-4


def test_what_prompts_share_is_read_once(model):
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


def test_a_slice_leaves_time_for_others(model):
    model.train()
    ours = engine(model, max_new_tokens=40)
    ours.submit(0, (20,), 3)
    slices = 0
    while not ours.is_idle:
        slices += 1
        answers = ours.take(0)
    assert slices > 1
    assert [answer.request_id for answer in answers] == [0]
    assert model.training  # as it was


def test_many_joins_and_leaves_keep_every_response_right(model):
    rng = random.Random(0)
    ours = engine(model, max_new_tokens=30, max_tokens=600)
    pool = trunk_prompts(10)
    prompts = [rng.choice(pool)[: rng.randrange(1, 90)] for _ in range(60)]
    waiting, found = list(enumerate(prompts)), {}
    while waiting or not ours.is_idle:
        for _ in range(min(len(waiting), rng.randrange(4))):
            request_id, prompt = waiting.pop()
            for copy in range(rng.choice([1, 1, 3])):
                ours.submit(3 * request_id + copy, prompt, 3 * request_id + copy)
        found |= {answer.request_id: answer.generation for answer in ours.take(0)}
    assert len(found) >= 60
    assert logprob_gap(model, list(found.values()), [prompts[request_id // 3] for request_id in found]) < 1e-4


def test_samples_follow_the_distribution(model):
    generations = generate(engine(model, temperature=0.05, max_new_tokens=1), [(5, 6, 7)] * 4000, range(4000))
    counts = Counter(one.response_ids for one in generations)
    probabilities = {one.response_ids: math.exp(one.logprobs[0]) for one in generations}
    assert max(probabilities.values()) > 0.1
    for token, probability in probabilities.items():
        assert counts[token] / 4000 == pytest.approx(probability, abs=0.03)


def test_bad_input_is_refused(model):
    ours = engine(model)
    with pytest.raises(ValueError, match="no tokens"):
        ours.submit(0, (), 0)
    with expect_error(ValueError, "request 0", "5 to 100000"):
        ours.submit(0, (5, 100_000), 0)
    ours.submit(0, (5,), 0)
    with pytest.raises(ValueError, match="request 0 is still pending"):
        ours.submit(0, (5,), 0)
    with pytest.raises(ValueError, match="expected an idle engine"):
        generate(ours, [(5,)], [0])
    with expect_error(ValueError, "max_new_tokens", 0):
        engine(model, max_new_tokens=0)
    ours.close()
    with pytest.raises(RuntimeError, match="closed"):
        ours.submit(1, (5,), 0)


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


@contextmanager
def serving_policy(**options):
    """A server and a policy that asks it."""
    with serving_model(max_model_len=200) as (server, address):
        policy = ChatPolicy("small", f"{address}/v1/", "", **{"deadline_s": 20, **options})
        try:
            yield server, policy
        finally:
            server.may_answer.set()
            policy.close()


def request(slot=0, words="Open lamp", seed=0):
    return Request(slot, None, {"messages": [{"role": "user", "content": words}]}, seed)


def reply(policy, asked=None):
    policy.ask([asked or request()])
    ((slot, reply),) = policy.replies()
    assert slot == (asked or request()).slot
    return reply


def test_every_request_is_answered_once_and_by_its_slot():
    with serving_policy(max_new_tokens=6) as (_, policy):
        policy.ask([request(slot, f"Open {word}", slot) for slot, word in enumerate(["lamp", "mug", "tent"])])
        policy.ask([request(7, "Open rug")])
        answers = []
        while len(answers) < 4:
            answers += policy.replies()
        assert sorted(slot for slot, _ in answers) == [0, 1, 2, 7]
        assert all(reply.text and not reply.failure and not reply.too_long for _, reply in answers)
        assert policy.replies() == []


@pytest.mark.parametrize("options", [{"temperature": 0.5, "max_new_tokens": 3}, {}])
def test_asks_with_the_whole_conversation_and_leaves_to_the_server_what_is_not_set(options):
    with serving_policy(system="Be brief.", **options) as (server, policy):
        reply(policy, request(2, "Open lamp", seed=9))
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Open lamp"}]
        sampling = {"temperature": 0.5, "max_completion_tokens": 3} if options else {}
        assert server.posts("/v1/chat/completions") == [{"model": "small", "messages": messages, "seed": 9, **sampling}]
        assert policy.name.startswith("small at 127.0.0.1:")


def test_saying_nothing_is_a_reply_a_failure_is_told_and_a_conversation_that_does_not_fit_is_too_long():
    with serving_policy() as (server, policy):
        server.faults += [lambda _: {"choices": [{"message": {"content": None}}]}, 400, lambda _: {"choices": []}]
        assert reply(policy) == Reply("")
        for said in ("400", "without a message"):
            failed = reply(policy)
            assert (said in failed.failure, failed.text) == (True, "")
    with serving_policy() as (server, policy):
        assert reply(policy, request(words="Open lamp " * 200)) == Reply("", too_long=True)
        server.faults += [(400, "This model's maximum context length is 9 tokens.")]
        assert reply(policy).too_long


def test_several_requests_at_once_and_no_more():
    with serving_policy(max_requests=3) as (server, policy):
        server.may_answer.clear()
        policy.ask([request(slot) for slot in range(8)])
        until(lambda: server.under_way == 3)
        assert policy.replies(0) == []
        server.may_answer.set()
        answers = []
        while len(answers) < 8:
            answers += policy.replies()
        assert server.most_under_way == 3
