"""An arena as tools for a model: `reset`, `observe`, one for each action, and `submit`. What MCP carries, without MCP."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple, get_args

from webarena_gym.actions import DIALECTS, reply_of, tools
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.arena.episodes import Episode
from webarena_gym.arena.registry import Arena
from webarena_gym.arena.schema import NewEpisode, Result, Split
from webarena_gym.errors import ArenaError

INSTRUCTIONS = f"""\
You use websites for a person who has given you a task. `reset` begins a task and tells the goal. Each action is a tool of its own; it
returns the page that follows. A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, call `submit` with the answer.

{ANSWERS}"""

_TASK_FIELDS = ("task", "split", "seed", "world_seed")
_MEANINGS: Mapping[str, dict[str, Any]] = {
    "task": {"type": "string", "description": "the id of a task; one is drawn from the split without it"},
    "split": {"type": "string", "enum": list(get_args(Split)), "description": "the split to draw from"},
    "seed": {"type": "integer", "minimum": 0, "description": "the seed of the draw"},
    "world_seed": {"type": "integer", "description": "draw the split's templates in this world instead"},
}
_EPISODE = {"type": "string", "description": "the id of the episode, as reset has told it"}


class Tool(NamedTuple):
    """A tool, as models are told of it; the schema is JSON Schema."""

    name: str
    description: str
    schema: dict[str, Any]


class Returned(NamedTuple):
    """What a call returns."""

    text: str
    is_error: bool = False
    result: dict[str, Any] | None = None  # how the episode was judged, when it is over


class Toolbox:
    """Episodes of an arena, played by calls of tools. Its calls must not overlap.

    Args:
        arena: where the episodes are.
        settings: what `reset` begins where nothing else is said. One that names a task always begins that.
        names_episodes: whether calls say which episode they mean, as several players must. Else there is one at a time.

    """

    def __init__(self, arena: Arena, settings: NewEpisode, *, names_episodes: bool) -> None:
        self._arena = arena
        self._settings = replace(settings, mode="step")
        self._names_episodes = names_episodes
        self._newest = ""
        self._dialect = DIALECTS[settings.dialect].naming_by(settings.elements)
        leaves = {form.name for form in self._dialect.forms if form.kind == "Exit"}
        self._actions = [tool["function"] for tool in tools(self._dialect) if tool["function"]["name"] not in leaves]

    def tools(self) -> list[Tool]:
        """Return all tools."""
        wanted = {} if self._settings.task else {name: _MEANINGS[name] for name in _TASK_FIELDS}
        answer = {"answer": {"type": "string", "description": "the answer; empty if the task asks for none"}}
        return [
            Tool("reset", "Begin a task in a world of its own; returns the goal and the first page.", _schema(wanted)),
            self._tool("observe", "Return the newest page again.", _schema({})),
            *(self._tool(action["name"], action["description"], action["parameters"]) for action in self._actions),
            self._tool("submit", "End the task with an answer; returns the verdict.", _schema(answer)),
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Returned:
        """Do what a call says. What is wrong with it is told in the text; an impossible action is no error, but told too."""
        try:
            return self._reset(arguments) if name == "reset" else self._call(name, dict(arguments))
        except ArenaError as error:
            expected = f"; expected {error.expected}" if error.expected else ""
            return Returned(f"{error}{expected}", is_error=True)

    def _call(self, name: str, given: dict[str, Any]) -> Returned:
        episode = self._arena.find(self._named(given))
        with episode.logged(name) as tell:
            returned = self._play(episode, name, given)
            tell(200)
        return returned

    def _play(self, episode: Episode, name: str, given: Mapping[str, Any]) -> Returned:
        known = {"submit": {"answer"}, "observe": set[str]()}.get(name)
        if known is not None and (others := sorted({*given} - known)):
            expected = ", ".join(known) or "no arguments"
            raise ArenaError(f"{name}: there is no argument {others[0]!r}", status=422, at=others[0], expected=expected)
        if name == "submit":
            answer = given.get("answer", "")
            if not isinstance(answer, str):
                raise ArenaError("submit: answer is no text", status=422, at="answer", value=answer, expected="a text")
            return _judged(episode.conclude(answer))
        if name == "observe":
            return Returned(_page(episode))
        if all(name != action["name"] for action in self._actions):
            raise ArenaError(
                f"there is no tool {name!r}", status=404, expected="one of " + ", ".join(tool.name for tool in self.tools())
            )
        episode.step(reply_of(self._dialect, name, given))
        return Returned(_page(episode)) if episode.result is None else _judged(episode.result)

    def _reset(self, arguments: Mapping[str, Any]) -> Returned:
        allowed = () if self._settings.task else _TASK_FIELDS
        for key, value in arguments.items():
            kind: type = int if key in ("seed", "world_seed") else str
            choices = _MEANINGS[key].get("enum") if key in allowed else None
            if key not in allowed or (value is not None and (type(value) is not kind or value not in (choices or (value,)))):
                meant = " or ".join(choices) if choices else _MEANINGS[key]["type"] if key in allowed else ", ".join(allowed)
                expected = str(meant) or "no arguments"
                raise ArenaError(f"reset: {key} is {value!r}", status=422, at=key, value=value, expected=expected)
        for name in self._arena.idle():
            self._arena.end(name, "nobody asked it for anything for too long")
        try:
            settings = replace(self._settings, **{key: value for key, value in arguments.items() if value is not None})
        except ValueError as error:
            raise ArenaError(f"reset: {error}", status=422) from error
        if not self._names_episodes and self._newest:
            self._arena.end(self._newest, "another was begun")
            self._newest = ""
        episode = self._arena.begin(settings)
        self._newest = episode.id
        named = f"Episode {episode.id}\n" if self._names_episodes else ""
        return Returned(f"{named}Task {episode.task_id}: {episode.goal}\n\n{_page(episode)}")

    def _named(self, given: dict[str, Any]) -> str:
        """Return which episode a call means, and take its name out of the arguments."""
        if self._names_episodes:
            name = given.pop("episode", None)
            if not isinstance(name, str):
                raise ArenaError(f"episode is {name!r}", status=422, expected="the id that reset has told")
            return name
        if not self._newest:
            raise ArenaError("no task has begun: call reset first", status=409)
        return self._newest

    def _tool(self, name: str, description: str, schema: dict[str, Any]) -> Tool:
        if not self._names_episodes:
            return Tool(name, description, schema)
        named = {
            "properties": {"episode": _EPISODE, **schema["properties"]},
            "required": ["episode", *schema.get("required", ())],
        }
        return Tool(name, description, schema | named)


def _schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [], "additionalProperties": False}


def _page(episode: Episode) -> str:
    shown = episode.state().shown
    assert shown is not None
    return str(shown.info["page"])


def _judged(result: Result) -> Returned:
    return Returned("\n".join((f"reward {result.reward:g}", *result.told)), result=asdict(result))
