"""An engine in this process, for any Hugging Face causal language model whose layers attend over keys and values.

Prompts join between any two steps of those that are being decoded. Equal prompts are read once, and their responses decoded as
branches of one row; of the others, only what no earlier prompt of the same policy began with is read. What is kept of older
prompts is forgotten with every `load`. Weights that changed without a `load` are an error, not a stale answer.
"""

import time
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agents.data.tokens import Ids
from agents.models.batches import sampling_logits
from agents.rollouts.engines import Answer, Engine, Generation
from agents.rollouts.engines.prefixes import PrefixCache, States
from agents.rollouts.engines.reading import Unread, evaluating, probe, read, sight_of, weights_of
from agents.rollouts.engines.tables import Draft, Table

_STEPS = 8  # of decoding, in one slice of work
_WAVE_TOKENS = 4096  # read in one slice of work, padding included (a longer prompt is read alone)


class InProcessEngine:
    """Samples from a model in this process; all work is done inside `take`.

    `temperature` 0 takes the likeliest token. At most `max_tokens` tokens are under way at once, equal prompts counted once and
    responses at their limit (one prompt may be more); keys and values of `cache_tokens` tokens of older prompts are kept.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        stop_ids: frozenset[int],
        *,
        max_new_tokens: int = 64,
        temperature: float = 1.0,
        banned_ids: Sequence[int] = (),
        max_tokens: int = 16_384,
        cache_tokens: int = 32_768,
    ) -> None:
        if max_new_tokens < 1 or temperature < 0:
            raise ValueError(f"max_new_tokens {max_new_tokens}, temperature {temperature}; expected at least 1, and at least 0")
        self._stop_ids = frozenset(stop_ids)
        self._max_new_tokens, self._max_tokens = max_new_tokens, max_tokens
        self._temperature, self._banned_ids = temperature, tuple(banned_ids)
        self._prefixes = PrefixCache(cache_tokens)
        self._waiting: dict[Ids, list[Draft]] = {}
        self._tables: dict[int, Table] = {}
        self._answers: list[Answer] = []
        self._tickets: set[int] = set()
        self._model: PreTrainedModel | None = None
        self.load(model, 0)

    @property
    def policy_version(self) -> int:
        """The version of the weights that sample now."""
        return self._version

    @property
    def is_idle(self) -> bool:
        """Whether every prompt that was submitted has been answered and taken."""
        return not self._tickets

    def load(self, model: PreTrainedModel, version: int) -> None:
        """Sample with these weights from now on; the same object is fine if it was trained since.

        Responses under way go on under the new weights, which read their prompts and what there is of them again.
        """
        if model is not self._model:
            self._sight = sight_of(model)
            self._like = probe(model, self._sight)
        self._model, self._version = model, version
        self._weights = weights_of(model)
        self._prefixes.clear()
        drafts = [draft for table in self._tables.values() for draft in table.drafts]
        self._tables.clear()
        for draft in drafts:
            self._waiting.setdefault(draft.ids, []).append(draft)

    def submit(self, ticket: int, prompt_ids: Ids, seed: int) -> None:
        """Ask for a response to a prompt. It depends on the prompt, the weights and the seed, not on what else is under way."""
        prompt_ids = tuple(prompt_ids)
        vocabulary: int = self._open_model.config.get_text_config().vocab_size
        if ticket in self._tickets:
            raise ValueError(f"ticket {ticket} is under way already; expected another")
        if not prompt_ids:
            raise ValueError("a prompt has no tokens; expected at least one")
        if not 0 <= min(prompt_ids) <= max(prompt_ids) < vocabulary:
            raise ValueError(f"a prompt has tokens {min(prompt_ids)} to {max(prompt_ids)}; expected 0 to {vocabulary - 1}")
        draws = torch.rand(self._max_new_tokens, generator=torch.Generator().manual_seed(seed)).tolist()
        self._tickets.add(ticket)
        self._waiting.setdefault(prompt_ids, []).append(Draft(ticket, prompt_ids, draws))

    def take(self, timeout_s: float | None = None) -> list[Answer]:
        """Return the answers that are complete; work until there is one, or `timeout_s` seconds (0: one slice of work).

        A slice reads some prompts if any can join, and otherwise decodes a few tokens of all that are under way.
        """
        model = self._open_model
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while self._tickets and not self._answers:
            if weights_of(model) != self._weights:
                raise RuntimeError(
                    f"the weights have changed since version {self._version} was loaded; call load() after an update"
                )
            with evaluating(model), torch.inference_mode():
                wave = self._next_wave()
                if wave:
                    self._read(model, wave)
                else:
                    self._decode(model)
            if until is not None and time.monotonic() >= until:
                break
        answers, self._answers = self._answers, []
        self._tickets.difference_update(answer.ticket for answer in answers)
        return answers

    def close(self) -> None:
        """Let go of the model and of all memory; what is under way is lost."""
        self._model = None
        self._prefixes.clear()
        self._tables.clear()
        self._waiting.clear()
        self._answers.clear()
        self._tickets.clear()

    @property
    def _open_model(self) -> PreTrainedModel:
        if self._model is None:
            raise RuntimeError("the engine is closed")
        return self._model

    def _next_wave(self) -> list[tuple[Unread, list[Draft]]]:
        """Take prompts that can be read together from those that wait: of like length, as many as there is room for.

        A prompt that begins like one of them, beyond what is known, waits for the next wave, when that beginning is known.
        """
        tables = self._tables.values()
        under_way = sum(table.tokens + len(table.drafts) * self._max_new_tokens for table in tables)
        wave: list[tuple[Unread, list[Draft]]] = []
        being_read: set[tuple[int, Ids]] = set()
        for ids, drafts in self._waiting.items():
            cost = len(ids) + len(drafts) * self._max_new_tokens
            if under_way and under_way + cost > self._max_tokens:
                break
            known, missing = self._prefixes.find(ids)
            if missing in being_read:
                continue
            prompt = Unread(ids, known)
            if wave and not _is_alike([*(other for other, _ in wave), prompt]):
                continue
            wave.append((prompt, drafts))
            under_way += cost
            if missing:
                being_read.add(missing)
        for prompt, _ in wave:
            del self._waiting[prompt.ids]
        return wave

    def _read(self, model: PreTrainedModel, wave: Sequence[tuple[Unread, list[Draft]]]) -> None:
        """Read prompts, sample the first token of each response, and let them join those that are decoded."""
        logits, columns = read(model, self._sight, self._like, [prompt for prompt, _ in wave])
        widths = torch.tensor([len(drafts) for _, drafts in wave], device=logits.device)
        drafts = [draft for _, drafts in wave for draft in drafts]
        finished = set(map(id, self._extend(drafts, logits.repeat_interleave(widths, dim=0))))
        newcomers: dict[int, list[tuple[States, list[Draft]]]] = {}
        past = columns.end - max(prompt.new_tokens for prompt, _ in wave)
        for row, (prompt, drafts) in enumerate(wave):
            states = columns.read(row, past - prompt.known_tokens, past + prompt.new_tokens)
            self._prefixes.add(prompt.ids, states)
            if going_on := [draft for draft in drafts if id(draft) not in finished]:
                newcomers.setdefault(len(going_on).bit_length(), []).append((states, going_on))
        # Rows of like width share a table, since all rows of a table are computed as wide as its widest.
        for width, rows in newcomers.items():
            self._tables.setdefault(width, Table(self._like, self._sight)).join(rows)

    def _decode(self, model: PreTrainedModel) -> None:
        for _ in range(_STEPS):
            for width, table in list(self._tables.items()):
                hidden = table.step(model)
                if finished := self._extend(table.drafts, model.get_output_embeddings()(hidden)):
                    table.leave(finished)
                    if not table.drafts:
                        del self._tables[width]
            if self._answers:
                break

    def _extend(self, drafts: Sequence[Draft], logits_NV: Tensor) -> list[Draft]:
        """Sample a token for each draft, and return those that are complete by it, which are answered."""
        draws = torch.tensor([draft.draws[len(draft.response_ids)] for draft in drafts], device=logits_NV.device)
        tokens, logprobs = self._sample(logits_NV, draws)
        finished = []
        for draft, token, logprob in zip(drafts, tokens.tolist(), logprobs.tolist(), strict=True):
            if not draft.response_ids:
                draft.policy_version = self._version
            draft.response_ids.append(token)
            draft.logprobs.append(logprob)
            stops = token in self._stop_ids
            if stops or len(draft.response_ids) == self._max_new_tokens:
                finished.append(draft)
                generation = Generation(tuple(draft.response_ids), tuple(draft.logprobs), stops, draft.policy_version)
                self._answers.append(Answer(draft.ticket, generation))
        return finished

    def _sample(self, logits_NV: Tensor, draws_N: Tensor) -> tuple[Tensor, Tensor]:
        """Return token ids and their log-probabilities, shape (N,)."""
        if self._temperature == 0:
            best = sampling_logits(logits_NV, 1.0, self._banned_ids).float().log_softmax(-1).max(-1)
            return best.indices, best.values
        logprobs = sampling_logits(logits_NV, self._temperature, self._banned_ids).float().log_softmax(-1)
        cumulative = logprobs.double().exp().cumsum(-1)
        # Scaled by the total, which rounding leaves a little off 1, so that the draw always falls inside.
        thresholds = draws_N.double()[:, None] * cumulative[:, -1:]
        picked = torch.searchsorted(cumulative, thresholds, right=True).clamp(max=logits_NV.shape[-1] - 1)
        return picked[:, 0], logprobs.gather(-1, picked)[:, 0]


def generate(engine: Engine, prompts: Sequence[Ids], seeds: Sequence[int]) -> list[Generation]:
    """Return one response per prompt, in order, from an engine that is idle.

    Raises RuntimeError if a prompt was answered with a failure.
    """
    if not engine.is_idle:
        raise ValueError("the engine has prompts under way; expected an idle one")
    for ticket, (prompt_ids, seed) in enumerate(zip(prompts, seeds, strict=True)):
        engine.submit(ticket, prompt_ids, seed)
    generations: dict[int, Generation] = {}
    while not engine.is_idle:
        for answer in engine.take():
            if answer.generation is None:
                raise RuntimeError(f"prompt {answer.ticket} has no response: {answer.failure}")
            generations[answer.ticket] = answer.generation
    return [generations[ticket] for ticket in range(len(prompts))]


def _is_alike(wave: Sequence[Unread]) -> bool:
    """Whether prompts can be read in one pass that is small, and little of it padding."""
    lengths = [prompt.new_tokens for prompt in wave]
    padded = max(lengths) * len(wave)
    # With nothing before them, no mask is needed.
    return padded <= min(_WAVE_TOKENS, 1.125 * sum(lengths)) and len({bool(prompt.known) for prompt in wave}) == 1
