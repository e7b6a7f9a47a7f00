"""Samples on disk: one record for each trained step, as Parquet that any data-frame library reads.

A record is all that a trainer needs: tokens in, tokens out, and the credit of the step. Texts are left out.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

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
