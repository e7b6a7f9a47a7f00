import math
from pkgutil import resolve_name
from random import Random

import pytest
import torch

from agents import grpo as trainer
from agents import train_rl
from agents.data.trajectories import Sample, Step, Trajectory
from agents.methods import digirl, webrl
from agents.methods.awr import exponential_weights
from agents.methods.digirl import doubly_robust_advantages, highest
from agents.methods.replay import Replay, imitation_loss, played, split_by_trajectory, step_rewards
from agents.methods.webrl import is_worth_replaying, near, next_and_final_advantages
from agents.models.checkpoints import checkpoints
from agents.models.critics import LanguageModelCritics
from agents.rollouts.curriculum import Group
from agents.train_rl import make_settings
from agents.training.losses import Tokens, logprobs_of
from agents.training.metrics import read_metrics
from agents.training.rollouts import weighted
from tests import tiny
from tests.test_train import assert_same_weights, grpo, interrupted, success, unsure_clone

CRITICS = LanguageModelCritics(None, None, 0)
BASELINES = ["filtered_bc", "awr", "digirl", "webrl"]


@pytest.fixture(autouse=True)
def tiny_envs(monkeypatch):
    """Let the trainers play the tiny env."""
    torch.set_num_threads(1)
    monkeypatch.setattr(trainer, "create_envs", tiny.create_envs)
    monkeypatch.setattr(digirl, "TOP", 0.3)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    torch.set_num_threads(1)
    return unsure_clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def success_before(clone):
    return success(clone)


def baseline(out, model, method, **changes):
    values = {"updates": 4, "tasks_per_update": 48, "max_new_tokens": 12, "max_steps": 2, "replay": 192}
    return make_settings(method, out=out, model=str(model), **{**values, **changes})


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
    rest = [torch.tensor(values) for values in (old, old, advantages, weights)]
    return Tokens(logprobs, *rest, lengths)


# Whole runs.


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=() if name == "filtered_bc" else pytest.mark.slow) for name in BASELINES]
)
def test_each_method_lifts_an_unsure_model(tmp_path, monkeypatch, clone, success_before, method):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 800)
    path = train_rl.train(baseline(tmp_path, clone, method, updates=24), tiny.tasks(60))
    assert success(path) > success_before + 0.1


@pytest.mark.parametrize("method", BASELINES)
def test_a_killed_run_goes_on_exactly(tmp_path, monkeypatch, clone, method):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 1)
    settings = {"tasks_per_update": 16, "save_every": 2}
    whole = train_rl.train(baseline(tmp_path / "whole", clone, method, **settings), tiny.tasks(20))
    with monkeypatch.context() as patch:
        interrupted(patch, after=2)
        with pytest.raises(KeyboardInterrupt):
            train_rl.train(baseline(tmp_path / "killed", clone, method, **settings), tiny.tasks(20))
    assert [checkpoint.update for checkpoint in checkpoints(tmp_path / "killed")] == [2]
    resumed = train_rl.train(baseline(tmp_path / "killed", clone, method, **settings), tiny.tasks(20))
    assert_same_weights(whole, resumed)
    ours, theirs = read_metrics(tmp_path / "whole"), read_metrics(tmp_path / "killed")
    clocks = {name for name in ours[0] if name.startswith("time_")} | {"rollout_s", "elapsed_s", "cpu_minutes"}
    assert [[item for item in record.items() if item[0] not in clocks] for record in ours] == [
        [item for item in record.items() if item[0] not in clocks] for record in theirs
    ]
    assert sum(record["trained_steps"] for record in ours) > 0
    if method == "webrl":
        assert sum(record["new_tasks"] for record in ours[:3]) > 0


def test_what_is_spent_is_counted_alike_by_all_trainers(tmp_path, clone):
    train_rl.train(baseline(tmp_path / "bc", clone, "filtered_bc", updates=2), tiny.tasks(20))
    train_rl.train(grpo(tmp_path / "grpo", clone, updates=2, epochs=2), tiny.tasks(20))
    for run in ("bc", "grpo"):
        records = read_metrics(tmp_path / run)
        played_steps = [record["rollouts"] * record["steps"] for record in records]
        assert [record["env_steps"] for record in records] == pytest.approx([played_steps[0], sum(played_steps)])
        assert 2 * records[1]["env_steps"] < records[1]["generated_tokens"] <= 12 * records[1]["env_steps"]
        assert 0 < records[0]["trained_tokens"] < records[1]["trained_tokens"]
        assert 0 < records[0]["cpu_minutes"] < records[1]["cpu_minutes"] < 1


def test_what_only_m_grpo_can_do_is_refused(tmp_path, clone):
    with pytest.raises(ValueError, match="overlap is True and cluster ''; expected neither of them with AWR"):
        train_rl.train(baseline(tmp_path, clone, "awr", overlap=True, staleness=1), tiny.tasks(4))


# Training batches.


def test_the_values_of_steps_are_told_by_trajectory():
    items = [trajectory([-1.0], [-2.0, -3.0], reward=1), trajectory([-4.0], reward=0, group=7)]
    assert CRITICS.steps(items) == [(10, 11), (10, 12), (10, 11)]
    assert step_rewards(items) == [1, 1, 0]
    assert split_by_trajectory([1, 2, 3], items) == [[1, 2], [3]]


def test_broken_rollouts_and_those_without_a_step_teach_nothing():
    fine, broken, empty = trajectory([-1.0]), trajectory([-1.0], ending="failed"), trajectory(ending="too_long", reward=0)
    assert played([Group(0, tiny.tasks(1)[0], [fine, broken, empty])]) == [fine]


def test_imitation_weighs_each_token_with_its_advantage():
    logprobs = torch.tensor([-1.0, -2.0, -4.0], requires_grad=True)
    loss, _ = imitation_loss(tokens(logprobs, [0.0] * 3, [1.0, 1.0, 3.0], [0.25, 0.25, 0.5], (2, 1)))
    assert loss.item() == pytest.approx(0.25 + 0.5 + 6)
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([-0.25, -0.25, -1.5])


def test_filtered_cloning_imitates_successes_alone_and_remembers_them():
    method = method_of("filtered_bc", tiny.tasks(1))
    won, lost = trajectory([-1.0], [-1.0], task_id="won"), trajectory([-1.0], reward=0, task_id="lost")
    task = tiny.tasks(1)[0]
    first = method.batch([Group(0, task, [won]), Group(1, task, [lost])], Random(0))[0]
    assert [item.advantage for item in first] == [1.0, 1.0]
    later = method.batch([Group(2, task, [lost])], Random(0))[0]
    assert len(later) == 2


# Replay.


def test_the_newest_trajectories_are_kept():
    replay = Replay(3)
    replay.add(trajectory([-1.0], task_id=str(number)) for number in range(5))
    assert [item.task_id for item in replay.trajectories] == ["2", "3", "4"]
    assert sorted(item.task_id for item in replay.draw(9, Random(0))) == ["2", "3", "4"]
    assert len({item.task_id for item in replay.draw(2, Random(0))}) == 2
    other = Replay(3)
    other.load_state_dict(replay.state_dict())
    assert other.trajectories == replay.trajectories


def test_one_trajectory_of_each_task_is_kept_if_wanted():
    replay = Replay(2, one_per_task=True)
    replay.add([trajectory([-1.0], task_id="a"), trajectory([-2.0], task_id="b")])
    replay.add([trajectory([-3.0], task_id="a")])
    assert [(item.task_id, item.steps[0].logprobs) for item in replay.trajectories] == [("b", (-2.0,)), ("a", (-3.0,))]
    replay.add([trajectory([-4.0], task_id="c")])
    assert [item.task_id for item in replay.trajectories] == ["a", "c"]


def test_steps_known_by_heart_and_strange_ones_are_not_replayed():
    probabilities = {0.96: False, 0.94: True, 0.7: True, 0.51: True, 0.49: False}
    for probability, expected in probabilities.items():
        assert is_worth_replaying([math.log(probability)] * 3) == expected


def test_responses_are_scored_by_the_policy_as_it_is():
    model, _ = tiny.tiny_model()
    samples = [Sample((5, 6, 7), (8, 9)), Sample((5, 6), (10,)), Sample((11, 12, 13, 14), (15, 16, 17))]
    steps = [Step("", "", "", prompt, response, (0.0,) * len(response)) for prompt, response in samples]
    episode = Trajectory("t", "g", tuple(steps), 1.0, "exited", 0)
    trained, _ = tiny.language_model(model, temperature=0.7, tokens_per_pass=6)
    found = logprobs_of(trained, weighted([([episode], [0.0] * 3)]))
    for (prompt, response), own in zip(samples, found, strict=True):
        logits = model(torch.tensor([prompt + response])).logits[0, len(prompt) - 1 : -1] / 0.7
        expected = logits.log_softmax(-1)[range(len(response)), list(response)]
        assert own.tolist() == pytest.approx(expected.tolist(), abs=1e-4)


# Advantages and filters.


def test_awr_weights_are_capped_exponentials():
    weights = exponential_weights([1.0, 0.0, 1.0, 1.0], [0.5, 0.5, 1.0, -1e6], temperature=0.5, cap=20.0)
    assert weights == pytest.approx([math.e, 1 / math.e, 1.0, 20.0])


def test_doubly_robust_advantages_mix_the_outcome_and_the_next_value():
    # The last step has the weight 1, the one before 1/2, the first 1/4.
    assert doubly_robust_advantages([0.5, 0.7, 0.4], 1.0, decay=0.5) == pytest.approx(
        [0.25 * 1 + 0.75 * (0.7 - 0.5), 0.5 * 1 + 0.5 * (0.4 - 0.7), 1.0]
    )
    assert doubly_robust_advantages([0.5, 0.7], 0.0, decay=0.5) == pytest.approx([0.5 * 0.2, 0.0])
    assert doubly_robust_advantages([0.5, 0.9], 0.0, decay=1.0) == [0.0, 0.0]
    assert doubly_robust_advantages([], 0.0, decay=0.5) == []


def test_the_curriculum_of_digirl_takes_the_most_surprising_episodes():
    surprises = [1 - 0.9, 0 - 0.1, 1 - 0.2, 0 - 0.8]
    assert highest(surprises, 0.25) == [2]
    assert highest(surprises, 0.5) == [0, 2]
    assert highest([0.5, 0.5, -0.5, -0.5], 0.1) == [0, 1]
    assert highest([], 0.1) == []


def test_webrl_s_advantages_mix_the_next_value_and_the_outcome():
    assert next_and_final_advantages([0.5, 0.7, 0.4], 1.0, mix=0.25) == pytest.approx(
        [0.25 * 0.2 + 0.75 * 0.5, 0.25 * -0.3 + 0.75 * 0.3, 0.6]
    )
    assert next_and_final_advantages([0.5, 0.7], 0.0, mix=1.0) == pytest.approx([0.2, -0.7])
    assert next_and_final_advantages([], 0.0, mix=1.0) == []


def test_the_loss_of_webrl_is_least_where_the_policy_has_moved_by_the_advantage_over_beta(monkeypatch):
    monkeypatch.setattr(webrl, "BETA", 2.0)
    old = [-1.0, -2.0, -1.5]
    # The first response has moved by 0.1 + 0.3, the second by -0.5.
    logprobs = torch.tensor([-0.9, -1.7, -2.0], requires_grad=True)
    loss, told = webrl.WebRL.loss(None, tokens(logprobs, old, [0.6, 0.6, -1.0], [0.25, 0.25, 0.5], (2, 1)))
    assert loss.item() == pytest.approx(0.5 * (2 * 0.4 - 0.6) ** 2 + 0.5 * (2 * -0.5 + 1.0) ** 2)
    assert told["kl"] == pytest.approx(sum(math.exp(-d) + d - 1 for d in (0.1, 0.3, -0.5)))
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([0.5 * 2 * 2 * 0.2] * 2 + [0.0], abs=1e-6)


# New tasks.


def task(number, template, *sites):
    return tiny.TinyTask(f"{template}/{number}", "", "", template=template, sites=sites or ("shopping",))


def test_new_tasks_are_of_the_templates_that_failed_or_else_of_their_sites():
    tasks = [task(1, "a"), task(2, "a"), task(3, "a"), task(1, "b", "map"), task(1, "c", "map"), task(1, "d", "reddit")]
    assert {item.task_id for item in near(tasks[:1], tasks, 9, Random(0))} == {"a/2", "a/3"}
    assert {item.task_id for item in near([tasks[0], tasks[1]], tasks, 9, Random(0))} == {"a/3"}
    assert {item.task_id for item in near([tasks[3]], tasks, 9, Random(0))} == {"c/1"}
    assert near([tasks[5]], tasks, 9, Random(0)) == []
    assert len(near(tasks[:1], tasks, 1, Random(0))) == 1


@pytest.fixture
def method(monkeypatch):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 4)
    return method_of("webrl", tiny.tasks(30))


def test_hopeless_tasks_and_easy_ones_are_not_played(method):
    method.judged = 4
    values = iter([0.04, 0.05, 0.5, 0.75, 0.76] * 9)
    method.critic.values = lambda states: [next(values) for _ in states]
    method.choose_tasks([trajectory([-1.0], reward=0.0, task_id=tiny.tasks(30)[0].task_id)], Random(0))
    assert len(method.new_tasks) == pytest.approx(29 * 3 / 5, abs=1)


def rollouts(numbers, reward, method):
    tasks = [method.draw(number) for number in numbers]
    return [
        Group(number, drawn, [trajectory([-1.0], reward=reward, task_id=drawn.task_id, group=number)])
        for number, drawn in zip(numbers, tasks, strict=True)
    ]


def test_new_tasks_begin_when_the_reward_model_has_seen_enough(method):
    assert method.batch(rollouts(range(3), 0.0, method), Random(0))[1]["new_tasks"] == 0
    assert method.batch(rollouts(range(3, 6), 0.0, method), Random(1))[1]["new_tasks"] > 10


def test_the_reward_model_says_what_became_of_new_tasks(method):
    method.batch(rollouts(range(8), 0.0, method), Random(0))
    played_next = rollouts(range(8, 40), 1.0, method)
    trained = method.batch(played_next, Random(1))[0]
    outcomes = [item.episode.reward for item in trained]
    # It has only seen failures, so it believes in no success; the rules tell the outcome of the first tasks.
    assert 8 < outcomes.count(0.0) < 24
    assert outcomes.count(1.0) == 32 - outcomes.count(0.0)


def test_the_reward_model_reads_the_last_prompt_and_the_last_action():
    assert CRITICS.episodes([trajectory([-1.0], [-1.0, -1.0])]) == [(10, 12, 20, 21)]
