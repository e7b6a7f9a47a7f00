"""Evaluation: the success rate of a policy on tasks, with confidence intervals, by site and by type of check."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Trajectory
from agents.data.workflows import WorkflowMemory, load_workflows
from agents.evaluation.intervals import Evaluation, summarise
from agents.evaluation.settings import CHAT, OCCAM_ENV, SCRIPTED, EvaluationSettings
from agents.models.checkpoints import agent_record, load_model
from agents.models.checkpoints import is_small as is_small_model
from agents.models.ensembles import is_ensemble, load_ensemble
from agents.models.pointer.network import PointerEnsemble, PointerNetwork, Vocabulary, is_pointer, load_pointer
from agents.rollouts.chat import ChatPolicy, OccamPolicy
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.constraints import create_constraints
from agents.rollouts.envs import create_envs
from agents.rollouts.players import Player, Players, process_count
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.policies import ExpertReplies, LanguageModelPolicy, Policy, RandomReplies, ScriptedPolicy
from agents.rollouts.voting import VotingPolicy
from agents.settings import EnvSettings
from agents.training.distributed import Ranks
from webarena_gym.actions import DIALECTS
from webarena_gym.tasks import Task


def evaluate(
    policy: Policy,
    tasks: Sequence[Task],
    env: EnvSettings,
    *,
    seed: int = 0,
    num_envs: int = 64,
    workers: int = 0,
    quiet: bool = False,
) -> Evaluation:
    """Play each task once and score the policy. With `workers`, envs live in so many processes of their own."""
    envs = create_envs(tasks, num_envs, workers=workers, **env.env_arguments())
    with closing(envs), tqdm(total=len(tasks), desc="evaluating", unit="task", disable=quiet or None) as bar:
        collector = Collector(envs, policy, seed=seed, env=recorded_env(env))
        trajectories = collector.collect(_episodes(tasks, seed), on_finish=lambda _: bar.update())
    return summarise(tasks, trajectories)


def evaluate_policy(
    settings: EvaluationSettings, tasks: Sequence[Task], env: EnvSettings | None = None, *, quiet: bool = False
) -> Evaluation:
    """Play each task once with the policy and the number of processes of the settings, and score it.

    `env` are the settings of the env, by default those of `settings`. The number of processes changes no reply, except by the last
    bits of what a model computes.
    """
    env, processes = env or settings, _process_count(settings, len(tasks))
    if processes == 1:
        if settings.threads:
            torch.set_num_threads(settings.threads)
        with closing(create_policy(settings)) as policy:
            return evaluate(
                policy, tasks, env, seed=settings.seed, num_envs=settings.num_envs, workers=settings.workers, quiet=quiet
            )
    num_envs = -(-settings.num_envs // processes)
    make_player = partial(_make_player, settings, tasks, num_envs, env)
    players = Players(make_player, processes, num_envs=settings.num_envs, seed=settings.seed)
    with closing(players), tqdm(total=len(tasks), desc="evaluating", unit="task", disable=quiet or None) as bar:
        players.begin(_episodes(tasks, settings.seed))
        finished: dict[int, Trajectory] = {}
        for episode, trajectory in players.play():
            finished[episode.number] = trajectory
            bar.update()
    return summarise(tasks, [finished[number] for number in range(len(tasks))])


def _episodes(tasks: Sequence[Task], seed: int) -> list[EpisodeSpec]:
    return [EpisodeSpec(task, seed + number, number, group=number) for number, task in enumerate(tasks)]


def recorded_env(env: EnvSettings) -> EnvSettings | None:
    """Return the settings of the env alone, as trajectories keep them, without those of a command; None where these cannot say how it shows pages."""
    arguments = env.env_arguments()
    return None if OCCAM_ENV.items() <= arguments.items() else EnvSettings(**arguments)


def _make_player(settings: EvaluationSettings, tasks: Sequence[Task], num_envs: int, env: EnvSettings) -> Player:
    return Player(create_envs(tasks, num_envs, **env.env_arguments()), create_policy(settings), env=recorded_env(env))


def _process_count(settings: EvaluationSettings, episodes: int) -> int:
    """Return the number of processes: one for a chat model, on a GPU, and with `threads` or `workers`."""
    if settings.processes:
        return settings.processes
    if settings.threads or settings.workers or settings.policy.startswith(CHAT) or torch.cuda.is_available():
        return 1
    is_small = settings.policy in SCRIPTED or "algorithm" in agent_record(settings.policy) or is_small_model(settings.policy)
    return process_count(0, episodes) if is_small else 1


def create_policy(settings: EvaluationSettings) -> Policy:
    """Return the policy that the settings name. Raises ValueError for an option that is of another kind of policy."""
    if settings.constrained and (settings.policy.startswith((*SCRIPTED, CHAT)) or is_pointer(settings.policy)):
        raise ValueError(
            f"constrained is set and policy is {settings.policy!r}; expected a language model in a folder, or a Hugging Face name"
        )
    is_pointing = is_pointer(settings.policy) or is_ensemble(settings.policy)
    if settings.memory and not (is_pointing or settings.policy.startswith(CHAT)):
        raise ValueError(
            f"memory is {settings.memory} and policy {settings.policy!r}; expected a chat model or pointing networks"
        )
    if settings.system == "occam":
        return _create_occam(settings)
    if settings.policy == "expert":
        return ScriptedPolicy(ExpertReplies())
    if settings.policy == "random":
        return ScriptedPolicy(RandomReplies())
    sampling = _sampling(settings)
    system = system_prompt(settings.system, elements=settings.elements)
    if settings.policy.startswith(CHAT):
        return ChatPolicy(settings.policy.removeprefix(CHAT), system=system, memory=_memory(settings), **sampling)
    if "algorithm" in agent_record(settings.policy):
        from agents.sb3 import load_replies  # noqa: PLC0415 - not everybody has its libraries

        return ScriptedPolicy(load_replies(Path(settings.policy), temperature=settings.temperature or 0.0))
    if is_ensemble(settings.policy):
        return _create_ensemble(settings)
    if is_pointer(settings.policy):
        return create_pointer_policy(settings)
    model, tokenizer = load_model(settings.policy)
    model.to(Ranks.here().device)  # type: ignore[arg-type]
    encoder = PromptEncoder(tokenizer, system)
    from agents.rollouts.engines.inprocess import InProcessEngine  # noqa: PLC0415 - it takes seconds, which a refused option does not need

    engine = InProcessEngine(model, encoder.stop_ids, **sampling)
    constraints = create_constraints(encoder, constrained=settings.constrained, system=settings.system)
    return LanguageModelPolicy(engine, encoder, settings.max_prompt_tokens, constraints, traced=settings.trace)


def _sampling(settings: EvaluationSettings) -> dict[str, Any]:
    return {"max_new_tokens": settings.max_new_tokens, "temperature": settings.temperature}


def _create_occam(settings: EvaluationSettings) -> Policy:
    """Return a chat model as AgentOccam. Raises ValueError for other policies, and for settings that hide its plans from it."""
    if not settings.policy.startswith(CHAT):
        raise ValueError(f"system is 'occam' and policy {settings.policy!r}; expected {CHAT}MODEL")
    if settings.history == "none" or not settings.thoughts or settings.elements != "id":
        raise ValueError(
            f"system is 'occam', history {settings.history!r}, thoughts {settings.thoughts} and elements {settings.elements!r}; expected a history, "
            "its thoughts, and elements 'id'"
        )
    chat = ChatPolicy(settings.policy.removeprefix(CHAT), memory=_memory(settings), **_sampling(settings))
    return OccamPolicy(chat, settings.max_steps)


def create_pointer_policy(settings: EvaluationSettings) -> PointerPolicy:
    """Return the pointing policy of a run's folder. It reads the env's own dialect, webrl, and simplified HTML."""
    network, vocabulary = load_pointer(Path(settings.policy))
    return _pointing(network, vocabulary, settings)


def _create_ensemble(settings: EvaluationSettings) -> Policy:
    """Return the policy of an ensemble: pointing networks share their choices, all other agents vote on actions.

    Raises ValueError for pointing networks among others, which remember actions of their own.
    """
    ensemble = load_ensemble(Path(settings.policy))
    pointing = [member for member in ensemble.members if is_pointer(member)]
    if not pointing:
        return VotingPolicy([create_policy(replace(settings, policy=member)) for member in ensemble.members], ensemble.weights)
    if len(pointing) < len(ensemble.members):
        raise ValueError(
            f"{pointing[0]} is a pointing network, and other agents of {settings.policy} are none; expected one kind"
        )
    members = [load_pointer(member) for member in pointing]
    return _pointing(PointerEnsemble(members, ensemble.weights), members[0][1], settings)


def _pointing(network: PointerNetwork | PointerEnsemble, vocabulary: Vocabulary, settings: EvaluationSettings) -> PointerPolicy:
    dialect = DIALECTS["webrl"].naming_by(settings.elements)
    memory = _memory(settings)
    return PointerPolicy(
        network, vocabulary, dialect, temperature=settings.temperature or 0.0, memory=memory, traced=settings.trace
    )


def _memory(settings: EvaluationSettings) -> WorkflowMemory | None:
    return load_workflows(settings.memory) if settings.memory else None
