"""What a policy is told before the first page, and how a chat becomes token ids."""

from collections.abc import Sequence
from typing import Any, Literal

from webarena_gym.actions import DIALECTS
from webarena_gym.history import Message

System = Literal["none", "plain", "thinking"]

_TASK = """\
You use a web browser to do a task for a person. Each round shows you the page as simplified HTML: only what can be read or used.
Earlier pages are replaced by a placeholder; your earlier replies stay.

Reply with exactly one action:
{grammar}

{elements}
Leave as soon as the task is done. If the task asks for something, the message of your exit is the answer, as short as it can be."""
_ELEMENTS = {
    "id": "An element is named by the id that it carries in the newest page.",
    "label": 'An element is named by its visible label; the second of the same name is "Name [2]".',
}
_THINKING = """

Think before you act. Write your thoughts and then the action in this form:
<think> what the page shows and what follows from it </think>
<answer> the action </answer>"""


def system_prompt(style: System, *, dialect: str = "webrl", elements: str = "id") -> str:
    """Return the instructions of a style; empty for "none", which suits models that were trained on nothing else."""
    if style == "none":
        return ""
    text = _TASK.format(grammar=DIALECTS[dialect].grammar(), elements=_ELEMENTS[elements])
    return text + _THINKING if style == "thinking" else text


def prompt_ids(tokenizer: Any, messages: Sequence[Message], system: str = "") -> tuple[int, ...]:
    """Return the exact token ids that lead to the next reply, by the tokenizer's own chat template."""
    chat = [{"role": "system", "content": system}, *messages] if system else list(messages)
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    return tuple(tokenizer.encode(text, add_special_tokens=False))
