"""The command of behaviour cloning: defaults and help by the kind of model."""

import pytest

from agents.models.checkpoints import save_agent
from agents.train_bc import main as clone_command
from agents.training import cloning as train_bc
from agents.training.settings import (
    PRETRAINED,
    BCSettings,
)
from tests import tiny
from tests.tiny_runs import bc, clone, help_of, tiny_envs

__all__ = ["clone", "tiny_envs"]  # fixtures


def test_a_pretrained_model_has_other_defaults_and_a_resumed_run_keeps_its_own(tmp_path, clone, monkeypatch):
    model, tokenizer = tiny.tiny_model()
    save_agent(tmp_path / "small", model, tokenizer, {})
    tokenizer.pad_token = tokenizer.eos_token  # as of another project's tokenizer
    save_agent(tmp_path / "pretrained", model, tokenizer, {})
    parsed = []
    monkeypatch.setattr(train_bc, "train", parsed.append)

    def defaults(*arguments):
        clone_command(["--out", str(tmp_path / "run"), *map(str, arguments)])
        return {name: getattr(parsed[-1], name) for name in PRETRAINED}

    small = {name: getattr(BCSettings, name) for name in PRETRAINED}
    for source in ("small", tmp_path / "small", clone, "agents/checkpoints/language-model-1.7m"):
        assert defaults("--model", source) == small
    pretrained = tmp_path / "pretrained"
    assert defaults("--model", pretrained) == PRETRAINED
    assert defaults("--model", pretrained, "--lora-rank=16") == {**PRETRAINED, "learning_rate": 5e-4}
    assert defaults("--model", pretrained, "--lora-rank", 0) == PRETRAINED
    assert defaults("--model", pretrained, "--curriculum", 0.3, "--learning-rate", 1.0) == {
        **PRETRAINED, "curriculum": 0.3, "learning_rate": 1.0
    }  # fmt: skip
    monkeypatch.undo()
    train_bc.train(bc(tmp_path / "old", model=str(pretrained), learning_rate=1e-3), tiny.demonstrations(8))
    monkeypatch.setattr(train_bc, "train", parsed.append)
    recorded = {"copy_weight": 0.5, "curriculum": 0.0, "max_prompt_tokens": 1400, "learning_rate": 1e-3}
    assert defaults("--model", pretrained, "--out", tmp_path / "old") == recorded


def test_the_help_of_cloning_has_the_defaults_of_each_kind_of_model(capsys, tmp_path):
    model, tokenizer = tiny.tiny_model()
    tokenizer.pad_token = tokenizer.eos_token
    save_agent(tmp_path, model, tokenizer, {})
    text, groups = help_of(clone_command, capsys)
    assert "agents.train_bc --model MODEL --out FOLDER [-h]" in text
    assert "(default: 2e-05, or 0.0005 with --lora-rank; 0.002 for a small model)" in groups["start"]
    assert "--vocabulary" in groups["small model"]
    _, groups = help_of(clone_command, capsys, "--model", tmp_path)
    assert "(default: 2e-05, or 0.0005 with --lora-rank)" in groups["start"]
    assert "small model" not in groups
    _, groups = help_of(clone_command, capsys, "--model", "small")
    assert "(default: 0.002)" in groups["start"]
    with pytest.raises(SystemExit):
        clone_command(["--out", str(tmp_path / "run")])
    assert "the following arguments are required: --model" in capsys.readouterr().err


def test_cloning_names_the_kind_of_model_of_an_option(tmp_path, capsys):
    for model, option, kind in (("pointer", "--lora-rank", "language models"), ("small", "--detours", "pointer networks")):
        with pytest.raises(SystemExit):
            clone_command(["--model", model, "--out", str(tmp_path), option, "1"])
        assert f"{option} is for {kind} only; leave it out" in capsys.readouterr().err
