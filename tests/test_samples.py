import pyarrow.parquet as pq
import pytest

from agents.data.trajectories import Step, Trajectory
from agents.methods.estimators import AdvantageSettings
from agents.methods.grpo import make_batch
from agents.training.samples import SCHEMA, as_skyrl, as_slime, as_trl, as_verl, read_samples, records, write_samples


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


def test_trl_gets_one_sequence_with_a_mask():
    assert as_trl(rows()[0]) == {
        "input_ids": [1, 2, 3, 4],
        "completion_mask": [0, 0, 1, 1],
        "old_log_probs": pytest.approx([0, 0, -0.3, -0.4]),
        "advantage": 1.0,
        "model_version": 2,
        "group_id": 7,
        "metrics": {"reward": 1.0},
    }


def test_trl_knows_these_fields():
    worker = pytest.importorskip("trl.experimental.async_grpo.async_rollout_worker")
    assert set(as_trl(rows()[0])) <= set(worker.RolloutSample.__dataclass_fields__)


def test_verl_gets_a_prompt_and_a_response():
    output = as_verl(rows()[0])
    assert (output["prompt_ids"], output["response_ids"], output["response_mask"]) == ([1, 2], [3, 4], [1, 1])
    assert output["response_logprobs"] == pytest.approx([-0.3, -0.4])
    assert (output["reward_score"], output["extra_fields"]["advantage"]) == (1.0, 1.0)


def test_slime_gets_all_tokens_and_the_length_of_the_response():
    sample = as_slime(rows()[1])
    assert (sample["tokens"], sample["response_length"], sample["loss_mask"]) == ([1, 2, 5, 6], 1, [1])
    assert (sample["rollout_log_probs"], sample["reward"], sample["group_index"]) == (pytest.approx([-0.6]), 1.0, 7)


def test_skyrl_gets_the_reward_at_the_last_token_of_the_last_step():
    output = as_skyrl(rows())
    assert output["prompt_token_ids"] == [[1, 2], [1, 2, 5], [1, 2]]
    assert output["rewards"] == [[0.0, 0.0], [1.0], [0.0]]
    assert output["is_last_step"] == [False, True, True]
    assert [identity["repetition_id"] for identity in output["trajectory_ids"]] == [0, 0, 1]
    assert {identity["instance_id"] for identity in output["trajectory_ids"]} == {"7"}
