"""An engine in this process, for any Hugging Face causal language model whose layers attend to keys and values.

It uses continuous batching: new requests are added between any two decoding steps. Equal prompts are prefilled once, and their responses
are decoded as branches of one row. Tokens in the prefix cache are not prefilled again. Every `load` clears the cache. If the parameters
change without a `load`, `take` raises an error. The batched `generate` of transformers is no alternative: it cannot add a request between
two steps, share prefixes, or use one seed for each request (`benchmarks.generation`).
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agents.data.trajectories import Ids
from agents.models.batches import autocast, head_logits
from agents.rollouts.constraints import Constraint
from agents.rollouts.engines import Completion, Engine, Generation, decoding

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_STEPS_PER_SLICE = 8  # decoding steps
_PREFILL_TOKENS = 4096  # tokens in one forward pass, including padding, unless it has only one prompt


class InProcessEngine:
    """Samples from a model in this process. All work is done within `take`.

    Args:
        model: The language model.
        stop_ids: Tokens that end a response.
        max_new_tokens: Maximum length of a response.
        temperature: Sampling temperature; 0 is greedy decoding.
        max_tokens: Maximum number of tokens in decode batches. Equal prompts are counted once and responses with their maximum length. A
            single larger request is allowed.
        cache_tokens: Capacity of the prefix cache in tokens.
        cache_bytes: Capacity of the prefix cache in bytes, if that is less.
        batch_bytes: Maximum size of the keys and values in decode batches, with padding. A single larger prompt is allowed.
        dtype: Data type of prefill passes, for example "bfloat16". Decoding uses the model's data type.

    Raises:
        ValueError: An argument is out of range, or the model cannot be decoded with a cache.

    """

    def __init__(
        self, model: "PreTrainedModel", stop_ids: frozenset[int], *, max_new_tokens: int = 64, temperature: float = 1.0,
        max_tokens: int = 16_384, cache_tokens: int = 32_768, cache_bytes: int = 2**29, batch_bytes: int = 2**30, dtype: str = "float32",
    ) -> None:  # fmt: skip
        if max_new_tokens < 1 or temperature < 0:
            raise ValueError(
                f"max_new_tokens is {max_new_tokens} and temperature is {temperature}; expected at least 1, and at least 0"
            )
        self._stop_ids = frozenset(stop_ids)
        self._max_new_tokens, self._max_tokens = max_new_tokens, max_tokens
        self._temperature, self._dtype = temperature, dtype
        self._cache_tokens, self._cache_bytes, self._batch_bytes = cache_tokens, cache_bytes, batch_bytes
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
        """Sample with the parameters of this model from now on. It may be the same object, after an update.

        Unfinished responses continue with the new parameters, after another prefill of their prompts and tokens.
        """
        if model is not self._model:
            self._windows = decoding.attention_windows(model)
            self._empty = decoding.probe_model(model, self._windows)
            self._token_bytes = self._empty.token_bytes
        self._model, self._version = model, version
        self._versions = decoding.parameter_versions(model)
        self._prefixes = decoding.PrefixCache(min(self._cache_tokens, self._cache_bytes // self._token_bytes))
        sequences = [sequence for batch in self._batches.values() for sequence in batch.sequences]
        self._batches.clear()
        for sequence in sequences:
            self._waiting.setdefault(sequence.ids, []).append(sequence)

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        prompt_ids = tuple(prompt_ids)
        vocabulary: int = self._open_model.config.get_text_config().vocab_size
        if request_id in self._request_ids:
            raise ValueError(f"request {request_id} is still pending; expected another id")
        if not prompt_ids:
            raise ValueError(f"the prompt of request {request_id} has no tokens; expected at least one")
        if not 0 <= min(prompt_ids) <= max(prompt_ids) < vocabulary:
            raise ValueError(
                f"the token ids of request {request_id} are {min(prompt_ids)} to {max(prompt_ids)}; expected 0 to {vocabulary - 1}"
            )
        draws = torch.rand(self._max_new_tokens, generator=torch.Generator().manual_seed(seed)).tolist()
        self._request_ids.add(request_id)
        state = constraint.start if constraint else None
        self._waiting.setdefault(prompt_ids, []).append(decoding.ActiveSequence(request_id, prompt_ids, draws, state))

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        """Return the new completions; work until there is one, at most `timeout_s` seconds (0: one slice of work).

        A slice prefills some waiting prompts if there is space, and otherwise decodes a few tokens of all sequences.

        Raises:
            RuntimeError: The parameters have changed since the last `load`.

        """
        model = self._open_model
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._request_ids and not self._completions:
            if decoding.parameter_versions(model) != self._versions:
                raise RuntimeError(f"the parameters have changed since version {self._version} was loaded; call load()")
            with decoding.eval_mode(model), torch.inference_mode():
                requests = self._next_prefill()
                if requests:
                    self._prefill(model, requests)
                else:
                    for _ in range(_STEPS_PER_SLICE):
                        for width, batch in list(self._batches.items()):
                            hidden = batch.step(model)
                            if finished := self._sample_tokens(model, batch.sequences, hidden):
                                batch.remove_sequences(finished)
                                if not batch.sequences:
                                    del self._batches[width]
                        if self._completions:
                            break
            if deadline is not None and time.monotonic() >= deadline:
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
        """Remove and return waiting prompts of similar length, as many as fit into one prefill.

        A prompt that shares an uncached block with another one waits for the next prefill, when this block is cached.
        """
        batches = self._batches.values()
        used_tokens = sum(batch.tokens + len(batch.sequences) * self._max_new_tokens for batch in batches)
        rows, longest = sum(batch.rows for batch in batches), max((batch.longest for batch in batches), default=0)
        requests: list[tuple[decoding.PrefillPrompt, list[decoding.ActiveSequence]]] = []
        missing_blocks: set[tuple[int, Ids]] = set()
        for ids, sequences in self._waiting.items():
            cost = len(ids) + len(sequences) * self._max_new_tokens
            padded_bytes = (rows + 1) * (max(longest, len(ids)) + self._max_new_tokens) * self._token_bytes
            if used_tokens and (used_tokens + cost > self._max_tokens or padded_bytes > self._batch_bytes):
                break
            cached, missing = self._prefixes.find(ids)
            if missing in missing_blocks:
                continue
            prompt = decoding.PrefillPrompt(ids, cached)
            if requests and not _can_prefill_together([*(earlier for earlier, _ in requests), prompt]):
                continue
            requests.append((prompt, sequences))
            used_tokens, rows, longest = used_tokens + cost, rows + 1, max(longest, len(ids))
            if missing:
                missing_blocks.add(missing)
        for prompt, _ in requests:
            del self._waiting[prompt.ids]
        return requests

    def _prefill(
        self, model: "PreTrainedModel", requests: Sequence[tuple[decoding.PrefillPrompt, list[decoding.ActiveSequence]]]
    ) -> None:
        """Prefill prompts, sample the first token of each response, and add the sequences to the decode batches."""
        with autocast(model, self._dtype):
            states, buffer = decoding.prefill(model, self._windows, self._empty, [prompt for prompt, _ in requests])
            widths = torch.tensor([len(sequences) for _, sequences in requests], device=states.device)
            sequences = [sequence for _, sequences in requests for sequence in sequences]
            finished = set(map(id, self._sample_tokens(model, sequences, states.repeat_interleave(widths, dim=0))))
        new_rows: dict[int, list[tuple[decoding.KeyValues, list[decoding.ActiveSequence]]]] = {}
        past = max(prompt.cached_tokens for prompt, _ in requests)
        for row, (prompt, sequences) in enumerate(requests):
            key_values = buffer.read(row, past - prompt.cached_tokens, past + prompt.new_tokens)
            self._prefixes.add(prompt.ids, key_values)
            if unfinished := [sequence for sequence in sequences if id(sequence) not in finished]:
                new_rows.setdefault(len(unfinished).bit_length(), []).append((key_values, unfinished))
        # Rows with similar numbers of sequences share a batch, since all rows of a batch are padded to the largest number.
        for width, rows in new_rows.items():
            self._batches.setdefault(width, decoding.DecodeBatch(self._empty, self._windows)).add_rows(rows)

    def _sample_tokens(
        self, model: "PreTrainedModel", sequences: Sequence[decoding.ActiveSequence], states: Tensor
    ) -> list[decoding.ActiveSequence]:
        """Sample the next token of each sequence from its last hidden state, and return the finished sequences. Completions are added."""
        draws = torch.tensor([sequence.draws[len(sequence.response_ids)] for sequence in sequences], device=states.device)
        allowed = [(row, sequence.state.allowed_ids) for row, sequence in enumerate(sequences) if sequence.state is not None]
        logits, columns = head_logits(model.get_output_embeddings(), states, allowed)
        tokens, logprobs = self._sample_from(logits, draws)
        if columns is not None:
            tokens = columns[tokens.cpu()]
        finished = []
        for sequence, token, logprob in zip(sequences, tokens.tolist(), logprobs.tolist(), strict=True):
            if not sequence.response_ids:
                sequence.policy_version = self._version
            sequence.response_ids.append(token)
            sequence.logprobs.append(logprob)
            if sequence.state is not None:
                sequence.state = sequence.state.advance(token)
            stops = token in self._stop_ids
            if stops or len(sequence.response_ids) == self._max_new_tokens:
                finished.append(sequence)
                generation = Generation(tuple(sequence.response_ids), tuple(sequence.logprobs), stops, sequence.policy_version)
                self._completions.append(Completion(sequence.request_id, generation))
        return finished

    def _sample_from(self, logits_NV: Tensor, draws_N: Tensor) -> tuple[Tensor, Tensor]:
        """Return N sampled token ids and their log-probabilities. `draws_N` are random numbers from 0 to 1."""
        if self._temperature == 0:
            best = logits_NV.float().log_softmax(-1).max(-1)
            return best.indices, best.values
        logprobs = (logits_NV / self._temperature).float().log_softmax(-1)
        cumulative = logprobs.double().exp().cumsum(-1)
        # Draws are scaled by the total, which rounding errors move away from 1, so that every threshold is below it.
        thresholds = draws_N.double()[:, None] * cumulative[:, -1:]
        sampled = torch.searchsorted(cumulative, thresholds, right=True).clamp(max=logits_NV.shape[-1] - 1)
        return sampled[:, 0], logprobs.gather(-1, sampled)[:, 0]


def generate(engine: Engine, prompts: Sequence[Ids], seeds: Sequence[int]) -> list[Generation]:
    """Return one response per prompt, in order, from an idle engine. Raises RuntimeError if a request fails."""
    if not engine.is_idle:
        raise ValueError("the engine has pending requests; expected an idle engine")
    for request_id, (prompt_ids, seed) in enumerate(zip(prompts, seeds, strict=True)):
        engine.submit(request_id, prompt_ids, seed)
    generations: dict[int, Generation] = {}
    while not engine.is_idle:
        for completion in engine.take():
            if completion.generation is None:
                raise RuntimeError(f"request {completion.request_id} has no response: {completion.failure}")
            generations[completion.request_id] = completion.generation
    return [generations[request_id] for request_id in range(len(prompts))]


def _can_prefill_together(requests: Sequence[decoding.PrefillPrompt]) -> bool:
    """Return True if one prefill of these prompts is small enough and has little padding."""
    lengths = [prompt.new_tokens for prompt in requests]
    padded = max(lengths) * len(requests)
    # Prompts without a cached prefix need no mask, so they are not mixed with others.
    return padded <= min(_PREFILL_TOKENS, 1.125 * sum(lengths)) and len({bool(prompt.cached) for prompt in requests}) == 1
