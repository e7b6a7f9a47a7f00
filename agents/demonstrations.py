"""Write the reference solutions of tasks as demonstrations: `python -m agents.demonstrations --help`."""

import json
from collections.abc import Sequence
from typing import Any

from agents.command_lines import parse_settings
from agents.data.demonstrations import DemonstrationSettings, episodes, to_record, tool_call_episodes, training_tasks
from agents.data.phrasings import rephrase
from agents.data.prompts import system_prompt
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Write demonstrations with the options of the command line."""
    settings = parse_settings(DemonstrationSettings, arguments, program="agents.demonstrations")
    tasks = [rephrase(task, settings.phrasings, seed=settings.seed) for task in training_tasks(settings)]
    options = settings.env_arguments()
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    if settings.tool_calls:
        records = ([episode] if episode else [] for episode in tool_call_episodes(tasks, **options))
    else:
        system = system_prompt(settings.system, **options)
        style: dict[str, Any] = {
            "expert_thoughts": settings.expert_thoughts,
            "mistakes": settings.mistakes,
            "seed": settings.seed,
        }
        records = ([to_record(step, system) for step in steps] for steps in episodes(tasks, **style, **options))
    lines = solved = 0
    with settings.out.open("w", encoding="utf-8") as file:
        for task, episode in zip(tasks, records, strict=True):
            for number, record in enumerate(episode):
                extra = {"template": task.template, "world": task.world_seed, "step": number, "agent": settings.agent()}
                file.write(json.dumps(record | extra, ensure_ascii=False) + "\n")
            lines, solved = lines + len(episode), solved + bool(episode)
    unit = "episodes" if settings.tool_calls else "steps"
    print(f"{settings.out}: {lines} {unit} of {solved} tasks; {len(tasks) - solved} unsolved tasks are left out")


if __name__ == "__main__":
    console.run("python -m agents.demonstrations", main)
