"""Samples on disk: one record for each trained step, as Parquet that any data-frame library reads, and as other trainers' rows.

A record is all that a trainer needs: tokens in, tokens out, and the credit of the step. Texts are left out.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from agents.data.tokens import Ids
from agents.training.batch import TrainingBatch

SCHEMA = pa.schema(
    {
        "prompt_ids": pa.list_(pa.int32()),
        "response_ids": pa.list_(pa.int32()),
        "logprobs": pa.list_(pa.float64()),
        "advantage": pa.float64(),
        "token_weight": pa.float64(),
        "group_id": pa.int64(),
        "trajectory_id": pa.string(),
        "step": pa.int32(),
        "is_last_step": pa.bool_(),
        "reward": pa.float64(),
        "policy_version": pa.int64(),
    }
)


class Record(NamedTuple):
    """One step: its tokens, the sampler's log-probabilities, its credit, and where it comes from."""

    prompt_ids: Ids
    response_ids: Ids
    logprobs: tuple[float, ...]  # of the response
    advantage: float
    token_weight: float  # of each token of the response in the loss of the whole batch
    group_id: int  # shared by the rollouts of one task from one seed
    trajectory_id: str
    step: int  # from 0
    is_last_step: bool
    reward: float  # of the whole trajectory
    policy_version: int  # updates that the sampling weights had seen


def records(training_batch: TrainingBatch) -> list[Record]:
    """Return one record for each sample of a training batch, in order."""
    return [
        Record(
            prompt_ids=sample.prompt_ids,
            response_ids=sample.response_ids,
            logprobs=training_batch.sampled_logprobs[index],
            advantage=training_batch.advantages[index],
            token_weight=training_batch.weights[index],
            group_id=origin.group,
            trajectory_id=f"{origin.group}/{origin.rollout}",
            step=origin.step,
            is_last_step=origin.step == origin.steps - 1,
            reward=origin.reward,
            policy_version=origin.policy_version,
        )
        for index, (sample, origin) in enumerate(zip(training_batch.samples, training_batch.origins, strict=True))
    ]


def write_samples(path: Path, rows: Iterable[Record]) -> None:
    """Write records as one Parquet file, with the columns of `SCHEMA`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([row._asdict() for row in rows], schema=SCHEMA), path)


def read_samples(path: Path) -> list[Record]:
    """Read what `write_samples` wrote. Raises ValueError for a file of other columns."""
    table = pq.read_table(path)
    if not table.schema.equals(SCHEMA):
        raise ValueError(f"{path} has the columns {table.schema.names}; expected {SCHEMA.names}, typed as `write_samples` does")
    found = []
    for row in table.to_pylist():
        row |= {name: tuple(row[name]) for name in ("prompt_ids", "response_ids", "logprobs")}
        found.append(Record(**row))
    return found


def as_trl(row: Record) -> dict[str, Any]:
    """Return the fields of TRL 1.16's `experimental.async_grpo` RolloutSample that its trainer reads; arrays as lists."""
    prompt = len(row.prompt_ids)
    return {
        "input_ids": [*row.prompt_ids, *row.response_ids],
        "completion_mask": [*[0] * prompt, *[1] * len(row.response_ids)],
        "old_log_probs": [*[0.0] * prompt, *row.logprobs],
        "advantage": row.advantage,
        "model_version": row.policy_version,
        "group_id": row.group_id,
        "metrics": {"reward": row.reward},
    }


def as_verl(row: Record) -> dict[str, Any]:
    """Return the fields of verl's `AgentLoopOutput`. The reward is the trajectory's; ours of the credit is in `extra_fields`."""
    return {
        "prompt_ids": list(row.prompt_ids),
        "response_ids": list(row.response_ids),
        "response_mask": [1] * len(row.response_ids),
        "response_logprobs": list(row.logprobs),
        "reward_score": row.reward,
        "num_turns": 2,  # the prompt and the response
        "metrics": {},
        "extra_fields": {
            name: getattr(row, name) for name in ("advantage", "token_weight", "group_id", "trajectory_id", "step")
        },
    }


def as_slime(row: Record) -> dict[str, Any]:
    """Return the fields of slime's `Sample`, for its `Sample.from_dict`."""
    return {
        "group_index": row.group_id,
        "tokens": [*row.prompt_ids, *row.response_ids],
        "response_length": len(row.response_ids),
        "loss_mask": [1] * len(row.response_ids),
        "rollout_log_probs": list(row.logprobs),
        "reward": row.reward,
        "weight_versions": [str(row.policy_version)],
        "status": "completed",
        "metadata": {name: getattr(row, name) for name in ("advantage", "token_weight", "trajectory_id", "step")},
    }


def as_skyrl(rows: Sequence[Record]) -> dict[str, Any]:
    """Return SkyRL's `GeneratorOutput` for step-wise training: rewards per token, a trajectory's on its very last one.

    SkyRL expects the steps of a trajectory one after another, and its last one marked. Its TrajectoryID is a dataclass of the two
    fields given here.
    """
    members: dict[int, list[str]] = {}
    identities = []
    for row in rows:
        known = members.setdefault(row.group_id, [])
        if row.trajectory_id not in known:
            known.append(row.trajectory_id)
        identities.append({"instance_id": str(row.group_id), "repetition_id": known.index(row.trajectory_id)})
    return {
        "prompt_token_ids": [list(row.prompt_ids) for row in rows],
        "response_ids": [list(row.response_ids) for row in rows],
        "rewards": [[*[0.0] * (len(row.response_ids) - 1), row.reward if row.is_last_step else 0.0] for row in rows],
        "loss_masks": [[1] * len(row.response_ids) for row in rows],
        "stop_reasons": None,
        "rollout_metrics": None,
        "rollout_logprobs": [list(row.logprobs) for row in rows],
        "trajectory_ids": identities,
        "is_last_step": [row.is_last_step for row in rows],
    }
