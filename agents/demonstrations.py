"""Write the reference solutions of tasks as demonstrations: `python -m agents.demonstrations --help`."""

import json
from collections.abc import Sequence

from agents.data.demonstrations import DemonstrationSettings, episodes, to_record, training_tasks
from agents.data.prompts import system_prompt
from agents.settings import parse_settings
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Write demonstrations with the options of the command line."""
    settings = parse_settings(DemonstrationSettings, arguments, program="agents.demonstrations")
    tasks = training_tasks(settings)
    demonstrations = episodes(
        tasks, expert_thoughts=settings.expert_thoughts, mistakes=settings.mistakes, seed=settings.seed,
        **settings.env_arguments(),
    )  # fmt: skip
    system = system_prompt(settings.system, **settings.env_arguments())
    steps = solved = 0
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    with settings.out.open("w", encoding="utf-8") as file:
        for task, episode in zip(tasks, demonstrations, strict=True):
            for number, step in enumerate(episode):
                extra = {"template": task.template, "world": task.world_seed, "step": number, "agent": settings.agent()}
                file.write(json.dumps(to_record(step, system) | extra, ensure_ascii=False) + "\n")
            steps, solved = steps + len(episode), solved + bool(episode)
    print(f"{settings.out}: {steps} steps of {solved} tasks; {len(tasks) - solved} unsolved tasks are left out")


if __name__ == "__main__":
    console.run("python -m agents.demonstrations", main)
