"""Inspect AI (0.3): our tasks as samples, our actions as its tools, our judge as its scorer; so its models, limits and viewer work.

`inspect eval webarena_gym/webarena_gym --model ...`, or `inspect_ai.eval(webarena_gym(), model=...)`. An episode that one of Inspect's
limits ends is judged as it stands. One that breaks through no fault of the model is an error of its sample, and no score.
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
from webarena_gym.integrations.session import TOOL_PROMPT, Session, choose

_GO_ON = "Call a tool. The task ends with the tool that gives its answer."


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
        sites: those that have no other sites than these; all by default.
        templates: those of these templates; all by default.
        mode: "tools" (each action is a tool, and every page stays in the conversation), or "text" (replies in the env's own words, in its
            own context with earlier pages compressed).
        max_steps: of an episode; replies without an action count.
        env: further keywords of `WebArenaLite`; an `application` has tasks of its own.

    """
    chosen = choose(split, sites, templates, (env or {}).get("application"))
    samples = [
        Sample(id=each.task_id, input=each.intent, metadata={"sites": list(each.sites), "checks": list(each.eval_types)})
        for each in chosen
    ]
    arguments = {**(env or {}), "tasks": chosen, "max_steps": max_steps}
    return Task(dataset=MemoryDataset(samples, name=f"webarena-gym-{split}"), solver=play(mode, arguments), scorer=judged())


@solver  # type: ignore[untyped-decorator]
def play(mode: Literal["tools", "text"], env: Mapping[str, Any]) -> Solver:
    """Play a sample's task to its end; what is not ended by the model, but by a limit, is judged with an empty answer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        with closing(Session(env)) as session:
            first = session.begin(str(state.sample_id))
            broke = False
            try:
                if mode == "tools":
                    state.messages = [ChatMessageSystem(content=TOOL_PROMPT), ChatMessageUser(content=first)]
                    state.tools = _tools(session)
                    await _by_tools(state, generate, session)
                else:
                    await _by_text(state, session)
            except Exception as error:  # a limit of time is none: it cancels
                broke = not isinstance(error, LimitExceededError)
                raise
            finally:
                if not broke:
                    state.metadata["reward"] = session.finish()
                    state.metadata["verdict"] = session.verdict()
        state.completed = True
        return state

    return solve


async def _by_tools(state: TaskState, generate: Generate, session: Session) -> None:
    while not (session.is_over or state.completed):
        before = session.info["step"]
        await generate(state, tool_calls="single")
        if session.info["step"] == before and not session.is_over:  # no tool was called, or one that there is not
            session.say(state.output.completion)
            state.messages.append(ChatMessageUser(content=_GO_ON))


async def _by_text(state: TaskState, session: Session) -> None:
    model = get_model()
    state.messages = _messages(session)
    while not session.is_over:
        state.output = await model.generate(_messages(session))
        page = session.say(state.output.completion)
        state.messages += [state.output.message, ChatMessageUser(content=page)]


def _messages(session: Session) -> list[Any]:
    kinds: Mapping[str, Any] = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[each["role"]](content=each["content"]) for each in session.messages]


def _tools(session: Session) -> list[Tool]:
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
        verdict = state.metadata.get("verdict")
        if verdict is None:
            raise RuntimeError(f"the episode of {state.sample_id} broke through no fault of the model, so it has no score")
        reasons = "\n".join(
            f"{each['check']}: {'passed' if each['passed'] else 'failed'}: {each['reason']}" for each in verdict["verdicts"]
        )
        return Score(value=state.metadata["reward"], explanation=reasons, metadata=verdict)

    return score
