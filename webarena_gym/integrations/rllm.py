"""Adapter to rLLM (0.3): an agent flow that is also its evaluator, `AgentTrainer(agent_flow=flow, evaluator=flow, ...)`.

Each step is one request to rLLM's gateway, with the context of this package's env, so rLLM trains it in the context in which it was sampled.
An infrastructure failure raises an exception, and rLLM's training retries the episode.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from openai import APIStatusError, OpenAI

from webarena_gym.clients.chat import is_context_overflow
from webarena_gym.errors import RefusedError
from webarena_gym.integrations.session import NAME, Session
from webarena_gym.integrations.session import dataset_rows as dataset_rows


class WebArenaGymFlow:
    """Agent flow that runs an episode of the task in a row of `dataset_rows`; `env` contains keywords of `WebArenaLite`."""

    def __init__(self, env: Mapping[str, Any] | None = None) -> None:
        self._arguments = dict(env or {})

    def run(self, task: Any, config: Any) -> Any:
        """Run an episode, and return rLLM's Episode.

        If the conversation exceeds the model's context, the episode is evaluated with an empty answer.
        """
        from rllm.types import Episode, Step, Trajectory  # noqa: PLC0415 - installed when rLLM calls this

        # rLLM's servers accept parameters beyond OpenAI's, so all of them go into the body.
        sampling = dict(getattr(config, "sampling_params", None) or {})
        steps = []
        with closing(Session(self._arguments)) as session, OpenAI(base_url=config.base_url, api_key="none") as client:
            session.reset(task.metadata["task"])
            while not session.is_over:
                messages: list[Any] = list(session.messages)
                try:
                    completion = client.chat.completions.create(model=config.model, messages=messages, extra_body=sampling)
                except APIStatusError as error:
                    if not is_context_overflow(
                        RefusedError(error.message, error.status_code, error.response.headers, error.response.text)
                    ):
                        raise
                    break
                reply = completion.choices[0].message.content or ""
                session.step(reply)
                steps.append(Step(action=reply, done=session.is_over))
            reward = session.finish()
            trajectory = Trajectory(name=NAME, steps=steps, reward=reward)
            return Episode(trajectories=[trajectory], is_correct=reward > 0, artifacts={"reward": reward, **session.verdict()})

    def evaluate(self, task: Any, episode: Any) -> Any:  # noqa: ARG002 - rLLM's
        """Return rLLM's EvalOutput with the reward of the env, which `run` stored in the episode."""
        from rllm.eval.types import EvalOutput, Signal  # noqa: PLC0415

        reward = episode.artifacts["reward"]
        signals = [Signal("accuracy", reward), Signal("steps", float(len(episode.trajectories[0].steps)))]
        return EvalOutput(reward=reward, is_correct=episode.is_correct, signals=signals)
