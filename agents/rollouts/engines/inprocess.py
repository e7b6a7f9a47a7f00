"""An engine in this process, for any Hugging Face causal language model whose layers attend over keys and values.

It batches continuously: new requests join between any two decoding steps. Equal prompts are prefilled once, and their responses are
decoded as branches of one row. Of other prompts only what the prefix cache does not hold is prefilled. Every `load` clears the
cache. Parameters that changed without a `load` raise an error. It stands beside the batched `generate` of transformers because that can
neither take a request between two steps, nor share prefixes, nor draw a request from a seed of its own (`benchmarks.generation`).
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agents.data.trajectories import Ids
from agents.models.batches import autocast, mask_disallowed
from agents.rollouts.constraints import Constraint
from agents.rollouts.engines import Completion, Engine, Generation, decoding

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_STEPS = 8  # of decoding, in one slice of work
_PREFILL_TOKENS = 4096  # in one forward pass, padding included; a longer prompt has a pass of its own


class InProcessEngine:
    """Samples from a model in this process. All work is done inside `take`.

    `temperature` 0 is greedy decoding. At most `max_tokens` tokens are in decode batches at once: equal prompts count once, a
    response counts as long as it may become, and a single larger request is allowed. The prefix cache holds `cache_tokens` tokens.
    `dtype` is that of the passes over prompts, such as "bfloat16"; tokens of responses are decoded in the model's own.
    """

    def __init__(
        self, model: "PreTrainedModel", stop_ids: frozenset[int], *, max_new_tokens: int = 64, temperature: float = 1.0,
        max_tokens: int = 16_384, cache_tokens: int = 32_768, dtype: str = "float32",
    ) -> None:  # fmt: skip
        if max_new_tokens < 1 or temperature < 0:
            raise ValueError(f"max_new_tokens {max_new_tokens}, temperature {temperature}; expected at least 1, and at least 0")
        self._stop_ids = frozenset(stop_ids)
        self._max_new_tokens, self._max_tokens = max_new_tokens, max_tokens
        self._temperature, self._dtype = temperature, dtype
        self._prefixes = decoding.PrefixCache(cache_tokens)
        self._waiting: dict[Ids, list[decoding.ActiveSequence]] = {}
        self._batches: dict[int, decoding.DecodeBatch] = {}
        self._completions: list[Completion] = []
        self._request_ids: set[int] = set()
        self._model: PreTrainedModel | None = None
        self.load(model, 0)

    @property
    def policy_version(self) -> int:
        return self._version

    @property
    def is_idle(self) -> bool:
        return not self._request_ids

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Sample with these parameters from now on. The model may be the same object after an update.

        Responses that are being decoded continue under the new parameters, which prefill their prompts and tokens again.
        """
        if model is not self._model:
            self._windows = decoding.attention_windows(model)
            self._empty = decoding.probe(model, self._windows)
        self._model, self._version = model, version
        self._versions = decoding.parameter_versions(model)
        self._prefixes.clear()
        sequences = [sequence for batch in self._batches.values() for sequence in batch.sequences]
        self._batches.clear()
        for sequence in sequences:
            self._waiting.setdefault(sequence.ids, []).append(sequence)

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        prompt_ids = tuple(prompt_ids)
        vocabulary: int = self._open_model.config.get_text_config().vocab_size
        if request_id in self._request_ids:
            raise ValueError(f"request {request_id} is under way already; expected another id")
        if not prompt_ids:
            raise ValueError("a prompt has no tokens; expected at least one")
        if not 0 <= min(prompt_ids) <= max(prompt_ids) < vocabulary:
            raise ValueError(f"a prompt has tokens {min(prompt_ids)} to {max(prompt_ids)}; expected 0 to {vocabulary - 1}")
        draws = torch.rand(self._max_new_tokens, generator=torch.Generator().manual_seed(seed)).tolist()
        self._request_ids.add(request_id)
        state = constraint.start if constraint else None
        self._waiting.setdefault(prompt_ids, []).append(decoding.ActiveSequence(request_id, prompt_ids, draws, state))

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        """Return what is complete; work until there is a completion, or `timeout_s` seconds (0: one slice of work).

        A slice prefills some prompts if any can join, and otherwise decodes a few tokens of all sequences.
        """
        model = self._open_model
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while self._request_ids and not self._completions:
            if decoding.parameter_versions(model) != self._versions:
                raise RuntimeError(f"the parameters have changed since version {self._version} was loaded; call load()")
            with decoding.evaluating(model), torch.inference_mode():
                requests = self._next_prefill()
                if requests:
                    self._prefill(model, requests)
                else:
                    for _ in range(_STEPS):
                        for width, batch in list(self._batches.items()):
                            hidden = batch.step(model)
                            if finished := self._extend(batch.sequences, model.get_output_embeddings()(hidden)):
                                batch.leave(finished)
                                if not batch.sequences:
                                    del self._batches[width]
                        if self._completions:
                            break
            if until is not None and time.monotonic() >= until:
                break
        completions, self._completions = self._completions, []
        self._request_ids.difference_update(completion.request_id for completion in completions)
        return completions

    def close(self) -> None:
        self._model = None
        self._prefixes.clear()
        self._batches.clear()
        self._waiting.clear()
        self._completions.clear()
        self._request_ids.clear()

    @property
    def _open_model(self) -> "PreTrainedModel":
        if self._model is None:
            raise RuntimeError("the engine is closed")
        return self._model

    def _next_prefill(self) -> list[tuple[decoding.PrefillPrompt, list[decoding.ActiveSequence]]]:
        """Take prompts of similar length from those that wait, as many as fit into one prefill.

        A prompt that shares an uncached block with one of them waits for the next prefill, when that block is cached.
        """
        batches = self._batches.values()
        under_way = sum(batch.tokens + len(batch.sequences) * self._max_new_tokens for batch in batches)
        requests: list[tuple[decoding.PrefillPrompt, list[decoding.ActiveSequence]]] = []
        being_prefilled: set[tuple[int, Ids]] = set()
        for ids, sequences in self._waiting.items():
            cost = len(ids) + len(sequences) * self._max_new_tokens
            if under_way and under_way + cost > self._max_tokens:
                break
            known, missing = self._prefixes.find(ids)
            if missing in being_prefilled:
                continue
            prompt = decoding.PrefillPrompt(ids, known)
            if requests and not _fit_together([*(other for other, _ in requests), prompt]):
                continue
            requests.append((prompt, sequences))
            under_way += cost
            if missing:
                being_prefilled.add(missing)
        for prompt, _ in requests:
            del self._waiting[prompt.ids]
        return requests

    def _prefill(
        self, model: "PreTrainedModel", requests: Sequence[tuple[decoding.PrefillPrompt, list[decoding.ActiveSequence]]]
    ) -> None:
        """Prefill prompts, sample the first token of each response, and add the sequences to the decode batches."""
        with autocast(model, self._dtype):
            logits, buffer = decoding.prefill(model, self._windows, self._empty, [prompt for prompt, _ in requests])
        widths = torch.tensor([len(sequences) for _, sequences in requests], device=logits.device)
        sequences = [sequence for _, sequences in requests for sequence in sequences]
        finished = set(map(id, self._extend(sequences, logits.repeat_interleave(widths, dim=0))))
        newcomers: dict[int, list[tuple[decoding.KeyValues, list[decoding.ActiveSequence]]]] = {}
        past = buffer.end - max(prompt.new_tokens for prompt, _ in requests)
        for row, (prompt, sequences) in enumerate(requests):
            states = buffer.read(row, past - prompt.cached_tokens, past + prompt.new_tokens)
            self._prefixes.add(prompt.ids, states)
            if going_on := [sequence for sequence in sequences if id(sequence) not in finished]:
                newcomers.setdefault(len(going_on).bit_length(), []).append((states, going_on))
        # Rows with similar numbers of sequences share a batch, since all rows of a batch are padded to the largest number.
        for width, rows in newcomers.items():
            self._batches.setdefault(width, decoding.DecodeBatch(self._empty, self._windows)).join(rows)

    def _extend(self, sequences: Sequence[decoding.ActiveSequence], logits_NV: Tensor) -> list[decoding.ActiveSequence]:
        """Sample a token for each sequence, and return the sequences that are complete, whose completions are then ready."""
        draws = torch.tensor([sequence.draws[len(sequence.response_ids)] for sequence in sequences], device=logits_NV.device)
        constrained = [(row, sequence.state.allowed) for row, sequence in enumerate(sequences) if sequence.state is not None]
        tokens, logprobs = self._sample(mask_disallowed(logits_NV, constrained) if constrained else logits_NV, draws)
        finished = []
        for sequence, token, logprob in zip(sequences, tokens.tolist(), logprobs.tolist(), strict=True):
            if not sequence.response_ids:
                sequence.policy_version = self._version
            sequence.response_ids.append(token)
            sequence.logprobs.append(logprob)
            if sequence.state is not None:
                sequence.state = sequence.state.after(token)
            stops = token in self._stop_ids
            if stops or len(sequence.response_ids) == self._max_new_tokens:
                finished.append(sequence)
                generation = Generation(tuple(sequence.response_ids), tuple(sequence.logprobs), stops, sequence.policy_version)
                self._completions.append(Completion(sequence.request_id, generation))
        return finished

    def _sample(self, logits_NV: Tensor, draws_N: Tensor) -> tuple[Tensor, Tensor]:
        """Return token ids and their log-probabilities, shape (N,)."""
        if self._temperature == 0:
            best = logits_NV.float().log_softmax(-1).max(-1)
            return best.indices, best.values
        logprobs = (logits_NV / self._temperature).float().log_softmax(-1)
        cumulative = logprobs.double().exp().cumsum(-1)
        # Scaled by the total, which rounding leaves close to 1, so that every draw is below it.
        thresholds = draws_N.double()[:, None] * cumulative[:, -1:]
        picked = torch.searchsorted(cumulative, thresholds, right=True).clamp(max=logits_NV.shape[-1] - 1)
        return picked[:, 0], logprobs.gather(-1, picked)[:, 0]


def generate(engine: Engine, prompts: Sequence[Ids], seeds: Sequence[int]) -> list[Generation]:
    """Return one response per prompt, in order, from an idle engine. Raises RuntimeError if a request failed."""
    if not engine.is_idle:
        raise ValueError("the engine has requests under way; expected an idle one")
    for request_id, (prompt_ids, seed) in enumerate(zip(prompts, seeds, strict=True)):
        engine.submit(request_id, prompt_ids, seed)
    generations: dict[int, Generation] = {}
    while not engine.is_idle:
        for completion in engine.take():
            if completion.generation is None:
                raise RuntimeError(f"request {completion.request_id} has no response: {completion.failure}")
            generations[completion.request_id] = completion.generation
    return [generations[request_id] for request_id in range(len(prompts))]


def _fit_together(requests: Sequence[decoding.PrefillPrompt]) -> bool:
    """Return whether one prefill of these prompts is small enough and has little padding."""
    lengths = [prompt.new_tokens for prompt in requests]
    padded = max(lengths) * len(requests)
    # Prompts without a cached prefix need no mask, so the two sorts are not mixed.
    return padded <= min(_PREFILL_TOKENS, 1.125 * sum(lengths)) and len({bool(prompt.cached) for prompt in requests}) == 1
