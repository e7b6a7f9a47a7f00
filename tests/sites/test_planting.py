"""Planted rows: invalid ones are reported."""

from dataclasses import replace

import pytest

from webarena_gym import suite
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import TaskError
from webarena_gym.sites.planting import PlantedRow


@pytest.mark.parametrize(("row", "message"), [
    (PlantedRow("shopping", "moon", (("a", 1),)), "shopping.moon"),
    (PlantedRow("shopping", "review", (("moon", 1),)), "expected columns of"),
    (PlantedRow("shopping", "review", (("title", "x"),)), "which the database rejects"),
    (PlantedRow("shopping", "review", (("title", "x"),), (("review_id", -1),)), "0 rows"),
    (PlantedRow("shopping", "review", (("title", "x"),), (("rating", 5),)), "expected one"),
    (PlantedRow("shopping", "review WHERE 1; --", (("title", "x"),)), "expected columns of"),
])  # fmt: skip
def test_invalid_planted_rows_are_reported(row, message):
    task = replace(suite.load("test")[0], setup=(row,))
    with WebArenaLite(tasks=[task]) as env, pytest.raises(TaskError) as caught:
        env.reset()
    assert message in str(caught.value)
