"""The methods of reinforcement: whole runs on the tiny env, and what each makes of the episodes that it is given."""

from random import Random

import pytest

from agents import grpo, train_rl
from agents.data.trajectories import Step, Trajectory
from agents.methods import digirl, webrl
from agents.methods.replay import Replay, split_by_trajectory, step_rewards, valid_trajectories
from agents.methods.tsr import importance_weights
from agents.models.checkpoints import checkpoints
from agents.models.critics import LanguageModelCritics
from agents.rollouts.curriculum import Group
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from tests import tiny
from tests.errors import expect_error
from tests.methods.episodes import TASK, trajectory
from tests.shared import shared_folder
from tests.tiny_runs import assert_same_weights, success, unsure_clone

CRITICS = LanguageModelCritics(None, None, 0)
MANY, GROUPS = {"tasks_per_update": 48, "replay": 192}, {"tasks_per_update": 8, "group_size": 8}
METHODS = {
    "grpo": GROUPS, "filtered_bc": MANY, "awr": MANY, "digirl": MANY, "webrl": MANY, "starpo": GROUPS,
    "tsr": {**GROUPS, "tasks_per_update": 4},
}  # fmt: skip
PLAIN = {"starpo_kept": 1.0, "clip_high": 0.2, "kl_weight": 0.001}


@pytest.fixture(autouse=True)
def tiny_envs(monkeypatch):
    """Let the trainers play the tiny env, and do with few episodes."""
    monkeypatch.setattr(grpo, "create_envs", tiny.create_envs)
    monkeypatch.setattr(digirl, "TOP", 0.3)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return shared_folder(tmp_path_factory, "unsure_clone", unsure_clone)


@pytest.fixture(scope="module")
def success_before(clone):
    return success(clone)


def settings(method, out, model="m", **changes):
    own = {"updates": 4, "max_new_tokens": 12, "max_steps": 2, **METHODS.get(method, {}), **changes}
    return make_settings(method, out=out, model=str(model), **own)


@pytest.mark.parametrize(("method", "changes"), [
    ("grpo", {"updates": 24, "max_steps": 15}),
    ("filtered_bc", {"updates": 14}),
    *(pytest.param(name, {"updates": 24}, marks=pytest.mark.slow) for name in ("awr", "digirl", "webrl")),
    pytest.param("starpo", {"updates": 30}, marks=pytest.mark.slow),
    pytest.param("starpo", {"updates": 40, **PLAIN}, marks=pytest.mark.slow),
    pytest.param("starpo", {"updates": 40, **PLAIN, "starpo_advantages": "group"}, marks=pytest.mark.slow),
    pytest.param("tsr", {"updates": 30}, marks=pytest.mark.slow),
    pytest.param("tsr", {"updates": 30, "search_choice": "diverse", "search_correction": "path"}, marks=pytest.mark.slow),
])  # fmt: skip
def test_each_method_lifts_an_unsure_model(tmp_path, monkeypatch, clone, success_before, method, changes):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 800)
    path = train_rl.train(settings(method, tmp_path, clone, **changes), tiny.tasks(60))
    assert success(path) > success_before + 0.1
    rows = read_metrics(tmp_path)
    if method in ("grpo", "tsr"):  # others train on a batch several times
        assert max(row.get("logprob_gap", 0) for row in rows) < 1e-4
    if method == "tsr":
        assert rows[-1]["env_steps"] > sum(row["rollouts"] * row["steps"] for row in rows)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "grpo"])
def test_a_killed_run_goes_on_exactly(tmp_path, monkeypatch, clone, method):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 1)

    def train(name):
        sizes = {"tasks_per_update": 16 if METHODS[method] is MANY else 4}
        return train_rl.train(settings(method, tmp_path / name, clone, save_every=2, **sizes), tiny.tasks(20))

    whole = train("whole")
    tiny.killed_after(monkeypatch, 3, train, "killed")
    assert [checkpoint.update for checkpoint in checkpoints(tmp_path / "killed")] == [2]
    assert_same_weights(whole, train("killed"))
    ours, theirs = read_metrics(tmp_path / "whole"), read_metrics(tmp_path / "killed")
    clocks = {name for name in ours[0] if name.startswith("time_")} | {"rollout_s", "elapsed_s", "cpu_minutes"}
    one, other = ([[it for it in record.items() if it[0] not in clocks] for record in run] for run in (ours, theirs))
    assert one == other
    assert sum(record["trained_steps"] for record in ours) > 0
    assert all(record["reply_entropy"] > 0 and 0 <= record["reward_deviation"] <= 0.5 for record in ours)
    if method == "webrl":
        assert sum(record["new_tasks"] for record in ours[:3]) > 0
    if method == "starpo":
        assert all(record["kept_groups"] == 1 and record["kept_deviation"] >= record["reward_deviation"] for record in ours)


def test_all_trainers_count_steps_and_tokens_equally(tmp_path, clone):
    for method, changes in (("filtered_bc", {}), ("grpo", {"epochs": 2, "tasks_per_update": 4})):
        train_rl.train(settings(method, tmp_path / method, clone, updates=2, **changes), tiny.tasks(20))
        records = read_metrics(tmp_path / method)
        played_steps = [record["rollouts"] * record["steps"] for record in records]
        assert [record["env_steps"] for record in records] == pytest.approx([played_steps[0], sum(played_steps)])
        assert 2 * records[1]["env_steps"] < records[1]["generated_tokens"] <= 12 * records[1]["env_steps"]
        assert 0 < records[0]["trained_tokens"] < records[1]["trained_tokens"]
        assert 0 < records[0]["cpu_minutes"] < records[1]["cpu_minutes"] < 1


FORKS = ("forks or searches",)


@pytest.mark.parametrize(("method", "changes", "values"), [
    ("awr", {"overlap": True, "staleness": 1}, ("overlap", "True", "AWR")),
    ("tsr", {"workers": 2}, FORKS),
    ("tsr", {"staleness": 1}, FORKS),
    ("grpo", {"advantages": "forks", "staleness": 1}, FORKS),
    ("tsr", {"search_width": 0}, ("search_width", 0, 1)),
    ("tsr", {"advantages": "forks"}, ("advantages", "'forks'")),
    ("starpo", {"starpo_kept": 0.0}, ("starpo_kept", 0.0, 0)),
    ("webrl", {"constrained": True}, ("method", "'webrl'")),
])  # fmt: skip
def test_settings_without_sense_are_refused(tmp_path, clone, method, changes, values):
    with expect_error(ValueError, *values):
        train_rl.train(settings(method, tmp_path, clone, **changes), tiny.tasks(4))


def test_step_states_by_trajectory_without_failed_ones():
    fine, broken, empty = trajectory([-1.0]), trajectory([-1.0], ending="failed"), trajectory(ending="too_long", reward=0)
    assert valid_trajectories([Group(0, TASK, [fine, broken, empty])]) == [fine]
    items = [trajectory([-1.0], [-2.0, -3.0], reward=1), trajectory([-4.0], reward=0, group=7)]
    assert CRITICS.step_states(items) == [(10, 11), (10, 12), (10, 11)]
    assert CRITICS.episode_states([trajectory([-1.0], [-1.0, -1.0])]) == [
        (10, 12, 20, 21)
    ]  # the last prompt and the last action
    assert step_rewards(items) == [1, 1, 0]
    assert split_by_trajectory([1, 2, 3], items) == [[1, 2], [3]]


def test_the_newest_trajectories_are_kept_and_of_each_task_one_if_wanted():
    replay, other = Replay(3), Replay(3)
    replay.add(trajectory([-1.0], task_id=str(number)) for number in range(5))
    other.load_state_dict(replay.state_dict())
    assert [item.task_id for item in replay.trajectories] == ["2", "3", "4"]
    assert sorted(item.task_id for item in replay.draw(9, Random(0))) == ["2", "3", "4"]
    assert len({item.task_id for item in replay.draw(2, Random(0))}) == 2
    assert other.trajectories == replay.trajectories
    replay = Replay(2, one_per_task=True)
    replay.add([trajectory([-1.0], task_id="a"), trajectory([-2.0], task_id="b")])
    replay.add([trajectory([-3.0], task_id="a")])
    assert [(item.task_id, item.steps[0].logprobs) for item in replay.trajectories] == [("b", (-2.0,)), ("a", (-3.0,))]
    replay.add([trajectory([-4.0], task_id="c")])
    assert [item.task_id for item in replay.trajectories] == ["a", "c"]


def test_corrections_are_those_of_a_step_or_of_the_path_to_it():
    steps = tuple(Step("", "", importance=value) for value in (0.5, 3.0, 2.0))
    item = Trajectory("t", "g", steps, 1.0, "exited")
    for correction, expected in (("none", [1.0, 1.0, 1.0]), ("step", [0.5, 2.5, 2.0]), ("path", [0.5, 1.5, 2.5])):
        assert importance_weights(item, correction, 2.5) == expected
