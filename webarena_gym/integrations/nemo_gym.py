"""Adapter to NeMo Gym (0.7): a resources server with its Gymnasium interface, for the agent `gymnasium_agent`.

`python -m webarena_gym.integrations.nemo_gym DIR` writes the folder from which NeMo Gym starts the server, with rows of tasks. A model calls
the actions as tools, or writes them as text if its row has no tools. NeMo Gym keeps every page in the conversation. An infrastructure
failure is an error of the request, without a reward.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.openai_utils import NeMoGymResponse
from resources_servers.gymnasium import GymnasiumServer, extract_text

from webarena_gym.actions import tools
from webarena_gym.arguments import read_pairs
from webarena_gym.integrations.session import NAME, Session, dataset_rows, source_of
from webarena_gym.options import EnvOptions, add_source

_AGENT = f"{NAME}_agent"

_CONFIG = f"""\
{NAME}:
  resources_servers:
    {NAME}:
      entrypoint: app.py
      domain: agent
      verified: false
      description: Web tasks on six sites, judged by what they leave behind
      env: {{}}
{_AGENT}:
  responses_api_agents:
    gymnasium_agent:
      entrypoint: app.py
      max_steps: 60  # above the env's limit, so that the env ends and evaluates each episode
      resources_server: {{type: resources_servers, name: {NAME}}}
      model_server: {{type: responses_api_models, name: policy_model}}
      datasets:
      - {{name: example, type: example, jsonl_fpath: resources_servers/{NAME}/data/example.jsonl}}
      - {{name: train, type: train, jsonl_fpath: resources_servers/{NAME}/data/train.jsonl, license: MIT}}
      - {{name: validation, type: validation, jsonl_fpath: resources_servers/{NAME}/data/validation.jsonl, license: MIT}}
{NAME}_environment:
  environment_servers:
    legacy_agent:
      entrypoint: app.py
      agent_server: {{type: responses_api_agents, name: {_AGENT}}}
"""


class WebArenaGymConfig(BaseResourcesServerConfig):  # type: ignore[misc]
    """NeMo Gym's configuration of the server; `env` contains keywords of `WebArenaLite`."""

    env: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class WebArenaGymServer(GymnasiumServer):  # type: ignore[misc]
    """Resources server that runs one episode per session, of the task in the field `task` of a row."""

    ray_enabled = False
    config: WebArenaGymConfig

    async def reset(self, metadata: dict[str, Any], session_id: str | None = None) -> tuple[str, dict[str, Any]]:
        """Start the episode of a row, and return the text of the goal and the first page, and the info."""
        self._cleanup_session(session_id)
        session = self.session_state[session_id] = Session({**self.config.env, "tasks": [metadata["task"]]})
        return session.reset(metadata["task"]), {"task_id": session.info["task_id"]}

    async def step(
        self,
        action: NeMoGymResponse,
        metadata: dict[str, Any],  # noqa: ARG002 - NeMo Gym's
        session_id: str | None = None,
    ) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        """Perform the actions of tool calls, or the action in the text if there are none."""
        session = self.session_state[session_id]
        outputs = session.call_tools(action.output)
        page = None if outputs else session.step(extract_text(action))
        is_over, truncated = session.is_over, session.truncated
        return page, session.reward or 0.0, is_over and not truncated, truncated, {"tool_outputs": outputs, **session.verdict()}

    def _cleanup_session(self, session_id: str | None) -> None:
        session = self.session_state.pop(session_id, None)
        if session is not None:
            session.close()


def rows(split: str = "train", env: Mapping[str, Any] | None = None, **selection: Any) -> list[dict[str, Any]]:
    """Return the rows of NeMo Gym's dataset for the tasks of a split.

    Args:
        split: name of the split.
        env: keywords of the env of the server, which define the tools and the source of the tasks.
        selection: further keywords of `dataset_rows`.

    """
    options = EnvOptions.of({**(env or {}), "split": split})
    row_tools = [{"type": "function", "strict": False, **tool["function"]} for tool in tools(options.build_dialect())]
    agent = {"type": "responses_api_agents", "name": _AGENT}
    return [
        {
            "responses_create_params": {"input": row["prompt"][:1], "tools": row_tools, "parallel_tool_calls": False},
            "task": row["task"],
            "agent_ref": agent,
        }
        for row in dataset_rows(split, **source_of(env or {}), **selection)
    ]


def write(
    folder: Path,
    application: str | None = None,
    suite: str | None = None,
    splits: Sequence[str] = ("train", "validation", "test"),
    env: Mapping[str, Any] | None = None,
) -> None:
    """Write the folder of the server, DIR/resources_servers/webarena_gym, in the layout of NeMo Gym's components.

    Args:
        folder: the folder DIR.
        application: your web application.
        suite: suite of another project.
        splits: splits of the datasets train, validation and example.
        env: further keywords of `WebArenaLite` for the server, such as `tools`.

    """
    server_folder = folder / "resources_servers" / NAME
    env = {**(env or {}), **source_of({"application": application, "suite": suite})}
    train, validation, test = (rows(split, env) for split in splits)
    data = {"train": train, "validation": validation, "example": test[:5]}
    files = {f"data/{name}.jsonl": "".join(json.dumps(row) + "\n" for row in lines) for name, lines in data.items()}
    files[f"configs/{NAME}.yaml"] = _CONFIG.replace("env: {}", f"env: {json.dumps(env)}")
    files["requirements.txt"] = "nemo-gym\nwebarena-gym\n"
    files["app.py"] = "from webarena_gym.integrations.nemo_gym import WebArenaGymServer\n\nWebArenaGymServer.run_webserver()\n"
    for name, text in files.items():
        (server_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (server_folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=write.__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    add_source(parser)
    parser.add_argument(
        "--splits",
        nargs=3,
        metavar="SPLIT",
        default=("train", "validation", "test"),
        help="splits of the datasets train, validation and example",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="another keyword of the env, such as max_steps=30 (may be repeated)",
    )
    arguments = parser.parse_args()
    write(**{**vars(arguments), "env": read_pairs(arguments.env, "--env")})
