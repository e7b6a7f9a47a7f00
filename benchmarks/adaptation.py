"""How fast an agent learns a site that it has never seen: `python -m benchmarks.adaptation --site reddit --json`.

After AdaptAgent (arXiv 2411.13451), which adapts agents to new sites with one or two demonstrations: a pointing network is cloned from
demonstrations of all other sites, then trained on with 0, 1, 2 and 5 demonstrations of the site, and measured on other tasks of the site.
The paper adapts by meta-learning, or in context for models that it cannot train; here it is plain fine-tuning. The last line is one
JSON object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agents.settings import parse_settings
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import make_settings
from benchmarks.playing import MAX_STEPS, ResultSettings, hand_over, play, rewards, side_by_side, some
from benchmarks.rows import Measured, print_rows, rows, suite_tasks
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.tasks import Task
from webarena_gym.tasks.suite import PARTS


@dataclass(frozen=True, kw_only=True)
class AdaptationSettings(ResultSettings):
    """Clone on all sites but one, and learn the one from few demonstrations."""

    site: str = "reddit"
    """the site that is left out of cloning, as template names begin"""
    out: Path = Path("runs/adaptation")
    """folder of all runs and episodes"""
    demonstrations: tuple[int, ...] = (0, 1, 2, 5)
    """tasks of the site that are demonstrated, of as many templates"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """of the cloning, and of the choice of demonstrations"""
    cloning_updates: int = 1200
    """updates of cloning"""
    worlds: tuple[int, ...] = (11, 12, 13, 14)
    """worlds of the cloning; each template is demonstrated in one of them"""
    updates: int = 60
    """updates of fine-tuning"""
    learning_rate: float = 1e-3
    """of fine-tuning"""
    demonstration_world: int = 15
    """world of the demonstrations of the site"""
    split: str = "test"
    """part of the suite whose tasks of the site are played"""
    test_worlds: tuple[int, ...] = (2203,)
    """worlds in which its templates are played as well"""
    limit: int | None = None
    """play so many tasks only"""
    jobs: int = 1
    """seeds at the same time"""


def run(settings: AdaptationSettings) -> dict[str, Any]:
    """Train and play what is not there yet, and return a row for each number of demonstrations."""
    tasks = _held_out(settings)
    if not _templates(settings, of_site=True) or not tasks:
        sites = sorted({name.partition(".")[0] for part in PARTS.values() for name in part.names("train")})
        raise ValueError(f"site is {settings.site!r}; expected one of {', '.join(sites)}")
    found = side_by_side(adapt, [(settings, seed) for seed in settings.seeds], settings.jobs)
    titles = [f"after {count} demonstrations" for count in settings.demonstrations]
    measured = [Measured(title, [each[number] for each in found]) for number, title in enumerate(titles)]
    return {"rows": rows(measured, tasks), "site": settings.site, "seeds": settings.seeds}


def adapt(settings: AdaptationSettings, seed: int) -> list[list[float]]:
    """Return the reward of each task after each number of demonstrations. Fewer demonstrations are the first of more."""
    out = settings.out / f"{settings.site}_{seed}"
    cloned = train_pointer(
        make_settings(
            out=out / "clone",
            seed=seed,
            threads=1,
            updates=settings.cloning_updates,
            templates=_templates(settings, of_site=False),
            worlds=settings.worlds,
            one_world_each=True,
        )
    )
    own = _templates(settings, of_site=True)
    chosen = Random(seed).sample(own, min(max(settings.demonstrations), len(own)))
    shown = [task_suite.draw([name], world_seed=settings.demonstration_world, count=1)[0] for name in chosen]
    return [_after(settings, out, cloned, shown[:count], seed) for count in settings.demonstrations]


def _after(settings: AdaptationSettings, out: Path, cloned: Path, shown: Sequence[Task], seed: int) -> list[float]:
    """Return the reward of each task after these demonstrations."""
    tuned = cloned
    if shown:
        options = {"updates": settings.updates, "learning_rate": settings.learning_rate, "decisions_per_update": 16}
        tuned = train_pointer(
            make_settings(out=out / f"tuned_{len(shown)}", seed=seed, threads=1, begin_with=cloned, **options), shown
        )
    file = out / "episodes" / f"{len(shown)}.jsonl"
    return rewards(play(str(tuned), _held_out(settings), file, max_steps=MAX_STEPS))


def _templates(settings: AdaptationSettings, *, of_site: bool) -> tuple[str, ...]:
    """Return the training templates of the site, or those that need none of it."""
    names = [name for part in PARTS.values() for name in part.names("train")]
    if of_site:
        return tuple(name for name in names if name.startswith(f"{settings.site}."))
    needing = {task.template for task in task_suite.load("train") if settings.site in task.sites}
    return tuple(name for name in names if name not in needing and not name.startswith(f"{settings.site}."))


def _held_out(settings: AdaptationSettings) -> list[Task]:
    tasks = suite_tasks(settings.split, settings.test_worlds, None)
    return some([task for task in tasks if task.template.startswith(f"{settings.site}.")], settings.limit)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(AdaptationSettings, arguments, program="benchmarks.adaptation")
    result = run(settings)
    print_rows(result["rows"])
    hand_over("adaptation", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.adaptation", main)
