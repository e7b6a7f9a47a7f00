"""What every engine must do. A test class takes this one and says in the fixture `make` how its engines are made.

`make(model, **options)` returns an engine that samples from the model; options are those of the engines: max_new_tokens,
temperature, banned_ids.
"""

import pytest
import torch

from agents.data.tokens import Sample
from agents.models.batches import batch_logprobs, pack
from agents.rollouts.engines.inprocess import generate
from tests.tiny import tiny_model

PROMPTS = [(5, 6, 7), (8, 9, 10, 11, 12), (5, 6, 7), (20,), (8, 9, 10, 11, 12), (5, 6, 7)]
STOP_IDS = frozenset(range(100, 130))
MAX_NEW_TOKENS = 12


def trainer_gap(model, generations, prompts=PROMPTS, **options):
    """How far the engine's log-probabilities are from the trainer's, at most."""
    samples = [Sample(prompt, one.response_ids) for prompt, one in zip(prompts, generations, strict=True)]
    gap = 0.0
    with torch.no_grad():
        for batch in pack(samples, 1000):
            for index, part in zip(batch.samples, batch_logprobs(model, batch, **options).split(batch.lengths), strict=True):
                gap = max(gap, (part - torch.tensor(generations[index].logprobs)).abs().max().item())
    return gap


def train(model, learning_rate=1e-2):
    """One update, in place."""
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate)
    (batch,) = pack([Sample((5, 6, 7), (8, 9))], 100)
    batch_logprobs(model, batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def responses(generations):
    return [one.response_ids for one in generations]


class EngineContract:
    @pytest.fixture
    def model(self):
        return tiny_model()[0]

    @pytest.mark.parametrize("options", [{}, {"temperature": 0.7}, {"banned_ids": (100, 101, 7)}], ids=str)
    def test_sampler_and_trainer_agree(self, make, model, options):
        assert trainer_gap(model, generate(make(model, **options), PROMPTS, range(6)), **options) < 1e-4

    def test_sampler_and_trainer_agree_after_an_update(self, make):
        model = tiny_model()[0]
        engine = make(model)
        before = generate(engine, PROMPTS, range(6))
        train(model)
        engine.load(model, 1)
        after = generate(engine, PROMPTS, range(6))
        assert trainer_gap(model, before) > 1e-2
        assert trainer_gap(model, after) < 1e-4
        assert {one.policy_version for one in before} == {0}
        assert {one.policy_version for one in after} == {1} == {engine.policy_version}

    def test_a_response_depends_on_its_seed_and_not_on_its_company(self, make, model):
        engine = make(model)
        whole = generate(engine, PROMPTS, range(6))
        alone = [generate(engine, [prompt], [seed])[0] for seed, prompt in enumerate(PROMPTS)]
        assert responses(alone) == responses(whole)
        assert responses(generate(engine, PROMPTS[::-1], range(5, -1, -1))) == responses(whole)[::-1]
        assert responses(generate(engine, PROMPTS, range(6, 12))) != responses(whole)

    def test_a_prompt_joins_those_under_way_and_changes_nothing(self, make, model):
        engine = make(model)
        expected = dict(enumerate(responses(generate(engine, PROMPTS, range(6)))))
        found = {}
        for ticket, prompt in enumerate(PROMPTS):
            engine.submit(ticket, prompt, ticket)
            found |= {answer.ticket: answer.generation.response_ids for answer in engine.take(0)}
        while not engine.is_idle:
            found |= {answer.ticket: answer.generation.response_ids for answer in engine.take()}
        assert found == expected

    def test_greedy_is_what_transformers_generates(self, make, model):
        prompts = [(5, 6, 7), (8, 9, 10, 11, 12)]
        for prompt, one in zip(prompts, generate(make(model, temperature=0.0), prompts, [0, 1]), strict=True):
            ids = torch.tensor([prompt])
            made = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=MAX_NEW_TOKENS,
                do_sample=False,
                eos_token_id=sorted(STOP_IDS),
                pad_token_id=0,
            )
            assert one.response_ids == tuple(made[0, len(prompt) :].tolist())

    def test_a_response_ends_with_its_stop_token(self, make, model):
        generations = generate(make(model), PROMPTS * 3, range(18))
        assert any(one.finished for one in generations)
        for one in generations:
            assert one.finished == (one.response_ids[-1] in STOP_IDS)
            assert not set(one.response_ids[:-1]) & STOP_IDS
            assert one.finished or len(one.response_ids) == MAX_NEW_TOKENS

    def test_banned_tokens_never_come(self, make, model):
        banned = tuple(range(130, model.config.vocab_size))
        for one in generate(make(model, banned_ids=banned), PROMPTS, range(6)):
            assert not set(one.response_ids) & set(banned)

    def test_an_idle_engine_has_nothing_to_give(self, make, model):
        engine = make(model)
        assert engine.is_idle
        assert engine.take() == engine.take(0) == []
        assert generate(engine, [], []) == []
