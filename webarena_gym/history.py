"""Dynamic context compression: what an agent is told of the steps that it has already taken.

The paper's history is h_t = (s'_1, a_1, s'_2, a_2, ..., s_t): all actions are kept, every page but the newest gives way to a
placeholder (WebAgent-R1, section 3.2 and its released prompts). Pure functions; token ids are the policy's business.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

from webarena_gym.actions.replies import answer_part

History = Literal["compressed", "none", "full"]
PLACEHOLDER = "** Simplified html **"


class Message(TypedDict):
    """One chat message."""

    role: Literal["user", "assistant"]
    content: str


class Turn(NamedTuple):
    """One past step: the page as the agent saw it, and its whole reply."""

    page: str
    reply: str


def compress(
    goal: str, turns: Sequence[Turn], page: str, mode: History = "compressed", *, thoughts: bool = True
) -> list[Message]:
    r"""Return the chat that leads to the next reply; the last message holds the newest page whole.

    `mode` is "compressed" (placeholders for earlier pages), "full" (earlier pages whole) or "none" (the newest page alone).
    Without `thoughts`, past replies keep only the part that holds the action.

    >>> chat = compress("Buy milk", [Turn("<a>Milk</a>", 'do(action="Click", element="Milk")')], "<h1>Milk</h1>")
    >>> [message["content"] for message in chat]  # doctest: +NORMALIZE_WHITESPACE
    ['Task Instruction: Buy milk\n\nRound 0\n\n** Simplified html **', 'do(action="Click", element="Milk")',
     'Round 1\n\n<h1>Milk</h1>']
    """
    messages: list[Message] = []
    if mode != "none":
        for number, turn in enumerate(turns):
            shown = turn.page if mode == "full" else PLACEHOLDER
            messages.append(_user(goal, number, shown, first=number == 0))
            messages.append({"role": "assistant", "content": turn.reply if thoughts else answer_part(turn.reply)})
    messages.append(_user(goal, len(turns), page, first=not messages))
    return messages


def as_text(messages: Sequence[Message]) -> str:
    r"""Write a chat as one text, for agents that read plain observations.

    >>> as_text([{"role": "user", "content": "Round 0"}, {"role": "assistant", "content": "go_backward()"}])
    'Round 0\n\ngo_backward()'
    """
    return "\n\n".join(message["content"] for message in messages)


def _user(goal: str, number: int, page: str, *, first: bool) -> Message:
    instruction = f"Task Instruction: {goal}\n\n" if first else ""
    return {"role": "user", "content": f"{instruction}Round {number}\n\n{page}"}
