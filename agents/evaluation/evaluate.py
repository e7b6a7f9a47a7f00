"""Evaluation: the success rate of a policy on tasks, with confidence intervals, by site and by type of check."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import Trajectory
from agents.data.workflows import WorkflowMemory, load_workflows, site_of
from agents.evaluation.settings import CHAT, OCCAM_ENV, AgentKind, EvaluationSettings, agent_kind
from agents.models.checkpoints import is_pointer, is_small, load_model, load_vision_model
from agents.models.ensembles import EnsembleWeights, load_ensemble
from agents.models.pointer.labels import LABELS, create_label_matcher
from agents.models.pointer.network import PointerEnsemble, PointerNetwork, load_pointer
from agents.rollouts.chat import ChatPolicy, OccamPolicy
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.constraints import create_constraints
from agents.rollouts.envs import create_envs
from agents.rollouts.players import Player, Players, process_count
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.policies import (
    ExpertReplies,
    LanguageModelPolicy,
    Policy,
    RandomReplies,
    Reply,
    Request,
    ScriptedPolicy,
    WorkflowPrompt,
    vision_replies,
)
from agents.settings import EnvSettings
from agents.training.distributed import Ranks
from webarena_gym.actions import DIALECTS
from webarena_gym.actions.replies import answer_part
from webarena_gym.evaluation.statistics import Evaluation, score
from webarena_gym.tasks import Task

OnEpisode = Callable[[Trajectory], None]


def evaluate(
    policy: Policy, tasks: Sequence[Task], env: EnvSettings, *, seed: int = 0, num_envs: int = 64, workers: int = 0,
    quiet: bool = False, on_episode: OnEpisode | None = None,
) -> Evaluation:  # fmt: skip
    """Play each task once and score the policy. With `workers` > 0, the envs run in that many processes; see `evaluate_policy` for `on_episode`."""
    with closing(create_envs(tasks, num_envs, workers=workers, **env.env_arguments())) as envs:
        return _play(Collector(envs, policy, seed=seed, env=recorded_env(env)), tasks, seed, quiet=quiet, on_episode=on_episode)


def evaluate_policy(
    settings: EvaluationSettings,
    tasks: Sequence[Task],
    env: EnvSettings | None = None,
    *,
    quiet: bool = False,
    on_episode: OnEpisode | None = None,
) -> Evaluation:
    """Play each task once with the policy and the number of processes of the settings, and score it.

    The number of processes changes replies only through rounding errors of the model.

    Args:
        settings: settings of the policy and the env.
        tasks: the tasks.
        env: overrides the env settings of `settings`.
        quiet: show no progress bar.
        on_episode: called with each episode when it ends.

    """
    env, processes, name, seed = env or settings, settings.processes, settings.policy, settings.seed
    if not processes:
        kind = agent_kind(name)
        is_single = settings.threads or settings.workers or kind == "chat" or torch.cuda.is_available()
        is_light = not is_single and (kind in ("scripted", "candidates") or is_small(name))
        processes = process_count(0, len(tasks)) if is_light else 1
    if processes == 1:
        if settings.threads:
            torch.set_num_threads(settings.threads)
        with closing(create_policy(settings)) as policy:
            counts = {"num_envs": settings.num_envs, "workers": settings.workers}
            return evaluate(policy, tasks, env, seed=seed, quiet=quiet, on_episode=on_episode, **counts)

    def make_player() -> Player:
        envs = create_envs(tasks, -(-settings.num_envs // processes), **env.env_arguments())
        return Player(envs, create_policy(settings), env=recorded_env(env))

    with closing(Players(make_player, processes, num_envs=settings.num_envs, seed=seed)) as players:
        return _play(players, tasks, seed, quiet=quiet, on_episode=on_episode)


def _play(
    players: Collector | Players, tasks: Sequence[Task], seed: int, *, quiet: bool, on_episode: OnEpisode | None
) -> Evaluation:
    trajectories: dict[int, Trajectory] = {}
    with tqdm(total=len(tasks), desc="evaluating", unit="task", disable=quiet or None) as bar:
        players.submit([EpisodeSpec(task, seed + number, number, group=number) for number, task in enumerate(tasks)])
        for episode, trajectory in players.play():
            trajectories[episode.number] = trajectory
            if on_episode is not None:
                on_episode(trajectory)
            bar.update()
    return score(tasks, [trajectories[number] for number in range(len(tasks))])


def recorded_env(env: EnvSettings) -> EnvSettings | None:
    """Return the env settings stored in trajectories; None if `EnvSettings` cannot reproduce the pages (AgentOccam)."""
    return None if OCCAM_ENV.items() <= env.env_arguments().items() else env.env()


def create_policy(settings: EvaluationSettings) -> Policy:
    """Create the policy of the settings. Raises ValueError for options that the policy does not support."""
    policy, kind, temperature = settings.policy, agent_kind(settings.policy), settings.temperature or 0.0
    _check_options(settings, kind)
    if kind == "scripted":
        return ScriptedPolicy(ExpertReplies() if policy == "expert" else RandomReplies())
    if kind == "candidates":
        from agents.sb3 import load_replies  # noqa: PLC0415 - optional dependencies

        return ScriptedPolicy(load_replies(Path(policy), temperature=temperature))
    memory = load_workflows(settings.memory) if settings.memory else None
    if kind in ("pointer", "ensemble"):
        return _create_pointing(settings, memory)
    sampling: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "temperature": settings.temperature}
    template = settings.chat_template_kwargs
    if settings.system == "occam":
        chat = ChatPolicy(policy.removeprefix(CHAT), memory=memory, chat_template_kwargs=template, **sampling)
        return OccamPolicy(chat, settings.max_steps)
    system = system_prompt(settings.system, **settings.env_arguments())
    # The env's system message is kept if it is requested: it describes the dialect and the observation.
    prompt = None if settings.system == "env" else system
    if kind == "chat":
        return ChatPolicy(policy.removeprefix(CHAT), system=prompt, memory=memory, chat_template_kwargs=template, **sampling)
    if kind == "vision":
        model, processor = load_vision_model(policy, settings.dtype)
        sampling |= {"temperature": temperature, "max_prompt_tokens": settings.max_prompt_tokens}
        device = Ranks.current().device
        return ScriptedPolicy(vision_replies(model.to(device), processor, prompt, chat_template_kwargs=template, **sampling))
    model, tokenizer = load_model(policy)
    model.to(Ranks.current().device)  # type: ignore[arg-type]
    encoder = PromptEncoder.of_model(model, tokenizer, None if memory else system, template)
    from agents.rollouts.engines.inprocess import InProcessEngine  # noqa: PLC0415 - slow import; invalid options are reported first

    engine = InProcessEngine(model, encoder.stop_ids, dtype=settings.dtype, **sampling)
    constraints = create_constraints(encoder, constrained=settings.constrained, system=settings.system)
    workflows = WorkflowPrompt(memory, system) if memory else None
    return LanguageModelPolicy(
        engine, encoder, settings.max_prompt_tokens, constraints, traced=settings.trace, workflows=workflows
    )


def _check_options(settings: EvaluationSettings, kind: AgentKind) -> None:
    """Raise ValueError for options that this kind of policy does not support."""
    policy = settings.policy
    if settings.constrained and kind in ("chat", "pointer", "scripted", "vision"):
        raise ValueError(
            f"constrained is set and policy is {policy!r}; expected a text-only language model, in a folder or on the Hub"
        )
    if settings.chat_template_kwargs and kind in ("pointer", "scripted", "candidates"):
        raise ValueError(f"chat_template_kwargs is set and policy is {policy!r}; expected a language or chat model")
    dialect = settings.env_arguments().get("dialect", "webrl")
    if dialect != "webrl" and settings.system not in ("env", "none", "occam"):
        raise ValueError(
            f"system is {settings.system!r}, which describes webrl, and dialect is {dialect!r}; expected 'env', which describes {dialect}"
        )
    if settings.memory and kind not in ("chat", "language", "pointer", "ensemble"):
        raise ValueError(
            f"memory is {settings.memory} and policy {policy!r}; expected a chat or language model, or pointer networks"
        )
    if settings.system == "occam":
        if kind != "chat":
            raise ValueError(f"system is 'occam' and policy {policy!r}; expected {CHAT}MODEL")
        if settings.history == "none" or not settings.thoughts or settings.elements != "id":
            raise ValueError(
                f"system is 'occam', history {settings.history!r}, thoughts {settings.thoughts} and elements "
                f"{settings.elements!r}; expected a history, its thoughts, and elements 'id'"
            )
    if settings.reads == "meaning" and kind != "pointer":
        raise ValueError(f"reads is 'meaning' and policy {policy!r}; expected a pointer network")


def _create_pointing(settings: EvaluationSettings, memory: WorkflowMemory | None) -> Policy:
    """Create the policy of a pointer network or an ensemble.

    Pointer networks average their choice probabilities; other agents vote on actions. Pointer networks read the dialect webrl and
    simplified HTML. Raises ValueError for an ensemble that mixes pointer networks with other agents, because pointer networks remember
    their own actions.
    """
    network: PointerNetwork | PointerEnsemble
    labels = None
    if agent_kind(settings.policy) == "ensemble":
        ensemble = load_ensemble(Path(settings.policy))
        pointing = [member for member in ensemble.members if is_pointer(member)]
        if not pointing:
            return VotingPolicy(
                [create_policy(replace(settings, policy=member)) for member in ensemble.members], ensemble.weights
            )
        if len(pointing) < len(ensemble.members):
            raise ValueError(
                f"{settings.policy} mixes the pointer network {pointing[0]} with other agents; expected only pointer networks or none"
            )
        members = [load_pointer(member) for member in pointing]
        network, vocabulary = PointerEnsemble(members, ensemble.weights), members[0][1]
    else:
        network, vocabulary = load_pointer(settings.policy)
        if settings.reads == "meaning":
            if network.labels is None:
                raise ValueError(
                    f"reads is 'meaning', and {settings.policy} has no {LABELS}; expected a network of this version's train_bc"
                )
            labels = create_label_matcher(network.labels)
    dialect = DIALECTS["webrl"].naming_by(settings.elements)
    return PointerPolicy(
        network, vocabulary, dialect, settings.temperature or 0.0, memory=memory, labels=labels, traced=settings.trace
    )


@dataclass
class VotingPolicy:
    """Policies that vote on actions. Ties are broken in favour of the earlier policy.

    Only for policies that read the whole conversation at each step, such as language models and chat models, because the executed
    action may come from another member. Failed replies have no vote unless all failed.
    """

    members: Sequence[Policy]
    weights: EnsembleWeights
    _open: dict[int, Request] = field(default_factory=dict)  # by slot
    _votes: dict[int, dict[int, Reply]] = field(default_factory=dict)  # by slot and member

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._open[request.slot] = request
            self._votes[request.slot] = {}
        for member in self.members:
            member.ask(requests)

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        for number, member in enumerate(self.members):
            if any(number not in votes for votes in self._votes.values()):
                for slot, reply in member.replies(timeout_s):
                    self._votes[slot][number] = reply
        complete = [slot for slot, votes in self._votes.items() if len(votes) == len(self.members)]
        return [(slot, self._count(self._open.pop(slot), self._votes.pop(slot))) for slot in complete]

    def close(self) -> None:
        for member in self.members:
            member.close()

    def _count(self, request: Request, votes: dict[int, Reply]) -> Reply:
        weights = self.weights.for_situation(site_of(request.info["page"]))
        sums: dict[str, float] = {}
        first: dict[str, Reply] = {}
        for number, reply in sorted(votes.items()):
            if not (reply.failure or reply.too_long):
                action = answer_part(reply.text)
                sums[action] = sums.get(action, 0.0) + weights[number]
                first.setdefault(action, reply)
        return first[max(sums, key=sums.__getitem__)] if sums else votes[0]
