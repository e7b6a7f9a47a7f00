"""Coverage of the expert's solutions by a pointer policy, by template: `python -m benchmarks.coverage --json`.

A task is covered where every action of its solution is among the choices that the policy is offered.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.command_lines import parse_settings
from agents.data.expert import envs_with_tasks, play_expert
from agents.models.pointer.decoding import Session, expert_decisions
from agents.models.pointer.reader import Reader
from agents.settings import EnvSettings
from webarena_gym import console
from webarena_gym import suite as task_suite


@dataclass(frozen=True, kw_only=True)
class CoverageSettings(EnvSettings):
    """Play the expert, and look for each of its actions among the choices of a pointer policy."""

    splits: tuple[str, ...] = ("train", "validation", "test")
    """parts of the suite: train, validation, test"""
    world_seed: int | None = None
    """draw the splits' templates in this world instead of the suite's own"""
    json: bool = False
    """print one JSON object on the last line"""


def main(arguments: Sequence[str]) -> None:
    """Measure with the options of the command line."""
    settings = parse_settings(
        CoverageSettings, arguments, {"elements": "id", "window": 20_000, "max_steps": 30}, program="benchmarks.coverage"
    )
    record: dict[str, Any] = {}
    for split in settings.splits:
        tasks = task_suite.load(split, settings.world_seed, settings.variation)
        reader, missing = Reader(), list[tuple[str, str]]()
        for env, task in envs_with_tasks(tasks, quiet=True, **settings.env_arguments()):
            goal, steps = play_expert(env, task)
            session = Session(reader, goal)
            for step in steps:
                if not expert_decisions(session, step.page, step.action, has_error=step.has_error)[1]:
                    missing.append((task.template, env.dialect.format(step.action)))
                    break
        counts = Counter(task.template for task in tasks)
        by_template: dict[str, dict[str, Any]] = {
            name: {
                "covered": counts[name] - count,
                "tasks": counts[name],
                "missing": next(reply for template, reply in missing if template == name),
            }
            for name, count in Counter(name for name, _ in missing).items()
        }
        covered = 1 - len(missing) / len(tasks)
        print(f"{split:<12} {100 * covered:5.1f} %   n = {len(tasks)}")
        for name, row in by_template.items():
            print(f"  {name:<40} {row['covered']} of {row['tasks']}   {row['missing'][:80]!r}")
        record[split] = {"covered": covered, "tasks": len(tasks), "incomplete": by_template}
    if settings.json:
        print(json.dumps(record))


if __name__ == "__main__":
    console.run("python -m benchmarks.coverage", main)
