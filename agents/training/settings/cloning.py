"""Settings of behaviour cloning, and of a pointer network's memory."""

from dataclasses import dataclass
from typing import Any, Literal

from agents.command_lines import ChatTemplateKwargs, NewFolder, PresentFile, PresentFolder
from agents.data.demonstrations import SplitSettings
from agents.data.prompts import Style
from agents.data.thoughts import Thoughts
from agents.settings import (
    MayChange,
    OptimizerName,
    PassSettings,
    RunSettings,
    ToolSettings,
    TrainingWorlds,
    expect_least,
)
from agents.training.settings.models import POINTER, SMALL, template_record
from webarena_gym.observation import Elements
from webarena_gym.sites.layout import Variation


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
class ToolCloningSettings(ToolSettings, CloningSettings):
    """Settings of behaviour cloning from demonstrations that may call tools."""

    def __post_init__(self) -> None:
        ToolSettings.__post_init__(self)
        CloningSettings.__post_init__(self)
        if self.mistakes and self.tools:
            raise ValueError(f"mistakes is {self.mistakes} and tools {self.tools}; expected no mistakes with tools")


@dataclass(frozen=True, kw_only=True)
class BCSettings(PassSettings, ToolCloningSettings):
    """Train a language model by behaviour cloning of the expert. The same command resumes an interrupted run from its newest checkpoint."""

    model: str
    """the model to train: a model folder, a name on the Hugging Face Hub, "small" for a new language model of 1.7 million parameters, or
    "pointer" for a new pointer network"""
    updates: MayChange[int] = 2000
    """number of updates of the training; 0 saves the untrained model"""
    demonstrations: PresentFile | None = None
    """file of demonstrations, written by `python -m agents.demonstrations` without --tool-calls; by default the expert plays them"""
    expert_thoughts: Thoughts = "none"
    """thoughts of the expert before each action: none, one sentence, or a long chain with derivations"""
    system: Style = "none"
    """the system prompt: none, act (only an action), think (reasoning before the action), react (short thoughts that remain in the
    conversation), plan (a plan with reflection), or env (that of the env, which describes the actions and the form of answers); cloning
    teaches the actions without a prompt too"""
    max_prompt_tokens: int = 1400
    """steps with longer prompts are left out, since a few long pages would take much of the time"""
    chat_template_kwargs: ChatTemplateKwargs = None
    """variables of the model's chat template, as a JSON object, such as `{"enable_thinking": false}` for replies without reasoning"""
    vocabulary: int = 2048
    """tokens of the small model's tokenizer"""
    width: int = 128
    """hidden size of the small model, or size of a word's embedding in a pointer network"""
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
    """maximum learning rate, after a warmup; it decays to 2 %, or to 3 % for a pointer network"""
    tokens_per_update: int = 3072
    """tokens in one update, including padding, measured before `curriculum` and `thinned` shorten the pages"""
    copy_weight: float = 0.5
    """weight of the loss on repeated tokens within prompts, which teaches a new model to copy"""
    curriculum: float = 0.6
    """fraction of the training in which pages grow from a tenth of their lines to all lines; 0: whole pages from the start"""
    curriculum_power: float = 1.0
    """exponent of the growth; 2 keeps pages short for longer"""
    thinned: float = 0.0
    """fraction of the updates in which pages lack random lines, after the curriculum and until 85 % of the training"""
    focus: float = 0.0
    """train less often on steps that the model predicts well, but at least with this probability; 0: off"""

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
        return {**self.env_record(), "system": self.system, **template_record(self.chat_template_kwargs)}


@dataclass(frozen=True, kw_only=True)
class PointerBCSettings(CloningSettings):
    """Train a pointer network by behaviour cloning of the expert. The same command resumes an interrupted run from its newest checkpoint.

    The network is not a language model: it selects among the possible actions on a page, and composes texts from pieces of pages and goal.
    """

    model: Literal["pointer"] = "pointer"
    """"pointer" for a new pointer network"""
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
    """hidden size of the small model, or size of a word's embedding in a pointer network"""
    hidden: int = 96
    """hidden size of the scorers"""
    dropout: float = 0.1
    """dropout rate of embeddings and hidden units"""
    learning_rate: float = 4e-3
    """maximum learning rate, after a warmup; it decays to 2 %, or to 3 % for a pointer network"""
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
