"""Logs of other programs, read as trajectories: of `webarena-gym evaluate`, of Inspect AI, and states of an arena's episodes."""

import json
from collections.abc import Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.results import find_task
from agents.settings import ENV_FIELDS, EnvSettings
from webarena_gym.actions import DIALECTS, reply_of
from webarena_gym.evaluation.results import Record, read_episodes

_SHOWN_AS = {"observation": "html", "dialect": "webrl"}
"""What EnvSettings does not say of an env, and what envs of EnvSettings have."""


def read_log(path: Path) -> list[Trajectory] | None:
    """Return the episodes of a log of another program; None where what it begins with is none of such a log.

    Raises ValueError, ResultError, KeyError or TypeError for a log that cannot be read.
    """
    if path.suffix == ".eval":
        raise ValueError(f"{path} is compressed; write it as JSON: inspect log convert --to json --output-dir FOLDER {path}")
    values = [_read_json(path)] if path.suffix == ".json" else _first_line(path)
    if not values or not isinstance(values[0], dict):
        return None
    first = values[0]
    if first.keys() >= {"eval", "samples"}:
        env = _env((first["eval"].get("task_args") or {}).get("env") or {})
        return [_from_sample(sample, env) for sample in first["samples"] or ()]
    if first.keys() >= {"task_id", "mode", "log"}:
        states = values if path.suffix == ".json" else [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [_from_state(state) for state in states if state["status"] != "open"]
    if first.keys() >= {"format", "suite"}:
        header, records = read_episodes(path)
        env = _env(header["env"])
        return [_from_record(record, env) for record in records]
    return None


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _first_line(path: Path) -> list[Any]:
    """Return the JSON value in the first line of a file; nothing where it is none."""
    with path.open(encoding="utf-8") as file:
        try:
            return [json.loads(file.readline())]
        except ValueError:
            return []


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
        tuple(
            Step("", step["reply"], step.get("action_error", ""), policy_s=policy_s, env_s=env_s)
            for step, (policy_s, env_s) in zip(record.steps, chain(record.step_seconds, repeat((0.0, 0.0))), strict=False)
        ),
        record.reward or 0.0,
        record.ending,
        group=record.repeat,
        verdicts=tuple(record.verdicts),
        failure=record.failure,
        env=env,
    )


def _from_sample(sample: Mapping[str, Any], env: EnvSettings | None) -> Trajectory:
    """Return a sample of an Inspect log: its messages, in turn what the model was shown and what it said."""
    messages = [(message, _text(message.get("content"))) for message in sample["messages"]]
    steps: list[Step] = []
    shown = ""
    for place, (message, text) in enumerate(messages):
        if message["role"] != "assistant":
            shown = text[max(0, text.find("URL: ")) :] if text.startswith("Task") else text  # without the goal
            continue
        calls = [reply_of(DIALECTS["webrl"], call["function"], call["arguments"]) for call in message.get("tool_calls") or ()]
        told = messages[place + 1][1] if place + 1 < len(messages) else ""
        error = told.partition("\n")[0] if told.startswith("Action error") else ""
        steps.append(Step(shown, "\n".join([text, *calls[:1]]).strip(), error))
    score: Mapping[str, Any] = next(iter((sample.get("scores") or {}).values()), {})
    failure = str((sample.get("error") or {}).get("message", "")) or ("" if score else "It was not scored.")
    verdicts = (score.get("metadata") or {}).get("verdicts", ())
    return Trajectory(
        str(sample["id"]),
        _text(sample["input"]),
        tuple(steps),
        float(score.get("value") in (1, True, "C")) if score else 0.0,
        "failed" if failure else "truncated" if sample.get("limit") else "exited",
        group=sample.get("epoch", 1) - 1,
        verdicts=tuple(verdicts),
        failure=failure,
        env=env,
    )


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if isinstance(part, dict))


def _from_state(state: Mapping[str, Any]) -> Trajectory:
    """Return an episode that is over from the state that an arena gives of it, which has requests for steps and no pages."""
    result = state["result"] or {"reward": 0.0, "verdicts": ()}
    steps = [
        Step("", request["what"], f"status {request['status']}" if request["status"] >= 400 else "") for request in state["log"]
    ]
    return Trajectory(
        state["task_id"],
        state["goal"],
        tuple(steps),
        result["reward"],
        "failed" if state["failure"] else "exited",
        verdicts=tuple(result["verdicts"]),
        failure=state["failure"],
    )
