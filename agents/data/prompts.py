"""Prompts: the system prompts of agents, and chat messages as token ids.

The style "env" is the env's own system message (`webarena_gym.actions.dialect`) and may change with the package. The texts of the
styles "act" and "think" do not change, because an agent is used with the system prompt that it was trained with. "react" and "plan" are for
prompted agents, whose earlier thoughts stay in the conversation: after ReAct (Yao et al., arXiv 2210.03629), which alternates a thought and
an action, and after WebPilot (Zhang et al., arXiv 2408.15978), which plans subtasks and reflects after each action. WebPilot has agents of
their own for this, and a tree search; here it is one prompt.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from agents.data.trajectories import Ids
from webarena_gym.actions import DIALECTS, instructions
from webarena_gym.actions.dialect import Naming

Style = Literal["none", "act", "think", "react", "plan", "env"]

_TEXTS = Path(__file__).with_suffix(".toml")
_NEAR = 8  # tokens before one that its text may depend on

THINKING: tuple[Style, ...] = ("think", "react", "plan")
"""Styles in which a reply is more than an action."""
REMEMBERED: tuple[Style, ...] = ("react", "plan")
"""Styles whose earlier thoughts stay in the conversation."""
_NAMING = {
    "id": "the id that stands in its tag",
    "label": 'the text that it shows, such as "Add to Cart"; the second element of the same text is "Add to Cart [2]"',
}


@cache
def prompt_texts() -> dict[str, str]:
    """Return the texts that prompts are made of, by name."""
    return tomllib.loads(_TEXTS.read_text(encoding="utf-8"))


def system_prompt(style: Style, *, elements: Naming = "id") -> str:
    """Return the system prompt of a style: an empty text for "none", and for "env" the env's own.

    >>> "<think>" in system_prompt("think"), "<think>" in system_prompt("act"), system_prompt("none")
    (True, False, '')
    """
    if style == "none":
        return ""
    if style == "env":
        return instructions(DIALECTS["webrl"].naming_by(elements))
    texts = prompt_texts()
    return texts["task"].format(grammar=texts["grammar"], naming=_NAMING[elements]) + texts[style]


def told(messages: Sequence[Mapping[str, Any]], system: str) -> list[Mapping[str, Any]]:
    """Return a chat whose system message is replaced by `system`, or removed if `system` is empty."""
    before = [{"role": "system", "content": system}] if system else []
    return [*before, *(message for message in messages if message["role"] != "system")]


def reminded(messages: Sequence[Mapping[str, Any]], workflows: str) -> list[Mapping[str, Any]]:
    """Return a chat with workflows at the end of its system message; the chat itself where there is none to add."""
    if not workflows:
        return list(messages)
    own = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    return told(messages, f"{own}\n\n{prompt_texts()['workflows']}\n\n{workflows}".lstrip())


@dataclass(frozen=True)
class PromptEncoder:
    """Encodes messages as the token ids of a prompt, in which `system` replaces the system message, and decodes responses."""

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
