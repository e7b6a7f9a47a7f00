"""Prompts: the system prompts of agents, and chat messages as token ids.

The style "env" is the env's own system message (`webarena_gym.actions.dialect`) and may change with the package. The texts of the
styles "act" and "think" do not change, because an agent is used with the system prompt that it was trained with. "react" and "plan" are for
prompted agents, whose earlier thoughts stay in the conversation: after ReAct (Yao et al., arXiv 2210.03629), which alternates a thought and
an action, and after WebPilot (Zhang et al., arXiv 2408.15978), which plans subtasks and reflects after each action. WebPilot has agents of
their own for this, and a tree search; here it is one prompt.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

from agents.data.trajectories import Ids
from webarena_gym.actions import DIALECTS, instructions
from webarena_gym.actions.dialect import Naming

Style = Literal["none", "act", "think", "react", "plan", "env"]

_TEXTS = Path(__file__).with_suffix(".toml")
_NEAR = 8  # tokens before one that its text may depend on
_CHARACTER = re.compile(r"(?s:.)")
_PLACEHOLDERS = ("\U0010fff0", "\U0010fff1", "\U0010fff2")  # texts of a chat that shows how a template writes turns

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


Rendering = Callable[[Callable[[str], str]], str]
"""A text made of trusted parts and of others, to each of which the given function is applied first."""


@dataclass(frozen=True)
class PromptEncoder:
    """Encodes messages as the token ids of a prompt, in which `system` replaces the system message, and decodes responses.

    Only the chat template writes control tokens. Where a message or reply has the name of one, such as "<|im_end|>", it is encoded as
    text. `eos_ids` are end tokens beside those of the tokenizer and its template.
    """

    tokenizer: Any
    system: str = ""
    eos_ids: frozenset[int] = frozenset()

    @classmethod
    def of_model(cls, model: Any, tokenizer: Any, system: str = "") -> "PromptEncoder":
        """Return the encoder for a model of transformers, with the end tokens of its generation config."""
        ids = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        return cls(tokenizer, system, frozenset([ids] if isinstance(ids, int) else ids or ()))

    @cached_property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end a response."""
        *_, end_id, _ = self._turn
        ids = {end_id, self.tokenizer.eos_token_id, *self.eos_ids}
        return frozenset(identity for identity in ids if identity is not None)

    def encode_all(self, conversations: Sequence[Sequence[Mapping[str, object]]], *, prompt: bool = True) -> list[Ids]:
        """Return the ids of each conversation, with `prompt` up to the beginning of the assistant's turn."""
        return self._encode([partial(self._render, told(messages, self.system), prompt) for messages in conversations])

    def encode_reply(self, reply: str) -> Ids:
        """Return the ids of a reply to train on, with the end token: what the next prompt has behind this one.

        Raises ValueError if neither the tokenizer nor its chat template has an end token.
        """
        opening, lead, closing, end_id, _ = self._turn
        if end_id is None:
            raise ValueError(
                f"{type(self.tokenizer).__name__} has no end token; expected eos_token or one in the chat template"
            )
        text = lead + reply + closing
        before, ids, alone = self._encode(
            [lambda _: opening, lambda change: opening + change(text), lambda change: change(text)]
        )
        # If the last token of the opening would include characters of the reply, no ids continue the prompt.
        return (*(ids[len(before) :] if ids[: len(before)] == before else alone), end_id)

    def decode(self, response_ids: Sequence[int]) -> str:
        """Return the text of a response without its end token and special tokens."""
        ids = list(response_ids)
        if ids and ids[-1] in self.stop_ids:
            del ids[-1]
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True)
        return text

    def texts(self, response_ids: Sequence[int]) -> tuple[str, ...]:
        """Return what each token adds to the text of those before it, special tokens by name; "" or a sign for a part of a letter."""
        found = []
        for place in range(len(response_ids)):
            before = list(response_ids[max(0, place - _NEAR) : place])
            known: str = self.tokenizer.decode(before)
            found.append(self.tokenizer.decode([*before, response_ids[place]])[len(known) :])
        return tuple(found)

    def _render(self, chat: Sequence[Mapping[str, Any]], prompt: bool, change: Callable[[str], str]) -> str:
        """Return the text of a chat, with a function applied to the text of each message."""
        changed = [{**message, "content": _changed(message["content"], change)} for message in chat]
        text: str = self.tokenizer.apply_chat_template(changed, add_generation_prompt=prompt, tokenize=False)
        return text

    def _encode(self, renderings: Sequence[Rendering]) -> list[Ids]:
        """Return the ids of each text, in which untrusted parts add no control tokens.

        A text whose untrusted parts contain names of control tokens is cut after the first character of each name, and the pieces are
        tokenized separately. If the tokenizer's normalizer turns other characters into a name, the text is cut after every character.
        """
        contents: list[list[str]] = [[] for _ in renderings]
        texts = [render(partial(_noted, content)) for render, content in zip(renderings, contents, strict=True)]
        found = self._tokenize(texts)
        for index, (render, content) in enumerate(zip(renderings, map("".join, contents), strict=True)):
            if not any(name in content for name in self._control_names) and not self._has_more(found[index], texts[index]):
                continue
            cut = next(chr(code) for code in range(0x10FFFD, 0, -1) if chr(code) not in content)
            control = self._control_pattern.pattern
            for pattern in (re.compile(f"(?=(?:{control}))(?s:.)"), _CHARACTER):
                text = render(partial(pattern.sub, rf"\g<0>{cut}"))
                found[index] = self._tokenize_pieces(text.split(cut))
                if not self._has_more(found[index], text):
                    break
        return found

    def _has_more(self, ids: Ids, text: str) -> bool:
        """Return True if ids have more control tokens than the text has names of them."""
        return sum(map(self._control_ids.__contains__, ids)) > len(self._control_pattern.findall(text))

    def _tokenize(self, texts: Sequence[str]) -> list[Ids]:
        return [tuple(ids) for ids in self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]] if texts else []

    def _tokenize_pieces(self, pieces: Sequence[str]) -> Ids:
        """Return the ids of a text in pieces, so that no token is in two of them."""
        # A tokenizer that adds a blank before a text adds none behind a line break, which is removed again.
        ids, line_break, *others = self._tokenize([pieces[0], "\n", *(f"\n{piece}" for piece in pieces[1:])])
        joined = list(ids)
        for piece, ids in zip(pieces[1:], others, strict=True):
            begins = ids[: len(line_break)] == line_break
            joined += ids[len(line_break) :] if begins else self._tokenize([piece])[0]
        return tuple(joined)

    @cached_property
    def _turn(self) -> tuple[str, str, str, int | None, frozenset[str]]:
        """The assistant's turn, as the chat template writes it in a chat of placeholders.

        The parts are the text between the user's message and a generated reply, the blanks before an earlier reply, the blanks behind it,
        its end token (the tokenizer's, if the template has none), and the names of the control tokens around it.
        """
        end_id: int | None = self.tokenizer.eos_token_id
        if not self.tokenizer.chat_template:
            return "", "", "", end_id, frozenset()
        user, reply, later = _PLACEHOLDERS
        chat = [
            {"role": role, "content": text} for role, text in zip(("user", "assistant", "user"), _PLACEHOLDERS, strict=True)
        ]
        opening = self._render(chat[:1], True, str).partition(user)[2]
        before, _, after = self._render(chat, False, str).partition(user)[2].partition(reply)
        after = after.partition(later)[0]
        lead, closing = before.removeprefix(opening), ""
        added = _alternatives(name for name in self._added_tokens() if not name.isspace())
        end = added.search(after)
        if end and not after[: end.start()].strip():
            end_id, closing = self.tokenizer.convert_tokens_to_ids(end[0]), after[: end.start()]
        return opening, "" if lead.strip() else lead, closing, end_id, frozenset(added.findall(before + after))

    @cached_property
    def _control_names(self) -> tuple[str, ...]:
        """Names of the special tokens, and of the tokens that begin and end turns."""
        *_, names = self._turn
        special = {
            name for name, (identity, is_special) in self._added_tokens().items() if is_special or identity in self.stop_ids
        }
        # A single character, such as "!" used as padding, has no other spelling.
        found = {*names, *special, *self.tokenizer.all_special_tokens}
        return tuple(name for name in found if len(name) > 1 and not name.isspace())

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        """Ids of the control tokens, without the token for unknown characters."""
        return frozenset(self.tokenizer.convert_tokens_to_ids(list(self._control_names))) - {self.tokenizer.unk_token_id}

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        """A pattern that finds names of control tokens."""
        return _alternatives(self._control_names)

    def _added_tokens(self) -> dict[str, tuple[int, bool]]:
        """Return the names of added tokens, with their ids and True for special ones."""
        return {token.content: (identity, token.special) for identity, token in self.tokenizer.added_tokens_decoder.items()}


def _alternatives(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the longest of some names."""
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")


def _noted(notes: list[str], text: str) -> str:
    """Add a text to a list, and return it."""
    notes.append(text)
    return text


def _changed(content: Any, change: Callable[[str], str]) -> Any:
    """Return a message's content with a function applied to its texts; it is one text or a list of parts."""
    if isinstance(content, str):
        return change(content)
    return [{**part, "text": change(part["text"])} if "text" in part else part for part in content]
