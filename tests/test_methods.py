"""The methods of reinforcement: whole runs on the tiny env, and what each makes of the episodes that it is given."""

import math
from dataclasses import replace
from pkgutil import resolve_name
from random import Random

import pytest
import torch

from agents import grpo, train_rl
from agents.data.trajectories import Step, Trajectory
from agents.methods import digirl, webrl
from agents.methods.awr import exponential_weights
from agents.methods.digirl import doubly_robust_advantages, highest
from agents.methods.replay import Replay, imitation_loss, split_by_trajectory, step_rewards, valid_trajectories
from agents.methods.starpo import deviation, generalised_advantages, most_uncertain, policy_decay
from agents.methods.tsr import importance_weights
from agents.methods.webrl import is_worth_replaying, next_and_final_advantages, similar_tasks
from agents.models.checkpoints import checkpoints
from agents.models.critics import LanguageModelCritics
from agents.rollouts.curriculum import Group
from agents.train_rl import make_settings
from agents.training.losses import Tokens
from agents.training.metrics import read_metrics
from tests import tiny
from tests.errors import expect_error
from tests.test_train import assert_same_weights, success, unsure_clone

CRITICS = LanguageModelCritics(None, None, 0)
TASK = tiny.tasks(1)[0]
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
    return unsure_clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def success_before(clone):
    return success(clone)


def settings(method, out, model="m", **changes):
    own = {"updates": 4, "max_new_tokens": 12, "max_steps": 2, **METHODS.get(method, {}), **changes}
    return make_settings(method, out=out, model=str(model), **own)


def trajectory(*steps, reward=1.0, task_id="t", group=0, ending="exited"):
    """A trajectory of steps, each given as the log-probabilities of its response."""
    made = tuple(
        Step("", "", "", (10, 11 + number), tuple(range(20, 20 + len(own))), tuple(own)) for number, own in enumerate(steps)
    )
    return Trajectory(task_id, f"goal of {task_id}", made, reward, ending, group)


def method_of(name, tasks, **options):
    """Return a method with a tiny model, at its beginning."""
    model, args = tiny.language_model(*tiny.tiny_model(), method=name, **options)
    return resolve_name(args.trainer)(args, tasks, model)


def tokens(logprobs, old, advantages, weights, lengths):
    return Tokens(logprobs, *(torch.tensor(values) for values in (old, old, advantages, weights)), lengths)


def advantages(steps):
    return [item.advantage for item in steps]


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


def test_what_is_spent_is_counted_alike_by_all_trainers(tmp_path, clone):
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


def test_the_values_of_steps_are_told_by_trajectory_and_what_broke_has_none():
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


def test_imitation_weighs_each_token_and_filtered_cloning_imitates_successes_and_remembers_them():
    logprobs = torch.tensor([-1.0, -2.0, -4.0], requires_grad=True)
    loss, _ = imitation_loss(tokens(logprobs, [0.0] * 3, [1.0, 1.0, 3.0], [0.25, 0.25, 0.5], (2, 1)))
    assert loss.item() == pytest.approx(0.25 + 0.5 + 6)
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([-0.25, -0.25, -1.5])
    method = method_of("filtered_bc", [TASK])
    won, lost = trajectory([-1.0], [-1.0], task_id="won"), trajectory([-1.0], reward=0, task_id="lost")
    assert advantages(method.batch([Group(0, TASK, [won]), Group(1, TASK, [lost])], Random(0))[0]) == [1.0, 1.0]
    assert len(method.batch([Group(2, TASK, [lost])], Random(0))[0]) == 2


def test_weights_and_advantages_at_their_edges():
    assert exponential_weights([0.0, 1.0], [0.5, -1e6], temperature=0.5, cap=20.0) == pytest.approx([1 / math.e, 20.0])
    assert doubly_robust_advantages([0.5, 0.7], 0.0, decay=0.5) == pytest.approx([0.5 * 0.2, 0.0])
    assert doubly_robust_advantages([0.5, 0.9], 0.0, decay=1.0) == [0.0, 0.0]
    assert doubly_robust_advantages([], 0.0, decay=0.5) == next_and_final_advantages([], 0.0, mix=1.0) == []
    assert next_and_final_advantages([0.5, 0.7], 0.0, mix=1.0) == pytest.approx([0.2, -0.7])


@pytest.mark.parametrize(("surprises", "share", "indices"), [
    ([1 - 0.9, 0 - 0.1, 1 - 0.2, 0 - 0.8], 0.25, [2]),
    ([1 - 0.9, 0 - 0.1, 1 - 0.2, 0 - 0.8], 0.5, [0, 2]),
    ([0.5, 0.5, -0.5, -0.5], 0.1, [0, 1]),
    ([], 0.1, []),
])  # fmt: skip
def test_the_curriculum_of_digirl_takes_the_most_surprising_episodes(surprises, share, indices):
    assert highest(surprises, share) == indices


def test_the_loss_of_webrl_is_least_where_the_policy_has_moved_by_the_advantage_over_beta(monkeypatch):
    monkeypatch.setattr(webrl, "BETA", 2.0)
    # The first response has moved by 0.1 + 0.3, the second by -0.5.
    logprobs = torch.tensor([-0.9, -1.7, -2.0], requires_grad=True)
    loss, told = webrl.WebRL.loss(None, tokens(logprobs, [-1.0, -2.0, -1.5], [0.6, 0.6, -1.0], [0.25, 0.25, 0.5], (2, 1)))
    assert loss.item() == pytest.approx(0.5 * (2 * 0.4 - 0.6) ** 2 + 0.5 * (2 * -0.5 + 1.0) ** 2)
    assert told["kl"] == pytest.approx(sum(math.exp(-d) + d - 1 for d in (0.1, 0.3, -0.5)))
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([0.5 * 2 * 2 * 0.2] * 2 + [0.0], abs=1e-6)


def test_steps_known_by_heart_and_strange_ones_are_not_replayed():
    for probability, expected in {0.96: False, 0.94: True, 0.7: True, 0.51: True, 0.49: False}.items():
        assert is_worth_replaying([math.log(probability)] * 3) == expected


def task(number, template, *sites):
    return tiny.TinyTask(f"{template}/{number}", "", "", template=template, sites=sites or ("shopping",))


def test_new_tasks_are_of_the_templates_that_failed_or_else_of_their_sites():
    tasks = [task(1, "a"), task(2, "a"), task(3, "a"), task(1, "b", "map"), task(1, "c", "map"), task(1, "d", "reddit")]
    for failed, wanted in ((tasks[:1], {"a/2", "a/3"}), (tasks[:2], {"a/3"}), (tasks[3:4], {"c/1"}), (tasks[5:], set())):
        assert {item.task_id for item in similar_tasks(failed, tasks, 9, Random(0))} == wanted
    assert len(similar_tasks(tasks[:1], tasks, 1, Random(0))) == 1


@pytest.fixture
def method(monkeypatch):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 4)
    return method_of("webrl", tiny.tasks(30))


def rollouts(numbers, reward, method):
    drawn = {number: method.draw(number) for number in numbers}
    return [
        Group(number, task, [trajectory([-1.0], reward=reward, task_id=task.task_id, group=number)])
        for number, task in drawn.items()
    ]


def test_hopeless_tasks_and_easy_ones_are_not_played(method):
    method.judged = 4
    values = iter([0.04, 0.05, 0.5, 0.75, 0.76] * 9)
    method.critic.values = lambda states: [next(values) for _ in states]
    method.choose_tasks([trajectory([-1.0], reward=0.0, task_id=tiny.tasks(30)[0].task_id)], Random(0))
    assert len(method.new_tasks) == pytest.approx(29 * 3 / 5, abs=1)


def test_new_tasks_begin_when_the_reward_model_has_seen_enough_and_it_judges_them(method):
    assert method.batch(rollouts(range(3), 0.0, method), Random(0))[1]["new_tasks"] == 0
    assert method.batch(rollouts(range(3, 8), 0.0, method), Random(1))[1]["new_tasks"] > 10
    outcomes = [item.episode.reward for item in method.batch(rollouts(range(8, 40), 1.0, method), Random(1))[0]]
    # It has only seen failures, so it believes in no success; the rules tell the outcome of the first tasks.
    assert 8 < outcomes.count(0.0) < 24
    assert outcomes.count(1.0) == 32 - outcomes.count(0.0)


def group(number, *rewards):
    return Group(number, TASK, [trajectory([-1.0], reward=reward, group=number) for reward in rewards])


@pytest.mark.parametrize("seed", range(5))
def test_the_least_certain_groups_are_kept_in_their_order(seed):
    rng = Random(seed)
    groups = [group(number, *(float(rng.random() < 0.5) for _ in range(6))) for number in range(rng.randint(1, 12))]
    for share in (0.01, 0.25, 0.5, 1.0):
        kept = most_uncertain(groups, share)
        assert len(kept) == -(-len(groups) * share // 1)
        assert [item.number for item in kept] == sorted(item.number for item in kept)
        others = [item for item in groups if item not in kept]
        assert all(deviation(item) >= deviation(other) for item in kept for other in others)
    assert most_uncertain([], 0.25) == []


@pytest.mark.parametrize("seed", range(5))
def test_generalised_advantages_are_sums_of_discounted_differences(seed):
    rng = Random(seed)
    values = [rng.random() for _ in range(rng.randint(1, 6))]
    rewards = [rng.choice([0.0, -0.1]) for _ in values[1:]] + [rng.choice([0.0, 1.0])]
    gamma, decay = rng.random(), rng.random()
    deltas = [earned + gamma * later - value for earned, later, value in zip(rewards, [*values[1:], 0.0], values, strict=True)]
    expected = [
        sum((gamma * decay) ** ahead * delta for ahead, delta in enumerate(deltas[step:])) for step in range(len(values))
    ]
    assert generalised_advantages(values, rewards, discount=gamma, decay=decay) == pytest.approx(expected)
    plain = generalised_advantages(values, rewards, discount=1.0, decay=1.0)
    assert plain == pytest.approx([sum(rewards[step:]) - value for step, value in enumerate(values)])
    assert generalised_advantages([], [], discount=1.0, decay=1.0) == []


def test_the_policys_lambda_follows_the_length_of_an_episode():
    assert [policy_decay(length, 0.9, 0.0) for length in (1, 40)] == [0.9, 0.9]
    assert [policy_decay(length, 0.9, 0.5) for length in (1, 4, 40)] == [0.0, 0.5, 0.95]
    items = [trajectory([-1.0], [-1.0], reward=1.0), trajectory([-1.0], [-1.0], reward=0.0)]
    near, far = (method_of("starpo", [TASK], starpo_kept=1.0, starpo_length_factor=factor) for factor in (0.5, 1e9))
    ours, theirs = (advantages(method.batch([Group(0, TASK, items)], Random(0))[0]) for method in (near, far))
    assert ours == pytest.approx([0.0, 2**0.5, 0.0, -(2**0.5)])  # with a lambda of 0 the last step alone hears of the outcome
    assert theirs == pytest.approx([1.0, 1.0, -1.0, -1.0])


def test_the_critic_learns_before_the_policy():
    method = method_of("starpo", [TASK], starpo_kept=1.0, starpo_value_groups=2)
    groups = [Group(number, TASK, [trajectory([-1.0]), trajectory([-1.0])]) for number in range(4)]
    before = method.critic.state_dict()["head"]["weight"].clone()
    steps, metrics = method.batch(groups[:2], Random(0))
    assert not steps
    assert metrics["critic_loss"] > 0
    assert not before.equal(method.critic.state_dict()["head"]["weight"])
    assert method.batch(groups[2:], Random(0))[0]


def test_a_reply_without_an_action_costs():
    method = method_of("starpo", [TASK], starpo_kept=1.0, starpo_format_cost=0.5)
    right, wrong = (
        replace(trajectory([-1.0]), steps=(Step("", reply, "", (10,), (20,), (-1.0,)),)) for reply in ("go_backward()", "I see")
    )
    trained, _ = method.batch([Group(0, TASK, [right, wrong])], Random(0))
    assert advantages(trained) == pytest.approx([1.0, -1.0])


@pytest.mark.parametrize(("kind", "wanted"), [("gae", [2**-0.5, 2**-0.5, -(2**0.5)]), ("group", [1, 1, -1])])
def test_each_trajectory_weighs_alike_and_in_it_each_token(kind, wanted):
    method = method_of("starpo", [TASK], starpo_advantages=kind, starpo_kept=1.0)
    items = [trajectory([-1.0], [-1.0, -1.0], reward=1.0), trajectory([-1.0] * 4, reward=0.0), trajectory(reward=0.0)]
    trained, _ = method.batch([Group(0, TASK, items)], Random(0))
    assert [item.weight for item in trained] == pytest.approx([1 / 6, 1 / 6, 1 / 8])
    assert advantages(trained) == pytest.approx(wanted)


def test_the_baseline_is_the_critic_from_before_it_knew_the_outcomes():
    method = method_of("starpo", [TASK], starpo_kept=1.0)
    method.critic = method.critics.create(rate=0.1, epochs=20)
    won, lost = (trajectory([-1.0], reward=reward) for reward in (1.0, 0.0))
    lost = replace(lost, steps=(Step("", "", "", (30, 31), (20,), (-1.0,)),))
    first, metrics = method.batch([Group(0, TASK, [won, lost])], Random(0))
    assert metrics["critic_loss"] == pytest.approx(0.6931, abs=1e-3)
    assert advantages(first) == [1.0, -1.0]  # one half was expected of both
    later, _ = method.batch([Group(1, TASK, [won, replace(lost, reward=1.0)])], Random(1))
    assert advantages(later) == [-1.0, 1.0]  # the second was expected to fail


def test_corrections_are_those_of_a_step_or_of_the_path_to_it():
    steps = tuple(Step("", "", importance=value) for value in (0.5, 3.0, 2.0))
    item = Trajectory("t", "g", steps, 1.0, "exited")
    for correction, wanted in (("none", [1.0, 1.0, 1.0]), ("step", [0.5, 2.5, 2.0]), ("path", [0.5, 1.5, 2.5])):
        assert importance_weights(item, correction, 2.5) == wanted
