"""A small language model for web pages, built and trained here from nothing: its tokenizer and its first weights.

It is an ordinary Hugging Face model: `AutoTokenizer` and `AutoModelForCausalLM` load what `save_small` wrote. What makes it
learn in minutes on a CPU:

- *A name is the same tokens wherever it stands.* Every word begins with a mark, and the blank between two words is left out, so
  `Blue Canvas Backpack` is three tokens in a goal, in a tag and in an action alike, whatever follows. Nothing is lost: decoding
  restores every blank. Digits go in threes; frequent pieces of markup are single tokens.
- *The first layer starts with heads that look one and two tokens back*, the first half of the circuit that copies.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast, LlamaConfig, LlamaForCausalLM

PAD, END = "<|pad|>", "<|end|>"
ROLES = ("system", "user", "assistant")
_SPECIAL = (PAD, END, *(f"<|{role}|>" for role in ROLES))
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '" + END + "' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

_WORD = "\x1f"  # begins every word; no page can hold it, as XML and HTML forbid it
_PIECES = rf"{_WORD}?\p{{L}}+|{_WORD}|\p{{N}}{{1,3}}| ?[^\p{{L}}\p{{N}}\s{_WORD}]+ ?|\s+"
_CHUNKS = (
    re.compile(r'<[a-z/][^<>"]*(?:>\s?|=")'),  # a tag up to its end or its first attribute's value
    re.compile(r'"[^<>"\n]*="'),  # from one value to the next
    re.compile(r"""(?:do|exit)\([a-z]+="(?:[A-Z][A-Za-z ]*"(?:, [a-z]+="|\)))?|go_[a-z]+\(\)|"\)"""),
)


def train_tokenizer(texts: Iterable[str], vocabulary: int = 2048, chunks: int = 160) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer fitted to the texts, with up to `chunks` frequent pieces of markup as single tokens."""
    texts = list(texts)
    counts = Counter(chunk for text in texts for pattern in _CHUNKS for chunk in pattern.findall(text))
    frequent = [chunk for chunk, count in counts.most_common(chunks) if count > 1 and not chunk[-1].isalnum()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Prepend(_WORD),  # an insertion before the first character, which Replace cannot do
            normalizers.Replace(Regex(rf"\A{_WORD}(?!\p{{L}})"), ""),
            normalizers.Replace(Regex(rf"(?<![\p{{L}}\p{{N}}{_WORD}])(?=\p{{L}})"), _WORD),
            normalizers.Replace(Regex(rf"(?<=[\p{{L}}\p{{N}}]) (?={_WORD})"), ""),
            normalizers.Replace(Regex(r"(?<=[\p{L}\p{N}]) (?=\p{N})"), _WORD),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_PIECES), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.ByteLevel(),
            decoders.Replace(Regex(rf"(?<=[\p{{L}}\p{{N}}]){_WORD}"), " "),
            decoders.Replace(Regex(_WORD), ""),
        ]
    )
    # Chunks are added before training, so that merges are learned on what is left between them.
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL])
    tokenizer.add_tokens([AddedToken(chunk, normalized=False) for chunk in frequent])
    splitter = re.compile("|".join(re.escape(chunk) for chunk in sorted(frequent, key=len, reverse=True)) or r"(?!)")
    trainer = trainers.BpeTrainer(
        vocab_size=max(vocabulary - len(frequent), 256 + len(_SPECIAL)),
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((part for text in texts for part in splitter.split(text) if part), trainer)
    tokenizer.add_tokens([AddedToken(chunk, normalized=False) for chunk in frequent])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        chat_template=_CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=8192,
    )


def create_model(
    tokenizer: PreTrainedTokenizerFast, *, width: int = 128, layers: int = 4, heads: int = 4, seed: int = 0
) -> PreTrainedModel:
    """Return an untrained model whose first layer already looks back."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=3 * width,
        attention_bias=True,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=8192,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        attn_implementation="sdpa",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    look_back(model, distances=(1, 2)[: max(1, heads // 2)])
    return model


@torch.no_grad()
def look_back(model: PreTrainedModel, distances: Sequence[int], sharpness: float = 40.0) -> None:
    """Make the first heads of layer 0 attend to the token `distance` back, one head per distance.

    Rotary positions turn a constant query and key into a function of the distance alone: with the key's pairs at angle 0 and
    the query's at -distance * frequency, the score is sum(sharpness * cos((d - distance) * frequency)), highest at d = distance.
    """
    attention = model.base_model.layers[0].self_attn
    size = attention.head_dim
    theta = model.config.rope_parameters["rope_theta"]
    frequencies = theta ** (-torch.arange(0, size, 2) / size)
    for head, distance in enumerate(distances):
        start, middle, end = head * size, head * size + size // 2, (head + 1) * size
        attention.k_proj.bias[start:middle] = sharpness**0.5
        attention.q_proj.bias[start:middle] = sharpness**0.5 * torch.cos(distance * frequencies)
        attention.q_proj.bias[middle:end] = -(sharpness**0.5) * torch.sin(distance * frequencies)


def save_small(path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Write model and tokenizer as a folder that the Auto classes of transformers load."""
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
