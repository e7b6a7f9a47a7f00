"""Settings of reinforcement, cloning, averaging and remembering, and of other libraries' trainers. To refuse one, torch is not needed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agents.data.demonstrations import SplitSettings
from agents.data.prompts import Style
from agents.data.thoughts import Thoughts
from agents.settings import EnvSettings, MayChange, OptimizerName, Processes, RunSettings, TaskSettings, build

SMALL = "small"
POINTER = "pointer"
DEFAULTS: dict[str, Any] = {"elements": "id", "window": 20_000, "max_steps": 30, "updates": 600, "per_template": 1}
"""Defaults of the command where they are not those of the dataclasses; pages are read whole, and elements by their numbers."""


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings:
    """Prompts and replies of a language model, and the computation of its passes."""

    elements: Literal["label", "id"] = "label"
    """how actions name elements: by visible label, or by the numbers in the page"""
    history: Literal["compressed", "none", "full"] = "compressed"
    """what becomes of earlier pages: a placeholder each, nothing, or kept whole"""
    thoughts: bool = False
    """keep the thoughts of earlier replies in the history"""
    window: int = 12_000
    """characters of a page shown at once"""
    system: Style = "none"
    """the system prompt: none, act (the action alone) or think (reason first)"""
    constrained: bool = False
    """allow only well-formed actions on elements of the page, with spans of the goal or the page as arguments"""
    max_new_tokens: int = 64
    """longest reply"""
    max_prompt_tokens: int = 4096
    """a longer prompt ends the episode with reward 0"""
    contexts: Literal["sampled", "released"] = "sampled"
    """train each action in the context it was sampled in, or, as an ablation, with the page that it answers replaced by the
    placeholder, as WebAgent-R1's released trainer does"""
    correction: Literal["none", "token", "sequence_mask"] = "none"
    """importance weights for a sampler that is not the trainer: per token, cut at 2; or of the response, dropped past 2"""
    num_envs: MayChange[int] = 64
    """episodes played at the same time"""
    tokens_per_pass: MayChange[int] = 16_384
    """tokens in one forward pass, padding included"""
    sharing: MayChange[Literal["auto", "rows", "tree"]] = "auto"
    """compute what samples share once: wherever that is cheaper, never (rows), or always (tree)"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """of the training's forward and backward passes; weights, gradients and optimizer stay float32"""
    gradient_checkpointing: MayChange[bool] = False
    """compute the layers again in the backward pass instead of keeping them: slower, in less memory"""
    lora_rank: int = 0
    """train low-rank adapters of this rank instead of the weights; 0: the weights"""
    vllm: MayChange[str] = ""
    """address of a vLLM server to sample on, such as http://127.0.0.1:8000; else the model samples in this process"""


OF_LANGUAGE_MODELS: Mapping[str, Any] = {
    "group_size": 16,
    "epochs": 1,
    "minibatches": 1,
    "learning_rate": 3e-4,
    "average": 0.0,
    "replayed": 0,
    "groups_remembered": 2,
    "old_logprobs": "sampled",
}
"""Defaults of a language model's training, where they are not those of a pointing network's."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings(RunSettings, TaskSettings):
    """Settings of all methods of reinforcement."""

    model: str
    """a model folder, a run of train_bc (of a language model or a pointing network), or a Hugging Face name"""
    cpu_minutes: MayChange[float] = 0.0
    """train for so much CPU time of all processes; 0: for `minutes` or `updates`"""
    env_steps: MayChange[int] = 0
    """train for so many env steps, those of searches and continuations included; 0: for `cpu_minutes`, `minutes` or `updates`"""
    save_samples: MayChange[bool] = False
    """keep what each update trains on, as samples/<update>.parquet in the run's folder"""
    save_rollouts: MayChange[int] = 0
    """keep the rollouts of every so many updates for the report, as rollouts/<update>.jsonl.gz in the run's folder; 0: of none"""
    variation: Literal["content", "layout"] = "content"
    """how worlds differ: in what is on the sites, or also in how the sites are built"""
    max_steps: int = 15
    """steps after which an episode is cut off"""
    step_limits: tuple[int, ...] = ()
    """growing step limits of equal parts of the training, such as 10 20 40 (KLong, arXiv 2602.17547); by default max_steps in all of it"""
    temperature: float = 1.0
    """of sampling; log-probabilities are computed at the same"""
    tasks_per_update: int = 16
    """groups in one batch of rollouts"""
    group_size: int = 8
    """rollouts of each task, all from one seed"""
    dynamic_sampling: int = 1
    """play up to so many times tasks_per_update groups until that many are mixed; 1: take groups as they come"""
    processes: MayChange[Processes] = 1
    """processes that play and learn side by side on a CPU, each with a copy of the model and one thread; 0: one for each core where the
    model is small; with more than one, equal runs differ in the last bits of what the model computes"""
    epochs: int = 2
    """passes over a batch of rollouts"""
    minibatches: int = 4
    """updates in one pass"""
    learning_rate: float = 5e-4
    """learning rate of the first update"""
    schedule: Literal["constant", "linear"] = "constant"
    """keep the learning rate, or let it fall to 0 over the training"""
    max_grad_norm: float = 1.0
    """largest norm of an update's gradient, which is scaled down to it"""
    average: float = 0.97
    """decay of a running mean of the parameters, which is saved and used instead of them; 0: the parameters themselves"""
    language: LanguageModelSettings = field(default_factory=LanguageModelSettings)

    def __post_init__(self) -> None:
        RunSettings.__post_init__(self)
        TaskSettings.__post_init__(self)
        if self.save_rollouts < 0:
            raise ValueError(f"save_rollouts is {self.save_rollouts}; expected 0, or from how many updates one is kept")
        budgets = {name: getattr(self, name) for name in ("env_steps", "cpu_minutes", "minutes")}
        if min(budgets.values()) < 0 or sum(map(bool, budgets.values())) > 1:
            said = ", ".join(f"{name}={value}" for name, value in budgets.items())
            raise ValueError(f"{said}; expected at least 0, and one of them at most")
        if not 0 <= self.average < 1:
            raise ValueError(f"average is {self.average}; expected at least 0 and less than 1")
        limits = list(self.step_limits)
        if min(limits, default=1) < 1 or limits != sorted(limits):
            raise ValueError(f"step_limits={self.step_limits}; expected positive numbers, none smaller than the one before")
        if max(limits, default=0) > self.max_steps:
            raise ValueError(f"step_limits={self.step_limits}; expected none above max_steps={self.max_steps}")

    def trained(self, update: int, elapsed_s: float, spent: Mapping[str, float]) -> float:
        """Return the part of the training that is done, as `progress` does, by what was spent as well."""
        for name in ("env_steps", "cpu_minutes"):
            if budget := getattr(self, name):
                return spent.get(name, 0.0) / float(budget)
        return self.progress(update, elapsed_s)

    def limit(self, progress: float) -> int | None:
        """Return the step limit at a part of the training, None for the env's own."""
        if not self.step_limits:
            return None
        return self.step_limits[min(int(progress * len(self.step_limits)), len(self.step_limits) - 1)]

    def env(self) -> EnvSettings:
        """Return how the environment shows its pages."""
        own = self.language
        return EnvSettings(
            variation=self.variation,
            max_steps=self.max_steps,
            elements=own.elements,
            history=own.history,
            thoughts=own.thoughts,
            window=own.window,
        )

    def agent(self) -> dict[str, Any]:
        """Return how the trained model is to be used."""
        own = self.language
        replies = {"system": own.system, "max_new_tokens": own.max_new_tokens, "constrained": own.constrained}
        return {**self.env().env_arguments(), **replies}


@dataclass(frozen=True, kw_only=True)
class BCRunSettings(RunSettings):
    """Model, folder, length and checkpoints of a run."""

    model: str = SMALL
    """"small" builds a model and its tokenizer from nothing, "pointer" a pointing network, which has options of its own; else a
    Hugging Face name or folder"""
    updates: MayChange[int] = 2000
    """train for so many updates, unless `minutes` is given; 0 saves a new model untrained"""
    save_every: MayChange[int] = 200
    """updates between checkpoints"""


@dataclass(frozen=True, kw_only=True)
class DataSettings(TaskSettings):
    """Demonstrations: the expert's replies in tasks that are drawn, or a file."""

    demonstrations: Path | None = None
    """file of demonstrations to learn from, as `python -m agents.demonstrations` writes them; by default the expert plays anew"""
    expert_thoughts: Thoughts = "none"
    """what the expert thinks before it acts: nothing, a sentence, or a long chain that shows its working"""
    mistakes: float = 0.0
    """above 0, the expert plays each task once more and takes a wrong step before one of its own with this probability, and undoes it
    (WebCoT); wrong steps are seen, and not learned"""
    system: Style = "none"
    """the system prompt: none, act (the action alone) or think (reason first)"""
    max_prompt_tokens: int = 1400
    """demonstrated steps with a longer prompt are left out: few pages would take much of the time"""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The small model, where one is built."""

    vocabulary: int = 2048
    """tokens of the small model's tokenizer"""
    width: int = 128
    """hidden size of the small model"""
    layers: int = 4
    """layers of the small model"""
    heads: int = 4
    """attention heads of the small model"""
    inserted_layers: int = 0
    """new layers behind the first one of a small model that training goes on with; they change nothing until they are trained"""
    practice: int = 80
    """updates of copying random sequences before the small model sees a page"""


@dataclass(frozen=True, kw_only=True)
class OptimizationSettings:
    """Updates of the model."""

    optimizer: OptimizerName = "adamw"
    """adamw for all weights, or muon for the matrices of the layers, which learned more from as many pages in long runs, and less in short ones"""
    learning_rate: float = 2e-3
    """highest learning rate"""
    warmup: float = 0.03
    """part of the training in which the learning rate rises"""
    final_rate: float = 0.02
    """what is left of the learning rate at the end of the cosine"""
    weight_decay: float = 0.01
    """weight decay"""
    max_grad_norm: float = 1.0
    """gradients are scaled down to this norm"""
    tokens_per_update: int = 3072
    """tokens in one update, padding included, reckoned with whole pages: while pages are thinned, an update has fewer"""
    tokens_per_pass: MayChange[int] = 16_384
    """tokens in one forward pass; an update of more is accumulated"""
    copy_weight: float = 0.5
    """weight of predicting, in the pages themselves, what stood there before: it teaches to copy; 0 for pretrained models"""


@dataclass(frozen=True, kw_only=True)
class CurriculumSettings:
    """Curriculum of pages and steps."""

    curriculum: float = 0.6
    """part of the training in which pages grow from a tenth of their lines to whole ones; 0: whole from the start"""
    curriculum_power: float = 1.0
    """pages grow with this power of that part's progress; 2 keeps them small for longer, and so more of them are seen"""
    thinned: float = 0.0
    """part of the updates that see thinned pages after the curriculum too, until 0.85 of the training is done"""
    focus: float = 0.0
    """above 0, the better a kind of step is known the fewer are taken, but each with this probability at least; a step's kind is
    its task's template and how many of the episode's steps its prompt shows"""


@dataclass(frozen=True, kw_only=True)
class BCSettings:
    """Train a model to imitate the expert on drawn tasks. A run that was killed is resumed from its newest checkpoint."""

    run: BCRunSettings
    data: DataSettings = field(default_factory=DataSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    env: EnvSettings = field(default_factory=EnvSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    optimization: OptimizationSettings = field(default_factory=OptimizationSettings)
    pace: CurriculumSettings = field(default_factory=CurriculumSettings)

    def __post_init__(self) -> None:
        if self.run.model == POINTER:
            raise ValueError(f"model={POINTER!r} has settings of its own; expected PointerBCSettings")
        if self.data.demonstrations and (self.data.mistakes or self.split.piece_steps):
            raise ValueError(
                f"mistakes={self.data.mistakes} and piece_steps={self.split.piece_steps} are of episodes that the expert plays; expected 0 "
                f"of both with demonstrations={str(self.data.demonstrations)!r}"
            )
        if self.pace.focus and not self.optimization.copy_weight:
            raise ValueError(f"focus={self.pace.focus} draws single steps, but with copy_weight=0 whole episodes are learned")
        if self.network.inserted_layers and self.run.model == SMALL:
            raise ValueError(
                f"inserted_layers={self.network.inserted_layers} needs a trained model; a new one has layers={self.network.layers}"
            )

    def agent(self) -> dict[str, Any]:
        """Return how the trained model is to be used."""
        return {**self.env.env_arguments(), "system": self.data.system}


@dataclass(frozen=True, kw_only=True)
class PointerRunSettings(RunSettings):
    """Folder and length of a run."""

    model: Literal["pointer"] = "pointer"
    """a pointing network"""
    begin_with: MayChange[Path | None] = None
    """a run or folder of a network to train on, with its size and words; by default a new one"""
    save_every: MayChange[int] = 200
    """updates between checkpoints"""


@dataclass(frozen=True, kw_only=True)
class PointerTaskSettings(TaskSettings):
    """Tasks that the expert plays."""

    one_world_each: bool = False
    """draw each template in one of the worlds only, in turn, instead of in all of them; words are learned if two worlds have them"""
    layout_worlds: tuple[int, ...] = ()
    """seeds of further worlds, each with a layout of its own, that tasks come from"""
    detours: float = 0.0
    """probability that a wrong link is tried before one of the expert's: the network learns to go back, and not to try it again"""
    mistakes: float = 0.0
    """above 0, the expert plays each task once more and takes a wrong step before one of its own with this probability, and undoes it
    (WebCoT): the network learns the steps that undo it, and those that follow"""

    def __post_init__(self) -> None:
        for name in ("detours", "mistakes"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}; expected at least 0 and less than 1")
        if self.detours and self.mistakes:
            raise ValueError(
                f"detours={self.detours} and mistakes={self.mistakes}; expected one of them at most, as mistakes have detours"
            )


@dataclass(frozen=True, kw_only=True)
class PointerSettings:
    """The pointing network."""

    width: int = 48
    """size of a word's embedding"""
    hidden: int = 96
    """hidden size of the scorers"""
    dropout: float = 0.1
    """of embeddings and hidden units, in cloning"""
    embedding_scale: float = 0.5
    """standard deviation of new embeddings"""


@dataclass(frozen=True, kw_only=True)
class DecisionSettings:
    """Updates of the network on decisions."""

    learning_rate: float = 4e-3
    """highest learning rate; it rises for some updates and then falls to 3 % of it"""
    weight_decay: float = 0.05
    """AdamW's weight decay"""
    max_grad_norm: float = 1.0
    """gradients are scaled down to this norm"""
    decisions_per_update: int = 64
    """decisions in one update"""
    wrong_kept: int = 1_500
    """wrong candidates of a decision that are kept in memory"""
    wrong_drawn: int = 150
    """wrong candidates of a decision that an update sees, drawn anew each time; each stands for several"""


@dataclass(frozen=True, kw_only=True)
class PointerBCSettings:
    """Train a pointing network to imitate the expert on drawn tasks. A run that was killed is resumed from its newest checkpoint.

    The network is no language model: it chooses among the acts that a page offers, and builds texts of pieces that it has read.
    """

    run: PointerRunSettings
    tasks: PointerTaskSettings = field(default_factory=PointerTaskSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    env: EnvSettings = field(default_factory=EnvSettings)
    pointer: PointerSettings = field(default_factory=PointerSettings)
    decisions: DecisionSettings = field(default_factory=DecisionSettings)

    def __post_init__(self) -> None:
        if self.env.elements != "id":
            raise ValueError(
                f"elements={self.env.elements!r}; expected 'id', as a pointing network names elements by their numbers"
            )


def make_settings(**options: Any) -> PointerBCSettings:
    """Return settings from options by name; those of `DEFAULTS` come before the dataclasses' own. Raises ValueError for others."""
    return build(PointerBCSettings, **{**DEFAULTS, **options})


@dataclass(frozen=True, kw_only=True)
class AverageSettings:
    """Write the mean of models that were trained from the same one, such as runs of M-GRPO with several seeds.

    Changes that all runs share are kept; changes of a single run are divided by the number of runs. The result has the size of one model.
    """

    models: tuple[str, ...]
    """model folders or runs, whose newest checkpoints count"""
    out: Path
    """folder of the new model"""


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """The memory, and how its read is cloned."""

    size: int = 4_096
    """steps that are kept, the newest"""
    nearest: int = 8
    """stored steps that are read at each step"""
    read_updates: int = 300
    """updates of the read, each on 64 decisions"""
    read_learning_rate: float = 0.02
    """Adam's learning rate of the read"""

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("nearest", 1), ("read_updates", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least {least}")


@dataclass(frozen=True, kw_only=True)
class SB3Settings(RunSettings):
    """Train PPO on candidate actions. A run that was killed resumes from its newest save; episodes under way start again."""

    algorithm: Literal["ppo", "maskable_ppo"] = "maskable_ppo"
    """PPO of Stable-Baselines3, or masked PPO of sb3-contrib"""
    out: MayChange[Path] = Path("runs/sb3")
    """folder of the run: the model as the library's zip, metrics, TensorBoard"""
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
    """of Adam"""
    discount: float = 0.95
    """of the reward for each step; below 1, so that short ways are worth more"""
    entropy_weight: float = 0.01
    """of the bonus for trying things"""
    width: int = 64
    """units of each layer of the policy"""
    prior: float = 4.0
    """weight of what a candidate has to do with the goal in its score, to begin with; 0: all candidates are equally likely"""
    save_every: MayChange[int] = 20
    """updates between saves"""
    tasks: TaskSettings = field(default_factory=TaskSettings)
    env: EnvSettings = field(default_factory=EnvSettings)

    def agent(self) -> dict[str, Any]:
        """Return how the trained model is to be used."""
        return {**self.env.env_arguments(), "algorithm": self.algorithm, "candidates": self.candidates}
