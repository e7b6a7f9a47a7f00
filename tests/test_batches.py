import pytest
import torch

from agents.batches import Sample, batch_logprobs, pack
from agents.losses import token_logprobs
from tests.tiny import tiny_model


@pytest.fixture(scope="module")
def model():
    return tiny_model()[0]


def samples():
    generator = torch.Generator().manual_seed(1)

    def ids(length):
        return tuple(torch.randint(5, 300, (length,), generator=generator).tolist())

    prompts = [ids(length) for length in (7, 3, 12)]
    found = [Sample(prompt, ids(length)) for prompt in prompts[:2] for length in (4, 1, 6)]
    return [*found, found[0], Sample(prompts[2], ids(5)), Sample(ids(9), ids(2))]


def one_by_one(model, sample):
    ids = torch.tensor([[*sample.prompt_ids, *sample.response_ids]])
    logits = model(ids).logits[0, len(sample.prompt_ids) - 1 : -1]
    return token_logprobs(logits, torch.tensor(sample.response_ids))


@pytest.mark.parametrize("max_tokens", [1, 40, 10_000])
def test_packed_logprobs_are_those_of_each_sample_alone(model, max_tokens):
    seen = set()
    for batch in pack(samples(), max_tokens):
        parts = batch_logprobs(model, batch).split(batch.lengths)
        for index, part in zip(batch.samples, parts, strict=True):
            seen.add(index)
            torch.testing.assert_close(part, one_by_one(model, samples()[index]), atol=1e-5, rtol=1e-5)
    assert seen == set(range(len(samples())))


def test_packed_gradients_are_the_sum_of_each_sample_alone(model):
    advantages = [0.5, -1.0, 2.0, 0.1, 0.3, -0.2, 1.0, 0.7, -0.4]
    model.zero_grad()
    for batch in pack(samples(), 40):
        (batch_logprobs(model, batch) * batch.spread(advantages)).sum().backward()
    packed = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    for advantage, sample in zip(advantages, samples(), strict=True):
        (one_by_one(model, sample) * advantage).sum().backward()
    for ours, parameter in zip(packed, model.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad, atol=1e-4, rtol=1e-4)


def test_equal_prompts_stand_once():
    (batch,) = [batch for batch in pack(samples(), 10_000) if batch.attention_mask is not None]
    assert batch.input_ids.shape[0] == 2
    assert len(batch.samples) == 7


def test_an_empty_response_is_refused():
    with pytest.raises(ValueError, match="sample 0 has an empty"):
        pack([Sample((1, 2), ())], 100)
