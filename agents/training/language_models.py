"""A language model in training: the policy that plays with it, and the log-probabilities of its tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Ids, Sample, Trajectory
from agents.models.batches import PackedBatch, autocast, batch_logprobs, pack
from agents.models.checkpoints import load_model
from agents.models.critics import Critic, LanguageModelCritics
from agents.models.parameters import prepare_for_training
from agents.rollouts.constraints import Constraints, ConstraintState, create_constraints
from agents.rollouts.engines import Engine
from agents.rollouts.engines.vllm import VLLMEngine
from agents.rollouts.policies import LanguageModelPolicy
from webarena_gym.observation.history import PLACEHOLDER, Turn, compress


class TrainingSample(NamedTuple):
    """Prompt and response as token ids, with the goal and the page, from which the allowed tokens are computed."""

    sample: Sample
    goal: str
    page: str


class LanguageModel:
    """A causal language model of transformers, which trains on token ids.

    With constrained replies, log-probabilities are those of the allowed tokens alone, as the sampler's are. The allowed tokens are
    found again from the episodes that are trained on.
    """

    beta2, weight_decay, threads = 0.95, 0.0, 0  # threads: torch's default

    def __init__(self, network: Any, tokenizer: Any, settings: Any) -> None:
        self.check(settings)
        self.network, self.tokenizer, self._settings = network, tokenizer, settings
        network.to("cuda" if torch.cuda.is_available() else "cpu")
        prepare_for_training(network, settings)

    @classmethod
    def load(cls, source: str | Path, settings: Any, **more: Any) -> "LanguageModel":
        """Return the model in a folder or run, or of a name on the Hub."""
        return cls(*load_model(source), settings, **more)

    @cached_property
    def encoder(self) -> PromptEncoder:
        """Encoder of conversations into token ids."""
        own = self._settings
        return PromptEncoder.of_model(self.network, self.tokenizer, system_prompt(own.system, elements=own.elements))

    @cached_property
    def constraints(self) -> Constraints | None:
        """Constraint of replies, or None."""
        own = self._settings
        return create_constraints(self.encoder, constrained=True, system=own.system) if own.constrained else None

    @cached_property
    def critics(self) -> LanguageModelCritics:
        """Factory of critics, and their encoder."""

        def first() -> Any:
            return load_model(self._settings.model)[0].to(self.network.device)

        return LanguageModelCritics(first, self.encoder, self._settings.tokens_per_pass)

    @staticmethod
    def check(settings: Any) -> None:
        """Raise ValueError for options that do not go together."""
        own = settings
        old_logprobs = getattr(settings, "old_logprobs", "sampled")
        if own.correction != "none" and old_logprobs == "sampled":
            raise ValueError(f"correction is {own.correction!r} and old_logprobs 'sampled'; expected 'recomputed'")
        if own.contexts == "released" and old_logprobs != "recomputed":
            raise ValueError("released contexts are not the sampler's; expected old_logprobs 'recomputed', not 'sampled'")
        if own.contexts == "released" and own.history != "compressed":
            raise ValueError(f"released contexts hold no page; expected history 'compressed' of the env, not {own.history!r}")
        if own.vllm and settings.processes > 1:
            raise ValueError(f"processes is {settings.processes}; expected 1 with vllm={own.vllm!r}")
        others = {
            "contexts": "released" if own.contexts == "released" else "",
            "cluster": getattr(settings, "cluster", ""),
            "vllm": "" if old_logprobs == "recomputed" else own.vllm,
        }
        for name, value in others.items():
            if own.constrained and value:
                wanted = "--old-logprobs recomputed" if name == "vllm" else "another"
                raise ValueError(f"{name} is {value!r}; expected {wanted} with constrained replies")

    def policy(self, engine: Engine | None = None) -> LanguageModelPolicy:
        """Return a policy with an engine, by default the one of the settings."""
        engine = engine or create_engine(self._settings, self.network, self.encoder)
        return LanguageModelPolicy(engine, self.encoder, self._settings.max_prompt_tokens, self.constraints)

    def choices(self, episode: Trajectory, hint: str = "") -> list[TrainingSample]:
        """Return each step of an episode as token ids, in the context that it is trained in; a hint is a message before it."""
        before: Ids = ()
        if hint:
            (before,) = replace(self.encoder, system="").encode_all([[{"role": "user", "content": hint}]], prompt=False)
        prompts = [step.prompt_ids for step in episode.steps]
        if self._settings.contexts == "released":
            prompts = released_prompts(episode, self.encoder, thoughts=self._settings.thoughts)
        return [
            TrainingSample(Sample((*before, *prompt), step.response_ids), episode.goal, step.page)
            for prompt, step in zip(prompts, episode.steps, strict=True)
        ]

    def passes(self, choices: Sequence[TrainingSample]) -> list[PackedBatch]:
        """Return the forward passes for these choices. Raises ValueError for a response with a token that the constraints do not allow."""
        samples, own = [choice.sample for choice in choices], self._settings
        pad_id = self.network.config.pad_token_id or 0
        packed = pack(samples, own.tokens_per_pass, pad_id=pad_id, sharing=own.sharing, model=self.network)
        if self.constraints is None:
            return packed
        found = []
        for each in packed:
            states: list[ConstraintState] = []
            for sample, goal, page in (choices[index] for index in each.samples):
                states += self.constraints.for_page(goal, page).response_states(sample.response_ids)
            # Samples with one position in common have one prompt.
            at = dict(zip(each.predictors.tolist(), states, strict=True))
            found.append(replace(each, allowed=tuple((position, state.allowed) for position, state in at.items())))
        return found

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the places of some of these choices and the log-probabilities of their tokens, pass after pass."""
        for packed in self.passes(choices):
            yield list(packed.samples), list(self.compute(packed).split(packed.lengths))

    def compute(self, packed: PackedBatch) -> Tensor:
        """Return the log-probabilities of the response tokens of a pass."""
        with autocast(self.network, self._settings.dtype):
            return batch_logprobs(self.network, packed, temperature=self._settings.temperature)

    def forget(self) -> None:
        """Do nothing, as nothing is kept."""

    def critic(self) -> Critic:
        """Return a new critic: a copy of the first model with a head."""
        return self.critics.create()


def create_engine(settings: Any, model: Any, encoder: PromptEncoder) -> Engine:
    """Return what samples: an engine in this process, or a client of the server."""
    sampling: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "temperature": settings.temperature}
    if settings.vllm:
        return VLLMEngine(settings.vllm, encoder.stop_ids, settings.out / "weights", **sampling)
    from agents.rollouts.engines.inprocess import InProcessEngine  # noqa: PLC0415 - it takes seconds, which a refused option does not need

    return InProcessEngine(model, encoder.stop_ids, max_tokens=settings.tokens_per_pass, dtype=settings.dtype, **sampling)


def released_prompts(trajectory: Trajectory, encoder: PromptEncoder, *, thoughts: bool) -> list[Ids]:
    """Return the prompt of each step as WebAgent-R1's released trainer trains it, from an episode with compressed history.

    That trainer makes one sequence of a whole trajectory, in which every page but the last has given way to the placeholder:
    also the page that an action answers. So all actions but the last are trained in a context that they never saw.
    """
    turns = [Turn(step.page, step.reply) for step in trajectory.steps]
    pages = [*[PLACEHOLDER] * (len(turns) - 1), *[turn.page for turn in turns[-1:]]]
    return encoder.encode_all(
        [compress(trajectory.goal, turns[:number], page, thoughts=thoughts) for number, page in enumerate(pages)]
    )
