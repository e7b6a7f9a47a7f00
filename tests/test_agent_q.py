"""Agent Q: Monte Carlo tree search that is told rewards, preferences of its trees, and what a policy learns of them."""

import random
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents import agent_q
from agents.data.trajectories import Step, Trajectory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.search import monte_carlo, preferences, ranks, true_reward
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import checkpoints
from agents.rollouts import branching
from agents.rollouts.branching import SearchResult, SearchState
from agents.rollouts.policies import Request, ScriptedPolicy
from agents.training.metrics import read_metrics
from tests.pointing import make_policy, sample_tasks
from tests.pointing import play as play_pointing
from tests.test_search import TASKS, Maze, try_all
from tests.training.test_pointer_cloning import TEMPLATES, unsure  # noqa: F401 - a fixture
from webarena_gym import suite as task_suite

CLONE = Path(agent_q.__file__).parent / "checkpoints" / "cloned-1"


def flat(states):
    return [0.0] * len(states)


def search(task, budget=60, **options):
    method = partial(monte_carlo, value=flat, outcome=true_reward, branching=4, budget=budget, **options)
    return branching.search([Maze()], ScriptedPolicy(try_all), [task], method, with_rewards=True)[0]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.target)
def test_search_finds_and_chooses_the_rewarded_path_with_a_flat_prior(task):
    found = search(task, budget=400)
    assert found.trajectory.reward == 1
    assert any(state.reward == 1 for state in found.states)
    assert found.env_steps < 400, "a tree in which all was tried ends the search"


@pytest.mark.parametrize("seed", range(3))
def test_a_branch_that_was_rewarded_is_visited_more(seed):
    rng = random.Random(seed)
    good, visited = rng.randrange(4), [0] * 4

    def grow(state, replies):
        return [
            SearchState(state.number * 10 + n, state, (), "", (*state.steps, Step("", str(n)))) for n in range(1, replies + 1)
        ]

    tree = monte_carlo(
        SearchState(0, None, (), "", ()), value=flat, outcome=true_reward, branching=4, budget=4_000, exploration=0.5
    )
    required, count = next(tree), 10**6
    for _ in range(100):
        children = grow(required.state, min(required.replies, required.max_children))
        if required.replies == 1:  # an episode that is played on: over after two steps
            first = int(required.state.steps[0].reply) - 1
            count, visited[first] = count + 1, visited[first] + 1
            reward = float(first == good)
            children = [SearchState(count, required.state, (), "", (*required.state.steps, Step("", "0")), "exited", reward)]
        required = tree.send(children)
    assert visited[good] > 2 * max(visits for place, visits in enumerate(visited) if place != good)


def tree_of(rewards):
    """A root with an action for each list of rewards, which are those of the ends below it."""
    root = SearchState(0, None, (), "page", ())
    states, number = [root], 1
    for place, own in enumerate(rewards):
        child = SearchState(number, root, (), "", (Step("page", f"action {place}"),))
        states.append(child)
        ends = [
            SearchState(number + 1 + n, child, (), "", (*child.steps, Step("", "leave")), "exited", reward)
            for n, reward in enumerate(own)
        ]
        states += ends
        number += 1 + len(ends)
    episode = Trajectory("t/1", "goal", (), 0.0, "exited")
    return SearchResult(episode, episode, 0, 0, 0, tuple(states))


def replies(pairs):
    return [(pair.chosen.steps[-1].reply, pair.rejected.steps[-1].reply) for pair in pairs]


def test_preference_pairs_have_distant_values_and_depend_on_the_prior():
    found = tree_of([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [], [0.9, 0.9]])
    own = partial(preferences, found, value=flat, prior_weight=0.0)
    assert replies(own(threshold=0.95, max_pairs=9)) == [("action 0", "action 1")]
    assert set(replies(own(threshold=0.45, max_pairs=9))) == {
        ("action 0", "action 1"), ("action 4", "action 1"), ("action 0", "action 2"), ("action 2", "action 1"),
    }  # fmt: skip
    assert replies(own(threshold=0.45, max_pairs=1)) == [("action 0", "action 1")]
    assert not own(threshold=1.0, max_pairs=9)
    found = tree_of([[0.5], [0.5]])
    last = partial(preferences, found, threshold=0.4, max_pairs=9, value=lambda states: [state.number for state in states])
    assert replies(last(prior_weight=0.5)) == [("action 1", "action 0")]
    assert not last(prior_weight=0.0)
    assert ranks([]) == []


def test_a_pointing_policy_goes_on_from_any_state_as_if_it_had_been_there():
    task = sample_tasks(1)
    (episode,) = play_pointing(make_policy(), task)
    for count, step in enumerate(episode.steps):
        policy = make_policy()
        info = {"step": count, "goal": episode.goal, "page": step.page, "action_error": ""}
        info["action_error"] = episode.steps[count - 1].action_error if count else ""
        policy.temperature = 0.0
        policy.ask([Request(9, None, info, 0, episode.steps[:count])])
        ((_, reply),) = policy.replies()
        assert reply.prompt_ids == step.prompt_ids
        straight = make_policy(temperature=0.0)
        for number, earlier in enumerate(episode.steps[: count + 1]):
            step_info = {**info, "step": number, "page": earlier.page, "action_error": ""}
            if number:
                step_info["action_error"] = episode.steps[number - 1].action_error
            straight.ask([Request(0, None, step_info, 0, episode.steps[:number])])
            ((_, same),) = straight.replies()
        assert same == reply


def settings_of(model, out, **changes):
    own = {"templates": TEMPLATES, "worlds": (14,), "per_template": 2, "iterations": 3, "tasks_per_iteration": 12, "threads": 1}
    own |= {"budget": 40, "beta": 0.3, "learning_rate": 1e-3, "epochs": 2, "pairs_per_update": 16}
    return agent_q.make_settings(model=str(model), out=out, **{**own, **changes})


@pytest.mark.parametrize(("threads", "own", "expected"), [(3, 1, 3), (None, 1, 1), (3, 0, 3), (None, 0, None)])
def test_the_threads_of_a_run_are_those_of_its_settings_or_of_the_kind_of_its_model(
    tmp_path, monkeypatch, threads, own, expected
):
    counts = []
    monkeypatch.setattr("torch.set_num_threads", counts.append)
    monkeypatch.setattr("agents.grpo.kind_of", lambda _: SimpleNamespace(threads=own, load=None))
    with pytest.raises(TypeError):  # there is no function that loads the model
        agent_q.train(settings_of(CLONE, tmp_path, threads=threads))
    assert counts == ([] if expected is None else [expected])


def test_metrics_of_a_run_count_its_time_and_steps(tmp_path):
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    agent_q.train(settings_of(CLONE, tmp_path, iterations=2, tasks_per_iteration=1, budget=4, epochs=1))
    rows = read_metrics(tmp_path)
    wall_s, cpu_minutes = time.perf_counter() - start_s, (time.process_time() - start_cpu_s) / 60
    assert 0 < rows[0]["elapsed_s"] < rows[1]["elapsed_s"] <= wall_s
    assert 0 < rows[0]["cpu_minutes"] < rows[1]["cpu_minutes"] <= cpu_minutes
    assert rows[0]["env_steps"] < rows[1]["env_steps"] <= 8
    assert [item.update for item in checkpoints(tmp_path)] == [1, 2]


def sampled_success(folder):
    defaults = {**policy_defaults(str(folder)), "threads": 1, "temperature": 1.0}
    tasks = task_suite.draw(list(TEMPLATES), world_seed=14, count=2) * 8
    return evaluate_policy(EvaluationSettings(policy=str(folder), **defaults), tasks, quiet=True).total.success


@pytest.mark.slow
def test_iterations_raise_success_and_a_resumed_run_is_the_same(unsure, tmp_path):  # noqa: F811 - the fixture
    folder = agent_q.train(settings_of(unsure, tmp_path / "whole"))
    assert sampled_success(folder) > sampled_success(unsure) + 0.1
    agent_q.train(settings_of(unsure, tmp_path / "parts", iterations=1))
    again = agent_q.train(settings_of(unsure, tmp_path / "parts"))
    assert (again / "pointer.safetensors").read_bytes() == (folder / "pointer.safetensors").read_bytes()
    assert agent_q.train(settings_of(unsure, tmp_path / "parts")) == again
    assert [item.update for item in checkpoints(tmp_path / "whole")] == [1, 2, 3]
    env_steps = [row["env_steps"] for row in read_metrics(tmp_path / "whole")]
    assert env_steps == sorted(env_steps)
    assert env_steps[-1] <= 3 * 12 * 40
