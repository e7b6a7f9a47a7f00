"""Training interface of language models: the policy, and the log-probabilities of tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
from agents.training.settings import ModelSettings
from webarena_gym.observation.history import PLACEHOLDER, Turn, compress

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class TrainingSample(NamedTuple):
    """Prompt and response as token ids, with the goal and the page, from which the allowed tokens are computed.

    Attributes:
        sample: token ids of the prompt and the response.
        goal: the goal of the task.
        page: text of the page.

    """

    sample: Sample
    goal: str
    page: str


class LanguageModel:
    """A causal language model of transformers in training. It trains on the sampled token ids.

    With constrained replies, log-probabilities are normalized over the allowed tokens, as in sampling. The allowed tokens are recomputed
    from the steps of the episodes.
    """

    beta2, weight_decay, threads = 0.95, 0.0, 0  # threads: torch's default

    def __init__(self, network: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast", settings: ModelSettings) -> None:
        self.check(settings)
        self.network, self.tokenizer, self._settings = network, tokenizer, settings
        network.to("cuda" if torch.cuda.is_available() else "cpu")  # type: ignore[arg-type]
        prepare_for_training(network, settings, settings.seed)

    @classmethod
    def load(cls, source: str | Path, settings: ModelSettings) -> "LanguageModel":
        """Load the model of a folder, a run or a name on the Hub."""
        return cls(*load_model(source), settings)

    @cached_property
    def encoder(self) -> PromptEncoder:
        """Encoder of conversations into token ids."""
        settings = self._settings
        prompt = system_prompt(settings.system, **settings.env_arguments())
        return PromptEncoder.of_model(self.network, self.tokenizer, prompt, settings.chat_template_kwargs)

    @cached_property
    def constraints(self) -> Constraints | None:
        """Constraint of replies, or None."""
        if not self._settings.constrained:
            return None
        return create_constraints(self.encoder, constrained=True, system=self._settings.system)

    @cached_property
    def critics(self) -> LanguageModelCritics:
        """Factory of critics, and their encoder."""

        def load_initial() -> "PreTrainedModel":
            model, _ = load_model(self._settings.model)
            model.to(self.network.device)  # type: ignore[arg-type]
            return model

        return LanguageModelCritics(load_initial, self.encoder, self._settings.tokens_per_pass)

    @staticmethod
    def check(settings: ModelSettings) -> None:
        """Raise ValueError for incompatible options."""
        old_logprobs = settings.old_logprobs
        if settings.correction != "none" and old_logprobs == "sampled":
            raise ValueError(f"correction is {settings.correction!r} and old_logprobs 'sampled'; expected 'recomputed'")
        if settings.contexts == "released" and old_logprobs != "recomputed":
            raise ValueError("contexts is 'released' and old_logprobs 'sampled'; expected 'recomputed', since contexts differ")
        if settings.contexts == "released" and settings.history != "compressed":
            raise ValueError(f"contexts is 'released' and history {settings.history!r}; expected history 'compressed'")
        incompatible = {
            "contexts": "released" if settings.contexts == "released" else "",
            "vllm": "" if old_logprobs == "recomputed" else settings.vllm,
        }
        for name, value in incompatible.items():
            if settings.constrained and value:
                alternative = "--old-logprobs recomputed" if name == "vllm" else "another value"
                raise ValueError(f"{name} is {value!r}; expected {alternative} with constrained replies")

    def policy(self, engine: Engine | None = None) -> LanguageModelPolicy:
        """Return a policy with an engine; the default is the engine of the settings."""
        engine = engine or create_engine(self._settings, self.network, self.encoder)
        return LanguageModelPolicy(engine, self.encoder, self._settings.max_prompt_tokens, self.constraints)

    def choices(self, episode: Trajectory, hint: str = "") -> list[TrainingSample]:
        """Return each step of an episode as token ids, in its training context. A `hint` is a user message before the prompt."""
        hint_ids: Ids = ()
        if hint:
            (hint_ids,) = replace(self.encoder, system="").encode_all([[{"role": "user", "content": hint}]], prompt=False)
        prompts = [step.prompt_ids for step in episode.steps]
        if self._settings.contexts == "released":
            prompts = released_prompts(episode, self.encoder, thoughts=self._settings.thoughts)
        return [
            TrainingSample(Sample((*hint_ids, *prompt), step.response_ids), episode.goal, step.page)
            for prompt, step in zip(prompts, episode.steps, strict=True)
        ]

    def passes(self, choices: Sequence[TrainingSample]) -> list[PackedBatch]:
        """Return the forward passes for these choices. Raises ValueError if a response has a token that the constraints disallow."""
        settings = self._settings
        batches = pack(
            [choice.sample for choice in choices], settings.tokens_per_pass,
            pad_id=self.network.config.pad_token_id or 0, sharing=settings.sharing, model=self.network,
        )  # fmt: skip
        if self.constraints is None:
            return batches
        constrained_batches = []
        for batch in batches:
            states: list[ConstraintState] = []
            for sample, goal, page in (choices[index] for index in batch.samples):
                states += self.constraints.for_page(goal, page).response_states(sample.response_ids)
            # Samples with a common position have equal prompts, and thus equal states at this position.
            state_by_position = dict(zip(batch.predictors.tolist(), states, strict=True))
            allowed = tuple((position, state.allowed_ids) for position, state in state_by_position.items())
            constrained_batches.append(replace(batch, allowed=allowed))
        return constrained_batches

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the indices of the choices of a forward pass and the log-probabilities (tokens,) of each, pass after pass."""
        for batch in self.passes(choices):
            yield list(batch.samples), list(self.compute(batch).split(batch.lengths))

    def compute(self, batch: PackedBatch) -> Tensor:
        """Return the log-probabilities of the response tokens of a pass."""
        with autocast(self.network, self._settings.dtype):
            return batch_logprobs(self.network, batch, temperature=self._settings.temperature)

    def forget(self) -> None:
        """Do nothing, since the model has no cache of choices."""

    def critic(self) -> Critic:
        """Return a new critic: a copy of the initial model with a value head."""
        return self.critics.create()


def create_engine(settings: ModelSettings, model: "PreTrainedModel", encoder: PromptEncoder) -> Engine:
    """Return the engine of the settings: a client of a vLLM server, or an engine in this process."""
    sampling: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "temperature": settings.temperature}
    if settings.vllm:
        return VLLMEngine(settings.vllm, encoder.stop_ids, settings.out / "weights", **sampling)
    from agents.rollouts.engines.inprocess import InProcessEngine  # noqa: PLC0415 - its import takes seconds

    return InProcessEngine(model, encoder.stop_ids, max_tokens=settings.tokens_per_pass, dtype=settings.dtype, **sampling)


def released_prompts(trajectory: Trajectory, encoder: PromptEncoder, *, thoughts: bool) -> list[Ids]:
    """Return the prompts in which the released trainer of WebAgent-R1 trains the steps of an episode with compressed history.

    That trainer builds one sequence of the whole trajectory, in which placeholders replace all pages except the last, including the page
    that an action responds to. So all actions except the last are trained in a context that differs from the sampling context.
    """
    turns = [Turn(step.page, step.reply) for step in trajectory.steps]
    pages = [*[PLACEHOLDER] * (len(turns) - 1), *[turn.page for turn in turns[-1:]]]
    return encoder.encode_all(
        [compress(trajectory.goal, turns[:number], page, thoughts=thoughts) for number, page in enumerate(pages)]
    )
