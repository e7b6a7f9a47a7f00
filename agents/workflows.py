"""Induce workflows from played episodes: `python -m agents.workflows --episodes FILE.jsonl --out workflows.json`.

`python -m agents.evaluate --policy chat:MODEL --memory workflows.json` gives them to an agent. The episodes are those that
`agents.evaluate --save` writes; only successes count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.data.trajectories import read_trajectories
from agents.data.workflows import WorkflowMemory
from agents.settings import NewFile, PresentFile, TrainingWorlds, parse_settings
from webarena_gym import console
from webarena_gym import tasks as task_suite


@dataclass(frozen=True, kw_only=True)
class WorkflowsSettings(TrainingWorlds):
    """Write the workflows of episodes, each once."""

    episodes: tuple[PresentFile, ...]
    """files of agents.evaluate --save"""
    out: NewFile
    """file to write"""


def main(arguments: Sequence[str]) -> None:
    """Induce with the options of the command line."""
    settings = parse_settings(WorkflowsSettings, arguments, program="agents.workflows")
    memory = WorkflowMemory()
    for file in settings.episodes:
        played = read_trajectories(file)
        settings.expect_training_worlds(f"episodes={str(file)!r}", (task_suite.world_of(item.task_id) for item in played))
        memory.add(played)
    memory.save(settings.out)
    print(f"{len(memory.workflows)} workflows in {settings.out}")


if __name__ == "__main__":
    console.run("python -m agents.workflows", main)
