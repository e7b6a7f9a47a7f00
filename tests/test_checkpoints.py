import errno
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from agents.models import checkpoints as module
from agents.models.adapters import adapt, merged
from agents.models.checkpoints import CheckpointError, checkpoints, load_model, save_checkpoint
from agents.training.average import AverageSettings, average
from agents.training.learner import Learner, UpdateSettings
from agents.training.objectives import imitation
from tests.tiny import tiny_model


def save(run, update, **options):
    model, tokenizer = tiny_model()
    optimizer = torch.optim.AdamW(model.parameters())
    return save_checkpoint(run, update, model, tokenizer, optimizer, {"elapsed_s": update}, {"elements": "label"}, **options)


def test_the_newest_are_kept_and_loaded(tmp_path):
    for update in (1, 2, 30):
        save(tmp_path, update)
    assert [checkpoint.update for checkpoint in checkpoints(tmp_path)] == [2, 30]
    assert checkpoints(tmp_path)[-1].progress() == {"elapsed_s": 30}
    model, _ = load_model(tmp_path)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(model.parameters(), tiny_model()[0].parameters(), strict=True))
    assert module.agent_record(tmp_path) == {"elements": "label"}


def test_a_full_disk_leaves_the_old_checkpoint_whole(tmp_path, monkeypatch):
    old = save(tmp_path, 1)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(CheckpointError, match=r"No space left.*earlier checkpoints .* are whole"):
        save(tmp_path, 2)
    assert checkpoints(tmp_path) == [old]
    assert [path.name for path in tmp_path.iterdir()] == [old.path.name]
    load_model(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE")
def test_a_write_that_breaks_off_is_a_clear_error(tmp_path):
    old = save(tmp_path, 1)
    script = (
        "import resource, signal, sys; from pathlib import Path; from tests.test_checkpoints import save\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "save(Path(sys.argv[1]), 2)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    assert "CheckpointError: cannot write the checkpoint" in done.stderr
    assert checkpoints(tmp_path) == [old]


def test_what_a_kill_leaves_behind_is_no_checkpoint(tmp_path):
    old = save(tmp_path, 1)
    (tmp_path / ".unfinished_0000002").mkdir()
    (tmp_path / "update_0000002").mkdir()
    assert checkpoints(tmp_path) == [old]
    save(tmp_path, 2)
    assert len(checkpoints(tmp_path)) == 2
    assert not (tmp_path / ".unfinished_0000002").exists()


def test_missing_models_are_named(tmp_path):
    with pytest.raises(CheckpointError, match="holds neither a model"):
        load_model(tmp_path)
    with pytest.raises(CheckpointError, match="there is no folder"):
        load_model(tmp_path / "nothing")


@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="no peft here: pip install peft")
def test_of_adapters_these_alone_are_saved_and_they_learn_on(tmp_path):
    model, tokenizer = tiny_model()
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    model, tokenizer = load_model(tmp_path / "base")
    adapt(model, 2)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.ones_(parameter)
    saved = save_checkpoint(tmp_path / "run", 1, model, tokenizer, torch.optim.AdamW(model.parameters()), {}, {})
    assert (saved.path / "adapter_model.safetensors").exists()
    assert not (saved.path / "model.safetensors").exists()
    again, _ = load_model(tmp_path / "run")
    adapt(again, 2)
    ids = torch.arange(8)[None]
    assert torch.allclose(again(ids).logits, model(ids).logits, atol=1e-5)
    whole = merged(again)
    assert "lora" not in "".join(name for name, _ in whole.named_parameters())
    assert torch.allclose(whole(ids).logits, model(ids).logits, atol=1e-4)
    whole.save_pretrained(tmp_path / "whole")
    assert (tmp_path / "whole" / "model.safetensors").exists()
    assert {"lora" in name for name, value in again.named_parameters() if value.requires_grad} == {True}
    with pytest.raises(ValueError, match="adapters of rank 2"):
        adapt(again, 4)
    with pytest.raises(ValueError, match="adapters, which learn on with --lora-rank"):
        Learner(load_model(tmp_path / "run")[0], UpdateSettings(), imitation())
    (mean,) = {average(AverageSettings(models=(str(tmp_path / "run"),) * 2, out=tmp_path / "mean"))}
    assert torch.allclose(load_model(mean)[0](ids).logits, model(ids).logits, atol=1e-4)
