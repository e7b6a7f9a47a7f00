"""What plays in a run: the engine that samples replies, and processes that play side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from agents.data.prompts import PromptEncoder, system_prompt
from agents.models.checkpoints import is_small, load_model
from agents.models.pointer.checkpoints import is_pointer, load_pointer
from agents.models.pointer.features import Reader
from agents.models.pointer.network import PointerNetwork, Vocabulary
from agents.rollouts.constraints.constraint import Constraints, create_constraints
from agents.rollouts.engines import Engine
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.engines.vllm import VLLMEngine
from agents.rollouts.envs import create_envs
from agents.rollouts.players import Player, Players, process_count
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.policies import LanguageModelPolicy
from agents.rollouts.settings import RolloutSettings, SamplingSettings
from agents.settings import EnvSettings
from webarena_gym.actions import DIALECTS
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class PlayerSettings:
    """What has to be known to play: how pages are shown, how replies are sampled, and where rollouts are played."""

    env: EnvSettings
    sampling: SamplingSettings
    rollout: RolloutSettings
    tokens_per_pass: int
    """tokens that an engine in this process has under way"""
    out: Path
    """folder of the run, where parameters are put down for a vLLM server"""
    seed: int

    def encoder(self, tokenizer: Any) -> PromptEncoder:
        """Return what makes token ids of conversations."""
        return PromptEncoder(tokenizer, system_prompt(self.sampling.system, elements=self.env.elements))

    def constraints(self, encoder: PromptEncoder) -> Constraints | None:
        """Return what constrains replies, or None where they are free."""
        return create_constraints(encoder, constrained=self.sampling.constrained, system=self.sampling.system)

    def engine_factory(self, encoder: PromptEncoder) -> Callable[[PreTrainedModel], Engine]:
        """Return what makes the engine for a model: one in this process, or a client of the server."""
        sampling: dict[str, Any] = {
            "max_new_tokens": self.sampling.max_new_tokens,
            "temperature": self.sampling.temperature,
        }
        if self.rollout.vllm:
            return lambda _: VLLMEngine(self.rollout.vllm, encoder.stop_ids, self.out / "weights", **sampling)
        return partial(InProcessEngine, stop_ids=encoder.stop_ids, max_tokens=self.tokens_per_pass, **sampling)

    def pointer_policy(self, network: PointerNetwork, vocabulary: Vocabulary, reader: Reader | None = None) -> PointerPolicy:
        """Return the policy of a pointing network; a reader may be shared with the learner of this process."""
        dialect = DIALECTS["webrl"].naming_by(self.env.elements)
        return PointerPolicy(network, vocabulary, dialect, self.sampling.temperature, reader or Reader())


def create_players(
    settings: PlayerSettings, source: str | Path, tasks: Sequence[Task], excluding: Mapping[str, Any]
) -> Players | None:
    """Return processes that play with copies of the model in `source`, or None where one process is to play alone.

    `excluding` are options, by name, that several processes cannot go with where they are set. Raises ValueError where several are
    asked for and cannot be.
    """
    rollout = settings.rollout
    reasons = [f"{name}={value!r}" for name, value in excluding.items() if value]
    if rollout.processes > 1 and reasons:
        raise ValueError(f"processes is {rollout.processes}; expected 1 with {reasons[0]}")
    can_share = not reasons and not torch.cuda.is_available() and is_small(source)
    episodes = rollout.tasks_per_update * rollout.group_size
    processes = rollout.processes or (process_count(0, episodes) if can_share else 1)
    if processes == 1:
        return None
    make_player = partial(_make_player, settings, source, tasks, -(-rollout.num_envs // processes))
    return Players(make_player, processes, num_envs=rollout.num_envs, seed=settings.seed)


def _make_player(settings: PlayerSettings, source: str | Path, tasks: Sequence[Task], num_envs: int) -> Player:
    envs = create_envs(tasks, num_envs, **settings.env.env_arguments())
    if is_pointer(source):
        network, vocabulary = load_pointer(source)
        pointer = settings.pointer_policy(network, vocabulary)

        def load_pointing(parameters: dict[str, torch.Tensor], version: int) -> None:
            network.load_state_dict(parameters)
            pointer.load(network, version)

        return Player(envs, pointer, load_pointing, settings.env)
    model, tokenizer = load_model(source)
    encoder = settings.encoder(tokenizer)
    engine = settings.engine_factory(encoder)(model)

    def load(parameters: dict[str, torch.Tensor], version: int) -> None:
        model.load_state_dict(parameters)
        engine.load(model, version)

    policy = LanguageModelPolicy(engine, encoder, settings.sampling.max_prompt_tokens, settings.constraints(encoder))
    return Player(envs, policy, load, settings.env)
