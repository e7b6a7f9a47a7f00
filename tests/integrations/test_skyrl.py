"""SkyRL-gym's registry and text envs, on our tasks."""

import pytest

skyrl_gym = pytest.importorskip("skyrl_gym", reason="make test-integrations")

from tests.errands import ERRANDS, SOLVED
from webarena_gym.actions import DIALECTS
from webarena_gym.integrations import skyrl
from webarena_gym.suite import find, load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module", autouse=True)
def registered():
    skyrl.register()


def make(row, **config):
    return skyrl_gym.make(skyrl.NAME, env_config={"elements": "label", **config}, extras=row)


def test_the_expert_is_rewarded():
    rows = skyrl.dataset_rows("test")
    assert len(rows) == len(load("test"))
    for row in rows[::40]:
        env = make(row, max_steps=30)
        messages, info = env.init(row["prompt"])
        task = find(info["task_id"])
        assert [message["role"] for message in messages] == ["system", "user"]
        assert task.intent in messages[1]["content"]
        for step in task.solution:
            result = env.step(DIALECTS["webrl"].format(step.action))
        assert (result["reward"], result["done"], result["observations"]) == (1.0, True, [])
        assert env.get_metrics() == {"steps": len(task.solution), "success": 1.0}
        env.close()


def test_steps_run_out_and_are_judged():
    env = make(skyrl.dataset_rows("test")[0], max_steps=2)
    env.init([])
    assert not env.step("hm")["done"]
    result = env.step("hm")
    assert (result["reward"], result["done"]) == (0.0, True)
    assert result["metadata"]["verdicts"]
    env.close()


def test_a_task_of_a_suite_is_played():
    suite = str(ERRANDS / "suite.toml")
    (row,) = skyrl.dataset_rows("served", suite=suite)
    env = make(row, suite=suite)
    env.init([])
    assert [env.step(action)["reward"] for action in SOLVED] == [0.0, 0.0, 1.0]
    env.close()
