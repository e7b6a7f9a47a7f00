"""An agent loop for verl's v1 trainer (verl 0.9), and rows of tasks for its dataset.

Each step is one output with the exact tokens that were read and sampled. Every step of an episode has the episode's reward; verl's GRPO
compares the last steps of a group and gives all steps of an episode the same advantage.

It has not been run on GPUs: the tests use verl's output classes, and a stand-in for its server.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import gymnasium

from agents.data.prompts import PromptEncoder, Style, system_prompt
from agents.data.trajectories import Ids
from agents.settings import ENV_ID, EnvSettings, parse_settings
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.applications.application import read_application
from webarena_gym.errors import ServerError
from webarena_gym.tasks import Task

LOOP = "webarena_gym"  # the loop's name in the rows, and in verl's file of loops


class WebAgentLoop:
    """Plays the episode of one row of tasks. verl makes one instance per episode, as its file of agent loops says.

    `system` is the style of the system prompt. `env` are the fields of EnvSettings that differ from their defaults. Further arguments
    of verl are ignored.
    """

    def __init__(
        self, trainer_config: Any, server_manager: Any, tokenizer: Any, *, system: Style = "act",
        env: Mapping[str, Any] | None = None, **_: Any,
    ) -> None:  # fmt: skip
        self._settings = EnvSettings(**(env or {}))
        self._encoder = PromptEncoder(tokenizer, system_prompt(system, elements=self._settings.elements))
        self._server = server_manager
        self._prompt_length: int = trainer_config.config.actor_rollout_ref.rollout.prompt_length

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[Any]:
        """Return one AgentLoopOutput for each step of a row's episode; an empty list if the first prompt is too long.

        Raises ServerError, BrowserError and the like for an episode that fails for reasons other than the policy. verl then counts the
        group as failed, so that it learns from no reward of 0.
        """
        extra = row["extra_info"]
        with ThreadPoolExecutor(1) as thread:  # a browser stays in the thread that made it
            make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, **self._settings.env_arguments())
            env = await _on(thread, partial(make_env, tasks=[str(extra["task"])]))
            try:
                steps, reward = await self._play(thread, env, int(extra["seed"]), sampling_params)
            finally:
                await _on(thread, env.close)
        return [_output(*step, len(steps), reward) for step in steps]

    async def _play(
        self, thread: ThreadPoolExecutor, env: gymnasium.Env[str, str], seed: int, sampling_params: dict[str, Any]
    ) -> tuple[list[tuple[Ids, Any, float, float]], float]:
        """Return the prompt, verl's output and the seconds of model and env of each step, and the reward."""
        request_id = uuid4().hex  # one for the episode, so that all its steps go to the server whose prefix cache holds them
        steps: list[tuple[Ids, Any, float, float]] = []
        _, info = await _on(thread, lambda: env.reset(seed=seed))
        while True:
            (prompt_ids,) = self._encoder.encode_all([info["messages"]])
            if len(prompt_ids) > self._prompt_length:
                return steps, 0.0
            start = time.perf_counter()
            said = await self._server.generate(
                request_id=request_id, prompt_ids=list(prompt_ids), sampling_params=dict(sampling_params)
            )
            if said.stop_reason == "aborted" or not said.token_ids:
                raise ServerError(
                    f"verl's server gave up on step {len(steps)}: {said.stop_reason!r}, {len(said.token_ids)} ids"
                )
            sampled = time.perf_counter()
            _, reward, terminated, truncated, info = await _on(thread, env.step, self._encoder.decode(said.token_ids))
            if "failure" in info:
                raise ServerError(f"the episode broke: {info['failure']}")
            steps.append((prompt_ids, said, sampled - start, time.perf_counter() - sampled))
            if terminated or truncated:
                return steps, float(reward)


async def _on(thread: ThreadPoolExecutor, call: Any, *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(thread, call, *arguments)


def _output(prompt_ids: Ids, said: Any, generate_s: float, env_s: float, steps: int, reward: float) -> Any:
    from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput  # noqa: PLC0415 - verl is there when it has called us, and only then

    return AgentLoopOutput(
        prompt_ids=list(prompt_ids),
        response_ids=list(said.token_ids),
        response_mask=[1] * len(said.token_ids),
        response_logprobs=None if said.log_probs is None else list(said.log_probs),
        reward_score=reward,
        num_turns=2 * steps,
        metrics=AgentLoopMetrics(generate_sequences=generate_s, tool_calls=env_s),
        # verl copies the reward's extras from the last step to the others, and expects the keys of its own loops.
        extra_fields={**said.extra_fields, "turn_scores": [], "tool_rewards": [], "reward_extra_info": {"steps": steps}},
    )


def rows(tasks: Sequence[Task], *, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows of verl's dataset for these tasks; all rollouts of a row have the same first page."""
    return [
        {
            "data_source": "webarena_gym",
            "agent_name": LOOP,
            "prompt": [{"role": "user", "content": task.intent}],
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"index": number, "task": task.task_id, "seed": seed + number},
        }
        for number, task in enumerate(tasks)
    ]


@dataclass(frozen=True, kw_only=True)
class RowSettings:
    """Write the tasks of a split as verl's dataset reads them, one JSON object a line."""

    out: Path
    """the file, which ends in .jsonl"""
    split: Literal["train", "validation", "test"] = "train"
    """part of the suite"""
    variation: Literal["content", "layout"] = "content"
    """as in the loop's env settings"""
    application: str | None = None
    """a web application instead, as in the loop's env settings"""
    seed: int = 0
    """of the envs"""


def main(arguments: Sequence[str]) -> None:
    """Write rows as the command line says."""
    settings = parse_settings(RowSettings, arguments, program="agents.integrations.verl")
    own = read_application(settings.application) if settings.application else None
    tasks = task_suite.load(settings.split, variation=settings.variation, application=own)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(tasks, seed=settings.seed)]
    settings.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    console.run("python -m agents.integrations.verl", main)
