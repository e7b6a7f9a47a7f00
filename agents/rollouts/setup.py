"""What plays in a run: the engine that samples replies, and processes that play side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from agents.data.prompts import PromptEncoder, system_prompt
from agents.models.checkpoints import is_small
from agents.rollouts.constraints import Constraints, create_constraints
from agents.rollouts.engines import Engine
from agents.rollouts.engines.vllm import VLLMEngine
from agents.rollouts.envs import create_envs
from agents.rollouts.players import Player, Players, process_count
from agents.rollouts.policies import CountingPolicy
from agents.rollouts.settings import RolloutSettings, SamplingSettings
from agents.settings import EnvSettings
from webarena_gym.tasks import Task

if TYPE_CHECKING:
    from transformers import PreTrainedModel


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

    def create_engine(self, model: "PreTrainedModel", encoder: PromptEncoder) -> Engine:
        """Return what samples: an engine in this process, or a client of the server."""
        sampling: dict[str, Any] = {
            "max_new_tokens": self.sampling.max_new_tokens,
            "temperature": self.sampling.temperature,
        }
        if self.rollout.vllm:
            return VLLMEngine(self.rollout.vllm, encoder.stop_ids, self.out / "weights", **sampling)
        from agents.rollouts.engines.inprocess import InProcessEngine  # noqa: PLC0415 - it takes seconds, which a refused option does not need

        return InProcessEngine(model, encoder.stop_ids, max_tokens=self.tokens_per_pass, **sampling)


class Sampler(NamedTuple):
    """A policy that replies with a model, and how it is given other parameters."""

    policy: CountingPolicy
    load: Callable[[Any, int], None]
    """lets it reply with the parameters of this model, of the given version"""
    model: Any
    """with whose parameters it begins"""
    calls: Mapping[str, Callable[..., Any]] = {}
    """what else a process that plays with it can be asked for, by name"""


def create_players(
    settings: PlayerSettings,
    source: str | Path,
    make_sampler: Callable[[], Sampler],
    tasks: Sequence[Task],
    excluding: Mapping[str, Any],
) -> Players | None:
    """Return processes that play with copies of the model in `source`, or None where one process is to play alone.

    `make_sampler` loads a copy in each process. `excluding` are options, by name, that several processes cannot go with where they are set. Raises ValueError where several are
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
    make_player = partial(_make_player, settings, make_sampler, tasks, -(-rollout.num_envs // processes))
    return Players(make_player, processes, num_envs=rollout.num_envs, seed=settings.seed)


def _make_player(settings: PlayerSettings, make_sampler: Callable[[], Sampler], tasks: Sequence[Task], num_envs: int) -> Player:
    envs = create_envs(tasks, num_envs, **settings.env.env_arguments())
    policy, load, model, calls = make_sampler()

    def load_parameters(parameters: dict[str, torch.Tensor], version: int) -> None:
        model.load_state_dict(parameters)
        load(model, version)

    return Player(envs, policy, load_parameters, settings.env, calls)
