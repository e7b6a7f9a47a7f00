"""A small Llama model for web pages, trained from scratch: its tokenizer and its initial parameters.

`AutoTokenizer` and `AutoModelForCausalLM` load it like any Hugging Face model. Two design choices make it trainable in minutes on a CPU:

- *A name has the same tokens everywhere.* Every word starts with a mark, and the space between two words is omitted, so
  `Blue Canvas Backpack` is three tokens in a goal, in a tag and in an action. Decoding restores every space. Digits are grouped in
  threes; frequent pieces of markup are single tokens.
- *The first two layers are initialized as induction heads*: they copy the token that followed the last occurrence of the current token.
"""

import copy
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

PAD, END = "<|pad|>", "<|end|>"
ROLES = ("system", "user", "assistant")
SPECIAL_TOKENS = (PAD, END, *(f"<|{role}|>" for role in ROLES))
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '" + END + "' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

ROPE_THETA = 1e8
# Tuned on repeated random tokens: the loss falls from 7.3 to 0.5 in 75 updates, and to 7.2 with randomly initialized weights.
_LOOK_GAIN, _SKETCH_GAIN, _MATCH_GAIN, _COPY_GAIN = 40.0, 0.1, 1.8, 0.4

WORD_MARK = "\x1f"  # starts every word; no page contains it, because XML and HTML forbid it
_TOKEN_PATTERN = rf"{WORD_MARK}?\p{{L}}+|{WORD_MARK}|\.?\p{{N}}{{1,3}}| ?[^\p{{L}}\p{{N}}\s{WORD_MARK}]+ ?|\s+"
_TAG_PATTERN = r"</?[a-z][a-z0-9]*>[ \n]?"
_MARKUP_CHUNKS = (
    re.compile(_TAG_PATTERN),
    re.compile(rf"(?:{_TAG_PATTERN}){{2,6}}"),  # all tags between two texts
    re.compile(rf'(?:{_TAG_PATTERN})*<[a-z]+(?: [a-z]+)* [a-z]+="'),  # up to the first attribute's value
    re.compile(r'"(?: [a-z]+)*(?: [a-z]+="|>[ \n]?)'),  # from a value to the next one, or to the end of the tag
    re.compile(r'(?:do|exit)\([a-z]+="(?:[A-Z][A-Za-z ]*"(?:, [a-z]+="|\)))?|", [a-z]+="|"\)|go_[a-z]+\(\)'),
    re.compile(r"Task Instruction: |\n\n(?:Round |\*\*)|\*\* Simplified html \*\*|URL: https?://[a-z.]+/|Action error: "),
)


def train_tokenizer(texts: Iterable[str], vocabulary: int = 2048, chunks: int = 200) -> "PreTrainedTokenizerFast":
    """Return a byte-level BPE tokenizer trained on texts.

    Args:
        texts: Prompts and replies.
        vocabulary: Number of tokens, including special tokens and chunks; at least 256 plus these.
        chunks: Largest number of frequent pieces of markup that become single tokens.

    """
    texts = list(texts)
    counts = Counter(chunk for text in texts for pattern in _MARKUP_CHUNKS for chunk in pattern.findall(text))
    frequent = [chunk for chunk, count in counts.most_common(chunks) if count > 1 and not chunk[-1].isalnum()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Prepend(WORD_MARK),  # Replace cannot insert before the first character
            normalizers.Replace(Regex(rf"\A{WORD_MARK}(?!\p{{L}})"), ""),
            normalizers.Replace(Regex(rf"(?<![\p{{L}}\p{{N}}{WORD_MARK}])(?=\p{{L}})"), WORD_MARK),
            normalizers.Replace(Regex(rf"(?<=[\p{{L}}\p{{N}}]) (?={WORD_MARK})"), ""),
            normalizers.Replace(Regex(r"(?<=[\p{L}\p{N}]) (?=\p{N})"), WORD_MARK),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_TOKEN_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.ByteLevel(),
            decoders.Replace(Regex(rf"(?<=[\p{{L}}\p{{N}}]){WORD_MARK}"), " "),
            decoders.Replace(Regex(WORD_MARK), ""),
        ]
    )
    # Chunks are added before training, so that merges are learned on the text between them.
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])
    tokenizer.add_tokens([AddedToken(chunk, normalized=False) for chunk in frequent])
    splitter = re.compile("|".join(re.escape(chunk) for chunk in sorted(frequent, key=len, reverse=True)) or r"(?!)")
    trainer = trainers.BpeTrainer(
        vocab_size=max(vocabulary - len(frequent), 256 + len(SPECIAL_TOKENS)),
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((part for text in texts for part in splitter.split(text) if part), trainer)
    tokenizer.add_tokens([AddedToken(chunk, normalized=False) for chunk in frequent])
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415 - its import takes seconds

    options = {"chat_template": _CHAT_TEMPLATE, "clean_up_tokenization_spaces": False, "model_max_length": 8192}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, **options)


def create_model(
    tokenizer: "PreTrainedTokenizerFast", *, width: int = 128, layers: int = 4, heads: int = 4, seed: int = 0
) -> "PreTrainedModel":
    """Return an untrained Llama model whose first two layers are initialized as induction heads.

    Args:
        tokenizer: Defines the vocabulary size and the special token ids.
        width: Hidden size. The feed-forward width is three times as large.
        layers: Number of layers, at least 2.
        heads: Number of attention heads, at least 2.
        seed: Seed of the parameters. torch's global random state is unchanged.

    """
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415 - see `train_tokenizer`

    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads, attention_bias=True, max_position_embeddings=8192,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA}, tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
        initialize_induction_heads(model)
    return model


@torch.no_grad()
def insert_layers(model: "PreTrainedModel", count: int, *, seed: int = 0) -> "PreTrainedModel":
    """Return a copy of the model with `count` new layers after its first layer.

    The output projections of the new layers are zero, so the model's outputs are unchanged until they are trained.
    """
    config = copy.deepcopy(model.config)
    config.num_hidden_layers += count
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        deeper: PreTrainedModel = type(model)(config)
    layers: Any = deeper.base_model.layers
    for layer in layers[1 : 1 + count]:
        for projection in (layer.self_attn.o_proj, layer.mlp.down_proj):
            for weights in projection.parameters():
                weights.zero_()

    def renumber(match: re.Match[str]) -> str:
        index = int(match[1])
        return f".layers.{index + count if index else 0}."

    state = {re.sub(r"\.layers\.(\d+)\.", renumber, name): weights for name, weights in model.state_dict().items()}
    deeper.load_state_dict(state, strict=False)
    return deeper


@torch.no_grad()
def initialize_induction_heads(model: "PreTrainedModel") -> None:
    """Initialize the first two layers of an untrained model as induction heads, which continue repeated text.

    In layer 0, head 0 attends one token back and adds a random projection of that token to the current one. Head 1 attends two
    tokens back. In layer 1, heads 0 and 1 attend to positions whose projection equals that of the current token, and add the token at
    this position to the prediction. All four heads are trained like any other parameter.
    """
    layers: Any = model.base_model.layers
    first, second = layers[0].self_attn, layers[1].self_attn
    size = first.head_dim
    basis = torch.linalg.qr(torch.randn(model.config.hidden_size, model.config.hidden_size))[0]
    sketch, output_basis = basis[:, :size].T, basis[:, -size:]
    for head, distance in enumerate((1, 2)):
        _initialize_backward_head(first, head, distance)
    first.v_proj.weight[:size] = sketch * _SKETCH_GAIN**0.5
    first.o_proj.weight[:, :size] = output_basis * _SKETCH_GAIN**0.5
    # Only rotary pairs of low frequency are used, because pairs of high frequency blur the comparison over long distances.
    slow_pairs = size // 2 - size // 2 // 8 * 3
    for head in (0, 1):
        start = head * size
        rows = [start + half + index for half in (0, size // 2) for index in range(size // 2 - slow_pairs, size // 2)]
        part = slice(0, 2 * slow_pairs) if head == 0 else slice(size - 2 * slow_pairs, size)
        for projection, weights in ((second.q_proj, sketch[part]), (second.k_proj, output_basis.T[part])):
            projection.weight[start : start + size] = 0
            projection.weight[rows] = weights * _MATCH_GAIN
        block = basis[:, start : start + size]
        second.v_proj.weight[start : start + size] = block.T
        second.o_proj.weight[:, start : start + size] = block * _COPY_GAIN


def _initialize_backward_head(attention: Any, head: int, distance: int) -> None:
    """Initialize an attention head to attend to the token `distance` positions back, in place.

    With rotary positions, the score of a constant query and key depends on their distance d only. With the key's pairs at angle 0
    and the query's at -distance * frequency, it is the sum of cos((d - distance) * frequency), highest at d = distance.
    """
    size = attention.head_dim
    start, middle, end = head * size, head * size + size // 2, (head + 1) * size
    angles = distance * ROPE_THETA ** (-torch.arange(0, size, 2) / size)
    attention.k_proj.bias[start:middle] = _LOOK_GAIN**0.5
    attention.q_proj.bias[start:middle] = _LOOK_GAIN**0.5 * torch.cos(angles)
    attention.q_proj.bias[middle:end] = -(_LOOK_GAIN**0.5) * torch.sin(angles)


def pretrain_copying(
    model: "PreTrainedModel", updates: int, *, first_id: int, learning_rate: float = 3e-3, seed: int = 0
) -> float:
    """Train the model to copy: on random token sequences, each followed by its repetition.

    Args:
        model: Trained in place.
        updates: Number of optimizer steps, each on 12 sequences of 40 tokens and their repetitions.
        first_id: Smallest token id in the sequences, above all special tokens.
        learning_rate: Learning rate of AdamW after a linear warm-up of 10 updates.
        seed: Seed of the sequences.

    Returns:
        The mean cross-entropy of the repetitions in the last update, before its optimizer step.

    """
    rows, length = 12, 40
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.95), weight_decay=0.01)
    model.train()
    loss = torch.tensor(0.0)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1, (update + 1) / 10)
        sequences = torch.randint(first_id, model.config.vocab_size, (rows, length), generator=generator)
        logits = model(torch.cat([sequences, sequences], dim=1)).logits[:, length:-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), sequences[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()
