"""Prompts: the system prompts of agents, and chat messages as token ids.

The style "env" is the env's own system message (`webarena_gym.actions.dialect`) and may change with the package. The texts of the
styles "act" and "think" do not change, because an agent is used with the system prompt that it was trained with. "react" and "plan" are for
prompted agents, whose earlier thoughts stay in the conversation: after ReAct (Yao et al., arXiv 2210.03629), which alternates a thought and
an action, and after WebPilot (Zhang et al., arXiv 2408.15978), which plans subtasks and reflects after each action. WebPilot has agents of
their own for this, and a tree search; here it is one prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.data.tokens import Ids
from webarena_gym.actions import DIALECTS, instructions
from webarena_gym.actions.dialect import Naming

Style = Literal["none", "act", "think", "react", "plan", "env"]

_NEAR = 8  # tokens before one that its text may depend on

_GRAMMAR = """\
do(action="Click", element="<element>"): Click an element.
do(action="Right Click", element="<element>"): Click with the right mouse button.
do(action="Hover", element="<element>"): Move the mouse over an element.
do(action="Type", argument="<text>", element="<element>"): Replace the content of a field with the text; does not press Enter.
do(action="Search", argument="<text>", element="<element>"): Replace the content of a field with the text and press Enter.
do(action="Select Dropdown Option", argument="<option>", element="<element>"): Choose the option with that text from a drop-down list.
do(action="Scroll Up"): Show the part of the page above.
do(action="Scroll Down"): Show the part of the page below.
do(action="Press Enter"): Press Enter in the focused field.
do(action="Switch Tab", argument="<index>"): Go to the tab with that index; the first is 0.
do(action="Wait"): Do nothing.
go_backward(): Return to the previous page.
go_forward(): Undo go_backward().
exit(message="<answer>"): End the task. The message is the answer; "N/A" if the task cannot be done, empty if none was asked for."""
_TASK = """You use a website for a person who has given you a task. Each turn shows you the current page as simplified HTML; \
earlier pages may be left out. Answer each turn with exactly one action:

{grammar}

An element is named by {naming}. A form takes effect when it is submitted. When the task is done, exit, with the answer if one \
was asked for, in as few words as it can be given; if the task cannot be done, exit with "N/A"."""
_THINK = """

First reason inside <think> and </think>: what the page shows, what has been done, what is still missing. Then give the action:

<think>reasoning</think>
<answer>action</answer>"""
_REACT = """

Each turn begins with a thought of a sentence or two: what the page tells you and what to do next because of it. Your thoughts of earlier \
turns stay visible to you, so write down what you will need when this page is gone. Then give the action:

<think>thought</think>
<answer>action</answer>"""
_PLAN = """

Work by a plan that you keep up to date. Each turn, write three parts inside <think> and </think>:

Reflection: what your last action changed, and whether that is what you expected; if not, what went wrong and how to undo or avoid it.
Plan: the subtasks in order, each marked done, next or open; change the plan where the page shows that it cannot work. Note facts that \
later subtasks need.
Expectation: what the page should show after the action.

Exit only when every subtask is done, or when no plan is left to try. After the parts, give the action:

<think>reflection, plan, expectation</think>
<answer>action</answer>"""
_ACT = """

Write the action and nothing else."""
_WORKFLOWS = """\
These workflows have solved tasks on this site before. <name> stands for what a task names, <text> for another text. Follow one if it \
fits your task, and leave it where the page shows that it does not."""
_ENDS = {"act": _ACT, "think": _THINK, "react": _REACT, "plan": _PLAN}
THINKING: tuple[Style, ...] = ("think", "react", "plan")
"""Styles in which a reply is more than an action."""
REMEMBERED: tuple[Style, ...] = ("react", "plan")
"""Styles whose earlier thoughts stay in the conversation."""
_NAMING = {
    "id": "the id that stands in its tag",
    "label": 'the text that it shows, such as "Add to Cart"; the second element of the same text is "Add to Cart [2]"',
}


def system_prompt(style: Style, *, elements: Naming = "id") -> str:
    """Return the system prompt of a style: an empty text for "none", and for "env" the env's own.

    >>> "<think>" in system_prompt("think"), "<think>" in system_prompt("act"), system_prompt("none")
    (True, False, '')
    """
    if style == "none":
        return ""
    if style == "env":
        return instructions(DIALECTS["webrl"].naming_by(elements))
    task = _TASK.format(grammar=_GRAMMAR, naming=_NAMING[elements])
    return task + _ENDS[style]


def told(messages: Sequence[Mapping[str, Any]], system: str) -> list[Mapping[str, Any]]:
    """Return a chat whose system message is replaced by `system`, or removed if `system` is empty."""
    before = [{"role": "system", "content": system}] if system else []
    return [*before, *(message for message in messages if message["role"] != "system")]


def reminded(messages: Sequence[Mapping[str, Any]], workflows: str) -> list[Mapping[str, Any]]:
    """Return a chat with workflows at the end of its system message; the chat itself where there is none to add."""
    if not workflows:
        return list(messages)
    own = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    return told(messages, f"{own}\n\n{_WORKFLOWS}\n\n{workflows}".lstrip())


@dataclass(frozen=True)
class PromptEncoder:
    """Encodes messages as the token ids of a prompt, and decodes responses.

    `system` replaces the system message of each conversation; if it is empty, there is none.
    """

    tokenizer: Any
    system: str = ""

    @property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end a response."""
        ids = {self.tokenizer.eos_token_id}
        for name in ("<|im_end|>", "<|eot_id|>", "<end_of_turn>"):
            known = self.tokenizer.convert_tokens_to_ids(name)
            if known is not None and known != self.tokenizer.unk_token_id:
                ids.add(known)
        return frozenset(identity for identity in ids if identity is not None)

    def encode_all(self, conversations: Sequence[Sequence[Mapping[str, object]]]) -> list[Ids]:
        """Return the prompt ids of each conversation, up to the beginning of the assistant's turn."""
        texts = [
            self.tokenizer.apply_chat_template(told(messages, self.system), add_generation_prompt=True, tokenize=False)
            for messages in conversations
        ]
        return [tuple(ids) for ids in self.tokenizer(texts, add_special_tokens=False)["input_ids"]] if texts else []

    def encode_reply(self, reply: str) -> Ids:
        """Return the ids of a reply to train on, with the end token."""
        ids = self.tokenizer(reply, add_special_tokens=False)["input_ids"]
        return (*ids, self.tokenizer.eos_token_id)

    def decode(self, response_ids: Sequence[int]) -> str:
        """Return the text of a response without special tokens."""
        text: str = self.tokenizer.decode(list(response_ids), skip_special_tokens=True)
        return text

    def texts(self, response_ids: Sequence[int]) -> tuple[str, ...]:
        """Return what each token adds to the text of those before it, special tokens by name; "" or a sign for a part of a letter."""
        found = []
        for place in range(len(response_ids)):
            before = list(response_ids[max(0, place - _NEAR) : place])
            known: str = self.tokenizer.decode(before)
            found.append(self.tokenizer.decode([*before, response_ids[place]])[len(known) :])
        return tuple(found)
