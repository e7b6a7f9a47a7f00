"""Demonstrations: reference solutions of tasks as chats for behaviour cloning, with this package or with other tools.

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

from agents.data.expert import MOST_STEPS, Shown, in_env, named, play_with_mistakes
from agents.data.prompts import Style
from agents.data.readings import Reading, read
from agents.data.thoughts import Moment, Thoughts, write_reflection, write_thought
from agents.settings import TaskSettings
from webarena_gym import tasks as task_suite
from webarena_gym.actions.replies import answer_part
from webarena_gym.applications.application import read_application
from webarena_gym.observation.history import Turn, compress
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Expert, Task
from webarena_gym.tasks.expert import Choice
from webarena_gym.tasks.suite import PARTS

Message = Mapping[str, str]
_ROLES = ("system", "user", "assistant")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NUMBERED = re.compile(r" \[\d+\]$")


@dataclass(frozen=True, kw_only=True)
class SplitSettings:
    """Long demonstrations are split into overlapping pieces, each of which keeps the early context.

    This is the supervised half of KLong (arXiv 2602.17547), whose trajectories are longer than a model's context: each piece has the first
    steps of the trajectory, and then a window of later ones, which shares some steps with the window before. There pieces are of tokens;
    here they are of steps, as a step is what one prompt replies to. Pieces decide a step's context: of a language model its conversation,
    of a pointing network what it remembers of the episode. Both play with their whole memory, as neither has a context that overflows.
    """

    piece_steps: int = 0
    """split demonstrations of more steps into overlapping pieces of so many (KLong), which keep the first steps as context; 0: into none"""
    shared_steps: int = 2
    """steps that a piece shares with the one before"""
    early_steps: int = 1
    """first steps of the demonstration that are the context of all pieces; the first one tells a language model the goal"""

    def __post_init__(self) -> None:
        if self.piece_steps and not 0 <= self.shared_steps < self.piece_steps:
            raise ValueError(f"shared_steps={self.shared_steps}; expected 0 to less than piece_steps={self.piece_steps}")
        if self.piece_steps < 0 or self.early_steps < 1:
            raise ValueError(f"piece_steps={self.piece_steps}, early_steps={self.early_steps}; expected at least 0 and 1")


class Piece(NamedTuple):
    """The numbers of the steps of a piece: those that are context only, and those that are learned."""

    context: range
    learned: range

    @property
    def steps(self) -> tuple[int, ...]:
        """All of them, in order."""
        return (*self.context, *self.learned)


def pieces(count: int, settings: SplitSettings) -> list[Piece]:
    """Return the pieces of a demonstration of so many steps; each step is learned in one of them at least.

    >>> [piece.steps for piece in pieces(8, SplitSettings(piece_steps=4, shared_steps=1))]
    [(0, 1, 2, 3), (0, 3, 4, 5, 6), (0, 6, 7)]
    """
    size = settings.piece_steps or count
    if count <= size:
        return [Piece(range(0), range(count))]
    starts = range(0, count - settings.shared_steps, size - settings.shared_steps)
    return [Piece(range(min(settings.early_steps, start)), range(start, min(start + size, count))) for start in starts]


class Demonstration(NamedTuple):
    """One step of the expert: the conversation so far, and its reply. Steps of one episode hold equal messages as one object."""

    task_id: str
    messages: tuple[Message, ...]
    reply: str


@dataclass(frozen=True, kw_only=True)
class DemonstrationSettings(TaskSettings):
    """Let the expert play drawn tasks, and write its steps as chats for fine-tuning: JSON lines of "messages".

    One line is one step, and only its last message, the expert's reply, is to be trained on: earlier pages are replaced by
    placeholders, so earlier replies must not be trained in that context. "weight" marks each of the expert's messages: 1 for the last
    reply, 0 for earlier ones. Tools that do not read it need an option: axolotl `message_field_training: weight`,
    LLaMA-Factory (`formatting: sharegpt`, tags `role` and `content`) with `mask_history: true`, torchtune's
    `OpenAIToMessages` with `masking_strategy: train_on_last`, and TRL's SFTTrainer by splitting each record:
    `{"prompt": row["messages"][:-1], "completion": row["messages"][-1:]}`. `python -m agents.train_bc --demonstrations FILE`
    reads the file as it is. Tasks that the expert does not solve within `max_steps` are left out.
    """

    out: Path
    """file to write, such as demos.jsonl"""
    expert_thoughts: Thoughts = "none"
    """what the expert thinks before it acts: nothing, a sentence, or a long chain that shows its working"""
    system: Style = "none"
    """the system prompt to put first: none, act (the action alone) or think (reason first)"""
    mistakes: float = 0.0
    """above 0, the expert plays each task once more and takes a wrong step before one of its own with this probability, and undoes it
    (WebCoT); wrong steps are shown, and not to be learned"""
    seed: int = 0
    """of the wording of thoughts, and of the mistakes"""

    def agent(self) -> dict[str, Any]:
        """Return the agent record of a model that is trained on the file; every line has it under "agent"."""
        return {**self.env_arguments(), "system": self.system}


def draw_tasks(
    worlds: Iterable[int],
    per_template: int,
    *,
    templates: Sequence[str] | None = None,
    variation: Variation = "content",
    application: str | None = None,
) -> list[Task]:
    """Return tasks of the named templates, by default the training split's, drawn in each world.

    Of an application, its own templates are drawn from by each seed; one that has none gives the tasks of its file.
    """
    own = read_application(application) if application else None
    if own and not own.templates:
        return list(task_suite.load(application=own))
    wanted = templates or (None if own else [name for part in PARTS.values() for name in part.names("train")])
    options: dict[str, Any] = {"count": per_template, "variation": variation, "application": own}
    return [task for world in worlds for task in task_suite.draw(wanted, world_seed=world, **options)]


def tasks_of(settings: TaskSettings) -> list[Task]:
    """Return the tasks that settings of a training name."""
    chosen = {name: getattr(settings, name) for name in ("templates", "variation", "application")}
    return draw_tasks(settings.worlds, settings.per_template, **chosen)


def demonstrate(tasks: Sequence[Task], **options: Any) -> list[Demonstration]:
    """Return the steps of the expert on the tasks; the options are those of `episodes`."""
    return [step for episode in episodes(tasks, **options) for step in episode]


def episodes(
    tasks: Sequence[Task], *, expert_thoughts: Thoughts = "none", mistakes: float = 0.0,
    split: SplitSettings | None = None, seed: int = 0, **env_arguments: Any,
) -> Iterator[list[Demonstration]]:  # fmt: skip
    """Yield the steps of the expert on each task; an empty list if it did not earn the reward.

    `expert_thoughts` writes a thought before each action, in the <think>/<answer> format; `seed` draws its wording. With `mistakes`, a
    second episode of the task follows, in which wrong steps are taken with that probability, as in `agents.data.expert`: later
    conversations hold them, no step replies with them. With `split`, conversations are those of an episode's pieces.
    """
    max_steps = env_arguments.get("max_steps", TaskSettings.max_steps)
    room = {"max_steps": MOST_STEPS * max_steps} if mistakes else {}
    own_mode = {"mode": env_arguments.get("history", "compressed"), "thoughts": env_arguments.get("thoughts", True)}
    for env, task in in_env(tasks, **{**env_arguments, **room}):
        plans: list[list[Shown]] = [[]]
        if mistakes:
            plans.append(play_with_mistakes(env, task, mistakes, Random(f"{seed}/{task.task_id}"))[1])
        found: list[Demonstration] = []
        for planned in plans:
            start = {"task": task, "max_steps": max_steps * (MOST_STEPS if planned else 1)}
            played = _play(env, start, planned, expert_thoughts, seed)
            steps: list[Demonstration] = []
            goal, turns = played or ("", [])
            for number, turn in enumerate(turns):
                chat = compress(goal, turns[:number], turn.page, **own_mode)
                messages: list[Message] = [{"role": message["role"], "content": message["content"]} for message in chat]
                steps.append(_following(steps[-1] if steps else None, task.task_id, messages, turn.reply))
            for piece in pieces(len(steps), split or SplitSettings()):
                for number in piece.learned:
                    step = steps[number]
                    if planned and not planned[number].is_example:
                        continue
                    if len(step.messages) > 1:  # the turns of its conversation that the piece has
                        kept = [step.messages[2 * turn : 2 * turn + 2] for turn in piece.steps if turn <= number]
                        step = step._replace(messages=tuple(chain.from_iterable(kept)))
                    found.append(step)
        yield found


def _play(
    env: Any, start: dict[str, Any], planned: Sequence[Shown], expert_thoughts: Thoughts, seed: int
) -> tuple[str, list[Turn]] | None:
    """Return the goal and the turns of an episode of the expert, or None if it did not earn the reward.

    `start` are the options of the env's reset. The steps of `planned` that are not the solution's are taken between those that are.
    """
    _, info = env.reset(seed=0, options=start)
    task = start["task"]
    goal, expert = info["goal"], Expert(task, env.dialect)
    pages: list[str] = []
    readings: list[Reading] = []
    choices: list[Choice] = []
    reward, over = 0.0, False
    while not over:
        pages.append(info["page"])
        if expert_thoughts != "none":
            readings.append(read(env.page, env.observation, info["page"]))
        step = planned[len(choices)] if planned else None
        if step is None or step.is_of_solution:
            choices.append(expert.choose(env.page, env.observation))
        else:
            choices.append(Choice(step.action, named(env, step.action), "", ()))
        _, earned, terminated, truncated, info = env.step(env.dialect.format(choices[-1].action))
        reward, over = float(earned), terminated or truncated
    if reward != 1.0:
        return None
    replies = [env.dialect.format(choice.action) for choice in choices]
    if expert_thoughts != "none":
        done = [choice.named for choice in choices]
        for number, choice in enumerate(choices):
            moment = Moment(goal, readings[: number + 1], done[:number], choice.named, choice.later, choice.thought)
            write = write_reflection if planned and planned[number].is_undoing else write_thought
            thought = write(expert_thoughts, moment, Random(f"{seed}/{task.task_id}/{number}"))
            replies[number] = f"<think>{thought}</think>\n<answer>{replies[number]}</answer>"
    return goal, list(map(Turn, pages, replies))


def _following(before: Demonstration | None, task_id: str, messages: Sequence[Message], reply: str) -> Demonstration:
    """Return a step whose messages are objects of the step before it, where they are equal."""
    shared = zip(before.messages if before else (), messages, strict=False)
    common = [old if old == new else new for old, new in shared]
    return Demonstration(task_id, (*common, *messages[len(common) :]), reply)


def to_record(demonstration: Demonstration, system: str = "") -> dict[str, Any]:
    """Return a step as a chat: `messages`, of which the last is the reply to train on, and `task_id`."""
    first = [{"role": "system", "content": system}] if system else []
    chat = [
        message | {"weight": 0} if message["role"] == "assistant" else message for message in map(dict, demonstration.messages)
    ]
    reply = {"role": "assistant", "content": demonstration.reply, "weight": 1}
    return {"messages": [*first, *chat, reply], "task_id": demonstration.task_id}


def read_demonstrations(path: Path) -> list[Demonstration]:
    """Read steps from JSON lines of "messages", written by `python -m agents.demonstrations` or another tool.

    The last message is the reply to train on. System prompts are left out, since training adds the one that the model will be used
    with. Raises ValueError with the number of a wrong line.
    """
    # Chats and no episodes, as these are what tools for fine-tuning read, and what other tools write.
    found: list[Demonstration] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                where = f"{path}, line {number}"
                found.append(_from_record(_parse(line, where), where, found[-1] if found else None))
    if not found:
        raise ValueError(f"{path} holds no demonstrations; expected JSON lines with messages")
    return found


def recorded_agent(path: Path) -> dict[str, Any]:
    """Return the agent record in the file's first line; empty for a file of another tool."""
    with path.open(encoding="utf-8") as file:
        record = _parse(file.readline() or "{}", f"{path}, line 1")
    agent: dict[str, Any] = record.get("agent", {}) if isinstance(record, dict) else {}
    return agent


def thin(demonstration: Demonstration, keep: float, rng: Random) -> Demonstration:
    """Return the demonstration with a smaller page: the lines that the reply names, and each other line with probability `keep`.

    The task, the URL and the history stay. A small model learns sooner which lines matter if it begins with small pages.
    """
    if keep >= 1:
        return demonstration
    *before, newest = demonstration.messages
    lines = newest["content"].split("\n")
    action = answer_part(demonstration.reply)
    quoted = _QUOTED.findall(action)
    named = [_NUMBERED.sub("", text) for text in (quoted[1:] or quoted) if text]
    named += [
        text for text in _QUOTED.findall(demonstration.reply.partition("</think>")[0]) if demonstration.reply != action and text
    ]
    head = next((number for number, line in enumerate(lines) if line.startswith("URL:")), 0)
    kept = lines[: head + 1]
    kept += [line for line in lines[head + 1 :] if any(text in line for text in named) or rng.random() < keep]
    return demonstration._replace(messages=(*before, {**newest, "content": "\n".join(kept)}))


def _parse(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: no JSON: {error}") from error


def _from_record(record: Any, where: str, before: Demonstration | None) -> Demonstration:
    chat = record.get("messages") if isinstance(record, dict) else None
    if not isinstance(chat, list) or not chat:
        raise ValueError(f"{where}: expected an object with a list of messages, got {str(record)[:80]!r}")
    messages: list[Message] = []
    for message in chat:
        role, content = (message.get("role"), message.get("content")) if isinstance(message, dict) else ("", "")
        if role not in _ROLES or not isinstance(content, str):
            raise ValueError(f"{where}: expected a role of {', '.join(_ROLES)} and a text, got {str(message)[:80]!r}")
        if role != "system":
            messages.append({"role": role, "content": content})
    if len(messages) < 2 or messages[-1]["role"] != "assistant":
        raise ValueError(
            f"{where}: expected a user's message and the assistant's reply last, got {[each['role'] for each in messages]}"
        )
    return _following(before, str(record.get("task_id", "")), messages[:-1], messages[-1]["content"])
