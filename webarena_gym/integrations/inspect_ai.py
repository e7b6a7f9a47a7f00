"""Adapter to Inspect AI (0.3): tasks as samples, actions as tools, and the env's evaluation as a scorer.

Run `inspect eval webarena_gym/webarena_gym --model ...`, or `inspect_ai.eval(webarena_gym(), model=...)`. Inspect's models, limits and
viewer work as usual. An episode that one of Inspect's limits ends is evaluated in its current state. An infrastructure failure is an error
of the sample, without a score.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolDef, ToolParams
from inspect_ai.util import LimitExceededError

from webarena_gym.actions import tools
from webarena_gym.integrations.session import TOOL_PROMPT, Session, select_tasks, source_of, with_fixed

_TOOL_REMINDER = "Call a tool. The task ends with the tool that gives its answer."


@task  # type: ignore[untyped-decorator]
def webarena_gym(
    split: str = "test",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    mode: Literal["tools", "text"] = "tools",
    max_steps: int = 30,
    env: Mapping[str, Any] | None = None,
) -> Task:
    """Return the tasks of a split.

    Args:
        split: "train", "validation", "test", "pool", "hard" or "pictures".
        sites: names of sites; tasks that need other sites are omitted. Empty for all.
        templates: names of templates whose tasks are returned. Empty for all.
        mode: "tools" (each action is a tool, and the conversation keeps every page), or "text" (the model writes actions as text, in the
            env's own context with compressed earlier pages).
        max_steps: step limit of an episode; replies without an action count as steps.
        env: further keywords of `WebArenaLite`, without `tasks` and `max_steps`; with `application`, the tasks are those of the application, and with `suite`, `split` is a
            split of the suite.

    Raises ValueError if `env` contains another value of `max_steps`, or `tasks`.

    """
    tasks = select_tasks(split, sites, templates, **source_of(env or {}))
    samples = [
        Sample(id=task.task_id, input=task.intent, metadata={"sites": list(task.sites), "checks": list(task.eval_types)})
        for task in tasks
    ]
    arguments = with_fixed(env, tasks=tasks, max_steps=max_steps)
    return Task(dataset=MemoryDataset(samples, name=f"webarena-gym-{split}"), solver=play(mode, arguments), scorer=env_scorer())


@solver  # type: ignore[untyped-decorator]
def play(mode: Literal["tools", "text"], env: Mapping[str, Any]) -> Solver:
    """Return a solver that runs the episode of a sample. An episode that a limit ends is evaluated with an empty answer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        with closing(Session(env)) as session:
            first = session.reset(str(state.sample_id))
            has_failed = False
            try:
                if mode == "tools":
                    state.messages = [ChatMessageSystem(content=TOOL_PROMPT), ChatMessageUser(content=first)]
                    state.tools = _tools(session)
                    await _by_tools(state, generate, session)
                else:
                    await _by_text(state, session)
            except Exception as error:  # a time limit raises a cancellation instead, which is no Exception
                has_failed = not isinstance(error, LimitExceededError)
                raise
            finally:
                if not has_failed:
                    state.metadata["reward"] = session.finish()
                    state.metadata["verdict"] = session.verdict()
        state.completed = True
        return state

    return solve


async def _by_tools(state: TaskState, generate: Generate, session: Session) -> None:
    while not (session.is_over or state.completed):
        before = session.info["step"]
        await generate(state, tool_calls="single")
        if session.info["step"] == before and not session.is_over:  # the model called no tool, or an unknown one
            session.step(state.output.completion)
            state.messages.append(ChatMessageUser(content=_TOOL_REMINDER))


async def _by_text(state: TaskState, session: Session) -> None:
    model = get_model()
    state.messages = _messages(session)
    while not session.is_over:
        state.output = await model.generate(_messages(session))
        page = session.step(state.output.completion)
        state.messages += [state.output.message, ChatMessageUser(content=page)]


def _messages(session: Session) -> list[Any]:
    types: Mapping[str, Any] = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [types[message["role"]](content=message["content"]) for message in session.messages]


def _tools(session: Session) -> list[Tool]:
    def tool_of(name: str, description: str, schema: Mapping[str, Any]) -> Tool:
        async def execute(**arguments: Any) -> str:
            return session.call_tool(name, arguments)

        return ToolDef(
            execute, name=name, description=description, parameters=ToolParams.model_validate(schema), max_output=0
        ).as_tool()

    functions = [tool["function"] for tool in tools(session.dialect)]
    return [tool_of(function["name"], function["description"], function["parameters"]) for function in functions]


@scorer(metrics=[accuracy(), mean(), stderr()], name="judged")  # type: ignore[untyped-decorator]
def env_scorer() -> Scorer:
    """Return a scorer that reports the reward and the verdicts of the env."""

    async def score(state: TaskState, _: Target) -> Score:
        verdict = state.metadata.get("verdict")
        if verdict is None:
            raise RuntimeError(f"the episode of {state.sample_id} ended with an infrastructure failure, so it has no score")
        reasons = "\n".join(
            f"{check['check']}: {'passed' if check['passed'] else 'failed'}: {check['reason']}" for check in verdict["verdicts"]
        )
        return Score(value=state.metadata["reward"], explanation=reasons, metadata=verdict)

    return score
