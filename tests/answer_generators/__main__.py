"""Command: let the judge compare generated answers, and count wrong ones that it accepts and right ones that it rejects."""

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module

from tests.answer_generators import LETTERS, Sample, TaskView
from webarena_gym.evaluators import is_right_answer
from webarena_gym.suite import STANDARD, load
from webarena_gym.tasks import Task


def tasks_with_views(
    world_seeds: Iterable[int | None], splits: Iterable[str] = (*STANDARD, "pool")
) -> list[tuple[Task, TaskView]]:
    """Return the tasks of splits that have a reference answer, in the given worlds (None: the bundled tasks), as generators see them."""
    of_template: dict[str, list[tuple[Task, str]]] = defaultdict(list)
    for seed in world_seeds:
        for split in splits:
            for task in load(split, world_seed=seed):
                reference = (task.eval.get("reference_answers") or {}).get("fuzzy_match")
                if isinstance(reference, str):
                    of_template[task.template].append((task, reference))
    views: list[tuple[Task, TaskView]] = []
    for drawn in of_template.values():
        references = tuple(dict.fromkeys(reference for _, reference in drawn))
        for task, reference in drawn:
            others = tuple(other for other in references if other != reference)
            views.append((task, TaskView(task.intent, reference, task.eval.get("asked", {}), others)))
    return views


def mistakes(letter: str, views: Iterable[tuple[Task, TaskView]], rng: random.Random) -> Iterator[tuple[Task, Sample, bool]]:
    """Yield a task, a generated answer, and True if the judge's verdict is not the generator's label."""
    generate = import_module(f"tests.answer_generators.{letter}").generate
    for task, view in views:
        for sample in generate(rng, view):
            yield task, sample, is_right_answer(task.eval, task.intent, sample.answer) != sample.is_right


def main(arguments: list[str] | None = None) -> int:
    """Print the counts of each generator, and up to `--show` mistakes of each kind. Return 1 if a share is above its bound."""
    parser = argparse.ArgumentParser(prog="python -m tests.answer_generators", description=__doc__)
    parser.add_argument("--letters", nargs="+", choices=LETTERS, default=LETTERS, help="generators")
    parser.add_argument(
        "--worlds", nargs="+", type=int, default=[None], metavar="SEED", help="world seeds (default: the bundled tasks)"
    )
    parser.add_argument(
        "--answers", type=int, default=10_000, metavar="N", help="generated answers of each generator, at least"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the generators")
    parser.add_argument("--show", type=int, default=2, metavar="N", help="mistakes of each kind to print")
    options = parser.parse_args(arguments)
    views = tasks_with_views(options.worlds)
    is_bad = False
    for letter in options.letters:
        rng = random.Random(f"{letter} {options.seed}")
        rng.shuffle(views)
        totals: Counter[bool] = Counter()
        wrong: Counter[tuple[bool, str]] = Counter()
        for task, sample, is_mistake in mistakes(letter, views, rng):
            totals[sample.is_right] += 1
            if is_mistake:
                wrong[sample.is_right, sample.kind] += 1
                if wrong[sample.is_right, sample.kind] <= options.show:
                    print(
                        f"  {'rejected' if sample.is_right else 'accepted'} ({sample.kind}): {sample.answer!r} for {task.task_id}, {task.eval['reference_answers']['fuzzy_match']!r}"
                    )
            if totals.total() >= options.answers:
                break
        accepted, rejected = (
            sum(count for (is_right, _), count in wrong.items() if is_right == label) for label in (False, True)
        )
        print(
            f"{letter}: {accepted} of {totals[False]} wrong answers accepted, {rejected} of {totals[True]} right answers rejected",
            flush=True,
        )
        is_bad |= accepted > totals[False] * 0.001 or rejected > totals[True] * 0.005
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
