"""Behaviour cloning of a pointing network: `python -m agents.train_bc --model pointer`.

The expert plays, each of its actions becomes decisions among the candidates of its page, and the network learns to decide so.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy
import torch

from agents.data.demonstrations import draw_tasks
from agents.data.splitting import SplitSettings
from agents.models.checkpoints import Checkpoint, begin, save_checkpoint
from agents.models.pointer.checkpoints import load_pointer
from agents.models.pointer.cloning import Imitation, build_vocabulary, imitation_logprobs, thinned
from agents.models.pointer.features import Reader
from agents.models.pointer.network import PointerNetwork, Vocabulary
from agents.settings import EnvSettings, MayChange, RunSettings, TaskSettings, build
from agents.training.metrics import Metrics
from agents.training.pointer_demonstrations import collect
from agents.training.pointing_networks import PointingNetwork
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tasks.suite import PARTS

POINTER = "pointer"
DEFAULTS: dict[str, Any] = {"elements": "id", "window": 20_000, "max_steps": 30, "updates": 600, "per_template": 1}
"""Defaults of the command where they are not those of the dataclasses; pages are read whole, and elements by their numbers."""
_WARMUP = 20  # updates in which the learning rate rises


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


def train_pointer(settings: PointerBCSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn unless given, and played by the expert."""
    run, decisions = settings.run, settings.decisions
    torch.set_num_threads(run.threads or PointingNetwork.threads)
    last = begin(settings, run.out)
    update, elapsed_s = (last.update, float(last.progress()["elapsed_s"])) if last else (0, 0.0)
    if last and run.progress(update, elapsed_s) >= 1:
        return last.path
    reader = Reader()
    items, coverage = collect_decisions(draw(settings) if tasks is None else tasks, settings, reader)
    network, vocabulary = _start(settings, reader, items, last)
    optimizer = torch.optim.AdamW(
        network.parameters(), decisions.learning_rate, betas=(0.9, 0.99), weight_decay=decisions.weight_decay
    )
    if last:
        last.restore(optimizer)

    def save() -> Path:
        progress = {"elapsed_s": elapsed_s}
        return save_checkpoint(run.out, update, network, vocabulary, optimizer, progress, settings.env.env_arguments()).path

    network.train()
    with Metrics(run.out, update, "cloning") as metrics:
        progress = run.progress(update, elapsed_s)
        while progress < 1:
            started_s = time.perf_counter()
            # What is random in an update comes from its number, so a resumed run draws the same.
            rng = numpy.random.default_rng([run.seed, update])
            torch.manual_seed(rng.integers(2**62))
            chosen = [thinned(items[index], decisions.wrong_drawn, rng) for index in _indices(settings, len(items), update)]
            rate = decisions.learning_rate * min(1.0, (update + 1) / _WARMUP) * max(0.03, 1 - progress)
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = -imitation_logprobs(network, reader, vocabulary, chosen).mean()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(network.parameters(), decisions.max_grad_norm)
            optimizer.step()
            update, elapsed_s = update + 1, elapsed_s + time.perf_counter() - started_s
            progress = run.progress(update, elapsed_s)
            values = {"loss": loss.item(), "grad_norm": norm.item(), "decisions": len(chosen), "coverage": coverage}
            metrics.log(update, {**values, "learning_rate": rate, "elapsed_s": elapsed_s})
            metrics.show(progress, f"loss {values['loss']:.3f}")
            if update % run.save_every == 0 and progress < 1:
                save()
    return save()


def collect_decisions(tasks: Sequence[Task], settings: PointerBCSettings, reader: Reader) -> tuple[list[Imitation], float]:
    """Return the expert's decisions on the tasks and in the worlds with layouts, and the share of episodes that they express whole."""
    own, env = settings.tasks, settings.env.env_arguments()
    parts = [(tasks, env), (_draw(settings, own.layout_worlds, "layout"), {**env, "variation": "layout"})]
    items: list[Imitation] = []
    expressed = count = 0
    for part, arguments in parts:
        if part:
            found = collect(
                part,
                reader,
                detours=own.detours,
                mistakes=own.mistakes,
                split=settings.split,
                wrong_kept=settings.decisions.wrong_kept,
                seed=settings.run.seed,
                **arguments,
            )
            items += found.items
            expressed, count = expressed + found.expressed, count + found.episodes
    if not items:
        raise ValueError(f"none of the {count} episodes has a decision to imitate")
    return items, expressed / count


def draw(settings: PointerBCSettings) -> list[Task]:
    """Return the tasks of the settings; with `one_world_each` each template has tasks in one world."""
    return _draw(settings, settings.tasks.worlds, settings.env.variation)


def _draw(settings: PointerBCSettings, worlds: Sequence[int], variation: Variation) -> list[Task]:
    own = settings.tasks
    if not own.one_world_each:
        return draw_tasks(worlds, own.per_template, templates=own.templates, variation=variation)
    names = own.templates or tuple(name for part in PARTS.values() for name in part.names("train"))
    shares = [(world, names[place :: len(worlds)]) for place, world in enumerate(worlds)]
    return [
        task
        for world, share in shares
        if share
        for task in draw_tasks([world], own.per_template, templates=share, variation=variation)
    ]


def _start(
    settings: PointerBCSettings, reader: Reader, items: Sequence[Imitation], last: Checkpoint | None
) -> tuple[PointerNetwork, Vocabulary]:
    """Return the network to train, with dropout, and its words: those of a checkpoint or of another run, or new ones."""
    own, source = settings.pointer, last.path if last else settings.run.begin_with
    saved, vocabulary = load_pointer(source) if source else (None, build_vocabulary(reader, items))
    if saved is not None and saved.memory is not None:
        raise ValueError(f"{source} reads a memory of steps; expected a network without, as demonstrations recall nothing")
    torch.manual_seed(settings.run.seed)
    width, hidden = (saved.width, saved.hidden) if saved else (own.width, own.hidden)
    network = PointerNetwork(len(vocabulary), width, hidden, own.dropout, own.embedding_scale)
    if saved is not None:
        network.load_state_dict(saved.state_dict())
    return network, vocabulary


def _indices(settings: PointerBCSettings, count: int, update: int) -> list[int]:
    """Return the decisions of an update: all of them in random order, epoch after epoch, without end."""
    size = min(settings.decisions.decisions_per_update, count)
    places = range(update * size, (update + 1) * size)
    orders = {
        epoch: random.Random(f"{settings.run.seed}/{epoch}").sample(range(count), count)
        for epoch in {place // count for place in places}
    }
    return [orders[place // count][place % count] for place in places]
