import pyarrow.parquet as pq
import pytest

from agents.data.trajectories import Step, Trajectory
from agents.training.rollouts import weighted, write_samples


def rows():
    def step(prompt, *response):
        return Step("page", "reply", "", prompt, response, tuple(-0.1 * token for token in response))

    first = (1, 2)
    group = [
        Trajectory("t", "g", (step(first, 3, 4), step((1, 2, 5), 6)), 1.0, "exited", 7, 2),
        Trajectory("t", "g", (step(first, 8),), 0.0, "exited", 7, 3),
    ]
    return weighted([(group, [1.0, 1.0, -1.0])], "paper")


def test_a_row_holds_a_step_and_its_credit(tmp_path):
    path = tmp_path / "samples" / "1.parquet"
    write_samples(path, rows())
    first, second, other = pq.read_table(path).to_pylist()
    assert first == {
        "prompt_ids": [1, 2], "response_ids": [3, 4], "logprobs": pytest.approx([-0.3, -0.4]), "advantage": 1.0,
        "token_weight": 1 / 8, "group_id": 7, "trajectory_id": "7/0", "step": 0, "is_last_step": False, "reward": 1.0,
        "policy_version": 2,
    }  # fmt: skip
    assert (second["step"], second["is_last_step"], second["trajectory_id"]) == (1, True, "7/0")
    assert [other[name] for name in ("advantage", "reward", "trajectory_id", "policy_version")] == [-1.0, 0.0, "7/1", 3]
    write_samples(path, [])
    assert pq.read_table(path).to_pylist() == []
    # Any library of data frames reads samples.
    write_samples(path, rows())
    frame = pytest.importorskip("pandas").read_parquet(path)
    assert frame["response_ids"].map(len).tolist() == [2, 1, 1]
    assert frame.groupby("trajectory_id")["reward"].first().to_dict() == {"7/0": 1.0, "7/1": 0.0}
