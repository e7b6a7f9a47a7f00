"""The command that trains a vision agent: its options, and the figures that it prints."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents import train_eyes
from agents.training.settings import EyesSettings
from webarena_gym.errors import WebArenaGymError

SCORE = {"success": 0.25, "low": 0.1, "high": 0.402, "n": 8}
DIFFERENCE = {"lift": 0.125, "low": -0.05, "high": 0.3}


def test_the_options_become_settings_and_both_scores_are_printed(monkeypatch, capsys, tmp_path):
    runs = []

    def train(settings):
        runs.append(settings)
        return {"clone": SCORE, "reinforced": {**SCORE, "success": 0.375}, "lift": DIFFERENCE}

    monkeypatch.setitem(sys.modules, "agents.eyes", SimpleNamespace(train=train))
    train_eyes.main(["--out", str(tmp_path), "--tasks", "click-color", "--updates", "3"])
    assert runs == [EyesSettings(out=Path(tmp_path), tasks=("click-color",), updates=3)]
    assert capsys.readouterr().out.splitlines() == [
        "behaviour cloning: 25.0% (10% to 40%, n = 8)", "with GRPO: 37.5% (10% to 40%, n = 8)", "improvement: +12.5% (-5.0% to +30.0%)",
    ]  # fmt: skip


def test_invalid_options_are_refused_before_torch_is_imported(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "agents.eyes", None)
    with pytest.raises((SystemExit, ValueError, WebArenaGymError)) as refusal:
        train_eyes.main(["--out", str(tmp_path), "--updates", "many"])
    assert getattr(refusal.value, "code", 2) == 2
