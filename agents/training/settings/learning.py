"""Settings of reinforcement learning: budgets, groups, updates, streams of rollouts, and M-GRPO."""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal, get_args

from agents.command_lines import Processes
from agents.settings import MayChange, RunSettings, expect_least
from agents.training.settings.models import ModelSettings, OldLogprobs
from webarena_gym.arguments import expect_one_of


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


@dataclass(frozen=True, kw_only=True)
class StreamedRunSettings(StreamSettings, RunSettings):
    """A run with the options of streams."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings(ModelSettings, StreamedRunSettings):
    """Settings of all reinforcement learning methods."""

    budgets: ClassVar[tuple[str, ...]] = ("env_steps", *RunSettings.budgets)
    loop: ClassVar[str] = "agents.grpo"
    trainer: ClassVar[str]
    """the method's class, in the form of `pkgutil.resolve_name`"""
    env_steps: MayChange[int] = 0
    """train for this many env steps, including searches and continuations, instead of `updates`; 0: not used"""
    save_samples: MayChange[bool] = False
    """write the training samples of each update to samples/<update>.parquet in the run's folder"""
    save_rollouts: MayChange[int] = 0
    """interval in updates at which rollouts are written for the report, to rollouts/<update>.jsonl.gz in the run's folder; 0: never"""
    step_limits: tuple[int, ...] = ()
    """limits of the steps of an episode that grow during the training: each holds for an equal part of it, such as 10 20 40 (KLong, arXiv
    2602.17547); by default, `max_steps` holds throughout"""
    tasks_per_update: int = 16
    """groups in one batch of rollouts"""
    group_size: int = 8
    """rollouts of each task, all from one seed; methods whose advantages compare them need at least 2"""
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
        expect_least(self, save_rollouts=0, group_size=1, tasks_per_update=1)
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
    """weights of tokens in the loss; token_mean: all tokens are weighted equally; paper: average over tokens, then steps, then trajectories;
    constant: the same, but divide by 15 instead of the number of steps; dr_grpo: divide the sum over the tokens of a trajectory by 1,024
    instead of their number"""
    seek_mixed: bool = True
    """draw more often from templates that neither always succeed nor always fail"""
    groups_remembered: int = 5
    """number of groups in the running mean of a template's success, which `seek_mixed` and `replayed` use; with more groups, the mean varies
    less and follows changes later"""
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
        if self.group_size < 2 and self.advantages != "forks" and not self.distilled:
            raise ValueError(
                f"group_size is {self.group_size}; expected at least 2, since advantages compare rollouts of a task"
            )
        if self.replayed and self.old_logprobs == "sampled":
            # Ratios to the log-probabilities of much older policies would be clipped.
            raise ValueError(f"replayed is {self.replayed} and old_logprobs 'sampled'; expected 'recomputed'")

    @property
    def needs_local_envs(self) -> bool:
        return self.advantages == "forks"
