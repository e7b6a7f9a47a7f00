"""Settings of the methods that M-GRPO is compared with, and of Agent Q."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from agents.data.prompts import Style
from agents.settings import MayChange, ToolSettings, expect_least
from agents.training.settings.learning import Advantages, ClippedSettings, GRPOSettings, TrainSettings
from agents.training.settings.models import ModelSettings, OldLogprobs


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
class ToolUseSettings(ToolSettings, GRPOSettings):
    """Agents that call tools: M-GRPO with the rewards of Search-R1, ToRL, ARTIST, CM2, ASTRA and WebDancer."""

    trainer: ClassVar = "agents.methods.tool_use:ToolUse"
    system: Style = "env"
    """the system prompt: env, that of the env, the only one that describes the tools, or none for a model that learned the calls by cloning"""
    tools: tuple[Literal["lookup", "table_sql"], ...] = ("lookup", "table_sql")
    """tools that replies may call; by default those that the model was trained with, if any"""
    tool_reward: ToolReward = "outcome"
    """reward of an episode: success (outcome), success and form (search_r1, webdancer), success, form and executed calls (artist), items of the
    checklist, or the F1 value of completion and economy of steps (f1)"""
    failed_call_cost: float = 0.0
    """subtracted from the reward of an episode with a failed call of a tool"""
    credit: Literal["episode", "turn"] = "episode"
    """compare the rewards of whole episodes, or with tool_reward="checklist" those of the steps with the same number (turn)"""
    standardized: bool = True
    """divide advantages by the standard deviation of the group; False: no division, as in Dr. GRPO, only with advantages="trajectory" """
    advantages: Advantages = "trajectory"
    """baseline of advantages: whole rollouts (trajectory), steps of the group with the same prompt (state), or the sum of both (gigpo)"""
    replayed: int = 0
    """successful episodes replayed per batch, more often of templates that rarely succeed (self-imitation); 0: none"""

    def __post_init__(self) -> None:
        ToolSettings.__post_init__(self)
        GRPOSettings.__post_init__(self)
        expect_least(self, failed_call_cost=0)
        if self.system not in ("env", "none"):
            raise ValueError(
                f"system is {self.system!r}; expected 'env', the only system prompt that describes the tools, or 'none' for a model that learned the calls by cloning"
            )
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
        return super().env_arguments() | rewards

    def agent(self) -> dict[str, Any]:
        """Return the agent record, without the reward."""
        record = super().agent()
        return record | {"keywords": [item for item in record["keywords"] if not item.startswith("reward=")]}


@dataclass(frozen=True, kw_only=True)
class ReptileSettings(GRPOSettings):
    """Reptile over sites: workers train on one site each by M-GRPO, and the shared parameters move towards theirs. An update is a round."""

    loop: ClassVar = "agents.methods.reptile"
    average: float = 0.0
    """0: the shared parameters are saved, and there is no other mean of them"""
    site_updates: int = 4
    """updates of each worker in a round, after which parameters are exchanged"""
    reptile_rate: float = 1.0
    """factor of the mean change of the workers' parameters in a round"""
    reptile_cluster: MayChange[str] = ""
    """run the workers in parallel with Ray, on this machine (local) or on the cluster with this address; by default one after another"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, site_updates=1)
        if not 0 < self.reptile_rate <= 1:
            raise ValueError(f"reptile_rate is {self.reptile_rate}; expected more than 0 and at most 1")
        if self.is_streamed or self.processes > 1:
            raise ValueError(
                "expected no options of streams and processes=1 with Reptile, which has processes of its own: reptile_cluster"
            )
        for name in ("average", "schedule", "step_limits", "save_samples", "save_rollouts"):
            if (value := getattr(self, name)) != (default := getattr(type(self), name)):
                raise ValueError(
                    f"{name} is {value!r}; expected {default!r} with Reptile, whose workers start again in each round, and whose folders are removed"
                )


METHODS: dict[str, type[TrainSettings]] = {
    "grpo": GRPOSettings, "filtered_bc": FilteredBCSettings, "awr": AWRSettings, "digirl": DigiRLSettings,
    "webrl": WebRLSettings, "starpo": StarPOSettings, "structured": StructuredSettings, "tsr": TSRSettings,
    "tool_use": ToolUseSettings, "reptile": ReptileSettings,
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
