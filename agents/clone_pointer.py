"""Behaviour cloning of the pointing policy: a network of a million parameters that chooses acts and copies texts.

`python -m agents.clone_pointer --out runs/pointer` plays the expert and clones it; `python -m agents.evaluate --policy runs/pointer`
scores what was learned.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from tqdm import tqdm

from agents.data.demonstrations import draw_tasks, episodes
from agents.models.pointer.checkpoints import save_pointer
from agents.models.pointer.cloning import CloneSettings, Imitation, clone, decisions_of, sample_wrong
from agents.models.pointer.features import Reader
from agents.settings import EnvSettings, parse_settings
from agents.training.metrics import BAR
from webarena_gym.actions import DIALECTS

_DEFAULTS = {"elements": "id", "window": 20_000, "max_steps": 30}


@dataclass(frozen=True, kw_only=True)
class ClonePointerSettings(EnvSettings, CloneSettings):
    """Clone the expert with a pointing network: play its demonstrations, find the choices that make its actions, and imitate them."""

    out: Path = Path("runs/pointer")
    """folder of the network"""
    worlds: tuple[int, ...] = tuple(range(11, 27))
    """seeds of the worlds that tasks are drawn in; at least two, as words of one world alone are taken for names"""
    per_template: int = 1
    """tasks of each template in each world"""
    templates: tuple[str, ...] = ()
    """only these templates; by default those of the training split"""


def main(arguments: Sequence[str]) -> None:
    """Clone as the command line says."""
    settings = parse_settings(ClonePointerSettings, arguments, _DEFAULTS, program="agents.clone_pointer")
    torch.set_num_threads(settings.threads)
    tasks = draw_tasks(settings.worlds, settings.per_template, templates=settings.templates, variation=settings.variation)
    reader, rng = Reader(), numpy.random.default_rng(settings.seed)
    dialect = DIALECTS["webrl"].naming_by(settings.elements)
    imitations: list[Imitation] = []
    covered = 0
    for task, episode in zip(tasks, episodes(tasks, **settings.env_arguments()), strict=True):
        decisions, is_whole = decisions_of(episode, reader, dialect)
        covered += is_whole and bool(episode)
        imitations += [
            sample_wrong(decision, settings.kept_wrong, rng, str(task.world_seed), task.template) for decision in decisions
        ]
    print(
        f"{len(imitations):,} decisions of {len(tasks):,} tasks, of which {100 * covered / len(tasks):.1f} % can be said whole"
    )
    with tqdm(total=100, unit="%", desc="cloning", bar_format=BAR) as bar:

        def show(progress: float, loss: float) -> None:
            bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
            bar.update(100 * progress - bar.n)

        network, vocabulary = clone(imitations, reader, settings, show)
    save_pointer(settings.out, network, vocabulary, settings.env_arguments())
    print(settings.out)


if __name__ == "__main__":
    main(sys.argv[1:])
