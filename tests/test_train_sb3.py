"""The command that trains PPO on candidate actions: its options, and the folder that it prints."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents import train_sb3
from agents.training.settings import SB3Settings


def test_the_options_become_settings_and_the_model_is_printed(monkeypatch, capsys, tmp_path):
    runs = []

    def train(settings):
        runs.append(settings)
        return settings.out / "model"

    monkeypatch.setitem(sys.modules, "agents.sb3", SimpleNamespace(train=train))
    train_sb3.main(["--out", str(tmp_path), "--seed", "3"])
    assert runs == [SB3Settings(out=Path(tmp_path), seed=3)]
    assert capsys.readouterr().out == f"{tmp_path / 'model'}\n"


def test_invalid_options_are_refused_before_torch_is_imported(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "agents.sb3", None)
    with pytest.raises((SystemExit, ValueError)) as refusal:
        train_sb3.main(["--out", str(tmp_path), "--seed", "none"])
    assert getattr(refusal.value, "code", 2) == 2
