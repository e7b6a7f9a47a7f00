"""Search on the tasks of an evaluation, within a budget of env steps per task."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import torch
from tqdm import tqdm

from agents.evaluation.evaluate import create_policy, recorded_env
from agents.evaluation.intervals import Evaluation, summarise
from agents.evaluation.search.branches import Method, Search, play
from agents.evaluation.search.methods import best_of_n, monte_carlo, tree_search
from agents.evaluation.search.values import Value, by_value, confidence, likelihood, load_critic, majority
from agents.evaluation.settings import CHAT, SCRIPTED, SearchSettings, choose_tasks
from agents.models.checkpoints import agent_record
from agents.rollouts.envs import InProcessEnvs
from agents.settings import ENV_ID, flatten
from agents.training.rollouts import CreditedGroup, write_groups


def create_method(settings: SearchSettings) -> Method:
    """Return the search that the settings name. Raises ValueError for settings that do not go together."""
    if settings.method == "greedy":
        return partial(best_of_n, choose=majority, budget=settings.budget, n=1)
    if settings.value == "majority":
        if settings.method != "best_of_n":
            raise ValueError("value is 'majority', which knows whole episodes alone; expected confidence or critic for a tree")
        return partial(best_of_n, choose=majority, budget=settings.budget, n=settings.n)
    value: Value = confidence
    if settings.value == "critic":
        if settings.critic is None:
            raise ValueError("value is 'critic', but there is no critic; expected --critic RUN")
        value = load_critic(settings.critic)
    if settings.method == "best_of_n":
        return partial(best_of_n, choose=by_value(value), budget=settings.budget, n=settings.n)
    if settings.method == "mcts":
        outcome = value if settings.value == "critic" else likelihood
        search: Callable[..., Search] = partial(monte_carlo, outcome=outcome)
    else:
        search = tree_search
    return partial(
        search, value=value, branching=settings.branching, budget=settings.budget, reserve=settings.evaluation.max_steps
    )


def run(settings: SearchSettings) -> tuple[Evaluation, dict[str, Any]]:
    """Search as the settings say; return the evaluation of the episodes that were chosen, and the record of the whole."""
    if settings.evaluation.workers:
        raise ValueError(f"workers is {settings.evaluation.workers}; expected 0, as snapshots are taken in this process")
    policy = settings.evaluation.policy
    is_folder = policy not in SCRIPTED and not policy.startswith(CHAT)
    if settings.method in ("tree", "mcts") and (policy == "expert" or (is_folder and "algorithm" in agent_record(policy))):
        raise ValueError(f"policy {policy!r} remembers its episode, and a tree leaves episodes; expected greedy or best_of_n")
    if settings.evaluation.threads:
        torch.set_num_threads(settings.evaluation.threads)
    tasks = choose_tasks(settings.evaluation)
    method = create_method(settings)
    evaluated = settings.evaluation
    sampled = replace(evaluated, temperature=0.0) if settings.method == "greedy" else evaluated
    make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, tasks=tasks, **settings.evaluation.env_arguments())
    envs = InProcessEnvs(make_env, min(settings.evaluation.num_envs, len(tasks)))
    with (
        closing(envs),
        closing(create_policy(sampled)) as playing,
        tqdm(total=len(tasks), desc="searching", unit="task", disable=None) as bar,
    ):
        local = [envs.local(env_id) for env_id in range(envs.num_envs)]
        found = play(local, playing, tasks, method, seed=settings.evaluation.seed, on_finish=lambda _: bar.update())
    env = recorded_env(settings.evaluation)
    evaluation = summarise(tasks, [replace(item.trajectory, env=env) for item in found])
    if settings.save_trees:
        trees = [
            CreditedGroup(number, [replace(branch, env=env) for branch in item.branches], [()] * len(item.branches))
            for number, item in enumerate(found)
        ]
        write_groups(settings.save_trees, 0, trees)
    oracle = summarise(tasks, [item.oracle for item in found]).total
    spent = {name: sum(getattr(item, name) for item in found) for name in ("episodes", "env_steps", "generated_tokens")}
    named_settings = ("policy", "split", "world_seed", "variation", "method", "budget", "branching", "value", "seed")
    options = flatten(settings)
    asked = {name: options[name] for name in named_settings}
    return evaluation, {**evaluation.record(), "oracle_any": oracle._asdict(), **spent, **asked}
