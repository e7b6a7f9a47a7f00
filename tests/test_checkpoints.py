import base64
import errno
import importlib
import importlib.util
import io
import json
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from agents.average import AverageSettings, average
from agents.data.trajectories import Step, Trajectory, write_trajectories
from agents.evaluation.settings import PRETRAINED_ENVS, policy_defaults
from agents.models import checkpoints as module
from agents.models import packages
from agents.models.checkpoints import (
    AGENT,
    CheckpointError,
    checkpoints,
    find_model,
    load_model,
    model_kind,
    open_run,
    record_settings,
    save_agent,
    save_checkpoint,
)
from agents.models.parameters import add_adapters, merge_adapters
from agents.training.credit import TrainedStep
from agents.training.metrics import Metrics
from agents.training.rollout_files import write_groups, write_samples
from agents.training.settings import BCSettings, ToolUseSettings
from tests.errors import expect_error
from tests.tiny import language_model, tiny_model
from webarena_gym.console import lock_folder, status

LANGUAGE_MODEL = Path(__file__).parent.parent / "agents/checkpoints/language-model-1.2m"


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
    with expect_error(CheckpointError, tmp_path, "No space left"):
        save(tmp_path, 2)
    assert checkpoints(tmp_path) == [old]
    assert [path.name for path in tmp_path.iterdir()] == [old.path.name]
    load_model(tmp_path)


@contextmanager
def no_file_above(size):
    """Let no file grow above a size, as if the disk were full."""
    import resource  # noqa: PLC0415 - not everybody has it

    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))  # Python ignores the signal that comes with it
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE")
def test_a_write_that_breaks_off_is_a_clear_error(tmp_path):
    old = save(tmp_path, 1)
    with no_file_above(20_000), expect_error(CheckpointError, tmp_path):
        save(tmp_path, 2)
    assert checkpoints(tmp_path) == [old]


STEP = TrainedStep(
    Trajectory("a", "b", (Step("c" * 40_000, "d", prompt_ids=(1,) * 10_000, response_ids=(2,)),), 1.0, "exited"), 0, 1.0, 1.0
)


def resumed(run):
    (run / "metrics.jsonl").write_text('{"update": 1, "success": 0.5}\n')
    return lambda: Metrics(run, 1, "M-GRPO")


def logged(run):
    metrics = Metrics(run, 0, "M-GRPO")

    def write():
        with metrics:
            metrics.log(1, {"success": 0.5})

    return write


WRITES = {
    "metrics of a resumed run": (resumed, "metrics.jsonl"),
    "a line of metrics": (logged, "metrics.jsonl"),
    "trajectories": (lambda run: partial(write_trajectories, run / "a.jsonl", [STEP.episode]), "a.jsonl"),
    "compressed trajectories": (lambda run: partial(write_trajectories, run / "a.jsonl.gz", [STEP.episode]), "a.jsonl.gz"),
    "groups": (lambda run: partial(write_groups, run, 1, [STEP.episode]), "000001.jsonl.gz"),
    "samples": (lambda run: partial(write_samples, run / "samples" / "000001.parquet", [STEP]), "000001.parquet"),
    "settings": (lambda run: partial(record_settings, run, {"a": 1}, is_resumed=False), "begun_with.json"),
    "lock": (lambda run: partial(lock_folder, run), ".lock"),
    "agent": (lambda run: partial(save_agent, run, SimpleNamespace(save_pretrained=lambda _: 0), SimpleNamespace(save_pretrained=lambda _: 0), {"a": 1}), ""),
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize(("write", "name"), WRITES.values(), ids=WRITES)
def test_a_full_disk_is_reported_in_one_line_with_file_and_remedy(tmp_path, capsys, write, name):
    work = write(tmp_path)
    with no_file_above(0):
        code = status("train", work)
    assert code == 1
    output = capsys.readouterr().err
    assert re.fullmatch(
        rf"train: {tmp_path}\S*{re.escape(name)}: .*File too large; free some space, or write to another path, and run the command again\n",
        output,
    ), output


HOLDER = """
import os, sys
from functools import partial
from pathlib import Path
from webarena_gym.console import lock_folder

def wait():
    print(os.getpid(), flush=True)
    sys.stdin.read()

lock_folder(Path(sys.argv[1]))
if "ranks" in sys.argv:
    from agents.training.distributed import launch
    launch(wait, 2)
wait()
"""


@pytest.fixture
def hold():
    """Start another process that locks a folder, and return it when it has; with "ranks", two ranks of it."""
    started = []

    def start(folder, *options):
        command, pipe = [sys.executable, "-c", HOLDER, str(folder), *options], subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parents[1]))
        for _ in range(1 + len(options)):
            assert started[-1].stdout.readline()
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.skipif(importlib.util.find_spec("fcntl") is None, reason="Windows has no flock")
@pytest.mark.parametrize("options", [(), ("ranks",)])
def test_a_folder_is_locked_until_the_process_that_trains_in_it_ends_however(tmp_path, hold, options):
    settings, run = BCSettings(model="small", out=tmp_path), tmp_path / "run"
    holder = hold(run, *options)
    for is_resumed in (False, True):  # a new run, and one that is resumed
        if is_resumed:
            save(run, 1)
        with pytest.raises(
            ValueError, match=rf"{run} is in use by process {holder.pid} on {socket.gethostname()}, since 20.*Z?: "
        ) as caught:
            open_run(settings, run)
        assert sys.executable in str(caught.value)
        assert str(caught.value).endswith("choose another --out")
        assert not (run / "begun_with.json").exists()
    holder.kill()
    holder.wait()
    shutil.rmtree(run / "update_0000001")
    assert open_run(settings, run) is None
    lock_folder(run)  # the same process may, as each of the stages of a training does
    shutil.rmtree(run)
    assert open_run(settings, run) is None  # and in a folder that was made again
    assert json.loads((run / ".lock").read_text())["pid"] == os.getpid()


@pytest.mark.parametrize(
    "settings", [BCSettings(model="small", out=Path("run")), ToolUseSettings(model="m", out=Path("run"))], ids=["bc", "rl"]
)
def test_a_run_of_a_version_without_an_option_resumes_with_its_default(tmp_path, settings):
    run = tmp_path / "run"
    assert open_run(settings, run) is None
    save(run, 1)
    record = json.loads((run / "begun_with.json").read_text())
    names = [item.name for item in fields(settings) if item.name in record and item.default is not MISSING]
    assert {"lora_layers", "chat_template_kwargs"} <= {*names}
    for name in names:
        (run / "begun_with.json").write_text(json.dumps({key: value for key, value in record.items() if key != name}))
        assert open_run(settings, run).update == 1
    (run / "begun_with.json").write_text(json.dumps({key: value for key, value in record.items() if key != "lora_layers"}))
    with expect_error(ValueError, "lora_layers=0", 2):
        open_run(replace(settings, lora_layers=2), run)


def test_a_process_of_another_host_is_another_even_with_an_equal_id(tmp_path, hold, monkeypatch):
    holder = hold(tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: holder.pid)
    with expect_error(ValueError, tmp_path, holder.pid, socket.gethostname()):
        lock_folder(tmp_path)
    (tmp_path / ".lock").write_text("")
    with pytest.raises(ValueError, match="is in use by another process"):
        lock_folder(tmp_path)


def test_a_lock_contains_its_time_which_neither_a_copy_nor_a_second_lock_changes(tmp_path, hold):
    hold(tmp_path / "other")
    lock = tmp_path / "other" / ".lock"
    since = json.loads(lock.read_text())["since"]
    os.utime(lock, (0, 0))
    with expect_error(ValueError, since):
        lock_folder(lock.parent)
    own = tmp_path / "own" / ".lock"
    lock_folder(own.parent)
    earlier = json.dumps(json.loads(own.read_text()) | {"since": "2020-01-01T00:00:00+00:00"})
    own.write_text(earlier)
    lock_folder(own.parent)
    assert own.read_text() == earlier


def test_file_systems_without_locks_only_cause_a_warning(tmp_path, monkeypatch, capsys):
    import fcntl  # noqa: PLC0415 - not on Windows

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    lock_folder(tmp_path)
    assert "cannot be locked (No locks available)" in capsys.readouterr().err


@pytest.mark.slow
def test_every_command_that_trains_locks_its_folder(tmp_path, hold):
    holder = hold(tmp_path)
    found = "--out", str(tmp_path)
    for name, *options in (
        ("train_bc", "--model", "small"), ("train_bc", "--model", "pointer"), ("train_grpo", "--model", str(LANGUAGE_MODEL)), ("train_eyes",),
        ("agent_q", "--model", str(LANGUAGE_MODEL)),
    ):  # fmt: skip
        main = importlib.import_module(f"agents.{name}").main
        with expect_error(ValueError, holder.pid):
            main([*options, *found])
    done = subprocess.run(
        [sys.executable, "-m", "agents.train_bc", "--model", "small", *found], capture_output=True, text=True, timeout=300, check=False,
        cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"in use by process {holder.pid}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_unfinished_folders_of_a_killed_process_are_no_checkpoints(tmp_path):
    old = save(tmp_path, 1)
    (tmp_path / ".unfinished_0000002").mkdir()
    (tmp_path / "update_0000002").mkdir()
    assert checkpoints(tmp_path) == [old]
    save(tmp_path, 2)
    assert len(checkpoints(tmp_path)) == 2
    assert not (tmp_path / ".unfinished_0000002").exists()


@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="no peft here: pip install peft")
def test_only_adapters_are_saved_and_training_continues_from_them(tmp_path):
    model, tokenizer = tiny_model()
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    model, tokenizer = load_model(tmp_path / "base")
    add_adapters(model, 2)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.ones_(parameter)
    saved = save_checkpoint(tmp_path / "run", 1, model, tokenizer, torch.optim.AdamW(model.parameters()), {}, {})
    assert (saved.path / "adapter_model.safetensors").exists()
    assert not (saved.path / "model.safetensors").exists()
    again, _ = load_model(tmp_path / "run")
    add_adapters(again, 2)
    ids = torch.arange(8)[None]
    assert torch.allclose(again(ids).logits, model(ids).logits, atol=1e-5)
    whole = merge_adapters(again)
    assert "lora" not in "".join(name for name, _ in whole.named_parameters())
    assert torch.allclose(whole(ids).logits, model(ids).logits, atol=1e-4)
    whole.save_pretrained(tmp_path / "whole")
    assert (tmp_path / "whole" / "model.safetensors").exists()
    assert {"lora" in name for name, value in again.named_parameters() if value.requires_grad} == {True}
    with expect_error(ValueError, "--lora-rank", 4, "rank 2"):
        add_adapters(again, 4)
    with expect_error(ValueError, "lora-rank", 0, 2):
        language_model(load_model(tmp_path / "run")[0])
    (mean,) = {average(AverageSettings(models=(str(tmp_path / "run"),) * 2, out=tmp_path / "mean"))}
    assert torch.allclose(load_model(mean)[0](ids).logits, model(ids).logits, atol=1e-4)


@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="no peft here: pip install peft")
def test_adapters_may_name_a_packaged_model_which_is_converted_once(tmp_path, monkeypatch):
    conversions = []

    def write_tiny(out, base):
        conversions.append(base)
        save_agent(out, *tiny_model(), {"system": "act"})

    monkeypatch.setattr(packages, "write_pretrained", write_tiny)
    monkeypatch.setattr("huggingface_hub.cached_assets_path", lambda *_, **__: tmp_path)
    with monkeypatch.context() as refused:
        refused.setattr(Path, "rename", Mock(side_effect=PermissionError))
        with pytest.raises(PermissionError):
            packages.packaged_model("smollm2")
    conversions.clear()
    (tmp_path / "runs" / "smollm2").mkdir(parents=True)  # a folder of the same name elsewhere
    monkeypatch.chdir(tmp_path)
    assert policy_defaults("smollm2") == {"system": "act"}
    with monkeypatch.context() as patched:
        patched.setattr(module, "_SMALL_BYTES", 0)
        assert policy_defaults("smollm2") == {"system": "act", "num_envs": PRETRAINED_ENVS}
    model, tokenizer = load_model("smollm2")
    add_adapters(model, 2)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.ones_(parameter)
    save_agent(tmp_path / "adapters", model, tokenizer, {})
    config = json.loads((tmp_path / "adapters/adapter_config.json").read_text(encoding="utf-8"))
    (tmp_path / "adapters/adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": "smollm2"}))
    ids = torch.arange(8)[None]
    assert torch.allclose(load_model(tmp_path / "adapters")[0](ids).logits, model(ids).logits, atol=1e-5)
    assert conversions == ["smollm2"]
    monkeypatch.setattr(module, "_SMALL_BYTES", 30_000)  # more than the adapters, less than their base
    assert not module.is_small(tmp_path / "adapters")


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def evil_folder(kind, folder, mark):
    """A stranger's folder in which whatever may hold code holds some that makes `mark`."""
    folder.mkdir()
    if kind == "sb3":
        value = {":type:": "x", ":serialized:": base64.b64encode(pickle.dumps(Evil(mark))).decode()}
        (folder / "agent.json").write_text(json.dumps({"algorithm": "ppo", "candidates": 12}))
        with zipfile.ZipFile(folder / "model.zip", "w") as file:
            file.writestr("data", json.dumps({"policy_class": value, "num_timesteps": 5}))
            tensors = io.BytesIO()
            torch.save(Evil(mark), tensors)
            for name in ("policy.pth", "policy.optimizer.pth", "pytorch_variables.pth"):
                file.writestr(name, tensors.getvalue())
        return folder
    place = folder if kind != "run" else folder / "update_0000001"
    shutil.copytree(LANGUAGE_MODEL, place, ignore=shutil.ignore_patterns("*.safetensors"), dirs_exist_ok=True)
    if kind == "code":
        config = json.loads((place / "config.json").read_text())
        own = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model", "AutoTokenizer": ["evil.Tokenizer", None]}
        (place / "config.json").write_text(json.dumps(config | {"model_type": "evil", "auto_map": own}))
        (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Tokenizer", "auto_map": own}))
        (place / "evil.py").write_text(f"import os\nos.mkdir({str(mark)!r})\n")
    else:
        torch.save(Evil(mark), place / "pytorch_model.bin")
    if kind == "run":
        shutil.copy(LANGUAGE_MODEL / "model.safetensors", place)
        torch.save(Evil(mark), place / "trainer.pt")
        (place / "progress.json").write_text("{}")
    return folder


TRAINED = "--model {folder} --out {folder} --templates map.town_state --worlds 11"
COMMANDS = {
    "agents.evaluate": "--policy {folder} --limit 1 --processes 1 --max-steps 1 --max-new-tokens 1",
    "agents.search": "--policy {folder} --limit 1 --max-steps 1 --method tree --select value",
    "agents.ensemble": "--members {folder} {folder} --out {out} --limit 1",
    "agents.average": "--models {folder} {folder} --out {out}",
    "agents.remember": "--model {folder} --out {out} --episodes {out}",
    "agents.train_bc": f"{TRAINED} --updates 0",
    "agents.train_rl": f"{TRAINED} --updates 0",
    "agents.agent_q": TRAINED,
}


@pytest.mark.parametrize("kind", ["sb3", "bin", "code", "run"])
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_run_no_code_of_untrusted_folders(name, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    mark = tmp_path / "mark"
    folder = evil_folder(kind, tmp_path / "folder", mark)
    main = importlib.import_module(name).main
    with suppress(Exception, SystemExit):
        main([part.format(folder=folder, out=tmp_path / "out") for part in COMMANDS[name].split()])
    assert not mark.exists()


def test_the_untrusted_folders_of_the_tests_run_code_when_unpickled(tmp_path):
    save_util = pytest.importorskip("stable_baselines3.common.save_util")
    for kind, load in (
        ("sb3", lambda folder: save_util.load_from_zip_file(folder / "model.zip")),
        ("bin", lambda folder: torch.load(folder / "pytorch_model.bin", weights_only=False)),
    ):
        with suppress(Exception):
            load(evil_folder(kind, tmp_path / kind, tmp_path / f"{kind}_mark"))
        assert (tmp_path / f"{kind}_mark").exists()


@pytest.mark.parametrize("name", ["nowhere", "runs/nowhere", "./a", "/a/b", "a/b/c", "agents/nowhere", "C:\\a"])
def test_names_that_are_not_of_the_hub_are_not_requested(name, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent)
    with expect_error(CheckpointError, Path(name)):
        find_model(name)
    with expect_error(CheckpointError, "tests", "config.json", "pointer.json"):
        load_model("tests")
    assert find_model("owner/model-1.5") == "owner/model-1.5"


@pytest.mark.parametrize(("name", "content", "kind"), [
    ("pointer.json", {}, "pointer"),
    ("ensemble.json", {}, "ensemble"),
    ("config.json", {"vision_config": {}}, "vision"),
    ("config.json", {}, "language"),
    ("adapter_config.json", {}, "language"),
    (AGENT, {"algorithm": "ppo"}, "candidates"),
    (AGENT, {"elements": "id"}, "language"),
])  # fmt: skip
def test_model_kinds_follow_from_the_files_of_folders_and_checkpoints(tmp_path, name, content, kind):
    (tmp_path / name).write_text(json.dumps(content))
    assert model_kind(tmp_path) == kind
    if name != AGENT:
        checkpoint = tmp_path / "run" / "update_0000001"
        checkpoint.mkdir(parents=True)
        (checkpoint / "progress.json").write_text("{}")
        (tmp_path / name).rename(checkpoint / name)
        assert model_kind(tmp_path / "run") == kind
    assert model_kind("owner/name") == model_kind(tmp_path / "absent") == "language"
