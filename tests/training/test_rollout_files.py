"""Rollouts and samples of an update are written as often as requested, and rollouts are read by group."""

from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from agents.data.trajectories import Step, Trajectory
from agents.rollouts.curriculum import Group
from agents.training.credit import weight_steps
from agents.training.rollout_files import group_files, read_groups, save_batch, write_groups, write_samples
from tests import tiny


def episode(group, reward=1.0):
    steps = tuple(Step(f"page {number}", "reply", "", (5, 6), (1, 2), (-0.5, -0.25)) for number in range(2))
    return Trajectory("t", "goal", steps, reward, "exited", group)


def test_rollouts_are_read_by_group_without_tokens(tmp_path):
    write_groups(tmp_path, 12, [episode(1), episode(2), episode(1, reward=0.0)])
    assert {update: path.name for update, path in group_files(tmp_path).items()} == {12: "000012.jsonl.gz"}
    groups = read_groups(group_files(tmp_path)[12])
    assert [[item.reward for item in group] for group in groups] == [[1.0, 0.0], [1.0]]
    assert {(step.page, step.prompt_ids, step.response_ids) for step in groups[1][0].steps} == {
        ("page 0", (), ()),
        ("page 1", (), ()),
    }


def test_samples_have_one_row_per_step(tmp_path):
    write_samples(tmp_path / "a.parquet", weight_steps([([episode(3)], [0.5, -0.5])]))
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["is_last_step"] for row in rows] == [False, True]
    assert [row["advantage"] for row in rows] == [0.5, -0.5]
    assert rows[0] | {"is_last_step": True, "advantage": -0.5, "step": 1} == rows[1]
    assert rows[0]["trajectory_id"] == "3/0"
    assert (rows[0]["prompt_ids"], rows[0]["response_ids"], rows[0]["logprobs"]) == ([5, 6], [1, 2], [-0.5, -0.25])
    assert rows[0]["token_weight"] == pytest.approx(1 / 4)


@pytest.mark.parametrize(("every", "updates"), [(0, []), (2, [2, 4]), (1, [1, 2, 3, 4])])
def test_rollouts_are_saved_as_often_as_requested(every, updates, tmp_path):
    groups = [Group(0, tiny.tasks(1)[0], [episode(0)])]
    steps = weight_steps([(groups[0].valid, [1.0, 1.0])])
    for update in range(1, 5):
        save_batch(SimpleNamespace(out=tmp_path, save_samples=update == 3, save_rollouts=every), update, groups, steps)
    assert list(group_files(tmp_path)) == updates
    assert [path.name for path in tmp_path.glob("samples/*")] == ["000003.parquet"]
