import pyarrow.parquet as pq
import pytest

from agents.data.trajectories import Step, Trajectory
from agents.methods.estimators import AdvantageSettings
from agents.methods.grpo import make_batch
from agents.training.samples import SCHEMA, read_samples, records, write_samples


def rows():
    def step(prompt, *response):
        return Step("page", "reply", "", prompt, response, tuple(-0.1 * token for token in response))

    first = (1, 2)
    return records(
        make_batch(
            [
                Trajectory("t", "g", (step(first, 3, 4), step((1, 2, 5), 6)), 1.0, "exited", 7, 2),
                Trajectory("t", "g", (step(first, 8),), 0.0, "exited", 7, 3),
            ],
            AdvantageSettings(advantages="trajectory", weighting="paper"),
        )
    )


def test_a_record_holds_a_step_and_its_credit():
    first, second, other = rows()
    assert first._asdict() == {
        "prompt_ids": (1, 2),
        "response_ids": (3, 4),
        "logprobs": pytest.approx((-0.3, -0.4)),
        "advantage": 1.0,
        "token_weight": 1 / 8,
        "group_id": 7,
        "trajectory_id": "7/0",
        "step": 0,
        "is_last_step": False,
        "reward": 1.0,
        "policy_version": 2,
    }
    assert (second.step, second.is_last_step, second.trajectory_id) == (1, True, "7/0")
    assert (other.advantage, other.reward, other.trajectory_id, other.policy_version) == (-1.0, 0.0, "7/1", 3)


def test_samples_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "samples" / "1.parquet"
    write_samples(path, rows())
    assert read_samples(path) == rows()
    write_samples(path, [])
    assert read_samples(path) == []


def test_any_data_frame_library_reads_samples(tmp_path):
    write_samples(tmp_path / "1.parquet", rows())
    frame = pytest.importorskip("pandas").read_parquet(tmp_path / "1.parquet")
    assert list(frame.columns) == SCHEMA.names
    assert frame["response_ids"].map(len).tolist() == [2, 1, 1]
    assert frame.groupby("trajectory_id")["reward"].first().to_dict() == {"7/0": 1.0, "7/1": 0.0}


def test_a_file_of_other_columns_is_refused(tmp_path):
    write_samples(tmp_path / "1.parquet", rows())
    pq.write_table(pq.read_table(tmp_path / "1.parquet").drop_columns("reward"), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"expected .*'reward'"):
        read_samples(tmp_path / "2.parquet")
