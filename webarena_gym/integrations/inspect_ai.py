"""Inspect AI (0.3): our tasks as samples, our actions as its tools, our judge as its scorer; so its models, limits and viewer work.

`inspect eval webarena_gym/integrations/inspect_ai.py@webarena_gym --model ...`, or `inspect_ai.eval(webarena_gym(), model=...)`. An episode
that breaks through no fault of the model is an error of its sample, and no score.
"""

from collections.abc import Mapping
from typing import Any, Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolDef, ToolParams

from webarena_gym.actions import tools
from webarena_gym.integrations.session import TOOL_PROMPT, Session
from webarena_gym.tasks import load

_GO_ON = "Call a tool. The task ends with the tool that gives its answer."


@task  # type: ignore[untyped-decorator]
def webarena_gym(
    split: str = "test", mode: Literal["tools", "text"] = "tools", max_steps: int = 30, env: Mapping[str, Any] | None = None
) -> Task:
    """Return the tasks of a split.

    Args:
        split: "train", "validation" or "test".
        mode: "tools" (each action is a tool, and every page stays in the conversation), or "text" (replies in the env's own words, in its
            own context with earlier pages compressed).
        max_steps: of an episode; replies without an action count.
        env: further keywords of `WebArenaLite`.

    """
    chosen = load(split)
    samples = [
        Sample(id=each.task_id, input=each.intent, metadata={"sites": list(each.sites), "checks": list(each.eval_types)})
        for each in chosen
    ]
    arguments = {**(env or {}), "tasks": chosen, "max_steps": max_steps}
    return Task(dataset=MemoryDataset(samples, name=f"webarena-gym-{split}"), solver=play(mode, arguments), scorer=judged())


@solver  # type: ignore[untyped-decorator]
def play(mode: Literal["tools", "text"], env: Mapping[str, Any]) -> Solver:
    """Play a sample's task to its end; what is not ended by the model is judged with an empty answer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session = Session(env)
        try:
            first = session.begin(str(state.sample_id))
            if mode == "tools":
                state.messages = [ChatMessageSystem(content=TOOL_PROMPT), ChatMessageUser(content=first)]
                state.tools = _tools(session)
                state = await _by_tools(state, generate, session)
            else:
                await _by_text(state, session)
            state.metadata["reward"] = session.finish()
            state.metadata["verdict"] = session.verdict()
        finally:
            session.close()
        state.completed = True
        return state

    return solve


async def _by_tools(state: TaskState, generate: Generate, session: Session) -> TaskState:
    while not (session.is_over or state.completed):
        before = session.info["step"]
        state = await generate(state, tool_calls="single")
        if session.info["step"] == before and not session.is_over:  # no tool was called, or one that there is not
            session.say(state.output.completion)
            state.messages.append(ChatMessageUser(content=_GO_ON))
    return state


async def _by_text(state: TaskState, session: Session) -> None:
    model = get_model()
    state.messages = _messages(session)
    while not session.is_over:
        state.output = await model.generate(_messages(session))
        page = session.say(state.output.completion)
        state.messages += [state.output.message, ChatMessageUser(content=page)]


def _messages(session: Session) -> list[Any]:
    kinds: Mapping[str, Any] = {"system": ChatMessageSystem, "user": ChatMessageUser}
    from inspect_ai.model import ChatMessageAssistant  # noqa: PLC0415

    return [kinds.get(each["role"], ChatMessageAssistant)(content=each["content"]) for each in session.messages]


def _tools(session: Session) -> list[Tool]:
    """Return the actions of a session as tools."""

    def tool_of(name: str, description: str, schema: Mapping[str, Any]) -> Tool:
        async def execute(**arguments: Any) -> str:
            return session.call(name, arguments)

        return ToolDef(
            execute, name=name, description=description, parameters=ToolParams.model_validate(schema), max_output=0
        ).as_tool()

    functions = [tool["function"] for tool in tools(session.dialect)]
    return [tool_of(each["name"], each["description"], each["parameters"]) for each in functions]


@scorer(metrics=[accuracy(), mean(), stderr()])  # type: ignore[untyped-decorator]
def judged() -> Scorer:
    """Score a sample by the env's own judge."""

    async def score(state: TaskState, _: Target) -> Score:
        verdict = state.metadata["verdict"]
        reasons = "\n".join(
            f"{each['check']}: {'passed' if each['passed'] else 'failed'}: {each['reason']}" for each in verdict["verdicts"]
        )
        return Score(value=state.metadata["reward"], explanation=reasons, metadata=verdict)

    return score
