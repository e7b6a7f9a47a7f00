"""System prompts of agents, and the encoding of chat messages as token ids.

The style "env" is the system message of the env (`webarena_gym.actions.dialect`) and may change with the package. The texts of the
styles "act" and "think" never change, because an agent must be used with the system prompt of its training. "react" and "plan" are for
prompted agents whose earlier thoughts remain in the conversation: "react" follows ReAct (Yao et al., arXiv 2210.03629), which alternates
thoughts and actions, and "plan" follows WebPilot (Zhang et al., arXiv 2408.15978), which plans subtasks and reflects after each action.
WebPilot uses separate agents and a tree search for this; here it is one prompt.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

from agents.data.trajectories import Ids
from webarena_gym.actions import instructions
from webarena_gym.actions.dialect import Naming
from webarena_gym.arguments import suggestion
from webarena_gym.options import EnvOptions

Style = Literal["none", "act", "think", "react", "plan", "env"]

_TEXTS = Path(__file__).with_suffix(".toml")
_CONTEXT_TOKENS = 8  # preceding tokens that the text of a token may depend on
_CHARACTER = re.compile(r"(?s:.)")
_PLACEHOLDERS = ("\U0010fff0", "\U0010fff1", "\U0010fff2")  # contents of a chat that reveals how a template formats turns

THINKING: tuple[Style, ...] = ("think", "react", "plan")
"""Styles in which a reply contains a thought and an action."""
REMEMBERED: tuple[Style, ...] = ("react", "plan")
"""Styles whose earlier thoughts remain in the conversation."""
_PROMPT_KEYWORDS = frozenset("observation dialect vendor window_size coordinates browser tools tool_tag".split())  # noqa: SIM905
"""Keywords of the env, in addition to `elements`, that change its system prompt."""
_NAMING = {
    "id": "the id that stands in its tag",
    "label": 'the text that it shows, such as "Add to Cart"; the second element of the same text is "Add to Cart [2]"',
}


@cache
def prompt_texts() -> dict[str, str]:
    """Return the prompt texts by name."""
    return tomllib.loads(_TEXTS.read_text(encoding="utf-8"))


def system_prompt(style: Style, *, elements: Naming = "id", **env_arguments: Any) -> str:
    """Return the system prompt of a style: "" for "none", and the env's own for "env", which describes tools too.

    `env_arguments` are further keywords of the env, as of `EnvSettings.env_arguments`; those that do not change the prompt are ignored.

    >>> "<think>" in system_prompt("think"), "<think>" in system_prompt("act"), system_prompt("none")
    (True, False, '')
    """
    if style == "none":
        return ""
    if style == "env":
        options = EnvOptions(
            elements=elements, **{name: value for name, value in env_arguments.items() if name in _PROMPT_KEYWORDS}
        )
        return instructions(options.build_dialect(), options.observation)
    texts = prompt_texts()
    return texts["task"].format(grammar=texts["grammar"], naming=_NAMING[elements]) + texts[style]


def with_system_prompt(messages: Sequence[Mapping[str, Any]], system: str) -> list[Mapping[str, Any]]:
    """Return a chat whose system message is replaced by `system`, or removed if `system` is empty."""
    before = [{"role": "system", "content": system}] if system else []
    return [*before, *(message for message in messages if message["role"] != "system")]


def with_workflows(messages: Sequence[Mapping[str, Any]], workflows: str) -> list[Mapping[str, Any]]:
    """Return a chat with workflows appended to its system message; unchanged if `workflows` is empty."""
    if not workflows:
        return list(messages)
    system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    return with_system_prompt(messages, f"{system}\n\n{prompt_texts()['workflows']}\n\n{workflows}".lstrip())


def expect_template_variables(template: str | Mapping[str, str] | None, values: Mapping[str, Any]) -> None:
    """Raise ValueError if a chat template, or a dict of several, does not contain the name of one of these variables.

    A template ignores a misspelled variable, so a model would be trained and used with another prompt than intended.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"chat_template_kwargs is {values!r}; expected a dict, such as {{'enable_thinking': False}}")  # noqa: TRY004 - as other options
    words = set(re.findall(r"\w+", str(template or "")))
    for name in values:
        if name not in words:
            hint = suggestion(name, words, list_all=False)
            raise ValueError(
                f"chat_template_kwargs is {dict(values)!r}, but the model's chat template has no variable {name!r}{hint and '; '}{hint}"
            )


Rendering = Callable[[Callable[[str], str]], str]
"""A function that renders a text of trusted and untrusted parts; it applies its argument to each untrusted part."""


@dataclass(frozen=True)
class PromptEncoder:
    """Encodes chats as token ids of prompts, and decodes responses.

    Only the chat template produces control tokens. The name of a control token inside a message or reply, such as "<|im_end|>", is
    encoded as text.

    Args:
        tokenizer: a tokenizer of transformers
        system: system prompt, which replaces the system message of the chats; None keeps it
        eos_ids: end tokens in addition to those of the tokenizer and its chat template
        chat_template_kwargs: variables of the chat template, such as {"enable_thinking": False}

    Raises:
        ValueError: The chat template does not use one of the variables, or fails with them.

    """

    tokenizer: Any
    system: str | None = ""
    eos_ids: frozenset[int] = frozenset()
    chat_template_kwargs: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.chat_template_kwargs:
            return
        expect_template_variables(self.tokenizer.chat_template, self.chat_template_kwargs)
        chat = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
        try:
            for messages, prompt in ((chat[:1], True), (chat, True), (chat, False)):
                self._render(with_system_prompt(messages, self.system or ""), prompt, str)
        except Exception as error:  # a template can raise any error
            raise ValueError(
                f"chat_template_kwargs is {dict(self.chat_template_kwargs)!r}, with which the chat template fails: {error}"
            ) from error

    @classmethod
    def of_model(
        cls, model: object, tokenizer: object, system: str | None = "", chat_template_kwargs: Mapping[str, Any] | None = None
    ) -> "PromptEncoder":
        """Create the encoder for a transformers model, with the end tokens of its generation config."""
        ids = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        return cls(tokenizer, system, frozenset([ids] if isinstance(ids, int) else ids or ()), chat_template_kwargs)

    @cached_property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end a response."""
        *_, end_id, _ = self._turn
        ids = {end_id, self.tokenizer.eos_token_id, *self.eos_ids}
        return frozenset(identity for identity in ids if identity is not None)

    def encode_all(self, conversations: Sequence[Sequence[Mapping[str, object]]], *, prompt: bool = True) -> list[Ids]:
        """Return the token ids of each conversation. With `prompt`, they end at the beginning of the assistant's turn."""
        return self._encode(
            [
                partial(self._render, messages if self.system is None else with_system_prompt(messages, self.system), prompt)
                for messages in conversations
            ]
        )

    def encode_reply(self, reply: str) -> Ids:
        """Return the token ids of a reply as a training target, with the end token.

        They are the tokens that the next prompt contains after this prompt. Raises ValueError if neither the tokenizer nor its chat template has an end token.
        """
        opening, lead, closing, end_id, _ = self._turn
        if end_id is None:
            raise ValueError(
                f"{type(self.tokenizer).__name__} has no end token; expected eos_token or one in the chat template"
            )
        text = lead + reply + closing
        before, ids, separate = self._encode(
            [lambda _: opening, lambda change: opening + change(text), lambda change: change(text)]
        )
        # A token may span the end of the opening and the beginning of the reply. Then no ids continue the prompt, and the reply is encoded separately.
        return (*(ids[len(before) :] if ids[: len(before)] == before else separate), end_id)

    def decode(self, response_ids: Sequence[int]) -> str:
        """Return the text of a response without its end token and special tokens."""
        ids = list(response_ids)
        if ids and ids[-1] in self.stop_ids:
            del ids[-1]
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True)
        return text

    def texts(self, response_ids: Sequence[int]) -> tuple[str, ...]:
        """Return the text that each token adds, with special tokens by name.

        A token that is part of a character adds "" or the replacement character.
        """
        texts = []
        for index in range(len(response_ids)):
            before = list(response_ids[max(0, index - _CONTEXT_TOKENS) : index])
            text_before: str = self.tokenizer.decode(before)
            texts.append(self.tokenizer.decode([*before, response_ids[index]])[len(text_before) :])
        return tuple(texts)

    def _render(self, chat: Sequence[Mapping[str, Any]], prompt: bool, change: Callable[[str], str]) -> str:
        """Return the text of a chat, with a function applied to the text of each message."""
        rendered_chat = [{**message, "content": _map_texts(message["content"], change)} for message in chat]
        text: str = self.tokenizer.apply_chat_template(
            rendered_chat, add_generation_prompt=prompt, tokenize=False, **(self.chat_template_kwargs or {})
        )
        return text

    def _encode(self, renderings: Sequence[Rendering]) -> list[Ids]:
        """Return the token ids of each text, with no control tokens from untrusted parts.

        A text whose untrusted parts contain names of control tokens is split after the first character of each name, and the pieces are
        tokenized separately. If the tokenizer's normalizer turns other characters into a name, the text is split after every character.
        """
        contents: list[list[str]] = [[] for _ in renderings]
        texts = [render(partial(_record, content)) for render, content in zip(renderings, contents, strict=True)]
        token_ids = self._tokenize(texts)
        for index, (render, content) in enumerate(zip(renderings, map("".join, contents), strict=True)):
            if not any(name in content for name in self._control_names) and not self._has_more(token_ids[index], texts[index]):
                continue
            separator = next(chr(code) for code in range(0x10FFFD, 0, -1) if chr(code) not in content)
            control = self._control_pattern.pattern
            for pattern in (re.compile(f"(?=(?:{control}))(?s:.)"), _CHARACTER):
                text = render(partial(pattern.sub, rf"\g<0>{separator}"))
                token_ids[index] = self._tokenize_pieces(text.split(separator))
                if not self._has_more(token_ids[index], text):
                    break
        return token_ids

    def _has_more(self, ids: Ids, text: str) -> bool:
        """Return True if `ids` contain more control tokens than the text contains names of control tokens."""
        return sum(map(self._control_ids.__contains__, ids)) > len(self._control_pattern.findall(text))

    def _tokenize(self, texts: Sequence[str]) -> list[Ids]:
        return [tuple(ids) for ids in self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]] if texts else []

    def _tokenize_pieces(self, pieces: Sequence[str]) -> Ids:
        """Return the token ids of a text given in pieces, so that no token spans two pieces."""
        # Some tokenizers add a space before a text, but not after a line break. The line break is removed afterwards.
        ids, line_break, *other_ids = self._tokenize([pieces[0], "\n", *(f"\n{piece}" for piece in pieces[1:])])
        all_ids = list(ids)
        for piece, ids in zip(pieces[1:], other_ids, strict=True):
            begins = ids[: len(line_break)] == line_break
            all_ids += ids[len(line_break) :] if begins else self._tokenize([piece])[0]
        return tuple(all_ids)

    @cached_property
    def _turn(self) -> tuple[str, str, str, int | None, frozenset[str]]:
        """The format of an assistant turn, derived from the chat template.

        Returns the text between the user message and a generated reply, the whitespace before and after an earlier reply, the end token
        (the tokenizer's, if the template has none), and the names of the control tokens around the reply.
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
        added_names = _alternatives(name for name in self._added_tokens() if not name.isspace())
        end = added_names.search(after)
        if end and not after[: end.start()].strip():
            end_id, closing = self.tokenizer.convert_tokens_to_ids(end[0]), after[: end.start()]
        return opening, "" if lead.strip() else lead, closing, end_id, frozenset(added_names.findall(before + after))

    @cached_property
    def _control_names(self) -> tuple[str, ...]:
        """Names of the special tokens and of the tokens that begin and end turns."""
        *_, names = self._turn
        special = {
            name for name, (identity, is_special) in self._added_tokens().items() if is_special or identity in self.stop_ids
        }
        # Names of one character, such as "!" as padding, cannot be split.
        names_of_tokens = {*names, *special, *self.tokenizer.all_special_tokens}
        return tuple(name for name in names_of_tokens if len(name) > 1 and not name.isspace())

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        """Ids of the control tokens, without the unknown token."""
        return frozenset(self.tokenizer.convert_tokens_to_ids(list(self._control_names))) - {self.tokenizer.unk_token_id}

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        """A pattern that matches names of control tokens."""
        return _alternatives(self._control_names)

    def _added_tokens(self) -> dict[str, tuple[int, bool]]:
        """Return (id, is_special) of the added tokens by name."""
        return {token.content: (identity, token.special) for identity, token in self.tokenizer.added_tokens_decoder.items()}


def _alternatives(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches the longest of the names; it matches nothing if there are none."""
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")


def _record(notes: list[str], text: str) -> str:
    """Append a text to a list and return the text."""
    notes.append(text)
    return text


def _map_texts(content: str | Sequence[Mapping[str, Any]], change: Callable[[str], str]) -> str | list[Mapping[str, Any]]:
    """Apply a function to the texts of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return change(content)
    return [{**part, "text": change(part["text"])} if "text" in part else part for part in content]
