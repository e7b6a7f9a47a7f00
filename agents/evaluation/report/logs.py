"""Logs of other commands, read as trajectories: the episodes of `webarena-gym evaluate`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.results import find_task
from agents.settings import ENV_FIELDS, EnvSettings
from webarena_gym.evaluation.results import Record, read_episodes

_SHOWN_AS = {"observation": "html", "dialect": "webrl"}
"""What EnvSettings does not say of an env, and what envs of EnvSettings have."""


def read_log(path: Path) -> list[Trajectory] | None:
    """Return the episodes of a log of another command; None where its first line is none of such a log.

    Raises ValueError for a log that cannot be read.
    """
    first = _first_record(path)
    if "format" in first and "suite" in first:
        header, records = read_episodes(path)
        env = _env(header["env"])
        return [_from_record(record, env) for record in records]
    return None


def _first_record(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in the first line of a file; an empty one where there is none."""
    with path.open(encoding="utf-8") as file:
        try:
            value = json.loads(file.readline() or "{}")
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _env(arguments: Mapping[str, Any]) -> EnvSettings | None:
    """Return the settings of an env that was made with these keywords; None if they show pages in another way than settings can say."""
    if any(arguments.get(name, usual) != usual for name, usual in _SHOWN_AS.items()) or "scale" in arguments:
        return None
    return EnvSettings(
        **{"elements": "id", **{name: arguments[name] for name in ENV_FIELDS if arguments.get(name) is not None}}
    )


def _from_record(record: Record, env: EnvSettings | None) -> Trajectory:
    """Return an episode of `webarena-gym evaluate`, whose file has neither goals nor the text of pages."""
    task = find_task(record.task_id)
    return Trajectory(
        record.task_id,
        task.intent if task else record.task_id,
        tuple(Step("", step["reply"], step.get("action_error", "")) for step in record.steps),
        record.reward or 0.0,
        record.ending,
        group=record.repeat,
        verdicts=tuple(record.verdicts),
        failure=record.failure,
        env=env,
    )
