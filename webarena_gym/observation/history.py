"""Dynamic context compression: the chat messages that tell an agent of its earlier steps.

The paper's history is h_t = (s'_1, a_1, s'_2, a_2, ..., s_t): all actions are kept, every page but the newest gives way to a
placeholder (WebAgent-R1, section 3.2 and its released prompts), or to what another observation keeps of it. Pure functions; token ids
are the policy's business.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from webarena_gym.actions.replies import answer_part
from webarena_gym.texts import MAX_GOAL, MAX_OBSERVATION, MAX_PAGE, MAX_REPLY, cut

History = Literal["compressed", "none", "full"]
PLACEHOLDER = "** Simplified html **"
_BREAK = "\n\n"
_ROUND = re.compile(r"(?:\n\n\[\d+ earlier rounds are left out\]\n\n|\n\n)?Round \d+\n\n")
_HEAD = 100  # characters of a message besides goal and page, and of what parts it from the next, at most


class Message(TypedDict):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Turn(NamedTuple):
    """One past step: the page as the agent saw it, and its whole reply."""

    page: str
    reply: str


def placeholder(page: str, reply: str) -> str:  # noqa: ARG001 - other observations keep something of the page
    """Return what stands for an earlier page of which nothing is kept."""
    return PLACEHOLDER


def compress(
    goal: str,
    turns: Sequence[Turn],
    page: str,
    mode: History = "compressed",
    *,
    thoughts: bool = True,
    left: Callable[[str, str], str] = placeholder,
) -> list[Message]:
    r"""Return the chat that leads to the next reply; the last message holds the newest page whole.

    `mode` is "compressed" (what `left` returns of each earlier page and the reply to it), "full" (earlier pages whole) or "none" (the newest page alone).
    Without `thoughts`, past replies keep only the part that holds the action. As one text, the chat has at most MAX_OBSERVATION characters:
    a goal, a page or a reply that is too long is cut and says so, and the first message says how many of the earliest rounds found
    no room.

    >>> chat = compress("Buy milk", [Turn("<a>Milk</a>", 'do(action="Click", element="Milk")')], "<h1>Milk</h1>")
    >>> [message["content"] for message in chat]  # doctest: +NORMALIZE_WHITESPACE
    ['Task Instruction: Buy milk\n\nRound 0\n\n** Simplified html **', 'do(action="Click", element="Milk")',
     'Round 1\n\n<h1>Milk</h1>']
    """
    instruction, newest = f"Task Instruction: {cut(goal, MAX_GOAL)}", cut(page, MAX_PAGE)
    room = MAX_OBSERVATION - len(instruction) - len(newest) - 2 * _HEAD
    rounds: list[tuple[str, str]] = []  # what was shown and said, the latest first
    for turn in reversed(turns if mode != "none" else ()):
        shown = cut(turn.page, MAX_PAGE) if mode == "full" else left(turn.page, turn.reply)
        reply = cut(turn.reply if thoughts else answer_part(turn.reply), MAX_REPLY)
        room -= len(shown) + len(reply) + _HEAD
        if room < 0:
            break
        rounds.append((shown, reply))
    missing = len(turns) - len(rounds) if mode != "none" else 0
    if missing:
        instruction += f"{_BREAK}[{missing} earlier rounds are left out]"
    messages: list[Message] = []
    for number, (shown, reply) in enumerate(reversed(rounds), missing):
        messages.append({"role": "user", "content": f"Round {number}{_BREAK}{shown}"})
        messages.append({"role": "assistant", "content": reply})
    messages.append({"role": "user", "content": f"Round {len(turns)}{_BREAK}{newest}"})
    messages[0] = {"role": "user", "content": f"{instruction}{_BREAK}{messages[0]['content']}"}
    return messages


def rounds(goal: str, messages: Sequence[Mapping[str, Any]]) -> tuple[list[Turn], str]:
    """Return the earlier turns that a chat of `compress` tells of, with what it shows of their pages, and the newest page.

    >>> rounds("Buy milk", compress("Buy milk", [Turn("<h1>Shop</h1>", "go_back")], "<h1>Milk</h1>", "full"))
    ([Turn(page='<h1>Shop</h1>', reply='go_back')], '<h1>Milk</h1>')
    """
    told = [message["content"] for message in messages if message["role"] == "user"]
    told[0] = told[0].removeprefix(f"Task Instruction: {cut(goal, MAX_GOAL)}")
    pages = [_ROUND.sub("", text, 1) if _ROUND.match(text) else text for text in told]
    replies = [message["content"] for message in messages if message["role"] == "assistant"]
    return [Turn(page, reply) for page, reply in zip(pages[:-1], replies, strict=True)], pages[-1]


def as_text(messages: Sequence[Message]) -> str:
    r"""Write a chat as one text, for agents that read plain observations; without what a system message says.

    >>> as_text([{"role": "user", "content": "Round 0"}, {"role": "assistant", "content": "go_backward()"}])
    'Round 0\n\ngo_backward()'
    """
    return _BREAK.join(message["content"] for message in messages if message["role"] != "system")
