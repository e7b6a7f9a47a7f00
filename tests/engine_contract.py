"""Tests that every engine must pass, for engines of this package and of others.

A test module of pytest or unittest derives a class from `EngineContract` and says how its engines are made:

    class TestMyEngine(EngineContract):
        @contextmanager
        def engine(self, model, **options):
            with closing(MyEngine(model, stop_ids=STOP_IDS, **{"max_new_tokens": MAX_NEW_TOKENS} | options)) as engine:
                yield engine

Each test makes its own engine. Nothing here imports a test framework.
"""

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from agents.data.tokens import Ids, Sample
from agents.models.batches import batch_logprobs, pack
from agents.rollouts.engines import Engine, Generation
from agents.rollouts.engines.inprocess import generate

PROMPTS: tuple[Ids, ...] = ((5, 6, 7), (8, 9, 10, 11, 12), (5, 6, 7), (20,), (8, 9, 10, 11, 12), (5, 6, 7))
"""Prompts of the tests; some are equal."""
STOP_IDS = frozenset(range(100, 130))
"""The tokens that end a response: enough of them that an untrained model samples one now and then."""
MAX_NEW_TOKENS = 12
"""The longest response."""
TOLERANCE = 1e-4
"""The largest difference that is allowed between log-probabilities of the engine and of the trainer."""


class EngineContract:
    """Tests of the `Engine` protocol: exact log-probabilities, reproducible sampling, greedy decoding, stop tokens, new parameters."""

    @abstractmethod
    def engine(self, model: PreTrainedModel, **options: Any) -> AbstractContextManager[Engine]:
        """Return a context with an engine that samples from the model, with STOP_IDS and at most MAX_NEW_TOKENS tokens.

        The only option that the tests use is `temperature`, which is 1 by default.
        """

    def make_model(self) -> PreTrainedModel:
        """Return an untrained model of at least 130 tokens, an equal one in each call."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return LlamaForCausalLM(
                LlamaConfig(
                    vocab_size=300,
                    hidden_size=32,
                    intermediate_size=64,
                    num_hidden_layers=2,
                    num_attention_heads=4,
                    bos_token_id=None,
                    eos_token_id=None,
                    pad_token_id=0,
                )
            )

    def test_sampler_and_trainer_agree(self) -> None:
        """The log-probabilities are those that the trainer computes, at any temperature."""
        for options in ({}, {"temperature": 0.7}):
            model = self.make_model()
            with self.engine(model, **options) as engine:
                generations = generate(engine, PROMPTS, range(6))
            assert logprob_gap(model, generations, PROMPTS, **options) < TOLERANCE

    def test_sampler_and_trainer_agree_after_an_update(self) -> None:
        """After `load` the new parameters sample, and generations name the version that sampled them."""
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

    def test_a_response_depends_on_its_seed_and_not_on_other_requests(self) -> None:
        """Equal prompts and seeds give equal responses, alone and together with others, in any order."""
        with self.engine(self.make_model()) as engine:
            together = responses(generate(engine, PROMPTS, range(6)))
            alone = [generate(engine, [prompt], [seed])[0].response_ids for seed, prompt in enumerate(PROMPTS)]
            assert alone == together
            assert responses(generate(engine, PROMPTS[::-1], range(5, -1, -1))) == together[::-1]
            assert responses(generate(engine, PROMPTS, range(6, 12))) != together

    def test_a_request_that_joins_others_changes_nothing(self) -> None:
        """Requests that are submitted while others are being sampled get the same responses."""
        with self.engine(self.make_model()) as engine:
            expected = dict(enumerate(responses(generate(engine, PROMPTS, range(6)))))
            found: dict[int, Ids | None] = {}
            for request_id, prompt in enumerate(PROMPTS):
                engine.submit(request_id, prompt, request_id)
                found |= _taken(engine, 0.0)
            while not engine.is_idle:
                found |= _taken(engine, None)
        assert found == expected

    def test_greedy_decoding_is_that_of_transformers(self) -> None:
        """With temperature 0 the responses are those of `generate` of transformers without sampling."""
        model, prompts = self.make_model(), PROMPTS[:2]
        with self.engine(model, temperature=0.0) as engine:
            generations = generate(engine, prompts, [0, 1])
        for prompt, one in zip(prompts, generations, strict=True):
            ids = torch.tensor([prompt])
            made: Any = model.generate(  # type: ignore[operator]
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=MAX_NEW_TOKENS,
                do_sample=False,
                eos_token_id=sorted(STOP_IDS),
                pad_token_id=0,
            )
            assert one.response_ids == tuple(made[0, len(prompt) :].tolist())

    def test_a_response_ends_with_its_stop_token(self) -> None:
        """A response has a stop token at its end and nowhere else, or has the longest length and is not finished."""
        with self.engine(self.make_model()) as engine:
            generations = generate(engine, PROMPTS * 3, range(18))
        assert any(one.finished for one in generations)
        for one in generations:
            assert one.finished == (one.response_ids[-1] in STOP_IDS)
            assert not set(one.response_ids[:-1]) & STOP_IDS
            assert one.finished or len(one.response_ids) == MAX_NEW_TOKENS

    def test_an_idle_engine_returns_nothing(self) -> None:
        """`take` returns an empty list at once if no request is under way."""
        with self.engine(self.make_model()) as engine:
            assert engine.is_idle
            assert engine.take() == engine.take(0) == []
            assert generate(engine, [], []) == []


def logprob_gap(
    model: PreTrainedModel, generations: Sequence[Generation], prompts: Sequence[Ids], *, temperature: float = 1.0
) -> float:
    """Return the largest difference between the generations' log-probabilities and those that the trainer computes."""
    samples = [Sample(prompt, one.response_ids) for prompt, one in zip(prompts, generations, strict=True)]
    gap = 0.0
    with torch.no_grad():
        for batch in pack(samples, 1000):
            logprobs = batch_logprobs(model, batch, temperature=temperature)
            for index, part in zip(batch.samples, logprobs.split(batch.lengths), strict=True):
                gap = max(gap, (part - torch.tensor(generations[index].logprobs)).abs().max().item())
    return gap


def train(model: PreTrainedModel, learning_rate: float = 1e-2) -> None:
    """Take one update of the model's parameters, in place."""
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate)
    (batch,) = pack([Sample((5, 6, 7), (8, 9))], 100)
    batch_logprobs(model, batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def responses(generations: Sequence[Generation]) -> list[Ids]:
    """Return the tokens of each response."""
    return [one.response_ids for one in generations]


def _taken(engine: Engine, timeout_s: float | None) -> dict[int, Ids | None]:
    """Return the responses that are complete, by request."""
    return {request_id: generation.response_ids if generation else None for request_id, generation, _ in engine.take(timeout_s)}
