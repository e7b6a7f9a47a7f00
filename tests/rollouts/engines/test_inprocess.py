import math
import random
from collections import Counter
from contextlib import closing

import pytest
import torch
import transformers
from transformers.cache_utils import Cache

from agents.rollouts.engines.inprocess import generate
from tests.engine_contract import PROMPTS, SIZES, EngineContract, logprob_gap, train
from tests.errors import expect_error
from tests.rollouts.engines.tiny_engines import engine, trunk_prompts

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


def create(config, attention="sdpa"):
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)


class TestInProcessEngine(EngineContract):
    def engine(self, model, **options):
        return closing(engine(model, **options))


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", MODELS)
def test_engine_outputs_equal_uncached_models_of_many_architectures(name, attention):
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
