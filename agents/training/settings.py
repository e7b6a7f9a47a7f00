"""Settings of cloning, averaging and remembering, and of other libraries' trainers. To refuse one, torch is not needed."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agents.data.demonstrations import SplitSettings
from agents.data.prompts import Style
from agents.data.thoughts import Thoughts
from agents.settings import EnvSettings, MayChange, OptimizerName, RunSettings, TaskSettings, build

SMALL = "small"
POINTER = "pointer"
DEFAULTS: dict[str, Any] = {"elements": "id", "window": 20_000, "max_steps": 30, "updates": 600, "per_template": 1}
"""Defaults of the command where they are not those of the dataclasses; pages are read whole, and elements by their numbers."""


@dataclass(frozen=True, kw_only=True)
class BCRunSettings(RunSettings):
    """Where a run begins and is kept, how long it is, and how often it is saved."""

    model: str = SMALL
    """"small" builds a model and its tokenizer from nothing, "pointer" a pointing network, which has options of its own; else a
    Hugging Face name or folder"""
    updates: MayChange[int] = 2000
    """train for so many updates, unless `minutes` is given; 0 saves a new model untrained"""
    save_every: MayChange[int] = 200
    """updates between checkpoints"""


@dataclass(frozen=True, kw_only=True)
class DataSettings(TaskSettings):
    """What is imitated: the expert's replies in tasks that are drawn, or a file of demonstrations."""

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
    """How the model is updated."""

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
    """Which pages and steps come when."""

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
    """Where a run is kept, and how long it is."""

    model: Literal["pointer"] = "pointer"
    """a pointing network"""
    begin_with: MayChange[Path | None] = None
    """a run or folder of a network to train on, with its size and words; by default a new one"""
    save_every: MayChange[int] = 200
    """updates between checkpoints"""


@dataclass(frozen=True, kw_only=True)
class PointerTaskSettings(TaskSettings):
    """Which tasks the expert plays."""

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
    """How the network is updated on decisions."""

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
