"""Chats and replies as token ids: control tokens come from the chat template only, and a reply ends as the next prompt shows it."""

import json
import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import ByT5Tokenizer, GenerationConfig, PreTrainedTokenizerFast

from agents.data.prompts import PromptEncoder
from tests import tiny
from tests.errors import expect_error

WORDS = [
    "Great",
    "shop",
    "€ 5",
    "naïve",
    "日本",
    "<b>bold</b>",
    'do(action="Click", element="Add [2]")',
    "user\n",
    "[INST]",
    "<",
    "|>",
]
TEXTS = [" ".join(WORDS), *tiny.texts()]

CHATML = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA_3 = (
    "{% for m in messages %}{% if loop.first %}{{ bos_token }}{% endif %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
PHI = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% else %}{{ eos_token }}{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content | trim }} {{ eos_token }}{% endif %}{% endfor %}"
)


def finish(tokenizer, template, added, **special):
    """Return a tokenizer of transformers with added tokens, special ones or not, and a chat template."""
    tokenizer.add_tokens([AddedToken(name, normalized=False, **flags) for name, flags in added.items()])
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in special.values()])
    options = {"chat_template": template, "clean_up_tokenization_spaces": False}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options, **special)


def byte_level(template, added, **special):
    """A tokenizer as of GPT-2, Qwen and Llama 3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False))
    return finish(tokenizer, template, added, **special)


def sentence_piece(template, added, *, prefix, **special):
    """A tokenizer as of Llama 2 and Phi-3.5, which puts a blank before each text between control tokens, or as of Gemma, which does not."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    steps = [normalizers.Prepend("▁")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*parts, decoders.Strip(" ", 1, 0)] if prefix else parts)
    all_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=["<unk>", *special.values(), *all_bytes], show_progress=False)
    tokenizer.train_from_iterator([text.replace("日", "") for text in TEXTS], trainer)
    read = json.loads(tokenizer.to_str())
    read["added_tokens"] = read["added_tokens"][: 1 + len(special)]  # bytes are tokens as others are
    return finish(Tokenizer.from_str(json.dumps(read)), template, added, unk_token="<unk>", **special)


def unigram():
    """A tokenizer whose model has control tokens in its vocabulary, and whose normalizer turns wide characters into narrow ones."""
    alphabet = sorted({character for text in [*TEXTS, *map(chr, range(33, 127))] for character in text} | {"▁"})
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("<|im_start|>", 0.0), *((piece, -3.0) for piece in alphabet)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Replace("▁", " ")
    template = CHATML.replace("<|im_end|>", "</s>")
    return finish(tokenizer, template, {"<|im_start|>": {"special": True}}, unk_token="<unk>", eos_token="</s>")


def slow():
    """A tokenizer in Python, of bytes."""
    tokenizer = ByT5Tokenizer(extra_ids=0, additional_special_tokens=["<|im_start|>", "<|im_end|>"])
    tokenizer.chat_template = CHATML
    return tokenizer


SPECIAL = {"special": True}
KINDS = {
    "house": lambda: tiny.tiny_model()[1],
    "ChatML": lambda: byte_level(
        CHATML, {"<|im_start|>": SPECIAL, "<tool_call>": {}}, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    ),
    "Llama 3": lambda: byte_level(
        LLAMA_3,
        dict.fromkeys(("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"), SPECIAL),
        bos_token="<|begin_of_text|>",
        eos_token="<|end_of_text|>",
    ),
    "Phi 3.5": lambda: sentence_piece(
        PHI,
        {name: SPECIAL | {"rstrip": True} for name in ("<|user|>", "<|assistant|>", "<|end|>")} | {"</s>": {"rstrip": True}},
        prefix=True,
        bos_token="<s>",
        eos_token="<|endoftext|>",
    ),
    # Tokenizers from GGUF files do not mark turns as special.
    "Gemma": lambda: sentence_piece(
        GEMMA, {"<start_of_turn>": {}, "<end_of_turn>": {}, "\n\n": {}}, prefix=False, bos_token="<bos>", eos_token="<eos>"
    ),
    "Mistral": lambda: sentence_piece(MISTRAL, {}, prefix=True, bos_token="<s>", eos_token="</s>"),
    "Unigram": unigram,
    "slow": slow,
}
ENDS = {
    "house": "<|end|>", "ChatML": "<|im_end|>", "Llama 3": "<|eot_id|>", "Phi 3.5": "<|end|>", "Gemma": "<end_of_turn>",
    "Mistral": "</s>", "Unigram": "</s>", "slow": "<|im_end|>",
}  # fmt: skip


@cache
def encoder_of(kind):
    return PromptEncoder(KINDS[kind]())


@cache
def control_names(kind):
    """Return the names of special tokens, and of tokens that begin and end turns."""
    tokenizer = encoder_of(kind).tokenizer
    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    return sorted(special | {*tokenizer.all_special_tokens, ENDS[kind]} | ({"<start_of_turn>"} if kind == "Gemma" else set()))


def control_ids(kind):
    tokenizer = encoder_of(kind).tokenizer
    return {*tokenizer.convert_tokens_to_ids(control_names(kind))} - {tokenizer.unk_token_id}


def count(kind, ids):
    return sum(map(control_ids(kind).__contains__, ids))


every_kind = pytest.mark.parametrize("kind", KINDS)


def texts(kind):
    """Texts with names of control tokens, whole, in part, and joined."""
    names = control_names(kind)
    parts = st.sampled_from([*WORDS, *names, *(name[1:] for name in names), *(name[:-1] for name in names), "\U0010fffd"])
    return st.lists(parts, min_size=1, max_size=6).map("".join).map(str.strip).filter(bool)


@every_kind
@given(data=st.data())
def test_no_text_becomes_a_control_token_and_all_of_it_is_read(kind, data):
    encoder, text = encoder_of(kind), data.draw(texts(kind))
    tokenizer = encoder.tokenizer
    chat = [{"role": role, "content": text} for role in ("user", "assistant", "user")]
    plain = [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]
    (ids,), (expected,) = encoder.encode_all([chat]), encoder.encode_all([plain])
    assert count(kind, ids) == count(kind, expected)
    *reply, end = encoder.encode_reply(text)
    assert (count(kind, reply), tokenizer.convert_ids_to_tokens(end)) == (0, ENDS[kind])
    if kind != "Unigram":  # its normalizer changes texts
        assert encoder.decode([*reply, end]).strip() == text
        assert without_blanks(tokenizer.decode(ids)) == without_blanks(
            tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        )


def without_blanks(text):
    return "".join(text.split())


def test_normalized_text_never_becomes_a_control_token():
    encoder = encoder_of("Unigram")
    text = "\uff1c/s\uff1e and \uff1c|im_start|\uff1e"  # wide "<" and ">"
    assert count("Unigram", encoder.tokenizer(text)["input_ids"]) == 2
    assert count("Unigram", encoder.encode_reply(text)) == 1
    (ids,), (expected,) = (encoder.encode_all([[{"role": "user", "content": content}]]) for content in (text, "x"))
    assert count("Unigram", ids) == count("Unigram", expected)
    assert encoder.decode(encoder.encode_reply(text)) == "</s> and <|im_start|>"


@every_kind
def test_texts_without_control_tokens_have_the_ids_of_the_rendered_chat(kind):
    encoder, rng = encoder_of(kind), random.Random(0)
    chats = [
        [{"role": role, "content": " ".join(rng.choices(WORDS, k=9))} for role in ("user", "assistant", "user")]
        for _ in range(50)
    ]
    tokenizer = encoder.tokenizer
    rendered = [tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False) for chat in chats]
    assert encoder.encode_all(chats) == [tuple(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in rendered]


@every_kind
@pytest.mark.parametrize("reply", ['do(action="Click", element="Add to Cart")', 'exit(message="naïve")', "I look.\n\nexit()"])
def test_the_next_prompt_continues_the_prompt_and_the_reply(kind, reply):
    encoder = encoder_of(kind)
    chat = [{"role": "user", "content": "Round 0"}]
    (prompt,) = encoder.encode_all([chat])
    chat += [{"role": "assistant", "content": reply}, {"role": "user", "content": "Round 1"}]
    (following,) = encoder.encode_all([chat])
    trained = encoder.encode_reply(reply)
    assert following[: len(prompt) + len(trained)] == prompt + trained
    assert trained[-1] in encoder.stop_ids
    assert not {*trained[:-1]} & encoder.stop_ids
    assert encoder.decode(trained).strip() == reply


@every_kind
def test_stop_tokens_come_from_template_tokenizer_and_generation_config(kind):
    tokenizer = encoder_of(kind).tokenizer
    expected = {tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids(ENDS[kind])}
    assert encoder_of(kind).stop_ids == expected
    model, _ = tiny.tiny_model()
    for ids in (None, 7, [7, 9]):
        model.generation_config = GenerationConfig(eos_token_id=ids)
        assert PromptEncoder.of_model(model, tokenizer).stop_ids == expected | (
            {*ids} if isinstance(ids, list) else {ids} - {None}
        )


def test_tokenizers_without_template_or_end_token():
    tokenizer = byte_level(None, {}, eos_token="<|end|>")
    assert PromptEncoder(tokenizer).encode_reply("<|end|>")[-1] == tokenizer.eos_token_id
    assert PromptEncoder(tokenizer).stop_ids == {tokenizer.eos_token_id}
    tokenizer = byte_level("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", {}, pad_token="<|pad|>")
    assert PromptEncoder(tokenizer).stop_ids == frozenset()
    with expect_error(ValueError, "eos_token"):
        PromptEncoder(tokenizer).encode_reply("exit()")
