"""Search on the tasks of an evaluation, within a budget of env steps per task."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import gymnasium
import torch
from tqdm import tqdm

from agents.evaluation.evaluate import Evaluation, EvaluationSettings, choose_tasks, create_policy, recorded_env, summarise
from agents.evaluation.search.branches import Method, Search, play
from agents.evaluation.search.methods import best_of_n, monte_carlo, tree_search
from agents.evaluation.search.values import Value, by_value, confidence, likelihood, load_critic, majority
from agents.models.checkpoints import agent_record
from agents.rollouts.envs import InProcessEnvs
from agents.settings import ENV_ID, flatten
from agents.training.rollouts import CreditedGroup, write_groups


@dataclass(frozen=True, kw_only=True)
class SearchEvaluationSettings(EvaluationSettings):
    """The tasks, and the policy that searches."""

    temperature: float | None = 1.0
    """of sampling, in best_of_n and tree; greedy takes the likeliest token"""
    num_envs: int = 16
    """tasks searched at the same time"""
    workers: int = 0
    """must be 0: snapshots are taken in this process"""


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Spend more steps on each task, choose one episode without knowing its reward, and report the success of those chosen.

    Methods are compared at an equal --budget, on the same tasks and seed:
    greedy plays one episode by greedy decoding; best_of_n samples episodes until the budget is spent; tree searches
    best-first, and goes back by restoring snapshots, as does mcts, a Monte Carlo tree search. The JSON is that of agents.evaluate, with what was spent (env_steps,
    generated_tokens) and with "oracle_any", the score if a judge had picked among all episodes that ended: pass@N, no method's
    own success.
    """

    method: Literal["greedy", "best_of_n", "tree", "mcts"] = "tree"
    """how to search"""
    budget: int = 60
    """most env steps spent on a task, over all its episodes"""
    branching: int = 3
    """tree and mcts: replies sampled in a state; equal actions count once"""
    n: int | None = None
    """best_of_n: so many episodes at most; by default as many as the budget holds"""
    value: Literal["confidence", "majority", "critic"] = "confidence"
    """what chooses: the mean log-probability of the replies, the most frequent answer (best_of_n only), or --critic"""
    critic: Path | None = None
    """a run of agents.train_rl by awr, digirl or webrl, for --value critic"""
    save_trees: Path | None = None
    """folder for what was tried on each task, which agents.report draws as trees of states"""
    evaluation: SearchEvaluationSettings


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
    if settings.method in ("tree", "mcts") and (
        settings.evaluation.policy == "expert" or "algorithm" in agent_record(settings.evaluation.policy)
    ):
        raise ValueError(
            f"policy {settings.evaluation.policy!r} remembers its episode, and a tree leaves episodes; expected greedy or best_of_n"
        )
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
        closing(create_policy(sampled)) as policy,
        tqdm(total=len(tasks), desc="searching", unit="task", disable=None) as bar,
    ):
        local = [envs.local(env_id) for env_id in range(envs.num_envs)]
        found = play(local, policy, tasks, method, seed=settings.evaluation.seed, on_finish=lambda _: bar.update())
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
