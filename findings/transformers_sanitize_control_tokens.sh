#!/usr/bin/env bash
# transformers 5.24.0: apply_chat_template(sanitize_control_tokens=True).
#
# Guess: special tokens become text in the messages of users and tools, the assistant's messages keep theirs, and all other text is
#        encoded unchanged.
# Seen:  special tokens become text in the assistant's messages as well, so that the ids of a past reply differ from the generated ids;
#        the characters U+F0000 and U+F0001 are removed from every message, and other private-use characters are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/encode.py" <<'PYTHON'
import json

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

model = Tokenizer(models.BPE(vocab={byte: number for number, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[]))
model.pre_tokenizer, model.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<|end|>", additional_special_tokens=["<|start|>", "<|call|>"])
tokenizer.chat_template = "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>{% endfor %}"
CALL = tokenizer.convert_tokens_to_ids("<|call|>")


def encode(role, content):
    message = {"role": role, "content": content}
    return tokenizer.apply_chat_template([message], tokenize=True, return_dict=True, sanitize_control_tokens=True)["input_ids"]


seen = {
    "the assistant's own special token is kept": CALL in encode("assistant", "<|call|>find"),
    "the user's special token is kept": CALL in encode("user", "<|call|>find"),
    "U+F0000 and U+F0001 are kept": tokenizer.decode(encode("user", "a\U000f0000\U000f0001b")) == "<|start|>user\na\U000f0000\U000f0001b<|end|>",
    "U+E000 is kept": tokenizer.decode(encode("user", "a\ue000b")) == "<|start|>user\na\ue000b<|end|>",
}
print(json.dumps(seen, indent=1))
assert list(seen.values()) == [False, False, False, True], "the behaviour has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3 jinja2==3.1.6
"$folder/venv/bin/python" "$folder/encode.py"
