"""Adapter to verifiers (0.4, the API of `verifiers.v1`): a taskset, and an env in which the model's replies are actions.

verifiers imports plugins by module name. The module `webarena_gym_tasks` is installed together with this package, so that
`vf-eval webarena-gym-tasks` works. verifiers builds the conversation, which contains every page in full. An infrastructure failure is an
error of the rollout, without a reward.
"""

import ssl
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cached_property
from typing import Any, Literal

import verifiers.v1 as vf
from openai import APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic import Field
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.harnesses.utils.compaction import is_context_overflow

from webarena_gym.integrations.session import Session, select_tasks

__all__ = ["WebArenaGymEnv", "WebArenaGymHarness", "WebArenaGymTaskset"]


class WebArenaGymConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The selection of tasks, and the keywords of `WebArenaLite` for their env."""

    split: str = "train"
    """a split of the bundled suite, or of `suite`"""
    sites: list[str] = Field(default_factory=list)
    """names of sites; tasks that need other sites are omitted; all by default"""
    templates: list[str] = Field(default_factory=list)
    """names of templates; all by default"""
    world_seed: int | None = None
    application: str | None = None
    """your application, whose tasks replace those of the bundled suite"""
    suite: str | None = None
    """suite of another project: its name, or the path of its file"""
    variation: Literal["content", "layout"] = "content"
    elements: Literal["id", "label"] = "id"
    observation: Literal["html", "axtree", "occam", "pixels", "marks", "text+pixels"] = "html"
    dialect: Literal["webrl", "computer"] = "webrl"
    browser: Literal["inprocess", "chromium"] = "inprocess"
    max_steps: int | None = None
    """step limit of an episode; by default 15, and 60 for hard tasks"""
    window: int = 12_000
    tools: list[Literal["lookup", "table_sql"]] = Field(default_factory=list)
    """bundled tools that replies may call"""
    tool_budget: int | None = None
    """maximum number of calls of tools in an episode; no limit by default"""

    def keywords(self) -> dict[str, Any]:
        names = (
            "variation",
            "elements",
            "observation",
            "dialect",
            "browser",
            "max_steps",
            "window",
            "application",
            "suite",
            "tools",
            "tool_budget",
        )
        return {name: getattr(self, name) for name in names}


class WebArenaGymData(vf.TaskData):  # type: ignore[misc]
    """The data of a task, and the keywords of its env."""

    env: dict[str, Any]


class WebArenaGymTask(vf.Task[WebArenaGymData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One task of this package."""


class WebArenaGymTaskset(vf.Taskset[WebArenaGymTask, WebArenaGymConfig]):  # type: ignore[misc]
    """The tasks of a split. They have no prompt; the env sends the goal and the first page as the first message."""

    def load(self) -> Iterable[WebArenaGymTask]:
        config, env = self.config, self.config.keywords()
        load_options = {"world_seed": config.world_seed, "variation": config.variation}
        tasks = select_tasks(config.split, config.sites, config.templates, config.application, config.suite, **load_options)
        with closing(Session({**env, "tasks": tasks})) as session:
            system_prompt = session.system_prompt
        for task in tasks:
            data = WebArenaGymData(
                id=task.task_id, name=task.task_id, description=task.intent, system_prompt=system_prompt, env=env
            )
            yield WebArenaGymTask(data, config.task)


class WebArenaGymHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """Harness without tools that requests the model from this process; the harnesses of verifiers start a program for each turn."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        """The trusted certificates, cached because reading them takes longer than a turn."""
        return ssl.create_default_context()

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,  # noqa: ARG002 - these are verifiers'
        runtime: vf.Runtime,  # noqa: ARG002
        endpoint: str,
        secret: str,
        mcp_urls: Mapping[str, str],  # noqa: ARG002
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Request one reply to a conversation. If it exceeds the model's context, the rollout ends without a reply."""
        system = [vf.SystemMessage(content=data.system_prompt)] if data.system_prompt else []
        messages: Any = [message_to_wire(message) for message in (*system, *data.prompt)]
        web = DefaultAsyncHttpxClient(verify=self._certificates, timeout=None)
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, http_client=web) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=messages)
            except APIStatusError as error:
                if not is_context_overflow(error):
                    return vf.ProgramResult(1, "", str(error))
        return vf.ProgramResult(0, "", "")


class WebArenaGymEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """Configuration of the env: the agent `player` has no tools, and its replies are the actions."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class WebArenaGymEnv(vf.Env[WebArenaGymEnvConfig]):  # type: ignore[misc]
    """Env that runs one episode: it performs the action in each reply, and sends the next page as the next message."""

    async def run(self, task: WebArenaGymTask, agents: Any) -> None:
        """Run the episode of a task. If the player stops early, the episode is evaluated with an empty answer."""
        with closing(Session({**task.data.env, "tasks": [task.data.id]})) as session:
            page = session.reset(task.data.id)
            async with agents.player.interaction(task) as interaction:
                while not session.is_over:
                    segment = await interaction.turn(session.with_picture(page))
                    if segment.terminated:
                        break
                    page = session.step(segment.last_reply)
            if interaction.trace.errors and not session.is_over:  # an infrastructure failure, which has no reward
                return
            interaction.trace.record_reward("success", session.finish(), 1.0)
            interaction.trace.info["verdicts"] = session.verdict()["verdicts"]
