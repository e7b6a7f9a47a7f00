"""Behaviour cloning of a pointing network: `python -m agents.train_bc --model pointer`.

The expert plays, each of its actions becomes decisions among the candidates of its page, and the network learns to decide so.
"""

import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy
import torch

from agents.data.demonstrations import draw_tasks
from agents.models.checkpoints import Checkpoint, begin, save_checkpoint
from agents.models.pointer.cloning import Imitation, build_vocabulary, imitation_logprobs, thinned
from agents.models.pointer.network import PointerNetwork, Vocabulary, load_pointer
from agents.models.pointer.reader import Reader
from agents.training.metrics import Metrics
from agents.training.pointer_demonstrations import collect
from agents.training.pointing_networks import THREADS
from agents.training.settings import (
    PointerBCSettings,
)
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task
from webarena_gym.tasks.suite import PARTS

_WARMUP = 20  # updates in which the learning rate rises


def train_pointer(settings: PointerBCSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the last checkpoint. Tasks are drawn unless given, and played by the expert."""
    run, decisions = settings.run, settings.decisions
    torch.set_num_threads(run.threads or THREADS)
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
