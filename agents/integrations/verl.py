"""An agent loop for verl's v1 trainer (verl 0.9), and rows of tasks for its dataset.

Each step is one output with the exact tokens that were read and sampled. Every step of an episode has the episode's reward; verl's GRPO
compares the last steps of a group and gives all steps of an episode the same advantage.

Not run on GPUs yet: the tests use verl's output classes and a fake server.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar
from uuid import uuid4

import gymnasium

from agents.command_lines import NewFile, parse_settings
from agents.data.prompts import PromptEncoder, Style, system_prompt
from agents.data.trajectories import Ids
from agents.settings import ENV_ID, EnvSettings
from webarena_gym import console
from webarena_gym import suite as task_suite
from webarena_gym.errors import ServerError
from webarena_gym.options import read_source
from webarena_gym.tasks import Task

T = TypeVar("T")

LOOP = "webarena_gym"  # name of the agent loop in dataset rows and in verl's agent loop config


class WebAgentLoop:
    """Plays the episode of one dataset row. verl creates one instance per episode from its agent loop config.

    Args:
        trainer_config: verl's config
        server_manager: client of verl's inference servers
        tokenizer: tokenizer of the model
        system: style of the system prompt
        env: fields of `EnvSettings` that differ from their defaults
        chat_template_kwargs: variables of the model's chat template
        **_: further arguments of verl, which are ignored

    """

    def __init__(
        self, trainer_config: Any, server_manager: Any, tokenizer: Any, *, system: Style = "act",
        env: Mapping[str, Any] | None = None, chat_template_kwargs: Mapping[str, Any] | None = None, **_: object,
    ) -> None:  # fmt: skip
        self._settings = EnvSettings(**(env or {}))
        prompt = system_prompt(system, **self._settings.env_arguments())
        self._encoder = PromptEncoder(tokenizer, prompt, chat_template_kwargs=chat_template_kwargs)
        self._server = server_manager
        self._prompt_length: int = trainer_config.config.actor_rollout_ref.rollout.prompt_length

    async def run(self, sampling_params: dict[str, Any], **row: Mapping[str, Any]) -> list[Any]:
        """Play the episode of a row. Returns one AgentLoopOutput per step; an empty list if the first prompt is too long.

        Raises ServerError or BrowserError if the episode fails for reasons other than the policy. verl then drops the group, so a failure
        is never trained on as a reward of 0.
        """
        extra = row["extra_info"]
        with ThreadPoolExecutor(1) as thread:  # a browser must be used in the thread that created it
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
        """Return (prompt ids, verl's output, model seconds, env seconds) of each step, and the reward."""
        request_id = uuid4().hex  # one id per episode: verl sends all its steps to the same server, whose prefix cache is warm
        steps: list[tuple[Ids, Any, float, float]] = []
        _, info = await _on(thread, lambda: env.reset(seed=seed))
        while True:
            (prompt_ids,) = self._encoder.encode_all([info["messages"]])
            if len(prompt_ids) > self._prompt_length:
                return steps, 0.0
            start = time.perf_counter()
            output = await self._server.generate(
                request_id=request_id, prompt_ids=list(prompt_ids), sampling_params=dict(sampling_params)
            )
            if output.stop_reason == "aborted" or not output.token_ids:
                raise ServerError(
                    f"verl's server returned no response for step {len(steps)}: stop_reason {output.stop_reason!r}, "
                    f"{len(output.token_ids)} token ids"
                )
            sampled = time.perf_counter()
            _, reward, terminated, truncated, info = await _on(thread, env.step, self._encoder.decode(output.token_ids))
            if "failure" in info:
                raise ServerError(f"the episode failed: {info['failure']}")
            steps.append((prompt_ids, output, sampled - start, time.perf_counter() - sampled))
            if terminated or truncated:
                return steps, float(reward)


async def _on(thread: ThreadPoolExecutor, call: Callable[..., T], *arguments: object) -> T:
    return await asyncio.get_running_loop().run_in_executor(thread, call, *arguments)


def _output(prompt_ids: Ids, output: Any, generate_s: float, env_s: float, steps: int, reward: float) -> Any:
    from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput  # noqa: PLC0415 - verl is installed if it has called this

    return AgentLoopOutput(
        prompt_ids=list(prompt_ids),
        response_ids=list(output.token_ids),
        response_mask=[1] * len(output.token_ids),
        response_logprobs=None if output.log_probs is None else list(output.log_probs),
        reward_score=reward,
        num_turns=2 * steps,
        metrics=AgentLoopMetrics(generate_sequences=generate_s, tool_calls=env_s),
        # verl copies reward_extra_info from the last step to the others, and requires the keys of its own loops.
        extra_fields={**output.extra_fields, "turn_scores": [], "tool_rewards": [], "reward_extra_info": {"steps": steps}},
    )


def rows(tasks: Sequence[Task], *, seed: int = 0) -> list[dict[str, Any]]:
    """Return rows of verl's dataset for these tasks. All rollouts of a row use the same seed, so they have the same first page."""
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
    """Write the tasks of a split as a dataset of verl: JSON lines, one task per line."""

    out: NewFile
    """file to write; its name must end in .jsonl"""
    split: str = "train"
    """part of the bundled suite, or of `suite`"""
    variation: Literal["content", "layout"] = "content"
    """variation of the worlds; must equal the loop's env settings"""
    application: str | None = None
    """user application instead of the embedded sites; must equal the loop's env settings"""
    suite: str | None = None
    """suite of another project instead of the bundled one; must equal the loop's env settings"""
    seed: int = 0
    """random seed of the envs"""


def main(arguments: Sequence[str]) -> None:
    """Write the dataset of the command line's options."""
    settings = parse_settings(RowSettings, arguments, program="agents.integrations.verl")
    source = read_source(settings.application, settings.suite)
    tasks = task_suite.load(settings.split, variation=settings.variation, **source)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(tasks, seed=settings.seed)]
    settings.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    console.run("python -m agents.integrations.verl", main)
