"""rLLM (0.3): our tasks as an agent flow, which is its evaluator as well: `AgentTrainer(agent_flow=flow, evaluator=flow, ...)`.

Each step is one request to rLLM's gateway, with the context of this package's env, so rLLM trains it as it was sampled. An episode that
breaks through no fault of the model raises, and rLLM tries it again. Written from rLLM's source: no index has the package, so it was tried
with stand-ins for its types alone.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from openai import OpenAI

from webarena_gym.integrations.session import NAME, Session
from webarena_gym.integrations.session import dataset_rows as dataset_rows


class WebArenaGymFlow:
    """Plays the task that a row of `dataset_rows` names; `env` are keywords of `WebArenaLite`."""

    def __init__(self, env: Mapping[str, Any] | None = None) -> None:
        self._arguments = dict(env or {})

    def run(self, task: Any, config: Any) -> Any:
        """Return rLLM's Episode; it is judged with an empty answer where the model has no room for the conversation."""
        from rllm.types import Episode, Step, Trajectory  # noqa: PLC0415 - it is there when it has called us

        # What its servers take beside OpenAI's own parameters goes in the body as it is.
        sampling = dict(getattr(config, "sampling_params", None) or {})
        steps = []
        with closing(Session(self._arguments)) as session, OpenAI(base_url=config.base_url, api_key="none") as client:
            session.begin(task.metadata["task"])
            while not session.is_over:
                asked: list[Any] = list(session.messages)
                said = client.chat.completions.create(model=config.model, messages=asked, extra_body=sampling)
                if (said.model_extra or {}).get("rllm_termination_reason"):
                    break
                reply = said.choices[0].message.content or ""
                session.say(reply)
                steps.append(Step(action=reply, done=session.is_over))
            reward = session.finish()
            trajectory = Trajectory(name=NAME, steps=steps, reward=reward)
            return Episode(trajectories=[trajectory], is_correct=reward > 0, artifacts={"reward": reward, **session.verdict()})

    def evaluate(self, task: Any, episode: Any) -> Any:  # noqa: ARG002 - rLLM's
        """Return rLLM's EvalOutput, by the env's own judge, which has judged already."""
        from rllm.eval.types import EvalOutput, Signal  # noqa: PLC0415

        reward = episode.artifacts["reward"]
        signals = [Signal("accuracy", reward), Signal("steps", float(len(episode.trajectories[0].steps)))]
        return EvalOutput(reward=reward, is_correct=episode.is_correct, signals=signals)
