"""Language models in training: what plays with them, and their log-probabilities over token ids."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from agents.data.prompts import PromptEncoder
from agents.models.batches import PackedBatch, Sharing, batch_logprobs, pack
from agents.models.checkpoints import load_model
from agents.models.critics import LanguageModelCritics
from agents.rollouts.constraints import Constraints, State
from agents.rollouts.policies import LanguageModelPolicy
from agents.rollouts.setup import PlayerSettings, Sampler
from agents.training.batch import TrainingBatch
from agents.training.distributed import Ranks
from agents.training.families import CreateEngine, Pass
from agents.training.objectives import Objective


class LanguageModel:
    """The kind of causal language models."""

    preset = "small"
    threads = 0
    divides = False  # its learner has all threads

    def record(self, source: str | Path) -> Mapping[str, Any]:  # noqa: ARG002 - whatever it is
        """Return nothing, as a language model reads any prompt."""
        return {}

    def ranks(self) -> Ranks:
        """Return those of the process group that this process is in."""
        return Ranks.here()

    def check(self, options: Mapping[str, Any], objective: Objective) -> None:
        """Raise ValueError where log-probabilities would not be those of the tokens alone that constrained replies may have."""
        if not options["constrained"]:
            return
        others = {
            "method": "webrl" if options["method"] == "webrl" else "",
            "contexts": "released" if options.get("contexts") == "released" else "",
            "cluster": options["cluster"],
            "ranks": options["ranks"] if options["ranks"] > 1 else "",
            "vllm": "" if objective.recomputes else options["vllm"],
        }
        for name, value in others.items():
            if value:
                wanted = "--old-logprobs recomputed" if name == "vllm" else "another"
                raise ValueError(f"{name} is {value!r}; expected {wanted} with constrained replies")

    def load(self, source: str | Path) -> tuple[Any, Any]:
        """Return a language model and its tokenizer."""
        return load_model(source)

    def family(self, tokenizer: Any, settings: PlayerSettings) -> "LanguageModels":
        """Return the family with the constraints of the settings, if any."""
        encoder = settings.encoder(tokenizer)
        return LanguageModels(settings.constraints(encoder), encoder)


class LanguageModels:
    """Causal language models of transformers, which train on token ids.

    With the constraints that the sampler had, log-probabilities are those of the allowed tokens alone, as the sampler's are. The
    allowed tokens are found again from the trajectories of the training batch.
    """

    def __init__(self, constraints: Constraints | None = None, encoder: PromptEncoder | None = None) -> None:
        self.encoder = encoder
        self._constraints = constraints

    def sampler(self, settings: PlayerSettings, model: Any, create_engine: CreateEngine | None = None) -> Sampler:
        """Return a policy with an engine, by default the one of the settings."""
        assert self.encoder is not None, "what plays needs an encoder"
        engine = (create_engine or settings.create_engine)(model, self.encoder)
        policy = LanguageModelPolicy(engine, self.encoder, settings.sampling.max_prompt_tokens, self._constraints)
        return Sampler(policy, engine.load, model)

    def pack(
        self, model: Any, training_batch: TrainingBatch, indices: Sequence[int], max_tokens: int, sharing: Sharing
    ) -> Sequence[Pass]:
        """Return packed batches, as rows or as prefix trees.

        Raises ValueError for a response with a token that the constraints do not allow.
        """
        samples = [training_batch.samples[index] for index in indices]
        batches = pack(samples, max_tokens, pad_id=model.config.pad_token_id or 0, sharing=sharing, model=model)
        batches = [replace(batch, samples=tuple(indices[index] for index in batch.samples)) for batch in batches]
        if self._constraints is None:
            return batches
        return [replace(batch, allowed=_allowed(batch, training_batch, self._constraints)) for batch in batches]

    def logprobs(self, model: Any, batch: Any, *, temperature: float) -> Tensor:
        """Return the log-probabilities of the response tokens."""
        return batch_logprobs(model, batch, temperature=temperature)

    def forget(self) -> None:
        """Do nothing, as nothing is kept."""

    def critics(self, initial_model: Callable[[], Any], *, tokens_per_pass: int, seed: int) -> LanguageModelCritics:  # noqa: ARG002
        """Return critics that are copies of the first model."""
        assert self.encoder is not None, "what plays has an encoder"
        return LanguageModelCritics(initial_model, self.encoder, tokens_per_pass)


def _allowed(batch: PackedBatch, training_batch: TrainingBatch, constraints: Constraints) -> tuple[tuple[int, Tensor], ...]:
    """Return the allowed tokens at the predicting positions of a batch. Samples with one position in common have one prompt."""
    states: list[State] = []
    for index in batch.samples:
        trajectory = training_batch.trajectories[index]
        page = trajectory.steps[training_batch.origins[index].step].page
        states += constraints.on(trajectory.goal, page).automaton.path(training_batch.samples[index].response_ids)
    found = dict(zip(batch.predictors.tolist(), states, strict=True))
    return tuple((position, state.allowed) for position, state in found.items())
