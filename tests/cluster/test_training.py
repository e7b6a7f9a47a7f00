"""M-GRPO over a stream of rollouts: late ones, those of other processes, and runs that are killed."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from agents import grpo, train_rl
from agents.cluster import training
from agents.models.checkpoints import checkpoints, load_model
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from tests import tiny


@pytest.fixture(autouse=True)
def tiny_envs(monkeypatch):
    """Let the trainer play lenient tiny envs."""
    for module in (grpo, training):
        monkeypatch.setattr(module, "create_envs", partial(tiny.create_envs, lenient=True))


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """The folder of a model that has learned nothing."""
    return tiny.save_clone(tmp_path_factory.mktemp("start"))


def settings(out, model, **changes):
    values = {"updates": 4, "group_size": 4, "tasks_per_update": 3, "num_envs": 8, "max_new_tokens": 12}
    return make_settings("grpo", out=out, model=str(model), **{**values, **changes})


def train(out, start, **changes):
    path = train_rl.train(settings(out, start, **changes), tiny.tasks(20))
    return path, read_metrics(out)


def same_weights(first, second):
    ours, theirs = (load_model(path)[0].parameters() for path in (first, second))
    return all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


def test_equal_runs_end_with_equal_weights_and_other_seeds_with_others(tmp_path, start):
    first, metrics = train(tmp_path / "first", start)
    assert same_weights(first, train(tmp_path / "second", start)[0])
    assert not same_weights(first, train(tmp_path / "third", start, seed=1)[0])
    for record in metrics:
        assert (record["rollouts"], record["lag"]) == (12, 0)
        assert sum(record[f"time_{place}"] for place in ("env", "generation", "queue", "idle")) == pytest.approx(1)
        assert record.get("logprob_gap", 0) < 1e-4


def test_rollout_lag_is_bounded_by_staleness_and_one_with_overlap(tmp_path, start):
    _, metrics = train(tmp_path / "late", start, staleness=2, updates=6)
    assert [record["rollouts"] for record in metrics] == [12] * 6
    assert 0 < max(record["lag"] for record in metrics) <= 2
    path, metrics = train(tmp_path / "overlapped", start, staleness=1, overlap=True)
    assert [record["lag"] for record in metrics] == [0, 1, 1, 1]
    assert not same_weights(path, start)


def test_envs_may_live_in_other_processes(tmp_path, start):
    _, metrics = train(tmp_path, start, workers=1, updates=2)
    assert [record["rollouts"] for record in metrics] == [12, 12]
    assert [record["failed"] for record in metrics] == [0, 0]


def test_dynamic_sampling_reports_the_fraction_of_equal_groups(tmp_path, start):
    _, metrics = train(tmp_path, start, dynamic_sampling=4)
    assert all(12 <= record["rollouts"] <= 48 for record in metrics)
    assert any(record["rollouts"] > 12 for record in metrics)
    for record in metrics:
        groups = record["rollouts"] / 4
        assert record["equal_groups"] * groups == pytest.approx(round(record["equal_groups"] * groups))
        if record["rollouts"] < 48:  # it went on until enough were mixed
            assert record["equal_groups"] == pytest.approx((groups - 3) / groups)


# The host imports everything once; each run is a child of it, which it kills at a random moment.
HOST = """
import json, os, random, select, signal, sys, time
import torch
torch.set_num_threads(1)
from functools import partial
from pathlib import Path
from agents import grpo, train_rl
from agents.models.checkpoints import checkpoints
from agents.train_rl import make_settings
from tests import tiny
grpo.create_envs = partial(tiny.create_envs, lenient=True)

def begin(values):
    child = os.fork()
    if not child:
        try:
            train_rl.train(make_settings("grpo", **values | {"out": Path(values["out"])}), tiny.tasks(20))
            os._exit(0)
        finally:
            os._exit(1)
    return child

values = json.loads(sys.argv[1])
began = time.monotonic()
assert os.waitpid(begin(values | {"out": values["out"] + "/whole"}), 0)[1] == 0
whole_s, rng, kills, status = time.monotonic() - began, random.Random(), 0, None
while status != 0:
    child = begin(values | {"out": values["out"] + "/killed"})
    ends = os.pidfd_open(child)
    has_ended = False
    while not (kills or has_ended or checkpoints(Path(values["out"]) / "killed")):  # at first, until there is something to lose
        has_ended = bool(select.select([ends], [], [], 0.01)[0])
    if kills < 12 and not select.select([ends], [], [], kills and rng.uniform(0.1, 0.6) * whole_s)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(ends)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    kills += status == signal.SIGKILL
print(kills)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_weights(tmp_path, start):
    values = {"out": str(tmp_path), "model": str(start), "updates": 6, "group_size": 4, "tasks_per_update": 3, "num_envs": 8}
    values |= {"max_new_tokens": 12, "save_every": 1, "dynamic_sampling": 2}
    done = subprocess.run(
        [sys.executable, "-c", HOST, json.dumps(values)], capture_output=True, text=True, timeout=900,
        cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) >= 1
    assert same_weights(checkpoints(tmp_path / "whole")[-1].path, checkpoints(tmp_path / "killed")[-1].path)
    assert [record["update"] for record in read_metrics(tmp_path / "killed")] == list(range(1, 7))
    killed, whole = ([record["success"] for record in read_metrics(tmp_path / name)] for name in ("killed", "whole"))
    assert killed == whole
