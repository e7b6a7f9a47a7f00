"""Test-time search: play a task several times from snapshots, and select one episode without using rewards.

Value functions rank states and select among final states; methods expand states in the order of their values. The budget counts reached
states: env steps, and replies that failed or were too long. `preferences` compares the actions of a tree with rewards, for training.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import exp, log, sqrt
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from agents.data.prompts import PromptEncoder, system_prompt
from agents.data.trajectories import action_of
from agents.evaluation.evaluate import create_policy, recorded_env
from agents.evaluation.settings import SearchSettings, agent_kind, choose_tasks
from agents.methods.dpo import Preference
from agents.models.checkpoints import CheckpointError, agent_record, checkpoints, load_model
from agents.models.critics import Critic, LanguageValueNetwork
from agents.rollouts.branching import Expansion, Method, Search, SearchResult, SearchState, search
from agents.rollouts.envs import create_envs
from agents.settings import ENV_FIELDS, EnvSettings
from agents.training.rollout_files import write_groups
from webarena_gym.actions import Kind
from webarena_gym.actions.replies import answer_part
from webarena_gym.arguments import expect_positive
from webarena_gym.evaluation.statistics import Evaluation, score

Value = Callable[[Sequence[SearchState]], Sequence[float]]  # higher is better
Selector = Callable[[Sequence[SearchState]], SearchState]

_WORST_TO_BEST = ("failed", None, "too_long", "truncated", "exited")  # endings; None: the budget was spent


# Values.


def confidence(states: Sequence[SearchState]) -> list[float]:
    """Return the mean log-probability of all reply tokens up to each state; 0 if there are none.

    A baseline that needs no training. It is a weak value: likely replies can be wrong, and repeated text is likely.
    """
    logprobs = [[value for step in state.steps for value in step.logprobs] for state in states]
    return [sum(values) / len(values) if values else 0.0 for values in logprobs]


def likelihood(states: Sequence[SearchState]) -> list[float]:
    """Return the geometric mean of the probabilities of all reply tokens up to each state, from 0 to 1."""
    return [exp(value) for value in confidence(states)]


def true_reward(states: Sequence[SearchState]) -> list[float]:
    """Return the reward of each final state, 0 for failed episodes. For training only: test-time search must not use rewards."""
    return [state.reward or 0.0 for state in states]


def critic_value(critic: Critic, encoder: PromptEncoder, judge: Critic | None = None) -> Value:
    """Return the value function of a critic: the probability of success.

    The critics of AWR and DigiRL were not trained on final states. A final state therefore has the value of its last page, so all answers
    on that page have equal values, and the first is selected. A `judge` of whole episodes, such as WebRL's outcome model, values final
    states directly. A critic is reliable only near the states that its policy visited in training.
    """

    def value(states: Sequence[SearchState]) -> list[float]:
        is_final = [state.ending in ("exited", "truncated") for state in states]
        states_to_score = [state.parent or state if final else state for state, final in zip(states, is_final, strict=True)]
        prompts = encoder.encode_all([state.messages for state in states_to_score])
        values = critic.values(prompts)
        if judge is not None:
            ends = [index for index, final in enumerate(is_final) if final]
            texts = [prompts[index] + encoder.encode_reply(states[index].steps[-1].reply) for index in ends]
            for index, judge_value in zip(ends, judge.values(texts), strict=True):
                values[index] = judge_value
        return values

    return value


def load_critic(run: Path) -> Value:
    """Return the value function in the newest checkpoint of a run of `train_rl`.

    Raises CheckpointError for a run without a checkpoint or without a critic.
    """
    run_checkpoints = checkpoints(run)
    if not run_checkpoints:
        raise CheckpointError(f"{run} contains no checkpoint; expected a run of train_rl")
    method_state = run_checkpoints[-1].state()["optimizer"].get("method", {})
    model, tokenizer = load_model(run)
    critics: dict[str, Critic] = {}
    for part in ("critic", "step_critic", "reward_model"):
        if part in method_state:
            critics[part] = Critic(LanguageValueNetwork(model))
            critics[part].load_state_dict(method_state[part])
    critic = critics.get("critic") or critics.get("step_critic")
    if critic is None:
        raise CheckpointError(
            f"{run_checkpoints[-1].path} contains no critic; expected a run of train_rl by awr, digirl or webrl"
        )
    return critic_value(critic, create_agent_encoder(agent_record(run), tokenizer), critics.get("reward_model"))


def create_agent_encoder(record: Mapping[str, Any], tokenizer: object) -> PromptEncoder:
    """Return the encoder of prompts with the system prompt of an agent record."""
    env = EnvSettings(**{name: record[name] for name in (*ENV_FIELDS, "keywords") if name in record})
    system = system_prompt(record["system"], **env.env_arguments())
    return PromptEncoder(tokenizer, system, chat_template_kwargs=record.get("chat_template_kwargs"))


# Selection. Episodes that the agent ended are preferred to truncated ones; the first of equals is selected.


def by_value(value: Value) -> Selector:
    """Return a function that selects the final state with the highest value."""

    def choose(ends: Sequence[SearchState]) -> SearchState:
        candidates = _best_endings(ends)
        return max(zip(candidates, value(candidates), strict=True), key=itemgetter(1))[0]

    return choose


def majority(ends: Sequence[SearchState]) -> SearchState:
    """Return the first final state with the most frequent outcome: self-consistency (Wang et al., arXiv 2203.11171).

    The outcome is the answer, or the last action and its page if there is no answer. Actions on earlier pages are not compared, so
    the vote is weak for tasks whose changes the last page does not show.
    """
    candidates = _best_endings(ends)
    outcomes = [_outcome(end) for end in candidates]
    ((most_frequent, _),) = Counter(outcomes).most_common(1)
    return candidates[outcomes.index(most_frequent)]


def _best_endings(ends: Sequence[SearchState]) -> list[SearchState]:
    best = max(_WORST_TO_BEST.index(end.ending) for end in ends)
    return [end for end in ends if end.ending == _WORST_TO_BEST[best]]


def _outcome(end: SearchState) -> tuple[str, str]:
    reply = end.steps[-1].reply if end.steps else ""
    if (action := action_of(reply)) is None:
        return reply, end.page
    if action.kind is Kind.EXIT and action.argument:
        return " ".join(action.argument.casefold().split()), ""
    return answer_part(reply), end.page


def best_of_n(root: SearchState, *, choose: Selector, budget: int, n: int | None = None) -> Search:
    """Play n episodes, or as many as the budget allows, and return the selected final state.

    The budget may truncate the last episode. With n = 1 this is a single episode. Raises ValueError for a budget below 1.
    """
    expect_positive("budget", budget)
    expect_positive("n", 1 if n is None else n)
    ends: list[SearchState] = []
    while budget > 0 and (n is None or len(ends) < n):
        end, step_count = yield from _play_on(root, budget)
        budget -= step_count
        ends.append(end)
    return choose(ends)


def tree_search(root: SearchState, *, value: Value, branching: int, budget: int, reserve: int) -> Search:
    """Best-first search: expand the state with the highest value until the budget is spent. Returns the best final state.

    After Koh et al., arXiv 2407.01476, section 3, with these differences: states are valued when they are reached (paper: when expanded);
    one tree is built for the whole episode (paper: one per step); the depth is limited only by the step limit, and no value ends the
    search early. The last `reserve` steps of the budget, which should equal the step limit, continue the best state without branching,
    unless an episode has already ended. Ties are broken in favour of deeper states, then of earlier ones. Raises ValueError for a budget or branching below 1.
    """
    expect_positive("budget", budget)
    expect_positive("branching", branching)
    frontier, ends, values = [root], list[SearchState](), {root.number: 0.0}
    while frontier and budget > 0:
        expansion_limit = budget if any(end.ending == "exited" for end in ends) else budget - reserve
        state = max(frontier, key=lambda item: (values[item.number], len(item.steps)))
        frontier.remove(state)
        if expansion_limit > 0:
            new_states = yield Expansion(state, branching, min(branching, expansion_limit))
            budget -= len(new_states)
        else:
            end, step_count = yield from _play_on(state, budget)
            new_states = [end]
            budget -= step_count
        values |= zip([item.number for item in new_states], value(new_states), strict=True)
        frontier += [item for item in new_states if item.ending is None]
        ends += [item for item in new_states if item.ending is not None]
    return by_value(lambda items: [values[item.number] for item in items])([*ends, *frontier])


@dataclass(eq=False)
class _Node:
    """A node of the search tree. It is closed if its episode or all its children are finished."""

    state: SearchState
    prior: float = 0.0
    visits: int = 0
    total: float = 0.0  # sum of outcomes
    children: list["_Node"] = field(default_factory=list)

    @property
    def is_closed(self) -> bool:
        if self.state.ending is not None:
            return True
        return bool(self.children) and all(child.is_closed for child in self.children)


def monte_carlo(
    root: SearchState, *, value: Value, outcome: Value, branching: int, budget: int, reserve: int = 0, exploration: float = 1.0,
    prior_weight: float = 0.5,
) -> Search:  # fmt: skip
    """Monte Carlo tree search until the budget is spent. Returns the final state with the best outcome.

    After Agent Q (Putta et al., arXiv 2408.07199, section 4). From the root, the action with the highest
    Q(h, a) + c sqrt(log N(h) / (1 + N(h, a))) is followed until an unexpanded state. Its sampled actions are ranked by `value`, as
    by the paper's critic, and an episode is played from the best one. Its `outcome`, from 0 to 1, is backed up to every action on the
    path. Q mixes the mean outcome and the rank. Unlike in the paper, actions that end the episode are backed up immediately, and closed
    states are skipped. The last `reserve` steps of the budget, which should equal the step limit, are reserved until one episode has
    ended.
    Raises ValueError for a budget or branching below 1.
    """
    expect_positive("budget", budget)
    expect_positive("branching", branching)
    tree, ends, rewards = _Node(root), list[SearchState](), dict[int, float]()

    def back_up(path: Sequence[_Node], end: SearchState) -> None:
        if end.ending == "failed":  # no evidence about the actions
            return
        (reward,) = outcome([end])
        ends.append(end)
        rewards[end.number] = reward
        for node in path:
            node.visits, node.total = node.visits + 1, node.total + reward

    last_state = root
    while budget > 0 and not tree.is_closed:
        path = [tree]
        while path[-1].children:
            path.append(_best_child(path[-1], exploration, prior_weight))
        expansion_limit = budget if ends else budget - reserve
        new_states = yield Expansion(path[-1].state, branching, max(1, min(branching, expansion_limit)))
        budget -= len(new_states)
        path[-1].children = [_Node(state, prior) for state, prior in zip(new_states, ranks(value(new_states)), strict=True)]
        best_child = max(path[-1].children, key=lambda child: child.prior)
        for child in path[-1].children:
            if child.state.ending is not None:
                back_up([*path, child], child.state)
        last_state, step_count = yield from _play_on(best_child.state, budget)
        budget -= step_count
        if last_state.ending is not None and last_state is not best_child.state:
            back_up([*path, best_child], last_state)
    return by_value(lambda items: [rewards[item.number] for item in items])(ends) if ends else last_state


def _best_child(node: _Node, exploration: float, prior_weight: float) -> _Node:
    def uct_value(child: _Node) -> float:
        mean = child.total / child.visits if child.visits else child.prior
        quality = mix_rank(mean, child.prior, prior_weight)
        return quality + exploration * sqrt(log(max(node.visits, 1)) / (1 + child.visits))

    return max((child for child in node.children if not child.is_closed), key=uct_value)


def mix_rank(mean: float, prior: float, prior_weight: float) -> float:
    """Return Agent Q's Q-value of an action: a weighted mean of its mean outcome and its rank."""
    return (1 - prior_weight) * mean + prior_weight * prior


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 0 to 1: the fraction of other values that are smaller, with ties counted half.

    >>> ranks([0.3, 0.9, 0.1]), ranks([5.0, 5.0])
    ([0.5, 1.0, 0.0], [0.5, 0.5])
    """
    if len(values) < 2:
        return [0.5] * len(values)
    other_count = len(values) - 1
    return [
        (sum(item < value for item in values) + (sum(item == value for item in values) - 1) / 2) / other_count
        for value in values
    ]


def _play_on(state: SearchState, budget: int) -> Generator[Expansion, Sequence[SearchState], tuple[SearchState, int]]:
    """Continue with one reply per step until the episode or the budget ends. Returns the last state and the number of steps."""
    step_count = 0
    while state.ending is None and step_count < budget:
        (state,) = yield Expansion(state, 1, 1)
        step_count += 1
    return state, step_count


def create_method(settings: SearchSettings) -> Method:
    """Return the search method for the settings. Raises ValueError for incompatible settings."""
    if settings.method == "greedy":
        return partial(best_of_n, choose=majority, budget=settings.budget, n=1)
    if settings.value == "majority":
        if settings.method != "best_of_n":
            raise ValueError(
                "value is 'majority', which compares only finished episodes; expected 'confidence' or 'critic' with a tree search"
            )
        return partial(best_of_n, choose=majority, budget=settings.budget, n=settings.n)
    value: Value = confidence
    if settings.value == "critic":
        if settings.critic is None:
            raise ValueError("value is 'critic' and critic is not set; expected --critic RUN")
        value = load_critic(settings.critic)
    if settings.method == "best_of_n":
        return partial(best_of_n, choose=by_value(value), budget=settings.budget, n=settings.n)
    if settings.method == "mcts":
        outcome = value if settings.value == "critic" else likelihood
        grow: Callable[..., Search] = partial(monte_carlo, outcome=outcome)
    else:
        grow = tree_search
    return partial(grow, value=value, branching=settings.branching, budget=settings.budget, reserve=settings.max_steps)


def run(settings: SearchSettings) -> tuple[Evaluation, dict[str, Any]]:
    """Run the search. Returns the evaluation of the selected episodes and the JSON record of the run."""
    if settings.workers:
        raise ValueError(f"workers is {settings.workers}; expected 0, because snapshots are taken in this process")
    policy = settings.policy
    if settings.method in ("tree", "mcts") and (policy == "expert" or agent_kind(policy) == "candidates"):
        raise ValueError(
            f"policy {policy!r} keeps state during an episode, which a tree search cannot restore; expected method greedy or best_of_n"
        )
    if settings.threads:
        torch.set_num_threads(settings.threads)
    tasks, method = choose_tasks(settings), create_method(settings)
    sampling_settings = replace(settings, temperature=0.0) if settings.method == "greedy" else settings
    envs = create_envs(tasks, min(settings.num_envs, len(tasks)), **settings.env_arguments())
    with (
        closing(envs),
        closing(create_policy(sampling_settings)) as sampling_policy,
        tqdm(total=len(tasks), desc="searching", unit="task", disable=None) as bar,
    ):
        local = [envs.local(env_id) for env_id in range(envs.num_envs)]
        results = search(local, sampling_policy, tasks, method, seed=settings.seed, on_finish=lambda _: bar.update())
    env = recorded_env(settings)
    evaluation = score(tasks, [replace(item.trajectory, env=env) for item in results])
    if settings.save_trees:
        branches = (replace(branch, env=env, group=number) for number, item in enumerate(results) for branch in item.branches)
        write_groups(settings.save_trees, 0, branches)
    oracle = score(tasks, [item.oracle for item in results]).total
    costs = {name: sum(getattr(item, name) for item in results) for name in ("episodes", "env_steps", "generated_tokens")}
    names = ("policy", "split", "world_seed", "variation", "method", "budget", "branching", "value", "seed")
    options = {name: value for name, value in vars(settings).items() if name in names}
    return evaluation, {**evaluation.record(), "oracle_any": oracle._asdict(), **costs, **options}


def preferences(
    result: SearchResult, *, value: Value, prior_weight: float, threshold: float, max_pairs: int
) -> list[Preference]:
    """Return pairs of actions in one state whose Q-values differ by more than the threshold, at most `max_pairs` per state.

    After Agent Q (arXiv 2408.07199, section 4.2): Q is the mean reward of all final states below the action, mixed with its rank by
    `value`. Actions without a final state below them are left out. The search must have been run with `with_rewards`. The pairs
    with the largest differences come first.
    """
    unfinished: dict[str, Any] = {"reward": 0.0, "ending": "truncated", "verdicts": (), "failure": ""}
    rewards: dict[int, list[float]] = {}  # of the final states below each state, by number
    for end in result.states:
        if end.ending in ("exited", "truncated", "too_long"):
            state: SearchState | None = end
            while state is not None:
                rewards.setdefault(state.number, []).append(end.reward or 0.0)
                state = state.parent
    siblings: dict[int, list[SearchState]] = {}
    for state in result.states:
        if state.parent is not None and state.ending not in ("failed", "too_long") and state.number in rewards:
            siblings.setdefault(state.parent.number, []).append(state)
    pairs: list[Preference] = []
    for states in siblings.values():
        best: dict[str, tuple[float, SearchState]] = {}  # Q and the state, by action; states may have been expanded twice
        for state, prior in zip(states, ranks(value(states)), strict=True):
            below = rewards[state.number]
            best.setdefault(state.steps[-1].reply, (mix_rank(sum(below) / len(below), prior, prior_weight), state))
        gaps = []
        for pair in combinations(best.values(), 2):
            (low, worse), (high, better) = sorted(pair, key=itemgetter(0))
            if high - low > threshold:
                episodes = (replace(result.trajectory, **unfinished, steps=state.steps) for state in (better, worse))
                gaps.append((high - low, Preference(*episodes)))
        pairs += [preference for _, preference in sorted(gaps, key=lambda item: -item[0])[:max_pairs]]
    return pairs
