import pytest
import torch

from agents.batches import Sample, batch_logprobs, pack
from agents.engine import Engine
from tests.tiny import tiny_model

PROMPTS = [(5, 6, 7), (8, 9, 10, 11, 12), (5, 6, 7), (20,), (8, 9, 10, 11, 12), (5, 6, 7)]


@pytest.fixture(scope="module")
def model():
    return tiny_model()[0]


def engine(model, **changes):
    return Engine(model, **{"stop_ids": frozenset(range(100, 130)), "max_new_tokens": 12, **changes})


def sample(model, prompts=PROMPTS, seed=0, **changes):
    return engine(model, **changes).generate(prompts, torch.Generator().manual_seed(seed))


def trainer_gap(model, generations, prompts=PROMPTS, **options):
    samples = [Sample(prompt, generation.response_ids) for prompt, generation in zip(prompts, generations, strict=True)]
    gap = 0.0
    with torch.no_grad():
        for batch in pack(samples, 1000):
            for index, part in zip(batch.samples, batch_logprobs(model, batch, **options).split(batch.lengths), strict=True):
                gap = max(gap, (part - torch.tensor(generations[index].logprobs)).abs().max().item())
    return gap


@pytest.mark.parametrize("options", [{}, {"temperature": 0.7}, {"banned_ids": (100, 101, 7)}], ids=str)
def test_sampler_and_trainer_agree(model, options):
    assert trainer_gap(model, sample(model, **options), **options) < 1e-4


def test_sampler_and_trainer_agree_after_an_update():
    model = tiny_model()[0]
    ours = engine(model)
    before = ours.generate(PROMPTS, torch.Generator().manual_seed(0))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    (batch,) = pack([Sample((5, 6, 7), (8, 9))], 100)
    batch_logprobs(model, batch).sum().backward()
    optimizer.step()
    after = ours.generate(PROMPTS, torch.Generator().manual_seed(0))
    assert trainer_gap(model, before) > 1e-2
    assert trainer_gap(model, after) < 1e-4


def test_the_same_seed_gives_the_same_samples_however_they_are_batched(model):
    whole = sample(model)
    assert whole == sample(model)
    apart = sample(model, max_tokens=1)
    assert [generation.response_ids for generation in apart] == [generation.response_ids for generation in whole]
    assert whole != sample(model, seed=1)


def test_equal_prompts_get_samples_of_their_own(model):
    first, _, second, *_ = sample(model, max_new_tokens=20, stop_ids=frozenset())
    assert first.response_ids != second.response_ids


def test_greedy_is_what_transformers_generates(model):
    ours = sample(model, prompts=[(5, 6, 7), (8, 9, 10, 11, 12)], temperature=0.0, stop_ids=frozenset(), max_new_tokens=40)
    for prompt, generation in zip([(5, 6, 7), (8, 9, 10, 11, 12)], ours, strict=True):
        ids = torch.tensor([prompt])
        theirs = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=40, do_sample=False, eos_token_id=None, pad_token_id=0
        )
        assert generation.response_ids == tuple(theirs[0, len(prompt) :].tolist())


def test_a_response_ends_with_its_stop_token(model):
    for generation in sample(model, prompts=PROMPTS * 5):
        assert generation.finished == (generation.response_ids[-1] in range(100, 130))
        assert not set(generation.response_ids[:-1]) & set(range(100, 130))
        assert generation.finished or len(generation.response_ids) == 12


def test_banned_tokens_never_come(model):
    banned = tuple(range(130, model.config.vocab_size))
    for generation in sample(model, prompts=PROMPTS * 5, banned_ids=banned):
        assert not set(generation.response_ids) & set(banned)


def test_samples_follow_the_distribution(model):
    prompts = [(5, 6, 7)] * 4000
    allowed = (30, 31, 32)
    banned = tuple(set(range(model.config.vocab_size)) - set(allowed))
    generations = sample(model, prompts=prompts, banned_ids=banned, max_new_tokens=1)
    for token in allowed:
        chosen = [generation for generation in generations if generation.response_ids == (token,)]
        expected = torch.tensor(chosen[0].logprobs[0]).exp().item()
        assert len(chosen) / 4000 == pytest.approx(expected, abs=0.03)


def test_no_prompts_and_empty_prompts(model):
    assert engine(model).generate([]) == []
    with pytest.raises(ValueError, match="no tokens"):
        engine(model).generate([()])
