"""Averages of the weights of models."""

import json

import torch

from agents.average import main as average_main
from agents.models.checkpoints import (
    AGENT,
    agent_record,
    load_model,
    save_agent,
)
from agents.models.small import create_model, train_tokenizer
from tests.errors import expect_error
from tests.tiny import tiny_model

RECORD = {"elements": "label", "max_steps": 4}


def averaged(folder, seed, record=RECORD):
    model, tokenizer = tiny_model()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(seed)))
    save_agent(folder, model, tokenizer, record)
    return str(folder)


def test_every_weight_is_the_mean_of_those_of_the_models(tmp_path, capsys):
    folders = [averaged(tmp_path / name, seed) for seed, name in enumerate("abc")]
    average_main(["--models", *folders, "--out", str(tmp_path / "mean")])
    assert capsys.readouterr().out.strip() == str(tmp_path / "mean")
    mean, tokenizer = load_model(tmp_path / "mean")
    parts = [load_model(folder)[0].state_dict() for folder in folders]
    for name, weights in mean.state_dict().items():
        assert torch.allclose(weights, sum(part[name] for part in parts) / 3, atol=1e-6), name
    assert agent_record(tmp_path / "mean") == RECORD
    assert tokenizer("a shop").input_ids == load_model(folders[0])[1]("a shop").input_ids


def test_models_that_do_not_belong_together_are_refused(tmp_path):
    first = averaged(tmp_path / "first", 0)
    other = averaged(tmp_path / "other", 1, {**RECORD, "elements": "id"})
    with expect_error(ValueError, "other", "'id'", "'label'"):
        average_main(["--models", first, other, "--out", str(tmp_path / "mean")])
    tokenizer = train_tokenizer(["another text"], 300)
    save_agent(tmp_path / "small", create_model(tokenizer, width=64, layers=2, heads=2), tokenizer, RECORD)
    with expect_error(ValueError, tmp_path / "first", tmp_path / "small"):
        average_main(["--models", first, str(tmp_path / "small"), "--out", str(tmp_path / "mean")])
    assert json.loads((tmp_path / "first" / AGENT).read_text()) == RECORD
    assert not (tmp_path / "mean").exists()
