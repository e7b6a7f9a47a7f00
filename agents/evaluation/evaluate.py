"""Evaluation: the success rate of a policy on tasks, with confidence intervals, by site and by type of check."""

import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from tqdm import tqdm

from agents.data.prompts import REMEMBERED, PromptEncoder, Style, system_prompt
from agents.data.trajectories import Trajectory
from agents.data.workflows import WorkflowMemory, load_workflows
from agents.evaluation.intervals import Score, wilson
from agents.models.checkpoints import agent_record, load_model
from agents.models.checkpoints import is_small as is_small_model
from agents.models.ensembles import is_ensemble, load_ensemble
from agents.models.pointer.checkpoints import is_pointer, load_pointer
from agents.models.pointer.ensemble import PointerEnsemble
from agents.models.pointer.network import PointerNetwork, Vocabulary
from agents.rollouts.chat import ChatPolicy
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.constraints.constraint import create_constraints
from agents.rollouts.envs import create_envs
from agents.rollouts.occam import ENV as OCCAM_ENV
from agents.rollouts.occam import OccamPolicy
from agents.rollouts.players import Player, Players, process_count
from agents.rollouts.pointer import PointerPolicy
from agents.rollouts.policies import ExpertReplies, LanguageModelPolicy, Policy, RandomReplies, ScriptedPolicy
from agents.rollouts.voting import VotingPolicy
from agents.settings import EnvSettings, Processes, Templates
from agents.training.distributed import Ranks
from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS
from webarena_gym.arguments import shown, suggestion
from webarena_gym.servers.chat import ChatModel
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_PAGE

_SCRIPTED = ("expert", "random")
_ANSWER_S = 5.0  # until a silent server counts as dead
_CHAT = "chat:"  # goes before the name of a model behind the chat protocol


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(EnvSettings):
    """Play tasks and report success with 95 % intervals. The defaults of a trained model are the env settings of its training."""

    policy: str
    """expert, random, a run, a folder of a model or an ensemble, a Hugging Face name, or chat:MODEL behind the chat protocol of $OPENAI_BASE_URL"""
    split: Literal["train", "validation", "test"] = "test"
    """part of the suite to play"""
    world_seed: int | None = None
    """draw the split's templates in this world instead of the suite's own"""
    templates: Templates = ()
    """only tasks of these templates; all of them by default"""
    limit: int | None = None
    """play so many tasks only, chosen by the seed"""
    seed: int = 0
    """of the choice of tasks, the envs and the sampling"""
    temperature: float | None = 0.0
    """of sampling; 0 is greedy decoding; a chat model's server chooses by default"""
    system: Style | Literal["occam"] = "none"
    """the system prompt: none, env (the env's own), act (the action alone), think (reason first), react (thoughts that stay in the
    conversation), plan (a plan that is kept up to date, with reflection), or occam (a chat model as AgentOccam, with its pages and actions)"""
    constrained: bool = False
    """of a language model: allow only well-formed actions on elements of the page, with spans of the goal or the page as arguments"""
    max_new_tokens: int = 64
    """longest reply of a model"""
    max_prompt_tokens: int = 8192
    """a longer prompt ends the episode with reward 0"""
    memory: Path | None = None
    """of a chat model or a pointing network: workflows to remember, a file of agents.workflows"""
    num_envs: int = 64
    """episodes played at the same time"""
    workers: int = 0
    """processes that run the envs; 0: this one, as expert and random need"""
    save: Path | None = None
    """write the episodes to this file, one JSON object a line"""
    trace: bool = False
    """save with each step what the policy chose from: the ten likeliest candidates of a pointing network, the text of each token of a
    language model"""
    json: bool = False
    """print one JSON object on the last line"""
    threads: int = 0
    """CPU threads; 0: one where several processes play, else torch's default"""
    processes: Processes = 1
    """processes that play in parallel on a CPU, each with the policy and one thread; 0: one per core if the policy is small"""

    def env_arguments(self) -> dict[str, Any]:
        """Return the keywords for `gymnasium.make`."""
        return {**super().env_arguments(), **(OCCAM_ENV if self.system == "occam" else {})}


class Evaluation(NamedTuple):
    """The scores of all valid episodes, by site and by type of check."""

    total: Score
    by_site: dict[str, Score]
    by_check: dict[str, Score]
    failed: int  # episodes that failed for reasons other than the policy, which do not count
    trajectories: list[Trajectory]

    def record(self) -> dict[str, Any]:
        """Return the scores without the episodes, for JSON."""
        parts = {name: {key: score._asdict() for key, score in getattr(self, name).items()} for name in ("by_site", "by_check")}
        return {**self.total._asdict(), "failed": self.failed, **parts}


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
    if settings.threads or settings.workers or settings.policy.startswith(_CHAT) or torch.cuda.is_available():
        return 1
    is_small = settings.policy in _SCRIPTED or "algorithm" in agent_record(settings.policy) or is_small_model(settings.policy)
    return process_count(0, episodes) if is_small else 1


def summarise(tasks: Sequence[Task], trajectories: Sequence[Trajectory]) -> Evaluation:
    """Return the scores of trajectories, one for each task."""
    rewards: dict[str, list[float]] = {"": []}
    for task, trajectory in zip(tasks, trajectories, strict=True):
        if trajectory.ending == "failed":
            continue
        for part in ("", f"site {'+'.join(task.sites)}", f"check {'+'.join(task.eval_types)}"):
            rewards.setdefault(part, []).append(trajectory.reward)
    scores = {part: wilson(sum(values), len(values)) for part, values in sorted(rewards.items())}
    by_site = {part.removeprefix("site "): score for part, score in scores.items() if part.startswith("site ")}
    by_check = {part.removeprefix("check "): score for part, score in scores.items() if part.startswith("check ")}
    return Evaluation(scores[""], by_site, by_check, len(trajectories) - len(rewards[""]), list(trajectories))


def create_policy(settings: EvaluationSettings) -> Policy:
    """Return the policy that the settings name. Raises ValueError for an option that is of another kind of policy."""
    if settings.constrained and (settings.policy.startswith((*_SCRIPTED, _CHAT)) or is_pointer(settings.policy)):
        raise ValueError(
            f"constrained is set and policy is {settings.policy!r}; expected a language model in a folder, or a Hugging Face name"
        )
    is_pointing = is_pointer(settings.policy) or is_ensemble(settings.policy)
    if settings.memory and not (is_pointing or settings.policy.startswith(_CHAT)):
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
    if settings.policy.startswith(_CHAT):
        return ChatPolicy(settings.policy.removeprefix(_CHAT), system=system, memory=_memory(settings), **sampling)
    if "algorithm" in agent_record(settings.policy):
        from agents.sb3.trainer import load_replies  # noqa: PLC0415 - not everybody has its libraries

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
    if not settings.policy.startswith(_CHAT):
        raise ValueError(f"system is 'occam' and policy {settings.policy!r}; expected {_CHAT}MODEL")
    if settings.history == "none" or not settings.thoughts or settings.elements != "id":
        raise ValueError(
            f"system is 'occam', history {settings.history!r}, thoughts {settings.thoughts} and elements {settings.elements!r}; expected a history, "
            "its thoughts, and elements 'id'"
        )
    chat = ChatPolicy(settings.policy.removeprefix(_CHAT), memory=_memory(settings), **_sampling(settings))
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


def expect_policy(policy: str) -> None:
    """Raise ValueError for a name that is no policy here, and was probably meant to be one, so that nobody asks the Hub for it."""
    if policy in _SCRIPTED or policy.startswith(_CHAT) or "/" in policy or Path(policy).exists():
        return
    hint = suggestion(policy, [*_SCRIPTED, *(str(path) for path in Path("runs").glob("*"))], tell_all=False)
    if hint:
        raise ValueError(f"policy is {shown(policy)}, which is not there; {hint}")


def expect_server(policy: str) -> None:
    """Raise ServerError for a chat model whose server does not answer within seconds, before any episode waits for it."""
    if policy.startswith(_CHAT):
        ChatModel(policy.removeprefix(_CHAT)).models(_ANSWER_S)


def policy_defaults(policy: str, system: str | None = None) -> dict[str, Any]:
    """Return the default settings of a policy: those of its training, or for a chat model longer replies.

    With a system prompt that needs them, a chat model's earlier thoughts stay in the conversation.
    """
    expect_policy(policy)
    if policy in _SCRIPTED:
        return {}
    if policy.startswith(_CHAT):
        kept: dict[str, Any] = {"thoughts": True} if system in (*REMEMBERED, "occam") else {}
        if system == "occam":
            kept |= {"elements": "id", "window": MAX_PAGE}
        return {"system": "env", "max_new_tokens": 1024, "temperature": None, **kept}
    known = {item.name for item in fields(EvaluationSettings)}  # agent records of train_sb3 have more
    return {name: value for name, value in agent_record(policy).items() if name in known}


def choose_tasks(settings: EvaluationSettings) -> list[Task]:
    """Return the tasks of a split, or those of the named templates, or `limit` of them chosen by the seed.

    Raises ValueError where there is none.
    """
    task_suite.named(settings.templates)  # an unknown one is an error, also beside others
    tasks = [
        task
        for task in task_suite.load(settings.split, settings.world_seed, settings.variation)
        if not settings.templates or task.template in settings.templates
    ]
    if not tasks:
        raise ValueError(f"no task of the {settings.split} split is of templates={settings.templates}; see webarena-gym tasks")
    limit = settings.limit
    return tasks if limit is None or limit >= len(tasks) else random.Random(settings.seed).sample(tasks, limit)


def table(evaluation: Evaluation) -> str:
    """Return the success rates, their intervals of 95 % and the numbers of episodes as lines of text.

    >>> print(table(Evaluation(wilson(5, 10), {"map": wilson(5, 10)}, {}, 0, [])))
    all                   50.0 %   (24 to 76)   n = 10
    by site
      map                 50.0 %   (24 to 76)   n = 10
    """
    lines = [_line("all", evaluation.total)]
    for title, scores in (("by site", evaluation.by_site), ("by what is checked", evaluation.by_check)):
        lines += [title] * bool(scores) + [_line(f"  {name}", score) for name, score in scores.items()]
    return "\n".join(
        lines + [f"{evaluation.failed} episodes failed for other reasons and are left out"] * bool(evaluation.failed)
    )


def _line(name: str, score: Score) -> str:
    return f"{name:<20} {100 * score.success:5.1f} %   ({100 * score.low:.0f} to {100 * score.high:.0f})   n = {score.n}"
