"""Settings of all training commands. This module does not import torch, so invalid options are reported at once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from agents.data.demonstrations import SplitSettings
from agents.data.prompts import Style
from agents.data.thoughts import Thoughts
from agents.settings import (
    ChatTemplateKwargs,
    EnvSettings,
    MayChange,
    NewFolder,
    OptimizerName,
    PassSettings,
    PresentFile,
    PresentFolder,
    Processes,
    RunFolderSettings,
    RunSettings,
    TrainingWorlds,
    expect_least,
)
from webarena_gym.arguments import expect_one_of
from webarena_gym.observation import Elements
from webarena_gym.sites.layout import Variation

SMALL = "small"
POINTER = "pointer"


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(PassSettings, EnvSettings):
    """Prompts and replies of a language model, and the computation of its passes."""

    system: Style = "none"
    """the system prompt: none, act (only an action), think (reasoning before the action), react (short thoughts that remain in the
    conversation), plan (a plan with reflection), or env (that of the env, for models without behaviour cloning: it describes the actions
    and the form of answers)"""
    constrained: bool = False
    """allow only well-formed actions on elements of the page, with spans of the goal or the page as arguments"""
    max_new_tokens: int = 64
    """maximum length of a reply in tokens"""
    max_prompt_tokens: int = 4096
    """maximum length of a prompt in tokens; a longer prompt ends the episode with reward 0"""
    chat_template_kwargs: ChatTemplateKwargs = None
    """variables of the model's chat template, as a JSON object, such as `{"enable_thinking": false}` for replies without reasoning"""
    contexts: Literal["sampled", "released"] = "sampled"
    """train each action in the context it was sampled in, or, as an ablation, with its page replaced by the placeholder, as the released
    trainer of WebAgent-R1 does"""
    correction: Literal["none", "token", "sequence_mask"] = "none"
    """importance weights for a sampler whose probabilities differ from the trainer's: of each token, truncated at 2 (token), or of the whole
    reply, 0 above 2 (sequence_mask)"""
    num_envs: MayChange[int] = 64
    """episodes played at the same time"""
    sharing: MayChange[Literal["auto", "rows", "tree"]] = "auto"
    """compute common prefixes of samples once: if it is faster (auto), never (rows), or always (tree)"""
    vllm: MayChange[str] = ""
    """URL of a vLLM server for sampling, such as http://127.0.0.1:8000; by default, the model samples in this process"""

    def agent(self) -> dict[str, Any]:
        """Return the agent record: the options with which the trained model must be used."""
        return {
            **self.env_arguments(),
            "system": self.system,
            "max_new_tokens": self.max_new_tokens,
            "constrained": self.constrained,
            **template_record(self.chat_template_kwargs),
        }


def template_record(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the entry of the agent record for the variables of the chat template; empty without variables."""
    return {"chat_template_kwargs": dict(values)} if values else {}


PRETRAINED: Mapping[str, Any] = {"copy_weight": 0.0, "curriculum": 0.0, "max_prompt_tokens": 4096, "learning_rate": 2e-5}
"""Defaults of behaviour cloning for pretrained language models. The others are for small models, which first learn to copy."""
SMALL_MODEL_GROUPS: Mapping[str, tuple[str, str]] = {
    "small model": (
        "Only for --model small or a model that it created.",
        "vocabulary width layers heads practice inserted_layers",
    ),
}
"""Group of options in the help of behaviour cloning, in the form of `agents.settings.GROUPS`."""
PRETRAINED_RL_LEARNING_RATE = 1e-6
"""Default learning rate of reinforcement learning for all weights of pretrained language models."""
LORA_LEARNING_RATE = 5e-4
"""Default learning rate of the adapters of pretrained language models."""

OldLogprobs = Literal["sampled", "recomputed"]


@dataclass(frozen=True, kw_only=True)
class ModelSettings(LanguageModelSettings, RunFolderSettings):
    """A model that is trained on its own episodes."""

    model: str
    """the model to train: a run of train_bc, a model folder, or a name on the Hugging Face Hub"""
    temperature: float = 1.0
    """temperature of sampling and of the trained log-probabilities"""

    # Some methods have options of these names.

    @property
    def old_logprobs(self) -> OldLogprobs:
        """The log-probabilities of the policy before an update: the sampler's, or the trainer's."""
        return "sampled"

    @property
    def kl_weight(self) -> float:
        """Weight of the KL divergence to the initial model."""
        return 0.0

    @property
    def distilled(self) -> float:
        """Weight of self-distillation."""
        return 0.0


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Options of asynchronous and distributed rollouts, which the loop of `agents.cluster.training` uses."""

    staleness: MayChange[int] = 0
    """maximum number of updates between the parameters of a group's oldest reply and those that are trained; older groups are dropped"""
    overlap: MayChange[bool] = False
    """collect the next batch during an update, with a copy of the parameters; requires staleness of at least 1"""
    workers: MayChange[int] = 0
    """processes that run the envs; 0: the training process runs them"""
    cluster: MayChange[str] = ""
    """Ray cluster to train on: an address, auto (the cluster of this machine) or local (start one); by default none"""
    learners: MayChange[int] = 1
    """cluster: processes that train the sharded model"""
    learner_restarts: MayChange[int] = 0
    """cluster: maximum number of restarts from the newest checkpoint after a learner was lost"""
    env_workers: MayChange[int] = 1
    """cluster: actors that run the envs, with one CPU each"""
    env_resource: MayChange[str] = ""
    """cluster: a Ray resource that nodes of envs must have, one unit per actor; by default none"""
    gpus: MayChange[bool] = False
    """cluster: give the engine and each learner a GPU"""

    @property
    def is_streamed(self) -> bool:
        """True if one of these options is set."""
        return any(getattr(self, item.name) != item.default for item in fields(StreamSettings))

    @property
    def cpus(self) -> int:
        """The number of Ray CPUs: one for each learner, each actor with envs, and the engine."""
        return self.learners + self.env_workers + 1


STREAM_OPTIONS = frozenset(item.name for item in fields(StreamSettings))
"""Names of the options of `StreamSettings`."""


def hidden_from_pointing_networks() -> set[str]:
    """Return the names of options that only apply to language models."""
    return {item.name for item in fields(LanguageModelSettings)} - {"variation", "max_steps", "application", "suite"} | {
        "distilled"
    }


PRETRAINED_RL_RATES = f"{PRETRAINED_RL_LEARNING_RATE:g}, or 0.0003 with --lora-rank"
"""Default learning rates of reinforcement learning for pretrained language models, for the help."""
PRETRAINED_BC_RATES = f"{PRETRAINED['learning_rate']:g}, or {LORA_LEARNING_RATE:g} with --lora-rank"
"""Default learning rates of behaviour cloning for pretrained language models, for the help."""

MODEL_RECORD_FIELDS = ("system", "max_new_tokens", "constrained", "chat_template_kwargs")
"""Names of the options in a language model's agent record, in addition to those of the env."""

LANGUAGE_MODEL_GROUPS: Mapping[str, tuple[str, str]] = {
    "language model prompt": (
        "Language models only: prompts and replies.",
        "system chat_template_kwargs elements history thoughts window max_prompt_tokens max_new_tokens constrained contexts tools tool_budget",
    ),
    "language model computation": (
        "Language models only: precision, memory, adapters and sampling.",
        "lora_rank lora_layers dtype gradient_checkpointing tokens_per_pass num_envs vllm correction sharing distilled",
    ),
}
"""Groups of options in the help for any model, in the form of `agents.settings.GROUPS`."""

OF_LANGUAGE_MODELS: Mapping[str, Any] = {
    "group_size": 16, "epochs": 1, "minibatches": 1, "learning_rate": 3e-4, "average": 0.0, "replayed": 0,
    "groups_remembered": 2, "old_logprobs": "sampled",
}  # fmt: skip
"""Defaults for language models that differ from those for pointer networks."""


@dataclass(frozen=True, kw_only=True)
class StreamedRunSettings(StreamSettings, RunSettings):
    """A run with the options of streams."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings(ModelSettings, StreamedRunSettings):
    """Settings of all reinforcement learning methods."""

    trainer: ClassVar[str]
    """the method's class, in the form of `pkgutil.resolve_name`"""
    cpu_minutes: MayChange[float] = 0.0
    """train for this many minutes of CPU time of all processes instead of `updates`; 0: not used"""
    env_steps: MayChange[int] = 0
    """train for this many env steps, including searches and continuations, instead of `updates`; 0: not used"""
    save_samples: MayChange[bool] = False
    """write the training samples of each update to samples/<update>.parquet in the run's folder"""
    save_rollouts: MayChange[int] = 0
    """interval in updates at which rollouts are written for the report, to rollouts/<update>.jsonl.gz in the run's folder; 0: never"""
    step_limits: tuple[int, ...] = ()
    """increasing step limits for equal parts of the training, such as 10 20 40 (KLong, arXiv 2602.17547); by default `max_steps`"""
    tasks_per_update: int = 16
    """groups in one batch of rollouts"""
    group_size: int = 8
    """rollouts of each task, all from one seed"""
    dynamic_sampling: int = 1
    """oversampling limit for groups with mixed rewards, as a multiple of `tasks_per_update`; 1: no oversampling"""
    processes: MayChange[Processes] = 1
    """processes that play and train in parallel on a CPU, each with a copy of the model and one thread; 0: one per core if the model is
    small; with more than one, equal runs differ by rounding errors"""
    epochs: int = 2
    """passes over a batch of rollouts"""
    minibatches: int = 4
    """optimizer steps in one pass"""
    learning_rate: float = 5e-4
    """initial learning rate"""
    schedule: Literal["constant", "linear"] = "constant"
    """constant learning rate, or linear decay to 0 over the training"""
    max_grad_norm: float = 1.0
    """maximum gradient norm of an update; larger gradients are scaled down"""
    average: float = 0.97
    """decay of a running mean of the parameters, which is saved as the model; 0: save the parameters without averaging"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, save_rollouts=0)
        budgets = {name: getattr(self, name) for name in ("env_steps", "cpu_minutes", "minutes")}
        if min(budgets.values()) < 0 or sum(map(bool, budgets.values())) > 1:
            values = ", ".join(f"{name}={value}" for name, value in budgets.items())
            raise ValueError(f"{values}; expected at least 0, and at most one above 0")
        if not 0 <= self.average < 1:
            raise ValueError(f"average is {self.average}; expected at least 0 and less than 1")
        limits = list(self.step_limits)
        if min(limits, default=1) < 1 or limits != sorted(limits):
            raise ValueError(f"step_limits={self.step_limits}; expected positive numbers, none smaller than the one before")
        if max(limits, default=0) > self.max_steps:
            raise ValueError(f"step_limits={self.step_limits}; expected none above max_steps={self.max_steps}")
        if self.vllm and self.processes > 1:
            raise ValueError(f"processes is {self.processes}; expected 1 with vllm={self.vllm!r}")

    @property
    def needs_local_envs(self) -> bool:
        """True if the method takes snapshots of the envs, which must be in the training process."""
        return False

    @property
    def planned_updates(self) -> int:
        return 0 if self.env_steps or self.cpu_minutes else super().planned_updates

    def progress(self, update: int, elapsed_s: float, usage: Mapping[str, float]) -> float:
        """Return the progress of the training from 0 to 1, by the budget that is set: env steps, CPU minutes, minutes or updates."""
        for name in ("env_steps", "cpu_minutes"):
            if budget := getattr(self, name):
                return usage.get(name, 0.0) / float(budget)
        return super().progress(update, elapsed_s, usage)

    def limit(self, progress: float) -> int | None:
        """Return the step limit at a progress from 0 to 1; None for the env's `max_steps`."""
        if not self.step_limits:
            return None
        return self.step_limits[min(int(progress * len(self.step_limits)), len(self.step_limits) - 1)]


@dataclass(frozen=True, kw_only=True)
class ClippedSettings(TrainSettings):
    """Settings of methods with the clipped loss of PPO."""

    clip_low: float = 0.2
    """maximum decrease of a probability ratio below 1 before it is clipped"""
    clip_high: float = 0.28
    """maximum increase of a probability ratio above 1 before it is clipped"""
    ratio: Literal["token", "sequence"] = "token"
    """probability ratio of each token, or of the whole response (sequence, GSPO)"""
    old_logprobs: OldLogprobs = "recomputed"
    """denominator of the ratio: the sampler's log-probabilities, or the trainer's before the updates of a batch"""
    kl_weight: float = 0.0
    """weight of the KL divergence to the initial model; 0: no reference model is loaded"""


Advantages = Literal["state", "trajectory", "gigpo", "forks"]


@dataclass(frozen=True, kw_only=True)
class GRPOSettings(ClippedSettings):
    """Improve a model by multi-turn GRPO. The same command resumes an interrupted run from its newest checkpoint.

    With --processes 1, equal runs end with bit-identical parameters, even if one was interrupted.

    Use `--overlap --help` or `--cluster local --help` for the options of asynchronous and distributed rollouts. The file docs/settings.md lists
    all options, with their names in TRL.
    """

    trainer: ClassVar = "agents.grpo:GRPO"
    advantages: Advantages = "state"
    """baseline of advantages: steps of the group with the same prompt (state); whole rollouts (trajectory); the sum of both (gigpo); or
    continuations forked from a rollout's states (forks)"""
    weighting: Literal["paper", "constant", "dr_grpo", "token_mean"] = "token_mean"
    """paper: mean over trajectories, steps and tokens in turn; constant: the same with 15 for the number of steps; dr_grpo: 1024 for the
    tokens of a trajectory; token_mean: equal weights for all tokens"""
    seek_mixed: bool = True
    """draw more often from templates that neither always succeed nor always fail"""
    groups_remembered: int = 5
    """number of groups in the running mean of a template's success"""
    replayed: int = 48
    """successful episodes replayed per batch, more often of templates that rarely succeed (self-imitation); 0: none"""
    fork_every: int = 1
    """with the advantages "forks": interval between the forks of a rollout in steps, from the first step on"""
    distilled: float = 0.0
    """weight of on-policy self-distillation from the model prompted with the task's solution (SDAR); 0: none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, fork_every=1, groups_remembered=1, replayed=0, distilled=0)
        if self.distilled and self.kl_weight:
            raise ValueError(f"distilled is {self.distilled} and kl_weight {self.kl_weight}; expected 0 for one of them")
        expect_one_of("advantages", self.advantages, get_args(Advantages))
        if self.replayed and self.old_logprobs == "sampled":
            # Ratios to the log-probabilities of much older policies would be clipped.
            raise ValueError(f"replayed is {self.replayed} and old_logprobs 'sampled'; expected 'recomputed'")

    @property
    def needs_local_envs(self) -> bool:
        return self.advantages == "forks"


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(TrainSettings):
    """Settings of methods without groups. By default, an update has one episode of each of 256 tasks, about as many episodes as M-GRPO."""

    tasks_per_update: int = 256
    """episodes in an update"""
    group_size: int = 1
    """episodes of each task"""
    minibatches: int = 4
    """optimizer steps in one pass"""
    replay: int = 1024
    """capacity of the replay buffer in trajectories; the newest are stored"""


@dataclass(frozen=True, kw_only=True)
class FilteredBCSettings(ReplaySettings):
    """Filtered behaviour cloning: imitate the episodes that succeeded."""

    trainer: ClassVar = "agents.methods.filtered_bc:FilteredBC"


@dataclass(frozen=True, kw_only=True)
class AWRSettings(ReplaySettings):
    """Advantage-weighted regression (AWR): imitate all steps with weights that grow with their advantages."""

    trainer: ClassVar = "agents.methods.awr:AWR"


@dataclass(frozen=True, kw_only=True)
class DigiRLSettings(ReplaySettings):
    """DigiRL: imitate steps with a positive advantage, in the episodes with the most surprising rewards."""

    trainer: ClassVar = "agents.methods.digirl:DigiRL"


@dataclass(frozen=True, kw_only=True)
class WebRLSettings(ReplaySettings):
    """WebRL: a curriculum of tasks similar to failed ones, and policy updates under a KL constraint."""

    trainer: ClassVar = "agents.methods.webrl:WebRL"
    old_logprobs: OldLogprobs = "recomputed"
    """log-probabilities of the previous policy: from the sampler, or from the trainer before the updates of a batch"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constrained:
            raise ValueError("method is 'webrl'; expected another with constrained replies")


@dataclass(frozen=True, kw_only=True)
class StarPOSettings(ClippedSettings):
    """StarPO: PPO on whole trajectories of the groups with the largest variance of rewards."""

    trainer: ClassVar = "agents.methods.starpo:StarPO"
    starpo_advantages: Literal["gae", "group"] = "gae"
    """generalised advantage estimates with a critic (PPO), or each rollout against its group (GRPO)"""
    starpo_kept: float = 0.25
    """fraction of the groups to train on, those with the largest standard deviation of rewards; 1: all"""
    starpo_decay: float = 1.0
    """with gae: lambda; 1: advantages from the outcome only, 0: from the next value only"""
    starpo_length_factor: float = 0.0
    """with gae: alpha of a lambda of 1 - 1 / (alpha * turns) in place of `starpo_decay`; 0: none"""
    starpo_value_groups: int = 0
    """with gae: number of initial groups that only train the critic"""
    starpo_format_cost: float = 0.0
    """with gae: penalty of a reply without an action"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.starpo_kept <= 1:
            raise ValueError(f"starpo_kept is {self.starpo_kept}; expected more than 0 and at most 1")
        if not 0 <= self.starpo_decay <= 1:
            raise ValueError(f"starpo_decay is {self.starpo_decay}; expected 0 to 1")
        expect_least(self, starpo_length_factor=0, starpo_value_groups=0, starpo_format_cost=0)


@dataclass(frozen=True, kw_only=True)
class StructuredSettings(GRPOSettings):
    """WorkForceAgent-R1: rule-based step rewards for format, action kind, element and argument, in addition to the outcome reward."""

    trainer: ClassVar = "agents.methods.structured:StructuredGRPO"
    outcome_weight: float = 1.0
    """weight of M-GRPO's outcome advantages; 0: use only structured rewards"""
    format_reward: float = 0.1
    """reward of a reply with an action"""
    kind_reward: float = 0.1
    """additional reward if the action has the expert's kind"""
    element_reward: float = 0.2
    """additional reward if the element is also right"""
    argument_reward: float = 0.6
    """additional reward if the argument is also right"""
    progress_weight: float = 0.0
    """reward for completing the expert's path, divided among the steps that make progress"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, **{item.name: 0 for item in fields(self) if item.name.endswith(("_reward", "_weight"))})


Correction = Literal["none", "step", "path"]


@dataclass(frozen=True, kw_only=True)
class TSRSettings(GRPOSettings):
    """Trajectory-search rollouts (TSR): M-GRPO on rollouts that are collected with a search at each step."""

    trainer: ClassVar = "agents.methods.tsr:TSR"
    search_width: int = 4
    """number of replies to try at each step; equal replies are tried once"""
    search_choice: Literal["best", "diverse"] = "best"
    """prefer replies that lead to states of high value, or to pages new to the group's rollouts"""
    search_correction: Correction = "step"
    """importance weights for the selection at the step, for all steps up to it (path), or none"""
    search_gain: float = 1.0
    """weight of a reply's value minus the mean over the replies tried, added to M-GRPO's advantage; 0: the paper's method"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, search_width=1)
        if self.advantages == "forks":
            raise ValueError("advantages is 'forks'; expected another value with TSR, since continuations are not searched")

    @property
    def needs_local_envs(self) -> bool:
        return True


ToolReward = Literal["outcome", "search_r1", "artist", "webdancer", "checklist", "f1"]


@dataclass(frozen=True, kw_only=True)
class ToolUseSettings(GRPOSettings):
    """Agents that call tools: M-GRPO with the rewards of Search-R1, ToRL, ARTIST, CM2, ASTRA and WebDancer."""

    trainer: ClassVar = "agents.methods.tool_use:ToolUse"
    system: Style = "env"
    """the system prompt: env, that of the env, the only one that describes the tools"""
    tools: tuple[Literal["lookup", "table_sql"], ...] = ("lookup", "table_sql")
    """tools that replies may call"""
    tool_budget: int = 4
    """maximum number of calls of tools in an episode"""
    tool_reward: ToolReward = "outcome"
    """reward of an episode: success (outcome), success and form (search_r1, webdancer), success, form and executed calls (artist), items of the
    checklist, or the F1 value of completion and economy of steps (f1)"""
    failed_call_cost: float = 0.0
    """subtracted from the reward of an episode with a failed call of a tool"""
    credit: Literal["episode", "turn"] = "episode"
    """compare the rewards of whole episodes, or with tool_reward="checklist" those of the steps with the same number (turn)"""
    standardized: bool = True
    """divide advantages by the standard deviation of the group; otherwise as Dr. GRPO, with advantages="trajectory" """
    advantages: Advantages = "trajectory"
    """baseline of advantages: whole rollouts (trajectory), steps of the group with the same prompt (state), or the sum of both (gigpo)"""
    replayed: int = 0
    """successful episodes replayed per batch, more often of templates that rarely succeed (self-imitation); 0: none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, tool_budget=1, failed_call_cost=0)
        if self.system != "env":
            raise ValueError(f"system is {self.system!r}; expected 'env', since other system prompts do not describe the tools")
        if self.constrained:
            raise ValueError("constrained is True; expected False with tools, since constrained replies are only actions")
        if self.advantages == "forks":
            raise ValueError("advantages is 'forks'; expected another value with tools, whose rewards belong to whole episodes")
        if self.credit == "turn" and self.tool_reward != "checklist":
            raise ValueError(
                f"credit is 'turn' and tool_reward {self.tool_reward!r}; expected 'checklist', which rewards steps"
            )
        unused = {"failed_call_cost": 0.0, "standardized": False, "advantages": "trajectory"}
        for name, expected in unused.items():
            if self.credit == "turn" and getattr(self, name) != expected:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; expected {expected!r} with credit 'turn', which does not use it"
                )
        if not self.standardized and self.advantages != "trajectory":
            raise ValueError(f"advantages is {self.advantages!r}; expected 'trajectory' without standardized")

    def env_arguments(self) -> dict[str, Any]:
        rewards = {"reward": self.tool_reward} if self.tool_reward in ("checklist", "f1") else {}
        return {**super().env_arguments(), "tools": list(self.tools), "tool_budget": self.tool_budget, **rewards}

    def agent(self) -> dict[str, Any]:
        """Return the agent record, with the tools as keywords of the env."""
        record = {name: value for name, value in super().agent().items() if name not in ("tools", "tool_budget", "reward")}
        return {**record, "keywords": [f"tools={json.dumps(self.tools)}", f"tool_budget={self.tool_budget}"]}


METHODS: dict[str, type[TrainSettings]] = {
    "grpo": GRPOSettings, "filtered_bc": FilteredBCSettings, "awr": AWRSettings, "digirl": DigiRLSettings,
    "webrl": WebRLSettings, "starpo": StarPOSettings, "structured": StructuredSettings, "tsr": TSRSettings,
    "tool_use": ToolUseSettings,
}  # fmt: skip
"""Settings of the reinforcement learning methods, by their name for `--method`."""


@dataclass(frozen=True, kw_only=True)
class AgentQSettings(ModelSettings):
    """Improve a model by tree search and preference optimization. The same command resumes an interrupted run after its last iteration."""

    iterations: MayChange[int] = 3
    """number of iterations of search and training; 0 saves the initial model"""
    tasks_per_iteration: int = 128
    """tasks to search in an iteration"""
    budget: int = 60
    """env steps per task"""
    branching: int = 4
    """replies to sample in a state; equal actions count once"""
    prior_weight: float = 0.25
    """weight in Q of an action's rank under the policy; the remainder is the weight of its mean reward"""
    threshold: float = 0.3
    """minimum difference of Q between the actions of a pair"""
    beta: float = 0.1
    """beta of DPO: strength of the KL constraint to the policy that searched"""
    pairs_per_update: int = 64
    """pairs in one update"""
    epochs: int = 1
    """passes over the pairs of an iteration"""
    learning_rate: float = 3e-4
    """learning rate of AdamW"""


@dataclass(frozen=True, kw_only=True)
class CloningSettings(SplitSettings, RunSettings):
    """Settings of behaviour cloning, for language models and pointer networks."""

    save_every: MayChange[int] = 200
    """updates between checkpoints"""
    mistakes: float = 0.0
    """above 0, add a second episode of each task in which the expert takes and undoes wrong steps with this probability per step
    (WebCoT); wrong steps are not training targets"""
    weight_decay: float = 0.01
    """AdamW's weight decay"""
    max_grad_norm: float = 1.0
    """maximum gradient norm of an update; larger gradients are scaled down"""

    def __post_init__(self) -> None:
        SplitSettings.__post_init__(self)
        RunSettings.__post_init__(self)


@dataclass(frozen=True, kw_only=True)
class BCSettings(PassSettings, CloningSettings):
    """Train a language model by behaviour cloning of the expert. The same command resumes an interrupted run from its newest checkpoint."""

    model: str
    """the model to train: a model folder, a name on the Hugging Face Hub, "small" for a new language model of 1.7 million parameters, or
    "pointer" for a new pointer network"""
    updates: MayChange[int] = 2000
    """number of updates of the training; 0 saves the untrained model"""
    demonstrations: PresentFile | None = None
    """file of demonstrations, written by `python -m agents.demonstrations`; by default the expert plays them"""
    expert_thoughts: Thoughts = "none"
    """thoughts of the expert before each action: none, one sentence, or a long chain with derivations"""
    system: Style = "none"
    """the system prompt: none, act (only an action), think (reasoning before the action), react (short thoughts that remain in the
    conversation), plan (a plan with reflection), or env (that of the env, for models without behaviour cloning: it describes the actions
    and the form of answers)"""
    max_prompt_tokens: int = 1400
    """steps with longer prompts are left out, since a few long pages would take much of the time"""
    chat_template_kwargs: ChatTemplateKwargs = None
    """variables of the model's chat template, as a JSON object, such as `{"enable_thinking": false}` for replies without reasoning"""
    vocabulary: int = 2048
    """tokens of the small model's tokenizer"""
    width: int = 128
    """hidden size of the small model"""
    layers: int = 4
    """layers of the small model"""
    heads: int = 4
    """attention heads of the small model"""
    inserted_layers: int = 0
    """layers to insert after the first layer of a trained small model; they are initialized as identity"""
    practice: int = 80
    """updates of copying random sequences before the small model sees a page"""
    optimizer: OptimizerName = "adamw"
    """adamw for all weights, or muon for the matrices of the layers; with equal data, muon was better in long runs and worse in short runs"""
    learning_rate: float = 2e-3
    """maximum learning rate, after a warmup; it decays to 2 %"""
    tokens_per_update: int = 3072
    """tokens in one update, including padding, computed with whole pages; updates with shortened pages have fewer"""
    copy_weight: float = 0.5
    """weight of the loss on repeated tokens within prompts, which teaches a new model to copy"""
    curriculum: float = 0.6
    """fraction of the training in which pages grow from a tenth of their lines to all lines; 0: whole pages from the start"""
    curriculum_power: float = 1.0
    """exponent of the growth; 2 keeps pages short for longer"""
    thinned: float = 0.0
    """fraction of the updates in which pages lack random lines, after the curriculum and until 85 % of the training"""
    focus: float = 0.0
    """minimum probability of training on a step; steps of templates and positions that the model predicts well are trained on less often;
    0: all steps equally often"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model == POINTER:
            raise ValueError(f"model is {POINTER!r}, which has other settings; expected PointerBCSettings")
        if self.demonstrations and (self.mistakes or self.piece_steps):
            raise ValueError(
                f"mistakes is {self.mistakes} and piece_steps {self.piece_steps}; expected 0 for both with "
                f"demonstrations={str(self.demonstrations)!r}, since the expert does not play"
            )
        if self.focus and not self.copy_weight:
            raise ValueError(f"focus is {self.focus}; expected 0 with copy_weight=0, which trains on whole episodes")
        if self.chat_template_kwargs and self.model == SMALL:
            raise ValueError(
                f"chat_template_kwargs is {dict(self.chat_template_kwargs)!r}; expected none with model='small', whose chat template has no "
                "variables"
            )
        if self.inserted_layers and self.model == SMALL:
            raise ValueError(f"inserted_layers is {self.inserted_layers}; expected 0 with model='small', which is a new model")

    def agent(self) -> dict[str, Any]:
        """Return the agent record: the options with which the trained model must be used."""
        return {**self.env_arguments(), "system": self.system, **template_record(self.chat_template_kwargs)}


@dataclass(frozen=True, kw_only=True)
class PointerBCSettings(CloningSettings):
    """Train a pointer network by behaviour cloning of the expert. The same command resumes an interrupted run from its newest checkpoint.

    The network is not a language model: it selects among the possible actions on a page, and composes texts from pieces of pages and goal.
    """

    model: Literal["pointer"] = "pointer"
    """"pointer" trains a pointer network"""
    begin_with: MayChange[PresentFolder | None] = None
    """a run or folder of the initial network, which sets the size and the vocabulary; by default a new network"""
    updates: MayChange[int] = 600
    """number of updates of the training; 0 saves the untrained model"""
    per_template: int = 1
    elements: Elements = "id"
    window: int = 20_000
    max_steps: int = 30
    one_world_each: bool = False
    """draw each template in only one of the worlds, in turn; the vocabulary contains words that occur in at least two worlds"""
    layout_worlds: tuple[int, ...] = ()
    """seeds of further worlds with varied layouts"""
    detours: float = 0.0
    """probability of following a wrong link before a link of the expert, and of going back: teaches recovery"""
    dagger: int = 0
    """number of episodes per task that the network of `begin_with` plays; the expert labels its states off the path (DAgger)"""
    width: int = 48
    """pointer network: embedding size of a word"""
    hidden: int = 96
    """hidden size of the scorers"""
    dropout: float = 0.1
    """dropout rate of embeddings and hidden units"""
    learning_rate: float = 4e-3
    """maximum learning rate, after a warmup; it decays to 3 %"""
    weight_decay: float = 0.05
    decisions_per_update: int = 64
    """decisions (selections of a candidate) in one update"""
    wrong_kept: int = 1_500
    """maximum number of wrong candidates stored per decision"""
    wrong_drawn: int = 150
    """wrong candidates sampled per decision and update, with weights that represent the others"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect_training_worlds("layout_worlds", self.layout_worlds)
        for name in ("layout_worlds", "one_world_each") if self.application or self.suite else ():
            if getattr(self, name):
                raise ValueError(
                    f"{name}={getattr(self, name)}; expected no {name} with an application or a suite, which have no worlds"
                )
        for name in ("detours", "mistakes"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}; expected at least 0 and less than 1")
        if self.detours and self.mistakes:
            raise ValueError(f"detours={self.detours} and mistakes={self.mistakes}; expected 0 for one of them")
        if self.elements != "id":
            raise ValueError(f"elements={self.elements!r}; expected 'id' with a pointer network")
        if self.dagger and self.begin_with is None:
            raise ValueError(f"dagger is {self.dagger} and begin_with is not set; expected the network that plays the episodes")


@dataclass(frozen=True, kw_only=True)
class RememberSettings(TrainingWorlds):
    """Add a memory of steps of successful episodes to a pointer network, or explore the sites and store the effects of labels."""

    model: PresentFolder
    """a run of a pointer network, or its folder"""
    out: NewFolder
    """folder of the network with memory"""
    episodes: tuple[PresentFile, ...] = ()
    """files of agents.evaluate --save; by default the network plays"""
    worlds: tuple[int, ...] = (41, 42, 43)
    """seeds of the worlds of its episodes"""
    per_template: int = 1
    """tasks of each template in each world"""
    templates: tuple[str, ...] = ()
    """templates of its episodes; by default those of the training split"""
    walk: int = 0
    """above 0: explore each site for this many steps without a task, and record the effects of labels for
    `agents.evaluate --reads meaning`; first in several training worlds, then in the world to be evaluated"""
    variation: Variation = "content"
    """variation of the worlds to explore"""
    max_steps: int = 15
    """step limit of its episodes"""
    temperature: float = 1.0
    """temperature of sampling in its episodes"""
    seed: int = 0
    """random seed of the episodes and of the training of the attention"""
    size: int = 4_096
    """capacity of the memory in steps; the newest are stored"""
    nearest: int = 8
    """number of stored steps that the attention reads at each step"""
    read_updates: int = 300
    """updates of the training of this attention, with 64 decisions each"""
    read_learning_rate: float = 0.02
    """Adam's learning rate of the training of this attention"""

    def __post_init__(self) -> None:
        expect_least(self, size=1, nearest=1, read_updates=0)
        if not self.walk:  # an exploration plays no task, so it may use the evaluation world
            self.expect_training_worlds("worlds", self.worlds)


@dataclass(frozen=True, kw_only=True)
class SB3Settings(RunSettings):
    """Train PPO on candidate actions. The same command resumes an interrupted run from its newest checkpoint with new episodes."""

    algorithm: Literal["ppo", "maskable_ppo"] = "maskable_ppo"
    """PPO of Stable-Baselines3, or masked PPO of sb3-contrib"""
    out: MayChange[NewFolder] = Path("runs/sb3")
    """folder of the run: the model as a zip of the library, metrics, TensorBoard"""
    candidates: int = 48
    """candidate actions of a page: the size of the action space"""
    num_envs: MayChange[int] = 8
    """episodes played at the same time"""
    steps_per_update: int = 128
    """steps of each env between updates"""
    epochs: int = 4
    """passes over the steps in an update"""
    batch: int = 256
    """steps in one gradient step"""
    learning_rate: float = 1e-3
    """learning rate of Adam"""
    discount: float = 0.95
    """discount factor of the reward per step; below 1, shorter solutions are worth more"""
    entropy_weight: float = 0.01
    """weight of the entropy bonus"""
    width: int = 64
    """units of each layer of the policy"""
    prior: float = 4.0
    """initial weight of a candidate's word overlap with the goal in its score; 0: uniform initial policy"""
    save_every: MayChange[int] = 20
    """updates between saves"""

    def agent(self) -> dict[str, Any]:
        """Return the agent record: the options with which the trained model must be used."""
        return {**self.env_arguments(), "algorithm": self.algorithm, "candidates": self.candidates}


@dataclass(frozen=True, kw_only=True)
class EyesSettings(TrainingWorlds):
    """Train a vision agent by behaviour cloning, improve it by GRPO, and evaluate both agents on held-out episodes."""

    out: NewFolder
    """folder of the run"""
    tasks: tuple[str, ...] = ()
    """names of MiniWoB++ tasks; by default the bundled tasks with pictures"""
    worlds: tuple[int, ...] = (11, 12, 13, 14, 15, 16, 17, 18)
    """seeds of the training worlds of bundled tasks"""
    test_world: int = 2601
    """seed of the test world of bundled tasks"""
    shown: int = 24
    """number of demonstrations of each MiniWoB++ task; bundled tasks have one in each world"""
    clone_updates: int = 600
    """updates of behaviour cloning, with 32 decisions each"""
    updates: MayChange[int] = 30
    """updates of GRPO; 0: only behaviour cloning"""
    tasks_per_update: int = 12
    """groups in one batch of rollouts"""
    group_size: int = 8
    """episodes of each task, all from one seed"""
    epochs: int = 4
    """passes over a batch of rollouts, with 64 decisions in an update"""
    temperature: float = 2.0
    """temperature of sampling in GRPO, and of the trained probabilities"""
    max_steps: int = 8
    """steps after which an episode is truncated"""
    learning_rate: float = 1e-3
    """learning rate of behaviour cloning; the learning rate of GRPO is a third of it"""
    evaluated: int = 16
    """number of evaluation episodes of each MiniWoB++ task"""
    seed: int = 0
    """random seed of weights, tasks, sampling and order"""
    threads: MayChange[int] = 1
    """CPU threads of the network"""

    def __post_init__(self) -> None:
        counts = ("shown", "clone_updates", "tasks_per_update", "epochs", "max_steps", "evaluated")
        expect_least(self, **dict.fromkeys(counts, 1), updates=0, group_size=2)
        self.expect_training_worlds("worlds", self.worlds)
        if self.test_world in self.worlds and not self.allow_held_out_worlds:
            raise ValueError(f"worlds includes {self.test_world}, which is test_world; expected another world to evaluate in")
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; expected more than 0")
