"""Tests that every engine must pass, for engines of this package and of others.

A test module derives a class from `EngineContract` and says how its engines are made:

    class TestMyEngine(EngineContract):
        @contextmanager
        def engine(self, model, **options):
            with closing(MyEngine(model, stop_ids=STOP_IDS, **{"max_new_tokens": MAX_NEW_TOKENS} | options)) as engine:
                yield engine
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agents.data.trajectories import Sample
from agents.models.batches import batch_logprobs, pack
from agents.rollouts.engines.inprocess import generate

PROMPTS = ((5, 6, 7), (8, 9, 10, 11, 12), (5, 6, 7), (20,), (8, 9, 10, 11, 12), (5, 6, 7))
STOP_IDS = frozenset(range(100, 130))  # enough of them that an untrained model samples one now and then
MAX_NEW_TOKENS = 12
SIZES = {
    "vocab_size": 300, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
TOLERANCE = 1e-4  # of log-probabilities of the engine and of the trainer


class EngineContract:
    """Tests of the `Engine` protocol. `engine` is a context that samples from a model, with STOP_IDS and at most MAX_NEW_TOKENS tokens."""

    def make_model(self):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return LlamaForCausalLM(LlamaConfig(**SIZES))

    def test_sampler_and_trainer_agree(self):
        for options in ({}, {"temperature": 0.7}):
            model = self.make_model()
            with self.engine(model, **options) as engine:
                generations = generate(engine, PROMPTS, range(6))
            assert logprob_gap(model, generations, PROMPTS, **options) < TOLERANCE

    def test_sampler_and_trainer_agree_after_an_update(self):
        model = self.make_model()
        with self.engine(model) as engine:
            before = generate(engine, PROMPTS, range(6))
            train(model)
            engine.load(model, 1)
            after = generate(engine, PROMPTS, range(6))
            assert engine.policy_version == 1
        assert logprob_gap(model, before, PROMPTS) > 100 * TOLERANCE
        assert logprob_gap(model, after, PROMPTS) < TOLERANCE
        assert {one.policy_version for one in before} == {0}
        assert {one.policy_version for one in after} == {1}

    def test_responses_depend_only_on_their_prompt_and_seed(self):
        with self.engine(self.make_model()) as engine:
            together = responses(generate(engine, PROMPTS, range(6)))
            alone = [generate(engine, [prompt], [seed])[0].response_ids for seed, prompt in enumerate(PROMPTS)]
            assert alone == together
            assert responses(generate(engine, PROMPTS[::-1], range(5, -1, -1))) == together[::-1]
            assert responses(generate(engine, PROMPTS, range(6, 12))) != together
            done = []
            for request_id, prompt in enumerate(PROMPTS):
                engine.submit(request_id, prompt, request_id)
                done += engine.take(0.0)
            while not engine.is_idle:
                done += engine.take(None)
        assert {request_id: one and one.response_ids for request_id, one, _ in done} == dict(enumerate(together))

    def test_greedy_decoding_is_that_of_transformers(self):
        model, prompts = self.make_model(), PROMPTS[:2]
        with self.engine(model, temperature=0.0) as engine:
            generations = generate(engine, prompts, [0, 1])
        options = {"max_new_tokens": MAX_NEW_TOKENS, "do_sample": False, "eos_token_id": sorted(STOP_IDS), "pad_token_id": 0}
        for prompt, one in zip(prompts, generations, strict=True):
            ids = torch.tensor([prompt])
            made = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
            assert one.response_ids == tuple(made[0, len(prompt) :].tolist())

    def test_a_response_ends_with_its_stop_token(self):
        with self.engine(self.make_model()) as engine:
            generations = generate(engine, PROMPTS * 3, range(18))
        assert any(one.finished for one in generations)
        for one in generations:
            assert one.finished == (one.response_ids[-1] in STOP_IDS)
            assert not set(one.response_ids[:-1]) & STOP_IDS
            assert one.finished or len(one.response_ids) == MAX_NEW_TOKENS

    def test_an_idle_engine_returns_nothing(self):
        with self.engine(self.make_model()) as engine:
            assert engine.is_idle
            assert engine.take() == engine.take(0) == []
            assert generate(engine, [], []) == []


def logprob_gap(model, generations, prompts, *, temperature=1.0):
    """Return the largest difference between the generations' log-probabilities and those that the trainer computes."""
    samples = [Sample(prompt, one.response_ids) for prompt, one in zip(prompts, generations, strict=True)]
    gap = 0.0
    with torch.no_grad():
        for batch in pack(samples, 1000):
            logprobs = batch_logprobs(model, batch, temperature=temperature)
            for index, part in zip(batch.samples, logprobs.split(batch.lengths), strict=True):
                gap = max(gap, (part - torch.tensor(generations[index].logprobs)).abs().max().item())
    return gap


def train(model, learning_rate=1e-2):
    """Take one update of the model's parameters, in place."""
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate)
    (batch,) = pack([Sample((5, 6, 7), (8, 9))], 100)
    batch_logprobs(model, batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def responses(generations):
    return [one.response_ids for one in generations]
