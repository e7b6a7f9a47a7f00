"""Demonstrations: reference solutions of tasks as chats, for behaviour cloning (BC) with this package or other tools.

Run `python -m agents.demonstrations --help`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from agents.command_lines import NewFile
from agents.data.expert import (
    MOST_STEPS,
    ExpertStep,
    envs_with_tasks,
    is_supported,
    play_with_mistakes,
    with_calls,
    with_label,
)
from agents.data.prompts import Style
from agents.data.readings import ParsedPage, bare, parse_page
from agents.data.thoughts import ThoughtContext, Thoughts, write_reflection, write_thought
from agents.settings import EnvSettings, TaskSettings, ToolSettings, expect_least
from webarena_gym import suite as task_suite
from webarena_gym.actions import reply_of, tools
from webarena_gym.actions.dialect import TOOL_PROMPT, call_of, plain_tools
from webarena_gym.actions.replies import answer_part
from webarena_gym.env import WebArenaLite
from webarena_gym.observation.history import EPISODE_OVER, Turn, compress, task_message
from webarena_gym.options import read_source
from webarena_gym.sites.layout import Variation
from webarena_gym.suite.parts import PARTS
from webarena_gym.tasks import Expert, Task
from webarena_gym.tasks.expert import Choice

Message = Mapping[str, str]
_ROLES = ("system", "user", "assistant")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, kw_only=True)
class SplitSettings:
    """Split long demonstrations into overlapping pieces that share the early context.

    This is the supervised part of KLong (arXiv 2602.17547) for trajectories longer than a model's context. Each piece contains the first
    steps of the trajectory and a window of later steps that overlaps the previous window. In the paper windows are counted in tokens;
    here they are counted in steps. A piece determines the context of its steps: the conversation of a language model, or the episode
    memory of a pointer network. At evaluation both use the whole episode.
    """

    piece_steps: int = 0
    """split longer demonstrations into overlapping pieces of this many steps (KLong); 0: do not split"""
    shared_steps: int = 2
    """number of steps shared by consecutive pieces"""
    early_steps: int = 1
    """number of leading steps repeated in every piece; step one contains the goal"""

    def __post_init__(self) -> None:
        if self.piece_steps and not 0 <= self.shared_steps < self.piece_steps:
            raise ValueError(f"shared_steps={self.shared_steps}; expected 0 to less than piece_steps={self.piece_steps}")
        if self.piece_steps < 0 or self.early_steps < 1:
            raise ValueError(f"piece_steps={self.piece_steps}, early_steps={self.early_steps}; expected at least 0 and 1")


class Piece(NamedTuple):
    """Step indices of a piece: context only, and training targets."""

    context: range
    targets: range

    @property
    def steps(self) -> tuple[int, ...]:
        """All step indices, in order."""
        return (*self.context, *self.targets)


def pieces(count: int, settings: SplitSettings) -> list[Piece]:
    """Return the pieces of a demonstration with `count` steps. Each step is a training target of at least one piece.

    >>> [piece.steps for piece in pieces(8, SplitSettings(piece_steps=4, shared_steps=1))]
    [(0, 1, 2, 3), (0, 3, 4, 5, 6), (0, 6, 7)]
    """
    size = settings.piece_steps or count
    if count <= size:
        return [Piece(range(0), range(count))]
    starts = range(0, count - settings.shared_steps, size - settings.shared_steps)
    return [Piece(range(min(settings.early_steps, start)), range(start, min(start + size, count))) for start in starts]


class Demonstration(NamedTuple):
    """One expert step: the conversation so far and the reply. Steps of one episode share equal message objects."""

    task_id: str
    messages: tuple[Message, ...]
    reply: str


@dataclass(frozen=True, kw_only=True)
class DemonstrationSettings(ToolSettings, TaskSettings):
    """Write the reference solutions of tasks as chats for fine-tuning: JSON lines with the field "messages".

    With --tool-calls, a line is a whole episode with the actions as tool calls and the field "tools". It is TRL's format for SFTTrainer with
    `assistant_only_loss=True`. The chat is that of `webarena_gym.integrations.trl.environment`, so that GRPO can continue.

    Without it, a line is one step with the action as text, for `python -m agents.train_bc --demonstrations FILE` or other tools. Train only the
    last message: earlier pages are placeholders, which the expert has not seen like this. The field "weight" is 1 for the last message and 0
    for earlier replies; docs/learning.md lists the options of tools that ignore it.

    Tasks that the expert does not solve within `max_steps` are left out.
    """

    out: NewFile
    """file to write, such as demos.jsonl"""
    tool_calls: bool = False
    """write an episode per line, with actions as tool calls and complete pages, instead of a step per line with actions as text"""
    expert_thoughts: Thoughts = "none"
    """thoughts of the expert before each action: none, one sentence, or a long chain with derivations"""
    system: Style = "none"
    """system prompt of the chats: none, act (the reply is an action) or think (the reply begins with a thought)"""
    mistakes: float = 0.0
    """above 0, add a second episode of each task in which the expert takes and undoes wrong steps with this probability per step
    (WebCoT); wrong steps are context, not training targets"""
    phrasings: int = 1
    """number of phrasings of each goal, written by rules; each task gets one of them, drawn by the seed; names, numbers and the format of
    the answer do not change; 1: no rephrasing"""
    seed: int = 0
    """random seed of the wording of thoughts, of the phrasings and of the mistakes"""

    def __post_init__(self) -> None:
        ToolSettings.__post_init__(self)
        TaskSettings.__post_init__(self)
        expect_least(self, phrasings=1)
        if self.mistakes and self.tools:
            raise ValueError(f"mistakes is {self.mistakes} and tools {self.tools}; expected no mistakes with tools")
        unused = {
            "expert_thoughts": "none",
            "system": "none",
            "mistakes": 0.0,
            "history": EnvSettings.history,
            "thoughts": False,
            "tools": (),
        } | ({"seed": 0} if self.phrasings == 1 else {})
        for name, default in unused.items():
            if self.tool_calls and getattr(self, name) != default:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; expected {default!r} with tool_calls, which does not use it"
                )

    def agent(self) -> dict[str, Any]:
        """Return the agent record of a model trained on the file. Every line contains it under "agent"."""
        return {**self.env_record(), "system": self.system}


def draw_tasks(
    worlds: Iterable[int],
    per_template: int,
    *,
    templates: Sequence[str] | None = None,
    variation: Variation = "content",
    application: str | None = None,
    suite: str | None = None,
    split: str | None = None,
) -> list[Task]:
    """Draw tasks in each world.

    Args:
        worlds: world seeds
        per_template: number of tasks per template and world
        templates: template names; by default those of the training split, or of the application
        variation: what differs between worlds: their content, or also their layout
        application: name or path of a user application; one without templates returns the tasks of its file
        suite: name or path of a suite of another project, whose tasks are returned
        split: split of that suite; None for all tasks

    """
    source = read_source(application, suite)
    if suite:
        tasks = source["suite"].records(split)
        return [task_suite.find(record["task_id"], **source) for record in tasks]
    app = source.get("application")
    if app and not app.templates:
        return list(task_suite.load(application=app))
    names = templates or (None if app else [name for part in PARTS.values() for name in part.names("train")])
    options: dict[str, Any] = {"count": per_template, "variation": variation, "application": app}
    return [task for world in worlds for task in task_suite.draw(names, world_seed=world, **options)]


def training_tasks(settings: TaskSettings, tasks: Sequence[Task] | None = None) -> list[Task]:
    """Return the given tasks, or those that the settings of a training draw. Raises ValueError for tasks in held-out worlds."""
    if tasks is not None:
        settings.expect_training_worlds("tasks", (task_suite.world_of(task.task_id) for task in tasks))
        return list(tasks)
    options = {name: getattr(settings, name) for name in ("templates", "variation", "application", "suite", "split")}
    return draw_tasks(settings.worlds, settings.per_template, **options)


def demonstrate(tasks: Sequence[Task], **options: Any) -> list[Demonstration]:
    """Return the expert steps on the tasks. Takes the options of `episodes`."""
    return [step for episode in episodes(tasks, **options) for step in episode]


def episodes(
    tasks: Sequence[Task], *, expert_thoughts: Thoughts = "none", mistakes: float = 0.0,
    split: SplitSettings | None = None, seed: int = 0, **env_arguments: Any,
) -> Iterator[list[Demonstration]]:  # fmt: skip
    """Yield the expert steps of each task; an empty list if the expert did not earn the reward.

    With tools, the expert calls them if that solves the task, and otherwise uses the pages only.

    Args:
        tasks: tasks to play
        expert_thoughts: style of the thought before each action, in the <think>/<answer> format
        mistakes: above 0, add a second episode with wrong steps of this probability (see `agents.data.expert`). Wrong steps are in later
            conversations, but are not training targets
        split: split episodes into pieces; conversations contain only the steps of a piece
        seed: random seed of the wording and the mistakes
        **env_arguments: keywords of the env

    """
    max_steps = env_arguments.get("max_steps", TaskSettings.max_steps)
    limits = {"max_steps": MOST_STEPS * max_steps} if mistakes else {}
    history_options = {"mode": env_arguments.get("history", "compressed"), "thoughts": env_arguments.get("thoughts", True)}
    for env, task in envs_with_tasks(tasks, **{**env_arguments, **limits}):
        plans: list[list[ExpertStep]] = [[]]
        if mistakes:
            plans.append(play_with_mistakes(env, task, mistakes, Random(f"{seed}/{task.task_id}"))[1])
        demonstrations: list[Demonstration] = []
        calling = with_calls(task, env_arguments.get("tools", ()), Random(f"{seed}/{task.task_id}/calls"))
        for plan in plans:
            start = {"task": task, "max_steps": max_steps * (MOST_STEPS if plan else 1)}
            solvers = [item for item in (calling, task) if item is not None]
            played = (_play(env, start, plan, expert_thoughts, seed, solver) for solver in solvers)
            episode = next((item for item in played if item is not None), None)
            steps: list[Demonstration] = []
            goal, turns = episode or ("", [])
            for number, turn in enumerate(turns):
                chat = compress(goal, turns[:number], turn.page, **history_options)
                messages: list[Message] = [{"role": message["role"], "content": message["content"]} for message in chat]
                steps.append(_share_messages(steps[-1] if steps else None, task.task_id, messages, turn.reply))
            for piece in pieces(len(steps), split or SplitSettings()):
                for number in piece.targets:
                    step = steps[number]
                    if plan and not plan[number].is_example:
                        continue
                    if len(step.messages) > 1:  # keep the turns that belong to the piece
                        turns_of_piece = [step.messages[2 * turn : 2 * turn + 2] for turn in piece.steps if turn <= number]
                        step = step._replace(messages=tuple(chain.from_iterable(turns_of_piece)))
                    demonstrations.append(step)
        yield demonstrations


def _play(
    env: WebArenaLite, start: dict[str, Any], plan: Sequence[ExpertStep], expert_thoughts: Thoughts, seed: int, task: Task
) -> tuple[str, list[Turn]] | None:
    """Return the goal and the turns of an episode of the expert, or None if it did not earn the reward.

    `start` are the options of the env's reset, and `task` has the solution to play. The steps of `plan` that are not the solution's are taken
    between those that are. If the solution calls tools, None is also returned if a page lacks the title to look up or the answer.
    """
    _, info = env.reset(seed=0, options=start)
    goal, expert, is_calling = info["goal"], Expert(task, env.dialect), task is not start["task"]
    pages: list[str] = []
    parsed_pages: list[ParsedPage] = []
    choices: list[Choice] = []
    reward, is_over = 0.0, False
    while not is_over:
        pages.append(info["page"])
        if expert_thoughts != "none":
            parsed_pages.append(parse_page(env.page, env.observation, info["page"]))
        step = plan[len(choices)] if plan else None
        if step is None or step.is_of_solution:
            choices.append(expert.choose(env.page, env.observation))
        else:
            choices.append(Choice(step.action, with_label(env, step.action), "", ()))
        if is_calling and not is_supported(choices[-1].action, goal, info["page"]):
            return None
        _, step_reward, terminated, truncated, info = env.step(env.dialect.format(choices[-1].action))
        reward, is_over = float(step_reward), terminated or truncated
    if reward != 1.0:
        return None
    replies = [env.dialect.format(choice.action) for choice in choices]
    if expert_thoughts != "none":
        labelled_actions = [choice.named for choice in choices]
        for number, choice in enumerate(choices):
            context = ThoughtContext(
                goal, parsed_pages[: number + 1], labelled_actions[:number], choice.named, choice.later, choice.thought
            )
            write = write_reflection if plan and plan[number].is_undoing else write_thought
            thought = write(expert_thoughts, context, Random(f"{seed}/{task.task_id}/{number}"))
            replies[number] = f"<think>{thought}</think>\n<answer>{replies[number]}</answer>"
    return goal, list(map(Turn, pages, replies))


def tool_call_episodes(tasks: Sequence[Task], **env_arguments: Any) -> Iterator[dict[str, Any]]:
    """Yield an episode of the expert on each task, with `messages` and `tools` as in TRL's datasets for tool calling; empty if it failed.

    The chat is that of a model in `webarena_gym.integrations.trl.environment`: all pages are complete, and a message after the tool call that
    ends the episode contains no call. Arguments and `tools` are JSON texts, because `datasets` would fill missing keys of objects with None.
    """
    for env, task in envs_with_tasks(tasks, **env_arguments):
        _, info = env.reset(seed=0, options={"task": task})
        expert = Expert(task, env.dialect)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": TOOL_PROMPT},
            {"role": "user", "content": task_message(info["goal"], info["page"], info.get("answer_form", ""))},
        ]
        reward, is_over = 0.0, False
        while not is_over:
            name, arguments = call_of(env.dialect, expert.choose(env.page, env.observation).action)
            _, step_reward, terminated, truncated, info = env.step(reply_of(env.dialect, name, arguments))
            reward, is_over = float(step_reward), terminated or truncated
            function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            messages.append({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]})
            messages.append({"role": "tool", "name": name, "content": EPISODE_OVER if is_over else info["page"]})
        messages.append({"role": "assistant", "content": "Done."})
        definitions = json.dumps(plain_tools(tools(env.dialect)), ensure_ascii=False)
        yield {"messages": messages, "tools": definitions, "task_id": task.task_id} if reward == 1.0 else {}


def _share_messages(before: Demonstration | None, task_id: str, messages: Sequence[Message], reply: str) -> Demonstration:
    """Return a step that shares message objects with the previous step where they are equal."""
    pairs = zip(before.messages if before else (), messages, strict=False)
    common = [old if old == new else new for old, new in pairs]
    return Demonstration(task_id, (*common, *messages[len(common) :]), reply)


def to_record(demonstration: Demonstration, system: str = "") -> dict[str, Any]:
    """Return a step as a record with `messages`, whose last one is the training target, and `task_id`."""
    system_messages = [{"role": "system", "content": system}] if system else []
    chat = [
        message | {"weight": 0} if message["role"] == "assistant" else message for message in map(dict, demonstration.messages)
    ]
    reply = {"role": "assistant", "content": demonstration.reply, "weight": 1}
    return {"messages": [*system_messages, *chat, reply], "task_id": demonstration.task_id}


def read_demonstrations(path: Path) -> list[Demonstration]:
    """Read steps from JSON lines of "messages", written by `python -m agents.demonstrations` or another tool.

    The last message is the training target. System prompts are removed, because training adds the one that the model will be used with.
    Raises ValueError with the number of an invalid line.
    """
    # Chats instead of trajectories: fine-tuning tools read and write chats.
    demonstrations: list[Demonstration] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                location = f"{path}, line {number}"
                before = demonstrations[-1] if demonstrations else None
                demonstrations.append(_from_record(_parse(line, location), location, before))
    if not demonstrations:
        raise ValueError(f"{path} contains no demonstrations; expected JSON lines with messages")
    return demonstrations


def recorded_agent(path: Path) -> dict[str, Any]:
    """Return the agent record of the file's first line; empty for files of other tools."""
    with path.open(encoding="utf-8") as file:
        record = _parse(file.readline() or "{}", f"{path}, line 1")
    agent: dict[str, Any] = record.get("agent", {}) if isinstance(record, dict) else {}
    return agent


def thin(demonstration: Demonstration, keep: float, rng: Random) -> Demonstration:
    """Return the demonstration with a shorter page: lines that the reply mentions, and each other line with probability `keep`.

    The task, the URL and the history are unchanged. Small models learn faster which lines matter if training begins with short pages.
    """
    if keep >= 1:
        return demonstration
    *before, newest = demonstration.messages
    lines = newest["content"].split("\n")
    action = answer_part(demonstration.reply)
    quotations = _QUOTED.findall(action)
    mentions = [bare(text) for text in (quotations[1:] or quotations) if text]
    mentions += [
        text for text in _QUOTED.findall(demonstration.reply.partition("</think>")[0]) if demonstration.reply != action and text
    ]
    head = next((number for number, line in enumerate(lines) if line.startswith("URL:")), 0)
    shorter = lines[: head + 1]
    shorter += [line for line in lines[head + 1 :] if any(text in line for text in mentions) or rng.random() < keep]
    return demonstration._replace(messages=(*before, {**newest, "content": "\n".join(shorter)}))


def _parse(line: str, location: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{location}: invalid JSON: {error}") from error


def _from_record(record: Any, location: str, before: Demonstration | None) -> Demonstration:
    chat = record.get("messages") if isinstance(record, dict) else None
    if not isinstance(chat, list) or not chat:
        raise ValueError(f"{location}: expected an object with a list of messages, got {str(record)[:80]!r}")
    messages: list[Message] = []
    for message in chat:
        role, content = (message.get("role"), message.get("content")) if isinstance(message, dict) else ("", "")
        if role not in _ROLES or not isinstance(content, str):
            raise ValueError(f"{location}: expected a role of {', '.join(_ROLES)} and a text, got {str(message)[:80]!r}")
        if role != "system":
            messages.append({"role": role, "content": content})
    if len(messages) < 2 or messages[-1]["role"] != "assistant":
        raise ValueError(
            f"{location}: expected a user message and an assistant reply at the end, got {[message['role'] for message in messages]}"
        )
    return _share_messages(before, str(record.get("task_id", "")), messages[:-1], messages[-1]["content"])
