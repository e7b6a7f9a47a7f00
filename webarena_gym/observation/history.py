"""Dynamic context compression: the chat history of an episode with summaries of earlier pages.

The history of WebAgent-R1 (section 3.2 and its released prompts) is h_t = (s'_1, a_1, s'_2, a_2, ..., s_t): all actions are
kept, and every page except the newest is replaced by a placeholder or a summary. The functions are pure and work on text; the
policy tokenizes it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from webarena_gym.actions.dialect import RESULT_TAG
from webarena_gym.actions.replies import answer_part
from webarena_gym.texts import MAX_GOAL, MAX_OBSERVATION, MAX_PAGE, MAX_REPLY, cut

History = Literal["compressed", "none", "full"]
PLACEHOLDER = "** Simplified html **"
MAX_OLD_RESULT = 300
"""Characters of the result of a tool in the summary of an earlier page."""
EPISODE_OVER = "The episode is over."
"""The result of the tool call that ends an episode."""
_BREAK = "\n\n"
_ROUND = re.compile(r"(?:\n\n\[\d+ earlier rounds are left out\]\n\n|\n\n)?Round \d+\n\n")
_ROUND_HEAD = re.compile(r"\A(\[\d+ earlier rounds are left out\]\n\n)?Round \d+\n\n")
_MESSAGE_OVERHEAD = 100  # maximum number of characters of a message besides goal and page, including its separator


class Message(TypedDict):
    """One chat message.

    Attributes:
        role: author of the message.
        content: its text.

    """

    role: Literal["system", "user", "assistant"]
    content: str


class Turn(NamedTuple):
    """One past step: the observation text and the agent's complete reply."""

    page: str
    reply: str


def placeholder(page: str, reply: str) -> str:  # noqa: ARG001 - the signature of `summarize` in `compress`
    """Return the summary of an earlier page of which nothing is kept."""
    return PLACEHOLDER


def keep_results(summarize: Callable[[str, str], str], tag: str = RESULT_TAG) -> Callable[[str, str], str]:
    r"""Return a summary of earlier pages that keeps the beginning of the result of a tool above the page, inside its tag.

    >>> keep_results(placeholder)("<information>\n{'mill': 3}\n</information>\n<h1>Shop</h1>", "")
    "<information>\n{'mill': 3}\n</information>\n** Simplified html **"
    """
    start, end = f"<{tag}>\n", f"\n</{tag}>\n"

    def summary(page: str, reply: str) -> str:
        if not page.startswith(start):
            return summarize(page, reply)
        result, _, page = page.removeprefix(start).partition(end)
        return f"{start}{cut(result, MAX_OLD_RESULT)}{end}{summarize(page, reply)}"

    return summary


def compress(
    goal: str,
    turns: Sequence[Turn],
    page: str,
    mode: History = "compressed",
    *,
    thoughts: bool = True,
    summarize: Callable[[str, str], str] = placeholder,
) -> list[Message]:
    r"""Return the chat messages of an episode up to the next reply. The last message contains the complete newest page.

    As one text, the chat has at most MAX_OBSERVATION characters. A goal, page or reply that is too long is cut and marked as
    cut. If rounds must be dropped, the earliest are, and the first message contains their number.

    Args:
        goal: the goal of the task.
        turns: the past steps, the oldest first.
        page: the newest observation text.
        mode: "compressed" replaces each earlier page with its summary, "full" keeps it, "none" drops all earlier rounds.
        thoughts: if False, past replies keep only the part with the action.
        summarize: returns the summary of an earlier page, given the page and the reply to it.

    Example:
        >>> chat = compress("Buy milk", [Turn("<a>Milk</a>", 'do(action="Click", element="Milk")')], "<h1>Milk</h1>")
        >>> [message["content"] for message in chat]  # doctest: +NORMALIZE_WHITESPACE
        ['Task Instruction: Buy milk\n\nRound 0\n\n** Simplified html **', 'do(action="Click", element="Milk")',
         'Round 1\n\n<h1>Milk</h1>']

    """
    instruction, newest = f"Task Instruction: {cut(goal, MAX_GOAL)}", cut(page, MAX_PAGE)
    budget = MAX_OBSERVATION - len(instruction) - len(newest) - 2 * _MESSAGE_OVERHEAD
    rounds: list[tuple[str, str]] = []  # (page or summary, reply), the latest first
    for turn in reversed(turns if mode != "none" else ()):
        content = cut(turn.page, MAX_PAGE) if mode == "full" else summarize(turn.page, turn.reply)
        reply = cut(turn.reply if thoughts else answer_part(turn.reply), MAX_REPLY)
        budget -= len(content) + len(reply) + _MESSAGE_OVERHEAD
        if budget < 0:
            break
        rounds.append((content, reply))
    missing = len(turns) - len(rounds) if mode != "none" else 0
    if missing:
        instruction += f"{_BREAK}[{missing} earlier rounds are left out]"
    messages: list[Message] = []
    for number, (content, reply) in enumerate(reversed(rounds), missing):
        messages.append({"role": "user", "content": f"Round {number}{_BREAK}{content}"})
        messages.append({"role": "assistant", "content": reply})
    messages.append({"role": "user", "content": f"Round {len(turns)}{_BREAK}{newest}"})
    messages[0] = {"role": "user", "content": f"{instruction}{_BREAK}{messages[0]['content']}"}
    return messages


def parse_chat(goal: str, messages: Sequence[Mapping[str, Any]]) -> tuple[list[Turn], str]:
    """Return the turns in a chat made by `compress` and the newest page. Earlier pages are as in the chat: complete or summaries.

    >>> parse_chat("Buy milk", compress("Buy milk", [Turn("<h1>Shop</h1>", "go_back")], "<h1>Milk</h1>", "full"))
    ([Turn(page='<h1>Shop</h1>', reply='go_back')], '<h1>Milk</h1>')
    """
    texts = [message["content"] for message in messages if message["role"] == "user"]
    texts[0] = texts[0].removeprefix(f"Task Instruction: {cut(goal, MAX_GOAL)}")
    pages = [_ROUND.sub("", text, 1) if _ROUND.match(text) else text for text in texts]
    replies = [message["content"] for message in messages if message["role"] == "assistant"]
    return [Turn(page, reply) for page, reply in zip(pages[:-1], replies, strict=True)], pages[-1]


def task_message(goal: str, page: str, answer_form: str = "") -> str:
    """Return the first message of a chat in which the actions are tool calls: the goal, the form of its answer, and the first page."""
    return _BREAK.join([f"Task: {goal}", *([answer_form] if answer_form else ()), page])


def round_page(goal: str, text: str) -> str:
    r"""Return the page, or its summary, in a user message of `compress`, without the goal and the number of the round.

    >>> round_page("Buy milk", "Task Instruction: Buy milk\n\nRound 0\n\n<h1>Milk</h1>")
    '<h1>Milk</h1>'
    """
    text = text.removeprefix(f"Task Instruction: {cut(goal, MAX_GOAL)}{_BREAK}")
    return _ROUND_HEAD.sub(r"\1", text, count=1)


def as_text(messages: Sequence[Message]) -> str:
    r"""Return a chat as one text, without system messages, for agents that take plain text.

    >>> as_text([{"role": "user", "content": "Round 0"}, {"role": "assistant", "content": "go_backward()"}])
    'Round 0\n\ngo_backward()'
    """
    return _BREAK.join(message["content"] for message in messages if message["role"] != "system")
