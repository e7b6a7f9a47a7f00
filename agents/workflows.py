"""Induce workflows from episodes: `python -m agents.workflows --episodes FILE.jsonl --out workflows.json`.

`python -m agents.evaluate --policy chat:MODEL --memory workflows.json` adds them to an agent's prompts. Files of episodes are written by
`agents.evaluate --save`. Only successful episodes are used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.command_lines import NewFile, PresentFile, parse_settings
from agents.data.trajectories import read_trajectories
from agents.data.workflows import WorkflowMemory
from agents.settings import TrainingWorlds
from webarena_gym import console
from webarena_gym import suite as task_suite


@dataclass(frozen=True, kw_only=True)
class WorkflowsSettings(TrainingWorlds):
    """Write the distinct workflows of successful episodes."""

    episodes: tuple[PresentFile, ...]
    """files of agents.evaluate --save"""
    out: NewFile
    """file to write"""


def main(arguments: Sequence[str]) -> None:
    """Induce workflows with the options of the command line."""
    settings = parse_settings(WorkflowsSettings, arguments, program="agents.workflows")
    memory = WorkflowMemory()
    for file in settings.episodes:
        episodes = read_trajectories(file)
        settings.expect_training_worlds(f"episodes={str(file)!r}", (task_suite.world_of(item.task_id) for item in episodes))
        memory.add(episodes)
    memory.save(settings.out)
    print(f"{len(memory.workflows)} workflows in {settings.out}")


if __name__ == "__main__":
    console.run("python -m agents.workflows", main)
